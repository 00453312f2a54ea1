//! The calls of guarded sinks that are not settled, for people: of each sink one desk, for as long as the process runs.

use crate::forward::Book;
use crate::forward::http::{Desk, DeskError, Settled};
use crate::ingest::{Resolve, Resolved};
use crate::store::{Case, CaseState, Store, StoreError};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Cases listed at once.
const LISTED_MAX: usize = 10_000;

pub struct Desks {
    store: Arc<Store>,
    book: Arc<dyn Book>,
    known: Mutex<BTreeMap<String, Arc<Desk>>>,
}

impl Desks {
    #[must_use]
    pub fn new(store: &Arc<Store>, book: Arc<dyn Book>) -> Self {
        Self { store: Arc::clone(store), book, known: Mutex::default() }
    }

    /// That of a sink: always the same.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn of(&self, sink: &str) -> Result<Arc<Desk>, StoreError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(desk) = known.get(sink) {
            return Ok(Arc::clone(desk));
        }
        let desk = Arc::new(Desk::open(sink, &self.store, Arc::clone(&self.book))?);
        known.insert(sink.to_owned(), Arc::clone(&desk));
        Ok(desk)
    }

    /// What is open, also of sinks that are gone; `running`: those that make calls now.
    #[must_use]
    pub fn list(&self, running: &[&str]) -> Value {
        match self.store.cases(None, LISTED_MAX) {
            Err(error) => json!({ "error": error.to_string() }),
            Ok(cases) => {
                let shown = cases
                    .iter()
                    .filter(|case| case.state != CaseState::UnderWay || !running.contains(&case.sink.as_str()));
                json!({ "calls": shown.map(case_json).collect::<Vec<_>>() })
            }
        }
    }

    /// Settles a call; see [`Resolve`].
    pub async fn resolve(&self, resolve: Resolve, running: Vec<String>) -> Resolved {
        let Resolve { sink, sequence, resend } = resolve;
        let sink = match sink {
            Some(sink) => sink,
            None => match self.sink_of(sequence) {
                Ok(sink) => sink,
                Err(why) => return why,
            },
        };
        let is_running = running.contains(&sink);
        if resend && !is_running {
            return Resolved::Refused(format!("nothing is sent: no guarded sink {sink:?} is configured"));
        }
        let settled = async {
            let desk = self.of(&sink)?;
            if !is_running {
                desk.recover().await?;
            }
            let how = if resend { Settled::Again } else { Settled::Delivered };
            desk.settle(sequence, how, "a person").await
        };
        match settled.await {
            Ok(()) => {
                let how = if resend { "resend" } else { "delivered" };
                Resolved::Done(json!({ "sink": sink, "sequence": sequence, "as": how }).to_string().into_bytes())
            }
            Err(error @ DeskError::NotOpen { .. }) => Resolved::Refused(error.to_string()),
            Err(error) => Resolved::Failed(error.to_string()),
        }
    }

    /// The only sink that has a case of a verdict.
    fn sink_of(&self, sequence: u64) -> Result<String, Resolved> {
        let cases = self.store.cases(None, usize::MAX).map_err(|error| Resolved::Failed(error.to_string()))?;
        only_sink(&cases, sequence).map_err(Resolved::Refused)
    }
}

/// The only sink that has a case of a verdict, or why there is none such.
///
/// # Errors
/// What to say.
pub fn only_sink(cases: &[Case], sequence: u64) -> Result<String, String> {
    let mut sinks = cases.iter().filter(|case| case.sequence == sequence).map(|case| case.sink.as_str());
    match (sinks.next(), sinks.next()) {
        (Some(sink), None) => Ok(sink.to_owned()),
        (None, _) => Err(format!("there is no call of verdict {sequence} whose outcome is not known")),
        (Some(one), Some(other)) => {
            Err(format!("several sinks have a call of verdict {sequence}, {one} and {other} among them; give --sink"))
        }
    }
}

/// A case for scripts.
#[must_use]
pub fn case_json(case: &Case) -> Value {
    let record = case.record();
    let verdict = record.as_ref().map(|record| &record.verdict);
    // What was under way when the daemon ended, or in a store that is looked at, is uncertain.
    let state = if case.state == CaseState::UnderWay { CaseState::Uncertain } else { case.state };
    let at = jiff::Timestamp::from_millisecond(case.at_ms).map(|at| format!("{at:.3}")).ok();
    json!({
        "sequence": case.sequence,
        "sink": case.sink,
        "state": state.name(),
        "since": at,
        "calls": case.calls,
        "reason": case.reason,
        "source": verdict.map(|verdict| verdict.source),
        "id": verdict.map(|verdict| verdict.id),
        "key": verdict.and_then(|verdict| verdict.key),
        "decision": verdict.map(|verdict| verdict.decision),
    })
}
