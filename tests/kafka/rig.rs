//! The inside of a daemon: store, engine and intake, on a private folder.

use super::support::bundle;
use super::support::child::{WATCHDOG, poll};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use verdictd::engine::{Along, Engine, Lineup, Origin, Parts};
use verdictd::event::{Budget, Decoder, Form, IdentityRules, KeyRule, Pointer, SourceRule};
use verdictd::forward::{self, SetAside, SettingAside, SinkStatus, Stopped};
use verdictd::ingest::{self, Answer, Intake, SourceStatus, Submission};
use verdictd::link::kafka::Connection;
use verdictd::model::{self, LoadOptions};
use verdictd::service::SourceIntake;
use verdictd::store::{self, QuarantineEntry, QuarantineInfo, SinkDecl, SinkStart, Store};

pub const SINK: &str = "bank";
pub const SOURCE: &str = "pos";
/// Keys that the events of [`Rig::take`] have.
pub const KEYS: u32 = 7;

pub struct Rig {
    pub store: Arc<Store>,
    pub intake: Arc<SourceIntake>,
    engine: Arc<Engine>,
    runtime: Runtime,
    folder: Arc<TempDir>,
}

/// A sink or a source at work.
pub struct Running<S> {
    pub status: Arc<S>,
    stop: watch::Sender<bool>,
    task: Option<JoinHandle<()>>,
}

impl Rig {
    pub fn new() -> Self {
        Self::on(Arc::new(tempfile::Builder::new().prefix("verdictd-").tempdir().expect("a temporary folder")))
    }

    /// With the state that is in the folder.
    fn on(folder: Arc<TempDir>) -> Self {
        let at = folder.path().join("bundle");
        if !at.exists() {
            bundle::write(&at, "test", "1");
        }
        let bundle = model::load(&at, &LoadOptions::default()).expect("the bundle");
        let lineup = Lineup::alone(Arc::new(bundle));
        let sinks = vec![SinkDecl { name: SINK.to_owned(), start: SinkStart::Oldest }];
        let options = store::Options { sinks, ..store::Options::new(folder.path().join("state")) };
        let opened = store::open(&options).expect("the store");
        let pointer = |text: &str| Pointer::parse(text).expect("a pointer");
        let rules = IdentityRules {
            id: pointer("/id"),
            time: pointer("/time"),
            time_form: verdictd::event::TimeForm::default(),
            source: SourceRule::Fixed(SOURCE.to_owned()),
            key: KeyRule { pointers: vec![pointer("/key")], hmac_key: None, fixed: None },
        };
        let decoder = Decoder::new(rules, Arc::clone(lineup.pointers()), 1 << 18, opened.store.seed());
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
        let engine = Arc::new(Engine::start(parts).expect("the engine"));
        let origin = Arc::new(Origin::default());
        let intake = SourceIntake::new(Arc::clone(&engine), Arc::clone(&store), decoder, origin);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        Self { store, intake: Arc::new(intake), engine, runtime: runtime.expect("a runtime"), folder }
    }

    /// Ends cleanly and opens the same state again.
    pub fn reopened(self) -> Self {
        let folder = Arc::clone(&self.folder);
        self.engine.close().expect("a clean end");
        drop(self);
        Self::on(folder)
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Takes in events with these ids, under a few keys.
    pub fn take(&self, ids: Range<u32>) {
        for slice in ids.collect::<Vec<_>>().chunks(500) {
            let body: String = slice.iter().map(|id| event(*id)).collect();
            self.submit(body);
        }
    }

    pub fn submit(&self, body: String) {
        let budget = Budget::new(64 << 20);
        let permit = budget.try_take(body.len()).expect("memory");
        let submission = Submission { form: Form::Ndjson, body: body.into(), labels: false, permit };
        let answer = self.runtime.block_on(self.intake.submit(submission)).expect("an answer");
        assert!(answer.is_all_taken());
    }

    pub fn sink(&self, options: forward::kafka::Options) -> Running<SinkStatus> {
        let status = Arc::new(SinkStatus::new(&options.name, "kafka", options.topic.clone()));
        let (stop, stopped) = watch::channel(false);
        let aside = Arc::new(Aside(Arc::clone(&self.engine)));
        let sink = forward::kafka::run(options, Arc::clone(&self.store), aside, Arc::clone(&status), stopped);
        Running { status, stop, task: Some(self.runtime.spawn(sink)) }
    }

    /// Waits until the sink's cursor is at the log's end.
    pub fn await_drained(&self) {
        let drained = || (self.store.cursor(SINK).expect("a cursor") >= self.store.committed()).then_some(());
        let cursor = || (self.store.cursor(SINK), self.store.committed());
        poll(WATCHDOG, drained).unwrap_or_else(|| panic!("the sink does not drain: {:?}", cursor()));
    }

    pub fn cursor(&self) -> u64 {
        self.store.cursor(SINK).expect("a cursor")
    }

    pub fn quarantine(&self) -> Vec<QuarantineInfo> {
        self.store.quarantine_list(0, 1000).expect("the quarantine")
    }

    pub fn wait<S>(&self, mut running: Running<S>) {
        let _ = running.stop.send(true);
        if let Some(task) = running.task.take() {
            self.runtime.block_on(task).expect("a task that ends by itself");
        }
    }

    pub fn source(&self, options: ingest::kafka::Options) -> Running<SourceStatus> {
        self.source_through(options, Arc::clone(&self.intake))
    }

    pub fn source_through<I: Intake>(&self, options: ingest::kafka::Options, intake: Arc<I>) -> Running<SourceStatus> {
        let status = Arc::new(SourceStatus::new(&options.name, "kafka", options.topics.join(", ")));
        let (stop, stopped) = watch::channel(false);
        let budget = Budget::new(BUDGET_BYTES);
        let source = ingest::kafka::run(options, intake, budget, Arc::clone(&status), stopped);
        Running { status, stop, task: Some(self.runtime.spawn(source)) }
    }

    /// Source, id and sequence of every verdict, in order.
    pub fn verdicts(&self) -> Vec<(String, String, u64)> {
        let (mut all, mut from) = (Vec::new(), 0);
        while let Some(chunk) = self.store.next_chunk(from).expect("the log") {
            for record in chunk.records().filter(|record| record.verdict.sequence >= from) {
                let verdict = &record.verdict;
                all.push((verdict.source.to_owned(), verdict.id.to_owned(), verdict.sequence));
            }
            from = chunk.next();
        }
        all
    }

    /// Waits until there are so many verdicts.
    pub fn await_verdicts(&self, count: usize) {
        let enough = || (self.store.committed() > count as u64).then_some(());
        poll(WATCHDOG, enough).unwrap_or_else(|| panic!("{} of {count} verdicts", self.store.committed() - 1));
    }

    /// Events that came again.
    pub fn repeats(&self) -> u64 {
        self.intake.origin.duplicate.load(std::sync::atomic::Ordering::Relaxed)
    }
}

/// Memory for the batches of one source.
const BUDGET_BYTES: usize = 16 << 20;

fn connection(bootstrap: &str) -> Connection {
    Connection {
        brokers: vec![bootstrap.to_owned()],
        client_id: "test".to_owned(),
        timeout: std::time::Duration::from_secs(3),
        ..Connection::default()
    }
}

/// A source as tests want it: retries at once.
pub fn source_options(bootstrap: &str, topic: &str) -> ingest::kafka::Options {
    let connection = connection(bootstrap);
    ingest::kafka::Options {
        group: format!("group-of-{topic}"),
        session: std::time::Duration::from_secs(6),
        probe: std::time::Duration::from_secs(1),
        ..ingest::kafka::Options::new(SOURCE, connection, "edge-1", vec![topic.to_owned()])
    }
}

/// A sink as tests want it: retries at once.
pub fn sink_options(bootstrap: &str, topic: &str) -> forward::kafka::Options {
    let connection = connection(bootstrap);
    forward::kafka::Options {
        probe: std::time::Duration::from_secs(1),
        ..forward::kafka::Options::new(SINK, connection, topic)
    }
}

pub fn event(id: u32) -> String {
    format!("{{\"id\":\"{id}\",\"key\":\"k{}\",\"amount\":{}}}\n", id % KEYS, id % 1000)
}

struct Aside(Arc<Engine>);

impl SetAside for Aside {
    fn set_aside(&self, entry: QuarantineEntry, sink: &str, next: u64) -> SettingAside {
        let along = Along { quarantine: vec![entry], cursors: vec![(sink.into(), next)], ..Along::default() };
        let engine = Arc::clone(&self.0);
        Box::pin(async move { engine.carry(along).await.map_err(|_| Stopped) })
    }
}
