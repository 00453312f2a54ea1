//! The sink over a link that comes and goes, and a broker that does: nothing lost, order kept, repeats bounded.

use super::listener::Listener;
use super::rig::{Rig, sink_options};
use super::support::child::{WATCHDOG, poll};
use super::support::link::Link;
use super::support::mosquitto::{Mosquitto, Setup};
use super::support::{from_env, random};
use rand::Rng;
use std::time::Duration;
use verdictd::forward::mqtt::{IN_FLIGHT_RECORDS, Options};
use verdictd::link::mqtt::Protocol;

/// A broker that keeps up with any burst.
fn unlimited() -> Setup {
    let lines = ["max_inflight_messages 0", "max_queued_messages 0"].map(str::to_owned);
    Setup { lines: lines.to_vec(), ..Setup::default() }
}

fn usize(number: u64) -> usize {
    usize::try_from(number).unwrap()
}

/// Cuts the link under load, each time with messages out that are not confirmed.
fn cut(round_trip: Duration, protocol: Protocol) {
    let cuts = from_env("VERDICTD_TEST_MQTT_CUTS", 30);
    let (seed, mut random) = random(u64::try_from(round_trip.as_millis()).unwrap());
    let broker = Mosquitto::start(&unlimited());
    let link = Link::to(broker.address());
    link.set_round_trip(round_trip);
    let listener = Listener::start(broker.port(), "verdicts/#");
    let rig = Rig::new();
    let mut taken = 3000;
    rig.take(0..taken);
    let sink = rig.sink(sink_options(link.port(), protocol, "verdicts/{key}"));
    for n in 0..cuts {
        // Somewhere in the first windows of this connection.
        let base = link.counts().bytes_out;
        let bytes = random.random_range(200..150_000);
        let out = || (link.counts().bytes_out >= base + bytes).then_some(());
        poll(WATCHDOG, out).unwrap_or_else(|| panic!("seed {seed}: nothing flows before cut {n}"));
        match n % 5 {
            // The broker keeps the old connection beside the new one.
            3 => link.cut_client_side(),
            _ => link.cut(),
        };
        rig.take(taken..taken + 300);
        taken += 300;
        let again = || (link.counts().accepted > n + 1).then_some(());
        poll(WATCHDOG, again).unwrap_or_else(|| panic!("seed {seed}: no connection after cut {n}"));
    }
    rig.await_drained();
    rig.stop(sink);
    let repeats = listener.check(0..taken);
    let most = usize(cuts) * usize::from(IN_FLIGHT_RECORDS);
    assert!(repeats <= most, "seed {seed}: {repeats} repeats in {cuts} cuts");
    println!("round trip {round_trip:?}: {taken} verdicts, {cuts} cuts, {repeats} repeats");
}

#[test]
fn a_link_that_is_cut_under_load_loses_nothing_at_no_delay() {
    cut(Duration::ZERO, Protocol::V5);
}

#[test]
fn a_link_that_is_cut_under_load_loses_nothing_at_50_ms() {
    cut(Duration::from_millis(50), Protocol::V311);
}

#[test]
fn a_link_that_is_cut_under_load_loses_nothing_at_300_ms() {
    cut(Duration::from_millis(300), Protocol::V5);
}

/// Only the keep-alive can tell.
#[test]
fn a_link_that_dies_without_a_word_is_left_and_nothing_is_lost() {
    let broker = Mosquitto::start(&unlimited());
    let link = Link::to(broker.address());
    let listener = Listener::start(broker.port(), "verdicts");
    let rig = Rig::new();
    let mut options = sink_options(link.port(), Protocol::V5, "verdicts");
    options.client.keep_alive = Duration::from_secs(1);
    let sink = rig.sink(options);
    rig.take(0..100);
    rig.await_drained();
    for n in 0..3 {
        let accepted = link.counts().accepted;
        if n == 0 {
            link.stall(true);
        } else {
            link.cut_target_side();
        }
        rig.take(100 + n * 500..600 + n * 500);
        let down = poll(WATCHDOG, || (!sink.status.link.is_up()).then_some(()));
        down.expect("a sink that notices");
        link.stall(false);
        poll(WATCHDOG, || (link.counts().accepted > accepted).then_some(())).expect("another connection");
        rig.await_drained();
        link.bury();
    }
    rig.stop(sink);
    let repeats = listener.check(0..1600);
    assert!(repeats <= 3 * usize::from(IN_FLIGHT_RECORDS), "{repeats} repeats");
}

/// In turn by SIGKILL and SIGTERM, in mid-drain.
#[test]
fn a_broker_that_is_killed_again_and_again_gets_everything() {
    let kills = from_env("VERDICTD_TEST_MQTT_KILLS", 20);
    let (seed, mut random) = random(20);
    let mut broker = Mosquitto::start(&unlimited());
    let link = Link::to(broker.address());
    link.set_round_trip(Duration::from_millis(2));
    let listener = Listener::start(broker.port(), "verdicts");
    let rig = Rig::new();
    let mut taken = 2000;
    rig.take(0..taken);
    let options = sink_options(link.port(), Protocol::V5, "verdicts");
    let sink = rig.sink(Options { in_flight_records: 50, ..options });
    for n in 0..kills {
        let base = link.counts().bytes_out;
        let bytes = random.random_range(200..100_000);
        let out = || (link.counts().bytes_out >= base + bytes).then_some(());
        poll(WATCHDOG, out).unwrap_or_else(|| panic!("seed {seed}: nothing flows before kill {n}"));
        // The consumer is to be back before the first message is.
        link.refuse(true);
        if n % 2 == 0 {
            broker.kill();
        } else {
            broker.stop();
        }
        rig.take(taken..taken + 300);
        taken += 300;
        listener.await_subscribed(false);
        broker.restart();
        listener.await_subscribed(true);
        link.refuse(false);
    }
    rig.await_drained();
    rig.stop(sink);
    let repeats = listener.check(0..taken);
    assert!(repeats <= usize(kills) * 50, "seed {seed}: {repeats} repeats in {kills} kills");
}
