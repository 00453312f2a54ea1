//! The client library's own log lines, on their way into ours.
//!
//! What an operator must know is told by the source's or the sink's state; these lines are the details, and a
//! broken link makes many of them. So each kind (`facility`, in the library's words) is let through once a
//! minute at its own level, and the others only at the level `debug`.

use crate::notice;
use rdkafka::config::RDKafkaLogLevel as Level;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Least time between two lines of a kind.
const LINE_INTERVAL: Duration = Duration::from_mins(1);
/// Kinds that are told apart; the library has a few dozen.
const KINDS_MAX: usize = 64;

/// Lets through what is worth a line.
#[derive(Debug)]
pub struct LogValve {
    /// Source or sink, and its name.
    owner: String,
    last: Mutex<BTreeMap<String, Instant>>,
}

impl LogValve {
    #[must_use]
    pub fn new(owner: String) -> Self {
        Self { owner, last: Mutex::default() }
    }

    /// Writes a line, or not.
    pub fn write(&self, level: Level, facility: &str, text: &str) {
        let owner = &self.owner;
        match level {
            // Its word on settings, which are ours and on purpose.
            _ if facility == "CONFWARN" => tracing::debug!(owner, facility, text, "Kafka client"),
            Level::Debug | Level::Info | Level::Notice => tracing::debug!(owner, facility, text, "Kafka client"),
            // Its errors are not ours: it goes on trying.
            _ if self.is_due(facility, Instant::now()) => {
                tracing::warn!(kind = notice::KAFKA_CLIENT.kind, owner, facility, text, "Kafka client");
            }
            _ => tracing::debug!(owner, facility, text, "Kafka client"),
        }
    }

    fn is_due(&self, facility: &str, now: Instant) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match last.get_mut(facility) {
            Some(at) if now.saturating_duration_since(*at) < LINE_INTERVAL => false,
            Some(at) => {
                *at = now;
                true
            }
            None => {
                let is_new = last.len() < KINDS_MAX;
                if is_new {
                    last.insert(facility.to_owned(), now);
                }
                is_new
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_line_passes_once_a_minute() {
        let valve = LogValve::new("sink bank".to_owned());
        let start = Instant::now();
        assert!(valve.is_due("FAIL", start) && valve.is_due("SASL", start));
        assert!(!valve.is_due("FAIL", start + LINE_INTERVAL / 2));
        assert!(valve.is_due("FAIL", start + LINE_INTERVAL));
        (0..2 * KINDS_MAX).for_each(|n| {
            valve.is_due(&n.to_string(), start);
        });
        assert_eq!(valve.last.lock().unwrap().len(), KINDS_MAX);
    }
}
