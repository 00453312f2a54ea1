//! The sink's own loop: sessions, the waits between them, and the records that are set aside.

use super::Options;
use super::session::{Poison, Session, Settled};
use crate::forward::{SetAside, SinkStatus, poison_entry};
use crate::link::postgres::Fault;
use crate::link::{Backoff, Trouble};
use crate::store::Store;
use rand::SeedableRng;
use rand_pcg::Pcg64;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

pub(super) struct Driver {
    options: Options,
    store: Arc<Store>,
    aside: Arc<dyn SetAside>,
    status: Arc<SinkStatus>,
    stop: watch::Receiver<bool>,
    committed: watch::Receiver<u64>,
    backoff: Backoff,
    random: Pcg64,
    /// When a stopping sink gives up.
    deadline: Option<Instant>,
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
        let (backoff, random) = (Backoff::default(), Pcg64::from_os_rng());
        Self { options, store, aside, status, stop, committed, backoff, random, deadline: None }
    }

    pub async fn run(mut self) {
        while let Err(fault) = self.session().await {
            let wait = self.after(&fault);
            let mut stop = self.stop.clone();
            if tokio::time::timeout(wait, stop.wait_for(|stop| *stop)).await.is_ok() {
                return;
            }
        }
    }

    /// Tells a failure; the wait before the next session.
    fn after(&mut self, fault: &Fault) -> Duration {
        if fault.trouble == Trouble::Configuration {
            self.status.failed(Trouble::Configuration, &fault.text);
            return self.options.probe;
        }
        self.status.failed(Trouble::Transient, &fault.text);
        self.backoff.next(&mut self.random)
    }

    /// Ends well where the sink stops.
    async fn session(&mut self) -> Result<(), Fault> {
        let (options, store, status) = (self.options.clone(), Arc::clone(&self.store), Arc::clone(&self.status));
        let mut stop = self.stop.clone();
        let opened = tokio::select! {
            opened = Session::open(&options, &store, &status) => opened?,
            Ok(_) = stop.wait_for(|stop| *stop) => return Ok(()),
        };
        let mut session = opened;
        self.drive(&mut session).await?;
        session.close().await;
        Ok(())
    }

    async fn drive(&mut self, session: &mut Session<'_>) -> Result<(), Fault> {
        // With verdicts to deliver only a confirmation tells that all is well.
        let mut is_proven = false;
        loop {
            let stopping = *self.stop.borrow_and_update();
            self.committed.borrow_and_update();
            while let Some(poison) = session.due_poison().cloned() {
                if !self.set_aside(&poison).await? {
                    return Ok(());
                }
                session.pass_poison();
            }
            session.hand_over()?;
            if session.is_done() && !is_proven {
                self.backoff.reset();
                self.status.recovered();
                is_proven = true;
            }
            if session.due_poison().is_some() {
                continue;
            }
            let limit = self.options.drain;
            if stopping {
                let deadline = *self.deadline.get_or_insert_with(|| Instant::now() + limit);
                if session.is_done() || Instant::now() >= deadline {
                    return Ok(());
                }
            }
            let deadline = self.deadline.unwrap_or_else(Instant::now);
            tokio::select! {
                settled = session.settle() => {
                    if settled? == Settled::Confirmed {
                        self.backoff.reset();
                        is_proven = true;
                    }
                }
                Ok(()) = self.committed.changed() => {}
                Ok(()) = self.stop.changed(), if !stopping => {}
                () = tokio::time::sleep_until(deadline), if stopping => {}
            }
        }
    }

    /// Sets a verdict aside. False where the engine ended.
    async fn set_aside(&self, poison: &Poison) -> Result<bool, Fault> {
        let chunk = self.store.chunk_of(poison.sequence).map_err(|error| Fault::link(error.to_string()))?;
        let record = chunk.as_ref().and_then(|chunk| chunk.get(poison.sequence));
        let verdict = record.as_ref().map(|record| &record.verdict);
        let entry = poison_entry(verdict, &self.options.name, self.options.encoding, &poison.reason);
        let event_id = entry.id.clone();
        if self.aside.set_aside(entry, &self.options.name, poison.sequence + 1).await.is_err() {
            return Ok(false);
        }
        self.status.poisoned(poison.sequence, event_id.as_deref(), &poison.reason);
        Ok(true)
    }
}
