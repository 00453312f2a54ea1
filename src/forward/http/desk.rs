//! The one place where a guarded sink's cases change: each change is durable before it holds, and they come one by one,
//! from the sink's calls, from its probe and from people.

use super::guarded::{Change, Hold, Ledger, Next, Outcome, Rules, Settled};
use crate::forward::{Book, Entry, Stopped};
use crate::notice;
use crate::store::{Case, CaseChange, CaseState, Chunk, QuarantineEntry, Store, StoreError};
use std::fmt;
use std::sync::{Arc, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::{Mutex, watch};

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum DeskError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// It is settled, was never open, or is just being made.
    #[error("sink {sink:?} has no call of verdict {sequence} whose outcome is not known")]
    NotOpen { sink: String, sequence: u64 },
}

/// What is shown of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    pub uncertain: usize,
    /// Since when the oldest of them is, milliseconds since 1970.
    pub oldest_ms: Option<i64>,
    /// Those that someone decided to make again, and that are not made yet.
    pub again: usize,
    /// Calls begun on the day of the last one.
    pub calls: u64,
    /// What has to happen before a call is made.
    pub hold: Option<Hold>,
}

/// The cases of one sink.
pub struct Desk {
    sink: String,
    store: Arc<Store>,
    book: Arc<dyn Book>,
    ledger: Mutex<Ledger>,
    shown: std::sync::Mutex<Shown>,
    changed: watch::Sender<u64>,
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").field("sink", &self.sink).field("shown", &self.shown()).finish_non_exhaustive()
    }
}

/// Milliseconds since 1970, by the box's clock.
pub(super) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

impl Desk {
    /// As the store has it. There is one a sink and process.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn open(sink: &str, store: &Arc<Store>, book: Arc<dyn Book>) -> Result<Self, StoreError> {
        // A sink that is not in force has cases, and no cursor to move.
        let cursor = store.cursor(sink).unwrap_or(0);
        let ledger = Ledger::new(cursor, &store.cases(Some(sink), usize::MAX)?, store.calls(sink)?);
        let desk = Self {
            sink: sink.to_owned(),
            store: Arc::clone(store),
            book,
            shown: std::sync::Mutex::default(),
            changed: watch::Sender::new(0),
            ledger: Mutex::new(Ledger::default()),
        };
        desk.show(&ledger);
        Ok(Self { ledger: Mutex::new(ledger), ..desk })
    }

    #[must_use]
    pub fn shown(&self) -> Shown {
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn hold(&self, hold: Option<Hold>) {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).hold = hold;
    }

    /// To wait for changes.
    pub(super) fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    fn show(&self, ledger: &Ledger) {
        let (uncertain, oldest_ms) = ledger.count(CaseState::Uncertain);
        let (again, _) = ledger.count(CaseState::Again);
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        *shown = Shown { uncertain, oldest_ms, again, calls: ledger.calls.made, ..*shown };
    }

    /// Makes what the last run left under way uncertain. To be called while no call is being made.
    ///
    /// # Errors
    /// When the engine or the store fails.
    pub async fn recover(&self) -> Result<(), DeskError> {
        let mut ledger = self.ledger.lock().await;
        // A sink that comes back to a config goes on where it stood.
        ledger.cursor = self.store.cursor(&self.sink).unwrap_or(ledger.cursor);
        for change in ledger.recovery(now_ms()) {
            let reason = "the daemon ended while the call was under way";
            self.make(&mut ledger, change, With { reason, ..With::default() }).await?;
            self.alarm(change.sequence, reason);
        }
        Ok(())
    }

    /// What to do now; see [`Ledger::next`].
    pub(super) async fn next(&self, head: Option<u64>, rules: &Rules) -> Next {
        self.ledger.lock().await.next(head, now_ms(), rules)
    }

    /// Where the cursor stands, and the sequences of the cases: what is not to be called for as new.
    pub(super) async fn place(&self) -> (u64, Vec<u64>) {
        let ledger = self.ledger.lock().await;
        (ledger.cursor, ledger.open.keys().copied().collect())
    }

    /// The uncertain ones: sequence, how often each was begun, and since when it is so.
    pub(super) async fn uncertain(&self) -> Vec<(u64, u64, i64)> {
        let ledger = self.ledger.lock().await;
        let open = ledger.open.iter().filter(|(_, open)| open.state == CaseState::Uncertain);
        open.map(|(sequence, open)| (*sequence, open.calls, open.at_ms)).collect()
    }

    /// The case with its verdict.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) fn case(&self, sequence: u64) -> Result<Option<Case>, StoreError> {
        self.store.case(&self.sink, sequence)
    }

    /// Verdicts below are settled or open, or the sink does not want them.
    pub(super) async fn pass(&self, next: u64) {
        let mut ledger = self.ledger.lock().await;
        if next > ledger.cursor {
            ledger.cursor = next;
            self.store.advance_cursor(&self.sink, next);
        }
    }

    /// The intent of a call is durable when this returns true: then it may be made, once. False where it is not to be
    /// made any more: it was settled since.
    ///
    /// # Errors
    /// When the engine or the store fails: then it may not be made either.
    pub(super) async fn begin(
        &self,
        sequence: u64,
        again: bool,
        verdict: Option<Arc<Chunk>>,
    ) -> Result<bool, DeskError> {
        let mut ledger = self.ledger.lock().await;
        let Some(change) = ledger.begin(sequence, again, now_ms()) else { return Ok(false) };
        self.make(&mut ledger, change, With { verdict, ..With::default() }).await?;
        Ok(true)
    }

    /// Makes durable what came of a call. `why`: of an unknown outcome; `aside`: with a refused one.
    ///
    /// # Errors
    /// When the engine or the store fails.
    pub(super) async fn end(
        &self,
        sequence: u64,
        outcome: Outcome,
        why: &str,
        aside: Option<QuarantineEntry>,
    ) -> Result<(), DeskError> {
        let mut ledger = self.ledger.lock().await;
        let Some(change) = ledger.end(sequence, outcome, now_ms()) else { return Ok(()) };
        let reason = if outcome == Outcome::Unknown { why } else { "" };
        self.make(&mut ledger, change, With { reason, aside, ..With::default() }).await?;
        if outcome == Outcome::Unknown {
            self.alarm(sequence, why);
        }
        Ok(())
    }

    /// Settles an uncertain call. `by`: who knows, for the log. Not to be given up in between.
    ///
    /// # Errors
    /// [`DeskError::NotOpen`]; when the engine or the store fails.
    pub async fn settle(&self, sequence: u64, how: Settled, by: &str) -> Result<(), DeskError> {
        self.settle_call(sequence, None, how, by).await
    }

    /// The same, where no further call has been begun since the one with that number.
    ///
    /// # Errors
    /// As [`Desk::settle`].
    pub(super) async fn settle_call(
        &self,
        sequence: u64,
        call: Option<u64>,
        how: Settled,
        by: &str,
    ) -> Result<(), DeskError> {
        let mut ledger = self.ledger.lock().await;
        let change = ledger.open.get(&sequence).filter(|open| call.is_none_or(|call| open.calls == call));
        let change = change.and_then(|_| ledger.settle(sequence, how, now_ms()));
        let change = change.ok_or_else(|| DeskError::NotOpen { sink: self.sink.clone(), sequence })?;
        self.make(&mut ledger, change, With::default()).await?;
        let outcome = match how {
            Settled::Delivered => "delivered",
            Settled::Again => "to be made again",
        };
        let (kind, sink) = (notice::CALL_SETTLED.kind, &self.sink);
        tracing::info!(kind, sink, sequence, outcome, by, "an uncertain call is settled");
        Ok(())
    }

    async fn make(&self, ledger: &mut Ledger, change: Change, with: With<'_>) -> Result<(), DeskError> {
        let Change { sequence, case, cursor, calls } = change;
        let sink = &self.sink;
        let case = match case {
            None => CaseChange::Drop(sink.clone(), sequence),
            Some(open) => {
                let known = if with.verdict.is_some() { None } else { self.case(sequence)? };
                CaseChange::Put(Case {
                    sink: sink.clone(),
                    sequence,
                    state: open.state,
                    calls: open.calls,
                    at_ms: open.at_ms,
                    reason: with.reason.to_owned(),
                    verdict: with.verdict.or_else(|| known.and_then(|known| known.verdict)),
                })
            }
        };
        let entry = Entry {
            cases: vec![case],
            cursor: cursor.map(|next| (sink.clone(), next)),
            calls: calls.map(|calls| (sink.clone(), calls)),
            quarantine: with.aside,
        };
        self.book.enter(entry).await?;
        ledger.apply(&change);
        self.show(ledger);
        self.changed.send_modify(|changes| *changes += 1);
        Ok(())
    }

    fn alarm(&self, sequence: u64, error: &str) {
        let (kind, sink) = (notice::CALL_UNCERTAIN.kind, &self.sink);
        tracing::error!(kind, sink, sequence, error, "a call was begun and its outcome is not known: not made again");
    }
}

/// What goes with a change.
#[derive(Default)]
struct With<'a> {
    /// The verdict, where the store does not have the case yet.
    verdict: Option<Arc<Chunk>>,
    reason: &'a str,
    aside: Option<QuarantineEntry>,
}
