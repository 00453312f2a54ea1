//! The sink while servers die, links break, and others hold locks: nothing is lost, nothing is doubled.

use super::rig::{Rig, check, default_table, options, over_tcp, table};
use super::support::child::{WATCHDOG, poll};
use super::support::from_env;
use super::support::link::Link;
use super::support::postgres::{Postgres, Setup, own, shared};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use verdictd::config::default_columns;
use verdictd::forward::postgres::{OnConflict, Options};
use verdictd::link::Trouble;

/// Verdicts of a run.
const VERDICTS: u32 = 6000;

#[test]
fn a_server_killed_in_mid_drain_loses_nothing_and_has_nothing_twice() {
    let Some(mut server) = Postgres::start(Setup::default()) else { return };
    let kills = u32::try_from(from_env("VERDICTD_TEST_POSTGRES_KILLS", 20)).unwrap();
    let layout = default_table(&server);
    let rig = Rig::new();
    let sink = rig.sink(Options { batch_rows: 50, ..options(&server, &layout) });
    let share = VERDICTS / kills;
    for kill in 0..kills {
        rig.take(kill * share..(kill + 1) * share);
        // In the midst of them: some are confirmed, others not.
        let begun = u64::from(kill * share + share / 4);
        poll(WATCHDOG, || (sink.status.delivered.load(Relaxed) > begun).then_some(())).expect("deliveries");
        server.kill();
        let confirmed = rig.cursor() - 1;
        server.up();
        let rows: u64 = server.psql(&format!("SELECT count(*) FROM {}", layout.table().sql())).parse().unwrap();
        assert!(rows >= confirmed, "confirmed {confirmed}, and {rows} outlived the kill");
    }
    rig.await_drained();
    sink.await_up();
    rig.wait(sink);
    check(&server, &layout, 0..kills * share);
}

#[test]
fn a_frozen_server_is_waited_for_and_given_up_after_the_time_set() {
    let Some(server) = Postgres::start(Setup::default()) else { return };
    let layout = default_table(&server);
    let rig = Rig::new();
    rig.take(0..1000);
    let mut options = options(&server, &layout);
    options.server.patience = Duration::from_secs(1);
    let sink = rig.sink(options);
    rig.await_drained();
    server.freeze();
    rig.take(1000..2000);
    assert!(sink.alarm(Trouble::Transient).contains("no answer within"));
    assert_eq!(rig.cursor(), 1001);
    server.thaw();
    rig.await_drained();
    rig.wait(sink);
    check(&server, &layout, 0..2000);
}

fn cut_under_load(round_trip: Duration, on_conflict: OnConflict) {
    let Some(server) = Postgres::start(Setup::default()) else { return };
    let link = Link::to(server.address());
    link.set_round_trip(round_trip);
    let cuts = u32::try_from(from_env("VERDICTD_TEST_POSTGRES_CUTS", 30)).unwrap();
    let layout = table(&server, default_columns(), on_conflict);
    let rig = Rig::new();
    let mut options = over_tcp(&server, &layout, "127.0.0.1", link.port());
    // A link that is cut on one side alone is found by nothing else.
    options.server.patience = Duration::from_secs(2);
    let sink = rig.sink(Options { batch_rows: 50, ..options });
    let share = VERDICTS / cuts;
    for cut in 0..cuts {
        rig.take(cut * share..(cut + 1) * share);
        let begun = u64::from(cut * share + share / 4);
        poll(WATCHDOG, || (sink.status.delivered.load(Relaxed) > begun).then_some(())).expect("deliveries");
        match cut % 3 {
            0 => link.cut(),
            1 => link.cut_client_side(),
            // The answers are on their way back: the server has committed and nobody hears of it.
            _ => link.cut_target_side(),
        };
    }
    link.bury();
    rig.await_drained();
    rig.wait(sink);
    check(&server, &layout, 0..cuts * share);
}

#[test]
fn a_link_cut_under_load_at_no_delay() {
    cut_under_load(Duration::ZERO, OnConflict::Nothing);
}

#[test]
fn a_link_cut_under_load_at_50_ms() {
    cut_under_load(Duration::from_millis(50), OnConflict::Update);
}

/// The answer to a commit is lost: the batch is sent again, and is there once.
#[test]
fn a_connection_lost_after_the_commit_was_sent_doubles_nothing() {
    let Some(server) = shared() else { return };
    let link = Link::to(server.address());
    let layout = default_table(server);
    let table = layout.table().sql();
    // The commit is held back until the link has gone: what answers it finds nobody.
    server.psql(&format!(
        "CREATE FUNCTION wait_{name}() RETURNS trigger AS 'BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NULL; END' \
         LANGUAGE plpgsql; CREATE TRIGGER wait AFTER INSERT ON {table} FOR EACH STATEMENT EXECUTE FUNCTION wait_{name}()",
        name = layout.table().name
    ));
    let rig = Rig::new();
    let sink = rig.sink(over_tcp(server, &layout, "127.0.0.1", link.port()));
    sink.await_up();
    let mut other = server.session("app");
    other.run("SELECT pg_advisory_lock(7)");
    rig.take(0..500);
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'test' AND wait_event = 'advisory'";
    poll(WATCHDOG, || (server.psql(waits) == "1").then_some(())).expect("a batch at its commit");
    // No answer comes through any more, and the sink has no news of it.
    link.refuse(true);
    link.cut_client_side();
    other.run("SELECT pg_advisory_unlock(7)");
    let rows = || server.psql(&format!("SELECT count(*) FROM {table}"));
    poll(WATCHDOG, || (rows() != "0").then_some(())).expect("rows that are committed");
    assert_eq!(rig.cursor(), 1, "nobody has confirmed them");
    link.refuse(false);
    link.bury();
    rig.await_drained();
    rig.wait(sink);
    check(server, &layout, 0..500);
}

/// Another session locks a row in the one order and the sink in the other: the server ends one of the two.
#[test]
fn a_deadlock_is_tried_again() {
    let setup = Setup { settings: vec!["deadlock_timeout = '100ms'".to_owned()], ..Setup::default() };
    let Some(server) = Postgres::start(setup) else { return };
    let layout = table(&server, default_columns(), OnConflict::Update);
    let sql = layout.table().sql();
    let insert = |id: u32| {
        format!(
            "INSERT INTO {sql} VALUES ('pos', '{id}', NULL, now(), 'allow', 0, 0, now(), '{{}}') \
             ON CONFLICT (source, id) DO UPDATE SET score = 1"
        )
    };
    let rig = Rig::new();
    let mut other = server.session("postgres");
    other.run("SET deadlock_timeout = '1h'");
    other.run("BEGIN");
    other.run(&insert(99));
    // The batch writes 0 to 98 and waits for 99.
    rig.take(0..100);
    let sink = rig.sink(options(&server, &layout));
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'test' AND wait_event_type = 'Lock'";
    poll(WATCHDOG, || (server.psql(waits) == "1").then_some(())).expect("a sink that waits for the lock");
    // This one waits for the batch; the sink's side looks for the deadlock first.
    other.begin(&insert(0));
    let text = sink.alarm(Trouble::Transient);
    assert!(text.contains("40P01"), "{text}");
    other.finish().expect("its turn");
    other.run("COMMIT");
    rig.await_drained();
    sink.await_up();
    rig.wait(sink);
    assert!(rig.quarantine().is_empty());
    check(&server, &layout, 0..100);
}

#[test]
fn a_serialisation_failure_is_tried_again() {
    let Some(server) = Postgres::start(Setup::default()) else { return };
    server.psql("ALTER ROLE app SET default_transaction_isolation = 'repeatable read'");
    let layout = default_table(&server);
    let sql = layout.table().sql();
    let rig = Rig::new();
    let mut other = server.session("app");
    other.run("BEGIN");
    other.run(&format!("INSERT INTO {sql} VALUES ('pos', '50', NULL, now(), 'allow', 0, 0, now(), '{{}}')"));
    rig.take(0..100);
    let sink = rig.sink(options(&server, &layout));
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'test' AND wait_event_type = 'Lock'";
    poll(WATCHDOG, || (server.psql(waits) == "1").then_some(())).expect("a sink that waits for the row");
    other.run("COMMIT");
    let text = sink.alarm_ever(Trouble::Transient);
    assert!(text.contains("40001"), "{text}");
    rig.await_drained();
    rig.wait(sink);
    check(&server, &layout, 0..100);
}

#[test]
fn a_table_that_another_locks_for_long_is_weather() {
    let Some(server) = shared() else { return };
    let layout = default_table(server);
    let rig = Rig::new();
    let mut options = options(server, &layout);
    options.server.patience = Duration::from_secs(1);
    let sink = rig.sink(options);
    sink.await_up();
    let mut other = server.session("postgres");
    other.run("BEGIN");
    other.run(&format!("LOCK TABLE {}", layout.table().sql()));
    rig.take(0..100);
    let text = sink.alarm(Trouble::Transient);
    assert!(text.contains("57014"), "{text}");
    other.run("COMMIT");
    rig.await_drained();
    rig.wait(sink);
    check(server, &layout, 0..100);
}

/// The sink's server has become the one that only reads, and then is the one that writes again.
#[test]
fn a_server_that_is_read_only_after_a_failover_is_weather() {
    let Some(server) = Postgres::start(Setup::default()) else { return };
    let layout = default_table(&server);
    let rig = Rig::new();
    rig.take(0..100);
    let sink = rig.sink(options(&server, &layout));
    rig.await_drained();
    server.psql("ALTER SYSTEM SET default_transaction_read_only = on");
    server.psql("SELECT pg_reload_conf()");
    let is_on = || (server.psql("SHOW default_transaction_read_only") == "on").then_some(());
    poll(WATCHDOG, is_on).expect("a setting that takes effect");
    server.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'test'");
    rig.take(100..200);
    let text = poll(WATCHDOG, || sink.status.link.last_error().filter(|error| error.text.contains("25006")));
    assert_eq!(text.expect("a refusal").trouble, Trouble::Transient);
    server.psql("ALTER SYSTEM RESET default_transaction_read_only");
    server.psql("SELECT pg_reload_conf()");
    rig.await_drained();
    rig.wait(sink);
    check(&server, &layout, 0..200);
}

/// The table's disk is full, and then has room again.
#[test]
fn a_full_disk_at_the_server_is_waited_out_and_nothing_is_set_aside() {
    let Some(server) = Postgres::start(Setup::default()) else { return };
    let Some(disk) = Disk::mount(&server.path("small"), "3m") else { return };
    own(&disk.0);
    let layout = default_table(&server);
    server.psql(&format!("CREATE TABLESPACE small LOCATION '{}'", disk.0.display()));
    server.psql(&format!("ALTER TABLE {} SET TABLESPACE small", layout.table().sql()));
    let rig = Rig::new();
    rig.take(0..20_000);
    let sink = rig.sink(options(&server, &layout));
    let text = sink.alarm(Trouble::Transient);
    assert!(text.contains("53100"), "{text}");
    assert!(rig.cursor() > 1 && rig.cursor() < rig.store.committed(), "some of them had room");
    disk.grow("64m");
    rig.await_drained();
    sink.await_up();
    rig.wait(sink);
    assert!(rig.quarantine().is_empty());
    check(&server, &layout, 0..20_000);
    drop(server);
}

/// A file system of its own, so small that it is full soon.
struct Disk(PathBuf);

impl Disk {
    /// None where this machine does not allow it, which is said past libtest's capture.
    fn mount(at: &Path, size: &str) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &format!("size={size}"), "none"]).arg(at).output();
        if mount.is_ok_and(|output| output.status.success()) {
            return Some(Self(at.to_owned()));
        }
        let line = "\n*** NOT TESTED: a full disk at the server needs the right to mount a file system ***\n";
        let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
        None
    }

    fn grow(&self, size: &str) {
        let options = format!("remount,size={size}");
        let status = Command::new("mount").args(["-o", &options]).arg(&self.0).status().unwrap();
        assert!(status.success());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn too_many_connections_are_weather() {
    let setup = Setup {
        settings: vec!["max_connections = 6".to_owned(), "superuser_reserved_connections = 3".to_owned()],
        ..Setup::default()
    };
    let Some(server) = Postgres::start(setup) else { return };
    let layout = default_table(&server);
    let mut taken: Vec<_> = (0..3).map(|_| server.session("app")).collect();
    for session in &mut taken {
        session.run("SELECT 1");
    }
    let rig = Rig::new();
    rig.take(0..100);
    let sink = rig.sink(options(&server, &layout));
    let text = sink.alarm(Trouble::Transient);
    assert!(text.contains("53300"), "{text}");
    drop(taken);
    rig.await_drained();
    rig.wait(sink);
    check(&server, &layout, 0..100);
}
