//! The sink for receivers that honour the key: hands verdicts to lanes, and moves the cursor behind what they report.

use super::Options;
use super::lanes::{Lane, Report, Shared};
use super::request::Item;
use crate::forward::{Feed, InFlight, SetAside, SinkStatus, poison_entry};
use crate::link::{Backoff, Trouble};
use crate::store::{Store, StoreError};
use crate::verdict::Verdict;
use rand::SeedableRng;
use rand_pcg::Pcg64;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use xxhash_rust::xxh3::xxh3_64;

/// Runs the sink until `stop` turns true, and then delivers what is committed, for at most [`Options::drain`]. Where it
/// is down then, it ends at once.
pub async fn run(
    options: Options,
    store: Arc<Store>,
    aside: Arc<dyn SetAside>,
    status: Arc<SinkStatus>,
    mut stop: watch::Receiver<bool>,
) {
    let mut backoff = Backoff::default();
    let mut random = Pcg64::from_os_rng();
    loop {
        let session = Session::open(&options, &store, &*aside, &status);
        let Err(error) = async { session?.run(&mut stop).await }.await else { return };
        status.failed(Trouble::Transient, &error.to_string());
        let wait = backoff.next(&mut random);
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = stopped(&mut stop) => return,
        }
    }
}

/// Resolves when it is stopped; never where nobody can stop it any more.
pub(super) async fn stopped(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Why a session is of no more use.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("internal error: a bug stopped a lane, all are started anew")]
    Lane,
}

struct Session<'a> {
    options: &'a Options,
    store: &'a Arc<Store>,
    aside: &'a dyn SetAside,
    status: &'a SinkStatus,
    feed: Feed,
    flight: InFlight,
    lanes: Vec<UnboundedSender<Item>>,
    reports: UnboundedReceiver<Report>,
    /// Refused, to be set aside when all before it is confirmed, with the reason.
    poison: BTreeMap<u64, String>,
    cursor: u64,
    /// They end with the session.
    tasks: JoinSet<()>,
}

impl<'a> Session<'a> {
    fn open(
        options: &'a Options,
        store: &'a Arc<Store>,
        aside: &'a dyn SetAside,
        status: &'a Arc<SinkStatus>,
    ) -> Result<Self, Failure> {
        let cursor = store.cursor(&options.name)?;
        let (sender, reports) = unbounded_channel();
        let (options_of, status_of) = (options.clone(), Arc::clone(status));
        let shared =
            Arc::new(Shared { options: options_of, status: status_of, failing: AtomicUsize::new(0), reports: sender });
        let mut tasks = JoinSet::new();
        let lanes = (0..options.in_flight.max(1)).map(|n| {
            let (items, given) = unbounded_channel();
            tasks.spawn(Lane::new(&shared).run(given, n == 0));
            items
        });
        Ok(Self {
            lanes: lanes.collect(),
            options,
            store,
            aside,
            status,
            feed: Feed::new(Arc::clone(store), options.filter.clone(), cursor),
            flight: InFlight::new(options.records_max(), options.in_flight_bytes),
            reports,
            poison: BTreeMap::new(),
            cursor,
            tasks,
        })
    }

    async fn run(mut self, stop: &mut watch::Receiver<bool>) -> Result<(), Failure> {
        let mut committed = self.store.watch();
        let mut end = None;
        loop {
            committed.borrow_and_update();
            if !self.set_aside().await? {
                return Ok(());
            }
            self.fill()?;
            self.keep_cursor();
            let is_idle = self.flight.is_empty() && self.feed.is_at_end();
            if end.is_some() && (is_idle || !self.status.link.is_up()) {
                return Ok(());
            }
            let is_at_end = self.feed.is_at_end();
            tokio::select! {
                Some(report) = self.reports.recv() => self.take(report),
                Some(_) = self.tasks.join_next() => return Err(Failure::Lane),
                _ = committed.changed(), if is_at_end => {}
                () = stopped(stop), if end.is_none() => end = Some(Instant::now() + self.options.drain),
                () = at(end) => return Ok(()),
            }
        }
    }

    /// Hands over what is committed as far as there is room.
    fn fill(&mut self) -> Result<(), Failure> {
        let Self { options, feed, flight, lanes, poison, .. } = self;
        feed.read(|sequence, verdict| {
            if !flight.has_room(0) {
                return ControlFlow::Break(());
            }
            let made = catch_unwind(AssertUnwindSafe(|| Item::new(sequence, options.encoding, verdict)));
            let Ok(item) = made else {
                flight.push(sequence, 0);
                poison.insert(sequence, "internal error: it cannot be written".to_owned());
                return ControlFlow::Continue(());
            };
            if !flight.has_room(item.body.len()) {
                return ControlFlow::Break(());
            }
            flight.push(sequence, item.body.len());
            let lane = lanes.get(lane(sequence, verdict, lanes.len()));
            // Where the lane is gone the session ends.
            let _ = lane.map(|lane| lane.send(item));
            ControlFlow::Continue(())
        })?;
        Ok(())
    }

    fn take(&mut self, report: Report) {
        match report {
            Report::Confirmed(sequences) => {
                let freed = sequences.iter().map(|sequence| self.flight.confirm(*sequence)).sum();
                self.status.add_delivered(freed);
            }
            Report::Refused(sequence, reason) => {
                self.poison.insert(sequence, reason);
            }
        }
    }

    /// Sets aside what is refused and now first; false where the engine takes nothing more.
    async fn set_aside(&mut self) -> Result<bool, Failure> {
        while let Some(first) = self.poison.first_entry().filter(|first| self.flight.first() == Some(*first.key())) {
            let (sequence, reason) = first.remove_entry();
            let chunk = self.store.chunk_of(sequence)?;
            let record = chunk.as_ref().and_then(|chunk| chunk.get(sequence));
            let verdict = record.as_ref().map(|record| &record.verdict);
            let entry = poison_entry(verdict, &self.options.name, self.options.encoding, &reason);
            let event_id = entry.id.clone();
            if self.aside.set_aside(entry, &self.options.name, sequence + 1).await.is_err() {
                return Ok(false);
            }
            self.status.poisoned(sequence, event_id.as_deref(), &reason);
            // Itself, and those behind it that were confirmed already.
            let freed = self.flight.confirm(sequence);
            self.status.add_delivered(freed.saturating_sub(1));
        }
        Ok(true)
    }

    /// Moves the cursor behind what is confirmed.
    fn keep_cursor(&mut self) {
        let next = self.flight.first().unwrap_or_else(|| self.feed.next());
        if next > self.cursor {
            self.store.advance_cursor(&self.options.name, next);
            self.cursor = next;
        }
    }
}

/// The lane of a verdict: that of its key; without one any.
fn lane(sequence: u64, verdict: &Verdict<'_>, lanes: usize) -> usize {
    let number = verdict.key.map_or(sequence, |key| xxh3_64(key.as_bytes()));
    let lanes = u64::try_from(lanes.max(1)).unwrap_or(1);
    usize::try_from(number % lanes).unwrap_or(0)
}

async fn at(end: Option<Instant>) {
    match end {
        Some(end) => tokio::time::sleep_until(end).await,
        None => std::future::pending().await,
    }
}
