//! The store as everyone but the writer sees it: shared, `&self`, from any thread.

use super::case::{self, Calls, Case};
use super::chunk::Chunk;
use super::disk::{Disk, Room};
use super::error::StoreError;
use super::frame::{self, Kind};
use super::history;
use super::kept_log::KeptEvents;
use super::keys;
use super::lock::Lock;
use super::medium::Medium;
use super::model_use::{ModelUse, Stamp};
use super::observation::ObservationChunk;
use super::observed::ObservationList;
use super::options::SinkDecl;
use super::quarantine::{self, QuarantineEntry, QuarantineInfo};
use super::sinks::{Sink, Sinks};
use super::state;
use super::stats::{Stats, WindowCut};
use super::tail::Tail;
use crate::notice;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Figures kept by the writer.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub log_floor: AtomicU64,
    /// The oldest sequence in the window by all limits.
    pub window_floor: AtomicU64,
    /// The window in force.
    pub window_ms: AtomicU64,
    /// What cut it: 0 nothing, 1 memory, 2 disk.
    pub window_cut: AtomicU8,
    pub quarantine_entries: AtomicU64,
    pub quarantine_bytes: AtomicU64,
    pub quarantine_evicted: AtomicU64,
    pub cases: AtomicU64,
    pub labels: AtomicU64,
    pub labels_pending: AtomicU64,
    pub labels_shed: AtomicU64,
    pub observations_cut: AtomicU64,
    pub kept_events: AtomicU64,
    pub kept_bytes: AtomicU64,
    pub kept_passed_over: AtomicU64,
    pub set_aside: AtomicU64,
    pub lost: AtomicU64,
}

/// What the index tells the rest.
#[derive(Debug, Default)]
pub(crate) struct IndexFigures {
    /// The oldest sequence that its budget leaves.
    pub floor: AtomicU64,
    pub bytes: AtomicU64,
}

pub struct Store {
    pub(crate) medium: Medium,
    pub(crate) seed: u64,
    pub(crate) tail: Mutex<Tail>,
    pub(crate) observed: Mutex<ObservationList>,
    /// The chunk of observations that was read last.
    pub(crate) last_observed: Mutex<Option<Arc<ObservationChunk>>>,
    pub(crate) committed: watch::Sender<u64>,
    pub(crate) sinks: Sinks,
    pub(crate) figures: Figures,
    pub(crate) index: Arc<IndexFigures>,
    pub(crate) disk: Disk,
    pub(crate) disk_budget: u64,
    pub(crate) blobs: bool,
    /// Held as long as anyone can still read.
    pub(crate) _lock: Lock,
}

impl Store {
    /// Seed of the fingerprints: random, made with the store, kept with it.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The sequence after the last durable record.
    #[must_use]
    pub fn committed(&self) -> u64 {
        *self.committed.borrow()
    }

    /// To wait for [`Store::committed`] to advance.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.committed.subscribe()
    }

    /// The committed chunk that holds this sequence; none if it was trimmed, set aside or is not committed.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn chunk_of(&self, sequence: u64) -> Result<Option<Arc<Chunk>>, StoreError> {
        if sequence >= self.committed() {
            return Ok(None);
        }
        if let Some(chunk) = self.tail().chunk_of(sequence) {
            return Ok(Some(chunk));
        }
        let entry = self.medium.last_before(&keys::log(sequence + 1))?;
        Ok(entry.and_then(|(key, value)| decode_or_tell(&key, &value)).filter(|chunk| chunk.next() > sequence))
    }

    /// The first committed chunk that holds `from` or something after it; none at the log's end. It may start
    /// before `from`, and after it where records were trimmed or set aside.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn next_chunk(&self, from: u64) -> Result<Option<Arc<Chunk>>, StoreError> {
        if from >= self.committed() {
            return Ok(None);
        }
        if let Some(chunk) = self.chunk_of(from)? {
            return Ok(Some(chunk));
        }
        for entry in self.medium.scan(keys::LOG, &keys::log(from)) {
            let (key, value) = entry?;
            if let Some(chunk) = decode_or_tell(&key, &value) {
                return Ok(Some(chunk).filter(|chunk| chunk.first() < self.committed()));
            }
        }
        Ok(None)
    }

    /// The next sequence that a sink wants.
    ///
    /// # Errors
    /// [`StoreError::NoSuchSink`].
    pub fn cursor(&self, sink: &str) -> Result<u64, StoreError> {
        self.sink(sink).map(|sink| sink.next.load(Ordering::Acquire))
    }

    /// Moves a sink's cursor: everything below `next` is confirmed, at most what is committed. Stored with the next commit or
    /// [`super::Writer::maintain`].
    ///
    /// # Errors
    /// [`StoreError::NoSuchSink`].
    pub fn set_cursor(&self, sink: &str, next: u64) -> Result<(), StoreError> {
        // A cursor beyond the log's end would, at the next start, stand for a loss.
        let next = next.min(self.committed());
        self.sink(sink).map(|sink| sink.next.store(next, Ordering::Release))
    }

    /// Moves a sink's cursor forward, if it is not there yet. A sink that is not known has none to move.
    pub fn advance_cursor(&self, name: &str, next: u64) {
        let next = next.min(self.committed());
        if let Ok(sink) = self.sink(name) {
            sink.next.fetch_max(next, Ordering::AcqRel);
        }
    }

    /// The same of a sink that need not be in force: what a commit says of one that is out of the config counts when it
    /// comes back.
    pub(crate) fn move_cursor(&self, name: &str, next: u64) {
        let next = next.min(self.committed());
        if let Some(sink) = self.sinks.all().iter().find(|sink| sink.name == name) {
            sink.next.fetch_max(next, Ordering::AcqRel);
        }
    }

    /// The sink's cursor as it is stored: where it would go on after a crash now.
    ///
    /// # Errors
    /// [`StoreError::NoSuchSink`].
    pub fn stored_cursor(&self, sink: &str) -> Result<u64, StoreError> {
        self.sink(sink).map(|sink| sink.stored.load(Ordering::Acquire))
    }

    /// Puts these sinks in force, from now on. A sink that is no longer among them keeps its cursor and holds nothing
    /// back; one that comes again goes on from there, or from the oldest verdict that is still kept. Gives the names of
    /// those that miss some by that, and how many.
    pub fn declare_sinks(&self, sinks: &[SinkDecl]) -> Vec<(String, u64)> {
        let gaps = self.sinks.declare(sinks, self.figures.log_floor.load(Ordering::Relaxed), self.committed());
        tell_gaps(&gaps);
        gaps
    }

    fn sink(&self, name: &str) -> Result<Arc<Sink>, StoreError> {
        self.sinks.find(name).ok_or_else(|| StoreError::NoSuchSink(name.to_owned()))
    }

    /// The oldest sequence in the dedup window: [`super::Index::expire`] wants it before each batch.
    #[must_use]
    pub fn window_floor(&self) -> u64 {
        self.figures.window_floor.load(Ordering::Relaxed)
    }

    /// Whether new events can be taken. Cheap.
    #[must_use]
    pub fn room(&self) -> Room {
        self.disk.room()
    }

    /// A source's offset as of the last commit that moved it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn offset(&self, source: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let value = self.medium.get(&keys::named(keys::OFFSET, source))?;
        Ok(value.and_then(|value| {
            let framed = frame::unwrap(Kind::Offset, &value).ok()?;
            state::decode_offset(&framed.body).ok().map(|(_, offset)| offset.to_vec())
        }))
    }

    /// Which model was in use when, ascending; a thousand entries at most.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn models(&self) -> Result<Vec<ModelUse>, StoreError> {
        history::read(&self.medium)
    }

    /// The highest stamp of the models of each name that were in use, by what their signatures vouch for; of the names
    /// used last.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn stamps(&self) -> Result<Vec<(String, Stamp)>, StoreError> {
        history::read_stamps(&self.medium)
    }

    /// The manifest that may be taken into use though it is older, until a model is.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn permitted_model(&self) -> Result<Option<[u8; 32]>, StoreError> {
        history::read_permit(&self.medium)
    }

    /// Entries of the quarantine, ascending, from the sequence `from` on, at most `limit`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn quarantine_list(&self, from: u64, limit: usize) -> Result<Vec<QuarantineInfo>, StoreError> {
        quarantine_list(&self.medium, from, limit)
    }

    /// One entry of the quarantine with its bytes.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn quarantine_get(&self, sequence: u64) -> Result<Option<(QuarantineInfo, QuarantineEntry)>, StoreError> {
        quarantine_get(&self.medium, sequence)
    }

    /// Calls that are not settled, of a sink or of all, by sink and sequence, at most `limit`.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn cases(&self, sink: Option<&str>, limit: usize) -> Result<Vec<Case>, StoreError> {
        case::read(&self.medium, sink, limit)
    }

    /// One of them.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn case(&self, sink: &str, sequence: u64) -> Result<Option<Case>, StoreError> {
        case::get(&self.medium, sink, sequence)
    }

    /// How many calls a sink has made.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn calls(&self, sink: &str) -> Result<Calls, StoreError> {
        case::read_calls(&self.medium, sink)
    }

    #[must_use]
    pub fn stats(&self) -> Stats {
        let figures = &self.figures;
        let load = |figure: &AtomicU64| figure.load(Ordering::Relaxed);
        let observed = self.observed();
        let window_cut_by = match figures.window_cut.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(WindowCut::Memory),
            _ => Some(WindowCut::Disk),
        };
        Stats {
            committed: self.committed(),
            log_floor: load(&figures.log_floor),
            window_floor: load(&figures.window_floor).max(load(&self.index.floor)),
            window_ms: load(&figures.window_ms),
            window_cut_by,
            index_bytes: load(&self.index.bytes),
            tail_bytes: self.tail().bytes() as u64,
            disk_bytes: self.disk.used(),
            disk_budget_bytes: self.disk_budget,
            disk_free_bytes: self.disk.free(),
            live_bytes: self.disk.live(),
            quarantine_entries: load(&figures.quarantine_entries),
            quarantine_bytes: load(&figures.quarantine_bytes),
            quarantine_evicted: load(&figures.quarantine_evicted),
            cases: load(&figures.cases),
            labels: load(&figures.labels),
            labels_pending: load(&figures.labels_pending),
            labels_shed: load(&figures.labels_shed),
            observations: observed.count(),
            observations_cut: load(&figures.observations_cut),
            kept_events: load(&figures.kept_events),
            kept_bytes: load(&figures.kept_bytes),
            kept_passed_over: load(&figures.kept_passed_over),
            observation_chunks: observed.chunks(),
            observation_bytes: observed.bytes(),
            observation_memory_bytes: observed.memory(),
            observations_from_us: observed.since_us(),
            set_aside: load(&figures.set_aside),
            lost: load(&figures.lost),
            orphan_cursors: self.sinks.retired(),
            blobs: self.blobs,
            failed: self.medium.failed().map(str::to_owned),
        }
    }

    /// The events kept for a replay, ascending: those committed when they are read.
    #[must_use]
    pub fn kept(&self) -> KeptEvents {
        KeptEvents::of(Some(&self.medium))
    }

    pub(crate) fn observed(&self) -> MutexGuard<'_, ObservationList> {
        self.observed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says which sinks miss what was trimmed while they were not configured.
pub(crate) fn tell_gaps(gaps: &[(String, u64)]) {
    for (sink, missing) in gaps {
        let kind = notice::SINK_GAP.kind;
        tracing::error!(kind, sink, missing, "a sink comes back, and verdicts that it had to go are no longer kept");
    }
}

fn decode_or_tell(key: &[u8], value: &[u8]) -> Option<Arc<Chunk>> {
    let chunk = decode_chunk(key, value);
    if chunk.is_none() {
        let (kind, sequence) = (notice::CHUNK_DAMAGED.kind, keys::log_first(key));
        tracing::error!(kind, sequence, "a chunk of the log is damaged and passed over");
    }
    chunk.map(Arc::new)
}

/// A chunk as its key and value say, if both agree.
pub(crate) fn decode_chunk(key: &[u8], value: &[u8]) -> Option<Chunk> {
    let chunk = Chunk::decode(frame::unwrap(Kind::Log, value).ok()?.body).ok()?;
    (keys::log_first(key) == Some(chunk.first())).then_some(chunk)
}

pub(crate) fn decode_head(value: &[u8]) -> Option<QuarantineInfo> {
    let framed = frame::unwrap(Kind::Quarantine, value).ok()?;
    let part = quarantine::decode_part(&framed.body).ok()?;
    quarantine::decode_head(&part).ok()
}

pub(crate) fn quarantine_list(medium: &Medium, from: u64, limit: usize) -> Result<Vec<QuarantineInfo>, StoreError> {
    let mut found = Vec::new();
    for entry in medium.scan(keys::QUARANTINE, &keys::quarantine(from, 0)) {
        let (key, value) = entry?;
        if found.len() >= limit {
            break;
        }
        if keys::quarantine_of(&key).is_some_and(|(_, part)| part == 0) {
            found.extend(decode_head(&value));
        }
    }
    Ok(found)
}

pub(crate) fn quarantine_get(
    medium: &Medium,
    sequence: u64,
) -> Result<Option<(QuarantineInfo, QuarantineEntry)>, StoreError> {
    let Some(info) = medium.get(&keys::quarantine(sequence, 0))?.and_then(|value| decode_head(&value)) else {
        return Ok(None);
    };
    let mut bytes = Vec::with_capacity(info.kept);
    for part in 1..=info.parts {
        let value = medium.get(&keys::quarantine(sequence, part))?;
        let framed = value.and_then(|value| frame::unwrap(Kind::Quarantine, &value).ok());
        let Some(framed) = framed else { break };
        if let Ok(part) = quarantine::decode_part(&framed.body) {
            bytes.extend_from_slice(part.content);
        }
    }
    let entry = QuarantineEntry {
        kind: info.kind.clone(),
        source: info.source.clone(),
        id: info.id.clone(),
        reason: info.reason.clone(),
        bytes,
        length: info.bytes,
        at_ms: info.at_ms,
    };
    Ok(Some((info, entry)))
}
