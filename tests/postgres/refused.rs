//! Rows and clients that the server refuses: one row is set aside and the rest flow on; what only a person can mend is
//! said, and mended it goes on.

use super::rig::{Rig, check, default_table, options, over_tcp, table};
use super::support::certificates::{self, Validity};
use super::support::postgres::{Postgres, Setup, USER, shared};
use serde_json::json;
use std::fs;
use std::sync::{Arc, OnceLock};
use verdictd::config::default_columns;
use verdictd::forward::postgres::OnConflict;
use verdictd::link::postgres::Place;
use verdictd::link::{ClientTls, Trouble};

/// One server with TLS for all that do not restart it.
fn secured() -> Option<&'static Postgres> {
    static SECURED: OnceLock<Option<Postgres>> = OnceLock::new();
    SECURED.get_or_init(|| Postgres::start(Setup { tls: Some(Validity::Valid), ..Setup::default() })).as_ref()
}

#[test]
fn a_row_that_the_table_refuses_is_set_aside_and_the_rest_of_its_batch_flows_on() {
    let Some(server) = shared() else { return };
    for on_conflict in [OnConflict::Nothing, OnConflict::Update] {
        let layout = table(server, default_columns(), on_conflict);
        let sql = layout.table().sql();
        server.psql(&format!("ALTER TABLE {sql} ADD CHECK (key <> 'bad'), ALTER id TYPE varchar(20)"));
        let rig = Rig::new();
        let event = |id: &str, key: &str| format!("{{\"id\":\"{id}\",\"key\":\"{key}\",\"amount\":1}}\n");
        rig.take(0..300);
        rig.submit(event("no-1", "bad"));
        rig.take(300..600);
        rig.submit(event(&"long".repeat(6), "k") + &event("no-2", "bad"));
        rig.take(600..2500);
        rig.submit(event("no-3", "bad"));
        let sink = rig.sink(options(server, &layout));
        rig.await_drained();
        sink.await_up();
        let status = Arc::clone(&sink.status);
        rig.wait(sink);
        assert_eq!(status.link.errors(Trouble::Poison), 4);
        check(server, &layout, 0..2500);
        let aside = rig.quarantine();
        let ids: Vec<_> = aside.iter().map(|entry| entry.id.clone().unwrap()).collect();
        assert_eq!(ids, ["no-1", &"long".repeat(6), "no-2", "no-3"]);
        for entry in &aside {
            assert_eq!(entry.kind, "poison");
            assert!(entry.reason.contains("SQLSTATE 23514") || entry.reason.contains("SQLSTATE 22001"), "{entry:?}");
            // The server's details quote the row, key and all.
            assert!(!entry.reason.contains("bad"), "{}", entry.reason);
        }
        let (_, whole) = rig.store.quarantine_get(aside[0].sequence).unwrap().unwrap();
        let verdict: serde_json::Value = serde_json::from_slice(&whole.bytes).unwrap();
        assert_eq!(verdict["id"], json!("no-1"));
        // It is remembered as set aside, not sent again.
        let rig = rig.reopened();
        assert_eq!(rig.cursor(), rig.store.committed());
    }
}

#[test]
fn a_character_that_no_text_of_the_server_holds_is_set_aside_with_its_reason() {
    let Some(server) = shared() else { return };
    let layout = default_table(server);
    let rig = Rig::new();
    rig.submit("{\"id\":\"\\u0000\",\"amount\":1}\n".to_owned());
    rig.take(0..100);
    rig.submit("{\"id\":\"a\\u0000b\",\"amount\":1}\n{\"id\":\"c\",\"key\":\"\\u0000\",\"amount\":1}\n".to_owned());
    rig.take(100..200);
    let sink = rig.sink(options(server, &layout));
    rig.await_drained();
    rig.wait(sink);
    check(server, &layout, 0..200);
    let reasons: Vec<_> = rig.quarantine().iter().map(|entry| entry.reason.clone()).collect();
    assert_eq!(reasons.len(), 3);
    assert!(reasons[1].contains("id holds the character U+0000"), "{reasons:?}");
    assert!(reasons[2].contains("key holds the character U+0000"), "{reasons:?}");
}

/// A second unique key of the table is not the one that a repeat runs into.
#[test]
fn a_row_that_runs_into_another_unique_key_is_set_aside() {
    let Some(server) = shared() else { return };
    let layout = default_table(server);
    server.psql(&format!("CREATE UNIQUE INDEX ON {} (key) WHERE key LIKE 'only%'", layout.table().sql()));
    let rig = Rig::new();
    rig.take(0..10);
    rig.submit(
        "{\"id\":\"10\",\"key\":\"only-1\",\"amount\":1}\n{\"id\":\"x\",\"key\":\"only-1\",\"amount\":1}\n".to_owned(),
    );
    let sink = rig.sink(options(server, &layout));
    rig.await_drained();
    rig.wait(sink);
    check(server, &layout, 0..11);
    assert_eq!(rig.quarantine()[0].id.as_deref(), Some("x"));
}

#[test]
fn a_wrong_password_is_an_alarm_until_the_file_holds_the_right_one() {
    let Some(server) = shared() else { return };
    let layout = default_table(server);
    let rig = Rig::new();
    rig.take(0..100);
    let path = rig.path().join("password");
    let mut options = over_tcp(server, &layout, "127.0.0.1", server.port());
    options.server.password_file = Some(path.clone());
    let sink = rig.sink(options);
    assert!(sink.alarm(Trouble::Configuration).contains("password-file"));
    fs::write(&path, "hunter2\n").unwrap();
    let wrong = || sink.status.link.last_error().filter(|error| error.text.contains("28P01"));
    let error = super::support::child::poll(super::support::child::WATCHDOG, wrong).expect("a refusal");
    assert!(error.trouble == Trouble::Configuration && !error.text.contains("hunter2"), "{}", error.text);
    fs::write(&path, format!("{}\n", USER.1)).unwrap();
    rig.await_drained();
    sink.await_up();
    rig.wait(sink);
    check(server, &layout, 0..100);
}

#[test]
fn a_database_or_user_that_is_not_there_and_rights_that_lack_are_alarms() {
    let Some(server) = shared() else { return };
    let layout = default_table(server);
    let sql = layout.table().sql();
    let rig = Rig::new();
    rig.take(0..100);
    for (code, user, database) in [("3D000", "app", "nowhere"), ("28000", "nobody-known", "site")] {
        let mut options = options(server, &layout);
        (options.server.address.user, options.server.address.database) = (user.to_owned(), database.to_owned());
        let sink = rig.sink(options);
        let text = sink.alarm(Trouble::Configuration);
        assert!(text.contains(code), "{text}");
        rig.wait(sink);
    }
    server.psql(&format!("ALTER TABLE {sql} OWNER TO postgres; REVOKE ALL ON {sql} FROM app"));
    let sink = rig.sink(options(server, &layout));
    let text = sink.alarm(Trouble::Configuration);
    assert!(text.contains("42501"), "{text}");
    server.psql(&format!("GRANT SELECT, INSERT ON {sql} TO app"));
    rig.await_drained();
    rig.wait(sink);
    check(server, &layout, 0..100);
}

#[test]
fn tls_is_verified_by_authority_and_name_and_never_left_out() {
    let Some(server) = secured() else { return };
    let layout = default_table(server);
    let rig = Rig::new();
    rig.take(0..100);
    let with = |ca: std::path::PathBuf, host: &str| {
        let mut options = over_tcp(server, &layout, host, server.port());
        options.server.tls = Some(ClientTls { ca_file: Some(ca), ..ClientTls::default() });
        options
    };
    let other = tempfile::tempdir().unwrap();
    certificates::write(other.path(), Validity::Valid);
    let sink = rig.sink(with(other.path().join("ca.pem"), "localhost"));
    assert!(sink.alarm(Trouble::Configuration).contains("certificate is not accepted"));
    rig.wait(sink);
    // A name that leads there and that the certificate does not have.
    let sink = rig.sink(with(server.ca_file(), "127.0.0.2"));
    let text =
        super::support::child::poll(super::support::child::WATCHDOG, || sink.status.link.last_error()).unwrap().text;
    assert!(text.contains("certificate is not accepted") || text.contains("refused"), "{text}");
    rig.wait(sink);
    assert_eq!(rig.cursor(), 1);
    let sink = rig.sink(with(server.ca_file(), "localhost"));
    rig.await_drained();
    let sql = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'test'";
    assert_eq!(server.psql(sql), "t");
    rig.wait(sink);
    check(server, &layout, 0..100);
    // A server without TLS is not spoken to without it.
    let Some(plain) = shared() else { return };
    let layout = default_table(plain);
    let mut options = over_tcp(plain, &layout, "localhost", plain.port());
    options.server.tls = Some(ClientTls { ca_file: Some(server.ca_file()), ..ClientTls::default() });
    let rig = Rig::new();
    rig.take(0..1);
    let sink = rig.sink(options);
    assert!(sink.alarm(Trouble::Configuration).contains("does not support TLS"));
    rig.wait(sink);
}

#[test]
fn a_certificate_that_expired_is_an_alarm_until_there_is_a_new_one() {
    let Some(mut server) = Postgres::start(Setup { tls: Some(Validity::Expired), ..Setup::default() }) else { return };
    let layout = default_table(&server);
    let rig = Rig::new();
    rig.take(0..100);
    let mut options = over_tcp(&server, &layout, "localhost", server.port());
    options.server.tls = Some(ClientTls { ca_file: Some(server.ca_file()), ..ClientTls::default() });
    let sink = rig.sink(options);
    assert!(sink.alarm(Trouble::Configuration).contains("certificate is not accepted"));
    server.stop();
    server.set_certificate(Validity::Valid);
    server.up();
    rig.await_drained();
    rig.wait(sink);
    check(&server, &layout, 0..100);
}

#[test]
fn a_name_that_cannot_be_resolved_and_nobody_at_home_are_weather() {
    let Some(server) = shared() else { return };
    let layout = default_table(server);
    let rig = Rig::new();
    rig.take(0..1);
    let places = [
        Place::Tcp { host: "no-such-host.invalid".to_owned(), port: 5432 },
        Place::Tcp { host: "127.0.0.1".to_owned(), port: 1 },
        Place::Unix { folder: rig.path().to_owned(), port: 5432 },
    ];
    for place in places {
        let mut options = options(server, &layout);
        options.server.address.place = place;
        let sink = rig.sink(options);
        sink.alarm(Trouble::Transient);
        rig.wait(sink);
    }
}
