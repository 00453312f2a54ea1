//! The two threads that take turns: one leads (decides), the other commits.

use super::inbox::{Inbox, Next, Question};
use super::lineup::Lineup;
use super::models::{Models, Shares, Swap};
use super::round::{Round, Sealed};
use super::windows::Refolded;
use super::{Along, Closed, Counters, Courier, Delivery, Origin, Submission};
use crate::event::EventBatch;
use crate::store::{BatchBuilder, Chunk, Commit, Index, Store, StoreError, Writer};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};

/// How long the leader waits before it looks after the store: cursors, trimming, room.
const IDLE: Duration = Duration::from_millis(50);
/// The same while requests keep coming of which nothing is committed (repeats, refusals): without it a full
/// store would never see that there is room again.
const TEND_EVERY: Duration = Duration::from_millis(100);

/// What an engine is made of.
pub struct Parts {
    pub store: Arc<Store>,
    pub index: Index,
    pub writer: Writer,
    pub lineup: Arc<Lineup>,
    /// None: each answer is handed over for itself.
    pub courier: Option<Courier>,
    /// Whether the quarantine keeps records with their bytes.
    pub keep_payload: bool,
    /// Whether what models read of events is kept for a replay: the store must have been opened so.
    pub keep_events: bool,
    /// The windows' past, where the models have window features.
    pub refolded: Option<Refolded>,
}

struct Shared {
    inbox: Inbox,
    /// Held by the leader.
    round: Mutex<Round>,
    /// Held by the one that commits.
    writer: Mutex<Seat>,
    swap: Arc<Swap>,
    counters: Arc<Counters>,
    /// Of what is carried along without events.
    nobody: Arc<Origin>,
    courier: Courier,
    failure: watch::Sender<Option<Failure>>,
}

/// The writer, and when it last had a chance to look after the store.
struct Seat {
    /// None after the end.
    writer: Option<Writer>,
    tended: Instant,
}

impl Seat {
    fn tend(&mut self) -> Result<(), StoreError> {
        self.tended = Instant::now();
        self.writer.as_mut().map_or(Ok(()), Writer::maintain)
    }
}

/// Why the engine stopped by itself.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("a bug stopped the engine: {0}")]
    Bug(String),
}

/// The engine's threads and their inbox.
pub struct Engine {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Engine {
    /// Starts the threads.
    ///
    /// # Errors
    /// When the system gives no threads.
    pub fn start(parts: Parts) -> io::Result<Self> {
        let counters = Arc::new(Counters::default());
        let builder = BatchBuilder::new(parts.writer.next_sequence());
        let clock = parts.writer.clock();
        let swap = Arc::<Swap>::default();
        let round = Round::new(super::round::Parts {
            store: parts.store,
            index: parts.index,
            builder,
            clock,
            models: Models::new(parts.lineup, Arc::clone(&swap)),
            refolded: parts.refolded,
            counters: Arc::clone(&counters),
            keep_payload: parts.keep_payload,
            keep_events: parts.keep_events,
        });
        let inbox = Inbox::default();
        let round = round.telling(Arc::clone(&inbox.moved));
        let shared = Arc::new(Shared {
            inbox,
            round: Mutex::new(round),
            writer: Mutex::new(Seat { writer: Some(parts.writer), tended: Instant::now() }),
            swap,
            counters,
            nobody: Arc::default(),
            courier: parts.courier.unwrap_or_else(|| Box::new(|all| all.into_iter().for_each(Delivery::deliver))),
            failure: watch::Sender::new(None),
        });
        let threads = (0..2)
            .map(|n| {
                let shared = Arc::clone(&shared);
                std::thread::Builder::new().name(format!("engine-{n}")).spawn(move || shared.run())
            })
            .collect::<io::Result<Vec<_>>>()?;
        Ok(Self { shared, threads: Mutex::new(threads) })
    }

    /// Hands a submission in; its reply comes after the commit. A reply that is dropped means that nothing
    /// is known: the engine failed or stopped first.
    ///
    /// # Errors
    /// When the engine is stopping.
    pub fn submit(&self, submission: Submission) -> Result<(), Closed> {
        self.shared.inbox.push(submission)
    }

    /// Makes something durable that belongs to no submission, in a commit of its own or beside others. An error
    /// means that nothing is known of it: the engine failed or stopped first.
    ///
    /// # Errors
    /// When the engine is stopping, or failed.
    pub async fn carry(&self, along: Along) -> Result<(), Closed> {
        let (reply, answer) = oneshot::channel();
        let origin = Arc::clone(&self.shared.nobody);
        let batch = EventBatch::default();
        self.submit(Submission { batch, origin, arrived: Instant::now(), held: None, along, reply })?;
        answer.await.map(drop).map_err(|_| Closed)
    }

    /// The durable verdict of (source, id): the chunk that holds it, and its sequence.
    ///
    /// # Errors
    /// When the engine is stopping.
    pub async fn find(&self, source: &str, id: &str) -> Result<Option<(Arc<Chunk>, u64)>, Closed> {
        let (reply, answer) = oneshot::channel();
        self.shared.inbox.ask(Question { source: source.to_owned(), id: id.to_owned(), reply })?;
        answer.await.map_err(|_| Closed)
    }

    /// Has these models score what is submitted from now on, and the dedup index and the windows keep to these budgets.
    /// Batches whose fields were decoded for the models before are still scored by those.
    pub fn swap(&self, lineup: Arc<Lineup>, shares: Shares) {
        self.shared.swap.put(lineup, shares);
    }

    /// For how long nothing has moved although something is to be decided or committed: what a watchdog looks at.
    /// Zero while there is nothing to do.
    #[must_use]
    pub fn stuck_for(&self) -> Duration {
        self.shared.inbox.stuck_for()
    }

    #[must_use]
    pub fn counters(&self) -> &Arc<Counters> {
        &self.shared.counters
    }

    /// As a failed commit does.
    #[cfg(test)]
    pub(super) fn fail(&self, failure: Failure) {
        self.shared.fail(failure);
    }

    /// Resolves when the engine has stopped by itself.
    pub async fn failed(&self) -> Failure {
        let mut failure = self.shared.failure.subscribe();
        match failure.wait_for(Option::is_some).await.map(|failure| failure.clone()) {
            Ok(Some(failure)) => failure,
            _ => std::future::pending().await,
        }
    }

    /// Takes nothing more, works off what waits and ends the threads. Sinks can still drain.
    pub fn drain(&self) {
        self.shared.inbox.close();
        for thread in lock(&self.threads).drain(..) {
            drop(thread.join());
        }
    }

    /// Drains and closes the store, with every cursor stored.
    ///
    /// # Errors
    /// When the store fails, or failed before.
    pub fn close(&self) -> Result<(), Failure> {
        self.drain();
        if let Some(failure) = self.shared.failure.borrow().clone() {
            return Err(failure);
        }
        match lock(&self.shared.writer).writer.take() {
            Some(writer) => Ok(writer.close()?),
            None => Ok(()),
        }
    }
}

impl Shared {
    fn run(&self) {
        let turns = || {
            while self.turn()? {}
            Ok::<(), StoreError>(())
        };
        match catch_unwind(AssertUnwindSafe(turns)) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.fail(Failure::Store(error)),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                self.fail(Failure::Bug(text.or(panic.downcast_ref().copied()).unwrap_or("a panic").to_owned()));
            }
        }
        if self.failure.borrow().is_some() {
            self.inbox.abandon();
            lock(&self.round).abandon();
        }
    }

    /// Notes why the engine ends; the first failure is the cause.
    fn fail(&self, failure: Failure) {
        self.failure.send_if_modified(|known| {
            let first = known.is_none();
            if first {
                *known = Some(failure);
            }
            first
        });
    }

    /// Leads one round and commits it. False at the end.
    fn turn(&self) -> Result<bool, StoreError> {
        // A round in which the other thread panicked is broken: nothing of it may be committed.
        let Ok(mut round) = self.round.lock() else { return Ok(false) };
        loop {
            if self.failure.borrow().is_some() {
                return Ok(false);
            }
            match self.inbox.next(!round.is_empty(), round.is_full(), IDLE) {
                Next::Work(mut waiting) => {
                    while let Some(submission) = waiting.pop_front() {
                        round.take(submission)?;
                        if round.is_full() {
                            break;
                        }
                    }
                    self.inbox.put_back(waiting);
                }
                Next::Asked(questions) => {
                    for Question { source, id, reply } in questions {
                        // The asker may have gone.
                        drop(reply.send(round.look_up(&source, &id)?));
                    }
                }
                Next::Commit => break,
                Next::Idle => {
                    round.adopt()?;
                    let tended = lock(&self.writer).tend();
                    self.ended(tended)?;
                }
                Next::Closed => return Ok(false),
            }
        }
        let mut sealed = round.seal()?;
        drop(round);
        let answered = std::mem::take(&mut sealed.answered);
        // Only this thread may commit until `ended`: the next round, also one of repeats alone, waits for it.
        let committed = catch_unwind(AssertUnwindSafe(|| self.commit(sealed)));
        match committed {
            // The other thread may commit the next round while this one answers.
            Ok(committed) => self.ended(committed)?,
            Err(panic) => {
                self.fail(Failure::Bug("a commit panicked".to_owned()));
                self.inbox.committed();
                resume_unwind(panic);
            }
        }
        let deliveries: Vec<_> = answered.into_iter().map(|pending| pending.answer(&self.counters)).collect();
        if deliveries.len() > 1 {
            (self.courier)(deliveries);
        } else {
            deliveries.into_iter().for_each(Delivery::deliver);
        }
        Ok(true)
    }

    /// Ends a commit. A failure is known before the next one may begin: a round that holds only repeats of
    /// the failed one writes nothing, and would else be answered as if they were durable.
    fn ended(&self, outcome: Result<(), StoreError>) -> Result<(), StoreError> {
        if let Err(error) = &outcome {
            self.fail(Failure::Store(error.clone()));
        }
        self.inbox.committed();
        outcome
    }

    fn commit(&self, sealed: Sealed) -> Result<(), StoreError> {
        let Sealed { chunks, along, observed, horizon_us, kept, events, .. } = sealed;
        let mut seat = lock(&self.writer);
        if let Some(failure) = self.failure.borrow().as_ref() {
            return Err(StoreError::Latched(failure.to_string()));
        }
        if chunks.is_empty() && along.is_empty() {
            if seat.tended.elapsed() >= TEND_EVERY {
                seat.tend()?;
            }
        } else {
            #[cfg(feature = "fault-injection")]
            super::fault::hang();
            let begin = Instant::now();
            seat.tended = begin;
            if let Some(writer) = seat.writer.as_mut() {
                let Along { offsets, quarantine, labels, cursors, cases, calls, models } = along;
                let named = |name: Arc<str>| name.as_ref().to_owned();
                writer.commit(&Commit {
                    chunks: chunks.to_vec(),
                    offsets: offsets.into_iter().map(|(name, offset)| (named(name), offset)).collect(),
                    quarantine,
                    labels,
                    cursors: cursors.into_iter().map(|(name, next)| (named(name), next)).collect(),
                    cases,
                    calls,
                    models,
                    observed,
                    horizon_us,
                    kept,
                    ..Commit::default()
                })?;
            }
            self.counters.commit_seconds.observe(begin.elapsed().as_secs_f64());
            #[allow(clippy::cast_precision_loss)] // a round is far smaller than 2^52 events
            self.counters.batch_events.observe(events as f64);
        }
        Ok(())
    }
}

/// A thread that panicked has told so through `failure`; what it held is not used after that.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
