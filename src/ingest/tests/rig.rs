//! A real store and engine under a source, its state on disk: it can be stopped and started again.

use crate::engine::{Engine, Lineup, Parts};
use crate::event::{Budget, Decoder, IdentityRules, KeyRule, Pointer, SourceRule, TimeForm};
use crate::ingest::SourceStatus;
use crate::model::{self, LoadOptions, shipped};
use crate::service::SourceIntake;
use crate::store::{self, Store};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::{runtime::Runtime, sync::watch, task::JoinHandle};

/// No promise about speed: far above any run.
const WATCHDOG: Duration = Duration::from_mins(1);
pub const EVENT_BYTES_MAX: usize = 4096;

pub struct Rig {
    pub runtime: Runtime,
    pub intake: Arc<SourceIntake>,
    pub status: Arc<SourceStatus>,
    pub budget: Budget,
    pub stop: watch::Sender<bool>,
    source: Option<JoinHandle<()>>,
}

impl Rig {
    /// Over the state in `dir`.
    pub fn open(dir: &Path) -> Self {
        Self::with(dir, &store::Options::new(dir.join("state")))
    }

    pub fn with(dir: &Path, options: &store::Options) -> Self {
        let bundle: PathBuf = dir.join("bundle");
        if !bundle.exists() {
            shipped::unpack(&bundle).unwrap();
        }
        let lineup = Lineup::alone(Arc::new(model::load(&bundle, &LoadOptions::default()).unwrap()));
        let opened = store::open(options).unwrap();
        let pointer = |text: &str| Pointer::parse(text).unwrap();
        let rules = IdentityRules {
            id: pointer("/id"),
            time: pointer("/time"),
            time_form: TimeForm::Any,
            source: SourceRule::Fixed("pos".to_owned()),
            key: KeyRule { pointers: vec![pointer("/key")], ..KeyRule::default() },
        };
        let decoder = Decoder::new(rules, Arc::clone(lineup.pointers()), EVENT_BYTES_MAX, opened.store.seed());
        let store = Arc::clone(&opened.store);
        let parts = Parts {
            store: opened.store,
            index: opened.index,
            writer: opened.writer,
            lineup,
            courier: None,
            keep_payload: true,
            keep_events: false,
            refolded: None,
        };
        let engine = Arc::new(Engine::start(parts).unwrap());
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        Self {
            intake: Arc::new(SourceIntake::new(engine, store, decoder, Arc::default())),
            runtime,
            status: Arc::default(),
            budget: Budget::new(16 << 20),
            stop: watch::Sender::new(false),
            source: None,
        }
    }

    pub fn store(&self) -> &Arc<Store> {
        &self.intake.store
    }

    /// Starts the source under test.
    pub fn run<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        source: impl FnOnce(Arc<SourceIntake>, Budget, Arc<SourceStatus>, watch::Receiver<bool>) -> F,
    ) {
        let parts = (Arc::clone(&self.intake), self.budget.clone(), Arc::clone(&self.status), self.stop.subscribe());
        let _inside = self.runtime.enter();
        self.source = Some(self.runtime.spawn(source(parts.0, parts.1, parts.2, parts.3)));
    }

    /// Ids of the verdicts so far, in order.
    pub fn ids(&self) -> Vec<String> {
        let mut ids = Vec::new();
        let mut next = 1;
        while let Some(chunk) = self.store().next_chunk(next).unwrap() {
            ids.extend(chunk.records().filter(|r| r.verdict.sequence >= next).map(|r| r.verdict.id.to_owned()));
            next = chunk.next();
        }
        ids
    }

    /// What was set aside, as kind and bytes.
    pub fn aside(&self) -> Vec<(String, String)> {
        let kept = self.store().quarantine_list(0, 1000).unwrap();
        let bytes = |n: u64| self.store().quarantine_get(n).unwrap().unwrap().1.bytes;
        kept.iter()
            .map(|entry| (entry.kind.clone(), String::from_utf8_lossy(&bytes(entry.sequence)).into_owned()))
            .collect()
    }

    /// Waits until there are so many verdicts.
    pub fn wait_ids(&self, count: usize) -> Vec<String> {
        poll("verdicts", || Some(self.ids()).filter(|ids| ids.len() >= count))
    }

    pub fn wait_aside(&self, count: usize) -> Vec<(String, String)> {
        poll("records set aside", || Some(self.aside()).filter(|aside| aside.len() >= count))
    }

    pub fn count(&self, name: &str) -> u64 {
        self.status.counts().iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count)
    }

    /// Stops the source and then the engine, as the daemon does.
    pub fn close(mut self) {
        self.stop.send_replace(true);
        if let Some(source) = self.source.take() {
            let ended = self.runtime.block_on(async { tokio::time::timeout(WATCHDOG, source).await });
            ended.expect("the source ends when it is stopped").unwrap();
        }
        self.intake.engine.close().unwrap();
    }
}

/// Waits for what comes of itself.
pub fn poll<T>(what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + WATCHDOG;
    loop {
        if let Some(found) = ready() {
            return found;
        }
        assert!(Instant::now() < end, "waited for {what} in vain");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

pub fn event(id: impl std::fmt::Display) -> String {
    format!(
        "{{\"id\":\"{id}\",\"time\":\"2026-01-01T12:00:00Z\",\"TX_AMOUNT\":5,\"TX_DATETIME\":\"2026-01-01T12:00:00Z\"}}\n"
    )
}

pub fn events(ids: impl IntoIterator<Item = u32>) -> String {
    ids.into_iter().map(event).collect()
}

pub fn names(ids: impl IntoIterator<Item = u32>) -> Vec<String> {
    ids.into_iter().map(|id| id.to_string()).collect()
}
