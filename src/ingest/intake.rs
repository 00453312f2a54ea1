//! What a source needs from the rest of the program, and nothing more.

use super::{Form, Permit, Problem, ProblemKind};
use crate::event::{Assembly, EventBatch, LineIds};
use bytes::Bytes;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// One request's events, or one slice of them.
#[derive(Debug)]
pub struct Submission {
    pub form: Form,
    pub body: Bytes,
    /// They are labels rather than events.
    pub labels: bool,
    /// Memory paid for: the body, and what decoding and answering it cost. To be held until the answer falls.
    pub permit: Permit,
}

/// What became of one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// It has a durable verdict; `replayed` when an earlier arrival made it.
    Verdict {
        replayed: bool,
    },
    /// A label, and durable; `known` when its event has a verdict.
    Label {
        known: bool,
    },
    Problem(Problem<'a>),
}

/// The answer to one submission, after its commit.
pub trait Answer: Send + 'static {
    /// What of its memory stays paid for until its lines have gone to the client.
    fn into_held(self) -> Option<Permit>
    where
        Self: Sized;
    /// Number of events. A single form has exactly one.
    fn len(&self) -> usize;
    /// The batch again, to be handed in once more, with the memory it was paid for with.
    fn into_batch(self) -> (EventBatch, Option<Permit>)
    where
        Self: Sized;
    /// Whether no event was refused for now. (One that was refused for what it is was taken: it is set aside.)
    fn is_all_taken(&self) -> bool {
        (0..self.len())
            .all(|n| !matches!(self.outcome(n), Outcome::Problem(problem) if problem.kind == ProblemKind::Busy))
    }
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// What became of event `n`, counted from 0 in the order of the body.
    fn outcome(&self, n: usize) -> Outcome<'_>;
    /// Appends verdict `n`, or the answer to label `n`, as one JSON object without a line end; called only where
    /// the outcome is one of them.
    fn write_verdict(&self, n: usize, out: &mut Vec<u8>);
    /// Appends a line an event, in order: its verdict or its problem.
    fn write_lines(&self, out: &mut Vec<u8>) {
        for n in 0..self.len() {
            match self.outcome(n) {
                Outcome::Verdict { .. } | Outcome::Label { .. } => self.write_verdict(n, out),
                Outcome::Problem(problem) => problem.write_json(out),
            }
            out.push(b'\n');
        }
    }
}

/// Takes events and answers for them.
pub trait Intake: Send + Sync + 'static {
    type Answer: Answer;

    /// Decodes and submits; resolves after the commit. An error is for the whole submission, of which then
    /// nothing was taken.
    ///
    /// A dropped future does not undo a submission: the events may be taken all the same, and a repeat
    /// then gets their verdicts.
    fn submit(&self, submission: Submission) -> impl Future<Output = Result<Self::Answer, Problem<'static>>> + Send;

    /// Begins a batch of records that come one by one. Those without a time get the time of this call.
    fn assemble(&self) -> Assembly;

    /// Decodes whole lines of NDJSON, with ids for events that have none.
    fn decode_lines(&self, body: Bytes, ids: Option<LineIds<'_>>) -> EventBatch;

    /// Submits a batch when called, so in the order of the calls; resolves after its commit. `permit` is the
    /// memory that was paid for it.
    ///
    /// The offsets (name, bytes) move in the commit that decides the batch's last event, and only if none of
    /// its events is refused; those of a batch without events move, too. So of a source with offsets only one
    /// batch may be under way: else a later one could move the offset over what was refused of an earlier one.
    fn hand_in(
        &self,
        batch: EventBatch,
        permit: Option<Permit>,
        offsets: Vec<(Arc<str>, Vec<u8>)>,
    ) -> impl Future<Output = Result<Self::Answer, Problem<'static>>> + Send + 'static;

    /// An offset as it is stored: at most 4,096 bytes under a name of at most 512.
    ///
    /// # Errors
    /// When it cannot be read.
    fn offset(&self, name: &str) -> Result<Option<Vec<u8>>, Problem<'static>>;

    /// Counts events that were refused before they could be submitted, for want of memory. One a request of
    /// which nothing is known yet.
    fn refused(&self, events: u64);

    /// The verdict of (source, id) as JSON, if there is one.
    fn find(&self, source: &str, id: &str) -> impl Future<Output = Result<Option<Vec<u8>>, Problem<'static>>> + Send;
}

/// First and longest wait before what was refused is handed in again.
const REFUSED_WAITS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// Hands a batch in until all of it is taken; what was taken of it before is a repeat then, and does no harm.
///
/// # Errors
/// When `stop` turned true while it was refused, or the engine ended: then it was not taken, or not known to be.
pub async fn until_taken<I: Intake>(
    intake: &I,
    batch: EventBatch,
    permit: Option<Permit>,
    offsets: Vec<(Arc<str>, Vec<u8>)>,
    stop: &mut watch::Receiver<bool>,
) -> Result<I::Answer, Problem<'static>> {
    let (mut wait, longest) = REFUSED_WAITS;
    let mut next = intake.hand_in(batch, permit, offsets.clone());
    loop {
        let answer = next.await?;
        if answer.is_all_taken() {
            return Ok(answer);
        }
        let stopped = async {
            // Without a sender nobody can stop it any more.
            if stop.wait_for(|stop| *stop).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = stopped => return Err(Problem::busy("verdictd is stopping")),
        }
        wait = (wait * 2).min(longest);
        let (batch, permit) = answer.into_batch();
        next = intake.hand_in(batch, permit, offsets.clone());
    }
}
