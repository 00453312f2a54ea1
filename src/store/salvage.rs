//! When the log engine cannot open its file, or opened it and lost something that was durable: a new store
//! from every whole value that still stands in the old file.
//!
//! # What comes back
//!
//! Of the log every sequence of which a whole chunk is found; of cursors, offsets and meta entries the value
//! with the highest commit number; of quarantine, labels, observations and kept events every complete entry, also such as
//! were dropped before; of cases the newest value, as one that nobody knows the outcome of; of observations and kept events only those of verdicts that were durable. What is missing is listed (meta entry
//! `gaps`), counted and reported once; of observations it is counted.
//!
//! # Safe to be cut off
//!
//! The new store is built in `store.new` and synced; then the old one becomes `damaged-<n>/store` and the new
//! one `store`. Copies of what the engine may have zeroed lie in `damaged-<n>` before it opens. A start that
//! finds a `damaged-<n>` without the file `done` salvages again, from all of it.

use super::builder::BatchBuilder;
use super::case;
use super::chunk::Chunk;
use super::error::StoreError;
use super::frame::{self, Framed, Kind};
use super::kept_chunk::{self, Rows};
use super::keys;
use super::label::LabelChunk;
use super::layout::{self, Layout};
use super::medium::{Batch, Medium};
use super::observation::{Filling, Head, ObservationChunk};
use super::options::Options;
use super::quarantine;
use super::record::NewRecord;
use super::scan;
use super::state::{self, FORMAT, State};
use super::tip::Tip;
use crate::notice;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Of kept events no more is taken in: a rebuild must fit in the memory of a small box, and no promise hangs on them.
const KEPT_BYTES_MAX: usize = 16 << 20;

/// Commit number and body.
type Value = (u64, Box<[u8]>);
/// The same with the kind between.
type SmallValue = (u64, Kind, Box<[u8]>);

/// The values found, the newest of each.
#[derive(Default)]
pub struct Found {
    /// By first sequence and count; of equals the newest.
    chunks: BTreeMap<(u64, u64), Value>,
    /// Cursors, offsets, cases and meta entries by key.
    small: BTreeMap<Vec<u8>, SmallValue>,
    quarantine: BTreeMap<(u64, u16), Value>,
    /// Label chunks by first number.
    labels: BTreeMap<u64, SmallValue>,
    /// Chunks of observations by first sequence.
    observations: BTreeMap<u64, Value>,
    /// Chunks of kept events by first sequence.
    kept: BTreeMap<u64, Value>,
    /// Bytes of those that were taken in.
    kept_bytes: usize,
    /// Where the log ended when each generation opened it, as far as known.
    openings: BTreeMap<u64, u64>,
}

impl Found {
    /// Takes a value in.
    pub fn take(&mut self, framed: Framed) {
        let Framed { kind, commit, body, .. } = framed;
        let key = match kind {
            Kind::Log => {
                if let Ok(chunk) = Chunk::decode(body.clone()) {
                    let slot = self.chunks.entry((chunk.first(), chunk.count())).or_default();
                    if slot.1.is_empty() || commit >= slot.0 {
                        *slot = (commit, body);
                    }
                }
                return;
            }
            Kind::Quarantine => {
                if let Ok(part) = quarantine::decode_part(&body) {
                    let key = (part.sequence, part.number);
                    self.quarantine.insert(key, (commit, body));
                }
                return;
            }
            Kind::Label | Kind::OldLabel => {
                if let Ok(chunk) = LabelChunk::decode(kind, &body) {
                    let slot = self.labels.entry(chunk.number).or_insert((0, kind, Box::default()));
                    if commit >= slot.0 {
                        *slot = (commit, kind, body);
                    }
                }
                return;
            }
            Kind::Observation => {
                if let Ok(chunk) = ObservationChunk::decode(&body) {
                    let slot = self.observations.entry(chunk.first).or_default();
                    if commit >= slot.0 {
                        *slot = (commit, body);
                    }
                }
                return;
            }
            Kind::Kept => {
                if let Ok(head) = kept_chunk::Head::of(&body)
                    && self.kept_bytes < KEPT_BYTES_MAX
                {
                    self.kept_bytes += body.len();
                    let slot = self.kept.entry(head.first).or_default();
                    if commit >= slot.0 {
                        *slot = (commit, body);
                    }
                }
                return;
            }
            Kind::Cursor => state::decode_cursor(&body).ok().map(|(name, _)| keys::named(keys::CURSOR, name)),
            Kind::Case => case::key_of(&body),
            Kind::Offset => state::decode_offset(&body).ok().map(|(name, _)| keys::named(keys::OFFSET, name)),
            Kind::Meta => {
                if let Ok(state) = State::decode(&body) {
                    let next = self.openings.entry(state.generation).or_insert(u64::MAX);
                    *next = state.next.min(*next);
                }
                state::meta_name(&body).ok().map(|name| keys::named(keys::META, name))
            }
        };
        let Some(key) = key else { return };
        let slot = self.small.entry(key).or_insert((0, kind, Box::default()));
        if commit >= slot.0 {
            *slot = (commit, kind, body);
        }
    }

    /// The log as far as it is there: ranges of sequences, ascending, each in the newest chunk that has it.
    pub fn log(&self, floor: u64) -> Vec<(u64, u64, &[u8])> {
        let mut newest: Vec<_> = self.chunks.iter().collect();
        newest.sort_by_key(|((_, count), (commit, _))| std::cmp::Reverse((*commit, *count)));
        let mut taken: BTreeMap<u64, (u64, &[u8])> = BTreeMap::new();
        for (&(first, count), (commit, body)) in newest {
            let end = self.end(*commit).min(first + count);
            let mut from = first.max(floor);
            while from < end {
                if let Some((_, (covered, _))) = taken.range(..=from).next_back().filter(|(_, (to, _))| *to > from) {
                    from = *covered;
                    continue;
                }
                let to = taken.range(from..).next().map_or(end, |(start, _)| end.min(*start));
                taken.insert(from, (to, body));
                from = to;
            }
        }
        taken.into_iter().map(|(from, (to, body))| (from, to, body)).collect()
    }

    /// Where the log ended that a commit was made for: what an earlier start left unfinished behind that is void.
    fn end(&self, commit: u64) -> u64 {
        let openings = self.openings.iter().filter(|(generation, _)| commit >> 40 < **generation);
        openings.map(|(_, next)| *next).fold(u64::MAX, u64::min)
    }

    /// The greatest cursor.
    fn confirmed(&self) -> u64 {
        let cursors = self.small.values().filter(|(_, kind, _)| *kind == Kind::Cursor);
        cursors.filter_map(|(.., body)| state::decode_cursor(body).ok()).map(|(_, next)| next).max().unwrap_or(0)
    }

    /// Where a sink's cursor stands; 0 where it is not known.
    fn cursor(&self, sink: &str) -> u64 {
        let found = self.small.get(&keys::named(keys::CURSOR, sink));
        found.and_then(|(.., body)| state::decode_cursor(body).ok()).map_or(0, |(_, next)| next)
    }

    fn state(&self) -> Option<State> {
        let (_, _, body) = self.small.get(&keys::named(keys::META, state::STATE))?;
        State::decode(body).ok()
    }
}

/// A folder for the evidence, made before the engine opens the file: with the newest segments, and a copy of
/// the whole file if there is room for it.
pub fn keep_evidence(layout: &Layout, tail: &[u8], whole: bool) -> Result<PathBuf, StoreError> {
    let damaged = layout.next_damaged();
    layout::make_dir(&damaged)?;
    layout::write_durably(&damaged.join("tail"), tail)?;
    if whole {
        let copy = damaged.join("db");
        let copied = fs::copy(layout.db(), &copy).and_then(|_| fs::File::open(&copy)?.sync_all());
        if let Err(error) = copied {
            tracing::warn!(kind = notice::EVIDENCE_NOT_KEPT.kind, %error, "the damaged file could not be copied before it is opened");
            let _ = fs::remove_file(&copy);
        }
        layout::sync_dir(&damaged)?;
    }
    Ok(damaged)
}

/// Nothing was lost after all.
pub fn forget_evidence(damaged: &Path) -> Result<(), StoreError> {
    fs::remove_dir_all(damaged).map_err(|error| StoreError::io("remove", damaged, &error))
}

/// A salvage that was cut off: its folder.
pub fn unfinished(layout: &Layout) -> Option<PathBuf> {
    layout.damaged().find(|path| !path.join("done").exists())
}

/// Number of salvages this state-dir has seen.
pub fn count(layout: &Layout) -> u64 {
    layout.damaged().count() as u64
}

/// The outcome of a salvage.
pub struct Salvaged {
    /// The new store, open; none where only the last step of a salvage that was cut off was left to do.
    pub medium: Option<Medium>,
    /// Sequences whose loss was known before.
    pub known_lost: u64,
    /// Observations that are missing between those found.
    pub observations_lost: u64,
}

/// Builds the new store and puts it in the place of the old one.
pub fn run(layout: &Layout, options: &Options, damaged: &Path) -> Result<Salvaged, StoreError> {
    let mut found = Found::default();
    let moved = damaged.join("store");
    for source in [layout.db(), damaged.join("db"), damaged.join("tail"), moved.join("db")] {
        if source.exists() {
            scan::values_in_file(&source, |framed| found.take(framed))?;
        }
    }
    let new = layout.dir.join("store.new");
    let mut salvaged = Salvaged { medium: None, known_lost: 0, observations_lost: 0 };
    if !(moved.exists() && new.exists()) {
        if new.exists() {
            fs::remove_dir_all(&new).map_err(|error| StoreError::io("remove", &new, &error))?;
        }
        layout::prepare(&Layout { store: "store.new", ..layout.clone() })?;
        let medium = Medium::open(&new, options.cache_bytes, options.on_stuck)?;
        (salvaged.known_lost, salvaged.observations_lost) = write_all(&medium, &found, Tip::read(&layout.tip()))?;
        // Kept open over the renames: the engine's lock on its file may outlive a drop for a while.
        salvaged.medium = Some(medium);
        layout::write_segments(layout, &[])?;
    }
    let rename = |from: &Path, to: &Path| fs::rename(from, to).map_err(|error| StoreError::io("rename", from, &error));
    if !moved.exists() {
        rename(&layout.store(), &moved)?;
        layout::sync_dir(damaged)?;
        layout::sync_dir(&layout.dir)?;
    }
    if !layout.store().exists() {
        rename(&new, &layout.store())?;
    }
    layout::sync_dir(&layout.dir)?;
    layout::write_durably(&damaged.join("done"), b"")?;
    Ok(salvaged)
}

/// Writes everything found; gives the number of sequences whose loss was known before, and of observations missing.
fn write_all(medium: &Medium, found: &Found, tip: Option<Tip>) -> Result<(u64, u64), StoreError> {
    let known = found.state();
    let floor = known.map_or(1, |state| state.log_floor).max(1);
    let mut commit = found.small.values().map(|value| value.0).chain(found.chunks.values().map(|value| value.0)).max();
    let commit = commit.get_or_insert(0);
    let mut batch = Writing { medium, batch: Batch::default(), bytes: 0 };
    let (mut gaps, next) = write_chunks(&mut batch, found, floor, *commit)?;
    // The log was durable up to where the tip says, and to where a sink has confirmed it.
    let durable = tip.map_or(0, |tip| tip.next).max(found.confirmed());
    if durable > next {
        gaps.push((next, durable));
    }
    // Those known before stay listed: what was lost is not forgotten when the log has moved past it.
    let old = found.small.get(&keys::named(keys::META, state::GAPS));
    let old = old.and_then(|(_, _, body)| state::decode_gaps(body).ok()).unwrap_or_default();
    let before: u64 = old.iter().map(|(from, to)| to - from).sum();
    gaps.retain(|gap| !old.iter().any(|known| known.0 <= gap.0 && gap.1 <= known.1));
    gaps.splice(0..0, old);
    let state = State {
        format: FORMAT,
        seed: known.map(|state| state.seed).or(tip.map(|tip| tip.seed)).unwrap_or_else(rand::random),
        next: next.max(durable).max(known.map_or(1, |state| state.next)),
        log_floor: floor,
        quarantine_next: known.map_or(1, |state| state.quarantine_next),
        generation: (*commit >> 40).max(known.map_or(0, |state| state.generation)),
        ..known.unwrap_or_default()
    };
    let first_part = known.map_or(0, |state| state.quarantine_floor);
    for ((sequence, part), (commit, body)) in &found.quarantine {
        if *sequence >= first_part && (*part == 0 || found.quarantine.contains_key(&(*sequence, 0))) {
            batch.put(&keys::quarantine(*sequence, *part), frame::wrap(Kind::Quarantine, *commit, body))?;
        }
    }
    for (number, (commit, kind, body)) in &found.labels {
        batch.put(&keys::label(*number), frame::wrap(*kind, *commit, body))?;
    }
    let missing = write_observations(&mut batch, found, state.next, *commit)?;
    write_kept(&mut batch, found, state.next, *commit)?;
    for (key, (commit, kind, body)) in &found.small {
        if *kind != Kind::Case {
            batch.put(key, frame::wrap(*kind, *commit, body))?;
        } else if let Some(body) = keys::case_of(key).and_then(|(sink, _)| case::salvaged(body, found.cursor(sink))) {
            batch.put(key, frame::wrap(*kind, *commit, &body))?;
        }
    }
    let meta = |name: &str, body: Vec<u8>| (keys::named(keys::META, name), frame::wrap(Kind::Meta, *commit, &body));
    for (key, value) in [meta(state::STATE, state.encode()), meta(state::GAPS, state::encode_gaps(&gaps))] {
        batch.put(&key, value)?;
    }
    batch.finish()?;
    Ok((before, missing))
}

/// Writes the log; gives the gaps and the sequence after the last.
fn write_chunks(
    batch: &mut Writing<'_>,
    found: &Found,
    floor: u64,
    commit: u64,
) -> Result<(Vec<(u64, u64)>, u64), StoreError> {
    // Some of what is missing right after the floor may only have been trimmed since that was stored.
    let mut next = floor;
    let mut gaps = Vec::new();
    for (from, to, body) in found.log(floor) {
        if next < from {
            gaps.push((next, from));
        }
        next = to;
        let Ok(chunk) = Chunk::decode(body.into()) else { continue };
        if (from, to) == (chunk.first(), chunk.next()) {
            batch.put(&keys::log(from), frame::wrap(Kind::Log, commit, body))?;
        } else {
            for part in records(&chunk, from, to) {
                batch.put(&keys::log(part.first()), frame::wrap(Kind::Log, commit, part.raw()))?;
            }
        }
    }
    Ok((gaps, next))
}

/// Writes the observations: those of verdicts below `next`, each once, numbered anew. Gives how many are missing between
/// them.
fn write_observations(batch: &mut Writing<'_>, found: &Found, next: u64, commit: u64) -> Result<u64, StoreError> {
    let (mut number, mut from, mut missing) = (0, 0, 0);
    let mut expected = None;
    for (made_by, body) in found.observations.values() {
        let Ok(mut chunk) = ObservationChunk::decode(body) else { continue };
        if !chunk.keep(from, found.end(*made_by).min(next)) {
            continue;
        }
        if let Ok(head) = Head::of(body) {
            missing += expected.map_or(0, |expected| head.number.saturating_sub(expected));
            expected = Some(head.number.saturating_add(u64::from(head.count)));
        }
        from = chunk.rows.last().map_or(from, |row| row.sequence + 1);
        if let Some(filling) = Filling::reopened(&chunk, number) {
            number += u64::from(filling.head.count);
            batch.put(&keys::observation(chunk.first), frame::wrap(Kind::Observation, commit, &filling.body()))?;
        }
    }
    Ok(missing)
}

/// Writes the kept events: those of verdicts below `next`, each once.
fn write_kept(batch: &mut Writing<'_>, found: &Found, next: u64, commit: u64) -> Result<(), StoreError> {
    let mut from = 0;
    for (made_by, body) in found.kept.values() {
        let end = found.end(*made_by).min(next);
        let mut rows = Rows::default();
        for event in kept_chunk::decode(body).into_iter().flatten() {
            if (from..end).contains(&event.sequence) {
                rows.push(event.sequence, event.log_ms, &event.line);
                from = event.sequence + 1;
            }
        }
        if let Some((head, body)) = rows.body() {
            batch.put(&keys::kept(head.first), frame::wrap(Kind::Kept, commit, &body))?;
        }
    }
    Ok(())
}

/// Some of a chunk's records, in chunks of their own.
pub fn records(chunk: &Chunk, from: u64, to: u64) -> Vec<Arc<Chunk>> {
    let mut builder = BatchBuilder::new(from);
    for record in chunk.records().filter(|record| (from..to).contains(&record.verdict.sequence)) {
        let _ = builder.append(&NewRecord::of(&record));
    }
    builder.seal()
}

/// Writes in batches of a few megabytes.
struct Writing<'a> {
    medium: &'a Medium,
    batch: Batch,
    bytes: usize,
}

impl Writing<'_> {
    fn put(&mut self, key: &[u8], value: Vec<u8>) -> Result<(), StoreError> {
        self.bytes += value.len();
        self.batch.insert(key, value);
        if self.bytes > 128 << 10 {
            self.bytes = 0;
            self.medium.write(std::mem::take(&mut self.batch))?;
            self.medium.collect_garbage(64);
        }
        Ok(())
    }

    fn finish(self) -> Result<(), StoreError> {
        self.medium.write(self.batch)
    }
}
