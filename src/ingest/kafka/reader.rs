//! One consumer's life: records in, batches to the engine, places to the group.

use super::consumer::{self, Consumer, Rebalance};
use super::gathering::{Batch, Gathering};
use super::offset::Mark;
use super::partition::{Lost, Partition, State};
use super::{Failure, Options, record, stopped};
use crate::event::Budget;
use crate::ingest::{Intake, Problem, SourceStatus, until_taken};
use crate::link::kafka::trouble_of_global;
use crate::link::{Backoff, Trouble};
use crate::notice;
use rdkafka::consumer::Consumer as _;
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::message::{BorrowedMessage, Message};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};

/// How often the reader looks round where nothing wakes it.
const TICK: Duration = Duration::from_millis(200);
/// How long a record larger than the free memory waits before the rest is looked after.
const BUDGET_WAIT: Duration = Duration::from_millis(200);

/// What is under way to the engine, and the places behind it.
pub(super) struct Flight<'a> {
    future: Pin<Box<dyn Future<Output = Result<(), Problem<'static>>> + 'a>>,
    places: Vec<(Arc<str>, i64)>,
}

/// How a consumer ends that did not fail.
enum Ended {
    Stopped,
    /// Secrets and certificates are to be read anew.
    Anew,
}

pub(super) struct Reader<'a, I: Intake> {
    pub(super) options: &'a Options,
    pub(super) intake: &'a I,
    pub(super) budget: &'a Budget,
    pub(super) status: &'a SourceStatus,
    pub(super) stop: watch::Receiver<bool>,
    pub(super) consumer: Arc<Consumer>,
    bell: Arc<Notify>,
    pub(super) partitions: Vec<Partition>,
    /// The last record's partition, by index.
    last: usize,
    pub(super) gathering: Gathering,
    pub(super) flight: Option<Flight<'a>>,
    /// A batch was not taken: nothing may be handed in behind it, its offsets would pass over what is missing.
    is_broken: bool,
    id: String,
    pub(super) told: Instant,
    pub(super) asked: Instant,
    /// When there was no room for more, if there is none now.
    pub(super) blocked: Option<Instant>,
    pub(super) is_paused: bool,
    /// Since when the brokers do not let us in.
    pub(super) locked_out: Option<Instant>,
    /// When places were last searched for in vain.
    pub(super) located: Option<Instant>,
}

impl<'a, I: Intake> Reader<'a, I> {
    pub fn open(
        options: &'a Options,
        intake: &'a I,
        budget: &'a Budget,
        status: &'a SourceStatus,
        stop: watch::Receiver<bool>,
    ) -> Result<Self, Failure> {
        let bell = Arc::new(Notify::new());
        let consumer = Arc::new(consumer::open(options, Arc::clone(&bell))?);
        let now = Instant::now();
        Ok(Self {
            options,
            intake,
            budget,
            status,
            stop,
            consumer,
            bell,
            partitions: Vec::new(),
            last: 0,
            gathering: Gathering::new(intake.assemble()),
            flight: None,
            is_broken: false,
            id: String::new(),
            told: now,
            asked: now,
            blocked: None,
            is_paused: false,
            locked_out: None,
            located: None,
        })
    }

    /// Reads until it is stopped or the consumer is of no more use. True where it was stopped.
    pub async fn run(mut self, backoff: &mut Backoff) -> Result<bool, Failure> {
        let ended = self.drive(backoff).await;
        self.tell_group();
        self.consumer.context().closing.store(true, SeqCst);
        // Leaves the group's books in order; as a static member it stays in the group for a session.
        drop(self.consumer);
        ended.map(|ended| matches!(ended, Ended::Stopped))
    }

    async fn drive(&mut self, backoff: &mut Backoff) -> Result<Ended, Failure> {
        let mut stop = self.stop.clone();
        loop {
            if *stop.borrow_and_update() {
                self.settle(None).await?;
                return Ok(Ended::Stopped);
            }
            self.hear(backoff).await?;
            let has_room = self.gather(backoff).await;
            if self.is_broken && !*stop.borrow() {
                let text = "a batch was not taken; reading begins anew behind the last that was".to_owned();
                return Err(Failure { trouble: Trouble::Transient, text });
            }
            if self.flight.is_none() && !self.gathering.is_empty() {
                self.hand_in();
            }
            self.look_round(has_room)?;
            if self.locked_out.is_some_and(|since| since.elapsed() >= self.options.probe) {
                return Ok(Ended::Anew);
            }
            let bell = Arc::clone(&self.bell);
            tokio::select! {
                biased;
                result = landed(&mut self.flight) => self.land(result)?,
                () = stopped(&mut stop) => {}
                () = bell.notified(), if has_room => {}
                () = tokio::time::sleep(TICK) => {}
            }
        }
    }

    /// What the client has told: partitions that come and go, errors.
    async fn hear(&mut self, backoff: &mut Backoff) -> Result<(), Failure> {
        let told = self.consumer.context().take();
        for rebalance in told.rebalances {
            backoff.reset();
            match rebalance {
                Rebalance::Assigned(list) => self.assigned(&list)?,
                Rebalance::Revoked(list) => self.revoked(&list).await?,
            }
        }
        for (code, reason) in told.errors {
            self.client_error(code, &reason)?;
        }
        for code in told.commit_errors {
            // The offsets that count are in our own store.
            tracing::debug!(source = self.options.name, %code, "a commit to the group failed");
        }
        Ok(())
    }

    fn client_error(&mut self, code: RDKafkaErrorCode, reason: &str) -> Result<(), Failure> {
        use RDKafkaErrorCode as Code;
        let text = format!("{code}: {reason}");
        match code {
            // The group may say the second without the client taking it for its end.
            Code::Fatal | Code::FencedInstanceId => {
                let (code, text) = self.consumer.client().fatal_error().unwrap_or((code, text));
                let text = if code == Code::FencedInstanceId {
                    format!("another member of the group has this instance's name; each needs its own: {text}")
                } else {
                    text
                };
                return Err(Failure { trouble: trouble_of_global(code, &text), text });
            }
            // Which partition it is, is not said; whichever stands still goes on from its place.
            Code::AutoOffsetReset | Code::OffsetOutOfRange | Code::LogTruncation => {
                for partition in self.partitions.iter_mut().filter(|partition| partition.is_assigned) {
                    partition.state = State::Lost(Lost::OutOfRange);
                }
            }
            _ => match trouble_of_global(code, reason) {
                Trouble::Configuration if self.is_of_one_topic(code) => {
                    self.status.warn("topic", Some(text.clone()));
                    self.status.link.note(Trouble::Configuration, &text);
                    let (kind, source) = (notice::TOPIC_UNREADABLE.kind, &self.options.name);
                    tracing::error!(kind, source, error = text, "a topic cannot be read; the others are");
                }
                Trouble::Configuration => {
                    if matches!(code, Code::Authentication | Code::SSL) {
                        self.locked_out.get_or_insert_with(Instant::now);
                    }
                    self.status.failed(Trouble::Configuration, &text);
                }
                // What follows from being locked out is no news.
                _ if self.locked_out.is_none() && code == Code::AllBrokersDown => {
                    self.status.failed(Trouble::Transient, &text);
                }
                _ => tracing::debug!(source = self.options.name, text, "Kafka client"),
            },
        }
        Ok(())
    }

    /// Whether it concerns one topic, while others are read.
    fn is_of_one_topic(&self, code: RDKafkaErrorCode) -> bool {
        use RDKafkaErrorCode::{TopicAuthorizationFailed, UnknownTopicOrPartition};
        matches!(code, TopicAuthorizationFailed | UnknownTopicOrPartition)
            && self.partitions.iter().any(|partition| partition.is_assigned)
    }

    /// Takes what the client has ready. False where there is no room for more.
    async fn gather(&mut self, backoff: &mut Backoff) -> bool {
        let consumer = Arc::clone(&self.consumer);
        let mut nothing = 0;
        // An event that is no record looks like nothing once.
        while nothing < 2 {
            let has_room = !self.gathering.is_full() && self.gathering.try_pay(0, self.budget);
            if !has_room && !self.is_paused {
                return false;
            }
            match consumer.poll(Duration::ZERO) {
                Some(Ok(message)) => {
                    nothing = 0;
                    backoff.reset();
                    self.locked_out = None;
                    self.status.recovered();
                    self.take(&message).await;
                }
                // Told by the context, too, and with its reason.
                Some(Err(_)) => {}
                None => nothing += 1,
            }
            if consumer.context().has_rebalance() {
                self.bell.notify_one();
                break;
            }
        }
        !self.is_paused
    }

    async fn take(&mut self, message: &BorrowedMessage<'_>) {
        let is_it = |p: &Partition| p.number == message.partition() && p.topic == message.topic();
        if !self.partitions.get(self.last).is_some_and(is_it) {
            // One that was taken away meanwhile is another's business.
            let Some(at) = self.partitions.iter().position(is_it) else { return };
            self.last = at;
        }
        let Some(partition) = self.partitions.get_mut(self.last) else { return };
        let (offset, look) = (message.offset(), record::look(message));
        let (next, made) = partition.mark.map_or((0, 0), |mark| (mark.next, mark.made));
        match partition.state {
            State::Checking(expected) if offset + 1 == next => {
                partition.state = if look == expected { State::Reading } else { State::Lost(Lost::Remade) };
                return;
            }
            State::Checking(_) if offset >= next => partition.state = State::Reading,
            State::Reading if offset >= next => {}
            _ => return,
        }
        let bytes = message.payload().map_or(0, <[u8]>::len);
        self.pay(bytes).await;
        let Some(partition) = self.partitions.get_mut(self.last) else { return };
        record::write_id(&partition.topic, partition.number, offset, made, &mut self.id);
        let id = self.options.default_id.then_some(self.id.as_str());
        record::push(&mut self.gathering.assembly, message, id);
        let mark = Mark { next: offset + 1, made, last: Some(look) };
        partition.mark = Some(mark);
        self.gathering.reached(&partition.name, mark);
    }

    /// Pays for a record that is here already; a large one waits for what is under way.
    async fn pay(&mut self, bytes: usize) {
        while !self.gathering.try_pay(bytes, self.budget) {
            let owed = self.gathering.owes(bytes);
            let waited = self.budget.take(owed, BUDGET_WAIT);
            tokio::select! {
                result = landed(&mut self.flight) => {
                    // A failure is met again by the next batch.
                    let _ = self.land(result);
                }
                paid = waited => match paid {
                    Ok(permit) => self.gathering.pay(permit),
                    // It could wait for ever: for the batch that it would be part of, or for more than there is.
                    Err(_) if self.flight.is_none() || *self.stop.borrow() => return,
                    Err(_) => {}
                },
            }
        }
    }

    /// Hands in what is gathered.
    pub(super) fn hand_in(&mut self) {
        if self.is_broken {
            return;
        }
        let gathering = std::mem::replace(&mut self.gathering, Gathering::new(self.intake.assemble()));
        let Batch { events, permit, offsets, places } = gathering.finish();
        let (intake, mut stop) = (self.intake, self.stop.clone());
        let future = Box::pin(async move {
            let answer = until_taken(intake, events, permit, offsets, &mut stop).await?;
            drop(answer);
            Ok(())
        });
        self.flight = Some(Flight { future, places });
    }

    /// A batch was committed, or the engine takes nothing more.
    pub(super) fn land(&mut self, result: Result<(), Problem<'static>>) -> Result<(), Failure> {
        let Some(flight) = self.flight.take() else { return Ok(()) };
        if let Err(problem) = result {
            self.is_broken = true;
            let text = problem.detail.into_owned();
            return if *self.stop.borrow() { Ok(()) } else { Err(Failure { trouble: Trouble::Transient, text }) };
        }
        for (name, next) in flight.places {
            if let Some(partition) = self.partitions.iter_mut().find(|p| Arc::ptr_eq(&p.name, &name)) {
                partition.untold = Some(next);
            }
        }
        Ok(())
    }

    /// Waits for what is under way, at most for `limit`; true where nothing is any more.
    pub(super) async fn settle(&mut self, limit: Option<Duration>) -> Result<bool, Failure> {
        if self.flight.is_none() {
            return Ok(true);
        }
        let landed = landed(&mut self.flight);
        let result = match limit {
            None => landed.await,
            Some(limit) => match tokio::time::timeout(limit, landed).await {
                Ok(result) => result,
                Err(_) => return Ok(false),
            },
        };
        self.land(result)?;
        Ok(true)
    }
}

/// Resolves when the batch under way is committed; never where there is none.
pub(super) async fn landed(flight: &mut Option<Flight<'_>>) -> Result<(), Problem<'static>> {
    match flight {
        Some(flight) => flight.future.as_mut().await,
        None => std::future::pending().await,
    }
}
