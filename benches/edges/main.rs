//! What verdictd carries from edge to edge on this machine, brokers and load on the same processors.
//!
//! ```text
//! cargo bench --bench edges [-- file | serial | mqtt | kafka | drain | latency | restart]
//! ```
//!
//! Needs what the tests need (Mosquitto; Java and, once, Maven). `EDGES_EVENTS` is the number of events of a run
//! (200,000; from Kafka, and of the backlog that is drained, five times that), `EDGES_RUNS` how often each is run (3): figures are
//! medians. Events are card transactions of about 300 bytes, scored by the shipped model, in 64 MiB of memory.

// Figures for people: rounding does not matter; a bench may stop.
#![allow(clippy::cast_precision_loss, clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod brokers;
mod events;
mod file;
mod gap;
mod meter;
mod serial;
#[path = "../../tests/support/mod.rs"]
mod support;

use meter::{Figures, median};

/// Events of one run.
fn events() -> usize {
    usize::try_from(support::from_env("EDGES_EVENTS", 200_000)).expect("a number of events")
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|arg| arg == name);
    let runs = support::from_env("EDGES_RUNS", 3).max(1);
    println!("{:<34} {:>10} {:>16} {:>10}", "", "events/s", "CPU-s per 100k", "peak MiB");
    let show = |name: &str, run: &dyn Fn() -> Figures| {
        let all: Vec<Figures> = (0..runs).map(|_| run()).collect();
        let of = |value: fn(&Figures) -> f64| median(all.iter().map(value).collect());
        println!(
            "{name:<34} {:>10.0} {:>16.2} {:>10.1}",
            of(|run| run.events_per_second),
            of(|run| run.cpu_s_per_100k),
            of(|run| run.peak_mib)
        );
    };
    if is_wanted("file") {
        show("file to file", &|| file::to_file(events()));
    }
    if is_wanted("serial") {
        show("serial (a pty), lines, ACK", &|| serial::lines(events() / 4));
    }
    if is_wanted("mqtt") {
        show("MQTT 5 to MQTT 5, QoS 1", &|| brokers::mqtt_to_mqtt(events()));
    }
    if is_wanted("kafka") {
        show("Kafka to Kafka", &|| brokers::kafka_to_kafka(events() * 5));
    }
    if is_wanted("drain") {
        show("a backlog to MQTT", &|| brokers::drain_to_mqtt(events() * 5));
        show("a backlog to Kafka", &|| brokers::drain_to_kafka(events() * 5));
    }
    if is_wanted("latency") {
        println!("\nfrom posting an event to a reader of the broker, 1,000 events/s, ms");
        gap::latency();
    }
    if is_wanted("restart") {
        println!("\nseconds without verdicts when the daemon is killed and started again at once");
        gap::restart(runs);
    }
}
