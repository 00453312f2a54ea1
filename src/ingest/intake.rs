//! What a source needs from the rest of the program, and nothing more.

use super::{Form, Permit, Problem};
use bytes::Bytes;
use std::future::Future;

/// One request's events, or one slice of them.
#[derive(Debug)]
pub struct Submission {
    pub form: Form,
    pub body: Bytes,
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
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// What became of event `n`, counted from 0 in the order of the body.
    fn outcome(&self, n: usize) -> Outcome<'_>;
    /// Appends verdict `n` as one JSON object without a line end; called only where the outcome is a verdict.
    fn write_verdict(&self, n: usize, out: &mut Vec<u8>);
    /// Appends a line an event, in order: its verdict or its problem.
    fn write_lines(&self, out: &mut Vec<u8>) {
        for n in 0..self.len() {
            match self.outcome(n) {
                Outcome::Verdict { .. } => self.write_verdict(n, out),
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

    /// Counts events that were refused before they could be submitted, for want of memory. One a request of
    /// which nothing is known yet.
    fn refused(&self, events: u64);

    /// The verdict of (source, id) as JSON, if there is one.
    fn find(&self, source: &str, id: &str) -> impl Future<Output = Result<Option<Vec<u8>>, Problem<'static>>> + Send;
}
