//! The sink on a healthy server: what a row is, and what a repeat does.

use super::rig::{Rig, SOURCE, check, default_table, layout, make, options, over_tcp, table};
use super::support::postgres::{shared, unique};
use std::sync::atomic::Ordering::Relaxed;
use verdictd::config::default_columns;
use verdictd::forward::postgres::{Column, OnConflict, Options};
use verdictd::forward::{Encoding, Filter};
use verdictd::verdict::Member;

fn column(name: &str, member: Option<Member>) -> Column {
    Column { name: name.to_owned(), member }
}

#[test]
fn a_verdict_is_a_row_whose_columns_hold_its_members_and_json_the_rest() {
    let Some(server) = shared() else { return };
    let layout = default_table(server);
    let rig = Rig::new();
    rig.take(0..50);
    rig.submit("{\"id\":\"ä'\\\"\\\\ 50\",\"amount\":1,\"time\":\"2026-11-29T16:00:00.123456Z\"}\n".to_owned());
    let sink = rig.sink(over_tcp(server, &layout, "localhost", server.port()));
    rig.await_drained();
    assert_eq!(sink.status.delivered.load(Relaxed), 51);
    assert_eq!(sink.status.link.name(), "up");
    rig.wait(sink);
    let sql = |columns: &str, which: &str| format!("SELECT {columns} FROM {} WHERE {which}", layout.table().sql());
    let one = server.psql(&sql("source, key, decision, score BETWEEN 0 AND 1, sequence", "id = '10'"));
    let decision = server.psql(&sql("decision", "id = '10'"));
    assert_eq!(one, format!("{SOURCE}|k3|{decision}|t|11"));
    assert_eq!(
        server.psql(&sql("(SELECT string_agg(k, ',' ORDER BY k) FROM jsonb_object_keys(rest) k)", "id = '10'")),
        "model,model-sha256,reasons"
    );
    assert_eq!(server.psql(&sql("rest->>'model'", "id = '10'")), "test@1");
    let keyless = "key IS NULL, extract(epoch FROM time AT TIME ZONE 'UTC')::text, id";
    assert_eq!(server.psql(&sql(keyless, "sequence = 51")), "t|1795968000.123456|ä'\"\\ 50");
    // To the millisecond, as the verdict has it.
    assert_eq!(server.psql(&sql("count(*)", "abs(extract(epoch FROM now() - decided)) > 3600")), "0");
}

#[test]
fn columns_take_other_names_and_types_and_leave_out_what_is_not_wanted() {
    let Some(server) = shared() else { return };
    let name = unique("Own \"names\"");
    let columns = vec![
        column("from", Some(Member::Source)),
        column("the \"id\"", Some(Member::Id)),
        column("at", Some(Member::Time)),
        column("what", Some(Member::Decision)),
        column("score", Some(Member::Score)),
        column("why", Some(Member::Reasons)),
        column("n", Some(Member::Sequence)),
    ];
    let layout = layout(&format!("other.{name}"), columns, OnConflict::Nothing);
    server.psql("CREATE SCHEMA IF NOT EXISTS other");
    server.psql("GRANT USAGE ON SCHEMA other TO app");
    let (quoted, t) = (name.replace('"', "\"\""), unique("t"));
    server.psql(&format!(
        "CREATE TYPE decision_{t} AS ENUM ('allow', 'review', 'block'); CREATE DOMAIN short_{t} AS varchar(20); \
         CREATE TABLE other.\"{quoted}\" (extra serial, \"from\" short_{t}, \"the \"\"id\"\"\" varchar(10), at timestamp, \
         what decision_{t}, score real, why text, n numeric, seen timestamptz DEFAULT now(), \
         UNIQUE (\"the \"\"id\"\"\", \"from\")); \
         GRANT SELECT, INSERT ON other.\"{quoted}\" TO app; GRANT ALL ON ALL SEQUENCES IN SCHEMA other TO app"
    ));
    let rig = Rig::new();
    rig.take(0..300);
    let sink = rig.sink(options(server, &layout));
    rig.await_drained();
    rig.wait(sink);
    let table = layout.table().sql();
    assert_eq!(server.psql(&format!("SELECT count(*), bool_and(extra = n), min(why) FROM {table}")), "300|t|[]");
}

#[test]
fn only_wanted_decisions_come_and_the_rest_can_be_the_whole_cloud_event() {
    let Some(server) = shared() else { return };
    let columns = vec![column("source", Some(Member::Source)), column("id", Some(Member::Id)), column("all", None)];
    let layout = table(server, columns, OnConflict::Nothing);
    let rig = Rig::new();
    rig.take(0..1000);
    let sink = rig.sink(Options {
        encoding: Encoding::CloudEvents,
        filter: Filter(Some(vec!["block".to_owned()])),
        ..options(server, &layout)
    });
    rig.await_drained();
    rig.wait(sink);
    let sql = "SELECT count(*) BETWEEN 1 AND 999, bool_and(\"all\"->>'id' = id AND \"all\"->>'type' = 'verdictd.verdict.v1'), \
               string_agg(DISTINCT \"all\"->'data'->>'decision', ',') FROM";
    assert_eq!(server.psql(&format!("{sql} {}", layout.table().sql())), "t|t|block");
}

#[test]
fn what_is_confirmed_is_not_sent_again_by_the_next_start() {
    let Some(server) = shared() else { return };
    let layout = default_table(server);
    let mut rig = Rig::new();
    for round in 0..3 {
        rig.take(round * 3000..(round + 1) * 3000);
        let sink = rig.sink(options(server, &layout));
        rig.await_drained();
        assert_eq!(sink.status.delivered.load(Relaxed), 3000);
        rig.wait(sink);
        rig = rig.reopened();
    }
    check(server, &layout, 0..9000);
}

/// A box whose state was lost begins again at sequence 1: what it decides of known events is known.
#[test]
fn a_repeat_changes_nothing() {
    let Some(server) = shared() else { return };
    let layout = default_table(server);
    for round in 0..2 {
        let rig = Rig::new();
        // The second time in another order.
        for half in [round, 1 - round] {
            rig.take(half * 500..(half + 1) * 500);
        }
        let sink = rig.sink(options(server, &layout));
        rig.await_drained();
        rig.wait(sink);
        check(server, &layout, 0..1000);
        let sql = format!("SELECT bool_and(sequence = id::int + 1) FROM {}", layout.table().sql());
        assert_eq!(server.psql(&sql), "t", "round {round}");
    }
}

#[test]
fn an_update_takes_the_higher_sequence_and_never_goes_back() {
    let Some(server) = shared() else { return };
    let layout = table(server, default_columns(), OnConflict::Update);
    let sequences =
        || server.psql(&format!("SELECT string_agg(sequence::text, ',' ORDER BY id) FROM {}", layout.table().sql()));
    let deliver = |ids: [u32; 4]| {
        let rig = Rig::new();
        for id in ids {
            rig.take(id..id + 1);
        }
        let sink = rig.sink(options(server, &layout));
        rig.await_drained();
        rig.wait(sink);
    };
    deliver([0, 1, 2, 3]);
    assert_eq!(sequences(), "1,2,3,4");
    // Anew, in another order: 3 and 2 come down, 1 and 0 go up.
    deliver([3, 2, 1, 0]);
    assert_eq!(sequences(), "4,3,3,4");
    deliver([3, 2, 1, 0]);
    assert_eq!(sequences(), "4,3,3,4");
}

#[test]
fn rows_of_a_batch_follow_limits_of_rows_and_of_bytes() {
    let Some(server) = shared() else { return };
    let layout = default_table(server);
    let table = layout.table().sql();
    // Counts the rows that each statement has made.
    let log = unique("sizes");
    server.psql(&format!(
        "CREATE TABLE {log} (n int); GRANT INSERT ON {log} TO app; CREATE FUNCTION {log}() RETURNS trigger AS \
         'BEGIN INSERT INTO {log} SELECT count(*) FROM made; RETURN NULL; END' LANGUAGE plpgsql; \
         CREATE TRIGGER sizes AFTER INSERT ON {table} REFERENCING NEW TABLE AS made FOR EACH STATEMENT \
         EXECUTE FUNCTION {log}()"
    ));
    let rig = Rig::new();
    rig.take(0..1000);
    let sink = rig.sink(Options { batch_rows: 100, ..options(server, &layout) });
    rig.await_drained();
    rig.wait(sink);
    let sizes = format!("SELECT max(n), sum(n) FROM {log}");
    assert_eq!(server.psql(&sizes), "100|1000");
    server.psql(&format!("TRUNCATE {table}, {log}"));
    let rig = Rig::new();
    rig.take(0..1000);
    let sink = rig.sink(Options { batch_bytes: 4000, ..options(server, &layout) });
    rig.await_drained();
    rig.wait(sink);
    assert_eq!(server.psql(&format!("SELECT max(n) BETWEEN 2 AND 20, sum(n) FROM {log}")), "t|1000");
}

#[test]
fn the_table_that_is_printed_is_one_that_works_whatever_its_columns_are_called() {
    let Some(server) = shared() else { return };
    let columns = Member::ALL.map(|member| column(&format!("{} \"q'", member.name()), Some(member)));
    let columns = columns.into_iter().chain([column("*", None)]).collect();
    let layout = layout(&unique("It's \"quoted"), columns, OnConflict::Update);
    make(server, &layout);
    let rig = Rig::new();
    rig.take(0..10);
    let sink = rig.sink(options(server, &layout));
    rig.await_drained();
    rig.wait(sink);
    assert_eq!(
        server.psql(&format!("SELECT count(*), bool_and(\"*\" = '{{}}') FROM {}", layout.table().sql())),
        "10|t"
    );
}
