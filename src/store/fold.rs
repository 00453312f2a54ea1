//! One pass over the log at open: index, window marks, the newest chunks.

use super::chunk::Chunk;
use super::clock::{self, LogClock};
use super::error::StoreError;
use super::frame::{self, Kind};
use super::index::Index;
use super::keys;
use super::medium::{Bytes, Medium};
use super::merge::SmallRun;
use super::options::Options;
use super::shared::decode_chunk;
use super::state::State;
use super::stats::Recovery;
use super::tail::Tail;
use super::window::Window;
use super::writer::ENTRY_OVERHEAD;
use crate::event::identity_fingerprint;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Instant;

/// Chunks handed from the reading to the decoding thread at once, and how many such lots wait at the most.
const LOT: usize = 32;
const LOTS_MAX: usize = 8;

/// What folding the log gives.
pub struct Folded {
    pub index: Index,
    pub window: Window,
    pub tail: Tail,
    pub small: SmallRun,
    pub clock: LogClock,
    /// Bytes of the log's values.
    pub live: u64,
    /// First sequences of the first two chunks.
    pub first: u64,
    pub second: u64,
    pub next: u64,
    /// Sequences missing between two chunks.
    pub gaps: Vec<(u64, u64)>,
    chunks: u64,
    records: u64,
    damaged: u64,
    seed: u64,
    /// Log time at which the window starts.
    edge_ms: u64,
}

/// Folds the log: one thread reads, this one decodes.
pub fn fold(medium: &Medium, options: &Options, state: &State, recovery: &mut Recovery) -> Result<Folded, StoreError> {
    let last = medium.last_before(&[keys::LOG + 1])?.and_then(|(key, value)| decode_chunk(&key, &value));
    // Log time and wall clock at one moment, the last that is known.
    let noted = (state.log_ms, state.wall_ms);
    let (last_ms, wall_ms) = last.as_ref().and_then(last_times).map_or(noted, |last| last.max(noted));
    // An earlier release noted no wall clock: its log time was one, unless that was stepped while it ran.
    let wall_ms = if wall_ms == 0 { last_ms } else { wall_ms };
    recovery.clock_ahead_ms = clock::wall_ms().saturating_sub(wall_ms);
    let clock = LogClock::start(last_ms, recovery.clock_ahead_ms, Instant::now());
    let window_ms = u64::try_from(options.window.as_millis()).unwrap_or(u64::MAX);
    let mut index = Index::new(options.index_bytes);
    if let Some(last) = &last {
        index.reserve(last.next().saturating_sub(state.log_floor));
    }
    let mut folded = Folded {
        index,
        window: Window::new(options.window),
        tail: Tail::new(options.tail_bytes),
        small: SmallRun::default(),
        clock,
        live: 0,
        first: 0,
        second: u64::MAX,
        next: 1,
        gaps: Vec::new(),
        chunks: 0,
        records: 0,
        damaged: 0,
        seed: state.seed,
        edge_ms: clock.now_ms().saturating_sub(window_ms),
    };
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel::<Vec<(Bytes, Bytes)>>(LOTS_MAX);
        let reader = scope.spawn(move || read(medium, &sender));
        for (key, value) in receiver.into_iter().flatten() {
            folded.take(&key, &value);
        }
        reader.join().unwrap_or_else(|_| {
            Err(StoreError::Engine { what: "read the log", message: String::from("the reading thread panicked") })
        })
    })?;
    let floor = folded.window.floor(folded.clock.now_ms(), folded.next);
    folded.index.expire(floor);
    folded.first = folded.first.max(1);
    (recovery.chunks, recovery.records, recovery.set_aside_now) = (folded.chunks, folded.records, folded.damaged);
    Ok(folded)
}

fn read(medium: &Medium, sender: &mpsc::SyncSender<Vec<(Bytes, Bytes)>>) -> Result<(), StoreError> {
    let mut lot = Vec::with_capacity(LOT);
    for entry in medium.scan(keys::LOG, &keys::log(0)) {
        lot.push(entry?);
        if lot.len() == LOT && sender.send(std::mem::replace(&mut lot, Vec::with_capacity(LOT))).is_err() {
            break;
        }
    }
    let _ = sender.send(lot);
    Ok(())
}

impl Folded {
    fn take(&mut self, key: &[u8], value: &[u8]) {
        let Some(first) = keys::log_first(key) else { return };
        match self.chunks {
            0 => self.first = first,
            1 => self.second = first,
            _ => {}
        }
        self.chunks += 1;
        let bytes = value.len() as u64 + ENTRY_OVERHEAD;
        self.live += bytes;
        let (index, seed, edge_ms) = (&mut self.index, self.seed, self.edge_ms);
        let chunk = frame::unwrap(Kind::Log, value).ok().and_then(|framed| {
            Chunk::decode_with(framed.body, |sequence, source, record| {
                if record.log_ms >= edge_ms
                    && let Ok(id) = std::str::from_utf8(record.id)
                {
                    index.insert(identity_fingerprint(seed, source, id), sequence);
                }
            })
            .ok()
        });
        let Some(chunk) = chunk.filter(|chunk| chunk.first() == first) else {
            self.damaged += 1;
            return;
        };
        self.records += chunk.count();
        if self.next > 1 && first > self.next {
            self.gaps.push((self.next, first));
        }
        self.next = chunk.next();
        self.window.note(first, chunk.log_ms());
        let chunk = Arc::new(chunk);
        self.small.recover(&chunk, bytes);
        self.tail.push(chunk);
    }
}

/// Log time and wall clock of the chunk's last record.
fn last_times(chunk: &Chunk) -> Option<(u64, u64)> {
    let (_, record) = chunk.raw_records().last()?;
    Some((record.log_ms, u64::try_from(record.decided_ms).unwrap_or(0)))
}
