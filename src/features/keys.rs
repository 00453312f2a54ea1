//! The keys of a list as 64-bit fingerprints: 10 bytes a key, whatever its length.
//!
//! An open table without tombstones: it is filled once and never changed. Fingerprints are keyed with a seed of the
//! process, so that nobody can choose a key that is taken for another; of four million keys a stranger is one by chance
//! in 4.6 × 10^12.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::LazyLock;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// What stands in an empty place; a key of that fingerprint has [`STAND_IN`].
const EMPTY: u64 = 0;
const STAND_IN: u64 = 1;

static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().build_hasher().finish());

/// A set of keys.
#[derive(Debug, Default)]
pub(super) struct Keys {
    places: Box<[u64]>,
    count: usize,
}

pub(super) fn fingerprint(key: &str) -> u64 {
    match xxh3_64_with_seed(key.as_bytes(), *SEED) {
        EMPTY => STAND_IN,
        fingerprint => fingerprint,
    }
}

impl Keys {
    /// Room for so many keys.
    pub fn with_room(keys: usize) -> Self {
        Self { places: vec![EMPTY; Self::places_for(keys)].into(), count: 0 }
    }

    /// Bytes that so many keys take.
    pub fn bytes_of(keys: usize) -> usize {
        Self::places_for(keys) * size_of::<u64>()
    }

    /// Four fifths full at most, and always a place that is empty, where a search ends.
    fn places_for(keys: usize) -> usize {
        keys + keys / 4 + 1
    }

    /// Puts a key in. False: there is no room.
    pub fn insert(&mut self, fingerprint: u64) -> bool {
        let mut at = self.home(fingerprint);
        // One place stays empty.
        if self.count + 1 >= self.places.len() {
            return self.has(fingerprint);
        }
        loop {
            let next = if at + 1 == self.places.len() { 0 } else { at + 1 };
            match self.places.get_mut(at) {
                Some(place) if *place == EMPTY => {
                    *place = fingerprint;
                    self.count += 1;
                    return true;
                }
                Some(place) if *place == fingerprint => return true,
                Some(_) => at = next,
                None => return false,
            }
        }
    }

    pub fn has(&self, fingerprint: u64) -> bool {
        let home = self.home(fingerprint);
        let (before, from) = self.places.split_at_checked(home).unwrap_or_default();
        for place in from.iter().chain(before) {
            if *place == fingerprint {
                return true;
            }
            if *place == EMPTY {
                return false;
            }
        }
        false
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn bytes(&self) -> usize {
        self.places.len() * size_of::<u64>()
    }

    /// Where a search begins: the fingerprint's share of the table.
    fn home(&self, fingerprint: u64) -> usize {
        // Below the table's length by the shift.
        #[allow(clippy::cast_possible_truncation)]
        let home = ((u128::from(fingerprint) * self.places.len() as u128) >> 64) as usize;
        home
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_holds_what_was_put_in_and_nothing_else() {
        let mut keys = Keys::with_room(1_000);
        for n in 0..1_000 {
            assert!(keys.insert(fingerprint(&n.to_string())));
            assert!(keys.insert(fingerprint(&n.to_string())), "twice is once");
        }
        assert_eq!((keys.len(), keys.bytes()), (1_000, 1_251 * 8));
        for n in 0..2_000 {
            assert_eq!(keys.has(fingerprint(&n.to_string())), n < 1_000, "{n}");
        }
    }

    #[test]
    fn a_full_table_takes_no_more_and_a_search_in_it_ends() {
        let mut keys = Keys::with_room(0);
        assert!(!keys.insert(7) && !keys.has(7));
        let mut keys = Keys::with_room(4);
        let taken = (1..100).filter(|n| keys.insert(u64::MAX - n)).count();
        assert_eq!((taken, keys.len()), (5, 5));
        assert!(!keys.has(3));
        assert!(!Keys::default().has(3) && !Keys::default().insert(3));
    }
}
