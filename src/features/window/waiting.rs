//! Labels that came before their events, kept until those come.

use std::collections::{HashMap, VecDeque};

/// Labels that wait at the most; the store keeps no more either.
pub const WAITING_MAX: usize = 65_536;

/// By the fingerprints of their events' identities.
#[derive(Debug, Default)]
pub struct Waiting {
    /// The label, and which of the entries in `order` is its own.
    labels: HashMap<u64, (f64, u64)>,
    /// Oldest first; one that was taken or said anew is passed over.
    order: VecDeque<(u64, u64)>,
    next: u64,
    /// Labels that went for want of room.
    pub dropped: u64,
}

impl Waiting {
    /// Keeps it; a label said again replaces the one before. Whether another had to go.
    pub fn put(&mut self, identity: u64, value: f64) -> bool {
        self.labels.insert(identity, (value, self.next));
        self.order.push_back((identity, self.next));
        self.next += 1;
        let mut went = false;
        while self.labels.len() > WAITING_MAX {
            went |= self.drop_oldest();
        }
        // What was taken or replaced leaves a hole: never more holes than labels.
        if self.order.len() > 2 * self.labels.len().max(64) {
            let labels = &self.labels;
            self.order.retain(|(identity, own)| labels.get(identity).is_some_and(|(_, now)| now == own));
        }
        went
    }

    fn drop_oldest(&mut self) -> bool {
        while let Some((identity, own)) = self.order.pop_front() {
            if self.labels.get(&identity).is_some_and(|(_, now)| *now == own) {
                self.labels.remove(&identity);
                self.dropped += 1;
                return true;
            }
        }
        false
    }

    /// The label of an event that has come.
    pub fn take(&mut self, identity: u64) -> Option<f64> {
        if self.labels.is_empty() {
            return None;
        }
        self.labels.remove(&identity).map(|(value, _)| value)
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_on_an_event_waits_for_it_and_is_given_once() {
        let mut waiting = Waiting::default();
        waiting.put(7, 1.0);
        waiting.put(7, 0.0);
        assert_eq!((waiting.len(), waiting.take(7), waiting.take(7)), (1, Some(0.0), None));
    }

    #[test]
    fn labels_that_never_find_their_event_are_bounded_and_the_oldest_goes() {
        let mut waiting = Waiting::default();
        let most = WAITING_MAX as u64;
        (0..most).for_each(|n| assert!(!waiting.put(n, 1.0)));
        // One that is said anew is no longer the oldest.
        assert!(!waiting.put(0, 0.5));
        assert!(waiting.put(most, 1.0));
        assert_eq!((waiting.take(0), waiting.take(1), waiting.dropped), (Some(0.5), None, 1));
        for round in 0..4 * most {
            waiting.put(round % 8, 1.0);
        }
        assert!(waiting.order.len() <= 2 * waiting.len(), "{} for {}", waiting.order.len(), waiting.len());
    }
}
