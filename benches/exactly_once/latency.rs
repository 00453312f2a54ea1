//! How long it takes from an event to its verdict.

use super::load::Rate;
use super::reader;
use super::support::postgres::{Postgres, Setup};
use super::way::{Box, Way, broker};
use std::time::{Duration, Instant};

pub const RATE: u32 = 1000;
const RUN: Duration = Duration::from_secs(26);
/// Sent before counts for nothing: clients connect and join their groups.
const WARM_UP: Duration = Duration::from_secs(6);

pub fn show(way: Way) {
    let database = Postgres::start(Setup::default()).expect("PostgreSQL");
    let broker = broker();
    let arrivals = reader::start(&broker, Some(&database));
    let carrier = Box::new(way, "a", &broker);
    let _running = carrier.start();
    let begun = Instant::now();
    let load = Rate::start(&broker, RATE);
    let mut came = Vec::new();
    let mut take = |arrived: Vec<reader::Arrived>| {
        for arrived in arrived {
            if came.len() <= arrived.id {
                came.resize(arrived.id + 1, None);
            }
            came[arrived.id].get_or_insert((arrived.read, arrived.stored));
        }
        came.iter().flatten().count()
    };
    while begun.elapsed() < RUN {
        take(arrivals.recv().expect("a reader"));
    }
    let sent = load.end();
    while take(arrivals.recv_timeout(Duration::from_mins(2)).expect("a reader")) < sent.len() {}
    let counted = || sent.iter().zip(&came).filter(|(sent, _)| **sent > begun + WARM_UP);
    let millis = |from: &Instant, to: Instant| to.saturating_duration_since(*from).as_secs_f64() * 1e3;
    let read = counted().map(|(sent, came)| millis(sent, came.expect("its arrival").0));
    let stored = counted().map(|(sent, came)| millis(sent, came.expect("its arrival").1));
    println!("| {} | {} | {} |", way.name(), percentiles(read.collect()), percentiles(stored.collect()));
}

fn percentiles(mut millis: Vec<f64>) -> String {
    millis.sort_by(f64::total_cmp);
    let at = |percent: usize| millis.get(millis.len() * percent / 100).copied().unwrap_or(f64::NAN);
    format!("{:.1} / {:.1}", at(50), at(99))
}
