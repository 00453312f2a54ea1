//! The inside of a daemon: store, engine and intake, on a private folder.

use super::support::bundle;
use super::support::child::{WATCHDOG, poll};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use verdictd::engine::{Along, Engine, Lineup, Origin, Parts};
use verdictd::event::{Budget, Decoder, Form, IdentityRules, KeyRule, Pointer, SourceRule};
use verdictd::forward::mqtt::{Options, Template};
use verdictd::forward::{self, SetAside, SettingAside, SinkStatus, Stopped};
use verdictd::ingest::{self, Answer, Intake, SourceStatus, Submission};
use verdictd::link::mqtt::{Address, ClientOptions, Protocol};
use verdictd::model::{self, LoadOptions};
use verdictd::service::SourceIntake;
use verdictd::store::{self, QuarantineEntry, QuarantineInfo, SinkDecl, SinkStart, Store};

pub const SINK: &str = "plant";
pub const SOURCE: &str = "pos";
/// Keys that the events of [`Rig::take`] have.
pub const KEYS: u32 = 7;

pub struct Rig {
    pub store: Arc<Store>,
    pub intake: Arc<SourceIntake>,
    pub runtime: Runtime,
    engine: Arc<Engine>,
    folder: Arc<TempDir>,
}

/// A sink or a source at work.
pub struct Running<S> {
    pub status: Arc<S>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Rig {
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("verdictd-").tempdir().expect("a temporary folder");
        Self::on(Arc::new(folder), &|_| {})
    }

    /// With the state that is in the folder.
    fn on(folder: Arc<TempDir>, change: &dyn Fn(&mut store::Options)) -> Self {
        let at = folder.path().join("bundle");
        if !at.exists() {
            bundle::write(&at, "test", "1");
        }
        let bundle = model::load(&at, &LoadOptions::default()).expect("the bundle");
        let lineup = Lineup::alone(Arc::new(bundle));
        let sinks = vec![SinkDecl { name: SINK.to_owned(), start: SinkStart::Oldest }];
        let mut options = store::Options { sinks, ..store::Options::new(folder.path().join("state")) };
        change(&mut options);
        let opened = store::open(&options).expect("the store");
        let pointer = |text: &str| Pointer::parse(text).expect("a pointer");
        let rules = IdentityRules {
            id: pointer("/id"),
            time: pointer("/time"),
            time_form: verdictd::event::TimeForm::default(),
            source: SourceRule::Fixed(SOURCE.to_owned()),
            key: KeyRule { pointers: vec![pointer("/key")], hmac_key: None, fixed: None },
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
        let engine = Arc::new(Engine::start(parts).expect("the engine"));
        let origin = Arc::new(Origin::default());
        let intake = SourceIntake::new(Arc::clone(&engine), Arc::clone(&store), decoder, origin);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        Self { store, intake: Arc::new(intake), engine, runtime: runtime.expect("a runtime"), folder }
    }

    /// Ends cleanly and opens the same state again, the store as it is then to be.
    pub fn reopened(self, change: &dyn Fn(&mut store::Options)) -> Self {
        let folder = Arc::clone(&self.folder);
        self.engine.close().expect("a clean end");
        drop(self);
        Self::on(folder, change)
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Takes in events with these ids, under a few keys.
    pub fn take(&self, ids: Range<u32>) {
        for slice in ids.collect::<Vec<_>>().chunks(500) {
            self.submit(slice.iter().map(|id| event(*id) + "\n").collect());
        }
    }

    pub fn submit(&self, body: String) {
        let budget = Budget::new(64 << 20);
        let permit = budget.try_take(body.len()).expect("memory");
        let submission = Submission { form: Form::Ndjson, body: body.into(), labels: false, permit };
        let answer = self.runtime.block_on(self.intake.submit(submission)).expect("an answer");
        assert!(answer.is_all_taken());
    }

    pub fn sink(&self, options: Options) -> Running<SinkStatus> {
        let status = Arc::new(SinkStatus::new(&options.name, "mqtt", options.client.broker.to_string()));
        let (stop, stopped) = watch::channel(false);
        let aside = Arc::new(Aside(Arc::clone(&self.engine)));
        let sink = forward::mqtt::run(options, Arc::clone(&self.store), aside, Arc::clone(&status), stopped);
        Running { status, stop, task: self.runtime.spawn(sink) }
    }

    pub fn source(&self, options: ingest::mqtt::Options, budget: &Budget) -> Running<SourceStatus> {
        let status = Arc::new(SourceStatus::new(&options.name, "mqtt", options.client.broker.to_string()));
        let (stop, stopped) = watch::channel(false);
        let intake = Arc::clone(&self.intake);
        let source = ingest::mqtt::run(options, intake, budget.clone(), Arc::clone(&status), stopped);
        Running { status, stop, task: self.runtime.spawn(source) }
    }

    /// Ends a source or a sink in the midst of whatever it does, as a kill does.
    pub fn kill<S>(&self, running: Running<S>) {
        running.task.abort();
        let _ = self.runtime.block_on(running.task);
    }

    /// Source and id of every verdict, in the order of the log.
    pub fn verdicts(&self) -> Vec<(String, String)> {
        let (mut next, mut found) = (1, Vec::new());
        while let Some(chunk) = self.store.next_chunk(next).expect("the log") {
            let from = next;
            let records = chunk.records().filter(|record| record.verdict.sequence >= from);
            found.extend(records.map(|record| (record.verdict.source.to_owned(), record.verdict.id.to_owned())));
            next = chunk.next();
        }
        found
    }

    /// Waits for so many verdicts in all.
    pub fn await_verdicts(&self, count: usize) {
        let end = u64::try_from(count).expect("a count") + 1;
        let there = || (self.store.committed() >= end).then_some(());
        poll(WATCHDOG, there).unwrap_or_else(|| panic!("{} verdicts, not {count}", self.store.committed() - 1));
    }

    /// Waits until the sink's cursor is at the log's end.
    pub fn await_drained(&self) {
        let drained = || (self.cursor() >= self.store.committed()).then_some(());
        let ends = || (self.cursor(), self.store.committed());
        poll(WATCHDOG, drained).unwrap_or_else(|| panic!("the sink does not drain: {:?}", ends()));
    }

    pub fn cursor(&self) -> u64 {
        self.store.cursor(SINK).expect("a cursor")
    }

    pub fn quarantine(&self) -> Vec<QuarantineInfo> {
        self.store.quarantine_list(0, 1000).expect("the quarantine")
    }

    /// Stops a sink or a source and waits for its end.
    pub fn stop<S>(&self, running: Running<S>) {
        let _ = running.stop.send(true);
        self.runtime.block_on(running.task).expect("a task that ends by itself");
    }
}

/// The limit of one event here.
pub const EVENT_BYTES_MAX: usize = 128 << 10;

pub fn event(id: u32) -> String {
    format!("{{\"id\":\"{id}\",\"key\":\"k{}\",\"amount\":{}}}", id % KEYS, id % 1000)
}

/// A client as tests want it.
pub fn client(port: u16, client_id: &str, protocol: Protocol) -> ClientOptions {
    let broker = Address { host: "localhost".to_owned(), port, tls: false };
    ClientOptions { protocol, ..ClientOptions::new(broker, client_id) }
}

/// A sink as tests want it: what needs a person is tried again soon.
pub fn sink_options(port: u16, protocol: Protocol, topic: &str) -> Options {
    let template = Template::parse(topic).expect("a template");
    Options {
        probe: Duration::from_millis(300),
        ..Options::new(SINK, client(port, "verdictd-out", protocol), template)
    }
}

struct Aside(Arc<Engine>);

impl SetAside for Aside {
    fn set_aside(&self, entry: QuarantineEntry, sink: &str, next: u64) -> SettingAside {
        let along = Along { quarantine: vec![entry], cursors: vec![(sink.into(), next)], ..Along::default() };
        let engine = Arc::clone(&self.0);
        Box::pin(async move { engine.carry(along).await.map_err(|_| Stopped) })
    }
}

/// A source as tests want it: what needs a person is tried again soon.
pub fn source_options(port: u16, protocol: Protocol, topics: &[&str]) -> ingest::mqtt::Options {
    let topics = topics.iter().map(|topic| (*topic).to_owned()).collect();
    let client = client(port, "verdictd-in", protocol);
    ingest::mqtt::Options {
        probe: Duration::from_millis(300),
        ..ingest::mqtt::Options::new(SOURCE, client, topics, EVENT_BYTES_MAX)
    }
}
