//! Records set aside: an entry with its reason, and its bytes in parts that fit the log engine's pages.
//!
//! # Layout
//!
//! Part 0 of an entry is its head, parts 1 and on are its bytes, [`PART_BYTES`] each but the last.
//!
//! ```text
//! every part   sequence varint, part varint, then
//! head         at signed (ms since 1970), kind bytes, source bytes, id flag u8 and bytes, reason bytes,
//!              full length varint, kept length varint, parts varint
//! others       the bytes
//! ```

use super::codec::{Malformed, Reader, put_bytes, put_signed, put_varint};
use super::frame::{self, BODY_BYTES_MAX, Kind};
use super::keys;

/// Bytes kept of one record; more are cut off and only counted.
pub const QUARANTINE_ENTRY_BYTES_MAX: usize = 1 << 20;
/// Longest text of an entry (kind, source, id, reason), bytes; a longer one is cut at a character.
pub const QUARANTINE_TEXT_BYTES_MAX: usize = 1024;
const PART_BYTES: usize = BODY_BYTES_MAX - 24;

/// A record to be set aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuarantineEntry {
    /// `malformed`, `conflict`, `oversized`, `unscorable`, `poison` …
    pub kind: String,
    pub source: String,
    pub id: Option<String>,
    pub reason: String,
    /// The record, or what of it is to be kept; nothing, where records are not to be kept.
    pub bytes: Vec<u8>,
    /// Length of the record as it came; that of `bytes` where it is less.
    pub length: u64,
    /// Milliseconds since 1970.
    pub at_ms: i64,
}

/// An entry of the quarantine, without its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuarantineInfo {
    pub sequence: u64,
    pub kind: String,
    pub source: String,
    pub id: Option<String>,
    pub reason: String,
    /// Length of the record as it came; at most [`QUARANTINE_ENTRY_BYTES_MAX`] of it are kept.
    pub bytes: u64,
    pub at_ms: i64,
    pub(crate) kept: usize,
    pub(crate) parts: u16,
}

/// The keys and values of an entry.
// A MiB has a few hundred parts.
#[allow(clippy::cast_possible_truncation)]
pub fn encode(sequence: u64, entry: &QuarantineEntry, commit: u64) -> Vec<([u8; 11], Vec<u8>)> {
    let kept = &entry.bytes[..entry.bytes.len().min(QUARANTINE_ENTRY_BYTES_MAX)];
    let parts = kept.len().div_ceil(PART_BYTES) as u16;
    let mut head = Vec::with_capacity(256);
    put_varint(&mut head, sequence);
    put_varint(&mut head, 0);
    put_signed(&mut head, entry.at_ms);
    put_bytes(&mut head, cut(&entry.kind));
    put_bytes(&mut head, cut(&entry.source));
    head.push(u8::from(entry.id.is_some()));
    put_bytes(&mut head, cut(entry.id.as_deref().unwrap_or_default()));
    put_bytes(&mut head, cut(&entry.reason));
    put_varint(&mut head, entry.length.max(entry.bytes.len() as u64));
    put_varint(&mut head, kept.len() as u64);
    put_varint(&mut head, u64::from(parts));
    let mut out = vec![(keys::quarantine(sequence, 0), frame::wrap(Kind::Quarantine, commit, &head))];
    for (part, bytes) in (1..=parts).zip(kept.chunks(PART_BYTES)) {
        let mut body = Vec::with_capacity(24 + bytes.len());
        put_varint(&mut body, sequence);
        put_varint(&mut body, u64::from(part));
        body.extend_from_slice(bytes);
        out.push((keys::quarantine(sequence, part), frame::wrap(Kind::Quarantine, commit, &body)));
    }
    out
}

fn cut(text: &str) -> &[u8] {
    &text.as_bytes()[..text.floor_char_boundary(QUARANTINE_TEXT_BYTES_MAX)]
}

/// A part taken apart.
#[derive(Debug)]
pub struct Part<'a> {
    pub sequence: u64,
    pub number: u16,
    pub content: &'a [u8],
}

pub fn decode_part(body: &[u8]) -> Result<Part<'_>, Malformed> {
    let mut reader = Reader::new(body);
    let sequence = reader.varint()?;
    let number = u16::try_from(reader.varint()?).map_err(|_| Malformed("a part number"))?;
    Ok(Part { sequence, number, content: reader.rest() })
}

pub fn decode_head(part: &Part<'_>) -> Result<QuarantineInfo, Malformed> {
    let mut reader = Reader::new(part.content);
    let at_ms = reader.signed()?;
    let kind = reader.text()?.to_owned();
    let source = reader.text()?.to_owned();
    let has_id = reader.byte()? != 0;
    let id = reader.text()?.to_owned();
    let reason = reader.text()?.to_owned();
    let bytes = reader.varint()?;
    let kept = usize::try_from(reader.varint()?).unwrap_or(usize::MAX);
    if kept > QUARANTINE_ENTRY_BYTES_MAX {
        return Err(Malformed("at most 1 MiB of a record"));
    }
    let parts = u16::try_from(reader.varint()?).map_err(|_| Malformed("a number of parts"))?;
    Ok(QuarantineInfo {
        sequence: part.sequence,
        kind,
        source,
        id: has_id.then_some(id),
        reason,
        bytes,
        at_ms,
        kept,
        parts,
    })
}
