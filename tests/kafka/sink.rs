//! The sink on a healthy broker, and what it makes of records that are refused.

use super::reader::{check, read_all};
use super::rig::{Rig, SOURCE, sink_options};
use super::support::child::{WATCHDOG, poll};
use super::support::kafka::{shared, unique};
use serde_json::json;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use verdictd::forward::kafka::{Compression, Options};
use verdictd::forward::{Encoding, Filter};
use verdictd::link::Trouble;

#[test]
fn a_verdict_is_a_record_under_its_key_with_its_cloud_events_attributes_as_headers() {
    let Some(broker) = shared() else { return };
    let topic = unique("forms");
    broker.create_topic(&topic, 3, &[]);
    let rig = Rig::new();
    rig.take(0..50);
    rig.submit("{\"id\":\"50\",\"amount\":1}\n".to_owned());
    let sink = rig.sink(sink_options(&broker.bootstrap(), &topic));
    rig.await_drained();
    assert_eq!(sink.status.delivered.load(Relaxed), 51);
    rig.wait(sink);
    let seen = read_all(&broker.bootstrap(), &topic);
    assert_eq!(seen.len(), 51);
    let record = seen.iter().find(|record| record.id() == 10).unwrap();
    let text = |member: &str| record.value[member].as_str().unwrap().to_owned();
    let expected = [
        ("ce_specversion", "1.0".to_owned()),
        ("ce_id", "10".to_owned()),
        ("ce_source", SOURCE.to_owned()),
        ("ce_type", "verdictd.verdict.v1".to_owned()),
        ("ce_subject", "k3".to_owned()),
        ("ce_time", text("decided")),
        ("content-type", "application/json".to_owned()),
    ];
    assert_eq!(record.headers, expected.map(|(name, value)| (name.to_owned(), value)).into());
    assert_eq!((record.key.as_deref(), text("key")), (Some("k3"), "k3".to_owned()));
    let keyless = seen.iter().find(|record| record.id() == 50).unwrap();
    assert!(keyless.key.is_none() && !keyless.headers.contains_key("ce_subject"));
}

#[test]
fn the_structured_form_is_one_cloud_event_and_only_wanted_decisions_are_sent() {
    let Some(broker) = shared() else { return };
    let topic = unique("structured");
    broker.create_topic(&topic, 1, &[]);
    let rig = Rig::new();
    rig.take(0..1000);
    let sink = rig.sink(Options {
        encoding: Encoding::CloudEvents,
        filter: Filter(Some(vec!["block".to_owned()])),
        ..sink_options(&broker.bootstrap(), &topic)
    });
    rig.await_drained();
    rig.wait(sink);
    let seen = read_all(&broker.bootstrap(), &topic);
    assert!(!seen.is_empty() && seen.len() < 1000);
    for record in &seen {
        assert_eq!(record.headers["content-type"], "application/cloudevents+json; charset=UTF-8");
        assert_eq!(record.headers.len(), 1);
        assert_eq!(record.value["type"], json!("verdictd.verdict.v1"));
        assert_eq!(record.value["data"]["decision"], json!("block"));
    }
}

#[test]
fn what_is_confirmed_is_not_sent_again_by_the_next_start() {
    let Some(broker) = shared() else { return };
    let topic = unique("restart");
    broker.create_topic(&topic, 2, &[]);
    let mut rig = Rig::new();
    for round in 0..3 {
        rig.take(round * 3000..(round + 1) * 3000);
        let sink = rig.sink(sink_options(&broker.bootstrap(), &topic));
        rig.await_drained();
        rig.wait(sink);
        rig = rig.reopened();
    }
    assert_eq!(check(&read_all(&broker.bootstrap(), &topic), 0..9000), 0);
}

/// The limit of a topic holds for a whole batch: one record that is too large has the company it travels with
/// refused, too.
#[test]
fn a_record_larger_than_the_topic_allows_is_set_aside_and_the_rest_flow_on_in_order() {
    let Some(broker) = shared() else { return };
    let topic = unique("small");
    broker.create_topic(&topic, 2, &[("max.message.bytes", "2000")]);
    let rig = Rig::new();
    rig.take(0..300);
    // Identity and key stand in the value and in the headers.
    let source = "s".repeat(510);
    let large = |id: u32| {
        format!(
            "{{\"specversion\":\"1.0\",\"type\":\"t\",\"source\":\"{source}\",\"id\":\"{}\",\"partitionkey\":\"{}\",\
             \"data\":{{\"amount\":1}}}}\n",
            format!("{id}").repeat(100),
            "p".repeat(900)
        )
    };
    rig.submit(large(777));
    rig.take(300..600);
    rig.submit(large(888));
    rig.take(600..900);
    let options = sink_options(&broker.bootstrap(), &topic);
    let sink = rig.sink(Options { compression: Compression::None, ..options });
    rig.await_drained();
    assert!(sink.status.link.is_up());
    assert_eq!(sink.status.link.errors(Trouble::Poison), 2);
    rig.wait(sink);
    check(&read_all(&broker.bootstrap(), &topic), 0..900);
    let aside = rig.quarantine();
    assert_eq!(aside.len(), 2);
    for entry in &aside {
        assert_eq!(entry.kind, "poison");
        assert!(entry.reason.contains("too large"), "{}", entry.reason);
        let (_, whole) = rig.store.quarantine_get(entry.sequence).unwrap().unwrap();
        let verdict: serde_json::Value = serde_json::from_slice(&whole.bytes).unwrap();
        assert_eq!(verdict["source"], json!(source));
    }
    // It is remembered as set aside, not sent again.
    let rig = rig.reopened();
    assert_eq!(rig.cursor(), rig.store.committed());
}

#[test]
fn where_a_topic_takes_only_small_batches_they_become_small() {
    let Some(broker) = shared() else { return };
    let topic = unique("narrow");
    broker.create_topic(&topic, 1, &[("max.message.bytes", "1500")]);
    let rig = Rig::new();
    rig.take(0..2000);
    let options = sink_options(&broker.bootstrap(), &topic);
    let sink = rig.sink(Options { compression: Compression::None, in_flight_records: 100, ..options });
    rig.await_drained();
    rig.wait(sink);
    check(&read_all(&broker.bootstrap(), &topic), 0..2000);
    assert!(rig.quarantine().is_empty());
}

#[test]
fn a_topic_that_does_not_exist_yet_is_an_alarm_until_it_does() {
    let Some(broker) = shared() else { return };
    let topic = unique("later");
    let rig = Rig::new();
    rig.take(0..100);
    let sink = rig.sink(sink_options(&broker.bootstrap(), &topic));
    let told = || sink.status.link.last_error().filter(|error| error.trouble == Trouble::Configuration);
    let error = poll(WATCHDOG, told).expect("an alarm");
    assert!(error.text.contains(&topic), "{}", error.text);
    assert!(!sink.status.link.is_up());
    broker.create_topic(&topic, 2, &[]);
    rig.await_drained();
    assert!(sink.status.link.is_up());
    rig.wait(sink);
    check(&read_all(&broker.bootstrap(), &topic), 0..100);
}

#[test]
fn a_stopping_sink_does_not_wait_for_a_broker_that_is_not_there() {
    let rig = Rig::new();
    rig.take(0..10);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let options = sink_options(&free.to_string(), "verdicts");
    let sink = rig.sink(Options { drain: Duration::from_millis(300), ..options });
    poll(WATCHDOG, || (!sink.status.link.is_up()).then_some(())).expect("a sink that is down");
    rig.wait(sink);
    assert_eq!(rig.cursor(), 1);
}
