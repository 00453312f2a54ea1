//! What was handed to a broker's client and is not confirmed yet.

use std::collections::VecDeque;

/// Records handed over, in order. Confirmations may come in any order; the cursor follows the oldest that has
/// none.
#[derive(Debug)]
pub struct InFlight {
    records_max: usize,
    bytes_max: usize,
    bytes: usize,
    sent: VecDeque<Sent>,
}

#[derive(Debug)]
struct Sent {
    sequence: u64,
    bytes: usize,
    confirmed: bool,
}

impl InFlight {
    #[must_use]
    pub fn new(records_max: usize, bytes_max: usize) -> Self {
        Self { records_max: records_max.max(1), bytes_max, bytes: 0, sent: VecDeque::new() }
    }

    /// Whether one more may be handed over. A single record may be larger than the limit of bytes.
    #[must_use]
    pub fn has_room(&self, bytes: usize) -> bool {
        self.sent.is_empty() || (self.sent.len() < self.records_max && self.bytes + bytes <= self.bytes_max)
    }

    /// Notes a record as handed over; sequences ascend.
    pub fn push(&mut self, sequence: u64, bytes: usize) {
        self.bytes += bytes;
        self.sent.push_back(Sent { sequence, bytes, confirmed: false });
    }

    /// Notes a confirmation. Returns how many records it frees: those at the front that are all confirmed.
    pub fn confirm(&mut self, sequence: u64) -> u64 {
        // As a rule it is the first.
        let at = match self.sent.front() {
            Some(first) if first.sequence == sequence => Some(0),
            _ => self.sent.binary_search_by_key(&sequence, |sent| sent.sequence).ok(),
        };
        if let Some(sent) = at.and_then(|at| self.sent.get_mut(at)) {
            sent.confirmed = true;
        }
        let mut freed = 0;
        while let Some(first) = self.sent.front().filter(|first| first.confirmed) {
            self.bytes -= first.bytes;
            self.sent.pop_front();
            freed += 1;
        }
        freed
    }

    /// The oldest record that is not confirmed: where a sink goes on after a failure.
    #[must_use]
    pub fn first(&self) -> Option<u64> {
        self.sent.front().map(|sent| sent.sequence)
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.sent.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Forgets all: they are handed over anew.
    pub fn clear(&mut self) {
        self.sent.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_limits_hold_and_one_large_record_still_passes() {
        let mut flight = InFlight::new(2, 100);
        assert!(flight.has_room(1000));
        flight.push(1, 1000);
        assert!(!flight.has_room(1));
        assert_eq!(flight.confirm(1), 1);
        flight.push(2, 50);
        assert!(flight.has_room(50) && !flight.has_room(51));
        flight.push(5, 50);
        assert!(!flight.has_room(0));
    }

    proptest! {
        #[test]
        fn the_first_unconfirmed_is_never_passed(order in Just((0..40u64).collect::<Vec<_>>()).prop_shuffle()) {
            let mut flight = InFlight::new(100, 100);
            (0..40).for_each(|n| flight.push(n, 1));
            let mut confirmed = Vec::new();
            let mut freed = 0;
            for n in order {
                freed += flight.confirm(n);
                confirmed.push(n);
                let expected = (0..40).find(|n| !confirmed.contains(n));
                prop_assert_eq!(flight.first(), expected);
                prop_assert_eq!(freed, expected.unwrap_or(40));
                prop_assert_eq!(flight.bytes(), flight.len());
            }
        }
    }
}
