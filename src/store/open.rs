//! Opening the store: the lock, recovery, and the parts handed out.

use super::case::CaseLog;
use super::disk::{self, Disk};
use super::error::StoreError;
use super::frame::{self, Kind};
use super::history::History;
use super::index::Index;
use super::keys;
use super::label_log::LabelLog;
use super::layout::{self, Layout};
use super::lock::Lock;
use super::medium::{Batch, Medium};
use super::options::Options;
use super::recover::{self, Laps, Recovered};
use super::salvage;
use super::shared::{Figures, Store, decode_head, tell_gaps};
use super::sinks::Sinks;
use super::state::{self, FORMAT};
use super::stats::Recovery;
use super::tip::TipFile;
use super::window::CutAlarm;
use super::writer::{ENTRY_OVERHEAD, Writer};
use crate::notice;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

/// An open store.
pub struct Opened {
    pub store: Arc<Store>,
    /// For the engine's thread.
    pub index: Index,
    /// For the committing thread.
    pub writer: Writer,
    pub recovery: Recovery,
}

/// Opens the store in `options.dir`, making it where there is none.
///
/// # Errors
/// [`StoreError::Held`] when another process has it, [`StoreError::NewerFormat`] when a later release wrote it,
/// otherwise when the medium fails.
pub fn open(options: &Options) -> Result<Opened, StoreError> {
    let mut recovery = Recovery::default();
    let mut laps = Laps::start();
    let error = match attempt(options, &mut recovery, &mut laps) {
        Ok(opened) => return Ok(Opened { recovery, ..opened }),
        Err(error) if error.is_full() => error,
        Err(error) => return Err(error),
    };
    // What the file system said of its free space did not hold, as with quotas.
    if !disk::drop_ballast(&Layout::new(&options.dir)) {
        return Err(error);
    }
    let kind = notice::BALLAST_GIVEN_UP.kind;
    tracing::error!(kind, %error, "the disk is full: the ballast is given up so that the store can be opened");
    if laps.engine {
        // The engine keeps its file locked in this process: only the next start can use what is free now.
        return Err(error);
    }
    recovery = Recovery { ballast_given_up: true, ..Recovery::default() };
    let opened = attempt(options, &mut recovery, &mut Laps::start())?;
    Ok(Opened { recovery, ..opened })
}

fn attempt(options: &Options, recovery: &mut Recovery, laps: &mut Laps) -> Result<Opened, StoreError> {
    let layout = Layout::new(&options.dir);
    layout::make_dir(&layout.dir)?;
    let lock = Lock::take(&layout.lock(), &options.instance)?;
    let Recovered { medium, mut state, folded, observed, kept: (kept, damaged_kept) } =
        recover::recover(&layout, options, recovery, laps)?;
    let gaps = recover::read_gaps(&medium)?;
    let lost: u64 = gaps.iter().map(|(from, to)| to - from).sum();
    if recovery.salvaged_to.is_some() {
        recovery.lost_now = lost.saturating_sub(recovery.lost_now);
    }
    state.format = FORMAT;
    state.next = state.next.max(folded.next);
    state.log_floor = folded.first;
    state.note_time(&folded.clock);
    state.generation += 1;

    let sinks = Sinks::stored(recover::read_cursors(&medium)?);
    tell_gaps(&sinks.declare(&options.sinks, state.log_floor, state.next));
    let quarantined = read_quarantine(&medium)?;
    let (labels, damaged_labels) = read_labels(&medium)?;
    recovery.set_aside_now += damaged_labels + damaged_kept;
    let cases = CaseLog::open(&medium)?;
    let history = History::open(&medium)?;
    let figures = Figures::default();
    let quarantine_bytes: u64 = quarantined.iter().map(|entry| entry.2).sum();
    let live = folded.live
        + quarantine_bytes
        + cases.bytes()
        + labels.bytes()
        + observed.list.bytes()
        + kept.bytes()
        + history.bytes();
    for (figure, value) in [
        (&figures.quarantine_entries, quarantined.len() as u64),
        (&figures.quarantine_bytes, quarantine_bytes),
        (&figures.lost, lost),
        (&figures.set_aside, salvage::count(&layout)),
        (&figures.log_floor, state.log_floor),
        (&figures.cases, cases.count()),
        (&figures.labels, labels.count()),
        (&figures.labels_pending, labels.pending()),
        (&figures.window_floor, folded.index.floor().max(state.disk_floor)),
    ] {
        figure.store(value, Ordering::Relaxed);
    }
    if let Some(&(last, ..)) = quarantined.back() {
        state.quarantine_next = state.quarantine_next.max(last + 1);
    }
    // The generation must be durable before a commit carries its number.
    let mut batch = Batch::default();
    let commit = state.generation << 40;
    batch.insert(keys::named(keys::META, state::STATE), frame::wrap(Kind::Meta, commit, &state.encode()));
    if medium.get(&keys::filler(keys::FILLERS - 1))?.is_none() {
        (0..keys::FILLERS).for_each(|n| batch.insert(&keys::filler(n), &[]));
    }
    medium.write(batch)?;
    laps.lap(recovery, "first write");

    let store = Arc::new(Store {
        seed: state.seed,
        tail: Mutex::new(folded.tail),
        observed: Mutex::new(observed.list),
        last_observed: Mutex::default(),
        committed: tokio::sync::watch::Sender::new(state.next),
        sinks,
        figures,
        index: Arc::clone(folded.index.figures()),
        disk: Disk::new(layout.clone(), options.disk_bytes, recovery.created),
        disk_budget: options.disk_bytes,
        blobs: layout::has_blobs(&layout),
        medium,
        _lock: lock,
    });
    store.disk.update(live, store.medium.file())?;
    let mut writer = Writer {
        store: Arc::clone(&store),
        tip: TipFile::open(&layout.tip())?,
        clock: folded.clock,
        window: folded.window,
        state,
        commit,
        live,
        second: folded.second,
        small: folded.small,
        merged: None,
        quarantined,
        quarantine_budget: options.quarantine_bytes,
        cases,
        labels,
        observations: observed.log,
        kept,
        newest_us: observed.newest_us,
        history,
        when_full: options.when_full,
        state_age: 0,
        alarm: CutAlarm::default(),
    };
    writer.tell_kept();
    let now_ms = writer.clock.now_ms();
    let time_floor = writer.window.floor(now_ms, writer.state.next);
    writer.note_window(time_floor, now_ms);
    laps.lap(recovery, "rest");
    Ok(Opened { store, index: folded.index, writer, recovery: Recovery::default() })
}

/// The labels there are, and how many chunks of them are damaged.
fn read_labels(medium: &Medium) -> Result<(LabelLog, u64), StoreError> {
    let mut labels = LabelLog::default();
    let mut damaged = 0;
    for entry in medium.scan(keys::LABEL, &[keys::LABEL]) {
        let (key, value) = entry?;
        damaged += u64::from(!labels.note(&key, &value));
    }
    Ok((labels, damaged))
}

/// Sequence, parts and bytes of each entry.
fn read_quarantine(medium: &Medium) -> Result<VecDeque<(u64, u16, u64)>, StoreError> {
    let mut entries: VecDeque<(u64, u16, u64)> = VecDeque::new();
    for entry in medium.scan(keys::QUARANTINE, &[keys::QUARANTINE]) {
        let (key, value) = entry?;
        let Some((sequence, part)) = keys::quarantine_of(&key) else { continue };
        let bytes = value.len() as u64 + ENTRY_OVERHEAD;
        match entries.back_mut().filter(|entry| entry.0 == sequence) {
            Some(entry) => {
                entry.1 = part;
                entry.2 += bytes;
            }
            None => entries.push_back((sequence, decode_head(&value).map_or(part, |info| info.parts), bytes)),
        }
    }
    Ok(entries)
}
