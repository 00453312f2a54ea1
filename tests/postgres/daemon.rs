//! The whole daemon before a table: killed under load, reloaded, with a server that is not there.

use super::rig::{check, default_table, event, layout};
use super::support::child::{self, WATCHDOG, poll};
use super::support::daemon::Daemon;
use super::support::from_env;
use super::support::http::NDJSON;
use super::support::postgres::{Postgres, USER, shared, unique};
use super::support::site::Site;
use verdictd::config::default_columns;
use verdictd::forward::postgres::{Layout, OnConflict};

fn site(server: &Postgres, layout: &Layout) -> Site {
    let mut site = Site::new();
    let quoted = |text: &str| format!("{text:?}");
    let settings = [
        ("sinks.site.type", quoted("postgres")),
        ("sinks.site.url", quoted(&server.url())),
        ("sinks.site.password-file", quoted(&server.password_file().display().to_string())),
        ("sinks.site.table", quoted(&layout.table().to_string())),
        ("sinks.site.batch", "100".to_owned()),
    ];
    for (key, value) in settings {
        site.set(key, &value);
    }
    site
}

/// Posts events until all of them are answered; the daemon may be killed meanwhile.
fn post(daemon: &Daemon, ids: std::ops::Range<u32>) {
    let lines: String = ids.clone().map(event).collect();
    let reply = daemon.client().post(NDJSON, lines).unwrap();
    assert_eq!((reply.status, reply.lines().len()), (200, ids.len()));
}

fn await_rows(server: &Postgres, layout: &Layout, least: u32, daemon: &Daemon) {
    let sql = format!("SELECT count(*) FROM {}", layout.table().sql());
    let rows = || server.psql(&sql).parse::<u32>().unwrap();
    poll(WATCHDOG, || (rows() >= least).then_some(()))
        .unwrap_or_else(|| panic!("{} rows\n{}\n{}", rows(), daemon.status(), daemon.log()));
}

#[test]
fn kill_9_of_the_daemon_under_load_loses_no_row_and_doubles_none() {
    let Some(server) = shared() else { return };
    let layout = default_table(server);
    let kills = u32::try_from(from_env("VERDICTD_TEST_POSTGRES_KILLS", 10)).unwrap();
    let site = site(server, &layout);
    let mut daemon = Daemon::start(&site);
    for kill in 0..kills {
        post(&daemon, kill * 1000..(kill + 1) * 1000);
        // Wherever it is then.
        await_rows(server, &layout, kill * 1000 + 1, &daemon);
        daemon.kill();
        daemon = Daemon::start(&site);
    }
    await_rows(server, &layout, kills * 1000, &daemon);
    assert!(daemon.stop().success());
    check(server, &layout, 0..kills * 1000);
}

#[test]
fn the_printed_table_is_the_one_that_the_config_needs() {
    let Some(server) = shared() else { return };
    let layout = layout(&unique("printed"), default_columns(), OnConflict::Nothing);
    let site = site(server, &layout);
    let daemon = Daemon::start(&site);
    let parked = || daemon.log().contains("verdictd sink ddl postgres").then_some(());
    poll(WATCHDOG, parked).unwrap_or_else(|| panic!("{}", daemon.log()));
    assert!(!daemon.log().contains(USER.1), "a password in the log");
    drop(daemon);
    let printed = child::run(&mut site.configured(&["sink", "ddl", "postgres", "--sink", "site"])).expect("an end");
    assert!(printed.status.success(), "{}", printed.stderr);
    server.psql(&printed.stdout);
    let daemon = Daemon::start(&site);
    post(&daemon, 0..100);
    await_rows(server, &layout, 100, &daemon);
    assert_eq!(daemon.metric("verdictd_sink_up{sink=\"site\"}"), Some(1.0));
    assert!(daemon.stop().success());
    check(server, &layout, 0..100);
    let all = child::run(&mut site.command(&["sink", "ddl", "postgres"])).expect("an end");
    assert!(all.status.success() && all.stdout.contains("CREATE TABLE \"verdicts\""), "{}", all.stdout);
    let none = child::run(&mut site.configured(&["sink", "ddl", "postgres", "--sink", "bank"])).expect("an end");
    assert_eq!(none.status.code(), Some(64));
    assert!(none.stderr.contains("there is site"), "{}", none.stderr);
}

#[test]
fn a_server_that_is_away_holds_up_no_other_sink() {
    let Some(server) = shared() else { return };
    let mut site = site(server, &layout("any", default_columns(), OnConflict::Nothing));
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    site.set("sinks.site.url", &format!("\"postgres://app@127.0.0.1:{}/site\"", nobody.port()));
    let daemon = Daemon::start(&site);
    post(&daemon, 0..2000);
    let lines = || site.whole_sink_lines().map_or(0, |lines| lines.len());
    poll(WATCHDOG, || (lines() == 2000).then_some(())).unwrap_or_else(|| panic!("{} lines\n{}", lines(), daemon.log()));
    let down = || (daemon.metric("verdictd_sink_up{sink=\"site\"}") == Some(0.0)).then_some(());
    poll(WATCHDOG, down).unwrap_or_else(|| panic!("{}", daemon.status()));
    assert!(daemon.stop().success());
}
