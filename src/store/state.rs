//! The store's own small values: meta entries, sink cursors and source offsets.
//!
//! # Layout
//!
//! Cursors and offsets start with their name (bytes) so that a value found alone is complete; then a varint
//! sequence, or the offset's bytes to the end. The meta entry `state`:
//!
//! ```text
//! format        varint  version of the whole store's layout
//! seed          u64     of fingerprints
//! generation    varint  how often the store was opened
//! log floor     varint  sequences below it were trimmed
//! next          varint  no sequence below it is given again
//! quarantine    varint  next entry's sequence;  varint  entries below it were evicted
//! log time      varint  last known log time, milliseconds
//! disk floor    varint  sequences below it left the dedup window early, for the disk budget; 0 where missing
//! wall time     varint  the wall clock when the log time was noted, milliseconds since 1970; 0 where not known
//! ```

use super::clock::{self, LogClock};
use super::codec::{Malformed, Reader, put_bytes, put_varint};

/// Version of the store's layout. 2: records may hold what a shadow model said (bit 7 of their flags). 3: there may be
/// observations, and labels say more of their event. 4: there may be events kept for a replay, and labels say
/// when they came. 5: there may be cases, calls of sinks that are not settled. A store of an earlier format opens as it is, and is one of this
/// format from then on.
pub const FORMAT: u32 = 5;
/// A step of the wall clock that is worth a write of the state.
const STEP_MS_MIN: u64 = 10_000;
/// Name of the meta entry.
pub const STATE: &str = "state";
/// Longest source offset, bytes.
pub const OFFSET_BYTES_MAX: usize = 4096;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    pub format: u32,
    pub seed: u64,
    pub generation: u64,
    pub log_floor: u64,
    pub next: u64,
    pub quarantine_next: u64,
    pub quarantine_floor: u64,
    pub log_ms: u64,
    pub disk_floor: u64,
    pub wall_ms: u64,
}

impl State {
    /// The state of a new store.
    pub fn new(seed: u64) -> Self {
        Self { format: FORMAT, seed, log_floor: 1, next: 1, quarantine_next: 1, quarantine_floor: 1, ..Self::default() }
    }

    /// Notes what both clocks say: at the next open, the wall clock's advance since then is the time that passed.
    pub fn note_time(&mut self, clock: &LogClock) {
        self.log_ms = self.log_ms.max(clock.now_ms());
        self.wall_ms = clock::wall_ms();
    }

    /// Whether the wall clock was stepped since the times were noted, so that they would mislead the next open.
    pub fn is_time_stale(&self, clock: &LogClock) -> bool {
        let passed = clock.now_ms().saturating_sub(self.log_ms);
        clock::wall_ms().abs_diff(self.wall_ms.saturating_add(passed)) > STEP_MS_MIN
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        put_bytes(&mut out, STATE.as_bytes());
        put_varint(&mut out, u64::from(self.format));
        out.extend_from_slice(&self.seed.to_le_bytes());
        for number in [
            self.generation,
            self.log_floor,
            self.next,
            self.quarantine_next,
            self.quarantine_floor,
            self.log_ms,
            self.disk_floor,
            self.wall_ms,
        ] {
            put_varint(&mut out, number);
        }
        out
    }

    /// A later format may have another layout after its number: then only that is read.
    pub fn decode(body: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        if reader.bytes()? != STATE.as_bytes() {
            return Err(Malformed("the meta entry \"state\""));
        }
        let format = u32::try_from(reader.varint()?).map_err(|_| Malformed("a format number"))?;
        if format > FORMAT {
            return Ok(Self { format, ..Self::default() });
        }
        Ok(Self {
            format,
            seed: u64::from_le_bytes(*reader.array()?),
            generation: reader.varint()?,
            log_floor: reader.varint()?,
            next: reader.varint()?,
            quarantine_next: reader.varint()?,
            quarantine_floor: reader.varint()?,
            log_ms: reader.varint()?,
            disk_floor: varint_or_0(&mut reader)?,
            wall_ms: varint_or_0(&mut reader)?,
        })
    }
}

/// What earlier releases did not write.
fn varint_or_0(reader: &mut Reader<'_>) -> Result<u64, Malformed> {
    if reader.rest().is_empty() { Ok(0) } else { reader.varint() }
}

/// Name of the meta entry that lists the sequences known to be missing.
pub const GAPS: &str = "gaps";
/// Most ranges listed; the oldest are dropped.
pub const GAPS_MAX: usize = 256;

/// Ranges `[from, to)` of sequences that are missing from the log and were reported.
pub fn encode_gaps(gaps: &[(u64, u64)]) -> Vec<u8> {
    let mut out = Vec::new();
    put_bytes(&mut out, GAPS.as_bytes());
    for (from, to) in &gaps[gaps.len().saturating_sub(GAPS_MAX)..] {
        put_varint(&mut out, *from);
        put_varint(&mut out, to - from);
    }
    out
}

pub fn decode_gaps(body: &[u8]) -> Result<Vec<(u64, u64)>, Malformed> {
    let mut reader = Reader::new(body);
    if reader.bytes()? != GAPS.as_bytes() {
        return Err(Malformed("the meta entry \"gaps\""));
    }
    let mut gaps = Vec::new();
    while !reader.rest().is_empty() {
        let from = reader.varint()?;
        gaps.push((from, from.saturating_add(reader.varint()?)));
    }
    Ok(gaps)
}

/// The name a meta entry starts with.
pub fn meta_name(body: &[u8]) -> Result<&str, Malformed> {
    Reader::new(body).text()
}

pub fn encode_cursor(name: &str, next: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len() + 12);
    put_bytes(&mut out, name.as_bytes());
    put_varint(&mut out, next);
    out
}

pub fn decode_cursor(body: &[u8]) -> Result<(&str, u64), Malformed> {
    let mut reader = Reader::new(body);
    Ok((reader.text()?, reader.varint()?))
}

pub fn encode_offset(name: &str, offset: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len() + offset.len() + 4);
    put_bytes(&mut out, name.as_bytes());
    out.extend_from_slice(offset);
    out
}

pub fn decode_offset(body: &[u8]) -> Result<(&str, &[u8]), Malformed> {
    let mut reader = Reader::new(body);
    Ok((reader.text()?, reader.rest()))
}
