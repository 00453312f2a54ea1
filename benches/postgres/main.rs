//! Rows a second into PostgreSQL: by the sink, by the sink where every row is there already, by `COPY`, and by one insert
//! after the other; all into tables of one kind on one server, in one run.
//!
//! `cargo bench --bench postgres [-- ROWS]` (default 200000, three rounds of which the middle one is told). Needs
//! PostgreSQL's programs, as the tests do; the server is one of this bench, durable as by default, on a Unix socket.
//! Figures are of this machine and its disk.

// Figures for people: rounding does not matter.
#![allow(clippy::cast_precision_loss)]
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a bench stops at the first surprise

#[path = "../../tests/support/mod.rs"]
mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};
use support::postgres::{DATABASE, Postgres, Setup, USER};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use verdictd::config::default_columns;
use verdictd::forward::postgres::{Layout, OnConflict, Options, ddl, run};
use verdictd::forward::{SetAside, SettingAside, SinkStatus};
use verdictd::link::postgres::{Address, Connection, Options as Server, Place, TableName, TextArray, connect};
use verdictd::store::{BatchBuilder, Commit, NewRecord, QuarantineEntry, SinkDecl, SinkStart, Store, open};

const ROUNDS: usize = 3;
/// Single inserts take long, so fewer are made.
const SINGLE_SHARE: u64 = 20;

fn main() {
    let rows = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(200_000);
    let setup = Setup { settings: vec!["max_wal_size = '4GB'".to_owned()], ..Setup::default() };
    let server = Postgres::start(setup).expect("PostgreSQL");
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let mut rounds: Vec<[f64; 4]> = (0..ROUNDS).map(|round| one_round(&server, &runtime, rows, round)).collect();
    println!("{rows} rows, the middle one of {ROUNDS} rounds\n");
    for (way, name) in ["sink", "sink, every row a repeat", "COPY", "single inserts"].into_iter().enumerate() {
        rounds.sort_by(|a, b| a[way].total_cmp(&b[way]));
        println!("{name:<26}{:>9.0} rows/s", rounds[ROUNDS / 2][way]);
    }
}

/// Rows a second, each way.
fn one_round(server: &Postgres, runtime: &Runtime, rows: u64, round: usize) -> [f64; 4] {
    let folder = tempfile::tempdir().expect("a folder");
    let sinks = ["first", "again"].map(|name| SinkDecl { name: name.to_owned(), start: SinkStart::Oldest });
    let options = verdictd::store::Options { sinks: sinks.into(), ..verdictd::store::Options::new(folder.path()) };
    let opened = open(&options).expect("a store");
    let (store, mut writer) = (opened.store, opened.writer);
    fill(&mut writer, rows);
    let table = layout(&format!("by_sink_{round}"));
    server.psql(&ddl(&table, USER.0));
    let by_sink = ["first", "again"].map(|name| drained(server, runtime, &store, &table, name, rows));
    writer.close().expect("a clean end");

    let copied = layout(&format!("by_copy_{round}"));
    server.psql(&ddl(&copied, USER.0));
    let file = server.path("rows");
    server.psql(&format!("COPY {} TO '{}'", table.table().sql(), file.display()));
    server.psql("CHECKPOINT");
    let begin = Instant::now();
    server.psql(&format!("COPY {} FROM '{}'", copied.table().sql(), file.display()));
    let by_copy = rows as f64 / begin.elapsed().as_secs_f64();

    let singles = layout(&format!("by_one_{round}"));
    server.psql(&ddl(&singles, USER.0));
    let count = rows / SINGLE_SHARE;
    let begin = Instant::now();
    runtime.block_on(inserted(server, &singles, count));
    let by_one = count as f64 / begin.elapsed().as_secs_f64();
    [by_sink[0], by_sink[1], by_copy, by_one]
}

fn layout(name: &str) -> Layout {
    Layout::new(TableName::parse(name).expect("a table"), default_columns(), OnConflict::Nothing).expect("a layout")
}

fn fill(writer: &mut verdictd::store::Writer, rows: u64) {
    let mut builder = BatchBuilder::new(writer.next_sequence());
    for n in 0..rows {
        let (id, key) = (n.to_string(), format!("customer-{}", n % 5000));
        let record = NewRecord {
            source: "pos",
            id: &id,
            key: Some(&key),
            time_us: 1_700_000_000_000_000 + i64::try_from(n).expect("a time"),
            payload: n,
            decision: if n % 50 == 0 { "block" } else { "allow" },
            score: Some(n as f64 / rows as f64),
            reasons: &["TX_AMOUNT"],
            model: "card-fraud@2018.07",
            model_sha256: &[7; 32],
            decided_ms: 1_700_000_000_000,
            log_ms: 0,
            shadow: None,
        };
        builder.append(&record).expect("a record");
        if (n + 1) % 500 == 0 || n + 1 == rows {
            writer.commit(&Commit { chunks: builder.seal(), ..Commit::default() }).expect("a commit");
        }
    }
}

fn server_options(server: &Postgres) -> Server {
    let place = Place::Unix { folder: server.socket_folder().to_owned(), port: server.port() };
    Server {
        address: Address { place, user: USER.0.to_owned(), database: DATABASE.to_owned() },
        password_file: None,
        tls: None,
        application: "bench".to_owned(),
        patience: Duration::from_mins(1),
    }
}

/// Rows a second until the sink's cursor is at the end.
fn drained(server: &Postgres, runtime: &Runtime, store: &Arc<Store>, layout: &Layout, name: &str, rows: u64) -> f64 {
    server.psql("CHECKPOINT");
    let status = Arc::new(SinkStatus::new(name, "postgres", String::new()));
    let (stop, stopped) = watch::channel(false);
    let options = Options::new(name, server_options(server), layout.clone());
    let begin = Instant::now();
    let sink = runtime.spawn(run(options, Arc::clone(store), Arc::new(Nobody), Arc::clone(&status), stopped));
    let at_end = || (store.cursor(name).expect("a cursor") >= store.committed()).then_some(());
    support::child::poll(Duration::from_mins(10), at_end).unwrap_or_else(|| panic!("{:?}", status.link.last_error()));
    let rate = rows as f64 / begin.elapsed().as_secs_f64();
    stop.send_replace(true);
    runtime.block_on(sink).expect("a sink that ends");
    rate
}

/// One statement and one transaction a row, each answered before the next is sent.
async fn inserted(server: &Postgres, layout: &Layout, count: u64) {
    let mut connection: Connection = connect(&server_options(server)).await.expect("a connection");
    let sql = format!(
        "INSERT INTO {} SELECT a, b, c, d::timestamptz, e, f::float8, g::bigint, h::timestamptz, i::jsonb \
         FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9) AS t(a, b, c, d, e, f, g, h, i) \
         ON CONFLICT (source, id) DO NOTHING",
        layout.table().sql()
    );
    connection.prepare(&sql, 9).await.expect("a statement");
    let time = "2026-11-29T16:00:00Z";
    let rest = "{\"reasons\":[\"TX_AMOUNT\"],\"model\":\"card-fraud@2018.07\"}";
    for n in 0..count {
        let n = n.to_string();
        let values = ["pos", &n, "customer-1", time, "allow", "0.25", &n, time, rest];
        let arrays = values.map(|value| {
            let mut array = TextArray::default();
            array.push(|out| {
                out.extend_from_slice(value.as_bytes());
                true
            });
            array
        });
        connection.begin(&arrays);
        connection.answer().await.expect("a row");
    }
}

/// Nothing is refused here.
struct Nobody;

impl SetAside for Nobody {
    fn set_aside(&self, entry: QuarantineEntry, _: &str, _: u64) -> SettingAside {
        panic!("refused: {}", entry.reason)
    }
}
