//! Opening: the lock, the files, the log engine, and what is folded from the log.

use super::chunk::Chunk;
use super::clock::{self, LogClock};
use super::disk::{self, Disk};
use super::error::StoreError;
use super::frame::{self, Kind};
use super::index::Index;
use super::keys;
use super::layout::{self, Layout};
use super::lock::Lock;
use super::medium::{Batch, Medium};
use super::merge::SmallRun;
use super::options::{Options, SinkStart};
use super::salvage;
use super::scan;
use super::state::{self, FORMAT, State};
use super::stats::Recovery;
use super::store::{Figures, Sink, Store, decode_chunk, decode_head};
use super::tail::Tail;
use super::tip::{Tip, TipFile};
use super::window::Window;
use super::writer::{ENTRY_OVERHEAD, Writer};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// An open store.
pub struct Opened {
    pub store: Arc<Store>,
    /// For the engine's thread.
    pub index: Index,
    /// For the committing thread.
    pub writer: Writer,
    pub recovery: Recovery,
}

/// Fingerprint of an event's identity, as the decoder makes it.
pub(crate) fn identity(seed: u64, source: &[u8], id: &[u8]) -> u64 {
    xxh3_64_with_seed(id, xxh3_64_with_seed(source, seed))
}

/// What folding the log gives.
struct Folded {
    index: Index,
    window: Window,
    tail: Tail,
    small: SmallRun,
    clock: LogClock,
    live: u64,
    first: u64,
    second: u64,
    next: u64,
    log_ms: u64,
    /// Sequences missing between two chunks.
    gaps: Vec<(u64, u64)>,
}

/// Opens the store in `options.dir`, making it where there is none.
///
/// # Errors
/// [`StoreError::Held`] when another process has it, [`StoreError::NewerFormat`] when a later release wrote it,
/// otherwise when the medium fails.
pub fn open(options: &Options) -> Result<Opened, StoreError> {
    let started = Instant::now();
    let mut recovery = Recovery::default();
    let mut phase = started;
    let mut lap = |recovery: &mut Recovery, name: &'static str| {
        let now = Instant::now();
        recovery.phases.push((name, (now - phase).as_secs_f64() * 1e3));
        phase = now;
    };
    let layout = Layout::new(&options.dir);
    layout::make_dir(&layout.dir)?;
    let lock = Lock::take(&layout.lock(), &options.instance)?;
    let tip = Tip::read(&layout.tip());
    if let Some(damaged) = salvage::unfinished(&layout) {
        rebuild(&layout, options, &damaged, &mut recovery)?;
    }
    layout::prepare(&layout)?;
    if scan::mend(&layout.db(), &layout::read_segments(&layout))? > 0 {
        tracing::debug!("filled holes that the log engine made when it was opened last");
    }
    let look = scan::look(&layout.db())?;
    layout::write_segments(&layout, &look.chain)?;
    let evidence = if look.damage.is_empty() {
        None
    } else {
        tracing::error!(places = look.damage.len(), first = look.damage[0], "the store's file is damaged");
        Some(salvage::keep_evidence(&layout, &look.tail, true)?)
    };
    lap(&mut recovery, "look");
    let (medium, mut state, folded) = match open_whole(&layout, options, tip, &mut recovery, &mut lap)? {
        Ok(whole) => {
            if let Some(evidence) = evidence {
                salvage::forget_evidence(&evidence)?;
            }
            whole
        }
        Err(loss) => {
            tracing::error!(%loss, "the store lost what was durable: it is rebuilt from what still stands in its file");
            let evidence = evidence.map_or_else(|| salvage::keep_evidence(&layout, &look.tail, false), Ok)?;
            rebuild(&layout, options, &evidence, &mut recovery)?;
            layout::prepare(&layout)?;
            layout::write_segments(&layout, &scan::look(&layout.db())?.chain)?;
            open_whole(&layout, options, None, &mut recovery, &mut lap)?
                .map_err(|message| StoreError::Engine { what: "open the rebuilt store", message })?
        }
    };
    let lost: u64 =
        folded.gaps.iter().map(|(from, to)| to - from).sum::<u64>() + state.next.saturating_sub(folded.next);
    if recovery.salvaged_to.is_some() {
        recovery.lost_now = lost;
    }
    state.next = state.next.max(folded.next);
    state.log_floor = folded.first;
    state.log_ms = state.log_ms.max(folded.log_ms);
    state.generation = state.generation.max(tip.map_or(0, |tip| tip.generation)) + 1;

    let (sinks, orphans) = read_cursors(&medium, options, &state)?;
    let quarantined = read_quarantine(&medium)?;
    let figures = Figures::default();
    let quarantine_bytes: u64 = quarantined.iter().map(|entry| entry.2).sum();
    figures.quarantine_entries.store(quarantined.len() as u64, Ordering::Relaxed);
    figures.quarantine_bytes.store(quarantine_bytes, Ordering::Relaxed);
    figures.lost.store(lost, Ordering::Relaxed);
    figures.set_aside.store(salvage::count(&layout), Ordering::Relaxed);
    figures.log_floor.store(state.log_floor, Ordering::Relaxed);
    figures.window_floor.store(folded.index.floor(), Ordering::Relaxed);
    if let Some(&(last, ..)) = quarantined.back() {
        state.quarantine_next = state.quarantine_next.max(last + 1);
    }
    lap(&mut recovery, "rest");

    // The generation must be durable before a commit carries its number.
    let mut batch = Batch::default();
    let commit = state.generation << 40;
    batch.insert(keys::named(keys::META, state::STATE), frame::wrap(Kind::Meta, commit, &state.encode()));
    medium.write(batch)?;
    lap(&mut recovery, "first write");

    let store = Arc::new(Store {
        seed: state.seed,
        tail: Mutex::new(folded.tail),
        committed: tokio::sync::watch::Sender::new(state.next),
        sinks,
        orphans,
        figures,
        index: Arc::clone(folded.index.figures()),
        disk: Disk::new(layout.clone(), options.disk_bytes),
        disk_budget: options.disk_bytes,
        blobs: layout::has_blobs(&layout),
        medium,
        _lock: lock,
    });
    let live = folded.live + quarantine_bytes;
    store.disk.update(live, store.medium.file_bytes())?;
    disk::make_ballast(&layout, store.disk.free());
    let writer = Writer {
        store: Arc::clone(&store),
        tip: TipFile::open(&layout.tip())?,
        layout,
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
        when_full: options.when_full,
        state_age: 0,
    };
    lap(&mut recovery, "last");
    Ok(Opened { store, index: folded.index, writer, recovery })
}

type Whole = (Medium, State, Folded);

/// Opens the engine and folds the log. The inner error says what was lost that is known to have been durable.
fn open_whole(
    layout: &Layout,
    options: &Options,
    tip: Option<Tip>,
    recovery: &mut Recovery,
    lap: &mut impl FnMut(&mut Recovery, &'static str),
) -> Result<Result<Whole, String>, StoreError> {
    let medium = match Medium::open(&layout.store(), options.cache_bytes, options.on_stuck) {
        Ok(medium) => medium,
        Err(StoreError::Engine { message, .. }) => return Ok(Err(message)),
        Err(error) => return Err(error),
    };
    lap(recovery, "engine");
    let engine = |result: StoreError| match result {
        StoreError::Engine { message, .. } => Ok(Err(message)),
        error => Err(error),
    };
    let known = match read_state(&medium, layout) {
        Ok(known) => known,
        Err(error) => return engine(error),
    };
    if known.is_none() && tip.is_some() {
        return Ok(Err(String::from("its state entry is missing")));
    }
    let state = known.unwrap_or_else(|| {
        recovery.created = true;
        State {
            format: FORMAT,
            seed: rand::random(),
            log_floor: 1,
            next: 1,
            quarantine_next: 1,
            quarantine_floor: 1,
            ..State::default()
        }
    });
    let folded = match fold_log(&medium, options, &state, recovery) {
        Ok(folded) => folded,
        Err(error) => return engine(error),
    };
    lap(recovery, "fold");
    let gaps = read_gaps(&medium)?;
    let is_known = |gap: &(u64, u64)| gaps.iter().any(|known| known.0 <= gap.0 && gap.1 <= known.1);
    if let Some((from, to)) = folded.gaps.iter().find(|gap| !is_known(gap)) {
        return Ok(Err(format!("sequences {from} to {} are missing", to - 1)));
    }
    let next = folded.next.max(state.next);
    match tip.filter(|tip| tip.next > next) {
        Some(tip) => Ok(Err(format!("the log ends before sequence {next}, it was durable before {}", tip.next))),
        None => Ok(Ok((medium, state, folded))),
    }
}

fn rebuild(layout: &Layout, options: &Options, damaged: &Path, recovery: &mut Recovery) -> Result<(), StoreError> {
    salvage::run(layout, options, damaged)?;
    recovery.salvaged_to = Some(damaged.to_owned());
    Ok(())
}

fn read_gaps(medium: &Medium) -> Result<Vec<(u64, u64)>, StoreError> {
    let value = medium.get(&keys::named(keys::META, state::GAPS))?;
    let framed = value.and_then(|value| frame::unwrap(Kind::Meta, &value).ok());
    Ok(framed.and_then(|framed| state::decode_gaps(&framed.body).ok()).unwrap_or_default())
}

fn read_state(medium: &Medium, layout: &Layout) -> Result<Option<State>, StoreError> {
    let value = medium.get(&keys::named(keys::META, state::STATE))?;
    let state = value.and_then(|value| State::decode(&frame::unwrap(Kind::Meta, &value).ok()?.body).ok());
    if let Some(state) = state.filter(|state| state.format > FORMAT) {
        return Err(StoreError::NewerFormat { path: layout.dir.clone(), found: state.format, known: FORMAT });
    }
    Ok(state)
}

/// One pass over the log: index, marks, the newest chunks.
fn fold_log(medium: &Medium, options: &Options, state: &State, recovery: &mut Recovery) -> Result<Folded, StoreError> {
    let last = medium.last_before(&[keys::LOG + 1])?.and_then(|(key, value)| decode_chunk(&key, &value));
    let last_ms = last.as_ref().and_then(last_log_ms).unwrap_or(0).max(state.log_ms);
    let wall_ms = clock::wall_ms();
    recovery.clock_ahead_ms = wall_ms.saturating_sub(last_ms);
    let clock = LogClock::start(last_ms, wall_ms, Instant::now());
    let window_ms = u64::try_from(options.window.as_millis()).unwrap_or(u64::MAX);
    let edge = clock.now_ms().saturating_sub(window_ms);
    let mut folded = Folded {
        index: Index::new(options.index_bytes),
        window: Window::new(options.window),
        tail: Tail::new(options.tail_bytes),
        small: SmallRun::default(),
        clock,
        live: 0,
        first: 0,
        second: u64::MAX,
        next: 1,
        log_ms: last_ms,
        gaps: Vec::new(),
    };
    (recovery.chunks, recovery.records, recovery.set_aside_now) = (0, 0, 0);
    for entry in medium.scan(keys::LOG, &keys::log(0)) {
        let (key, value) = entry?;
        folded.live += value.len() as u64 + ENTRY_OVERHEAD;
        let Some(first) = keys::log_first(&key) else { continue };
        match folded.chunks_seen() {
            0 => folded.first = first,
            1 => folded.second = first,
            _ => {}
        }
        let index = &mut folded.index;
        let chunk = frame::unwrap(Kind::Log, &value).ok().and_then(|framed| {
            Chunk::decode_with(framed.body, |sequence, source, record| {
                if record.log_ms >= edge {
                    index.insert(identity(state.seed, source, record.id), sequence);
                }
            })
            .ok()
        });
        recovery.chunks += 1;
        let Some(chunk) = chunk.filter(|chunk| chunk.first() == first) else {
            recovery.set_aside_now += 1;
            continue;
        };
        recovery.records += chunk.count();
        if folded.next > 1 && first > folded.next {
            folded.gaps.push((folded.next, first));
        }
        folded.next = chunk.next();
        folded.window.note(first, chunk.log_ms());
        let chunk = Arc::new(chunk);
        folded.small.recover(&chunk, value.len() as u64 + ENTRY_OVERHEAD);
        folded.tail.push(chunk);
    }
    let floor = folded.window.floor(folded.clock.now_ms(), folded.next);
    folded.index.expire(floor);
    folded.first = folded.first.max(1);
    Ok(folded)
}

impl Folded {
    fn chunks_seen(&self) -> u32 {
        u32::from(self.first != 0) + u32::from(self.second != u64::MAX)
    }
}

fn last_log_ms(chunk: &Chunk) -> Option<u64> {
    chunk.raw_records().last().map(|(_, record)| record.log_ms)
}

type Cursors = (Vec<Sink>, Vec<(String, u64)>);

fn read_cursors(medium: &Medium, options: &Options, state: &State) -> Result<Cursors, StoreError> {
    let mut stored = Vec::new();
    for entry in medium.scan(keys::CURSOR, &[keys::CURSOR]) {
        let (_, value) = entry?;
        let framed = frame::unwrap(Kind::Cursor, &value).ok();
        let cursor = framed.as_ref().and_then(|framed| state::decode_cursor(&framed.body).ok());
        stored.extend(cursor.map(|(name, next)| (name.to_owned(), next)));
    }
    let mut sinks = Vec::new();
    for decl in &options.sinks {
        let known = stored.iter().position(|(name, _)| *name == decl.name).map(|at| stored.swap_remove(at).1);
        let next = known.unwrap_or(match decl.start {
            SinkStart::Oldest => state.log_floor,
            SinkStart::Newest => state.next,
        });
        sinks.push(Sink {
            name: decl.name.clone(),
            next: AtomicU64::new(next),
            stored: AtomicU64::new(known.unwrap_or(0)),
        });
    }
    Ok((sinks, stored))
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
