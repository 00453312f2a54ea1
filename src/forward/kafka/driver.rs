//! The sink's own loop: sessions, the waits between them, and the records that are set aside.

use super::Options;
use super::session::{Failure, Session};
use super::width::Widths;
use crate::forward::{SetAside, SinkStatus, poison_entry};
use crate::link::{Backoff, Trouble};
use crate::store::Store;
use rand::SeedableRng;
use rand_pcg::Pcg64;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Without a report for this long, while records are under way, the brokers are asked what is wrong.
const ASK_AFTER: Duration = Duration::from_secs(5);
/// How often it looks at the clock while it waits for something.
const TICK: Duration = Duration::from_millis(500);

pub(super) struct Driver {
    options: Options,
    store: Arc<Store>,
    aside: Arc<dyn SetAside>,
    status: Arc<SinkStatus>,
    stop: watch::Receiver<bool>,
    committed: watch::Receiver<u64>,
    backoff: Backoff,
    random: Pcg64,
    widths: Widths,
    poison: Option<Poison>,
    /// When a stopping sink gives up.
    deadline: Option<Instant>,
}

/// A record that a broker refuses for what it is.
struct Poison {
    sequence: u64,
    reason: String,
}

/// How a session ends that did not fail.
enum Ended {
    Stopped,
    /// The next producer makes batches of another size, or reads secrets and certificates anew.
    NewProducer,
}

impl Driver {
    pub fn new(
        options: Options,
        store: Arc<Store>,
        aside: Arc<dyn SetAside>,
        status: Arc<SinkStatus>,
        stop: watch::Receiver<bool>,
    ) -> Self {
        let committed = store.watch();
        let random = Pcg64::from_os_rng();
        let (backoff, widths) = (Backoff::default(), Widths::default());
        Self { options, store, aside, status, stop, committed, backoff, random, widths, poison: None, deadline: None }
    }

    pub async fn run(mut self) {
        loop {
            match self.session().await {
                Ok(Ended::Stopped) => return,
                Ok(Ended::NewProducer) => {}
                Err(failure) => {
                    let Some(wait) = self.after(failure) else { continue };
                    let stopped = tokio::time::timeout(wait, self.stop.wait_for(|stop| *stop)).await.is_ok();
                    if stopped {
                        return;
                    }
                }
            }
        }
    }

    /// What a failure means for the next session, and the wait before it.
    fn after(&mut self, failure: Failure) -> Option<Duration> {
        match (failure.trouble, failure.sequence) {
            (Trouble::Poison, Some(sequence)) => {
                if self.widths.refused(failure.handed_over.max(sequence + 1)) {
                    self.poison = Some(Poison { sequence, reason: failure.text });
                }
                None
            }
            (Trouble::Configuration, _) => {
                self.status.failed(Trouble::Configuration, &failure.text);
                Some(self.options.probe)
            }
            _ => {
                self.status.failed(Trouble::Transient, &failure.text);
                Some(self.backoff.next(&mut self.random))
            }
        }
    }

    async fn session(&mut self) -> Result<Ended, Failure> {
        let (options, store, status) = (self.options.clone(), Arc::clone(&self.store), Arc::clone(&self.status));
        let mut session = Session::open(&options, &store, &status, self.widths.now())?;
        if let Some(poison) = &self.poison {
            session.below = session.below.min(poison.sequence);
        }
        let driven = self.drive(&mut session).await;
        match driven {
            Ok(ended) => {
                session.close(None);
                Ok(ended)
            }
            Err(failure) => match session.close(Some(failure)) {
                Some(failure) => Err(failure),
                None => Ok(Ended::NewProducer),
            },
        }
    }

    async fn drive(&mut self, session: &mut Session<'_>) -> Result<Ended, Failure> {
        let mut asked = Instant::now();
        loop {
            let stopping = *self.stop.borrow_and_update();
            self.committed.borrow_and_update();
            if session.settle()? {
                self.backoff.reset();
            }
            if self.widths.passed(session.cursor()) {
                return Ok(Ended::NewProducer);
            }
            if !self.set_aside(session).await? {
                return Ok(Ended::Stopped);
            }
            session.hand_over()?;
            if stopping {
                let deadline = *self.deadline.get_or_insert_with(|| Instant::now() + self.options.drain);
                if session.is_done() || Instant::now() >= deadline {
                    return Ok(Ended::Stopped);
                }
            }
            if session.is_due_anew() {
                return Ok(Ended::NewProducer);
            }
            let is_stuck = !session.is_idle() && session.progress.elapsed() >= ASK_AFTER;
            if (is_stuck || !self.status.link.is_up()) && asked.elapsed() >= ASK_AFTER {
                session.ask();
                asked = Instant::now();
            }
            let is_quiet = session.is_idle() && self.status.link.is_up() && !stopping;
            tokio::select! {
                () = session.news() => {}
                Ok(()) = self.committed.changed() => {}
                Ok(()) = self.stop.changed(), if !stopping => {}
                () = tokio::time::sleep(TICK), if !is_quiet => {}
            }
        }
    }

    /// Sets the poisoned record aside once it is the first without a confirmation. False where the engine ended.
    async fn set_aside(&mut self, session: &mut Session<'_>) -> Result<bool, Failure> {
        let is_due = |poison: &&Poison| session.is_idle() && session.cursor() >= poison.sequence;
        let Some(poison) = self.poison.as_ref().filter(is_due) else { return Ok(true) };
        // It stays to be set aside where the log cannot be read now.
        let chunk = self.store.chunk_of(poison.sequence).map_err(|error| Failure::store(&error))?;
        let record = chunk.as_ref().and_then(|chunk| chunk.get(poison.sequence));
        let verdict = record.as_ref().map(|record| &record.verdict);
        let entry = poison_entry(verdict, &self.options.name, self.options.encoding, &poison.reason);
        let (next, event_id) = (poison.sequence + 1, entry.id.clone());
        if self.aside.set_aside(entry, &self.options.name, next).await.is_err() {
            return Ok(false);
        }
        self.status.poisoned(poison.sequence, event_id.as_deref(), &poison.reason);
        self.poison = None;
        session.pass(next);
        session.below = self.widths.now().below();
        Ok(true)
    }
}
