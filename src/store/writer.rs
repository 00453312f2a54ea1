//! The one writer: commits, cursors, trimming.

use super::case::{self, CaseChange, CaseLog};
use super::chunk::Chunk;
use super::clock::LogClock;
use super::commit::{Commit, Committed};
use super::disk::Room;
use super::error::StoreError;
use super::frame::{self, Kind};
use super::history::History;
use super::kept_log::KeptLog;
use super::keys;
use super::label_log::LabelLog;
use super::medium::Batch;
use super::merge::{Merged, SmallRun};
use super::observed::ObservationLog;
use super::options::WhenFull;
use super::quarantine;
use super::shared::Store;
use super::sinks::Sink;
use super::state::{self, OFFSET_BYTES_MAX, State};
use super::stats::WindowCut;
use super::tip::{Tip, TipFile};
use super::window::{CutAlarm, Window};
use crate::notice;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes the log engine adds to a value, about.
pub(crate) const ENTRY_OVERHEAD: u64 = 32;
/// Chunks removed in one commit at the least, if there are as many to remove, and at the most.
const TRIM_MIN: usize = 16;
const TRIM_MAX: usize = 256;
/// The state entry is stored anew at the latest after so many commits that changed it.
const STATE_EVERY: u32 = 16;

/// Writes to the store. There is exactly one.
pub struct Writer {
    pub(crate) store: Arc<Store>,
    pub(crate) clock: LogClock,
    pub(crate) window: Window,
    pub(crate) state: State,
    /// Commit number, see [`super::frame`].
    pub(crate) commit: u64,
    pub(crate) live: u64,
    /// First sequence of the log's second chunk: what trimming waits for.
    pub(crate) second: u64,
    pub(crate) small: SmallRun,
    pub(crate) merged: Option<Merged>,
    pub(crate) quarantined: VecDeque<(u64, u16, u64)>,
    pub(crate) quarantine_budget: u64,
    pub(crate) cases: CaseLog,
    pub(crate) labels: LabelLog,
    pub(crate) observations: ObservationLog,
    pub(crate) kept: KeptLog,
    /// The watermark of the windows, as far as it was told.
    pub(crate) newest_us: Option<i64>,
    pub(crate) history: History,
    pub(crate) when_full: WhenFull,
    pub(crate) tip: TipFile,
    pub(crate) state_age: u32,
    pub(crate) alarm: CutAlarm,
}

/// A batch with what has to be noted once it is durable.
#[derive(Default)]
pub(crate) struct Pending {
    batch: Batch,
    bytes: u64,
    cursors: Vec<(Arc<Sink>, u64)>,
    /// Bytes of each new chunk in the log.
    log_bytes: Vec<u64>,
    empty: bool,
}

impl Pending {
    pub fn insert(&mut self, key: &[u8], value: Vec<u8>) {
        self.bytes += value.len() as u64;
        self.empty = false;
        self.batch.insert(key, value);
    }

    pub fn remove(&mut self, key: &[u8]) {
        self.empty = false;
        self.batch.remove(key);
    }
}

impl Writer {
    /// The sequence the next record gets: where a [`super::BatchBuilder`] starts.
    #[must_use]
    pub fn next_sequence(&self) -> u64 {
        self.state.next
    }

    /// The log clock, for the records' `log_ms`.
    #[must_use]
    pub fn clock(&self) -> LogClock {
        self.clock
    }

    /// Makes a commit durable: one atomic batch, flushed and synced. Carries moved cursors, a bounded amount
    /// of trimming and merging along.
    ///
    /// # Errors
    /// [`StoreError::OutOfOrder`] and [`StoreError::TooLong`]: nothing was written, the writer goes on. Any other:
    /// the medium failed, and every later call fails with [`StoreError::Latched`].
    ///
    /// Whether there is room is the caller's question ([`Store::room`]) before it decides events: what it has
    /// decided is committed also when the disk has become full meanwhile. That is what the reserve is for.
    pub fn commit(&mut self, commit: &Commit) -> Result<Committed, StoreError> {
        self.check(commit)?;
        if self.store.disk.room() == Room::DiskFull {
            self.store.disk.make_way()?;
        }
        self.commit += 1;
        let mut pending = Pending { empty: true, ..Pending::default() };
        for chunk in &commit.chunks {
            let value = frame::wrap(Kind::Log, self.commit, chunk.raw());
            let bytes = value.len() as u64 + ENTRY_OVERHEAD;
            self.live += bytes;
            pending.log_bytes.push(bytes);
            pending.insert(&keys::log(chunk.first()), value);
        }
        for (name, offset) in &commit.offsets {
            let body = state::encode_offset(name, offset);
            pending.insert(&keys::named(keys::OFFSET, name), frame::wrap(Kind::Offset, self.commit, &body));
        }
        let quarantine = self.quarantine(commit, &mut pending);
        self.observe(commit, &mut pending);
        self.keep_events(commit, &mut pending);
        self.label(commit, &mut pending)?;
        for used in &commit.models {
            let noted = self.history.note(used, self.commit);
            self.live = self.live.saturating_add_signed(noted.grown);
            noted.removed.iter().for_each(|key| pending.remove(key));
            noted.put.into_iter().for_each(|(key, value)| pending.insert(&key, value));
        }
        self.cases(commit, &mut pending);
        for (name, next) in &commit.cursors {
            self.store.move_cursor(name, *next);
        }
        self.housekeep(commit.chunks.len(), &mut pending)?;
        self.write(pending, &commit.chunks).map(|bytes| Committed { next: self.state.next, quarantine, bytes })
    }

    /// To be called when nothing was committed for 100 ms: stores moved cursors, trims, looks at the disk.
    ///
    /// # Errors
    /// When the medium failed.
    pub fn maintain(&mut self) -> Result<(), StoreError> {
        if let Some(failed) = self.store.medium.failed() {
            return Err(StoreError::Latched(failed.to_owned()));
        }
        let mut pending = Pending { empty: true, ..Pending::default() };
        self.commit += 1;
        self.housekeep(TRIM_MAX / 4, &mut pending)?;
        if pending.empty {
            // Also an idle store must see that there is room again: after a refusal no commit comes that would.
            return self.store.disk.update(self.live, self.store.medium.file());
        }
        self.write(pending, &[]).map(drop)
    }

    /// A clean stop: cursors and state stored, everything synced.
    ///
    /// # Errors
    /// When the medium failed.
    pub fn close(mut self) -> Result<(), StoreError> {
        let mut pending = Pending { empty: true, ..Pending::default() };
        self.commit += 1;
        self.state_age = STATE_EVERY;
        self.housekeep(0, &mut pending)?;
        self.write(pending, &[]).map(drop)
    }

    fn check(&self, commit: &Commit) -> Result<(), StoreError> {
        if let Some(failed) = self.store.medium.failed() {
            return Err(StoreError::Latched(failed.to_owned()));
        }
        let mut expected = self.state.next;
        for chunk in &commit.chunks {
            if chunk.first() != expected {
                return Err(StoreError::OutOfOrder { found: chunk.first(), expected });
            }
            expected = chunk.next();
        }
        self.check_kept(commit, expected)?;
        self.check_kept_events(commit, expected)?;
        let named = commit.cases.iter().map(|change| match change {
            CaseChange::Put(case) => case.sink.len(),
            CaseChange::Drop(sink, _) => sink.len(),
        });
        if let Some(bytes) = named.max().filter(|bytes| *bytes > keys::NAME_BYTES_MAX) {
            return Err(StoreError::TooLong { what: "sink name", bytes, limit: keys::NAME_BYTES_MAX });
        }
        for (name, offset) in &commit.offsets {
            for (what, bytes, limit) in
                [("source name", name.len(), keys::NAME_BYTES_MAX), ("source offset", offset.len(), OFFSET_BYTES_MAX)]
            {
                if bytes > limit {
                    return Err(StoreError::TooLong { what, bytes, limit });
                }
            }
        }
        Ok(())
    }

    fn quarantine(&mut self, commit: &Commit, pending: &mut Pending) -> Vec<u64> {
        let mut sequences = Vec::with_capacity(commit.quarantine.len());
        for entry in &commit.quarantine {
            let sequence = self.state.quarantine_next;
            self.state.quarantine_next += 1;
            let parts = quarantine::encode(sequence, entry, self.commit);
            let bytes = parts.iter().map(|(_, value)| value.len() as u64 + ENTRY_OVERHEAD).sum();
            self.quarantined.push_back((sequence, u16::try_from(parts.len() - 1).unwrap_or(u16::MAX), bytes));
            self.count_quarantine(1, bytes.cast_signed());
            for (key, value) in parts {
                pending.insert(&key, value);
            }
            sequences.push(sequence);
        }
        for &sequence in &commit.quarantine_drop {
            if let Ok(at) = self.quarantined.binary_search_by_key(&sequence, |entry| entry.0) {
                self.remove_quarantined(at, pending);
            }
        }
        let store = Arc::clone(&self.store);
        let figures = &store.figures;
        let mut evicted = 0;
        while figures.quarantine_bytes.load(Ordering::Relaxed) > self.quarantine_budget && self.quarantined.len() > 1 {
            if let Some(&(sequence, ..)) = self.quarantined.front() {
                self.state.quarantine_floor = sequence + 1;
            }
            self.remove_quarantined(0, pending);
            evicted += 1;
        }
        if evicted > 0 {
            figures.quarantine_evicted.fetch_add(evicted, Ordering::Relaxed);
            tracing::warn!(
                kind = notice::QUARANTINE_EVICTED.kind,
                evicted,
                "the quarantine is over its budget: its oldest entries were removed"
            );
        }
        if !sequences.is_empty() || evicted > 0 {
            self.state_age = STATE_EVERY;
        }
        sequences
    }

    fn cases(&mut self, commit: &Commit, pending: &mut Pending) {
        for change in &commit.cases {
            let grown = match change {
                CaseChange::Put(case) => {
                    let (key, value) = case.stored(self.commit);
                    let bytes = value.len();
                    pending.insert(&key, value);
                    self.cases.note(key, Some(bytes))
                }
                CaseChange::Drop(sink, sequence) => {
                    let key = keys::case(sink, *sequence);
                    pending.remove(&key);
                    self.cases.note(key, None)
                }
            };
            self.live = self.live.saturating_add_signed(grown);
        }
        for (sink, calls) in &commit.calls {
            let value = frame::wrap(Kind::Meta, self.commit, &case::encode_calls(sink, *calls));
            pending.insert(&case::calls_key(sink), value);
        }
        self.store.figures.cases.store(self.cases.count(), Ordering::Relaxed);
    }

    fn remove_quarantined(&mut self, at: usize, pending: &mut Pending) {
        let Some((sequence, parts, bytes)) = self.quarantined.remove(at) else { return };
        for part in 0..=parts {
            pending.remove(&keys::quarantine(sequence, part));
        }
        self.count_quarantine(-1, -bytes.cast_signed());
    }

    fn count_quarantine(&mut self, entries: i64, bytes: i64) {
        let figures = &self.store.figures;
        let add = |figure: &AtomicU64, n: i64| {
            figure.store(figure.load(Ordering::Relaxed).saturating_add_signed(n), Ordering::Relaxed);
        };
        add(&figures.quarantine_entries, entries);
        add(&figures.quarantine_bytes, bytes);
        self.live = self.live.saturating_add_signed(bytes);
    }

    /// Adds moved cursors, a merge, trimming and the state to a batch.
    fn housekeep(&mut self, chunks: usize, pending: &mut Pending) -> Result<(), StoreError> {
        let store = Arc::clone(&self.store);
        let mut delivered = u64::MAX;
        for sink in store.sinks.all() {
            let next = sink.next.load(Ordering::Acquire);
            if sink.is_declared() {
                delivered = delivered.min(next);
            }
            if next != sink.stored.load(Ordering::Relaxed) {
                let body = state::encode_cursor(&sink.name, next);
                pending.insert(&keys::named(keys::CURSOR, &sink.name), frame::wrap(Kind::Cursor, self.commit, &body));
                pending.cursors.push((sink, next));
            }
        }
        // A chunk that this batch inserts stands under a key that trimming would find in the log and remove.
        let merging = self.merged.as_ref().and_then(|merged| merged.removed.first().copied());
        self.apply_merge(pending);
        let most = (2 * chunks).clamp(TRIM_MIN, TRIM_MAX);
        // The first to go: no promise hangs on them.
        self.forget_events(most, pending);
        let is_over = self.trim(delivered.min(merging.unwrap_or(u64::MAX)), most, pending)?;
        let floor_ms = self.clock.now_ms().saturating_sub(self.window.length_ms());
        self.forget(floor_ms, most, pending);
        if is_over && delivered >= self.state.next {
            self.cut_observations(most, pending);
        }
        if self.state_age >= STATE_EVERY || self.state.is_time_stale(&self.clock) {
            self.state_age = 0;
            self.state.note_time(&self.clock);
            let body = self.state.encode();
            pending.insert(&keys::named(keys::META, state::STATE), frame::wrap(Kind::Meta, self.commit, &body));
        }
        Ok(())
    }

    fn apply_merge(&mut self, pending: &mut Pending) {
        let Some(merged) = self.merged.take() else { return };
        // A chunk inserted under a removed one's key replaces it: a batch keeps the last word per key.
        for first in &merged.removed {
            pending.remove(&keys::log(*first));
        }
        self.live = self.live.saturating_sub(merged.removed_bytes);
        for chunk in &merged.inserted {
            let value = frame::wrap(Kind::Log, self.commit, chunk.raw());
            let bytes = value.len() as u64 + ENTRY_OVERHEAD;
            self.live += bytes;
            self.small.inserted(chunk, bytes);
            pending.insert(&keys::log(chunk.first()), value);
        }
    }

    /// Removes chunks that are out of the window (or over the disk budget) and that every sink has passed. Says whether the
    /// disk budget is not met by that.
    fn trim(&mut self, delivered: u64, most: usize, pending: &mut Pending) -> Result<bool, StoreError> {
        let store = Arc::clone(&self.store);
        let figures = &store.figures;
        let now = self.clock.now_ms();
        let time = self.window.floor(now, self.state.next);
        let out = time.max(store.index.floor.load(Ordering::Relaxed));
        let over = store.disk.is_tight() && self.when_full == WhenFull::Shorten && self.kept.bytes() == 0;
        let limit = if over { delivered.min(self.state.next) } else { out.min(delivered) };
        figures.window_floor.fetch_max(out, Ordering::Relaxed);
        if limit < self.second {
            self.note_window(time, now);
            return Ok(over);
        }
        let mut previous: Option<(u64, u64)> = None;
        let mut removed = 0;
        for entry in store.medium.scan(keys::LOG, &keys::log(0)) {
            let (key, value) = entry?;
            let Some(first) = keys::log_first(&key) else { continue };
            if let Some((before, bytes)) = previous {
                if first > limit || removed == most {
                    self.second = first;
                    break;
                }
                pending.remove(&keys::log(before));
                self.live = self.live.saturating_sub(bytes);
                removed += 1;
            }
            self.second = u64::MAX;
            self.state.log_floor = first;
            previous = Some((first, value.len() as u64 + ENTRY_OVERHEAD));
        }
        if removed > 0 {
            self.state_age += 1;
            let floor = self.state.log_floor;
            self.small.trim(floor);
            figures.log_floor.store(floor, Ordering::Relaxed);
            if over && floor > out {
                self.state.disk_floor = floor;
                figures.window_floor.fetch_max(floor, Ordering::Relaxed);
            }
        }
        self.note_window(time, now);
        Ok(over && removed < most)
    }

    /// Tells how long the window is and what cut it: it begins at `time_floor` by the configured length alone.
    pub(crate) fn note_window(&mut self, time_floor: u64, now_ms: u64) {
        let figures = &self.store.figures;
        let (index, disk) = (self.store.index.floor.load(Ordering::Relaxed), self.state.disk_floor);
        // After a start the log, and with it the time's floor, begins where the disk budget has cut it.
        let (cut, floor, is_past) = if disk > index {
            (WindowCut::Disk, disk, disk < time_floor)
        } else {
            (WindowCut::Memory, index, index <= time_floor)
        };
        let age_ms = self.window.age_ms(floor, now_ms);
        let cut = (!is_past && age_ms < self.window.length_ms()).then_some(cut);
        let window_ms = if cut.is_some() { age_ms } else { self.window.length_ms() };
        figures.window_ms.store(window_ms, Ordering::Relaxed);
        let number = match cut {
            None => 0,
            Some(WindowCut::Memory) => 1,
            Some(WindowCut::Disk) => 2,
        };
        figures.window_cut.store(number, Ordering::Relaxed);
        if let Some(cut) = self.alarm.of(cut, window_ms, now_ms) {
            let (kind, by, seconds) = (notice::WINDOW_CUT.kind, cut.budget(), window_ms / 1000);
            tracing::warn!(kind, by, seconds, "the dedup window is cut: older repeats are taken for new events");
        }
    }

    fn write(&mut self, pending: Pending, chunks: &[Arc<Chunk>]) -> Result<u64, StoreError> {
        let store = Arc::clone(&self.store);
        store.medium.write(pending.batch)?;
        for (sink, next) in pending.cursors {
            sink.stored.store(next, Ordering::Release);
        }
        if let Some(last) = chunks.last() {
            self.state.next = last.next();
            let mut tail = store.tail();
            for chunk in chunks {
                tail.push(Arc::clone(chunk));
            }
            drop(tail);
            let tip = Tip { next: last.next(), seed: store.seed, generation: self.state.generation };
            self.tip.write(tip).inspect_err(|error| store.medium.latch(error))?;
            store.committed.send_replace(last.next());
            for (chunk, bytes) in chunks.iter().zip(&pending.log_bytes) {
                self.window.note(chunk.first(), chunk.log_ms());
                if self.second == u64::MAX && chunk.first() > self.state.log_floor {
                    self.second = chunk.first();
                }
                if let Some(merged) = self.small.note(chunk, *bytes) {
                    self.merged = Some(merged);
                }
            }
        }
        store.medium.collect_garbage(64 + chunks.len() * 2);
        store.disk.update(self.live, store.medium.file())?;
        Ok(pending.bytes)
    }
}
