//! How long readers stand still when one of two boxes is killed, which share the events between them.
//!
//! Of the second way it is killed with a transaction open. What a reader waits for then is that the transaction ends:
//! by the box's own next start, or by the broker, which gives it up after its time-out.

use super::latency::RATE;
use super::load::Rate;
use super::reader::{self, Arrived};
use super::way::{Box, Way, broker};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_millis(100);

/// Watched from the kill on. A group gives a silent member up after 45 s, Kafka a transaction after 60 s and up to 10 more.
const WATCHED: Duration = Duration::from_secs(100);
/// The same where the box is back at once.
const WATCHED_SHORT: Duration = Duration::from_secs(20);

/// Verdicts of a box that must have come before anything is killed.
const FLOWING: u32 = 2000;

pub fn show() {
    let shorter = Way::Transactions { interval: INTERVAL, timeout: Duration::from_secs(10) };
    for (way, timeout) in [
        (Way::AtLeastOnce, ""),
        (Way::transactions(INTERVAL), ", transaction.timeout.ms = 60000 (the default)"),
        (shorter, ", transaction.timeout.ms = 10000"),
    ] {
        let (other, own) = gaps(way, true);
        println!("| {}{timeout}; started again at once | {other:.1} | {own:.1} |", way.name());
        let (other, _) = gaps(way, false);
        println!("| {}{timeout}; stays away | {other:.1} | |", way.name());
    }
}

/// The longest time without a verdict from the kill on: of the box that lives, and of the one that is killed.
fn gaps(way: Way, comes_back: bool) -> (f64, f64) {
    let broker = broker();
    let arrivals = reader::start(&broker, None);
    let [victim, other] = ["a", "b"].map(|name| Box::new(way, name, &broker));
    let (running, _other) = (victim.start(), other.start());
    let load = Rate::start(&broker, RATE);
    flow(&arrivals);
    running.kill();
    let killed = Instant::now();
    let _again = comes_back.then(|| victim.start());
    let end = killed + if comes_back { WATCHED_SHORT } else { WATCHED };
    let mut gaps = ["b", "a"].map(|source| Gap { source, last: killed, longest: Duration::ZERO });
    while Instant::now() < end {
        for arrived in arrivals.recv().expect("a reader") {
            for gap in &mut gaps {
                gap.see(&arrived);
            }
        }
    }
    load.end();
    let [other, own] = gaps.map(|gap| gap.to(end).as_secs_f64());
    (other, own)
}

/// Waits until verdicts of both boxes come.
fn flow(arrivals: &Receiver<Vec<Arrived>>) {
    let mut seen = [0, 0];
    while seen.iter().any(|seen| *seen < FLOWING) {
        for arrived in arrivals.recv_timeout(Duration::from_mins(2)).expect("a reader") {
            seen[usize::from(arrived.source == "b")] += 1;
        }
    }
}

/// The longest time without a verdict of a box.
struct Gap {
    source: &'static str,
    last: Instant,
    longest: Duration,
}

impl Gap {
    fn see(&mut self, arrived: &Arrived) {
        if arrived.source == self.source {
            self.longest = self.longest.max(arrived.read.saturating_duration_since(self.last));
            self.last = self.last.max(arrived.read);
        }
    }

    /// With what has not come until then.
    fn to(self, end: Instant) -> Duration {
        self.longest.max(end.saturating_duration_since(self.last))
    }
}
