//! The inside of a daemon: store, engine and intake, on a private folder.

use super::support::bundle;
use super::support::child::{WATCHDOG, poll};
use super::support::postgres::{DATABASE, Postgres, USER, unique};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use verdictd::config::default_columns;
use verdictd::engine::{Along, Engine, Lineup, Origin, Parts};
use verdictd::event::{Budget, Decoder, Form, IdentityRules, KeyRule, Pointer, SourceRule};
use verdictd::forward::postgres::{self, Column, Layout, OnConflict, Options, ddl};
use verdictd::forward::{SetAside, SettingAside, SinkStatus, Stopped};
use verdictd::ingest::{Answer, Intake, Submission};
use verdictd::link::Trouble;
use verdictd::link::postgres::{Address, Options as Server, Place, TableName};
use verdictd::model::{self, LoadOptions};
use verdictd::service::SourceIntake;
use verdictd::store::{self, QuarantineEntry, QuarantineInfo, SinkDecl, SinkStart, Store};

pub const SINK: &str = "site";
pub const SOURCE: &str = "pos";

pub struct Rig {
    pub store: Arc<Store>,
    intake: Arc<SourceIntake>,
    engine: Arc<Engine>,
    runtime: Runtime,
    folder: Arc<TempDir>,
}

/// A sink at work.
pub struct Running {
    pub status: Arc<SinkStatus>,
    stop: watch::Sender<bool>,
    task: Option<JoinHandle<()>>,
}

impl Running {
    /// The reason it is down for, where that is of this kind.
    pub fn alarm(&self, trouble: Trouble) -> String {
        let told = || {
            let last = self.status.link.last_error().filter(|error| error.trouble == trouble);
            last.filter(|_| !self.status.link.is_up())
        };
        poll(WATCHDOG, told).unwrap_or_else(|| panic!("no alarm: {:?}", self.status.link.last_error())).text
    }

    /// The last error of this kind, also where it is over.
    pub fn alarm_ever(&self, trouble: Trouble) -> String {
        let told = || self.status.link.last_error().filter(|error| error.trouble == trouble);
        poll(WATCHDOG, told).unwrap_or_else(|| panic!("no trouble: {:?}", self.status.link.last_error())).text
    }

    pub fn await_up(&self) {
        let up = || (self.status.link.name() == "up").then_some(());
        poll(WATCHDOG, up).unwrap_or_else(|| panic!("it is not up: {:?}", self.status.link.last_error()));
    }
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
            self.submit(slice.iter().map(|id| event(*id)).collect());
        }
    }

    pub fn submit(&self, body: String) {
        let budget = Budget::new(64 << 20);
        let permit = budget.try_take(body.len()).expect("memory");
        let submission = Submission { form: Form::Ndjson, body: body.into(), labels: false, permit };
        let answer = self.runtime.block_on(self.intake.submit(submission)).expect("an answer");
        assert!(answer.is_all_taken());
    }

    pub fn sink(&self, options: Options) -> Running {
        let status = Arc::new(SinkStatus::new(&options.name, "postgres", options.server.address.to_string()));
        let (stop, stopped) = watch::channel(false);
        let aside = Arc::new(Aside(Arc::clone(&self.engine)));
        let sink = postgres::run(options, Arc::clone(&self.store), aside, Arc::clone(&status), stopped);
        Running { status, stop, task: Some(self.runtime.spawn(sink)) }
    }

    /// Waits until the sink's cursor is at the log's end.
    pub fn await_drained(&self) {
        let drained = || (self.cursor() >= self.store.committed()).then_some(());
        let state = || (self.cursor(), self.store.committed());
        poll(WATCHDOG, drained).unwrap_or_else(|| panic!("the sink does not drain: {:?}", state()));
    }

    pub fn cursor(&self) -> u64 {
        self.store.cursor(SINK).expect("a cursor")
    }

    pub fn quarantine(&self) -> Vec<QuarantineInfo> {
        self.store.quarantine_list(0, 1000).expect("the quarantine")
    }

    pub fn wait(&self, mut running: Running) {
        let _ = running.stop.send(true);
        if let Some(task) = running.task.take() {
            self.runtime.block_on(task).expect("a task that ends by itself");
        }
    }
}

/// A table of its own, made as the project says, of the user that writes.
pub fn table(server: &Postgres, columns: Vec<Column>, on_conflict: OnConflict) -> Layout {
    let layout = layout(&unique("verdicts"), columns, on_conflict);
    make(server, &layout);
    layout
}

pub fn default_table(server: &Postgres) -> Layout {
    table(server, default_columns(), OnConflict::Nothing)
}

pub fn layout(name: &str, columns: Vec<Column>, on_conflict: OnConflict) -> Layout {
    Layout::new(TableName::parse(name).expect("a table"), columns, on_conflict).expect("a layout")
}

pub fn make(server: &Postgres, layout: &Layout) {
    server.psql(&ddl(layout, USER.0));
}

/// A sink as tests want it: over the Unix socket, slow tries soon.
pub fn options(server: &Postgres, layout: &Layout) -> Options {
    let place = Place::Unix { folder: server.socket_folder().to_owned(), port: server.port() };
    let server = Server {
        address: Address { place, user: USER.0.to_owned(), database: DATABASE.to_owned() },
        password_file: None,
        tls: None,
        application: "test".to_owned(),
        patience: Duration::from_secs(20),
    };
    Options { probe: Duration::from_millis(200), ..Options::new(SINK, server, layout.clone()) }
}

/// The same over TCP to this host and port, with the password of the server's user.
pub fn over_tcp(server: &Postgres, layout: &Layout, host: &str, port: u16) -> Options {
    let mut options = options(server, layout);
    options.server.address.place = Place::Tcp { host: host.to_owned(), port };
    options.server.password_file = Some(server.password_file());
    options
}

/// Every event of `ids` has one row, and there is no other.
pub fn check(server: &Postgres, layout: &Layout, ids: Range<u32>) {
    let sql =
        format!("SELECT count(*), count(DISTINCT id::int), min(id::int), max(id::int) FROM {}", layout.table().sql());
    let (count, last) = (ids.len(), ids.end - 1);
    assert_eq!(server.psql(&sql), format!("{count}|{count}|{}|{last}", ids.start));
}

pub fn event(id: u32) -> String {
    format!("{{\"id\":\"{id}\",\"key\":\"k{}\",\"amount\":{}}}\n", id % 7, id % 1000)
}

struct Aside(Arc<Engine>);

impl SetAside for Aside {
    fn set_aside(&self, entry: QuarantineEntry, sink: &str, next: u64) -> SettingAside {
        let along = Along { quarantine: vec![entry], cursors: vec![(sink.into(), next)], ..Along::default() };
        let engine = Arc::clone(&self.0);
        Box::pin(async move { engine.carry(along).await.map_err(|_| Stopped) })
    }
}
