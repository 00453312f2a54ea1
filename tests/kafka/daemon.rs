//! The whole daemon between two topics: killed under load, killed among others, killed and back at once.

use super::reader::{check, read_all};
use super::support::child::{WATCHDOG, poll};
use super::support::daemon::Daemon;
use super::support::from_env;
use super::support::kafka::{Broker, shared, unique};
use super::support::site::{Site, member};
use super::writer::Writer;
use std::collections::BTreeSet;
use std::thread;

/// In flight to the broker, at most.
const IN_FLIGHT: usize = 300;

/// A daemon's surroundings between the topics `from` and `to`.
fn site(broker: &Broker, instance: &str, from: &str, to: &str, session: &str) -> Site {
    let mut site = Site::new();
    let quoted = |text: &str| format!("{text:?}");
    let brokers = format!("[{:?}]", broker.bootstrap());
    let settings = [
        ("instance", quoted(instance)),
        ("sources.feed.type", quoted("kafka")),
        ("sources.feed.brokers", brokers.clone()),
        ("sources.feed.topics", format!("[{from:?}]")),
        ("sources.feed.group", quoted(&format!("group-of-{from}"))),
        ("sources.feed.session-timeout", quoted(session)),
        ("sources.feed.event", "{ id = \"/id\", key = \"/key\" }".to_owned()),
        ("sinks.bank.type", quoted("kafka")),
        ("sinks.bank.brokers", brokers),
        ("sinks.bank.topic", quoted(to)),
        ("sinks.bank.in-flight", IN_FLIGHT.to_string()),
    ];
    for (key, value) in settings {
        site.set(key, &value);
    }
    site
}

fn topics(broker: &Broker) -> (String, String) {
    let (from, to) = (unique("events"), unique("verdicts"));
    broker.create_topic(&from, 4, &[]);
    broker.create_topic(&to, 4, &[]);
    (from, to)
}

fn lines(site: &Site) -> usize {
    site.whole_sink_lines().map_or(0, |lines| lines.len())
}

#[test]
fn kill_9_of_the_daemon_under_load_loses_nothing_and_gives_one_verdict_an_identity() {
    let Some(broker) = shared() else { return };
    let (from, to) = topics(broker);
    let kills = usize::try_from(from_env("VERDICTD_TEST_KAFKA_DAEMON_KILLS", 10)).unwrap();
    let (share, events) = (2000, u32::try_from((kills + 1) * 2000).unwrap());
    let site = site(broker, "edge-1", &from, &to, "6 s");
    let bootstrap = broker.bootstrap();
    let load = thread::spawn(move || {
        let writer = Writer::to(&bootstrap, &from);
        (0..events).step_by(500).for_each(|id| writer.write(id..(id + 500).min(events)));
    });
    let mut daemon = Daemon::start(&site);
    for kill in 1..=kills {
        // Wherever it is then: reading, committing, delivering.
        poll(WATCHDOG, || (lines(&site) >= kill * share - share / 2).then_some(()))
            .unwrap_or_else(|| panic!("{} lines\n{}", lines(&site), daemon.log()));
        daemon.kill();
        daemon = Daemon::start(&site);
    }
    load.join().unwrap();
    let bank = || {
        daemon.status()["sinks"].as_array().into_iter().flatten().any(|sink| {
            sink["name"] == "bank" && sink["lag"].as_u64().or_else(|| sink["lag-events"].as_u64()) == Some(0)
        })
    };
    poll(WATCHDOG, || (lines(&site) >= events as usize && bank()).then_some(()))
        .unwrap_or_else(|| panic!("{} of {events} lines\n{}\n{}", lines(&site), daemon.status(), daemon.log()));
    assert!(daemon.stop().success());
    let audited: Vec<u32> =
        site.sink_lines().iter().map(|line| member(line, "id").as_str().unwrap().parse().unwrap()).collect();
    assert_eq!(audited.len(), events as usize, "an event with two verdicts");
    assert_eq!(audited.into_iter().collect::<BTreeSet<_>>(), (0..events).collect());
    let repeats = check(&read_all(&broker.bootstrap(), &to), 0..events);
    assert!(repeats <= IN_FLIGHT * kills, "{repeats} repeats");
}

/// Were it a new member, its partitions would stay with the dead one for the session, which is longer than the
/// watchdog's patience.
#[test]
fn a_daemon_that_is_killed_and_started_again_has_its_partitions_back_at_once() {
    let Some(broker) = shared() else { return };
    let (from, to) = topics(broker);
    let site = site(broker, "edge-1", &from, &to, "10 min");
    let writer = Writer::to(&broker.bootstrap(), &from);
    let mut daemon = Daemon::start(&site);
    for round in 0..3 {
        writer.write(round * 100..(round + 1) * 100);
        let all = || (lines(&site) >= (round as usize + 1) * 100).then_some(());
        poll(WATCHDOG, all).unwrap_or_else(|| panic!("{} lines\n{}", lines(&site), daemon.log()));
        daemon.kill();
        daemon = Daemon::start(&site);
    }
    drop(daemon);
}

#[test]
fn of_two_daemons_in_a_group_one_is_killed_and_the_other_reads_on_where_it_was() {
    let Some(broker) = shared() else { return };
    let (from, to) = topics(broker);
    let sites = ["edge-1", "edge-2"].map(|instance| site(broker, instance, &from, &to, "6 s"));
    let writer = Writer::to(&broker.bootstrap(), &from);
    let [one, two] = sites.each_ref().map(Daemon::start);
    let mut next = 0;
    let mut more = |count: u32| {
        writer.write(next..next + count);
        next += count;
        next
    };
    poll(WATCHDOG, || {
        more(100);
        sites.iter().all(|site| lines(site) > 0).then_some(())
    })
    .unwrap_or_else(|| panic!("{:?}\n{}\n{}", sites.each_ref().map(lines), one.log(), two.log()));
    more(3000);
    one.kill();
    let events = more(3000);
    let seen = || -> BTreeSet<u32> { read_all(&broker.bootstrap(), &to).iter().map(super::reader::Seen::id).collect() };
    let all = (0..events).collect::<BTreeSet<_>>();
    poll(WATCHDOG, || (seen() == all).then_some(()))
        .unwrap_or_else(|| panic!("{} of {events}\n{}", seen().len(), two.log()));
    assert!(two.stop().success());
}

#[test]
fn a_dead_broker_holds_up_no_other_sink() {
    let Some(broker) = shared() else { return };
    let (from, to) = topics(broker);
    let mut site = site(broker, "edge-1", &from, &to, "6 s");
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    site.set("sinks.bank.brokers", &format!("[\"{nobody}\"]"));
    let daemon = Daemon::start(&site);
    Writer::to(&broker.bootstrap(), &from).write(0..20_000);
    poll(WATCHDOG, || (lines(&site) == 20_000).then_some(()))
        .unwrap_or_else(|| panic!("{} lines\n{}", lines(&site), daemon.log()));
    assert_eq!(daemon.metric("verdictd_sink_up{sink=\"bank\"}"), Some(0.0));
    assert_eq!(daemon.metric("verdictd_sink_up{sink=\"audit\"}"), Some(1.0));
    assert!(daemon.stop().success());
}

/// What the sink has confirmed is known at the next start, also when it stopped while verdicts were on their way.
#[test]
fn a_clean_stop_under_load_sends_nothing_twice_at_the_next_start() {
    let Some(broker) = shared() else { return };
    let (from, to) = topics(broker);
    let site = site(broker, "edge-1", &from, &to, "6 s");
    for round in 0..3 {
        let daemon = Daemon::start(&site);
        let lines: String = (round * 2000..(round + 1) * 2000).map(super::rig::event).collect();
        let reply = daemon.client().post(super::support::http::NDJSON, lines).unwrap();
        assert_eq!((reply.status, reply.lines().len()), (200, 2000));
        // Most of them are still on their way.
        assert!(daemon.stop().success());
    }
    let daemon = Daemon::start(&site);
    let idle = || (daemon.metric("verdictd_sink_lag_events{sink=\"bank\"}") == Some(0.0)).then_some(());
    poll(WATCHDOG, idle).unwrap_or_else(|| panic!("{}\n{}", daemon.status(), daemon.log()));
    assert!(daemon.stop().success());
    assert_eq!(check(&read_all(&broker.bootstrap(), &to), 0..6000), 0, "sent twice");
}
