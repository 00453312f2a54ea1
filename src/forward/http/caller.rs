//! The guarded sink: one call after the other, each between two commits.

use super::answer::{Said, outcome, shown};
use super::desk::{Desk, DeskError};
use super::guarded::{Hold, Next, Outcome};
use super::lanes::asked_wait;
use super::probe;
use super::request::{Item, post};
use super::session::stopped;
use super::{Guarded, Options};
use crate::forward::{Feed, SinkStatus, poison_entry};
use crate::link::http::{Answer, CallError, Client};
use crate::link::{Backoff, Trouble};
use crate::notice;
use crate::store::{Chunk, Record, Store, StoreError, verdict_of};
use rand::SeedableRng;
use rand_pcg::Pcg64;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// How often it looks at the day and at the clock while it waits for one of them.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Runs the sink until `stop` turns true: then no further call is made, and the one under way is waited for, for at most
/// [`Options::drain`]. The engine must still take commits then.
pub async fn run_guarded(
    options: Options,
    guarded: Guarded,
    store: Arc<Store>,
    desk: Arc<Desk>,
    status: Arc<SinkStatus>,
    stop: watch::Receiver<bool>,
) {
    let calls = async {
        let mut stop = stop.clone();
        let mut caller = Caller::new(&options, &guarded, &store, &desk, &status);
        loop {
            let error = match caller.run(&mut stop).await {
                Ok(()) | Err(DeskError::Stopped(_)) => return,
                Err(error) => error,
            };
            let wait = caller.failed(Trouble::Transient, &error.to_string(), None);
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = stopped(&mut stop) => return,
            }
        }
    };
    let probes = async {
        if let Some(probe) = &guarded.probe {
            probe::run(probe, &desk, stop.clone()).await;
        }
    };
    tokio::join!(calls, probes);
}

/// The first verdict that is to be called for.
struct Head {
    sequence: u64,
    verdict: Option<Arc<Chunk>>,
}

struct Caller<'a> {
    options: &'a Options,
    guarded: &'a Guarded,
    store: &'a Arc<Store>,
    desk: &'a Arc<Desk>,
    status: &'a SinkStatus,
    client: Client,
    feed: Feed,
    backoff: Backoff,
    random: Pcg64,
    /// Nothing is sent before.
    not_before: Instant,
    /// Whether it was said that the day's calls are used up.
    said_used_up: bool,
}

impl<'a> Caller<'a> {
    fn new(
        options: &'a Options,
        guarded: &'a Guarded,
        store: &'a Arc<Store>,
        desk: &'a Arc<Desk>,
        status: &'a SinkStatus,
    ) -> Self {
        Self {
            options,
            guarded,
            store,
            desk,
            status,
            client: Client::new(options.client.clone()),
            feed: Feed::new(Arc::clone(store), options.filter.clone(), 0),
            backoff: Backoff::default(),
            random: Pcg64::from_os_rng(),
            not_before: Instant::now(),
            said_used_up: false,
        }
    }

    async fn run(&mut self, stop: &mut watch::Receiver<bool>) -> Result<(), DeskError> {
        self.desk.recover().await?;
        self.feed.seek(self.store.cursor(&self.options.name)?);
        let (mut committed, mut changed) = (self.store.watch(), self.desk.watch());
        loop {
            committed.borrow_and_update();
            changed.borrow_and_update();
            if *stop.borrow_and_update() {
                return Ok(());
            }
            if self.not_before > Instant::now() {
                // Whatever comes meanwhile waits, too.
                tokio::select! {
                    () = tokio::time::sleep_until(self.not_before) => {}
                    () = stopped(stop) => {}
                }
                continue;
            }
            let Some(wait) = self.turn(stop).await? else { continue };
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                _ = committed.changed() => {}
                _ = changed.changed() => {}
                () = stopped(stop) => {}
            }
        }
    }

    /// One step; how long nothing is to be done then but for news, if it is so.
    async fn turn(&mut self, stop: &mut watch::Receiver<bool>) -> Result<Option<Duration>, DeskError> {
        let head = self.head().await?;
        let next = self.desk.next(head.as_ref().map(|head| head.sequence), &self.guarded.rules).await;
        self.desk.hold(if let Next::Hold(hold) = next { Some(hold) } else { None });
        match next {
            Next::Nothing => {
                self.reach().await;
                Ok(Some(Duration::from_hours(1)))
            }
            Next::Later(ms) => Ok(Some(Duration::from_millis(u64::try_from(ms).unwrap_or(0)).min(LOOK_EVERY))),
            Next::Hold(hold) => {
                self.tell(hold);
                Ok(Some(LOOK_EVERY))
            }
            Next::Call { sequence, again } => {
                self.said_used_up = false;
                let verdict = match head.filter(|head| !again && head.sequence == sequence) {
                    Some(head) => head.verdict,
                    None => self.kept(sequence)?,
                };
                self.call((sequence, again), verdict, stop).await?;
                Ok(None)
            }
        }
    }

    /// The first verdict behind the cursor that the sink wants and that has no case.
    async fn head(&mut self) -> Result<Option<Head>, DeskError> {
        let (cursor, open) = self.desk.place().await;
        self.feed.seek(self.feed.next().max(cursor));
        let mut head = None;
        self.feed.read(|sequence, _| {
            if open.binary_search(&sequence).is_ok() {
                return ControlFlow::Continue(());
            }
            head = Some(sequence);
            ControlFlow::Break(())
        })?;
        self.desk.pass(self.feed.next()).await;
        let Some(sequence) = head else { return Ok(None) };
        let chunk = self.store.chunk_of(sequence)?;
        let record = chunk.as_ref().and_then(|chunk| chunk.get(sequence));
        Ok(Some(Head { sequence, verdict: record.and_then(|record| verdict_of(&record)) }))
    }

    /// The verdict of a case; the log may still hold one that is damaged there.
    fn kept(&self, sequence: u64) -> Result<Option<Arc<Chunk>>, StoreError> {
        if let Some(verdict) = self.desk.case(sequence)?.and_then(|case| case.verdict) {
            return Ok(Some(verdict));
        }
        let chunk = self.store.chunk_of(sequence)?;
        Ok(chunk.and_then(|chunk| chunk.get(sequence).and_then(|record| verdict_of(&record))))
    }

    /// Makes one call, if there is a connection for it.
    async fn call(
        &mut self,
        (sequence, again): (u64, bool),
        verdict: Option<Arc<Chunk>>,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<(), DeskError> {
        let record = verdict.as_ref().and_then(|chunk| chunk.get(sequence));
        let encoding = self.options.encoding;
        let write = |record: &Record<'_>| {
            catch_unwind(AssertUnwindSafe(|| Item::new(sequence, encoding, &record.verdict))).ok()
        };
        let Some(item) = record.as_ref().and_then(write) else {
            if !self.desk.begin(sequence, again, None).await? {
                return Ok(());
            }
            return self
                .desk
                .end(sequence, Outcome::Unknown, "its verdict is no longer there, or cannot be written", None)
                .await;
        };
        // A connection of its own, that nobody has idled on: one that the receiver is about to close would make the
        // call uncertain for nothing.
        self.client.disconnect();
        if let Err(error) = self.client.connect().await {
            self.failed(error.trouble, &error.text, None);
            return Ok(());
        }
        // A stop waits for the answer to a call, and begins none.
        if *stop.borrow() || !self.desk.begin(sequence, again, verdict.clone()).await? {
            return Ok(());
        }
        let drain = self.options.drain;
        let answered = tokio::select! {
            answered = self.client.call(post(self.options, &[item])) => answered,
            () = async {
                stopped(stop).await;
                tokio::time::sleep(drain).await;
            } => Err(CallError {
                trouble: Trouble::Transient,
                text: "the daemon stopped while it waited for the answer".to_owned(),
                begun: true,
            }),
        };
        match answered {
            Ok(answer) => self.answered(sequence, verdict.as_deref(), &answer).await,
            Err(error) => {
                let outcome = if error.begun { Outcome::Unknown } else { Outcome::NotMade };
                self.failed(error.trouble, &error.text, None);
                self.desk.end(sequence, outcome, &error.text, None).await
            }
        }
    }

    async fn answered(&mut self, sequence: u64, verdict: Option<&Chunk>, answer: &Answer) -> Result<(), DeskError> {
        let asked = asked_wait(answer);
        let (outcome, text) = (outcome(answer.status, asked.is_some()), shown(answer.status, &answer.text));
        let entry = match outcome {
            Outcome::Refused => {
                let record = verdict.and_then(|chunk| chunk.get(sequence));
                let verdict = record.as_ref().map(|record| &record.verdict);
                Some(poison_entry(verdict, &self.options.name, self.options.encoding, &text))
            }
            _ => None,
        };
        let event_id = entry.as_ref().and_then(|entry| entry.id.clone());
        if outcome == Outcome::Delivered {
            self.status.add_delivered(1);
        }
        self.desk.end(sequence, outcome, &text, entry).await?;
        match outcome {
            Outcome::Delivered => self.works(),
            Outcome::Refused => {
                self.status.poisoned(sequence, event_id.as_deref(), &text);
                self.works();
            }
            Outcome::NotMade | Outcome::Declined | Outcome::Unknown => {
                let trouble = Said::by(answer.status).trouble().unwrap_or(Trouble::Transient);
                self.failed(trouble, &text, asked);
            }
        }
        Ok(())
    }

    /// Looks whether the receiver is there, where that is not known.
    async fn reach(&mut self) {
        if self.status.link.name() == "up" {
            return;
        }
        self.client.disconnect();
        match self.client.connect().await {
            Ok(()) => self.works(),
            Err(error) => {
                self.failed(error.trouble, &error.text, None);
            }
        }
        self.client.disconnect();
    }

    fn works(&mut self) {
        self.backoff.reset();
        self.status.recovered();
    }

    /// Notes a failure; nothing is sent for the wait that it gives.
    fn failed(&mut self, trouble: Trouble, text: &str, asked: Option<Duration>) -> Duration {
        self.status.failed(trouble, text);
        let wait = match trouble {
            Trouble::Configuration => self.options.probe,
            _ => self.backoff.next(&mut self.random).max(asked.unwrap_or_default()),
        };
        self.not_before = Instant::now() + wait;
        wait
    }

    /// Says what holds it up.
    fn tell(&mut self, hold: Hold) {
        match hold {
            Hold::Full => {
                let most = self.guarded.rules.open_max;
                let text = format!("{most} calls are open (uncertain-limit): settle them with `verdictd uncertain`");
                self.status.failed(Trouble::Configuration, &text);
            }
            Hold::Budget if !self.said_used_up => {
                self.said_used_up = true;
                let (kind, sink) = (notice::CALLS_USED_UP.kind, &self.options.name);
                let calls = self.guarded.rules.calls_per_day.unwrap_or(0);
                tracing::warn!(kind, sink, calls, "the day's calls are used up; the rest wait for the next day");
            }
            // Said before: when the call became uncertain, when the day's last one was made.
            Hold::Uncertain | Hold::Budget => {}
        }
    }
}
