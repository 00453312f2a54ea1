//! What is sent: for each connection, bodies in order.

use crate::simulate::{Options, Simulator};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

/// Connections that post single events.
pub const SINGLE_SENDERS: usize = 4;
/// Connections that post NDJSON.
pub const BATCH_SENDERS: usize = 2;
/// Lines of one NDJSON body.
pub const BATCH_LINES: usize = 100;
/// Of ten bodies' worth of events, so many go as single posts.
const SINGLES_IN_TEN: usize = 1;

/// What one line of a body is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// The first arrival of event `n`.
    First(usize),
    /// Event `n` once more, behind its first arrival on the same connection.
    Repeat(usize),
    /// The id of event `n` with another payload.
    Conflict(usize),
    /// No event at all.
    Malformed(Vec<u8>),
}

/// Events and the bodies that carry them.
pub struct Plan {
    /// Each event's JSON.
    texts: Vec<Vec<u8>>,
    /// For each connection its bodies, each some lines.
    senders: Vec<Vec<Vec<Line>>>,
    kill_after: usize,
}

impl Plan {
    #[must_use]
    pub fn new(seed: u64, events: usize) -> Self {
        let texts: Vec<Vec<u8>> = Simulator::new(seed, &Options::default())
            .take(events)
            .map(|transaction| {
                let mut text = Vec::new();
                transaction.write_json(&mut text);
                text
            })
            .collect();
        let mut random = Pcg64::seed_from_u64(seed);
        let mut senders = vec![Vec::new(); SINGLE_SENDERS + BATCH_SENDERS];
        let mut event = 0;
        let mut turn = 0;
        while event < events {
            let many = (events - event).min(BATCH_LINES);
            let lines = Self::lines(&mut random, event..event + many);
            event += many;
            turn += 1;
            if turn % 10 < SINGLES_IN_TEN {
                for (n, line) in lines.into_iter().enumerate() {
                    // What belongs to one event stays on one connection, behind it.
                    let place = match &line {
                        Line::First(n) | Line::Repeat(n) | Line::Conflict(n) => *n,
                        Line::Malformed(_) => n,
                    };
                    senders[place % SINGLE_SENDERS].push(vec![line]);
                }
            } else {
                senders[SINGLE_SENDERS + turn % BATCH_SENDERS].push(lines);
            }
        }
        let kill_after = events * random.random_range(35..65) / 100;
        Self { texts, senders, kill_after }
    }

    fn lines(random: &mut Pcg64, events: std::ops::Range<usize>) -> Vec<Line> {
        let mut lines = Vec::new();
        for n in events {
            lines.push(Line::First(n));
            match random.random_range(0..200) {
                0..10 => lines.push(Line::Repeat(n)),
                10 => lines.push(Line::Conflict(n)),
                11 => lines.push(Line::Malformed(malformed(random, n))),
                _ => {}
            }
        }
        lines
    }

    #[must_use]
    pub fn events(&self) -> usize {
        self.texts.len()
    }

    /// Acknowledged events after which the daemon is killed.
    #[must_use]
    pub fn kill_after(&self) -> usize {
        self.kill_after
    }

    #[must_use]
    pub fn senders(&self) -> &[Vec<Vec<Line>>] {
        &self.senders
    }

    /// All lines that hold for no event: `quarantine` must know each.
    pub fn malformed(&self) -> impl Iterator<Item = &[u8]> {
        self.senders.iter().flatten().flatten().filter_map(|line| match line {
            Line::Malformed(text) => Some(text.as_slice()),
            _ => None,
        })
    }

    /// A line's bytes, without a line end.
    #[must_use]
    pub fn text(&self, line: &Line) -> Vec<u8> {
        match line {
            Line::First(n) | Line::Repeat(n) => self.texts.get(*n).cloned().unwrap_or_default(),
            // One more member makes it another JSON value.
            Line::Conflict(n) => {
                let mut text = self.texts.get(*n).cloned().unwrap_or_default();
                text.pop();
                text.extend_from_slice(b",\"TAMPERED\":true}");
                text
            }
            Line::Malformed(text) => text.clone(),
        }
    }
}

/// One of the ways in which senders go wrong; `n` makes it findable.
fn malformed(random: &mut Pcg64, n: usize) -> Vec<u8> {
    match random.random_range(0..4) {
        0 => format!("{{\"TRANSACTION_ID\":\"m{n}\",\"TX_AMOUNT\":").into_bytes(),
        1 => format!("{{\"TX_AMOUNT\":{n}.5}}").into_bytes(),
        2 => format!("{{\"TRANSACTION_ID\":\"m{n}\",\"TX_AMOUNT\":1,\"TX_AMOUNT\":2}}").into_bytes(),
        _ => format!("{{\"TRANSACTION_ID\":\"m{n}\",\"TX_DATETIME\":\"yesterday\"}}").into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_goes_out_once_first_and_what_refers_to_it_follows_on_its_connection() {
        let plan = Plan::new(3, 5000);
        let mut first = vec![0; 5000];
        for bodies in plan.senders() {
            let mut seen = std::collections::HashSet::new();
            for line in bodies.iter().flatten() {
                match line {
                    Line::First(n) => {
                        first[*n] += 1;
                        seen.insert(*n);
                    }
                    Line::Repeat(n) | Line::Conflict(n) => assert!(seen.contains(n)),
                    Line::Malformed(_) => {}
                }
            }
        }
        assert!(first.iter().all(|count| *count == 1));
        assert!(plan.malformed().count() > 5);
    }
}
