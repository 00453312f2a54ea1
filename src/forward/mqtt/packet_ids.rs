//! Which record went out under which packet id.

use std::collections::VecDeque;

/// Packet ids of what is in flight, in the order in which they were given. Ids go round: at most 65,535 may be in
/// flight, and a connection of its own starts anew.
#[derive(Debug, Default)]
pub(super) struct PacketIds {
    last: u16,
    given: VecDeque<(u16, u64)>,
}

impl PacketIds {
    /// An id for a record.
    pub fn give(&mut self, sequence: u64) -> u16 {
        self.last = self.last.checked_add(1).unwrap_or(1);
        self.given.push_back((self.last, sequence));
        self.last
    }

    /// The record that a packet id was given to; it is free then. None where it was given to none.
    pub fn take(&mut self, packet_id: u16) -> Option<u64> {
        // Brokers confirm in order: as a rule it is the first.
        let at = self.given.iter().position(|(id, _)| *id == packet_id)?;
        self.given.remove(at).map(|(_, sequence)| sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_never_zero_and_leads_back_to_its_record_in_any_order() {
        let mut ids = PacketIds::default();
        let mut flight = VecDeque::new();
        for sequence in 0..200_000u64 {
            let id = ids.give(sequence);
            assert_ne!(id, 0);
            flight.push_back((id, sequence));
            if flight.len() > 100 {
                let out_of_order = usize::from(sequence % 3 == 0) * 5;
                let (id, sequence) = flight.remove(out_of_order).unwrap();
                assert_eq!(ids.take(id), Some(sequence));
                assert_eq!(ids.take(id), None);
            }
        }
    }
}
