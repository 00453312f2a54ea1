//! The dedup index: from an event's fingerprint to the sequences that may be its record.
//!
//! # Shape
//!
//! [`PARTITIONS`] open-addressing tables with linear probing, chosen by the fingerprint's top bits. A slot is
//! 8 bytes: 32 bits of the fingerprint (never 0, so that an empty slot is 0) and the low 32 bits of the
//! sequence. Each table grows on its own, by a factor of about 1.2 when it is 85 % full, so the whole stays
//! under 12 bytes an event at any fill, and no resize touches more than a thousandth of it.
//!
//! # Rules
//!
//! Entries below the floor ([`Index::expire`]) are dead: never found, overwritten by an insertion that meets
//! one, dropped at the next resize. Nothing else is ever removed, so probe chains never break. At most
//! [`Index::capacity`] sequences back from the newest are kept: that is the memory budget's limit on the
//! dedup window. Sequences must stay within 2^32 of each other, which that capacity guarantees.

use super::shared::IndexFigures;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Number of tables.
const PARTITIONS: usize = 1024;
const PARTITION_BITS: u32 = PARTITIONS.trailing_zeros();
/// Bytes an entry costs at the most, the tables' own heads included, from 100,000 entries up.
pub const INDEX_ENTRY_BYTES: u64 = 12;
/// Bytes of the tables' heads.
pub const INDEX_HEAD_BYTES: u64 = (PARTITIONS * size_of::<Table>()) as u64;
/// Slots of a table with few entries.
const SLOTS_MIN: usize = 8;

/// Events that so many bytes hold.
fn capacity(budget_bytes: u64) -> u64 {
    (budget_bytes.saturating_sub(INDEX_HEAD_BYTES) / INDEX_ENTRY_BYTES).clamp(1024, 1 << 31)
}

/// Fingerprints of the events in the dedup window. Owned by one thread; no locks inside.
#[derive(Debug)]
pub struct Index {
    tables: Box<[Table]>,
    floor: u64,
    newest: u64,
    capacity: u64,
    slots: usize,
    figures: Arc<IndexFigures>,
}

#[derive(Clone, Debug, Default)]
struct Table {
    slots: Box<[u64]>,
    used: u32,
}

impl Index {
    /// An empty index that stays within `budget_bytes`.
    #[must_use]
    pub fn new(budget_bytes: u64) -> Self {
        Self {
            tables: vec![Table::default(); PARTITIONS].into_boxed_slice(),
            floor: 1,
            newest: 0,
            capacity: capacity(budget_bytes),
            slots: 0,
            figures: Arc::default(),
        }
    }

    /// Makes room for so many events at once, where nothing was inserted yet.
    pub fn reserve(&mut self, events: u64) {
        let events = usize::try_from(events.min(self.capacity)).unwrap_or(0);
        // Tables differ by about the root of their average; the fuller ones grow.
        let average = events / PARTITIONS;
        let slots = (average + average.isqrt()) * 100 / 85 + 2;
        if self.slots == 0 && average > 0 {
            self.tables.fill_with(|| Table { slots: vec![0; slots].into_boxed_slice(), used: 0 });
            self.slots = slots * PARTITIONS;
        }
    }

    /// Stays within another budget from now on. Under a smaller one the oldest expire with the next insertion, and
    /// tables shrink as they are rebuilt.
    pub fn set_budget(&mut self, budget_bytes: u64) {
        self.capacity = capacity(budget_bytes);
    }

    /// Where it tells its floor and its size.
    pub(crate) fn figures(&self) -> &Arc<IndexFigures> {
        &self.figures
    }

    /// Most events it holds; older ones expire.
    #[must_use]
    pub const fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The oldest sequence that can still be found.
    #[must_use]
    pub const fn floor(&self) -> u64 {
        self.floor
    }

    /// Sequences that may belong to this fingerprint, each to be confirmed against its record. Almost always
    /// none or one.
    pub fn find(&self, identity: u64) -> impl Iterator<Item = u64> + '_ {
        let table = &self.tables[partition(identity)];
        let tag = tag(identity);
        let len = table.slots.len();
        let home = home(identity, len);
        (0..len)
            .map(move |step| table.slots[wrap(home + step, len)])
            .take_while(|&slot| slot != 0)
            .filter(move |&slot| slot >> 32 == tag)
            .map(|slot| self.sequence(slot))
            .filter(|&sequence| sequence >= self.floor)
    }

    /// Adds an event. Sequences ascend.
    pub fn insert(&mut self, identity: u64, sequence: u64) {
        self.newest = self.newest.max(sequence);
        let forced = (self.newest + 1).saturating_sub(self.capacity);
        self.floor = self.floor.max(forced);
        let (floor, newest) = (self.floor, self.newest);
        // Only what the budget cuts: the floor is also raised by whatever else shortens the window.
        // Under a greater budget than before what has been cut stays cut.
        self.figures.floor.fetch_max(forced, Ordering::Relaxed);
        let table = &mut self.tables[partition(identity)];
        let slot = tag(identity) << 32 | (sequence & 0xffff_ffff);
        if (u64::from(table.used) + 1) * 100 > table.slots.len() as u64 * 85 {
            let before = table.slots.len();
            table.rebuild(floor, newest, partition(identity));
            let after = table.slots.len();
            self.slots = self.slots + after - before;
            let bytes = self.slots * 8 + PARTITIONS * size_of::<Table>();
            self.figures.bytes.store(bytes as u64, Ordering::Relaxed);
        }
        table.place(identity, slot, floor, newest);
    }

    /// Makes sequences below `before_sequence` not found any more. Cheap: memory is reclaimed as slots are met.
    pub fn expire(&mut self, before_sequence: u64) {
        self.floor = self.floor.max(before_sequence);
    }

    /// Events that can be found, if each sequence since the floor was inserted.
    #[must_use]
    pub const fn len(&self) -> u64 {
        (self.newest + 1).saturating_sub(self.floor)
    }

    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Memory it takes, bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.slots * 8 + PARTITIONS * size_of::<Table>()
    }

    fn sequence(&self, slot: u64) -> u64 {
        sequence_of(slot, self.newest)
    }
}

impl Table {
    fn place(&mut self, identity: u64, slot: u64, floor: u64, newest: u64) {
        let len = self.slots.len();
        let home = home(identity, len);
        for step in 0..len {
            let at = wrap(home + step, len);
            let old = self.slots[at];
            if old == 0 || sequence_of(old, newest) < floor {
                self.used += u32::from(old == 0);
                self.slots[at] = slot;
                return;
            }
        }
        debug_assert!(false, "a table is never full");
    }

    /// Drops the dead and makes room for a fifth more than the living.
    fn rebuild(&mut self, floor: u64, newest: u64, partition: usize) {
        let old = std::mem::take(&mut self.slots);
        let living = || old.iter().copied().filter(|&slot| slot != 0 && sequence_of(slot, newest) >= floor);
        let wanted = (living().count() * 142 / 100 + 2).max(SLOTS_MIN);
        self.slots = vec![0; wanted].into_boxed_slice();
        self.used = 0;
        for slot in living() {
            self.place(identity_of(slot, partition), slot, floor, newest);
        }
    }
}

/// The top bits choose the table.
const fn partition(identity: u64) -> usize {
    (identity >> (64 - PARTITION_BITS)) as usize
}

/// The 32 bits kept in the slot; they also choose the place, so that a table can be rebuilt from its slots.
const fn tag(identity: u64) -> u64 {
    let tag = identity & 0xffff_ffff;
    if tag == 0 { 1 } else { tag }
}

const fn identity_of(slot: u64, partition: usize) -> u64 {
    (partition as u64) << (64 - PARTITION_BITS) | slot >> 32
}

const fn home(identity: u64, len: usize) -> usize {
    ((tag(identity) * len as u64) >> 32) as usize
}

const fn wrap(at: usize, len: usize) -> usize {
    if at >= len { at - len } else { at }
}

/// The sequence nearest below or at `newest` that has the slot's low 32 bits.
const fn sequence_of(slot: u64, newest: u64) -> u64 {
    newest.wrapping_sub(newest.wrapping_sub(slot) & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn mix(n: u64) -> u64 {
        let mut x = n.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        x = (x ^ (x >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        x ^ (x >> 32)
    }

    #[derive(Clone, Debug)]
    enum Step {
        /// So many events; few partitions, so that tables fill and grow.
        Insert(u16),
        Expire(u16),
        Reserve(u16),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            3 => (1u16..3000).prop_map(Step::Insert),
            2 => (0u16..4000).prop_map(Step::Expire),
            1 => (0u16..4000).prop_map(Step::Reserve),
        ];
        prop::collection::vec(step, 1..20)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn it_finds_what_a_hash_map_finds(steps in steps(), start in prop_oneof![Just(1u64), Just((1 << 32) - 2000)]) {
            let mut index = Index::new(0);
            let mut model = HashMap::new();
            let mut next = start;
            index.expire(start);
            for step in steps {
                match step {
                    Step::Insert(count) => {
                        for _ in 0..count {
                            // A 64th of the partitions, and fingerprints that come again after they expired.
                            let identity = mix(next % 5000) & !(63 << 54);
                            if index.find(identity).next().is_none() {
                                index.insert(identity, next);
                                model.insert(identity, next);
                                next += 1;
                            } else {
                                next += 1;
                                index.insert(mix(next + (1 << 50)), next - 1);
                            }
                        }
                    }
                    Step::Expire(back) => index.expire(next.saturating_sub(u64::from(back))),
                    Step::Reserve(events) => index.reserve(u64::from(events)),
                }
                let floor = index.floor();
                prop_assert!(next - floor <= index.capacity());
                for (identity, sequence) in &model {
                    let found = index.find(*identity).any(|found| found == *sequence);
                    prop_assert_eq!(found, *sequence >= floor);
                }
            }
        }
    }

    #[test]
    fn an_event_takes_at_most_twelve_bytes_from_a_hundred_thousand_on() {
        let mut index = Index::new(1 << 30);
        for n in 1..=400_000 {
            index.insert(mix(n), n);
            if n >= 100_000 && n % 1000 == 0 {
                let bytes = index.bytes() as u64;
                assert!(bytes <= INDEX_ENTRY_BYTES * n, "{bytes} for {n}");
            }
        }
        let mut reserved = Index::new(1 << 30);
        reserved.reserve(300_000);
        (1..=300_000).for_each(|n| reserved.insert(mix(n), n));
        assert!(reserved.bytes() as u64 <= INDEX_ENTRY_BYTES * 300_000, "{}", reserved.bytes());
    }

    #[test]
    fn a_budget_is_kept_with_the_newest_in_it() {
        let mut index = Index::new(2 << 20);
        for n in 1..=1_000_000 {
            index.insert(mix(n), n);
        }
        assert!(index.bytes() <= 2 << 20, "{}", index.bytes());
        assert_eq!(index.len(), index.capacity());
        assert!((1_000_000 - index.capacity() + 1..=1_000_000).all(|n| index.find(mix(n)).any(|found| found == n)));
        assert_eq!(index.find(mix(1_000_000 - index.capacity())).next(), None);
    }

    #[test]
    fn only_what_the_budget_cuts_is_told_as_its_cut() {
        let mut index = Index::new(0);
        (1..=1000).for_each(|n| index.insert(mix(n), n));
        index.expire(900);
        index.insert(mix(1001), 1001);
        assert_eq!((index.floor(), index.figures().floor.load(Ordering::Relaxed)), (900, 0));
        (1002..=2000).for_each(|n| index.insert(mix(n), n));
        assert_eq!((index.floor(), index.figures().floor.load(Ordering::Relaxed)), (977, 977));
    }
}
