//! Where submissions wait for the next round.

use super::progress::Progress;
use super::{Answer, Origin, WAVE_EVENTS_MAX};
use crate::event::{EventBatch, Permit};
use crate::store::{Calls, CaseChange, Chunk, Label, ModelUse, QuarantineEntry};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// One request's events on their way through.
#[derive(Debug)]
pub struct Submission {
    pub batch: EventBatch,
    /// Where it came from, for the counters.
    pub origin: Arc<Origin>,
    pub arrived: Instant,
    /// The memory it was paid for with, given back with the answer.
    pub held: Option<Permit>,
    /// What else is to become durable in the commit that decides its last event.
    pub along: Along,
    pub reply: oneshot::Sender<Answer>,
}

/// What a commit carries beside verdicts.
#[derive(Debug, Default)]
pub struct Along {
    /// Offsets of sources: name, bytes. They move only if none of the submission's events was refused.
    pub offsets: Vec<(Arc<str>, Vec<u8>)>,
    /// Records that a sink sets aside.
    pub quarantine: Vec<QuarantineEntry>,
    pub labels: Vec<Label>,
    /// Cursors of sinks: name, next sequence.
    pub cursors: Vec<(Arc<str>, u64)>,
    /// What becomes of calls that are not settled, in order.
    pub cases: Vec<CaseChange>,
    /// How many calls sinks have made: name, count.
    pub calls: Vec<(String, Calls)>,
    /// Models taken into use; from which sequence on is the engine's to say.
    pub models: Vec<ModelUse>,
}

impl Along {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty()
            && self.quarantine.is_empty()
            && self.labels.is_empty()
            && self.cursors.is_empty()
            && self.cases.is_empty()
            && self.calls.is_empty()
            && self.models.is_empty()
    }

    /// Takes what another one carries; of one name the last counts.
    pub fn append(&mut self, mut other: Self) {
        self.offsets.append(&mut other.offsets);
        self.quarantine.append(&mut other.quarantine);
        self.labels.append(&mut other.labels);
        self.cursors.append(&mut other.cursors);
        self.cases.append(&mut other.cases);
        self.calls.append(&mut other.calls);
        self.models.append(&mut other.models);
    }
}

/// The engine takes nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the engine is stopping")]
pub struct Closed;

/// A question for a verdict that is known: answered between two submissions.
#[derive(Debug)]
pub struct Question {
    pub source: String,
    pub id: String,
    /// The chunk that holds the verdict and its sequence.
    pub reply: oneshot::Sender<Option<(Arc<Chunk>, u64)>>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Submission>,
    questions: Vec<Question>,
    /// Events in `waiting`.
    events: usize,
    /// Since when a round is being committed, if one is.
    commit_begun: Option<Instant>,
    /// When the last commit or idle work ended.
    committed: Option<Instant>,
    closed: bool,
    /// A leader sleeps in `next`.
    asleep: bool,
    /// A leader is deciding what it was given.
    deciding: bool,
}

/// The queue and the turn-taking of the two threads, under one lock.
#[derive(Default)]
pub struct Inbox {
    /// When a leader last asked or got on with what it was given, or a commit ended.
    pub moved: Arc<Progress>,
    state: Mutex<State>,
    changed: Condvar,
}

/// What a leader is to do next.
pub enum Next {
    Asked(Vec<Question>),
    Work(VecDeque<Submission>),
    /// Nothing waits and no commit is running: commit the round in hand.
    Commit,
    /// Nothing was committed for the given time.
    Idle,
    Closed,
}

impl State {
    /// While a round is being committed a few events may as well wait for its end: to wake the leader for
    /// each of them costs more than deciding them then. A wave's worth is decided meanwhile.
    fn is_worth_waking(&self) -> bool {
        self.commit_begun.is_none() || self.events >= WAVE_EVENTS_MAX
    }
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// # Errors
    /// When the engine is closed.
    pub fn push(&self, submission: Submission) -> Result<(), Closed> {
        let mut state = self.lock();
        if state.closed {
            return Err(Closed);
        }
        state.events += submission.batch.items.len();
        state.waiting.push_back(submission);
        if state.is_worth_waking() {
            self.wake(state);
        }
        Ok(())
    }

    /// # Errors
    /// When the engine is closed.
    pub fn ask(&self, question: Question) -> Result<(), Closed> {
        let mut state = self.lock();
        if state.closed {
            return Err(Closed);
        }
        state.questions.push(question);
        self.wake(state);
        Ok(())
    }

    /// Puts back, in front, what a round had no room for.
    pub fn put_back(&self, rest: VecDeque<Submission>) {
        if !rest.is_empty() {
            let mut state = self.lock();
            for submission in rest.into_iter().rev() {
                state.events += submission.batch.items.len();
                state.waiting.push_front(submission);
            }
        }
    }

    /// Takes nothing more; what waits is still worked off.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        self.wake(state);
    }

    /// Drops all that waits, and closes.
    pub fn abandon(&self) {
        let mut state = self.lock();
        state.waiting.clear();
        state.events = 0;
        state.questions.clear();
        state.closed = true;
        self.wake(state);
    }

    /// Waits until there is something to do. `holding`: a round with something in it is in hand; `full`: it
    /// takes no more, so only the commit can be next.
    pub fn next(&self, holding: bool, full: bool, idle: Duration) -> Next {
        let mut state = self.lock();
        state.deciding = false;
        self.moved.note();
        loop {
            if !state.questions.is_empty() {
                state.deciding = true;
                return Next::Asked(std::mem::take(&mut state.questions));
            }
            if holding && state.commit_begun.is_none() {
                state.commit_begun = Some(Instant::now());
                return Next::Commit;
            }
            if !full && !state.waiting.is_empty() && state.is_worth_waking() {
                state.events = 0;
                state.deciding = true;
                return Next::Work(std::mem::take(&mut state.waiting));
            }
            let nothing = !holding && state.commit_begun.is_none() && state.waiting.is_empty();
            if nothing && state.closed {
                return Next::Closed;
            }
            // Measured from the last commit, not from the last wait, which questions cut short.
            if nothing && state.committed.is_none_or(|at| at.elapsed() >= idle) {
                state.commit_begun = Some(Instant::now());
                return Next::Idle;
            }
            state.asleep = true;
            let woken = self.changed.wait_timeout(state, idle).unwrap_or_else(PoisonError::into_inner);
            state = woken.0;
            state.asleep = false;
        }
    }

    /// The running commit (or idle work) has ended.
    pub fn committed(&self) {
        let mut state = self.lock();
        state.commit_begun = None;
        state.committed = Some(Instant::now());
        self.moved.note();
        self.wake(state);
    }

    /// For how long nothing has moved although there is something to do; zero where there is nothing.
    pub fn stuck_for(&self) -> Duration {
        let state = self.lock();
        let waits = !state.waiting.is_empty() || !state.questions.is_empty();
        let decision = if state.deciding || waits { self.moved.elapsed() } else { Duration::ZERO };
        // A commit that hangs is seen although the other thread goes on deciding.
        decision.max(state.commit_begun.map_or(Duration::ZERO, |begun| begun.elapsed()))
    }

    fn wake(&self, state: MutexGuard<'_, State>) {
        let asleep = state.asleep;
        drop(state);
        if asleep {
            self.changed.notify_one();
        }
    }
}
