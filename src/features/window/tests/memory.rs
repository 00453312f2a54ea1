//! What the state takes, that it stays flat, and what goes first when it may take no more.

use super::*;

const BY_CARD: [&str; 3] = [
    "{ count = true, key = \"/card\", over = \"1 d\" }",
    "{ mean = \"/amount\", key = \"/card\", over = \"7 d\" }",
    "{ mean = \"/amount\", key = \"/card\", over = \"30 d\" }",
];

/// Events of many cards, ten a day each.
fn cards(cards: u32, days: std::ops::Range<i64>) -> impl Iterator<Item = Event> {
    let day = i64::from(cards) * 10;
    (days.start * day..days.end * day).map(move |n| Event {
        time: START + n * (DAY / day / SECOND * SECOND),
        card: Some((n * 7_919 % i64::from(cards)) as u32),
        shop: Some(1),
        amount: Some((n % 10_000) as f64 / 100.0),
        kind: None,
    })
}

#[test]
fn an_entry_with_a_number_takes_at_most_16_bytes_and_a_year_stays_flat() {
    // A hundredth of 10,000 cards; late events as far as a day.
    let mut rig = Rig::new(&BY_CARD, Limits { lateness_us: Some(DAY), ..ROOM });
    cards(100, 0..40).for_each(|event| _ = rig.enter(&event));
    let begun = rig.windows.stats();
    let live = 100 * 31 * 10;
    assert!(begun.entries >= live && begun.bytes < live as usize * 18, "{begun:?}");
    assert!(begun.bytes < begun.entries as usize * 16, "{begun:?}");
    for month in 0..11 {
        cards(100, 40 + month * 30..70 + month * 30).for_each(|event| _ = rig.enter(&event));
        let stats = rig.windows.stats();
        assert!(stats.bytes < begun.bytes / 20 * 21 && stats.keys == 100, "month {month}: {stats:?}");
    }
}

#[test]
fn cards_that_are_gone_are_given_up_with_no_one_asking_for_them() {
    let mut rig = Rig::new(&BY_CARD[..1], Limits { lateness_us: Some(0), ..ROOM });
    for n in 0..5_000 {
        rig.enter(&Event { card: Some(n), ..event(0, 1.0) });
    }
    let full = rig.windows.stats();
    for n in 0..10_000 {
        rig.enter(&Event { card: Some(1), ..event(3 * DAY + n, 1.0) });
    }
    let stats = rig.windows.stats();
    assert_eq!((full.keys, stats.keys), (5_000, 1));
    assert!(stats.bytes * 2 < full.bytes, "{} of {}", stats.bytes, full.bytes);
}

/// Fills a state until it has to give something up; `event` makes the nth event.
fn fill(windows: &[&str], bytes: usize, count: i64, event: impl Fn(i64) -> Event) -> Rig {
    let mut rig = Rig::new(windows, Limits { bytes, lateness_us: None });
    for n in 0..count {
        rig.enter(&event(n));
        let stats = rig.windows.stats();
        assert!(stats.bytes <= bytes, "event {n}: {stats:?}");
    }
    rig
}

#[test]
fn what_only_late_events_need_goes_first() {
    // Windows of a day, events over four days; two days fit, which is what exact windows for late events need.
    let on = |n: i64| Event { card: Some(n as u32 % 10), ..event(n * 30 * SECOND, 1.0) };
    let rig = fill(&["{ sum = \"/amount\", key = \"/card\", over = \"1 d\" }"], 80_000, 4 * 2_880, on);
    let stats = rig.windows.stats();
    assert!(stats.shortened > 0 && stats.late_reach_us < DAY, "{stats:?}");
    assert_eq!((stats.coarsened_keys, stats.dropped_keys), (0, 0), "{stats:?}");
    assert_eq!(rig.row(&on(4 * 2_880 - 1)).unwrap(), [288.0], "and what is in order stays exact");
    assert_eq!(rig.windows.horizon_us(), rig.windows.newest_us().unwrap() - stats.late_reach_us - DAY);
}

#[test]
fn then_the_fullest_keys_become_coarse_and_are_off_by_less_than_an_eighth_at_each_end() {
    // One card has nine events of ten.
    let on = |n: i64| Event { card: Some(if n % 10 == 0 { n as u32 % 700 } else { 1_000 }), ..event(n * SECOND, 1.0) };
    let rig = fill(&["{ count = true, key = \"/card\", over = \"12 h\" }"], 200_000, 60_000, on);
    let stats = rig.windows.stats();
    assert!(stats.coarse_keys >= 1 && stats.coarse_keys < 5 && stats.dropped_keys == 0, "{stats:?}");
    let hot = rig.row(&Event { card: Some(1_000), ..on(59_999) }).unwrap()[0];
    let exact = 12.0 * 3_600.0 * 0.9;
    assert!((hot - exact).abs() < exact / 8.0, "{hot} against {exact}");
    // 43,200 seconds hold 4,320 events of 70 cards.
    let cold = rig.row(&on(59_500)).unwrap()[0];
    assert!((61.0..=63.0).contains(&cold), "{cold}: keys of few events stay exact");
}

#[test]
fn last_go_the_keys_that_are_coldest() {
    let on = |n: i64| Event { card: Some(n as u32), ..event(n * SECOND, 1.0) };
    let rig = fill(&["{ count = true, key = \"/card\", over = \"30 d\" }"], 100_000, 5_000, on);
    let stats = rig.windows.stats();
    assert!(stats.dropped_keys > 3_000 && stats.keys > 200, "{stats:?}");
    assert_eq!(stats.dropped_keys + stats.keys, 5_000);
    assert_eq!(rig.row(&on(4_999)).unwrap(), [1.0]);
    assert_eq!(rig.row(&Event { time: START + 5_000 * SECOND, ..on(10) }).unwrap(), [0.0], "an old one is gone");
}

#[test]
fn with_room_again_late_events_may_come_later_again() {
    let on = |n: i64| Event { card: Some(n as u32 % 10), ..event(n * 30 * SECOND, 1.0) };
    let windows = ["{ sum = \"/amount\", key = \"/card\", over = \"1 d\" }"];
    let mut rig = fill(&windows, 80_000, 4 * 2_880, on);
    rig.windows.set_limits(ROOM);
    assert!(rig.windows.stats().late_reach_us < DAY, "what is gone does not come back");
    for n in 4 * 2_880..6 * 2_880 {
        rig.enter(&on(n));
    }
    assert_eq!(rig.windows.stats().late_reach_us, DAY);
    assert_eq!(rig.row(&on(5 * 2_880)).unwrap(), [288.0], "a day late, and whole");
}

#[test]
fn labels_take_memory_that_is_counted_and_given_back() {
    let mut rig = Rig::new(&["{ label-sum = true, key = \"/card\", over = \"1 h\" }"], ROOM);
    for n in 0..5_000 {
        let event = event(n * SECOND, 1.0);
        let sequence = rig.enter(&event);
        assert!(rig.label(sequence, &event, 1.0));
    }
    let full = rig.windows.stats();
    assert!(full.labels == 5_000 && full.bytes > 5_000 * 24, "{full:?}");
    for n in 0..100 {
        rig.enter(&event(2 * DAY + n, 1.0));
    }
    assert_eq!(rig.windows.stats().labels, 0);
    assert!(rig.windows.stats().bytes < 8_000, "{:?}", rig.windows.stats());
}

#[test]
fn values_that_were_seen_once_do_not_pile_up() {
    let windows = ["{ distinct = \"/shop\", key = \"/card\", over = \"1 h\" }"];
    let mut rig = Rig::new(&windows, Limits { lateness_us: Some(0), ..ROOM });
    let mut see = |n: i64| {
        rig.see(&Event { shop: Some(n as u32), ..event(n * SECOND, 1.0) });
        rig.windows.stats().bytes
    };
    let begun = (0..8_000).map(&mut see).max().unwrap();
    let later = (8_000..40_000).map(&mut see).max().unwrap();
    assert!(later <= begun / 20 * 21, "{later} against {begun}");
}
