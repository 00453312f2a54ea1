//! The corners of each aggregate.

use super::*;

/// The value of one window's feature, for each of the events in turn; an error where the event is unscorable.
fn values(window: &str, events: &[Event]) -> Vec<Result<f64, String>> {
    let mut rig = Rig::new(&[window], ROOM);
    let see = |event: &Event| {
        rig.enter(event);
        rig.row(event).map(|row| row[0])
    };
    events.iter().map(see).collect()
}

fn numbers(window: &str, events: &[Event]) -> Vec<f64> {
    values(window, events).into_iter().map(Result::unwrap).collect()
}

/// `over` an hour by card.
fn hour(what: &str) -> String {
    format!("{{ {what}, key = \"/card\", over = \"1 h\" }}")
}

fn without_amount(time: i64) -> Event {
    Event { amount: None, ..event(time, 0.0) }
}

#[test]
fn a_window_holds_the_event_itself_and_not_the_one_at_its_far_end() {
    let events = [event(0, 1.0), event(HOUR - 1, 2.0), event(HOUR, 4.0), event(2 * HOUR - 1, 8.0)];
    assert_eq!(numbers(&hour("count = true"), &events), [1.0, 2.0, 2.0, 2.0]);
    assert_eq!(numbers(&hour("sum = \"/amount\""), &events), [1.0, 3.0, 6.0, 12.0]);
    // Parts of a second count: the first is a microsecond too old for the third, as it should be.
    let split = [event(0, 1.0), event(HOUR - 1, 2.0)];
    assert_eq!(numbers(&hour("count = true"), &split), [1.0, 2.0]);
}

#[test]
fn a_window_with_delay_holds_neither_the_event_nor_what_is_too_fresh() {
    let window = "{ count = true, key = \"/card\", over = \"1 h\", delay = \"10 s\" }";
    let events = [event(0, 1.0), event(10 * SECOND - 1, 1.0), event(10 * SECOND, 1.0), event(HOUR + 10 * SECOND, 1.0)];
    assert_eq!(numbers(window, &events), [0.0, 0.0, 1.0, 2.0]);
}

#[test]
fn ties_count_in_the_order_they_came() {
    assert_eq!(numbers(&hour("count = true"), &[event(5, 1.0), event(5, 1.0), event(5, 1.0)]), [1.0, 2.0, 3.0]);
    assert_eq!(numbers(&hour("since-last = true"), &[event(5, 1.0), event(5, 1.0)]), [0.0, 0.0]);
}

#[test]
fn any_number_of_events_may_have_one_time() {
    let all: Vec<Event> = (0..3_000).map(|_| event(5, 1.0)).collect();
    let counts: Vec<f64> = (1..=3_000).map(f64::from).collect();
    assert_eq!(numbers(&hour("count = true"), &all), counts);
}

#[test]
fn an_event_without_the_value_counts_and_has_no_part_in_numbers() {
    let events = [without_amount(0), event(1, 4.0), without_amount(2), event(3, 8.0)];
    assert_eq!(numbers(&hour("count = true"), &events), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(numbers(&hour("sum = \"/amount\""), &events), [0.0, 4.0, 4.0, 12.0]);
    assert_eq!(numbers(&hour("mean = \"/amount\""), &events), [0.0, 4.0, 4.0, 6.0]);
    assert_eq!(numbers(&hour("min = \"/amount\""), &events), [0.0, 4.0, 4.0, 4.0]);
    assert_eq!(numbers(&hour("max = \"/amount\""), &events), [0.0, 4.0, 4.0, 8.0]);
    let std = numbers(&hour("std = \"/amount\""), &events);
    assert_eq!((&std[..3], std[3]), (&[0.0, 0.0, 0.0][..], f64::from(8.0_f64.sqrt() as f32)));
    assert_eq!(numbers(&hour("ratio = \"/amount\""), &events), [0.0, 1.0, 0.0, f64::from((8.0_f64 / 6.0) as f32)]);
}

#[test]
fn a_ratio_to_a_mean_of_nothing_or_zero_is_what_is_missing() {
    assert_eq!(numbers(&hour("ratio = \"/amount\""), &[event(0, 0.0), event(1, 2.0)]), [0.0, 2.0]);
    let window = "{ ratio = \"/amount\", key = \"/card\", over = \"1 h\", delay = \"1 h\" }\nmissing = -1";
    assert_eq!(numbers(window, &[event(0, 3.0), event(HOUR, 6.0)]), [-1.0, 2.0]);
}

#[test]
fn a_value_out_of_range_makes_its_event_unscorable_and_harms_no_other() {
    let events = [event(0, 2.0), event(1, 8.8e12), event(2, 4.0), event(3, f64::INFINITY), event(4, 6.0)];
    let out = Err("F0: out of range".to_owned());
    let expected = [Ok(2.0), out.clone(), Ok(3.0), out, Ok(4.0)];
    assert_eq!(values(&hour("mean = \"/amount\""), &events), expected);
    assert_eq!(numbers(&hour("count = true"), &events), [1.0, 2.0, 3.0, 4.0, 5.0]);
    let delayed = "{ sum = \"/amount\", key = \"/card\", over = \"1 h\", delay = \"1 s\" }";
    assert_eq!(numbers(delayed, &events), [0.0; 5], "its own value is no part of a window with delay");
}

#[test]
fn since_last_is_the_time_to_the_one_before() {
    let events = [event(0, 1.0), event(90 * SECOND, 1.0), event(90_500_000, 1.0), event(2 * HOUR, 1.0)];
    assert_eq!(numbers(&hour("since-last = true"), &events), [0.0, 90.0, 0.5, 0.0]);
    let declared = format!("{}\nmissing = 9999", hour("since-last = true"));
    assert_eq!(numbers(&declared, &events), [9999.0, 90.0, 0.5, 9999.0]);
}

#[test]
fn first_seen_is_one_until_the_window_holds_another() {
    assert_eq!(
        numbers(&hour("first-seen = true"), &[event(0, 1.0), event(1, 1.0), event(3 * HOUR, 1.0)]),
        [1.0, 0.0, 1.0]
    );
}

#[test]
fn different_values_are_counted_once_and_missing_ones_not() {
    let at = |time: i64, shop: Option<u32>| Event { shop, ..event(time, 1.0) };
    let events =
        [at(0, Some(1)), at(1, Some(2)), at(2, Some(1)), at(3, None), at(HOUR + 1, Some(3)), at(HOUR + 2, None)];
    assert_eq!(numbers(&hour("distinct = \"/shop\""), &events), [1.0, 2.0, 2.0, 2.0, 2.0, 1.0]);
}

#[test]
fn a_number_and_its_digits_are_one_key_and_no_key_is_unscorable() {
    // The card comes as a number, the shop as a text: both are hashed as texts.
    let mut rig = Rig::new(&[&hour("count = true")], ROOM);
    let cells = rig.cells(&event(0, 1.0));
    assert_eq!(cells, [xxhash_rust::xxh3::xxh3_64_with_seed(b"1", 7)]);
    let stray = Event { card: None, ..event(0, 1.0) };
    rig.enter(&stray);
    assert_eq!(rig.row(&stray).unwrap_err(), "F0: missing");
    assert_eq!(values(&format!("{}\nmissing = 5", hour("count = true")), &[stray]), [Ok(5.0)]);
}

#[test]
fn a_key_of_two_fields_is_told_from_another_that_reads_the_same() {
    let window = "{ count = true, key = [\"/card\", \"/shop\"], over = \"1 h\" }";
    let at = |card: u32, shop: u32| Event { card: Some(card), shop: Some(shop), ..event(0, 1.0) };
    assert_eq!(numbers(window, &[at(1, 23), at(12, 3), at(23, 1), at(1, 23)]), [1.0, 1.0, 1.0, 2.0]);
}

#[test]
fn a_filter_chooses_entries_and_every_event_is_answered() {
    let of = |kind: &'static str| Event { kind: Some(kind), ..event(0, 1.0) };
    let events = [of("a"), of("b"), of("a"), of("c"), event(0, 1.0)];
    let window =
        |filter: &str| format!("{{ count = true, key = \"/card\", over = \"1 h\", where = \"/kind\", {filter} }}");
    assert_eq!(numbers(&window("equals = \"a\""), &events), [1.0, 1.0, 2.0, 2.0, 2.0]);
    assert_eq!(numbers(&window("in = [\"b\", \"c\"]"), &events), [0.0, 1.0, 1.0, 2.0, 2.0]);
    let card = "{ count = true, key = \"/shop\", over = \"1 h\", where = \"/card\", equals = 1 }";
    assert_eq!(numbers(card, &events), [1.0, 2.0, 3.0, 4.0, 5.0], "a whole number, as its digits");
    let since =
        "{ since-last = true, key = \"/card\", over = \"1 h\", where = \"/kind\", equals = \"a\" }\nmissing = -1";
    let events = [of("b"), of("a"), Event { time: START + 5 * SECOND, ..of("b") }];
    assert_eq!(numbers(since, &events), [-1.0, -1.0, 5.0]);
}

#[test]
fn labels_count_where_their_events_lie_once_and_as_corrected() {
    let windows = [
        "{ label-sum = true, key = \"/shop\", over = \"1 h\" }",
        "{ label-mean = true, key = \"/shop\", over = \"1 h\" }",
        "{ label-sum = true, key = \"/shop\", over = \"1 h\", delay = \"1 h\" }",
    ];
    let mut rig = Rig::new(&windows, ROOM);
    let (first, second) = (event(0, 1.0), event(0, 2.0));
    let (one, two) = (rig.enter(&first), rig.enter(&second));
    assert_eq!(rig.row(&second).unwrap(), [0.0, 0.0, 0.0]);
    assert!(rig.label(one, &first, 1.0) && rig.label(one, &first, 1.0), "twice is once");
    assert_eq!(rig.row(&second).unwrap(), [1.0, 0.5, 0.0]);
    assert!(rig.label(two, &second, 0.0), "none is no label");
    assert_eq!((rig.row(&second).unwrap(), rig.windows.stats().labels), (vec![1.0, 0.5, 0.0], 1));
    assert!(rig.label(two, &second, 1.0) && rig.label(one, &first, 0.0));
    assert_eq!(rig.row(&second).unwrap(), [1.0, 0.5, 0.0], "of two in one second each has its own");
    assert_eq!(rig.see(&event(HOUR, 1.0)), [0.0, 0.0, 1.0]);
    assert!(!rig.label(9, &event(7, 1.0), 1.0), "no such event is held");
    assert!(!rig.label(9, &Event { shop: Some(77), ..event(0, 1.0) }, 1.0));
}

#[test]
fn a_label_that_is_no_number_in_range_is_none() {
    let mut rig = Rig::new(&["{ label-sum = true, key = \"/card\", over = \"1 h\" }"], ROOM);
    let event = event(0, 1.0);
    let sequence = rig.enter(&event);
    for (value, sum) in [(1.0, 1.0), (f64::NAN, 0.0), (0.5, 0.5), (1e300, 0.0), (-2.0, -2.0)] {
        assert!(rig.label(sequence, &event, value));
        assert_eq!(rig.row(&event).unwrap(), [sum], "{value}");
    }
}

#[test]
fn steps_work_on_a_windows_number_and_on_what_stands_for_an_empty_one() {
    let window = format!("{}\ntransform = [{{ clip = {{ max = 2 }} }}]\nmissing = 7", hour("since-last = true"));
    assert_eq!(numbers(&window, &[event(0, 1.0), event(SECOND, 1.0), event(9 * SECOND, 1.0)]), [2.0, 1.0, 2.0]);
    let refused = format!("{}\nmissing = \"unscorable\"", hour("since-last = true"));
    assert_eq!(values(&refused, &[event(0, 1.0)]), [Err("F0: missing".to_owned())]);
}

#[test]
fn without_a_state_nothing_is_scored_as_if_there_were_one() {
    let (set, _) = read(&declare(&[&format!("{}\nmissing = 3", hour("count = true"))]));
    let error = set.fill(&[Field::Number(1.0)], "", None, &mut [0.0]).unwrap_err();
    assert_eq!(error.to_string(), "F0: no windows are kept here");
    assert!(set.windows());
}

#[test]
fn keys_whose_hashes_are_half_the_same_are_told_apart() {
    let mut rig = Rig::new(&[&hour("count = true")], ROOM);
    let keys = [7 << 32 | 1, 7 << 32 | 2, 7 << 32 | 3];
    for (n, key) in [0, 1, 1, 2, 2, 2].map(|which| keys[which]).into_iter().enumerate() {
        assert!(rig.windows.admit(START, START));
        rig.windows.insert(n as u64, START, &[key]);
    }
    let query = rig.set.queries().next().unwrap();
    let count = |key: u64| rig.windows.view(9, START, &[key]).answer(query);
    assert_eq!(keys.map(count), [1.0, 2.0, 3.0].map(Answer::Number));
    assert_eq!(count(7 << 32 | 4), Answer::Number(0.0));
}
