//! The source: what comes is taken once, acknowledged after its commit, and never in the way of what follows.

use super::rig::{EVENT_BYTES_MAX, Rig, Running, SOURCE, event, source_options};
use super::sender::Sender;
use super::support::child::{WATCHDOG, poll};
use super::support::from_env;
use super::support::link::Link;
use super::support::mosquitto::{Mosquitto, Setup};
use serde_json::json;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use verdictd::event::Budget;
use verdictd::ingest::SourceStatus;
use verdictd::link::mqtt::Protocol;

/// A broker that keeps any number of messages for a session.
fn patient() -> Mosquitto {
    let lines = ["max_queued_messages 0", "max_inflight_messages 200"].map(str::to_owned);
    Mosquitto::start(&Setup { lines: lines.to_vec(), ..Setup::default() })
}

fn budget() -> Budget {
    Budget::new(8 << 20)
}

fn count(source: &Running<SourceStatus>, name: &str) -> u64 {
    source.status.counts().iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count)
}

/// Waits until its session is at the broker.
fn subscribe(rig: &Rig, port: u16, protocol: Protocol, topics: &[&str]) {
    let source = rig.source(source_options(port, protocol, topics), &budget());
    // An event that comes through shows it; its own topic is among those subscribed to.
    let before = rig.verdicts().len();
    let mut sender = Sender::start(port);
    let topic = topics[0].replace(['+', '#'], "x");
    let through = poll(WATCHDOG, || {
        sender.send(&topic, format!("{{\"id\":\"probe-{before}\",\"amount\":1}}"));
        sender.settle();
        (rig.verdicts().len() > before).then_some(())
    });
    through.expect("a subscription");
    rig.stop(source);
}

/// Every event of these ids has one verdict and nothing else has, but the probes.
fn check(rig: &Rig, ids: Range<u32>) {
    let verdicts: Vec<_> = rig.verdicts().into_iter().filter(|(_, id)| !id.starts_with("probe")).collect();
    let found: BTreeSet<u32> = verdicts.iter().map(|(_, id)| id.parse().unwrap()).collect();
    assert_eq!(found, ids.clone().collect(), "events are missing, or are too many");
    assert_eq!(verdicts.len(), ids.len(), "an event has a second verdict");
}

#[test]
fn identity_comes_from_the_payload_from_cloud_events_or_from_user_properties() {
    let broker = patient();
    let rig = Rig::new();
    subscribe(&rig, broker.port(), Protocol::V5, &["events/#"]);
    let mut sender = Sender::start(broker.port());
    sender.send("events/a", event(1));
    let structured = json!({"specversion": "1.0", "id": "2", "source": "till", "type": "t", "data": {"amount": 1}});
    sender.send("events/b", structured.to_string());
    let typed = [("specversion", "1.0"), ("id", "3"), ("source", "till"), ("type", "t"), ("subject", "k")];
    sender.send_with("events/c", "{\"amount\":1}", Some("application/json"), &typed);
    sender.send_with("events/d", "{\"amount\":1}", None, &[("id", "4"), ("source", "shop"), ("key", "k")]);
    // Without any id each arrival is its own event.
    sender.send("events/e", "{\"amount\":1}");
    sender.send("events/e", "{\"amount\":1}");
    // A repeat, and the payload that takes a retained message away.
    sender.send("events/a", event(1));
    sender.send("events/g", "");
    sender.settle();
    let source = rig.source(source_options(broker.port(), Protocol::V5, &["events/#"]), &budget());
    rig.await_verdicts(7);
    // Those the broker keeps for nobody. It has no time, so its arrival counts, not the last one before.
    let before_us = verdictd::event::Timestamp::now().0;
    sender.send_at_most_once("events/f", event(7));
    rig.await_verdicts(8);
    assert_eq!(count(&source, "qos-0"), 1);
    let chunk = rig.store.chunk_of(8).unwrap().unwrap();
    assert!(chunk.get(8).unwrap().verdict.time_us >= before_us);
    poll(WATCHDOG, || (count(&source, "empty") == 1).then_some(())).expect("the empty message");
    rig.stop(source);
    let verdicts: Vec<_> = rig.verdicts().split_off(1);
    let named = |source: &str, id: &str| (source.to_owned(), id.to_owned());
    assert_eq!(verdicts[..4], [named(SOURCE, "1"), named("till", "2"), named("till", "3"), named("shop", "4")]);
    assert!(verdicts[4].0 == SOURCE && verdicts[5].0 == SOURCE && verdicts[4].1 != verdicts[5].1);
    assert_eq!(verdicts[6..], [named(SOURCE, "7")]);
    assert!(rig.quarantine().is_empty());
}

#[test]
fn where_an_id_is_configured_a_message_without_one_is_set_aside() {
    let broker = patient();
    let rig = Rig::new();
    subscribe(&rig, broker.port(), Protocol::V311, &["events"]);
    let mut sender = Sender::start(broker.port());
    sender.send("events", "{\"amount\":1}");
    sender.send("events", "no JSON");
    sender.send("events", event(1));
    sender.settle();
    let mut options = source_options(broker.port(), Protocol::V311, &["events"]);
    options.default_id = false;
    let source = rig.source(options.clone(), &budget());
    rig.await_verdicts(2);
    rig.stop(source);
    assert_eq!(
        rig.quarantine().iter().map(|entry| entry.kind.as_str()).collect::<Vec<_>>(),
        ["malformed", "malformed"]
    );
    // They are acknowledged: nothing comes again.
    let source = rig.source(options, &budget());
    sender.send("events", event(2));
    rig.await_verdicts(3);
    assert_eq!(count(&source, "sent-again"), 0);
    rig.stop(source);
    assert_eq!(rig.quarantine().len(), 2);
}

/// A message above every limit was once a reason to end the connection, and came again on the next.
#[test]
fn an_oversized_message_is_set_aside_with_its_beginning_and_does_not_come_again() {
    for protocol in [Protocol::V5, Protocol::V311] {
        let broker = patient();
        let rig = Rig::new();
        subscribe(&rig, broker.port(), protocol, &["events"]);
        let mut sender = Sender::start(broker.port());
        let sized = |id: u32, bytes: usize| {
            let mut text = format!("{{\"id\":\"{id}\",\"amount\":1,\"x\":\"");
            text.push_str(&"y".repeat(bytes - text.len() - 2));
            text + "\"}"
        };
        sender.send("events", sized(0, EVENT_BYTES_MAX));
        sender.send("events", sized(100, EVENT_BYTES_MAX + 1));
        sender.send("events", sized(101, 5 << 20));
        (1..200).for_each(|id| sender.send("events", event(id)));
        sender.settle();
        let source = rig.source(source_options(broker.port(), protocol, &["events"]), &budget());
        rig.await_verdicts(201);
        assert_eq!(source.status.reconnects.load(Relaxed), 0);
        rig.stop(source);
        check(&rig, 0..200);
        let aside = rig.quarantine();
        assert_eq!(aside.iter().map(|entry| entry.kind.as_str()).collect::<Vec<_>>(), ["oversized", "oversized"]);
        assert!(aside[1].reason.contains("found 5242880"), "{}", aside[1].reason);
        let (_, whole) = rig.store.quarantine_get(aside[1].sequence).unwrap().unwrap();
        assert!(whole.bytes.starts_with(b"{\"id\":\"101\"") && whole.bytes.len() > 60_000);
        let source = rig.source(source_options(broker.port(), protocol, &["events"]), &budget());
        sender.send("events", event(200));
        rig.await_verdicts(202);
        assert_eq!(count(&source, "sent-again"), 0);
        rig.stop(source);
    }
}

#[test]
fn topics_that_are_no_longer_configured_are_left_and_new_ones_joined_also_after_a_restart() {
    for protocol in [Protocol::V5, Protocol::V311] {
        let broker = patient();
        let rig = Rig::new();
        subscribe(&rig, broker.port(), protocol, &["a/#", "b"]);
        subscribe(&rig, broker.port(), protocol, &["c/+", "b"]);
        let rig = rig.reopened(&|_| {});
        let mut sender = Sender::start(broker.port());
        sender.send("a/x", event(100));
        sender.send("b", event(0));
        sender.send("c/x", event(1));
        sender.send("c/x/y", event(101));
        sender.settle();
        let source = rig.source(source_options(broker.port(), protocol, &["c/+", "b"]), &budget());
        rig.await_verdicts(4);
        assert_eq!(count(&source, "sessions-lost"), 0);
        rig.stop(source);
        check(&rig, 0..2);
    }
}

#[test]
fn retained_messages_are_events_and_counted_and_known_topics_give_them_no_second_time() {
    for protocol in [Protocol::V5, Protocol::V311] {
        let broker = patient();
        let mut sender = Sender::start(broker.port());
        (0..5).for_each(|id| sender.send_retained(&format!("state/{id}"), event(id)));
        sender.settle();
        let rig = Rig::new();
        let source = rig.source(source_options(broker.port(), protocol, &["state/+"]), &budget());
        rig.await_verdicts(5);
        poll(WATCHDOG, || (count(&source, "retained") == 5).then_some(())).expect("a count");
        rig.stop(source);
        let source = rig.source(source_options(broker.port(), protocol, &["state/+"]), &budget());
        sender.send("state/9", event(5));
        rig.await_verdicts(6);
        assert_eq!(count(&source, "retained"), 0);
        rig.stop(source);
        check(&rig, 0..6);
    }
}

/// Past its expiry, or where a broker lost its data: a hole that nobody can fill, and that must not go unseen.
#[test]
fn a_session_that_the_broker_has_not_kept_is_told_and_subscribed_anew() {
    let mut broker = patient();
    let rig = Rig::new();
    subscribe(&rig, broker.port(), Protocol::V5, &["events"]);
    // It saves its sessions when it ends well.
    broker.kill();
    broker.restart();
    let source = rig.source(source_options(broker.port(), Protocol::V5, &["events"]), &budget());
    poll(WATCHDOG, || (count(&source, "sessions-lost") == 1).then_some(())).expect("a word of it");
    let mut sender = Sender::start(broker.port());
    let through = poll(WATCHDOG, || {
        sender.send("events", event(1));
        sender.settle();
        (rig.verdicts().len() > 1).then_some(())
    });
    through.expect("a subscription");
    rig.stop(source);
}

/// While there is no memory nothing is read, and yet the broker must not take the client for dead.
#[test]
fn without_memory_nothing_is_read_and_the_connection_lives_on() {
    let broker = patient();
    let link = Link::to(broker.address());
    let rig = Rig::new();
    subscribe(&rig, broker.port(), Protocol::V5, &["events"]);
    let mut sender = Sender::start(broker.port());
    let mut options = source_options(link.port(), Protocol::V5, &["events"]);
    options.client.keep_alive = Duration::from_secs(2);
    let budget = Budget::new(options.budget_bytes_min());
    let source = rig.source(options, &budget);
    // Its buffers, before anything came.
    let idle = poll(WATCHDOG, || Some(budget.used()).filter(|used| *used > 0)).expect("buffers");
    sender.send("events", event(0));
    rig.await_verdicts(2);
    poll(WATCHDOG, || (budget.used() == idle).then_some(())).expect("memory that is given back");
    let all = budget.try_take(budget.bytes() - idle).expect("what is left");
    (1..300).for_each(|id| sender.send("events", event(id)));
    sender.settle();
    // Pings of two bytes, over several times the keep-alive.
    let before = link.counts();
    let pings = || (link.counts().bytes_out >= before.bytes_out + 6).then_some(());
    poll(WATCHDOG, pings).expect("pings");
    assert_eq!(rig.verdicts().len(), 2);
    drop(all);
    rig.await_verdicts(301);
    assert_eq!(link.counts().accepted, 1);
    rig.stop(source);
    check(&rig, 0..300);
}

/// A full disk: nothing is acknowledged, and once there is room everything comes.
#[test]
fn what_cannot_be_taken_is_not_acknowledged_and_taken_when_there_is_room() {
    let broker = patient();
    let rig = Rig::new();
    subscribe(&rig, broker.port(), Protocol::V5, &["events"]);
    let rig = rig.reopened(&|options| options.disk_bytes = 1);
    let mut sender = Sender::start(broker.port());
    (0..500).for_each(|id| sender.send("events", event(id)));
    sender.settle();
    let source = rig.source(source_options(broker.port(), Protocol::V5, &["events"]), &budget());
    let refused = || (rig.intake.origin.refused.load(Relaxed) > 0).then_some(());
    poll(WATCHDOG, refused).expect("a refusal");
    rig.stop(source);
    assert_eq!(rig.verdicts().len(), 1);
    let rig = rig.reopened(&|_| {});
    let source = rig.source(source_options(broker.port(), Protocol::V5, &["events"]), &budget());
    rig.await_verdicts(501);
    rig.stop(source);
    check(&rig, 0..500);
}

/// Link cuts, kills of the source in the midst of things, stops of the broker and kills after it has saved.
#[test]
fn whatever_is_cut_or_killed_each_event_has_one_verdict() {
    let rounds = u32::try_from(from_env("VERDICTD_TEST_MQTT_KILLS", 20)).unwrap();
    for protocol in [Protocol::V5, Protocol::V311] {
        let mut broker = patient();
        let link = Link::to(broker.address());
        let rig = Rig::new();
        subscribe(&rig, broker.port(), protocol, &["events/+"]);
        let options = source_options(link.port(), protocol, &["events/+"]);
        let budget = budget();
        let mut source = rig.source(options.clone(), &budget);
        let mut sent = 0;
        for round in 0..rounds {
            let mut sender = Sender::start(broker.port());
            let before = rig.verdicts().len();
            (sent..sent + 500).for_each(|id| sender.send(&format!("events/{}", id % 3), event(id)));
            sent += 500;
            let some = || (rig.verdicts().len() > before + 100).then_some(());
            poll(WATCHDOG, some).expect("events that come");
            match round % 4 {
                0 => {
                    link.cut();
                }
                1 => {
                    rig.kill(source);
                    source = rig.source(options.clone(), &budget);
                }
                2 => {
                    link.cut_client_side();
                }
                _ => {
                    // What the broker has confirmed to the sender it must have saved before it is killed.
                    sender.settle();
                    drop(sender);
                    broker.stop();
                    broker.restart();
                    broker.kill();
                    broker.restart();
                    continue;
                }
            }
            sender.settle();
        }
        let end = usize::try_from(sent).unwrap() + 1;
        rig.await_verdicts(end);
        rig.stop(source);
        check(&rig, 0..sent);
    }
}
