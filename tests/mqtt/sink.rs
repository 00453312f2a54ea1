//! The sink on a healthy broker.

use super::listener::{Listener, json};
use super::rig::{Rig, SOURCE, sink_options};
use super::support::mosquitto::{Mosquitto, Setup};
use serde_json::json;
use std::sync::atomic::Ordering::Relaxed;
use verdictd::forward::mqtt::Options;
use verdictd::forward::{Encoding, Filter};
use verdictd::link::mqtt::Protocol;

#[test]
fn with_mqtt_5_a_verdict_is_the_payload_and_its_cloud_events_attributes_are_user_properties() {
    let broker = Mosquitto::start(&Setup::default());
    let listener = Listener::start(broker.port(), "verdicts/#");
    let rig = Rig::new();
    rig.take(0..50);
    rig.submit("{\"id\":\"50\",\"amount\":1}\n".to_owned());
    let sink = rig.sink(sink_options(broker.port(), Protocol::V5, "verdicts/{decision}/{key}"));
    rig.await_drained();
    assert_eq!(sink.status.delivered.load(Relaxed), 51);
    rig.stop(sink);
    listener.check(0..51);
    let got = listener.got();
    let value = json(&got[10]);
    let decision = value["decision"].as_str().unwrap();
    assert_eq!(got[10].topic, format!("verdicts/{decision}/k3").into_bytes());
    assert!(!got[10].retain);
    let properties = got[10].properties.as_ref().unwrap();
    let expected = [
        ("specversion", "1.0"),
        ("id", "10"),
        ("source", SOURCE),
        ("type", "verdictd.verdict.v1"),
        ("time", value["decided"].as_str().unwrap()),
        ("subject", "k3"),
    ];
    assert_eq!(properties.user_properties, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(properties.content_type.as_deref(), Some("application/json"));
    let keyless = got[50].properties.as_ref().unwrap();
    assert!(keyless.user_properties.iter().all(|(name, _)| name != "subject"));
    assert!(got[50].topic.ends_with(b"/"));
}

#[test]
fn mqtt_3_1_1_and_the_structured_form_carry_one_cloud_event_and_only_wanted_decisions_are_sent() {
    let broker = Mosquitto::start(&Setup::default());
    let listener = Listener::start(broker.port(), "#");
    let rig = Rig::new();
    rig.take(0..1000);
    let filter = Filter(Some(vec!["block".to_owned()]));
    for (protocol, topic) in [(Protocol::V311, "old"), (Protocol::V5, "new")] {
        rig.store.set_cursor(super::rig::SINK, 1).unwrap();
        let sink = rig.sink(Options {
            encoding: Encoding::CloudEvents,
            filter: filter.clone(),
            ..sink_options(broker.port(), protocol, topic)
        });
        rig.await_drained();
        rig.stop(sink);
    }
    let got = listener.got();
    let (old, new): (Vec<_>, Vec<_>) = got.iter().partition(|publish| publish.topic == "old");
    assert!(!old.is_empty() && old.len() < 1000);
    assert_eq!(
        old.iter().map(|publish| &publish.payload).collect::<Vec<_>>(),
        new.iter().map(|p| &p.payload).collect::<Vec<_>>()
    );
    for publish in &got {
        let value = json(publish);
        assert_eq!((&value["type"], &value["data"]["decision"]), (&json!("verdictd.verdict.v1"), &json!("block")));
    }
    let content_type = new[0].properties.as_ref().unwrap().content_type.as_deref();
    assert_eq!(content_type, Some("application/cloudevents+json; charset=utf-8"));
}

#[test]
fn what_is_confirmed_is_not_sent_again_by_the_next_start() {
    let broker = Mosquitto::start(&Setup::default());
    let listener = Listener::start(broker.port(), "verdicts");
    let mut rig = Rig::new();
    for round in 0..3 {
        rig.take(round * 2000..(round + 1) * 2000);
        let sink = rig.sink(sink_options(broker.port(), Protocol::V5, "verdicts"));
        rig.await_drained();
        rig.stop(sink);
        rig = rig.reopened(&|_| {});
    }
    assert_eq!(listener.check(0..6000), 0);
}

/// A stop delivers what is committed, and does not wait for a broker that is not there.
#[test]
fn a_stopping_sink_delivers_what_is_committed_and_does_not_wait_for_an_absent_broker() {
    let mut broker = Mosquitto::start(&Setup::default());
    let listener = Listener::start(broker.port(), "verdicts");
    let rig = Rig::new();
    let sink = rig.sink(sink_options(broker.port(), Protocol::V5, "verdicts"));
    rig.take(0..1);
    rig.await_drained();
    rig.take(1..2000);
    rig.stop(sink);
    assert_eq!(rig.cursor(), rig.store.committed());
    assert_eq!(listener.check(0..2000), 0);
    broker.stop();
    rig.take(2000..2001);
    let sink = rig.sink(sink_options(broker.port(), Protocol::V5, "verdicts"));
    rig.stop(sink);
    assert_eq!(rig.cursor() + 1, rig.store.committed());
}

/// Keys with every character that has a meaning in topics, and identities that no user property can hold.
#[test]
fn no_text_of_an_event_breaks_its_topic_or_the_connection() {
    let broker = Mosquitto::start(&Setup::default());
    let listener = Listener::start(broker.port(), "v/#");
    let rig = Rig::new();
    let texts = ["plain", "a/b", "a+b", "#", "$SYS", "\u{0}", "\t", "é€", "%2F", "\u{ffff}", "\u{85}", ""];
    for (n, text) in texts.iter().enumerate() {
        let event = json!({"id": format!("{n}{text}"), "key": text, "amount": 1});
        rig.submit(format!("{event}\n"));
    }
    let sink = rig.sink(sink_options(broker.port(), Protocol::V5, "v/{key}/{decision}"));
    rig.await_drained();
    assert!(sink.status.link.is_up() && sink.status.link.last_error().is_none());
    rig.stop(sink);
    let got = super::support::child::poll(super::support::child::WATCHDOG, || {
        (listener.len() >= texts.len()).then(|| listener.got())
    });
    let got = got.expect("all of them");
    assert_eq!(got.len(), texts.len());
    for (publish, text) in got.iter().zip(texts) {
        let topic = String::from_utf8(publish.topic.to_vec()).unwrap();
        let levels: Vec<_> = topic.split('/').collect();
        assert_eq!(levels.len(), 3, "{topic}");
        assert_eq!(percent_encoding::percent_decode_str(levels[1]).decode_utf8().unwrap(), text);
        let value = json(publish);
        let key = if value["subject"].is_null() { &value["key"] } else { &value["subject"] };
        assert_eq!(key, text);
    }
}
