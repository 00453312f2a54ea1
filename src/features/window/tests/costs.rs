//! A hot key costs steps that grow with the logarithm of what it holds.

use super::*;
use crate::features::window::work;

const WINDOWS: [&str; 5] = [
    "{ count = true, key = \"/card\", over = \"1 d\" }",
    "{ mean = \"/amount\", key = \"/card\", over = \"7 d\" }",
    "{ max = \"/amount\", key = \"/card\", over = \"30 d\" }",
    "{ distinct = \"/shop\", key = \"/card\", over = \"30 d\" }",
    "{ since-last = true, key = \"/card\", over = \"30 d\" }",
];

/// Two paths of a tree of four storeys, each with a leaf of 64 rows and 15 summaries a storey, for each window and the
/// way in; a million rows would be a hundred times as many.
const STEPS_MAX: u64 = 3_000;

/// Most steps of an event of 1,000, and the average.
fn steps(rig: &mut Rig, mut event: impl FnMut(i64) -> Event) -> (u64, u64) {
    let (mut most, mut all) = (0, 0);
    for n in 0..1_000 {
        let event = event(n);
        work::take();
        rig.see(&event);
        let steps = work::take();
        most = most.max(steps);
        all += steps;
    }
    (most, all / 1_000)
}

#[test]
fn a_hot_key_of_a_million_entries_costs_a_few_hundred_steps_an_event_in_order_and_late() {
    let mut rig = Rig::new(&WINDOWS, ROOM);
    // A million in 29 days: all in the longest window.
    let every = 2_500_000;
    for n in 0..1_000_000_i64 {
        let cells = rig.cells(&Event { shop: Some((n % 97) as u32), ..event(n * every, (n % 1_000) as f64) });
        let time = START + n * every;
        assert!(rig.windows.admit(time, time));
        rig.windows.insert(n as u64, time, &cells);
    }
    assert_eq!(rig.windows.stats().entries, 1_000_000);
    let (most, mean) = steps(&mut rig, |n| event((1_000_000 + n) * every, 5.0));
    assert!(most < STEPS_MAX && mean < STEPS_MAX / 3, "in order: {most} at most, {mean} on average");
    // A late event has its different values counted one by one, which costs what its window holds: without those.
    let mut rig = Rig::new(&WINDOWS[..3], ROOM);
    for n in 0..1_000_000_i64 {
        rig.enter(&event(n * every, (n % 1_000) as f64));
    }
    let (most, mean) = steps(&mut rig, |n| event(n * 911 * every + 1, 5.0));
    assert!(most < STEPS_MAX && mean < STEPS_MAX / 3, "late: {most} at most, {mean} on average");
}

#[test]
fn labels_of_a_hot_key_cost_no_more() {
    let mut rig = Rig::new(&["{ label-mean = true, key = \"/card\", over = \"30 d\" }"], ROOM);
    let events: Vec<Event> = (0..100_000).map(|n| event(n * 20 * SECOND, 1.0)).collect();
    let sequences: Vec<u64> = events.iter().map(|event| rig.enter(event)).collect();
    let mut most = 0;
    for n in 0..100_000 {
        // All over, each once.
        let at = n * 7_919 % 100_000;
        work::take();
        assert!(rig.label(sequences[at], &events[at], 1.0));
        most = most.max(work::take());
    }
    assert!(most < STEPS_MAX, "{most}");
    assert_eq!(rig.row(events.last().unwrap()).unwrap(), [1.0]);
}

#[test]
fn one_event_dated_far_ahead_makes_no_other_dearer() {
    let mut rig = Rig::new(&WINDOWS, ROOM);
    let at = |n: i64| Event { shop: Some((n % 97) as u32), ..event(n * 10 * SECOND, 5.0) };
    for n in 0..50_000 {
        rig.enter(&at(n));
    }
    let ahead = Event { time: START + 30_000 * DAY, ..at(0) };
    assert!(rig.windows.admit(ahead.time, START));
    let cells = rig.cells(&ahead);
    rig.windows.insert(0, ahead.time, &cells);
    let (most, mean) = steps(&mut rig, |n| at(50_000 + n));
    assert!(most < STEPS_MAX && mean < STEPS_MAX / 3, "{most} at most, {mean} on average");
}
