//! From the files to an open log engine and a folded log, whatever the last stop left.

use super::disk;
use super::error::StoreError;
use super::fold::{Folded, fold};
use super::frame::{self, Kind};
use super::kept_log::KeptLog;
use super::keys;
use super::layout::{self, Layout};
use super::medium::Medium;
use super::observed;
use super::options::Options;
use super::salvage;
use super::scan;
use super::state::{self, FORMAT, State};
use super::stats::Recovery;
use super::tip::Tip;
use crate::notice;
use std::path::Path;
use std::time::Instant;

/// An open engine with what was read from it.
pub struct Recovered {
    pub medium: Medium,
    pub state: State,
    pub folded: Folded,
    pub observed: observed::Found,
    /// With the number of chunks that were damaged.
    pub kept: FoundKept,
}

/// Times the phases of an open, and knows how far it came.
pub struct Laps {
    since: Instant,
    /// The engine is open: after an error from here on it may stay so for as long as the process runs.
    pub engine: bool,
}

impl Laps {
    pub fn start() -> Self {
        Self { since: Instant::now(), engine: false }
    }

    pub fn lap(&mut self, recovery: &mut Recovery, name: &'static str) {
        let now = Instant::now();
        recovery.phases.push((name, (now - self.since).as_secs_f64() * 1e3));
        self.since = now;
    }
}

/// Opens the engine. Where it cannot, or lost what is known to have been durable, the store is rebuilt.
pub fn recover(
    layout: &Layout,
    options: &Options,
    recovery: &mut Recovery,
    laps: &mut Laps,
) -> Result<Recovered, StoreError> {
    if disk::free_bytes(&layout.dir)? < disk::DEEP_RESERVE_BYTES {
        recovery.ballast_given_up |= disk::drop_ballast(layout);
    }
    let tip = Tip::read(&layout.tip());
    if let Some(damaged) = salvage::unfinished(layout)
        && let Some(medium) = rebuild(layout, options, &damaged, recovery, laps)?
    {
        return open_rebuilt(medium, layout, options, recovery, laps);
    }
    layout::prepare(layout)?;
    if scan::mend(&layout.db(), &layout::read_segments(layout))? > 0 {
        tracing::debug!("filled holes that the log engine made when it was opened last");
    }
    let look = scan::look(&layout.db())?;
    layout::write_segments(layout, &look.chain)?;
    let evidence = match look.damage.first() {
        None => None,
        Some(first) => {
            tracing::error!(
                kind = notice::STORE_DAMAGED.kind,
                places = look.damage.len(),
                first,
                "the store's file is damaged"
            );
            Some(salvage::keep_evidence(layout, &look.tail, true)?)
        }
    };
    laps.lap(recovery, "look");
    let loss = match Medium::open(&layout.store(), options.cache_bytes, options.on_stuck) {
        Ok(medium) => {
            laps.engine = true;
            laps.lap(recovery, "engine");
            match read(medium, layout, options, tip, recovery, laps)? {
                Ok(recovered) => {
                    if let Some(evidence) = evidence {
                        salvage::forget_evidence(&evidence)?;
                    }
                    return Ok(recovered);
                }
                Err(loss) => loss,
            }
        }
        Err(StoreError::Engine { message, .. }) => message,
        Err(error) => return Err(error),
    };
    let kind = notice::STORE_REBUILT.kind;
    tracing::error!(kind, error = %loss, "the store lost what was durable: it is rebuilt from what still stands in its file");
    let evidence = evidence.map_or_else(|| salvage::keep_evidence(layout, &look.tail, false), Ok)?;
    match rebuild(layout, options, &evidence, recovery, laps)? {
        Some(medium) => open_rebuilt(medium, layout, options, recovery, laps),
        None => Err(StoreError::Engine { what: "rebuild the store", message: loss }),
    }
}

fn rebuild(
    layout: &Layout,
    options: &Options,
    damaged: &Path,
    recovery: &mut Recovery,
    laps: &mut Laps,
) -> Result<Option<Medium>, StoreError> {
    laps.engine = true;
    let salvage::Salvaged { medium, known_lost, observations_lost } = salvage::run(layout, options, damaged)?;
    (recovery.lost_now, recovery.observations_lost_now) = (known_lost, observations_lost);
    if observations_lost > 0 {
        let kind = notice::OBSERVATIONS_LOST.kind;
        tracing::error!(kind, lost = observations_lost, "observations that windows are folded from are missing");
    }
    recovery.salvaged_to = Some(damaged.to_owned());
    Ok(medium)
}

fn open_rebuilt(
    medium: Medium,
    layout: &Layout,
    options: &Options,
    recovery: &mut Recovery,
    laps: &mut Laps,
) -> Result<Recovered, StoreError> {
    laps.lap(recovery, "rebuild");
    read(medium, layout, options, None, recovery, laps)?
        .map_err(|message| StoreError::Engine { what: "read the rebuilt store", message })
}

/// Reads the state and folds the log. The inner error says what was lost that is known to have been durable.
fn read(
    medium: Medium,
    layout: &Layout,
    options: &Options,
    tip: Option<Tip>,
    recovery: &mut Recovery,
    laps: &mut Laps,
) -> Result<Result<Recovered, String>, StoreError> {
    let read = read_state(&medium, layout).and_then(|known| {
        let state = match known {
            None if tip.is_some() => return Ok(Err(String::from("its state entry is missing"))),
            None => {
                recovery.created = true;
                State::new(rand::random())
            }
            Some(state) => state,
        };
        let (folded, observed, kept) = fold_all(&medium, options, &state, recovery)?;
        let gaps = read_gaps(&medium)?;
        // What a sink has confirmed was durable: sequences below a cursor are never given again.
        let cursors = read_cursors(&medium)?.into_iter().map(|(_, next)| next).max().unwrap_or(0);
        Ok(Ok((state, folded, (observed, kept), gaps, cursors)))
    });
    let (state, folded, (observed, kept), gaps, cursors) = match read {
        Ok(Ok(read)) => read,
        Ok(Err(loss)) => return Ok(Err(loss)),
        Err(StoreError::Engine { message, .. }) => return Ok(Err(message)),
        Err(error) => return Err(error),
    };
    laps.lap(recovery, "fold");
    let is_known = |gap: &(u64, u64)| gaps.iter().any(|known| known.0 <= gap.0 && gap.1 <= known.1);
    if let Some((from, to)) = folded.gaps.iter().find(|gap| !is_known(gap)) {
        return Ok(Err(format!("sequences {from} to {} are missing", to - 1)));
    }
    if observed.damaged > 0 || observed.missing > 0 {
        return Ok(Err(format!(
            "{} observations are missing, {} chunks of them are damaged",
            observed.missing, observed.damaged
        )));
    }
    let next = folded.next.max(state.next);
    match tip.map_or(0, |tip| tip.next).max(cursors) {
        durable if durable > next => {
            Ok(Err(format!("the log ends before sequence {next}, it was durable before {durable}")))
        }
        _ => Ok(Ok(Recovered { medium, state, folded, observed, kept })),
    }
}

/// The events kept for a replay, and how many chunks of them were damaged.
pub type FoundKept = (KeptLog, u64);

/// Folds the log and, beside it, lists the observations and the events kept.
fn fold_all(
    medium: &Medium,
    options: &Options,
    state: &State,
    recovery: &mut Recovery,
) -> Result<(Folded, observed::Found, FoundKept), StoreError> {
    std::thread::scope(|scope| {
        let listing = scope.spawn(|| Ok((observed::read(medium)?, KeptLog::read(medium, options.keeping)?)));
        let folded = fold(medium, options, state, recovery)?;
        let (observed, kept) = listing.join().unwrap_or_else(|_| {
            Err(StoreError::Engine {
                what: "read the observations",
                message: String::from("the reading thread panicked"),
            })
        })?;
        Ok((folded, observed, kept))
    })
}

/// The stored cursors: name, next sequence.
pub fn read_cursors(medium: &Medium) -> Result<Vec<(String, u64)>, StoreError> {
    let mut stored = Vec::new();
    for entry in medium.scan(keys::CURSOR, &[keys::CURSOR]) {
        let (_, value) = entry?;
        let framed = frame::unwrap(Kind::Cursor, &value).ok();
        let cursor = framed.as_ref().and_then(|framed| state::decode_cursor(&framed.body).ok());
        stored.extend(cursor.map(|(name, next)| (name.to_owned(), next)));
    }
    Ok(stored)
}

/// Ranges of sequences known to be missing.
pub fn read_gaps(medium: &Medium) -> Result<Vec<(u64, u64)>, StoreError> {
    let value = medium.get(&keys::named(keys::META, state::GAPS))?;
    let framed = value.and_then(|value| frame::unwrap(Kind::Meta, &value).ok());
    Ok(framed.and_then(|framed| state::decode_gaps(&framed.body).ok()).unwrap_or_default())
}

fn read_state(medium: &Medium, layout: &Layout) -> Result<Option<State>, StoreError> {
    let value = medium.get(&keys::named(keys::META, state::STATE))?;
    let state = value.and_then(|value| State::decode(&frame::unwrap(Kind::Meta, &value).ok()?.body).ok());
    match state {
        Some(state) if state.format > FORMAT => {
            Err(StoreError::NewerFormat { path: layout.dir.clone(), found: state.format, known: FORMAT })
        }
        state => Ok(state),
    }
}
