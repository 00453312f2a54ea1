//! The events kept for a replay: which chunks there are, how new ones are added, which may go.
//!
//! # Rules
//!
//! - Lines of a commit go into the chunk that is open, as long as it is short: it is then written anew, under its key.
//! - They are kept for a time and within a budget of their own, whichever ends first; and where the disk budget is
//!   reached they go before anything else does, for no promise hangs on them.
//! - Of each chunk a few numbers are in memory; budget and list are bounded together ([`kept_list_bytes`]).

use super::commit::{Commit, Kept};
use super::error::StoreError;
use super::frame::{self, BODY_BYTES_MAX, Kind};
use super::kept_chunk::{self, Head, KeptEvent, LINE_BYTES_MAX, LINES_BYTES_MAX, Rows};
use super::keys;
use super::medium::{Batch, Medium, Scan};
use super::writer::{ENTRY_OVERHEAD, Pending, Writer};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A chunk whose lines are shorter is written anew with the next commit's in it, bytes.
const OPEN_BYTES_MAX: usize = 8 << 10;
/// Memory for each chunk, bytes.
const KNOWN_BYTES: u64 = size_of::<Known>() as u64;
/// A chunk spans no more than this part of the time that is kept.
const SPANS: u128 = 16;
/// A budget of so many bytes is for one chunk at the most: it bounds the list.
const CHUNK_BYTES_MIN: u64 = 4 << 10;

/// Memory of the list of chunks that a budget of disk may hold, bytes.
#[must_use]
pub fn kept_list_bytes(budget: u64) -> u64 {
    budget / CHUNK_BYTES_MIN * KNOWN_BYTES
}

/// How much is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keeping {
    /// None: nothing, and what is there goes.
    pub time: Option<Duration>,
    /// Budget, bytes.
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    first: u64,
    /// Log time of its last event.
    last_ms: u64,
    count: u16,
    /// Of its value, with what the log engine adds.
    bytes: u16,
}

/// The chunks there are, and the lines of the last one while it is open.
#[derive(Debug, Default)]
pub struct KeptLog {
    keeping: Keeping,
    chunks: VecDeque<Known>,
    open: Rows,
    /// Bytes of lines for which a chunk becomes full, by the last ones.
    fill: usize,
    bytes: u64,
    count: u64,
}

impl KeptLog {
    /// Lists what a store holds, and how many chunks were damaged: they go, for no promise hangs on them.
    pub fn read(medium: &Medium, keeping: Keeping) -> Result<(Self, u64), StoreError> {
        let mut log = Self { keeping, ..Self::default() };
        let (mut damaged, mut batch) = (0, Batch::default());
        for entry in medium.scan(keys::KEPT, &[keys::KEPT]) {
            let (key, value) = entry?;
            if let Some(head) = head(&key, &value) {
                log.note(&head, value.len());
            } else {
                damaged += 1;
                batch.remove(key);
            }
        }
        if damaged > 0 {
            medium.write(batch)?;
        }
        Ok((log, damaged))
    }

    /// Bytes of the values.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn note(&mut self, head: &Head, stored: usize) {
        if self.chunks.back().is_some_and(|last| last.first == head.first)
            && let Some(last) = self.chunks.pop_back()
        {
            self.bytes -= u64::from(last.bytes);
            self.count -= u64::from(last.count);
        }
        let bytes = u16::try_from(stored as u64 + ENTRY_OVERHEAD).unwrap_or(u16::MAX);
        self.bytes += u64::from(bytes);
        self.count += u64::from(head.count);
        self.chunks.push_back(Known { first: head.first, last_ms: head.last_ms, count: head.count, bytes });
    }

    fn append(&mut self, kept: &Kept, log_ms: u64, commit: u64, pending: &mut Pending) {
        self.fill = self.fill.clamp(OPEN_BYTES_MAX, LINES_BYTES_MAX - LINE_BYTES_MAX);
        // A chunk goes as a whole: it is not to hold what is far apart.
        let span_ms = self.keeping.time.map_or(0, |time| u64::try_from(time.as_millis() / SPANS).unwrap_or(u64::MAX));
        if self.open.since_ms().is_some_and(|since_ms| log_ms.saturating_sub(since_ms) > span_ms) {
            self.open = Rows::default();
        }
        for (sequence, line) in kept.lines() {
            if self.open.bytes() >= self.fill {
                self.store_open(commit, pending);
                self.open = Rows::default();
            }
            self.open.push(sequence, log_ms, line);
        }
        self.store_open(commit, pending);
        if self.open.bytes() >= OPEN_BYTES_MAX {
            self.open = Rows::default();
        }
    }

    /// Writes the open lines, in as many chunks as they need: as a rule in one.
    fn store_open(&mut self, commit: u64, pending: &mut Pending) {
        while !self.open.is_empty() {
            let mut rest = Rows::default();
            let mut stored = self.open.body();
            while stored.is_none() && self.open.len() > 1 {
                let mut second = self.open.split();
                second.append(rest);
                rest = second;
                stored = self.open.body();
            }
            if let Some((head, body)) = stored {
                // The next ones are to become as long as fits, a little less for what lies between them.
                self.fill = self.open.bytes() * (BODY_BYTES_MAX - BODY_BYTES_MAX / 8) / body.len().max(1);
                self.fill = self.fill.clamp(OPEN_BYTES_MAX, LINES_BYTES_MAX - LINE_BYTES_MAX);
                let value = frame::wrap(Kind::Kept, commit, &body);
                self.note(&head, value.len());
                pending.insert(&keys::kept(head.first), value);
            }
            if rest.is_empty() {
                return;
            }
            self.open = rest;
        }
    }

    /// Lets the oldest chunk go if it is too old or too much, or `tight` says so: its first sequence.
    fn pop(&mut self, now_ms: u64, tight: bool) -> Option<u64> {
        let oldest = self.chunks.front()?;
        let is_over = match self.keeping.time {
            None => true,
            Some(time) => {
                let kept_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
                let most = (self.keeping.bytes / CHUNK_BYTES_MIN).max(1);
                oldest.last_ms < now_ms.saturating_sub(kept_ms)
                    || self.bytes > self.keeping.bytes
                    || self.chunks.len() as u64 > most
            }
        };
        if !is_over && !tight {
            return None;
        }
        let gone = self.chunks.pop_front()?;
        self.bytes -= u64::from(gone.bytes);
        self.count -= u64::from(gone.count);
        if self.chunks.is_empty() {
            self.open = Rows::default();
        }
        Some(gone.first)
    }
}

impl Writer {
    /// Whether the kept events can be stored. `end`: the sequence after the commit's last record.
    pub(crate) fn check_kept_events(&self, commit: &Commit, end: u64) -> Result<(), StoreError> {
        let mut next = self.state.next;
        for (sequence, line) in commit.kept.iter().flat_map(Kept::lines) {
            if !(next..end).contains(&sequence) {
                return Err(StoreError::OutOfOrder { found: sequence, expected: next });
            }
            if line.len() > LINE_BYTES_MAX {
                return Err(StoreError::TooLong { what: "kept event", bytes: line.len(), limit: LINE_BYTES_MAX });
            }
            next = sequence + 1;
        }
        Ok(())
    }

    /// Adds the commit's events to those kept.
    pub(crate) fn keep_events(&mut self, commit: &Commit, pending: &mut Pending) {
        let Some(kept) = commit.kept.as_ref().filter(|_| self.kept.keeping.time.is_some()) else { return };
        self.store.figures.kept_passed_over.fetch_add(kept.passed_over, Ordering::Relaxed);
        let before = self.kept.bytes;
        self.kept.append(kept, self.clock.now_ms(), self.commit, pending);
        self.live = self.live.saturating_add(self.kept.bytes).saturating_sub(before);
        self.tell_kept();
    }

    /// Lets go of events that are kept long enough: at most `most` chunks. While the disk is tight they go first of all.
    pub(crate) fn forget_events(&mut self, most: usize, pending: &mut Pending) {
        let tight = self.store.disk.is_tight();
        let (now_ms, before) = (self.clock.now_ms(), self.kept.bytes);
        for first in std::iter::from_fn(|| self.kept.pop(now_ms, tight)).take(most) {
            pending.remove(&keys::kept(first));
        }
        if self.kept.bytes != before {
            self.live = self.live.saturating_sub(before - self.kept.bytes);
            self.tell_kept();
        }
    }

    pub(crate) fn tell_kept(&self) {
        let figures = &self.store.figures;
        figures.kept_events.store(self.kept.count, Ordering::Relaxed);
        figures.kept_bytes.store(self.kept.bytes, Ordering::Relaxed);
    }
}

/// The events kept, ascending; damaged chunks are passed over.
pub struct KeptEvents {
    scan: Option<Scan>,
    chunk: std::vec::IntoIter<KeptEvent>,
}

impl KeptEvents {
    pub(crate) fn of(medium: Option<&Medium>) -> Self {
        let scan = medium.map(|medium| medium.scan(keys::KEPT, &[keys::KEPT]));
        Self { scan, chunk: Vec::new().into_iter() }
    }
}

impl Iterator for KeptEvents {
    type Item = Result<KeptEvent, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(event) = self.chunk.next() {
                return Some(Ok(event));
            }
            match self.scan.as_mut()?.next()? {
                Ok((key, value)) => self.chunk = decode(&key, &value).unwrap_or_default().into_iter(),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// The head of a chunk as its key and value say, if both agree.
pub fn head(key: &[u8], value: &[u8]) -> Option<Head> {
    let head = Head::of(&frame::unwrap(Kind::Kept, value).ok()?.body).ok()?;
    (key == keys::kept(head.first)).then_some(head)
}

/// A chunk as its key and value say, if both agree.
pub fn decode(key: &[u8], value: &[u8]) -> Option<Vec<KeptEvent>> {
    let events = kept_chunk::decode(&frame::unwrap(Kind::Kept, value).ok()?.body).ok()?;
    events.first().is_some_and(|event| key == keys::kept(event.sequence)).then_some(events)
}
