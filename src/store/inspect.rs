//! A look into a stopped, running or damaged store without changing a byte.
//!
//! The log engine writes when it opens, so it opens a copy, in the system's temporary folder (`TMPDIR`). A
//! copy made while a daemon writes may be torn in ways that no power cut can leave: where a held store looks
//! damaged, it is copied again. What the engine cannot open is read as a salvage would read it.

use super::case::{self, Case};
use super::chunk::Chunk;
use super::error::StoreError;
use super::frame::{self, Kind};
use super::history;
use super::kept_log::{self, KeptEvents};
use super::keys;
use super::label::{Label, LabelChunk};
use super::layout::{self, Layout};
use super::lock::Lock;
use super::medium::{self, Medium};
use super::model_use::ModelUse;
use super::observed;
use super::quarantine::{QuarantineEntry, QuarantineInfo};
use super::record::Record;
use super::salvage;
use super::scan;
use super::shared::{self, decode_chunk, decode_head};
use super::state::{self, FORMAT, State};
use super::tip::Tip;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

const TRIES: u32 = 3;
const CACHE_BYTES: u64 = 4 << 20;

/// What `store info` and `store verify` say.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Version of the store's layout.
    pub format: u32,
    pub first_sequence: u64,
    pub next_sequence: u64,
    pub chunks: u64,
    pub records: u64,
    /// Length of the log engine's file.
    pub file_bytes: u64,
    /// Bytes of the values in it.
    pub live_bytes: u64,
    /// Sink name, next sequence.
    pub cursors: Vec<(String, u64)>,
    /// Source name, length of its offset.
    pub offsets: Vec<(String, usize)>,
    pub quarantine: Vec<QuarantineInfo>,
    /// Calls of sinks that are not settled.
    pub cases: u64,
    /// Labels kept.
    pub labels: u64,
    /// Those of them whose event is not known yet.
    pub labels_pending: u64,
    /// Events kept for a replay.
    pub kept_events: u64,
    /// Observations kept for the windows.
    pub observations: u64,
    /// Least event time in the oldest chunk of them, microseconds since 1970.
    pub observations_from_us: Option<i64>,
    /// Damaged stores set aside by earlier starts.
    pub set_aside: u64,
    /// Sequences that were lost and reported by earlier starts.
    pub lost: u64,
    /// Who holds the store, if a daemon runs on it.
    pub held_by: Option<String>,
    /// What is damaged, a line each; empty for a whole store.
    pub damage: Vec<String>,
}

/// A copy of a store, opened; removed when dropped.
pub struct Inspector {
    medium: Option<Medium>,
    found: salvage::Found,
    tip: Option<Tip>,
    report: Report,
    _copy: Copy,
}

struct Copy(PathBuf);

impl Copy {
    fn new() -> Result<Self, StoreError> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("verdictd-inspect-{}-{number}", std::process::id()));
        layout::make_dir(&dir.join("store/blobs"))?;
        Ok(Self(dir))
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Inspector {
    /// Copies the store in the state-dir `dir` and opens the copy.
    ///
    /// # Errors
    /// When there is no store in `dir`, a later release wrote it, or it cannot be read or copied.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let inspector = Self::try_open(dir)?;
            let report = &inspector.report;
            if report.damage.is_empty() || report.held_by.is_none() || tries == TRIES {
                return Ok(inspector);
            }
        }
    }

    fn try_open(dir: &Path) -> Result<Self, StoreError> {
        let original = Layout::new(dir);
        let mut report = Report {
            held_by: Lock::holder(&original.lock()),
            set_aside: salvage::count(&original),
            ..Report::default()
        };
        // Read before the file is copied: the copy is at least as new.
        let tip = Tip::read(&original.tip());
        let copy = Copy::new()?;
        let layout = Layout::new(&copy.0);
        let db = original.db();
        fs::copy(&db, layout.db()).map_err(|error| StoreError::io("copy", &db, &error))?;
        layout::prepare(&layout)?;
        scan::mend(&layout.db(), &layout::read_segments(&original))?;
        let look = scan::look(&layout.db())?;
        report.file_bytes = fs::metadata(layout.db()).map_or(0, |meta| meta.len());
        report.damage.extend(look.damage.iter().map(|at| format!("{} is damaged at byte {at}", db.display())));
        // What stands in the copy before the engine may zero some of it: only needed when it cannot open it.
        let mut found = salvage::Found::default();
        let medium = match Medium::open(&layout.store(), CACHE_BYTES, medium::exit_stuck) {
            Ok(medium) => Some(medium),
            Err(StoreError::Engine { message, .. }) => {
                report.damage.push(format!("{} cannot be opened: {message}", db.display()));
                scan::values_in_file(&db, |framed| found.take(framed))?;
                None
            }
            Err(error) => return Err(error),
        };
        let mut inspector = Self { medium, found, tip, report, _copy: copy };
        inspector.check(dir)?;
        Ok(inspector)
    }

    /// What was found.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Hands out the verdicts from a sequence on, ascending, until the callback breaks.
    ///
    /// # Errors
    /// When the copy cannot be read.
    pub fn events(&self, from: u64, mut each: impl FnMut(&Record<'_>) -> ControlFlow<()>) -> Result<(), StoreError> {
        self.chunks(from, |chunk| {
            chunk.records().filter(|record| record.verdict.sequence >= from).try_for_each(|record| each(&record))
        })
    }

    fn chunks(&self, from: u64, mut each: impl FnMut(&Chunk) -> ControlFlow<()>) -> Result<(), StoreError> {
        let Some(medium) = &self.medium else {
            for (start, end, body) in self.found.log(from.max(1)) {
                let chunk = Chunk::decode(body.into()).ok();
                let parts = chunk.map(|chunk| salvage::records(&chunk, start, end)).unwrap_or_default();
                if parts.iter().try_for_each(|part| each(part)).is_break() {
                    break;
                }
            }
            return Ok(());
        };
        let start = medium.last_before(&keys::log(from.saturating_add(1)))?;
        let start = start.and_then(|(key, _)| keys::log_first(&key)).unwrap_or(0);
        for entry in medium.scan(keys::LOG, &keys::log(start)) {
            let (key, value) = entry?;
            let Some(chunk) = decode_chunk(&key, &value) else { continue };
            if chunk.next() > from && each(&chunk).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Entries of the quarantine, ascending.
    ///
    /// # Errors
    /// When the copy cannot be read.
    pub fn quarantine(&self) -> Result<Vec<QuarantineInfo>, StoreError> {
        let Some(medium) = &self.medium else { return Ok(Vec::new()) };
        shared::quarantine_list(medium, 0, usize::MAX)
    }

    /// One entry of the quarantine with its bytes.
    ///
    /// # Errors
    /// When the copy cannot be read.
    pub fn quarantine_get(&self, sequence: u64) -> Result<Option<(QuarantineInfo, QuarantineEntry)>, StoreError> {
        let Some(medium) = &self.medium else { return Ok(None) };
        shared::quarantine_get(medium, sequence)
    }

    /// Calls of sinks that are not settled, by sink and sequence.
    ///
    /// # Errors
    /// When the copy cannot be read.
    pub fn cases(&self) -> Result<Vec<Case>, StoreError> {
        let Some(medium) = &self.medium else { return Ok(Vec::new()) };
        case::read(medium, None, usize::MAX)
    }

    /// Hands out the labels kept, in the order in which they came.
    ///
    /// # Errors
    /// When the copy cannot be read.
    pub fn each_label(&self, mut each: impl FnMut(&Label)) -> Result<(), StoreError> {
        let Some(medium) = &self.medium else { return Ok(()) };
        for entry in medium.scan(keys::LABEL, &[keys::LABEL]) {
            let (_, value) = entry?;
            let chunk = LabelChunk::of_value(&value);
            chunk.iter().flat_map(|chunk| &chunk.labels).for_each(&mut each);
        }
        Ok(())
    }

    /// The events kept for a replay, ascending. To be used while the inspector lives.
    #[must_use]
    pub fn kept(&self) -> KeptEvents {
        KeptEvents::of(self.medium.as_ref())
    }

    /// Which model was in use when, ascending.
    ///
    /// # Errors
    /// When the copy cannot be read.
    pub fn models(&self) -> Result<Vec<ModelUse>, StoreError> {
        let Some(medium) = &self.medium else { return Ok(Vec::new()) };
        history::read(medium)
    }

    fn check(&mut self, dir: &Path) -> Result<(), StoreError> {
        let mut report = std::mem::take(&mut self.report);
        let mut next = None;
        let mut gaps = Vec::new();
        self.chunks(0, |chunk| {
            report.chunks += 1;
            report.records += chunk.count();
            match next {
                None => report.first_sequence = chunk.first(),
                Some(next) if next < chunk.first() => gaps.push((next, chunk.first())),
                Some(_) => {}
            }
            next = Some(chunk.next());
            ControlFlow::Continue(())
        })?;
        report.next_sequence = next.unwrap_or(1);
        if let Some(medium) = &self.medium {
            self.check_values(medium, &mut report, &mut gaps, dir)?;
        }
        report.damage.extend(gaps.iter().map(|(from, to)| format!("sequences {from} to {} are missing", to - 1)));
        self.report = report;
        Ok(())
    }

    fn check_values(
        &self,
        medium: &Medium,
        report: &mut Report,
        gaps: &mut Vec<(u64, u64)>,
        dir: &Path,
    ) -> Result<(), StoreError> {
        let mut known = None;
        let mut next_observation = None;
        for family in [
            keys::CASE,
            keys::CURSOR,
            keys::LOG,
            keys::META,
            keys::OFFSET,
            keys::QUARANTINE,
            keys::LABEL,
            keys::OBSERVATION,
            keys::KEPT,
        ] {
            for entry in medium.scan(family, &[family]) {
                let (key, value) = entry?;
                report.live_bytes += value.len() as u64;
                if !check_value(&key, &value, report, gaps, &mut known) {
                    report.damage.push(format!("the value of the key {:02x?} is damaged", &key[..]));
                }
                if let Some(head) = observed::head(&key, &value) {
                    let number = next_observation.get_or_insert(head.number);
                    if *number != head.number {
                        let (first, missing) = (head.first, head.number.abs_diff(*number));
                        report.damage.push(format!("{missing} observations before that of {first} are missing"));
                    }
                    *number = head.number.saturating_add(u64::from(head.count));
                }
            }
        }
        match known {
            Some(State { format, .. }) if format > FORMAT => {
                return Err(StoreError::NewerFormat { path: dir.to_owned(), found: format, known: FORMAT });
            }
            Some(state) => {
                report.format = state.format;
                report.next_sequence = report.next_sequence.max(state.next);
            }
            None if self.tip.is_some() => report.damage.push(String::from("the state entry is missing")),
            None => {}
        }
        if let Some(tip) = self.tip.filter(|tip| tip.next > report.next_sequence) {
            report.damage.push(format!(
                "the log ends before sequence {}, it was durable before {}",
                report.next_sequence, tip.next
            ));
        }
        for (name, next) in report.cursors.iter().filter(|(_, next)| *next > report.next_sequence) {
            report.damage.push(format!(
                "the log ends before sequence {}, the sink {name} has confirmed all before {next}",
                report.next_sequence
            ));
        }
        Ok(())
    }
}

/// Whether a value is what its key says. Takes note of what it says.
fn check_value(
    key: &[u8],
    value: &[u8],
    report: &mut Report,
    gaps: &mut Vec<(u64, u64)>,
    known: &mut Option<State>,
) -> bool {
    let body = |kind| frame::unwrap(kind, value).ok().map(|framed| framed.body);
    match key.first() {
        Some(&keys::LOG) => decode_chunk(key, value).is_some(),
        Some(&keys::CURSOR) => body(Kind::Cursor).is_some_and(|body| {
            let cursor = state::decode_cursor(&body).map(|(name, next)| (name.to_owned(), next));
            cursor.map(|cursor| report.cursors.push(cursor)).is_ok()
        }),
        Some(&keys::CASE) => {
            report.cases += 1;
            case::whole(key, value).is_some()
        }
        Some(&keys::OFFSET) => body(Kind::Offset).is_some_and(|body| {
            let offset = state::decode_offset(&body).map(|(name, offset)| (name.to_owned(), offset.len()));
            offset.map(|offset| report.offsets.push(offset)).is_ok()
        }),
        Some(&keys::QUARANTINE) if keys::quarantine_of(key).is_some_and(|(_, part)| part == 0) => {
            let head = decode_head(value);
            let is_whole = head.is_some();
            report.quarantine.extend(head);
            is_whole
        }
        Some(&keys::QUARANTINE) => body(Kind::Quarantine).is_some(),
        Some(&keys::LABEL) => {
            LabelChunk::of_value(value).filter(|chunk| key == keys::label(chunk.number)).is_some_and(|chunk| {
                report.labels += chunk.labels.len() as u64;
                let pending = chunk.labels.iter().filter(|label| !chunk.is_old && label.sequence.is_none());
                report.labels_pending += pending.count() as u64;
                true
            })
        }
        Some(&keys::OBSERVATION) => observed::decode(key, value, None).is_some_and(|chunk| {
            report.observations += chunk.rows.len() as u64;
            let earliest = chunk.rows.iter().map(|row| row.time_us).min();
            report.observations_from_us = report.observations_from_us.or(earliest);
            true
        }),
        Some(&keys::KEPT) => kept_log::decode(key, value).is_some_and(|events| {
            report.kept_events += events.len() as u64;
            true
        }),
        _ => body(Kind::Meta).is_some_and(|body| match state::meta_name(&body) {
            Ok(state::STATE) => {
                *known = State::decode(&body).ok();
                known.is_some()
            }
            Ok(state::GAPS) => {
                let listed = state::decode_gaps(&body).unwrap_or_default();
                report.lost += listed.iter().map(|(from, to)| to - from).sum::<u64>();
                gaps.retain(|gap| !listed.iter().any(|known| known.0 <= gap.0 && gap.1 <= known.1));
                true
            }
            Ok(name) if name.starts_with(case::CALLS) => case::decode_calls(&body).is_ok(),
            Ok(name) => history::check(name, &body).unwrap_or(true),
            Err(_) => true,
        }),
    }
}

/// Reads everything and checks it.
///
/// # Errors
/// As [`Inspector::open`].
pub fn report(dir: &Path) -> Result<Report, StoreError> {
    Inspector::open(dir).map(|inspector| inspector.report.clone())
}

/// All entries of the quarantine with their bytes, ascending.
///
/// # Errors
/// As [`Inspector::open`].
pub fn quarantine(dir: &Path) -> Result<Vec<(QuarantineInfo, QuarantineEntry)>, StoreError> {
    let inspector = Inspector::open(dir)?;
    let infos = inspector.quarantine()?;
    infos.iter().filter_map(|info| inspector.quarantine_get(info.sequence).transpose()).collect()
}
