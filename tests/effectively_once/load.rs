//! Those who send transactions: each is sent until it is answered, some once more, whatever is killed meanwhile.

use super::support::child::poll;
use super::support::http::{Client, NDJSON};
use super::support::site::member;
use rand::Rng;
use rand_pcg::Pcg64Mcg;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

pub const KEYS: u32 = 97;

/// Events of one request, at most.
const REQUEST_EVENTS_MAX: u32 = 40;

/// What was sent and answered.
#[derive(Default)]
pub struct Answers {
    /// The verdict of each event, by its number, as its sender got it.
    pub verdicts: BTreeMap<u32, String>,
    next: u32,
    /// Answers to events that had one before: sent again without need, or because their first answer was cut off.
    pub again: u64,
    /// Requests that came to nothing and were made again.
    pub retries: u64,
}

/// The amount of an event, in quarters.
pub fn quarters(number: u32) -> i64 {
    i64::from(number.wrapping_mul(2_654_435_761) % 8000)
}

pub fn key(number: u32) -> String {
    format!("k{}", number % KEYS)
}

fn event(number: u32) -> String {
    #[allow(clippy::cast_precision_loss)] // small
    let amount = quarters(number) as f64 / 4.0;
    let key = key(number);
    format!("{{\"id\":\"{number}\",\"key\":\"{key}\",\"time\":\"2026-05-01T12:00:00Z\",\"amount\":{amount}}}\n")
}

/// Sends until told to end; then waits for the answers that are out.
///
/// `may_send` holds the sender back where the tables are far behind; it is asked again and again.
pub fn send(
    socket: &Path,
    answers: &Mutex<Answers>,
    mut random: Pcg64Mcg,
    goes_on: impl Fn() -> bool,
    may_send: impl Fn(u32) -> bool,
) {
    let mut client = None;
    while goes_on() {
        let count = random.random_range(1..=REQUEST_EVENTS_MAX);
        if !may_send(count) {
            std::thread::park_timeout(Duration::from_millis(2));
            continue;
        }
        let mut numbers: Vec<u32> = {
            let mut answers = answers.lock().unwrap();
            let first = answers.next;
            answers.next += count;
            (first..first + count).collect()
        };
        // One of long ago, also within one request with others.
        if random.random_ratio(1, 4) {
            numbers.push(random.random_range(0..=numbers[0]));
        }
        while !numbers.is_empty() {
            let body: String = numbers.iter().copied().map(event).collect();
            let reply = connected(&mut client, socket).and_then(|client| client.post(NDJSON, body).ok());
            let Some(reply) = reply.filter(|reply| reply.status == 200) else {
                client = None;
                answers.lock().unwrap().retries += 1;
                continue;
            };
            let lines = reply.lines();
            assert_eq!(lines.len(), numbers.len());
            let mut answers = answers.lock().unwrap();
            let pairs = numbers.iter().copied().zip(&lines);
            // What it could not take now comes again.
            numbers = pairs.filter(|(number, line)| !answers.enter(*number, line)).map(|(number, _)| number).collect();
        }
    }
}

fn connected<'a>(client: &'a mut Option<Client>, socket: &Path) -> Option<&'a mut Client> {
    if client.is_none() {
        // Until it is back; whoever restarts it has a watchdog of its own.
        *client = poll(Duration::from_mins(1), || Client::connect(socket).ok());
    }
    client.as_mut()
}

impl Answers {
    /// Whether it is the event's verdict; the first one that came for it must say the same, word for word.
    fn enter(&mut self, number: u32, line: &str) -> bool {
        if member(line, "decision") == Value::Null {
            assert_eq!(member(line, "status"), 503, "{line}");
            return false;
        }
        assert_eq!(member(line, "id"), number.to_string());
        if let Some(before) = self.verdicts.insert(number, line.to_owned()) {
            assert_eq!(before, line, "another answer");
            self.again += 1;
        }
        true
    }

    /// Events begun: answered, or on their way.
    pub fn begun(&self) -> u32 {
        self.next
    }
}
