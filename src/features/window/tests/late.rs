//! Late events, those too late, and clocks that are wrong.

use super::*;

const WINDOWS: [&str; 2] =
    ["{ count = true, key = \"/card\", over = \"1 h\" }", "{ sum = \"/amount\", key = \"/card\", over = \"1 d\" }"];

#[test]
fn a_late_event_takes_its_own_place_among_what_is_known() {
    let mut rig = Rig::new(&WINDOWS, ROOM);
    rig.see(&event(0, 1.0));
    rig.see(&event(10 * HOUR, 2.0));
    assert_eq!(rig.see(&event(HOUR / 2, 4.0)), [2.0, 5.0], "it sees what was before it, not what is after");
    assert_eq!(rig.see(&event(10 * HOUR + 1, 8.0)), [2.0, 15.0], "and is seen by what comes later");
}

#[test]
fn what_is_older_than_every_window_is_too_late_and_not_counted() {
    let mut rig = Rig::new(&WINDOWS, ROOM);
    rig.see(&event(DAY, 1.0));
    let old = event(0, 2.0);
    assert!(!rig.windows.admit(old.time, old.time));
    let edge = event(1, 2.0);
    rig.enter(&edge);
    assert_eq!(rig.windows.stats().entries, 2);
    assert_eq!(rig.row(&old).unwrap(), [0.0, 0.0], "it is answered from what is known, itself not counted");
}

#[test]
fn a_short_lateness_keeps_less_and_changes_nothing_for_events_within_it() {
    let limits = Limits { lateness_us: Some(HOUR), ..ROOM };
    let (mut short, mut whole) = (Rig::new(&WINDOWS, limits), Rig::new(&WINDOWS, ROOM));
    for n in 0..20_000 {
        let late = if n % 7 == 0 { HOUR / 2 } else { 0 };
        let event = event(n * 60 * SECOND - late, n as f64);
        assert_eq!(short.see(&event), whole.see(&event));
    }
    let (short, whole) = (short.windows.stats(), whole.windows.stats());
    assert!(short.entries * 3 < whole.entries * 2, "{} of {}", short.entries, whole.entries);
    assert_eq!((short.late_reach_us, whole.late_reach_us), (HOUR, DAY));
}

#[test]
fn one_event_dated_far_ahead_harms_no_other() {
    let windows = [WINDOWS[0], "{ distinct = \"/shop\", key = \"/card\", over = \"1 d\" }"];
    let mut rig = Rig::new(&windows, ROOM);
    let mut other = Rig::new(&windows, ROOM);
    for n in 0..3_000 {
        let event = Event { shop: Some(n as u32 % 50), ..event(n * 60 * SECOND, 1.0) };
        if n % 100 == 50 {
            let ahead = Event { time: START + 30_000 * DAY + n, ..event.clone() };
            assert!(rig.windows.admit(ahead.time, event.time));
            let cells = rig.cells(&ahead);
            rig.windows.insert(0, ahead.time, &cells);
        }
        assert_eq!(rig.see(&event), other.see(&event), "event {n}");
        assert_eq!(rig.windows.newest_us(), Some(event.time));
    }
}

#[test]
fn a_box_whose_clock_is_not_set_believes_its_events_and_counts_them_all() {
    let windows = [WINDOWS[0], "{ distinct = \"/shop\", key = \"/card\", over = \"1 d\" }"];
    let (mut rig, mut other) = (Rig::new(&windows, ROOM), Rig::new(&windows, ROOM));
    for n in 0..200 {
        let event = Event { shop: Some(n as u32 % 7), ..event(n * 60 * SECOND, 1.0) };
        assert!(rig.windows.admit(event.time, 0));
        assert_eq!(rig.windows.newest_us().is_some(), n >= 15, "sixteen in a row are believed");
        let cells = rig.cells(&event);
        rig.windows.insert(n as u64, event.time, &cells);
        assert_eq!(rig.row(&event).unwrap(), other.see(&event), "event {n}");
    }
}

#[test]
fn a_row_that_lies_in_panes_is_off_by_less_than_a_pane() {
    let window = |resolution: &str| format!("{{ count = true, key = \"/card\", over = \"1 h\"{resolution} }}");
    let (exact, coarse) = (window(""), window(", resolution = \"5 min\""));
    let longer = "{ count = true, key = \"/card\", over = \"65 min\" }";
    let shorter = "{ count = true, key = \"/card\", over = \"55 min\" }";
    let mut rig = Rig::new(&[&exact, &coarse, longer, shorter], ROOM);
    for n in 0..2_000_i64 {
        let row = rig.see(&event(n * n % 977 * SECOND + n * 13 * SECOND, 1.0));
        if n * n % 977 >= 970 {
            assert!(row[3] <= row[1], "{row:?}");
        }
    }
    let mut ordered = Rig::new(&[&exact, &coarse, longer, shorter], ROOM);
    for n in 0..2_000_i64 {
        let row = ordered.see(&event(n * 7 * SECOND, 1.0));
        assert!(row[3] <= row[1] && row[1] <= row[2], "{row:?}");
    }
    let stats = ordered.windows.stats();
    assert!(stats.coarse_keys == 0 && stats.entries < 2_200, "panes as declared are not counted as coarse: {stats:?}");
}
