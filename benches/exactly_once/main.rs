//! The price of the other way: Kafka's transactions, against at least once with a unique key where it arrives.
//!
//! ```text
//! cargo bench --bench exactly_once [-- throughput | latency | stall]
//! ```
//!
//! Events wait in a Kafka topic or come at a rate; verdicts go to another, and from there into PostgreSQL.
//!
//! - *At least once*: verdictd carries them, with its model. The reader waits for nothing.
//! - *Transactions*: a program of this bench carries them, which scores nothing: it reads, writes as many bytes, and
//!   commits records and offsets together by a transactional producer (librdkafka) at an interval. The reader is
//!   `read_committed`.
//!
//! Both readers are one program, which writes a batch by the statement of `packaging/examples/consumer/consumer.py`, in
//! one transaction under the unique key. The second way needs it no less: its transaction ends at Kafka, and what is read
//! from there is read again after a crash of the reader. Readers and carriers share the machine with broker and database.
//!
//! Needs what the tests need: Java and, once, Maven; PostgreSQL. `EXACTLY_ONCE_EVENTS` is the backlog that is
//! carried for throughput (300,000), `EXACTLY_ONCE_RUNS` how often (3, medians).

// Figures for people: rounding does not matter; a bench may stop.
#![allow(clippy::cast_precision_loss, clippy::expect_used, clippy::panic, clippy::unwrap_used)]

#[path = "../edges/events.rs"]
mod events;
mod latency;
mod load;
#[allow(dead_code)] // shared with the bench of the edges
#[path = "../edges/meter.rs"]
mod meter;
mod reader;
mod stall;
#[path = "../../tests/support/mod.rs"]
mod support;
mod throughput;
mod transactional;
mod way;

use std::time::Duration;
use way::Way;

const WAYS: [Way; 4] = [
    Way::AtLeastOnce,
    Way::transactions(Duration::from_millis(10)),
    Way::transactions(Duration::from_millis(100)),
    Way::transactions(Duration::from_secs(1)),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    if let Some((transactional::TASK, rest)) = arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        transactional::carry(rest);
    }
    let is_wanted = |name: &str| arguments.is_empty() || arguments.iter().any(|arg| arg == name);
    if is_wanted("throughput") {
        println!("\n| events a second | to a reader | into the table |\n|---|---|---|");
        WAYS.into_iter().for_each(throughput::show);
    }
    if is_wanted("latency") {
        println!(
            "\n| from event to verdict at 1,000 a second, p50 / p99 in ms | at a reader | in the table |\n|---|---|---|"
        );
        WAYS.into_iter().for_each(latency::show);
    }
    if is_wanted("stall") {
        println!(
            "\n| one of two boxes is killed; readers see no verdict for, in s | of the other box | of the killed one |\n|---|---|---|"
        );
        stall::show();
    }
}
