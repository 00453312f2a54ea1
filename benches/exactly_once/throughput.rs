//! How fast a backlog is carried.

use super::meter::median;
use super::support::from_env;
use super::support::postgres::{Postgres, Setup};
use super::way::{Box, Way, broker};
use super::{load, reader};
use std::time::{Duration, Instant};

pub fn show(way: Way) {
    let runs = from_env("EXACTLY_ONCE_RUNS", 3).max(1);
    let database = Postgres::start(Setup::default()).expect("PostgreSQL");
    let of = |database: Option<&Postgres>| median((0..runs).map(|_| events_per_second(way, database)).collect());
    println!("| {} | {:.0} | {:.0} |", way.name(), of(None), of(Some(&database)));
}

/// From the start of the carrier until the reader has the last verdict, whatever came twice.
fn events_per_second(way: Way, database: Option<&Postgres>) -> f64 {
    let count = usize::try_from(from_env("EXACTLY_ONCE_EVENTS", 300_000)).expect("a number of events");
    let broker = broker();
    load::backlog(&broker, count);
    let arrivals = reader::start(&broker, database);
    let carrier = Box::new(way, "a", &broker);
    let begun = Instant::now();
    let running = carrier.start();
    let (mut seen, mut left) = (vec![false; count], count);
    while left > 0 {
        for arrived in arrivals.recv_timeout(Duration::from_mins(2)).expect("a reader") {
            left -= usize::from(!std::mem::replace(&mut seen[arrived.id], true));
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    drop(running);
    if let Some(database) = database {
        assert_eq!(database.psql("SELECT count(*) FROM verdicts"), count.to_string());
    }
    count as f64 / seconds
}
