//! Opens what a power cut left and holds it against the promises.

use super::content::{
    GUARDED, OFFSET_OF, SINK, Texts, calls_after, cases_after, kept, label_in, line, observation, observed,
    quarantine_in,
};
use super::load::options;
use super::promises::Promises;
use super::state_of;
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use verdictd::event::identity_fingerprint;
use verdictd::store::{BatchBuilder, Case, Commit, Label, Opened, Recovery, Store, StoreError, open};

/// A broken promise.
#[derive(Debug)]
pub enum Fault {
    DoesNotOpen(String),
    /// Something acked is missing.
    Lost(String),
    /// Something is there that was never committed so.
    Changed(String),
    /// It opened, and cannot work.
    DoesNotWork(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DoesNotOpen(what) => write!(f, "does not open: {what}"),
            Self::Lost(what) => write!(f, "lost: {what}"),
            Self::Changed(what) => write!(f, "changed: {what}"),
            Self::DoesNotWork(what) => write!(f, "does not work: {what}"),
        }
    }
}

/// Opens the image in `folder`, looks at everything, commits once more, and opens it again.
pub fn check(folder: &Path, promises: &Promises, seed: u64) -> Result<(), Fault> {
    let state = state_of(folder);
    let opened = open(&options(&state)).map_err(|error| Fault::DoesNotOpen(error.to_string()))?;
    let next = look(&opened, promises, seed)?;
    let works = |error: StoreError| Fault::DoesNotWork(error.to_string());
    let Opened { store, mut writer, .. } = opened;
    let mut builder = BatchBuilder::new(next);
    Texts::of(seed, next).record(writer.clock().now_ms(), |record| builder.append(record)).map_err(works)?;
    let observed = Some(observed(seed, next..next + 1).into());
    let kept = Some(kept(seed, next..next + 1));
    writer.commit(&Commit { chunks: builder.seal(), observed, kept, ..Commit::default() }).map_err(works)?;
    writer.close().map_err(works)?;
    drop(store);
    let opened = open(&options(&state)).map_err(|error| Fault::DoesNotOpen(format!("again: {error}")))?;
    if opened.store.committed() != next + 1 {
        return Err(Fault::Lost(format!("the record after recovery, {next}")));
    }
    look_at_observations(&opened.store, promises, seed, next + 1)?;
    look_at_kept(&opened.store, seed, next + 1)?;
    opened.writer.close().map_err(works)
}

/// Gives the next sequence.
fn look(opened: &Opened, promises: &Promises, seed: u64) -> Result<u64, Fault> {
    let Opened { store, recovery, .. } = opened;
    let next = store.committed();
    look_at_recovery(recovery)?;
    // One commit is one: the offset says which commits are there, all else must agree with it.
    let offset = store.offset(OFFSET_OF).map_err(read)?;
    let commit = offset.map_or(0, |bytes| bytes.try_into().map_or(u64::MAX, u64::from_be_bytes));
    if commit < promises.acked {
        return Err(Fault::Lost(format!("commit {} was acked, the last there is {commit}", promises.acked)));
    }
    let expected = if commit == 0 { Some(1) } else { promises.next_of.get(&commit).copied() };
    if expected != Some(next) {
        return Err(Fault::Changed(format!("commit {commit} reaches up to {expected:?}, the log to {next}")));
    }
    look_at_log(opened, promises, seed, next)?;
    let cursor = store.cursor(SINK).map_err(read)?;
    if cursor > next || !(promises.cursor_min..=promises.cursor_max).contains(&cursor) {
        let (min, max) = (promises.cursor_min, promises.cursor_max);
        return Err(Fault::Changed(format!("the cursor is {cursor}, expected {min} to {max}, the log ends at {next}")));
    }
    look_at_observations(store, promises, seed, next)?;
    look_at_kept(store, seed, next)?;
    look_at_cases(store, commit)?;
    look_at_labels(store, seed, commit)?;
    look_at_quarantine(store, promises, seed, commit)?;
    Ok(next)
}

/// A power cut damages nothing that was durable, so there is nothing to set aside or to miss.
fn look_at_recovery(recovery: &Recovery) -> Result<(), Fault> {
    match recovery {
        Recovery { lost_now: 0, set_aside_now: 0, salvaged_to: None, .. } => Ok(()),
        Recovery { lost_now: 1.., .. } => Err(Fault::Lost(format!("as the store itself says: {recovery:?}"))),
        _ => Err(Fault::Changed(format!("as the store itself says: {recovery:?}"))),
    }
}

fn look_at_log(opened: &Opened, promises: &Promises, seed: u64, next: u64) -> Result<(), Fault> {
    let Opened { store, index, .. } = opened;
    let mut expected = None;
    let mut at = 1;
    while let Some(chunk) = store.next_chunk(at).map_err(read)? {
        for record in chunk.records().filter(|record| record.verdict.sequence >= at) {
            let sequence = record.verdict.sequence;
            if expected.is_some_and(|expected| expected != sequence) {
                return Err(Fault::Lost(format!("the records {expected:?} to {sequence}")));
            }
            if expected.is_none() && sequence > promises.floor {
                return Err(Fault::Lost(format!("the log begins at {sequence}, not {} or before", promises.floor)));
            }
            expected = Some(sequence + 1);
            if !Texts::of(seed, sequence).equal(&record) {
                return Err(Fault::Changed(format!("record {sequence} is {record:?}")));
            }
            let identity = identity_fingerprint(store.seed(), record.verdict.source, record.verdict.id);
            let is_found = index.find(identity).any(|found| found == sequence);
            if is_found != (sequence >= index.floor()) {
                return Err(Fault::Changed(format!("record {sequence} is in the index: {is_found}")));
            }
        }
        at = chunk.next();
    }
    let end = expected.unwrap_or(1);
    // A log of which everything was trimmed still knows where it stands.
    if end != next && !(expected.is_none() && promises.floor >= next) {
        return Err(Fault::Lost(format!("the log says it ends at {next}, its last record at {end}")));
    }
    Ok(())
}

/// Each verdict has its observation, once, and none is there without one.
fn look_at_observations(store: &Store, promises: &Promises, seed: u64, next: u64) -> Result<(), Fault> {
    let mut expected = None;
    let mut fault = None;
    store
        .observations(0, &mut |chunk| {
            for n in 0..chunk.rows.len() {
                let Some((row, cells)) = chunk.row(n) else { continue };
                if expected.is_none() && row.sequence > promises.horizon + 1 {
                    fault = Some(Fault::Lost(format!("observations begin at {}", row.sequence)));
                } else if expected.is_some_and(|expected| expected != row.sequence) {
                    fault = Some(Fault::Lost(format!("observations {expected:?} to {}", row.sequence)));
                } else if observation(seed, row.sequence) != (*row, [cells[0], cells[1]]) {
                    fault = Some(Fault::Changed(format!("the observation {row:?} has the cells {cells:?}")));
                }
                if fault.is_some() {
                    return ControlFlow::Break(());
                }
                expected = Some(row.sequence + 1);
            }
            ControlFlow::Continue(())
        })
        .map_err(read)?;
    match (fault, expected.unwrap_or(1)) {
        (Some(fault), _) => Err(fault),
        (None, end) if end != next => Err(Fault::Lost(format!("the log ends at {next}, its observations at {end}"))),
        _ => Ok(()),
    }
}

/// The newest verdicts' events are kept, each once, and none without its verdict.
fn look_at_kept(store: &Store, seed: u64, next: u64) -> Result<(), Fault> {
    let mut expected = None;
    for event in store.kept() {
        let event = event.map_err(read)?;
        if expected.is_some_and(|expected| expected != event.sequence) {
            return Err(Fault::Lost(format!("kept events {expected:?} to {}", event.sequence)));
        }
        if *event.line != *line(seed, event.sequence) {
            return Err(Fault::Changed(format!("the kept event {}", event.sequence)));
        }
        expected = Some(event.sequence + 1);
    }
    match expected {
        Some(end) if end != next => Err(Fault::Lost(format!("the log ends at {next}, its kept events at {end}"))),
        _ => Ok(()),
    }
}

/// The calls that are open, and how many were made, are those of the last commit that is there.
fn look_at_cases(store: &Store, commit: u64) -> Result<(), Fault> {
    let told = |cases: Vec<Case>| {
        let one = |case: Case| (case.sequence, case.state, case.calls, case.at_ms, case.reason);
        cases.into_iter().map(one).collect::<Vec<_>>()
    };
    let found = told(store.cases(Some(GUARDED), usize::MAX).map_err(read)?);
    if found != told(cases_after(commit)) {
        return Err(Fault::Changed(format!("after commit {commit} the open calls are {found:?}")));
    }
    let calls = store.calls(GUARDED).map_err(read)?;
    if commit > 0 && calls != calls_after(commit) {
        return Err(Fault::Changed(format!("after commit {commit} the calls are {calls:?}")));
    }
    Ok(())
}

/// The labels of the commits that are there, and no other.
fn look_at_labels(store: &Store, seed: u64, commit: u64) -> Result<(), Fault> {
    let mut found = Vec::new();
    store.each_label(&mut |label| found.push(label)).map_err(read)?;
    let mut log_ms = found.iter().map(|label| label.log_ms);
    let expected: Vec<_> = (1..=commit)
        .filter_map(|commit| label_in(seed, commit, 0))
        .map(|label| Label { log_ms: log_ms.next().unwrap_or(0), ..label })
        .collect();
    if found.len() < expected.len() {
        return Err(Fault::Lost(format!("{} of {} labels are there", found.len(), expected.len())));
    }
    if found != expected {
        return Err(Fault::Changed(format!("{} labels are there, {} were committed", found.len(), expected.len())));
    }
    Ok(())
}

fn look_at_quarantine(store: &Store, promises: &Promises, seed: u64, commit: u64) -> Result<(), Fault> {
    let listed = store.quarantine_list(0, usize::MAX).map_err(read)?;
    for (sequence, brought_by) in &promises.kept {
        let is_there = listed.iter().any(|info| info.sequence == *sequence);
        if !is_there && !promises.dropped.contains(sequence) {
            return Err(Fault::Lost(format!("the quarantine entry {sequence} of commit {brought_by}")));
        }
    }
    for info in listed {
        let number = info.id.as_deref().and_then(|id| id.strip_prefix("bad-")?.parse::<u64>().ok()).unwrap_or(0);
        let found = store.quarantine_get(info.sequence).map_err(read)?.map(|(_, entry)| entry);
        if number > commit || found.is_none() || found != quarantine_in(seed, number) {
            return Err(Fault::Changed(format!("the quarantine entry {info:?} of commit {number}")));
        }
    }
    Ok(())
}

#[allow(clippy::needless_pass_by_value)] // for map_err
fn read(error: StoreError) -> Fault {
    Fault::DoesNotWork(format!("cannot be read: {error}"))
}
