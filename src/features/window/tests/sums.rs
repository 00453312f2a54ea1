//! Sums that are taken from each other, against sums of a list; and what is read ahead, which changes nothing.

use super::*;
use crate::features::window::layout::{Layout, Needs, Way};
use crate::features::window::leaf::Rows;
use crate::features::window::tree::{Edge, Fix, Shape, Tree};
use proptest::prelude::*;

fn needs() -> impl Strategy<Value = Vec<Needs>> {
    let need = any::<[bool; 4]>().prop_map(|[sum, squares, least, most]| Needs { sum, squares, least, most });
    let sums = any::<[bool; 2]>().prop_map(|[sum, squares]| Needs { sum, squares, ..Needs::default() });
    prop_oneof![prop::collection::vec(sums, 0..3), prop::collection::vec(need, 1..3)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn windows_one_in_the_other_are_what_a_list_sums_up_whatever_is_kept(
        needs in needs(),
        categories in 0_usize..2,
        in_panes in any::<bool>(),
        (count, late) in (1_i64..3_000, 0_i64..3_000),
        cuts in prop::collection::vec((0.0_f64..1.1, 0.0_f64..1.1, 0.0_f64..1.1), 6),
        keep in prop::option::of(0.0_f64..0.9),
        seed in any::<u64>(),
    ) {
        let layout = Layout::new(&needs, categories);
        let shape = Shape { rows: if in_panes { Rows::Panes } else { Rows::Events }, layout: &layout };
        let mut random = seed;
        let mut next = |below: i64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as i64 % below.max(1)
        };
        let (mut tree, mut list) = (Tree::new(), Vec::<(i64, Vec<u64>)>::new());
        for n in 0..count {
            let time = START + (n - next(late + 1)) * SECOND;
            let mut row: Vec<u64> = needs.iter().map(|_| ((next(2_000_000) - 1_000_000) as f64 / 7.0).to_bits()).collect();
            row.extend((0..categories).map(|_| next(4) as u64));
            if in_panes {
                let mut summary = layout.nothing();
                layout.add_rows(&mut summary, &row, 1);
                row = summary;
            }
            tree.insert(time, &row, shape);
            list.insert(list.partition_point(|(there, _)| *there <= time), (time, row));
        }
        // What is added to a row in the middle is added to all that stands for it.
        let place = list.len() / 3;
        let time = list[place].0;
        let last = list.partition_point(|(there, _)| *there <= time) - 1;
        if in_panes {
            let more = list[0].1.clone();
            let change = &mut |row: &mut [u64]| { layout.add(row, &more); true };
            prop_assert!(tree.change(time, shape, Fix::Add(&more), change));
            layout.add(&mut list[last].1, &more);
        }
        let (first, span) = (list[0].0, list[list.len() - 1].0 - list[0].0 + 1);
        if let Some(keep) = keep {
            let mut gone = 0;
            tree.expire(first + (span as f64 * keep) as i64, shape, &mut |_| gone += 1);
            list.drain(..gone);
        }
        prop_assert_eq!((tree.len(), tree.bytes()), (list.len(), tree.bytes_counted()));
        let mut edge = Edge::default();
        for (a, b, c) in cuts {
            let mut ends = [a, b, c].map(|part| first + (span as f64 * part) as i64 - span / 20);
            ends.sort_unstable();
            let [longer, shorter, until] = ends;
            let (mut found, mut expected) = (layout.nothing(), layout.nothing());
            for (after, until) in [(shorter, until), (longer, shorter)] {
                tree.fold_on(after, until, shape, &mut found, &mut edge);
                let there = |time: i64| list.partition_point(|(there, _)| *there <= time);
                list[there(after)..there(until)].iter().for_each(|(_, row)| shape.add_row(&mut expected, row));
                prop_assert_eq!(&found, &expected);
            }
        }
    }

    #[test]
    fn what_is_added_and_taken_out_again_leaves_no_trace(
        values in prop::collection::vec(prop_oneof![5 => -8.7e12_f64..8.7e12, 1 => Just(f64::NAN)], 1..200),
        cut in 0.0_f64..1.0,
    ) {
        let layout = Layout::new(&[Needs { sum: true, squares: true, ..Needs::default() }], 0);
        let rows: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
        let (kept, gone) = rows.split_at((rows.len() as f64 * cut) as usize);
        let (mut all, mut alone, mut less) = (layout.nothing(), layout.nothing(), layout.nothing());
        layout.add_rows(&mut all, &rows, rows.len());
        layout.add_rows(&mut alone, kept, kept.len());
        layout.add_rows(&mut less, gone, gone.len());
        let mut by_rows = all.clone();
        layout.sum_rows(&mut by_rows, gone, gone.len(), Way::Out);
        layout.sum(&mut all, &less, Way::Out);
        prop_assert_eq!(&all, &alone);
        prop_assert_eq!(&by_rows, &alone);
    }
}

#[test]
fn where_one_keys_window_begins_another_keys_ends_as_its_own() {
    let windows = [
        "{ sum = \"/amount\", key = \"/card\", over = \"1 h\" }",
        "{ sum = \"/amount\", key = \"/shop\", over = \"1 h\", delay = \"1 h\" }",
    ];
    let mut rig = Rig::new(&windows, ROOM);
    // One card, two shops in turn, an event each ten seconds.
    let at = |n: i64| Event { shop: Some((n % 2) as u32), ..event(n * 10 * SECOND, 1.0) };
    (0..2_000).for_each(|n| _ = rig.enter(&at(n)));
    assert_eq!(rig.see(&at(2_000)), [360.0, 180.0]);
}

#[test]
fn what_is_read_ahead_changes_no_answer() {
    let windows = [
        "{ mean = \"/amount\", key = \"/card\", over = \"1 h\" }",
        "{ max = \"/amount\", key = \"/card\", over = \"1 d\" }",
        "{ label-mean = true, key = \"/shop\", over = \"1 d\", delay = \"1 h\" }",
        "{ sum = \"/amount\", key = \"/card\", over = \"1 d\", resolution = \"5 min\" }",
        "{ distinct = \"/shop\", key = [\"/card\", \"/kind\"], over = \"1 d\" }",
    ];
    let at = |n: i64| Event {
        card: (n % 11 != 0).then_some((n * n % 7) as u32),
        shop: Some((n % 5) as u32),
        kind: (n % 3 == 0).then_some("a"),
        ..event(n * 40 * SECOND - n % 17 * 900 * SECOND, n as f64)
    };
    let rows = |ahead: Option<(usize, Ahead)>| {
        let mut rig = Rig::new(&windows, ROOM);
        let mut out = Vec::new();
        for n in 0..6_000 {
            if let Some((_, ahead)) = ahead.filter(|(wave, _)| (n as usize).is_multiple_of(*wave)) {
                let coming: Vec<Event> = (n..n + 40).map(at).collect();
                let cells: Vec<u64> = coming.iter().flat_map(|event| rig.cells(event)).collect();
                let times: Vec<i64> = coming.iter().map(|event| event.time).collect();
                rig.windows.warm(&times, &cells, ahead);
            }
            rig.enter(&at(n));
            let row = rig.row(&at(n));
            out.push(row.map(|row| row.into_iter().map(f64::to_bits).collect::<Vec<_>>()));
        }
        out
    };
    let plain = rows(None);
    assert!(plain.iter().filter(|row| row.is_ok()).count() > 1_000);
    assert_eq!(rows(Some((40, Ahead::Asked))), plain);
    assert_eq!(rows(Some((13, Ahead::Entered))), plain, "also where others come than was said");
}
