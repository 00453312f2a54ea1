//! The observations in the store: which chunks there are, how new ones are added, which may go.
//!
//! # Rules
//!
//! - The observations of a commit go into the chunk that is open, as long as its rows have fewer than
//!   [`OPEN_BYTES_MAX`] bytes: it is then written anew, under its key. So single events make chunks of some 60, not a
//!   key each, and a big commit fills chunks to the brim.
//! - A chunk goes when the windows' horizon has passed its watermark; oldest first, a bounded number a commit.
//! - Of each chunk a few words are in memory ([`KNOWN_BYTES`] bytes): where it starts, its times, its length.

use super::error::StoreError;
use super::frame::{self, Kind};
use super::keys;
use super::medium::Medium;
use super::observation::{Filling, Head, ObservationChunk, Observed};
use super::schema::Schema;
use super::writer::ENTRY_OVERHEAD;
use std::collections::VecDeque;
use std::sync::Arc;

/// A chunk whose rows are shorter is written anew with the next commit's in it, bytes.
const OPEN_BYTES_MAX: usize = 1536;
/// Memory for each chunk, bytes.
const KNOWN_BYTES: usize = size_of::<Known>();

/// What is known of a chunk without reading it.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    pub first: u64,
    pub newest_us: i64,
    pub earliest_us: i64,
    pub latest_us: i64,
    pub count: u16,
    /// Of its value, with what the log engine adds.
    bytes: u16,
}

/// The chunks there are, ascending. The writer's and the store's.
#[derive(Debug, Default)]
pub struct ObservationList {
    chunks: VecDeque<Known>,
    count: u64,
    bytes: u64,
}

impl ObservationList {
    /// Takes note of a chunk as it is stored now, and gives by how much the bytes grow.
    fn put(&mut self, head: &Head, stored: usize) -> i64 {
        let bytes = stored as u64 + ENTRY_OVERHEAD;
        let before = self.bytes;
        if self.chunks.back().is_some_and(|last| last.first == head.first)
            && let Some(last) = self.chunks.pop_back()
        {
            self.count -= u64::from(last.count);
            self.bytes -= u64::from(last.bytes);
        }
        let bytes = u16::try_from(bytes).unwrap_or(u16::MAX);
        self.count += u64::from(head.count);
        self.bytes += u64::from(bytes);
        let Head { first, newest_us, earliest_us, latest_us, count, .. } = *head;
        self.chunks.push_back(Known { first, newest_us, earliest_us, latest_us, count, bytes });
        self.bytes.cast_signed() - before.cast_signed()
    }

    /// Lets the oldest chunk go, if the horizon has passed it: its first sequence and bytes.
    fn pop(&mut self, horizon_us: i64) -> Option<(u64, u64)> {
        let oldest = self.chunks.front().filter(|chunk| chunk.newest_us <= horizon_us)?;
        let gone = (oldest.first, u64::from(oldest.bytes));
        self.count -= u64::from(oldest.count);
        self.bytes -= gone.1;
        self.chunks.pop_front();
        Some(gone)
    }

    /// First sequences of the chunks with an observation of that time in their range, newest first.
    pub fn around(&self, time_us: i64) -> Vec<u64> {
        let around = self.chunks.iter().rev().filter(|chunk| (chunk.earliest_us..=chunk.latest_us).contains(&time_us));
        around.map(|chunk| chunk.first).collect()
    }

    pub fn chunks(&self) -> u64 {
        self.chunks.len() as u64
    }

    /// Observations kept.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Bytes of their values.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Memory it takes, bytes.
    pub fn memory(&self) -> u64 {
        (self.chunks.capacity() * KNOWN_BYTES) as u64
    }

    /// The least event time in the oldest chunk, microseconds since 1970.
    pub fn since_us(&self) -> Option<i64> {
        self.chunks.front().map(|chunk| chunk.earliest_us)
    }
}

/// The writer's part.
#[derive(Debug, Default)]
pub struct ObservationLog {
    filling: Option<Filling>,
    /// Number of the next observation.
    next: u64,
    /// Nothing at or before it is needed; none told since the start.
    pub horizon_us: Option<i64>,
}

/// What new observations change in the store.
#[derive(Debug, Default)]
pub struct Added {
    pub put: Vec<([u8; 9], Vec<u8>)>,
    /// By how much the bytes in use grow.
    pub grown: i64,
}

impl ObservationLog {
    /// Makes the values of new observations.
    pub fn append(&mut self, observed: &Observed, commit: u64, list: &mut ObservationList) -> Added {
        let mut added = Added::default();
        let width = observed.schema.columns.len();
        let mut filling = self.filling.take().filter(|filling| {
            let is_same = Arc::ptr_eq(&filling.schema, &observed.schema) || filling.schema == observed.schema;
            is_same && filling.row_bytes() < OPEN_BYTES_MAX
        });
        for (n, row) in observed.rows.iter().enumerate() {
            let cells = observed.cells.get(n * width..(n + 1) * width).unwrap_or_default();
            if !filling.as_mut().is_some_and(|filling| filling.append(row, cells)) {
                if let Some(full) = filling.take() {
                    self.store(full, observed.newest_us, commit, list, &mut added);
                }
                let mut next = Filling::new(row, self.next, &observed.schema);
                next.append(row, cells);
                filling = Some(next);
            }
            self.next += 1;
        }
        if let Some(last) = filling {
            self.filling = Some(self.store(last, observed.newest_us, commit, list, &mut added));
        }
        added
    }

    fn store(
        &self,
        mut filling: Filling,
        newest_us: i64,
        commit: u64,
        list: &mut ObservationList,
        added: &mut Added,
    ) -> Filling {
        filling.head.newest_us = newest_us;
        let value = frame::wrap(Kind::Observation, commit, &filling.body());
        added.grown += list.put(&filling.head, value.len());
        added.put.push((keys::observation(filling.head.first), value));
        filling
    }

    /// Lets the oldest chunk go, if it may: its key and bytes.
    pub fn trim(&mut self, list: &mut ObservationList) -> Option<([u8; 9], u64)> {
        let (first, bytes) = list.pop(self.horizon_us?)?;
        if self.filling.as_ref().is_some_and(|filling| filling.head.first == first) {
            self.filling = None;
        }
        Some((keys::observation(first), bytes))
    }
}

/// What the store's observations are at its opening.
#[derive(Debug, Default)]
pub struct Found {
    pub list: ObservationList,
    pub log: ObservationLog,
    /// Chunks that are damaged.
    pub damaged: u64,
    /// Observations that are missing between two chunks.
    pub missing: u64,
    /// The watermark behind the last.
    pub newest_us: Option<i64>,
}

/// Reads the heads of all chunks, and the last one.
pub fn read(medium: &Medium) -> Result<Found, StoreError> {
    let mut found = Found::default();
    let mut last = None;
    for entry in medium.scan(keys::OBSERVATION, &[keys::OBSERVATION]) {
        let (key, value) = entry?;
        let Some(head) = head(&key, &value) else {
            found.damaged += 1;
            continue;
        };
        if found.list.chunks() > 0 {
            found.missing += head.number.abs_diff(found.log.next);
        }
        found.log.next = head.number.saturating_add(u64::from(head.count));
        found.list.put(&head, value.len());
        found.newest_us = Some(head.newest_us);
        last = Some((key, value, head.number));
    }
    if let Some((key, value, number)) = last {
        match decode(&key, &value, None) {
            Some(chunk) => found.log.filling = Filling::reopened(&chunk, number),
            None => found.damaged += 1,
        }
    }
    Ok(found)
}

/// The head of a chunk as its key and value say, if both agree.
pub fn head(key: &[u8], value: &[u8]) -> Option<Head> {
    let first = keys::observation_first(key)?;
    let head = Head::of(&frame::unwrap(Kind::Observation, value).ok()?.body).ok()?;
    (head.first == first).then_some(head)
}

/// A chunk as its key and value say, if both agree.
pub fn decode(key: &[u8], value: &[u8], like: Option<&Arc<Schema>>) -> Option<ObservationChunk> {
    let framed = frame::unwrap(Kind::Observation, value).ok()?;
    let chunk = ObservationChunk::decode_like(&framed.body, like).ok()?;
    (keys::observation_first(key) == Some(chunk.first)).then_some(chunk)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::CellKind;
    use crate::store::observation::Observation;
    use crate::store::schema::{COLUMNS_MAX, NAMES_BYTES_MAX};
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    struct Row {
        step: u64,
        time_us: i64,
        identity: u64,
        counted: bool,
        cells: [u64; 4],
    }

    fn number() -> impl Strategy<Value = u64> {
        prop_oneof![
            4 => (-1_000_000i64..1_000_000).prop_map(|n| (f64::from(i32::try_from(n).unwrap()) / 100.0).to_bits()),
            1 => Just(f64::NAN.to_bits()),
            1 => Just((-0.0f64).to_bits()),
            2 => any::<f64>().prop_map(f64::to_bits),
            1 => any::<u64>(),
        ]
    }

    fn hash() -> impl Strategy<Value = u64> {
        prop_oneof![1 => Just(0u64), 6 => any::<u64>()]
    }

    fn row() -> impl Strategy<Value = Row> {
        let step = prop_oneof![6 => Just(1u64), 1 => 1u64..1 << 40];
        let time = prop_oneof![
            4 => (0i64..10_000_000).prop_map(|s| s * 1_000_000),
            1 => (0i64..10_000_000_000).prop_map(|ms| ms * 1_000),
            1 => any::<i64>(),
        ];
        let cells = (hash(), number(), number(), hash()).prop_map(|(a, b, c, d)| [a, b, c, d]);
        (step, time, any::<u64>(), any::<bool>(), cells).prop_map(|(step, time_us, identity, counted, cells)| Row {
            step,
            time_us,
            identity,
            counted,
            cells,
        })
    }

    fn schema(other: bool) -> Arc<Schema> {
        let columns = [
            (CellKind::Hash, "key /A"),
            (CellKind::Number, "number /B"),
            (CellKind::Number, if other { "number /Ö" } else { "number /C" }),
            (CellKind::Hash, "text /D"),
        ];
        Arc::new(Schema { columns: columns.map(|(kind, name)| (kind, name.to_owned())).to_vec() })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn any_observations_come_back_as_they_were(
            commits in prop::collection::vec((prop::collection::vec(row(), 1..400), any::<bool>(), any::<i64>()), 1..8),
            first in 0u64..1 << 50,
            reopened in any::<prop::sample::Index>(),
        ) {
            let (mut log, mut list) = (ObservationLog::default(), ObservationList::default());
            let mut stored = std::collections::BTreeMap::new();
            let mut expected = Vec::new();
            let mut sequence = first;
            let mut grown = 0;
            let reopened = reopened.index(commits.len());
            for (n, (rows, other, newest_us)) in commits.into_iter().enumerate() {
                let schema = schema(other);
                let mut observed = Observed { schema: Arc::clone(&schema), rows: vec![], cells: vec![], newest_us };
                for row in rows {
                    sequence += row.step;
                    let Row { time_us, identity, counted, cells, .. } = row;
                    observed.rows.push(Observation { sequence, time_us, identity, counted });
                    observed.cells.extend(cells);
                    expected.push((Observation { sequence, time_us, identity, counted }, cells, Arc::clone(&schema)));
                }
                let added = log.append(&observed, 7, &mut list);
                grown += added.grown;
                stored.extend(added.put);
                let (_, last) = stored.last_key_value().unwrap();
                let last = ObservationChunk::decode(&frame::unwrap(Kind::Observation, last).unwrap().body).unwrap();
                prop_assert_eq!(last.newest_us, newest_us);
                if n == reopened {
                    // As at a start: what was filled goes on from what is stored.
                    log.filling = Filling::reopened(&last, log.next - last.rows.len() as u64);
                }
            }
            let mut found = expected.iter();
            let mut number = 0;
            for (key, value) in &stored {
                prop_assert!(value.len() <= frame::STORED_BYTES_MAX);
                let chunk = decode(key, value, None).unwrap();
                let head = head(key, value).unwrap();
                prop_assert_eq!((head.number, usize::from(head.count)), (number, chunk.rows.len()));
                number += u64::from(head.count);
                for n in 0..chunk.rows.len() {
                    let (row, cells) = chunk.row(n).unwrap();
                    let (expected, expected_cells, schema) = found.next().unwrap();
                    prop_assert_eq!((row, cells, &chunk.schema), (expected, &expected_cells[..], schema));
                    prop_assert!((head.earliest_us..=head.latest_us).contains(&row.time_us));
                }
            }
            prop_assert!(found.next().is_none());
            prop_assert_eq!((list.count(), list.chunks()), (expected.len() as u64, stored.len() as u64));
            let bytes: u64 = stored.values().map(|value| value.len() as u64 + ENTRY_OVERHEAD).sum();
            prop_assert_eq!((list.bytes(), grown), (bytes, bytes.cast_signed()));
        }

        #[test]
        fn any_bytes_are_a_chunk_or_an_error(body in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(chunk) = ObservationChunk::decode(&body) {
                prop_assert!((0..chunk.rows.len()).all(|n| chunk.row(n).is_some()));
            }
        }

        #[test]
        fn a_changed_byte_of_a_chunk_is_a_chunk_or_an_error(
            rows in prop::collection::vec(row(), 1..20), at in any::<prop::sample::Index>(), flip in 1u8..=255,
        ) {
            let observation = |n: u64, row: &Row| {
                let Row { time_us, identity, counted, .. } = *row;
                Observation { sequence: n, time_us, identity, counted }
            };
            let mut filling = Filling::new(&observation(1, &rows[0]), 0, &schema(false));
            for (n, row) in (1..).zip(&rows) {
                prop_assert!(filling.append(&observation(n, row), &row.cells));
            }
            let mut body = filling.body();
            let at = at.index(body.len());
            body[at] ^= flip;
            if let Ok(chunk) = ObservationChunk::decode(&body) {
                prop_assert!((0..chunk.rows.len()).all(|n| chunk.row(n).is_some()));
                prop_assert!(chunk.rows.is_sorted_by(|a, b| a.sequence < b.sequence));
            }
        }
    }

    #[test]
    fn the_longest_observation_fits_a_chunk() {
        let names = NAMES_BYTES_MAX / COLUMNS_MAX;
        let columns = (0..COLUMNS_MAX).map(|n| (CellKind::Number, format!("{n:0>names$}"))).collect();
        let schema = Arc::new(Schema { columns });
        schema.check().unwrap();
        let row = Observation { sequence: u64::MAX - 1, time_us: i64::MIN, identity: 1, counted: true };
        let mut cells: Vec<u64> = (0..COLUMNS_MAX as u64).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1).collect();
        cells[0] = f64::NAN.to_bits();
        let mut filling = Filling::new(&row, u64::MAX, &schema);
        assert!(filling.append(&row, &cells));
        filling.head.newest_us = i64::MIN;
        let chunk = ObservationChunk::decode(&filling.body()).unwrap();
        assert_eq!(chunk.row(0), Some((&row, &cells[..])));
    }
}
