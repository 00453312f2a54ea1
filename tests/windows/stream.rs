//! A stream as a source would send it: transactions, what became known of them seven days later, repeats.

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

pub const DAY: i64 = 86_400;
/// When an event's label becomes known.
pub const LABEL_DELAY: i64 = 7 * DAY;
/// The longest window with its delay.
pub const LONGEST: i64 = 37 * DAY;
/// Days simulated: the longest window, and then some.
const DAYS: &str = "46";
/// One customer of so many is taken: a thousand transactions a day are enough.
const CUSTOMERS: u64 = 12;

/// A transaction and the line that tells of it.
#[derive(Clone, Debug)]
pub struct Event {
    pub id: String,
    /// Seconds since 1970.
    pub time: i64,
    pub customer: String,
    pub terminal: String,
    pub amount: f64,
    pub fraud: bool,
    pub line: String,
}

/// What comes next.
#[derive(Clone, Debug)]
pub enum Line {
    /// Index into [`Stream::events`].
    Event(usize),
    /// The same once more.
    Repeat(usize),
    Label(usize, f64),
}

pub struct Stream {
    pub events: Vec<Event>,
    pub lines: Vec<Line>,
}

impl Stream {
    /// In the order of time.
    pub fn in_order(seed: u64) -> Self {
        let events = events(seed);
        let arrivals: Vec<i64> = events.iter().map(|event| event.time).collect();
        Self::of(events, &arrivals, seed)
    }

    /// One event in ten comes late, by up to five days; a few come when no window reaches them any more.
    pub fn disordered(seed: u64) -> Self {
        let events = events(seed);
        let mut random = Pcg64Mcg::seed_from_u64(seed + 1);
        let last = events.last().map_or(0, |event| event.time);
        let arrivals = events.iter().map(|event| match random.random_range(0..500) {
            0 if event.time < last - LONGEST - 2 * DAY => last - DAY,
            0..50 => event.time + random.random_range(0..5 * DAY),
            _ => event.time,
        });
        let arrivals: Vec<i64> = arrivals.collect();
        Self::of(events, &arrivals, seed)
    }

    /// Puts labels and repeats between the events. Everything due at a time comes before an event of that time.
    fn of(events: Vec<Event>, arrivals: &[i64], seed: u64) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(seed + 2);
        let mut lines: Vec<(i64, u8, Line)> = Vec::new();
        for (n, (event, arrival)) in events.iter().zip(arrivals).enumerate() {
            lines.push((*arrival, 1, Line::Event(n)));
            if random.random_ratio(1, 40) {
                // Some at once, some much later; a label that is known by then changes nothing of it.
                let later = *[0, 60, DAY, 10 * DAY].choose(&mut random).unwrap();
                lines.push((arrival + later, 2, Line::Repeat(n)));
            }
            let due = (event.time + LABEL_DELAY).max(*arrival);
            let order = if due > *arrival { 0 } else { 2 };
            if event.fraud {
                lines.push((due, order, Line::Label(n, 1.0)));
                if random.random_ratio(1, 5) {
                    lines.push((due, order, Line::Label(n, 1.0)));
                }
            } else if random.random_ratio(1, 50) {
                // Suspected, and cleared at once.
                lines.push((due, order, Line::Label(n, 1.0)));
                lines.push((due, order, Line::Label(n, 0.0)));
            }
        }
        lines.sort_by_key(|(at, order, _)| (*at, *order));
        Self { events, lines: lines.into_iter().map(|(_, _, line)| line).collect() }
    }

    /// The line as it is sent.
    pub fn text(&self, line: &Line) -> String {
        match line {
            Line::Event(n) | Line::Repeat(n) => self.events[*n].line.clone(),
            Line::Label(n, value) => {
                json!({ "type": "verdictd.label.v1", "id": self.events[*n].id, "label": value }).to_string()
            }
        }
    }

    /// Writes it as NDJSON.
    pub fn write(&self, at: &Path, with_labels: bool) -> PathBuf {
        let mut out = std::io::BufWriter::new(std::fs::File::create(at).expect("a file"));
        for line in &self.lines {
            let is_wanted = match line {
                Line::Event(_) => true,
                Line::Repeat(_) | Line::Label(..) => with_labels,
            };
            if is_wanted {
                writeln!(out, "{}", self.text(line)).expect("a line");
            }
        }
        out.flush().expect("a file on the disk");
        at.to_owned()
    }
}

/// Transactions of a part of the simulator's customers, in the order of time; some have a second one in their second.
fn events(seed: u64) -> Vec<Event> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_verdictd"));
    let seed = seed.to_string();
    let done = command.args(["simulate", "--labels", "--days", DAYS, "--seed", &seed]).output().expect("verdictd");
    assert!(done.status.success(), "{done:?}");
    let mut events = Vec::new();
    for line in String::from_utf8(done.stdout).expect("UTF-8").lines() {
        let json: Value = serde_json::from_str(line).expect("an event");
        let text = |name: &str| json[name].as_str().expect("a text").to_owned();
        if text("CUSTOMER_ID").parse::<u64>().expect("a number") % CUSTOMERS != 0 {
            continue;
        }
        let time: jiff::Timestamp = text("TX_DATETIME").parse().expect("a time");
        let event = Event {
            id: text("TRANSACTION_ID"),
            time: time.as_second(),
            customer: text("CUSTOMER_ID"),
            terminal: text("TERMINAL_ID"),
            amount: json["TX_AMOUNT"].as_f64().expect("an amount"),
            fraud: json["TX_FRAUD"] == 1,
            line: line.to_owned(),
        };
        let twin = (events.len() % 25 == 0).then(|| {
            let mut json = json.clone();
            // In whole cents, as all are.
            let (id, amount) = (format!("{}-tie", event.id), (event.amount * 100.0 + 125.0).round() / 100.0);
            json["TRANSACTION_ID"] = json!(id);
            json["TX_AMOUNT"] = json!(amount);
            Event { id, amount, line: json.to_string(), ..event.clone() }
        });
        events.push(event);
        events.extend(twin);
    }
    events
}
