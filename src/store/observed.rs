//! The observations in the store: which chunks there are, how new ones are added, which may go.
//!
//! # Rules
//!
//! - The observations of a commit go into the chunk that is open, as long as its rows have fewer than
//!   [`OPEN_BYTES_MAX`] bytes: it is then written anew, under its key. So single events make chunks of some 60, not a
//!   key each, and a big commit fills chunks to the brim.
//! - A chunk goes when the windows' horizon has passed its watermark; oldest first, a bounded number a commit. Before
//!   that it goes only where the disk budget is used up and nothing is left of the log to give up for it.
//! - Of each chunk a few words are in memory ([`KNOWN_BYTES`] bytes): where it starts, its times, its length.

use super::error::StoreError;
use super::frame::{self, Kind};
use super::keys;
use super::medium::Medium;
use super::observation::{Filling, Head, ObservationChunk, Observed};
use super::schema::Schema;
use super::writer::ENTRY_OVERHEAD;
use std::collections::VecDeque;
use std::sync::Arc;

/// A chunk whose rows are shorter is written anew with the next commit's in it, bytes.
const OPEN_BYTES_MAX: usize = 1536;
/// Memory for each chunk, bytes.
const KNOWN_BYTES: usize = size_of::<Known>();

/// What is known of a chunk without reading it.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    pub first: u64,
    pub newest_us: i64,
    pub earliest_us: i64,
    pub latest_us: i64,
    pub count: u16,
    /// Of its value, with what the log engine adds.
    bytes: u16,
}

/// The chunks there are, ascending. The writer's and the store's.
#[derive(Debug, Default)]
pub struct ObservationList {
    chunks: VecDeque<Known>,
    count: u64,
    bytes: u64,
}

impl ObservationList {
    /// Takes note of a chunk as it is stored now, and gives by how much the bytes grow.
    fn put(&mut self, head: &Head, stored: usize) -> i64 {
        let bytes = stored as u64 + ENTRY_OVERHEAD;
        let before = self.bytes;
        if self.chunks.back().is_some_and(|last| last.first == head.first)
            && let Some(last) = self.chunks.pop_back()
        {
            self.count -= u64::from(last.count);
            self.bytes -= u64::from(last.bytes);
        }
        let bytes = u16::try_from(bytes).unwrap_or(u16::MAX);
        self.count += u64::from(head.count);
        self.bytes += u64::from(bytes);
        let Head { first, newest_us, earliest_us, latest_us, count, .. } = *head;
        self.chunks.push_back(Known { first, newest_us, earliest_us, latest_us, count, bytes });
        self.bytes.cast_signed() - before.cast_signed()
    }

    /// Lets the oldest chunk go, if the horizon has passed it: its first sequence and bytes.
    fn pop(&mut self, horizon_us: i64) -> Option<(u64, u64)> {
        let oldest = self.chunks.front().filter(|chunk| chunk.newest_us <= horizon_us)?;
        let gone = (oldest.first, u64::from(oldest.bytes));
        self.count -= u64::from(oldest.count);
        self.bytes -= gone.1;
        self.chunks.pop_front();
        Some(gone)
    }

    /// First sequences of the chunks with an observation of that time in their range, newest first.
    pub fn around(&self, time_us: i64) -> Vec<u64> {
        let around = self.chunks.iter().rev().filter(|chunk| (chunk.earliest_us..=chunk.latest_us).contains(&time_us));
        around.map(|chunk| chunk.first).collect()
    }

    pub fn chunks(&self) -> u64 {
        self.chunks.len() as u64
    }

    /// Observations kept.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Bytes of their values.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Memory it takes, bytes.
    pub fn memory(&self) -> u64 {
        (self.chunks.capacity() * KNOWN_BYTES) as u64
    }

    /// The least event time in the oldest chunk, microseconds since 1970.
    pub fn since_us(&self) -> Option<i64> {
        self.chunks.front().map(|chunk| chunk.earliest_us)
    }
}

/// The writer's part.
#[derive(Debug, Default)]
pub struct ObservationLog {
    filling: Option<Filling>,
    /// Number of the next observation.
    next: u64,
    /// Nothing at or before it is needed; none told since the start.
    pub horizon_us: Option<i64>,
}

/// What new observations change in the store.
#[derive(Debug, Default)]
pub struct Added {
    pub put: Vec<([u8; 9], Vec<u8>)>,
    /// By how much the bytes in use grow.
    pub grown: i64,
}

impl Added {
    /// Makes a chunk's value, and gives the chunk back.
    fn store(&mut self, mut filling: Filling, newest_us: i64, commit: u64, list: &mut ObservationList) -> Filling {
        filling.head.newest_us = newest_us;
        let value = frame::wrap(Kind::Observation, commit, &filling.body());
        self.grown += list.put(&filling.head, value.len());
        self.put.push((keys::observation(filling.head.first), value));
        filling
    }
}

impl ObservationLog {
    /// Makes the values of new observations.
    pub fn append(&mut self, observed: &Observed, commit: u64, list: &mut ObservationList) -> Added {
        let mut added = Added::default();
        let width = observed.schema.columns.len();
        let mut filling = self.filling.take().filter(|filling| {
            let is_same = Arc::ptr_eq(&filling.schema, &observed.schema) || filling.schema == observed.schema;
            is_same && filling.row_bytes() < OPEN_BYTES_MAX
        });
        for (n, row) in observed.rows.iter().enumerate() {
            let cells = observed.cells.get(n * width..(n + 1) * width).unwrap_or_default();
            if !filling.as_mut().is_some_and(|filling| filling.append(row, cells)) {
                if let Some(full) = filling.take() {
                    added.store(full, observed.newest_us, commit, list);
                }
                let mut next = Filling::new(row, self.next, &observed.schema);
                next.append(row, cells);
                filling = Some(next);
            }
            self.next += 1;
        }
        if let Some(last) = filling {
            self.filling = Some(added.store(last, observed.newest_us, commit, list));
        }
        added
    }

    /// Lets the oldest chunk go, if it may: its key and bytes.
    pub fn trim(&mut self, list: &mut ObservationList) -> Option<([u8; 9], u64)> {
        self.pop(list, self.horizon_us?)
    }

    /// Lets the oldest chunk go, needed or not, unless it is the only one.
    pub fn cut(&mut self, list: &mut ObservationList) -> Option<([u8; 9], u64)> {
        if list.chunks() > 1 { self.pop(list, i64::MAX) } else { None }
    }

    fn pop(&mut self, list: &mut ObservationList, horizon_us: i64) -> Option<([u8; 9], u64)> {
        let (first, bytes) = list.pop(horizon_us)?;
        if self.filling.as_ref().is_some_and(|filling| filling.head.first == first) {
            self.filling = None;
        }
        Some((keys::observation(first), bytes))
    }
}

/// What the store's observations are at its opening.
#[derive(Debug, Default)]
pub struct Found {
    pub list: ObservationList,
    pub log: ObservationLog,
    /// Chunks that are damaged.
    pub damaged: u64,
    /// Observations that are missing between two chunks.
    pub missing: u64,
    /// The watermark behind the last.
    pub newest_us: Option<i64>,
}

/// Reads the heads of all chunks, and the last one.
pub fn read(medium: &Medium) -> Result<Found, StoreError> {
    let mut found = Found::default();
    let mut last = None;
    for entry in medium.scan(keys::OBSERVATION, &[keys::OBSERVATION]) {
        let (key, value) = entry?;
        let Some(head) = head(&key, &value) else {
            found.damaged += 1;
            continue;
        };
        if found.list.chunks() > 0 {
            found.missing += head.number.abs_diff(found.log.next);
        }
        found.log.next = head.number.saturating_add(u64::from(head.count));
        found.list.put(&head, value.len());
        found.newest_us = Some(head.newest_us);
        last = Some((key, value, head.number));
    }
    if let Some((key, value, number)) = last {
        match decode(&key, &value, None) {
            Some(chunk) => found.log.filling = Filling::reopened(&chunk, number),
            None => found.damaged += 1,
        }
    }
    Ok(found)
}

/// The head of a chunk as its key and value say, if both agree.
pub fn head(key: &[u8], value: &[u8]) -> Option<Head> {
    let first = keys::observation_first(key)?;
    let head = Head::of(&frame::unwrap(Kind::Observation, value).ok()?.body).ok()?;
    (head.first == first).then_some(head)
}

/// A chunk as its key and value say, if both agree.
pub fn decode(key: &[u8], value: &[u8], like: Option<&Arc<Schema>>) -> Option<ObservationChunk> {
    let framed = frame::unwrap(Kind::Observation, value).ok()?;
    let chunk = ObservationChunk::decode_like(&framed.body, like).ok()?;
    (keys::observation_first(key) == Some(chunk.first)).then_some(chunk)
}

#[cfg(test)]
#[path = "observed_tests.rs"]
mod tests;
