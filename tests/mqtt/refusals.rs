//! What a broker refuses: the connection, the right to a topic, a message for what it is.

use super::listener::Listener;
use super::rig::{Rig, Running, SINK, sink_options};
use super::support::certificates::{self, Validity};
use super::support::child::{WATCHDOG, poll};
use super::support::mosquitto::{Mosquitto, Setup};
use serde_json::json;
use verdictd::forward::SinkStatus;
use verdictd::link::mqtt::Protocol;
use verdictd::link::{ClientTls, Trouble};

/// Waits until the sink is down for that kind of trouble, and returns what it says.
fn trouble(sink: &Running<SinkStatus>, kind: Trouble) -> String {
    let told = poll(WATCHDOG, || {
        let last = sink.status.link.last_error().filter(|last| last.trouble == kind);
        last.filter(|_| !sink.status.link.is_up())
    });
    told.unwrap_or_else(|| panic!("no {kind:?} trouble, but {:?}", sink.status.link.last_error())).text
}

#[test]
fn a_wrong_password_needs_a_person_and_once_it_is_right_everything_is_delivered() {
    for protocol in [Protocol::V5, Protocol::V311] {
        let users = vec![("verdictd".to_owned(), "right".to_owned())];
        let broker = Mosquitto::start(&Setup { users, ..Setup::default() });
        let rig = Rig::new();
        rig.take(0..200);
        let password = rig.path().join("password");
        std::fs::write(&password, "wrong\n").unwrap();
        let mut options = sink_options(broker.port(), protocol, "verdicts");
        options.client.username = Some("verdictd".to_owned());
        options.client.password_file = Some(password.clone());
        let sink = rig.sink(options);
        let text = trouble(&sink, Trouble::Configuration);
        assert!(text.contains("not authorized") || text.contains("bad user name or password"), "{text}");
        assert!(!text.contains("wrong"), "{text}");
        std::fs::write(&password, "right\n").unwrap();
        rig.await_drained();
        assert!(sink.status.link.is_up());
        rig.stop(sink);
    }
}

/// Mosquitto confirms to MQTT 3.1.1 what it drops; only 5 can tell.
#[test]
fn a_topic_without_the_right_to_it_parks_the_sink_until_the_right_is_given() {
    let access = |line: &str| Setup { access: vec!["topic read #".to_owned(), line.to_owned()], ..Setup::default() };
    let mut broker = Mosquitto::start(&access("topic write other"));
    let rig = Rig::new();
    rig.take(0..200);
    let sink = rig.sink(sink_options(broker.port(), Protocol::V5, "verdicts"));
    let text = trouble(&sink, Trouble::Configuration);
    assert!(text.contains("not authorized (0x87)"), "{text}");
    assert_eq!(rig.cursor(), 1);
    broker.restart_as(&access("topic write verdicts"));
    rig.await_drained();
    assert!(sink.status.link.is_up());
    rig.stop(sink);
    assert!(rig.quarantine().is_empty());
}

#[test]
fn a_broker_that_is_nowhere_is_weather() {
    let rig = Rig::new();
    rig.take(0..10);
    let mut options = sink_options(1, Protocol::V5, "verdicts");
    let sink = rig.sink(options.clone());
    let text = trouble(&sink, Trouble::Transient);
    assert!(text.contains("cannot connect to"), "{text}");
    rig.stop(sink);
    // RFC 2606 keeps this name from ever having an address.
    options.client.broker.host = "broker.invalid".to_owned();
    let sink = rig.sink(options);
    let text = trouble(&sink, Trouble::Transient);
    assert!(text.contains("broker.invalid cannot be resolved"), "{text}");
    rig.stop(sink);
    assert_eq!(rig.cursor(), 1);
}

#[test]
fn a_certificate_that_is_expired_or_of_a_stranger_needs_a_person_and_a_renewed_one_no_restart() {
    let folder = tempfile::tempdir().unwrap();
    let strangers = tempfile::tempdir().unwrap();
    certificates::write(strangers.path(), Validity::Valid);
    certificates::write(folder.path(), Validity::Expired);
    let server = folder.path().join("server.pem");
    let setup = Setup { tls: Some((server.clone(), server)), ..Setup::default() };
    let mut broker = Mosquitto::start(&setup);
    let rig = Rig::new();
    rig.take(0..100);
    let tls = |ca: &std::path::Path| ClientTls { ca_file: Some(ca.join("ca.pem")), ..ClientTls::default() };
    let mut options = sink_options(broker.port(), Protocol::V5, "verdicts");
    options.client.broker.tls = true;
    options.client.tls = tls(folder.path());
    let sink = rig.sink(options.clone());
    let text = trouble(&sink, Trouble::Configuration);
    assert!(text.contains("certificate has expired"), "{text}");
    certificates::write(folder.path(), Validity::Valid);
    broker.restart_as(&setup);
    rig.await_drained();
    rig.stop(sink);

    rig.take(100..200);
    options.client.tls = tls(strangers.path());
    let sink = rig.sink(options.clone());
    let text = trouble(&sink, Trouble::Configuration);
    assert!(text.contains("certificate is not accepted"), "{text}");
    rig.stop(sink);

    options.client.tls.ca_file = Some(folder.path().join("none.pem"));
    let sink = rig.sink(options.clone());
    let text = trouble(&sink, Trouble::Configuration);
    assert!(text.contains("ca-file") && text.contains("none.pem"), "{text}");
    rig.stop(sink);
}

#[test]
fn a_client_certificate_is_shown_and_without_it_the_sink_needs_a_person() {
    let folder = tempfile::tempdir().unwrap();
    certificates::write(folder.path(), Validity::Valid);
    let (server, ca) = (folder.path().join("server.pem"), folder.path().join("ca.pem"));
    let tls = Some((server.clone(), server.clone()));
    let broker = Mosquitto::start(&Setup { tls, client_ca: Some(ca.clone()), ..Setup::default() });
    let rig = Rig::new();
    rig.take(0..100);
    let mut options = sink_options(broker.port(), Protocol::V5, "verdicts");
    options.client.broker.tls = true;
    options.client.tls = ClientTls { ca_file: Some(ca), ..ClientTls::default() };
    let sink = rig.sink(options.clone());
    let text = trouble(&sink, Trouble::Configuration);
    assert!(text.contains("TLS with"), "{text}");
    rig.stop(sink);
    options.client.tls.cert_file = Some(server.clone());
    options.client.tls.key_file = Some(server);
    let sink = rig.sink(options);
    rig.await_drained();
    rig.stop(sink);
}

/// Identity and key make a verdict long.
fn large(id: u32) -> String {
    let id = format!("{id}").repeat(100);
    format!("{}\n", json!({"id": id, "key": "k".repeat(1000), "amount": 1}))
}

/// `max_packet_size` is told when connecting, `message_size_limit` only by the refusal of a message.
#[test]
fn a_verdict_larger_than_the_broker_takes_is_set_aside_and_the_rest_flow_on_in_order() {
    for (line, words) in [
        ("max_packet_size 1200", "the broker takes packets of 1200"),
        ("message_size_limit 1000", "packet too large (0x95)"),
    ] {
        let broker = Mosquitto::start(&Setup { lines: vec![line.to_owned()], ..Setup::default() });
        let listener = Listener::start(broker.port(), "verdicts");
        let rig = Rig::new();
        rig.take(0..300);
        rig.submit(large(777));
        rig.take(300..600);
        rig.submit(large(888));
        rig.take(600..900);
        let sink = rig.sink(sink_options(broker.port(), Protocol::V5, "verdicts"));
        rig.await_drained();
        assert!(sink.status.link.is_up());
        assert_eq!(sink.status.link.errors(Trouble::Poison), 2);
        assert_eq!(sink.status.delivered.load(std::sync::atomic::Ordering::Relaxed), 900);
        rig.stop(sink);
        assert_eq!(listener.check(0..900), 0);
        let aside = rig.quarantine();
        assert_eq!(aside.len(), 2, "{line}");
        for (entry, id) in aside.iter().zip([777, 888]) {
            assert_eq!(entry.kind, "poison");
            assert!(entry.reason.contains(words) && entry.reason.contains(SINK), "{}", entry.reason);
            let (_, whole) = rig.store.quarantine_get(entry.sequence).unwrap().unwrap();
            let verdict: serde_json::Value = serde_json::from_slice(&whole.bytes).unwrap();
            assert_eq!(verdict["id"], format!("{id}").repeat(100));
        }
    }
}
