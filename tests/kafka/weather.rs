//! The sink while brokers die and links break, under load.

use super::reader::{check, read_all};
use super::rig::{Rig, sink_options};
use super::support::child::{WATCHDOG, poll};
use super::support::from_env;
use super::support::kafka::{Broker, Setup};
use super::support::link::Link;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use verdictd::forward::kafka::Options;

/// Verdicts of a run.
const VERDICTS: u32 = 12_000;
const IN_FLIGHT: usize = 200;

#[test]
fn a_broker_killed_in_mid_drain_loses_nothing_and_keeps_the_order_of_each_key() {
    let Some(mut broker) = Broker::start(Setup::default()) else { return };
    broker.create_topic("verdicts", 3, &[]);
    let kills = u32::try_from(from_env("VERDICTD_TEST_KAFKA_KILLS", 20)).unwrap();
    let rig = Rig::new();
    let options = sink_options(&broker.bootstrap(), "verdicts");
    let sink = rig.sink(Options { in_flight_records: IN_FLIGHT, ..options });
    let share = VERDICTS / kills;
    for kill in 0..kills {
        rig.take(kill * share..(kill + 1) * share);
        // In the midst of them: some are confirmed, others not.
        let begun = u64::from(kill * share + share / 4);
        poll(WATCHDOG, || (sink.status.delivered.load(Relaxed) > begun).then_some(())).expect("deliveries");
        broker.kill();
        broker.up();
    }
    rig.await_drained();
    poll(WATCHDOG, || sink.status.link.is_up().then_some(())).expect("a sink that is up again");
    rig.wait(sink);
    let repeats = check(&read_all(&broker.bootstrap(), "verdicts"), 0..kills * share);
    assert!(repeats <= IN_FLIGHT * kills as usize, "{repeats} repeats");
}

#[test]
fn a_frozen_broker_is_waited_for() {
    let Some(broker) = Broker::start(Setup::default()) else { return };
    broker.create_topic("verdicts", 2, &[]);
    let rig = Rig::new();
    rig.take(0..2000);
    let sink = rig.sink(sink_options(&broker.bootstrap(), "verdicts"));
    rig.await_drained();
    broker.freeze();
    rig.take(2000..5000);
    poll(WATCHDOG, || (!sink.status.link.is_up()).then_some(())).expect("a sink that says it is stuck");
    assert!(rig.cursor() < rig.store.committed());
    broker.thaw();
    rig.await_drained();
    rig.wait(sink);
    assert_eq!(check(&read_all(&broker.bootstrap(), "verdicts"), 0..5000), 0);
}

fn cut_under_load(round_trip: Duration) {
    let link = Link::unconnected();
    let Some(broker) = Broker::start(Setup { behind: Some(link.port()), ..Setup::default() }) else { return };
    link.retarget(broker.behind());
    broker.create_topic("verdicts", 3, &[]);
    let cuts = u32::try_from(from_env("VERDICTD_TEST_KAFKA_CUTS", 30)).unwrap();
    link.set_round_trip(round_trip);
    let rig = Rig::new();
    let options = sink_options(&link.address().to_string(), "verdicts");
    let sink = rig.sink(Options { in_flight_records: IN_FLIGHT, ..options });
    let share = VERDICTS / cuts;
    for cut in 0..cuts {
        rig.take(cut * share..(cut + 1) * share);
        let begun = u64::from(cut * share + share / 4);
        poll(WATCHDOG, || (sink.status.delivered.load(Relaxed) > begun).then_some(())).expect("deliveries");
        match cut % 3 {
            0 => link.cut(),
            1 => link.cut_client_side(),
            _ => link.cut_target_side(),
        };
    }
    link.bury();
    rig.await_drained();
    rig.wait(sink);
    let repeats = check(&read_all(&broker.bootstrap(), "verdicts"), 0..cuts * share);
    assert!(repeats <= IN_FLIGHT * cuts as usize, "{repeats} repeats");
}

#[test]
fn a_link_cut_under_load_at_no_delay() {
    cut_under_load(Duration::ZERO);
}

#[test]
fn a_link_cut_under_load_at_50_ms() {
    cut_under_load(Duration::from_millis(50));
}

#[test]
fn a_link_cut_under_load_at_300_ms() {
    cut_under_load(Duration::from_millis(300));
}
