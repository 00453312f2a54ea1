//! A leaf, which packs times and rows in one list of words, against a list of both.

use super::*;
use crate::features::window::branch::insert_in_leaf;
use crate::features::window::leaf::Leaf;
use crate::features::window::tree::LEAF_ROWS;
use proptest::prelude::*;

type Rows = Vec<(i64, Vec<u64>)>;

/// Times of whole seconds, of parts of them, before 1970 and beyond what 32 bits of seconds hold.
fn time() -> impl Strategy<Value = i64> {
    prop_oneof![
        20 => (0_i64..40).prop_map(|n| START + n * SECOND),
        2 => (0_i64..4).prop_map(|n| (i64::from(u32::MAX) - n) * SECOND),
        1 => (0_i64..40).prop_map(|n| START + n * 250_000),
        1 => (-3_i64..0).prop_map(|n| n * SECOND),
        1 => (1_i64..3).prop_map(|n| (i64::from(u32::MAX) + n) * SECOND),
    ]
}

fn same(leaf: &Leaf, rows: &Rows, width: usize) -> Result<(), TestCaseError> {
    prop_assert_eq!(leaf.len(), rows.len());
    prop_assert_eq!((leaf.first(), leaf.last()), (rows.first().map(|row| row.0), rows.last().map(|row| row.0)));
    prop_assert_eq!(leaf.time(rows.len()), None);
    for (at, (time, row)) in rows.iter().enumerate() {
        prop_assert_eq!((leaf.time(at), leaf.row(at, width)), (Some(*time), &row[..]));
        for time in [time - 1, *time, time + 1, time + SECOND] {
            prop_assert_eq!(leaf.until(time), rows.partition_point(|row| row.0 <= time), "until {}", time);
        }
    }
    for time in [i64::MIN, -1, 0, i64::MAX] {
        prop_assert_eq!(leaf.until(time), rows.partition_point(|row| row.0 <= time), "until {}", time);
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_leaf_holds_what_was_put_in_at_its_place(
        times in prop::collection::vec(time(), 0..150),
        in_seconds in any::<bool>(),
        width in 0_usize..4,
        cutoff in time(),
    ) {
        let (mut leaf, mut rows) = (Leaf::default(), Rows::new());
        for (n, time) in times.into_iter().enumerate() {
            let time = if in_seconds { time.rem_euclid(START * 2) / SECOND * SECOND } else { time };
            let row: Vec<u64> = (0..width as u64).map(|cell| n as u64 * 8 + cell).collect();
            let at = leaf.until(time);
            rows.insert(at, (time, row.clone()));
            let right = insert_in_leaf(&mut leaf, at, time, &row, width);
            let behind = rows.split_off(leaf.len());
            same(&leaf, &rows, width)?;
            same(right.as_ref().unwrap_or(&Leaf::default()), &behind, width)?;
            prop_assert!(leaf.len() <= LEAF_ROWS);
            // The longer part goes on.
            if let Some(right) = right.filter(|right| right.len() > leaf.len()) {
                (leaf, rows) = (right, behind);
            }
        }
        // No more room than half as much again.
        let each = 8 + width * 8;
        prop_assert!(leaf.bytes() <= (leaf.len() * 3 / 2 + 1) * each + 24, "{} of {}", leaf.bytes(), leaf.len());
        let mut gone = Vec::new();
        let went = leaf.expire(cutoff, width, &mut |row| gone.push(row.to_vec()));
        let old = rows.partition_point(|row| row.0 <= cutoff);
        prop_assert_eq!(went, old > 0 && old * 2 >= rows.len());
        let rest = if went { rows.split_off(old) } else { std::mem::take(&mut rows) };
        prop_assert_eq!(gone, rows.into_iter().map(|row| row.1).collect::<Vec<_>>());
        same(&leaf, &rest, width)?;
    }
}
