//! The whole daemon between two brokers' topics, killed again and again.

use super::listener::{Listener, json};
use super::rig::event;
use super::sender::Sender;
use super::support::child::{WATCHDOG, poll};
use super::support::daemon::Daemon;
use super::support::link::Link;
use super::support::mosquitto::{Mosquitto, Setup};
use super::support::site::Site;
use super::support::{from_env, random};
use rand::Rng;
use std::collections::BTreeMap;

/// From MQTT to MQTT, with kill -9 of the daemon and a stopped broker in between, over a link that is cut, too.
#[test]
fn a_daemon_that_is_killed_under_load_loses_nothing_and_gives_each_event_one_verdict() {
    let kills = u32::try_from(from_env("VERDICTD_TEST_MQTT_KILLS", 20)).unwrap() / 2;
    let (seed, mut random) = random(9);
    for protocol in ["5", "3.1.1"] {
        let lines = ["max_queued_messages 0", "max_inflight_messages 200"].map(str::to_owned);
        let mut broker = Mosquitto::start(&Setup { lines: lines.to_vec(), ..Setup::default() });
        let link = Link::to(broker.address());
        let mut site = Site::new();
        let url = format!("\"mqtt://127.0.0.1:{}\"", link.port());
        let protocol = format!("{protocol:?}");
        site.set("sources.plant.type", "\"mqtt\"")
            .set("sources.plant.broker", &url)
            .set("sources.plant.topics", "[\"events/+\"]")
            .set("sources.plant.protocol", &protocol)
            .set("sinks.bank.type", "\"mqtt\"")
            .set("sinks.bank.broker", &url)
            .set("sinks.bank.protocol", &protocol)
            .set("sinks.bank.topic", "\"verdicts/{key}\"");
        let listener = Listener::start(broker.port(), "verdicts/#");
        let mut daemon = Daemon::start(&site);
        // The first messages may come before the subscription is there.
        let probe = poll(WATCHDOG, || {
            let mut sender = Sender::start(broker.port());
            sender.send("events/probe", "{\"id\":\"999999\",\"key\":\"probe\",\"amount\":1}");
            sender.settle();
            (listener.len() > 0).then_some(())
        });
        probe.expect("a verdict");
        let mut sent = 0;
        for round in 0..kills {
            let mut sender = Sender::start(broker.port());
            (sent..sent + 400).for_each(|id| sender.send(&format!("events/{}", id % 3), event(id)));
            sent += 400;
            let until = listener.len() + random.random_range(1..300);
            let some = || (listener.len() >= until).then_some(());
            poll(WATCHDOG, some)
                .unwrap_or_else(|| panic!("seed {seed}: no verdicts in round {round}:\n{}", daemon.log()));
            if round % 3 == 1 {
                link.cut();
            }
            sender.settle();
            drop(sender);
            if round % 3 == 2 {
                link.refuse(true);
                broker.stop();
                daemon.kill();
                listener.await_subscribed(false);
                broker.restart();
                listener.await_subscribed(true);
                link.refuse(false);
            } else {
                daemon.kill();
            }
            daemon = Daemon::start(&site);
        }
        let come = || {
            let got = listener.got();
            got.iter().map(super::listener::id).collect::<std::collections::BTreeSet<_>>()
        };
        let all = || (come().len() > usize::try_from(sent).unwrap()).then_some(());
        if poll(WATCHDOG, all).is_none() {
            let come = come();
            let missing: Vec<u32> = (0..sent).filter(|id| !come.contains(id)).collect();
            let status = daemon.status();
            panic!("seed {seed}: {} events are missing, {missing:?}: {status}\n{}", missing.len(), daemon.log());
        }
        // One verdict an event, however often it was sent; the audit file says the same.
        let mut verdicts = BTreeMap::new();
        for publish in listener.got() {
            let value = json(&publish);
            let verdict = if value["data"].is_null() { value } else { value["data"].clone() };
            let id = verdict["id"].as_str().unwrap().to_owned();
            let first = verdicts.entry(id).or_insert_with(|| verdict.clone());
            assert_eq!(*first, verdict, "seed {seed}: a second verdict");
        }
        assert!(daemon.stop().success());
        let lines = site.sink_lines();
        assert_eq!(lines.len(), verdicts.len(), "seed {seed}");
        for kept in lines {
            let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
            assert_eq!(verdicts[kept["id"].as_str().unwrap()], kept);
        }
    }
}

/// A sink of one broker that is gone, and another that is there.
#[test]
fn one_dead_broker_holds_up_neither_the_other_nor_the_source() {
    let broker = Mosquitto::start(&Setup::default());
    let mut dead = Mosquitto::start(&Setup::default());
    let mut site = Site::new();
    for (name, port) in [("alive", broker.port()), ("dead", dead.port())] {
        site.set(&format!("sinks.{name}.type"), "\"mqtt\"")
            .set(&format!("sinks.{name}.broker"), &format!("\"mqtt://127.0.0.1:{port}\""))
            .set(&format!("sinks.{name}.topic"), "\"verdicts\"");
    }
    let listener = Listener::start(broker.port(), "verdicts");
    let late = Listener::start(dead.port(), "verdicts");
    dead.kill();
    late.await_subscribed(false);
    let daemon = Daemon::start(&site);
    let mut client = daemon.client();
    for id in 0..300 {
        let reply = client.post(super::support::http::JSON, event(id)).unwrap();
        assert_eq!(reply.status, 200);
    }
    assert_eq!(listener.check(0..300), 0);
    let lag = |name: &str| daemon.metric(&format!("verdictd_sink_lag_events{{sink=\"{name}\"}}"));
    poll(WATCHDOG, || (lag("alive") == Some(0.0)).then_some(())).expect("no lag");
    assert_eq!(lag("dead"), Some(300.0));
    assert_eq!(daemon.metric("verdictd_sink_up{sink=\"dead\"}"), Some(0.0));
    dead.restart();
    late.await_subscribed(true);
    poll(WATCHDOG, || (lag("dead") == Some(0.0)).then_some(())).expect("no lag");
    assert!(daemon.stop().success());
}

/// What the sink has confirmed is known at the next start, also when it stopped while verdicts were on their way.
#[test]
fn a_clean_stop_under_load_sends_nothing_twice_at_the_next_start() {
    for protocol in ["5", "3.1.1"] {
        let broker = Mosquitto::start(&Setup::default());
        let mut site = Site::new();
        site.set("sinks.bank.type", "\"mqtt\"")
            .set("sinks.bank.broker", &format!("\"mqtt://127.0.0.1:{}\"", broker.port()))
            .set("sinks.bank.protocol", &format!("{protocol:?}"))
            .set("sinks.bank.topic", "\"verdicts\"");
        let listener = Listener::start(broker.port(), "verdicts");
        let mut sent = 0;
        for _ in 0..3 {
            let daemon = Daemon::start(&site);
            let lines: Vec<String> = (sent..sent + 2_000).map(event).collect();
            let reply = daemon.client().post(super::support::http::NDJSON, lines.join("\n")).unwrap();
            assert_eq!((reply.status, reply.lines().len()), (200, 2_000));
            sent += 2_000;
            // Most of them are still on their way.
            assert!(daemon.stop().success());
        }
        assert_eq!(listener.check(0..sent), 0, "MQTT {protocol}: sent twice");
        let daemon = Daemon::start(&site);
        let idle = poll(WATCHDOG, || {
            (daemon.metric("verdictd_sink_lag_events{sink=\"bank\"}") == Some(0.0)
                && daemon.status()["sinks"].as_array()?.iter().all(|sink| sink["state"] == "up"))
            .then_some(())
        });
        assert!(idle.is_some(), "{}", daemon.status());
        assert!(daemon.stop().success());
        assert_eq!(listener.check(0..sent), 0, "MQTT {protocol}: sent twice at the last start");
    }
}
