//! Where the keys of a stream stand: a table of open addressing, small enough to stay near to the processor.
//!
//! A slot is 8 bytes: half of the key's hash, which also says where the slot should be, and the place. Keys that share
//! that half are told apart by who asks. Slots that should be one stand behind each other; at most three quarters are
//! in use.

/// Slots of the smallest table.
const SLOTS_MIN: usize = 16;

/// Places of keys, which are hashes.
#[derive(Debug, Default)]
pub struct Places {
    /// Half of the hash above, the place and one below; 0 is free. As many as a power of two, or none.
    slots: Vec<u64>,
    len: usize,
}

impl Places {
    /// The first place of a key like this that `is` takes.
    pub fn find(&self, key: u64, is: impl Fn(usize) -> bool) -> Option<usize> {
        let half = key >> 32;
        let mut at = self.home(half);
        loop {
            let slot = self.slots.get(at).copied().filter(|slot| *slot != 0)?;
            if slot >> 32 == half && is(place(slot)) {
                return Some(place(slot));
            }
            at = self.behind(at);
        }
    }

    /// Takes in a key that is not there. False: the place is beyond what a slot holds.
    pub fn insert(&mut self, key: u64, place: usize) -> bool {
        let Some(slot) = slot(key, place) else { return false };
        if (self.len + 1) * 4 > self.slots.len() * 3 {
            self.rebuild((self.slots.len() * 2).max(SLOTS_MIN));
        }
        self.put(slot);
        self.len += 1;
        true
    }

    /// Gives up a key that stands there.
    pub fn remove(&mut self, key: u64, place: usize) {
        let Some(mut hole) = self.at(key, place) else { return };
        self.len -= 1;
        let mut at = hole;
        loop {
            at = self.behind(at);
            let Some(slot) = self.slots.get(at).copied().filter(|slot| *slot != 0) else { break };
            // It may move up unless it should be behind the hole.
            let (wanted, mask) = (self.home(slot >> 32), self.slots.len() - 1);
            if at.wrapping_sub(wanted) & mask >= at.wrapping_sub(hole) & mask {
                self.set(hole, slot);
                hole = at;
            }
        }
        self.set(hole, 0);
    }

    /// Has a key that stands at `from` stand at `to`.
    pub fn replace(&mut self, key: u64, from: usize, to: usize) {
        if let (Some(at), Some(slot)) = (self.at(key, from), slot(key, to)) {
            self.set(at, slot);
        }
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<u64>()
    }

    /// Gives back room that is no longer needed.
    pub fn shrink(&mut self) {
        let slots = (self.len * 2).next_power_of_two().max(SLOTS_MIN);
        if slots < self.slots.len() / 2 {
            self.rebuild(slots);
        }
    }

    fn at(&self, key: u64, place: usize) -> Option<usize> {
        let wanted = slot(key, place)?;
        let mut at = self.home(key >> 32);
        loop {
            let slot = self.slots.get(at).copied().filter(|slot| *slot != 0)?;
            if slot == wanted {
                return Some(at);
            }
            at = self.behind(at);
        }
    }

    /// Where a slot should be.
    #[allow(clippy::cast_possible_truncation)] // 32 bits
    fn home(&self, half: u64) -> usize {
        half as usize & self.slots.len().wrapping_sub(1)
    }

    fn behind(&self, at: usize) -> usize {
        (at + 1) & self.slots.len().wrapping_sub(1)
    }

    fn set(&mut self, at: usize, slot: u64) {
        if let Some(there) = self.slots.get_mut(at) {
            *there = slot;
        }
    }

    /// Puts a slot at the first free one from where it should be; there is one.
    fn put(&mut self, slot: u64) {
        let mut at = self.home(slot >> 32);
        while self.slots.get(at).is_some_and(|there| *there != 0) {
            at = self.behind(at);
        }
        self.set(at, slot);
    }

    fn rebuild(&mut self, slots: usize) {
        let before = std::mem::replace(&mut self.slots, vec![0; slots]);
        before.into_iter().filter(|slot| *slot != 0).for_each(|slot| self.put(slot));
    }
}

fn slot(key: u64, place: usize) -> Option<u64> {
    let below = u32::try_from(place).ok()?.checked_add(1)?;
    Some(key >> 32 << 32 | u64::from(below))
}

/// The place of a slot that is in use.
#[allow(clippy::cast_possible_truncation)] // the half
fn place(slot: u64) -> usize {
    (slot as u32 as usize).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_are_found_where_they_stand_though_many_want_the_same_slot(
            ops in prop::collection::vec((0_u8..4, 0_u64..24, 0_u64..2), 1..600),
        ) {
            // As a stream has them: one after the other, the last one takes the place of one that goes.
            let (mut places, mut keys) = (Places::default(), Vec::<u64>::new());
            for (op, above, below) in ops {
                // The half that counts ends alike, at the end of the table too.
                let key = (above * 8 % 60 + 0xffff_fff8) << 32 | below;
                let there = keys.iter().position(|there| *there == key);
                prop_assert_eq!(places.find(key, |place| keys[place] == key), there);
                match (op, there) {
                    (0, Some(at)) => {
                        keys.swap_remove(at);
                        places.remove(key, at);
                        if let Some(moved) = keys.get(at) {
                            places.replace(*moved, keys.len(), at);
                        }
                        places.shrink();
                    }
                    (_, None) => {
                        prop_assert!(places.insert(key, keys.len()));
                        keys.push(key);
                    }
                    _ => {}
                }
                prop_assert_eq!(places.len, keys.len());
                for (at, key) in keys.iter().enumerate() {
                    prop_assert_eq!(places.find(*key, |place| keys[place] == *key), Some(at));
                }
            }
        }
    }

    #[test]
    fn room_is_given_back() {
        let mut places = Places::default();
        (0..100_000).for_each(|n| assert!(places.insert((n as u64) << 32, n)));
        let full = places.bytes();
        (100..100_000).for_each(|n| places.remove((n as u64) << 32, n));
        places.shrink();
        assert!(full <= 100_000 * 22 && places.bytes() <= 4_096, "{full}, then {}", places.bytes());
        assert!((0..100).all(|n| places.find((n as u64) << 32, |_| true) == Some(n)));
    }
}
