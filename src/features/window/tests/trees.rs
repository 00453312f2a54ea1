//! A tree of several storeys against a sorted list.

use super::*;
use crate::features::window::layout::{Layout, Needs};
use crate::features::window::tree::{Fix, Shape, Tree};
use proptest::prelude::*;

/// How times follow each other.
#[derive(Clone, Copy, Debug)]
enum Order {
    Rising,
    Late(i64),
    Any,
    Falling,
}

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::Rising), (1_i64..3_000).prop_map(Order::Late), Just(Order::Any), Just(Order::Falling)]
}

fn sum(layout: &Layout, rows: &[(i64, Vec<u64>)]) -> Vec<u64> {
    let mut summary = layout.nothing();
    for (_, row) in rows {
        layout.add_rows(&mut summary, row, 1);
    }
    summary
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn a_tree_holds_what_a_sorted_list_holds(
        runs in prop::collection::vec((order(), 1_usize..2_500, prop::sample::select(&[1_i64, 250_000, SECOND])), 1..5),
        cuts in prop::collection::vec((0.0_f64..1.1, 0.0_f64..1.1), 8),
        keep in 0.0_f64..1.2,
        seed in any::<u64>(),
    ) {
        let needs = Needs { sum: true, squares: true, least: true, most: true };
        let layout = Layout::new(&[needs], 0);
        let shape = Shape::events(&layout);
        let (mut tree, mut list) = (Tree::new(), Vec::<(i64, Vec<u64>)>::new());
        let mut random = seed;
        let mut next = |below: i64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as i64 % below.max(1)
        };
        let mut now = START;
        for (order, count, unit) in runs {
            for n in 0..count as i64 {
                let time = match order {
                    Order::Rising => { now += next(3) * unit; now }
                    Order::Late(by) => { now += next(3) * unit; now - next(by) * unit }
                    Order::Any => START + next(2_000) * unit,
                    Order::Falling => START - n * unit,
                };
                now = now.max(time);
                let row = vec![((next(1_000_000) - 500_000) as f64 / 100.0).to_bits()];
                tree.insert(time, &row, shape);
                list.insert(list.partition_point(|(there, _)| *there <= time), (time, row));
            }
        }
        prop_assert_eq!(tree.len(), list.len());
        prop_assert_eq!(tree.last(), list.last().map(|(time, _)| *time));
        prop_assert_eq!(tree.bytes(), tree.bytes_counted());
        // The last row of a time is changed, and the sums with it.
        let at = list.len() / 3;
        let time = list[at].0;
        let last = list.partition_point(|(there, _)| *there <= time) - 1;
        list[last].1 = vec![7_f64.to_bits()];
        let change = &mut |row: &mut [u64]| { row[0] = 7_f64.to_bits(); true };
        prop_assert!(tree.change(time, shape, Fix::Recount, change));
        let (first, span) = (list[0].0, list[list.len() - 1].0 - list[0].0 + 1);
        // What goes is old, and what is old goes but for the half of a leaf.
        let cutoff = first + (span as f64 * keep) as i64 - span / 10;
        let mut gone = 0;
        let due = tree.due().unwrap();
        tree.expire(cutoff, shape, &mut |_| gone += 1);
        let old = list.partition_point(|(time, _)| *time <= cutoff);
        prop_assert!(gone <= old && gone + 64 > old, "{} of {}", gone, old);
        prop_assert!(gone == 0 || due <= cutoff);
        list.drain(..gone);
        prop_assert_eq!(tree.len(), list.len());
        prop_assert_eq!(tree.bytes(), tree.bytes_counted());
        let mut visited = Vec::new();
        tree.back(i64::MIN, i64::MAX, shape, &mut |time, row| { visited.push((time, row.to_vec())); false });
        visited.reverse();
        prop_assert_eq!(&visited, &list);
        for (a, b) in cuts {
            let place = |part: f64| first + (span as f64 * part) as i64 - span / 20;
            let (after, until) = (place(a.min(b)), place(a.max(b)));
            let range = list.partition_point(|(time, _)| *time <= after)..list.partition_point(|(time, _)| *time <= until);
            let mut summary = layout.nothing();
            tree.fold(after, until, shape, &mut summary);
            prop_assert_eq!(summary, sum(&layout, &list[range]));
        }
    }
}
