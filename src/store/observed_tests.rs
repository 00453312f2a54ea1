//! Observations come back as they were, whatever they are; arbitrary bytes are an error at worst.

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

/// The bytes are made by hand from the layout as the page says it.
#[test]
fn a_chunk_is_laid_out_as_the_page_says() {
    let hex = concat!(
        "07030380e4f9f7bdc6b5058093afefbdc6b505dc0bc0a8a5040200066b657920",
        "2f4101096e756d626572202f42010088776655443322111100ffeeddccbbaaa9",
        "591a02b71702000000000000000100182d4454fb21094019b8e8ca0803000000",
        "00000000020500000000000000",
    );
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    let made: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
    let chunk = ObservationChunk::decode(&made).unwrap();
    let base = 1_525_134_011_000_000;
    let row = |sequence, time_us, identity, counted| Observation { sequence, time_us, identity, counted };
    let nan = f64::NAN.to_bits();
    let rows = [
        (row(7, base, 0x1122_3344_5566_7788, true), [0xAABB_CCDD_EEFF_0011, 57.16f64.to_bits()]),
        (row(9, base - 1_500, 2, false), [0, std::f64::consts::PI.to_bits()]),
        (row(10, base + 9_000_000, 3, true), [5, nan]),
    ];
    for (n, (row, cells)) in rows.iter().enumerate() {
        assert_eq!(chunk.row(n), Some((row, &cells[..])));
    }
    let columns = [(CellKind::Hash, "key /A".to_owned()), (CellKind::Number, "number /B".to_owned())];
    assert_eq!((&chunk.schema.columns[..], chunk.newest_us), (&columns[..], base + 9_000_000));
    let mut filling = Filling::new(&rows[0].0, 3, &chunk.schema);
    assert!(rows.iter().all(|(row, cells)| filling.append(row, cells)));
    filling.head.newest_us = chunk.newest_us;
    assert_eq!(filling.body(), made);
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
