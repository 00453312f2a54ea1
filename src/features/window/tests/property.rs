//! Random streams of events and labels: each row is the model's, and a state folded again gives the same bits.

use super::naive::{Asked, Naive};
use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Op {
    Event(Event, Shift),
    /// The label of one of the last events.
    Label(usize, f64),
}

/// How an event's time lies to those before it.
#[derive(Clone, Copy, Debug)]
enum Shift {
    /// So much after the last one in order.
    On(i64),
    /// So much before the newest.
    Back(i64),
    /// Far ahead, and so much.
    Ahead(i64),
}

const KEYS: &[&[&str]] = &[&["/card"], &["/shop"], &["/card", "/kind"]];
const KINDS: &[&[&str]] = &[&[], &[], &["a"], &["a", "b"]];

fn asked() -> impl Strategy<Value = Asked> {
    let what = prop::sample::select(&[
        "count",
        "sum",
        "mean",
        "min",
        "max",
        "std",
        "distinct",
        "since-last",
        "ratio",
        "first-seen",
        "label-sum",
        "label-mean",
    ]);
    let keys = prop::sample::select(KEYS);
    let kinds = prop::sample::select(KINDS);
    let over = prop::sample::select(&[60, 3_600, 7_200, 86_400]);
    let delay = prop::sample::select(&[0, 0, 0, 600, 86_400]);
    let pane = prop::sample::select(&[0, 0, 0, 7, 15]);
    (what, keys, kinds, over, delay, pane).prop_map(|(what, keys, kinds, over, delay, pane)| {
        let pane = if what == "distinct" { 0 } else { pane * SECOND };
        Asked { what, keys, kinds, over: over * SECOND, delay: delay * SECOND, pane }
    })
}

fn op() -> impl Strategy<Value = Op> {
    let card = prop::sample::select(&[Some(1), Some(1), Some(2), Some(3), None]);
    let shop = prop::sample::select(&[Some(1), Some(2), Some(3), Some(4), Some(5), None]);
    let kind = prop::sample::select(&[Some("a"), Some("b"), Some("c"), None]);
    // Of few bits, so that the model's own sums are exact.
    let amount = prop::option::weighted(0.9, (-40_000_i32..400_000).prop_map(|n| f64::from(n) / 64.0));
    let tick = prop::sample::select(&[1_000_000, 1_000_000, 250_000]);
    let shift = prop_oneof![
        40 => (0_i64..60).prop_map(Shift::On),
        6 => (0_i64..40_000).prop_map(Shift::On),
        8 => (0_i64..8_000).prop_map(Shift::Back),
        2 => (0_i64..200_000).prop_map(Shift::Back),
        1 => (0_i64..100).prop_map(Shift::Ahead),
    ];
    let event = (card, shop, kind, amount, shift, tick).prop_map(|(card, shop, kind, amount, shift, tick)| {
        let shift = match shift {
            Shift::On(n) => Shift::On(n * tick),
            Shift::Back(n) => Shift::Back(n * tick),
            Shift::Ahead(n) => Shift::Ahead(n * tick),
        };
        Op::Event(Event { time: 0, card, shop, amount, kind }, shift)
    });
    let label =
        (0_usize..30, prop::sample::select(&[0.0, 1.0, 1.0, 0.5])).prop_map(|(back, value)| Op::Label(back, value));
    prop_oneof![5 => event, 1 => label]
}

/// Lays the events on a time line.
fn lay(ops: Vec<Op>) -> Vec<Op> {
    let (mut now, mut newest) = (START, START);
    let place = |op| match op {
        Op::Event(event, shift) => {
            let time = match shift {
                Shift::On(by) => {
                    now += by;
                    now
                }
                Shift::Back(by) => newest - by,
                Shift::Ahead(by) => now + 9_000 * DAY + by,
            };
            newest = newest.max(now);
            Op::Event(Event { time, ..event }, shift)
        }
        label @ Op::Label(..) => label,
    };
    ops.into_iter().map(place).collect()
}

/// A run: the windows, the model, and what was done.
struct Run {
    rig: Rig,
    naive: Naive,
    counted: Vec<(u64, Event)>,
    wall: i64,
}

impl Run {
    fn new(asked: &[Asked], limits: Limits) -> Self {
        let declared: Vec<String> = asked.iter().map(Asked::declared).collect();
        let declared: Vec<&str> = declared.iter().map(String::as_str).collect();
        let naive = Naive::new(asked.to_vec(), limits.lateness_us);
        Self { rig: Rig::new(&declared, limits), naive, counted: Vec::new(), wall: START }
    }

    fn step(&mut self, op: &Op) -> Option<(Vec<f64>, Vec<f64>)> {
        match op {
            Op::Event(event, shift) => {
                if !matches!(shift, Shift::Ahead(_)) {
                    self.wall = self.wall.max(event.time);
                }
                self.rig.next += 1;
                let (sequence, cells) = (self.rig.next, self.rig.cells(event));
                let counts = self.rig.windows.admit(event.time, self.wall);
                assert_eq!(self.naive.see(sequence, event, self.wall), counts, "too late or not");
                if counts {
                    self.rig.windows.insert(sequence, event.time, &cells);
                    self.counted.push((sequence, event.clone()));
                }
                Some((self.found(event), self.naive.row(sequence, event)))
            }
            Op::Label(back, value) => {
                let at = self.counted.len().checked_sub(back + 1)?;
                let (sequence, event) = self.counted[at].clone();
                self.rig.label(sequence, &event, *value);
                self.naive.label(sequence, *value);
                None
            }
        }
    }

    /// Its row, each feature by itself: -1 for one that cannot be made for want of a key.
    fn found(&self, event: &Event) -> Vec<f64> {
        let cells = self.rig.cells(event);
        let view = self.rig.windows.view(self.rig.next, event.time, &cells);
        let number = |answer| match answer {
            Answer::Number(number) => number,
            Answer::Empty => 0.0,
            Answer::NoKey => -1.0,
            other => panic!("{other:?}"),
        };
        self.rig.set.queries().map(|query| number(view.answer(query))).collect()
    }

    /// The state as a start makes it: what the horizon leaves, then the labels.
    fn folded(&self, asked: &[Asked], limits: Limits) -> Self {
        let mut again = Self::new(asked, limits);
        if let Some(newest) = self.rig.windows.newest_us() {
            again.rig.windows.restore_newest(newest);
        }
        let horizon = self.rig.windows.horizon_us();
        for (sequence, event) in self.counted.iter().filter(|(_, event)| event.time > horizon) {
            let cells = again.rig.cells(event);
            again.rig.windows.insert(*sequence, event.time, &cells);
        }
        for (sequence, value) in &self.naive.labels {
            let (_, event) = self.counted.iter().find(|(there, _)| there == sequence).unwrap();
            again.rig.label(*sequence, event, *value);
        }
        again.naive = self.naive.clone();
        (again.counted, again.wall, again.rig.next) = (self.counted.clone(), self.wall, self.rig.next);
        again
    }
}

fn close(found: f64, expected: f64) -> bool {
    found == expected || (found - expected).abs() <= expected.abs().max(1e-3) * 1e-9
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn every_row_is_the_models_and_a_state_folded_again_gives_the_same_bits(
        asked in prop::collection::vec(asked(), 1..8),
        ops in prop::collection::vec(op(), 1..400),
        lateness in prop::option::weighted(0.3, 0_i64..100_000),
        cut in 0.0_f64..1.0,
    ) {
        let ops = lay(ops);
        let limits = Limits { lateness_us: lateness.map(|seconds| seconds * SECOND), ..ROOM };
        let mut run = Run::new(&asked, limits);
        let cut = (ops.len() as f64 * cut) as usize;
        let mut folded: Option<Run> = None;
        for (n, op) in ops.iter().enumerate() {
            if n == cut {
                folded = Some(run.folded(&asked, limits));
            }
            let Some((found, expected)) = run.step(op) else {
                if let Some(folded) = &mut folded {
                    folded.step(op);
                }
                continue;
            };
            for ((found, expected), asked) in found.iter().zip(&expected).zip(&asked) {
                let exact = !["std", "mean", "label-mean", "ratio"].contains(&asked.what);
                prop_assert!(
                    if exact { found == expected } else { close(*found, *expected) },
                    "step {}: found {}, expected {} for {:?}", n, found, expected, asked
                );
            }
            if let Some(folded) = &mut folded {
                let (again, _) = folded.step(op).unwrap();
                let bits = |row: &[f64]| row.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
                prop_assert_eq!(bits(&again), bits(&found), "folded again, step {}", n);
            }
        }
    }
}
