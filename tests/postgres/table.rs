//! A table that cannot keep the promise is told before a row is written, with what lacks and what helps; once it is
//! mended the sink goes on.

use super::rig::{Rig, check, default_table, layout, make, options};
use super::support::postgres::{Postgres, Setup, shared, unique};
use verdictd::config::default_columns;
use verdictd::forward::postgres::{Layout, OnConflict};
use verdictd::link::Trouble;

/// The sink says this of the table, and goes on after the mending.
fn told_and_mended(server: &Postgres, layout: &Layout, said: &str, mend: &str) {
    let rig = Rig::new();
    rig.take(0..100);
    let sink = rig.sink(options(server, layout));
    let text = sink.alarm(Trouble::Configuration);
    assert!(text.contains(said), "{said}: {text}");
    assert!(text.contains("verdictd sink ddl postgres"), "{text}");
    assert_eq!((rig.cursor(), rig.quarantine().len()), (1, 0));
    server.psql(mend);
    rig.await_drained();
    sink.await_up();
    rig.wait(sink);
    check(server, layout, 0..100);
}

#[test]
fn no_table() {
    let Some(server) = shared() else { return };
    let layout = layout(&unique("absent"), default_columns(), OnConflict::Nothing);
    let ddl = verdictd::forward::postgres::ddl(&layout, "app");
    told_and_mended(server, &layout, "it is not there", &ddl);
}

#[test]
fn no_unique_index_on_exactly_the_key() {
    let Some(server) = shared() else { return };
    let lacking = [
        // None, not unique, for some rows, of an expression, on more or fewer columns, not at once.
        "SELECT",
        "CREATE INDEX ON {t} (source, id)",
        "CREATE UNIQUE INDEX ON {t} (source, id) WHERE score > 0",
        "CREATE UNIQUE INDEX ON {t} (source, lower(id))",
        "CREATE UNIQUE INDEX ON {t} (source, id, key)",
        "CREATE UNIQUE INDEX ON {t} (id)",
        "CREATE UNIQUE INDEX ON {t} (source, id); UPDATE pg_index SET indisvalid = false WHERE indrelid = '{t}'::regclass",
    ];
    for sql in lacking {
        let layout = default_table(server);
        let table = layout.table().sql();
        let name = &layout.table().name;
        server.psql(&format!("ALTER TABLE {table} DROP CONSTRAINT {name}_pkey; {}", sql.replace("{t}", &table)));
        told_and_mended(server, &layout, "no unique index", &format!("CREATE UNIQUE INDEX ON {table} (id, source)"));
    }
}

#[test]
fn a_key_that_is_looked_at_only_at_the_end_of_a_transaction() {
    let Some(server) = shared() else { return };
    let layout = default_table(server);
    let (table, name) = (layout.table().sql(), &layout.table().name);
    server.psql(&format!(
        "ALTER TABLE {table} DROP CONSTRAINT {name}_pkey, ADD CONSTRAINT late UNIQUE (source, id) DEFERRABLE"
    ));
    let mend = format!("ALTER TABLE {table} DROP CONSTRAINT late, ADD PRIMARY KEY (source, id)");
    told_and_mended(server, &layout, "no unique index", &mend);
}

#[test]
fn columns_that_do_not_fit() {
    let Some(server) = shared() else { return };
    let cases = [
        ("DROP COLUMN score", "no column score", "ADD COLUMN score real"),
        ("ALTER sequence TYPE int", "column sequence: sequence needs bigint", "ALTER sequence TYPE bigint"),
        ("ALTER id TYPE char(20)", "column id: id needs text under a deterministic", "ALTER id TYPE varchar(20)"),
        ("ALTER rest TYPE text", "the rest needs jsonb", "ALTER rest TYPE json USING rest::json"),
        ("ADD shop int NOT NULL", "column shop takes no NULL", "ALTER shop SET DEFAULT 7"),
        (
            "DROP score, ADD score float8 GENERATED ALWAYS AS (0.5) STORED",
            "made from other",
            "DROP score, ADD score real",
        ),
    ];
    for (spoil, said, mend) in cases {
        let layout = default_table(server);
        let table = layout.table().sql();
        server.psql(&format!("ALTER TABLE {table} {spoil}"));
        told_and_mended(server, &layout, said, &format!("ALTER TABLE {table} {mend}"));
    }
}

#[test]
fn what_a_crash_would_empty_and_what_is_no_table() {
    let Some(server) = shared() else { return };
    let layout = default_table(server);
    let table = layout.table().sql();
    server.psql(&format!("ALTER TABLE {table} SET UNLOGGED"));
    told_and_mended(server, &layout, "UNLOGGED", &format!("ALTER TABLE {table} SET LOGGED"));
    let layout = super::rig::layout(&unique("view"), default_columns(), OnConflict::Nothing);
    let name = layout.table().sql();
    server.psql(&format!("CREATE VIEW {name} AS SELECT 1"));
    let ddl = verdictd::forward::postgres::ddl(&layout, "app");
    told_and_mended(server, &layout, "a view", &format!("DROP VIEW {name}; {ddl}"));
}

#[test]
fn an_identity_that_is_compared_without_case_is_none() {
    let Some(server) = shared() else { return };
    let layout = default_table(server);
    let table = layout.table().sql();
    let collation = unique("nocase");
    let made = server.try_psql(&format!(
        "CREATE COLLATION {collation} (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
    ));
    made.expect("a server built with ICU, as Debian's is");
    server.psql(&format!("ALTER TABLE {table} ALTER id TYPE text COLLATE {collation}"));
    let mend = format!("ALTER TABLE {table} ALTER id TYPE text COLLATE \"C\"");
    told_and_mended(server, &layout, "id needs text under a deterministic", &mend);
}

#[test]
fn a_partitioned_table_will_do() {
    let Some(server) = shared() else { return };
    let layout = layout(&unique("parts"), default_columns(), OnConflict::Nothing);
    let table = layout.table().sql();
    let ddl = verdictd::forward::postgres::ddl(&layout, "app").replacen("\n);", "\n) PARTITION BY HASH (id);", 1);
    server.psql(&ddl);
    for n in 0..2 {
        let part = unique("part");
        server.psql(&format!("CREATE TABLE {part} PARTITION OF {table} FOR VALUES WITH (MODULUS 2, REMAINDER {n})"));
    }
    let rig = Rig::new();
    rig.take(0..500);
    let sink = rig.sink(options(server, &layout));
    rig.await_drained();
    rig.wait(sink);
    check(server, &layout, 0..500);
}

/// The table that is taken away, or changed, under a sink at work.
#[test]
fn a_table_that_goes_while_the_sink_works_is_an_alarm_until_it_is_back() {
    let Some(server) = shared() else { return };
    let layout = default_table(server);
    let rig = Rig::new();
    rig.take(0..100);
    let sink = rig.sink(options(server, &layout));
    rig.await_drained();
    server.psql(&format!("DROP TABLE {}", layout.table().sql()));
    rig.take(100..200);
    let text = sink.alarm(Trouble::Configuration);
    assert!(text.contains("42P01") || text.contains("not there"), "{text}");
    make(server, &layout);
    rig.await_drained();
    rig.wait(sink);
    check(server, &layout, 100..200);
}

/// Rows confirmed by a server that is set to confirm before they are durable would be lost with it.
#[test]
fn a_confirmation_means_durable_also_where_the_server_has_it_otherwise() {
    let Some(mut server) = Postgres::start(Setup {
        settings: vec!["synchronous_commit = off".to_owned(), "wal_writer_delay = '10s'".to_owned()],
        ..Setup::default()
    }) else {
        return;
    };
    let layout = default_table(&server);
    server.psql("CHECKPOINT");
    let rig = Rig::new();
    rig.take(0..10);
    let sink = rig.sink(options(&server, &layout));
    rig.await_drained();
    server.kill();
    server.up();
    check(&server, &layout, 0..10);
    rig.wait(sink);
}
