//! Places, gaps and forms, without a broker.

use super::consumer::member;
use super::offset::{Look, Mark, NONE, name};
use super::partition::{Extent, Gap, find, known_place};
use super::record::{Reading, reading, write_id};
use super::{OnGap, Start};
use crate::event::Form;
use proptest::prelude::*;

fn mark(next: i64) -> Mark {
    Mark { next, made: 2, last: Some(Look { time_ms: 1, key_bytes: NONE, value_bytes: 3 }) }
}

#[test]
fn the_further_of_both_places_counts_and_only_our_own_can_be_checked() {
    assert_eq!(known_place(None, None), None);
    assert_eq!(known_place(Some(mark(7)), None), Some(mark(7)));
    assert_eq!(known_place(Some(mark(7)), Some(7)), Some(mark(7)));
    assert_eq!(known_place(Some(mark(7)), Some(6)), Some(mark(7)));
    assert_eq!(known_place(Some(mark(7)), Some(8)), Some(Mark { next: 8, made: 2, last: None }));
    assert_eq!(known_place(None, Some(8)), Some(Mark { next: 8, made: 0, last: None }));
}

#[test]
fn a_gap_is_named_from_its_first_to_its_last_offset() {
    let partition = super::partition::Partition {
        topic: "pay".to_owned(),
        number: 3,
        name: name("pos", "pay", 3),
        state: super::partition::State::Reading,
        mark: None,
        is_assigned: true,
        untold: None,
    };
    let text = partition.describe(Gap { from: 10, to: Some(20) }, OnGap::Earliest, 20);
    assert!(text.contains("topic pay, partition 3") && text.contains("offsets 10 to 19"), "{text}");
    assert!(text.contains("goes on at offset 20"), "{text}");
    let text = partition.describe(Gap { from: 10, to: None }, OnGap::Stop, 0);
    assert!(text.contains("before offset 10") && text.contains("not read any more"), "{text}");
}

#[test]
fn a_cloud_event_is_told_by_its_headers() {
    let of = |headers: &[(&str, &[u8])]| reading(headers.iter().copied());
    assert_eq!(of(&[]), Reading::As(Form::Record));
    assert_eq!(of(&[("content-type", b"application/json")]), Reading::As(Form::Record));
    let structured: &[u8] = b"Application/CloudEvents+JSON; charset=UTF-8";
    assert_eq!(of(&[("Content-Type", structured)]), Reading::As(Form::CloudEvent));
    assert_eq!(of(&[("ce_stray", b"x")]), Reading::As(Form::Record));
    let Reading::As(Form::Binary(attributes)) = of(&[("ce_specversion", b"1.0"), ("trace", b"\xff"), ("ce_id", b"7")])
    else {
        panic!("expected binary mode")
    };
    assert_eq!((attributes.get("id"), attributes.get("trace")), (Some("7"), None));
    assert!(matches!(of(&[("ce_id", b"\xff")]), Reading::Bad(_)));
}

#[test]
fn a_default_id_is_the_place_and_a_topic_made_anew_has_other_ids() {
    let mut id = "left over".to_owned();
    write_id("pay", 0, 7, 0, &mut id);
    assert_eq!(id, "pay/0/7");
    write_id("pay", 0, 7, 1, &mut id);
    assert_eq!(id, "pay/0/7/1");
}

#[test]
fn a_member_has_a_name_that_kafka_takes() {
    assert_eq!(member("edge 1/ä", "pos"), "edge_1__-pos");
    assert_eq!(member(&"x".repeat(300), "pos").len(), 249);
}

proptest! {
    #[test]
    fn a_mark_reads_back(next in 0..i64::MAX, made: u32, time_ms in -1..i64::MAX, key_bytes: u32, value_bytes: u32, read: bool) {
        let last = read.then_some(Look { time_ms, key_bytes, value_bytes });
        let mark = Mark { next, made, last };
        prop_assert_eq!(Mark::decode(&mark.encode()), Some(mark));
    }

    #[test]
    fn no_bytes_of_a_mark_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        if let Some(mark) = Mark::decode(&bytes) {
            prop_assert!(mark.next >= 0);
        }
    }

    /// Whatever the brokers have, reading goes on with something they have or will have, and what lies between
    /// is a gap that is told.
    #[test]
    fn nothing_is_passed_over_in_silence(wanted in prop::option::of(0..100i64), low in 0..100i64, count in 0..100i64, latest: bool) {
        let extent = Extent { low, high: low + count };
        let start = if latest { Start::Latest } else { Start::Earliest };
        let found = find(wanted, extent, start);
        prop_assert!((extent.low..=extent.high).contains(&found.next));
        match (wanted, found.gap) {
            (None, gap) => prop_assert_eq!(gap, None),
            (Some(wanted), None) => prop_assert_eq!(found.next, wanted),
            (Some(wanted), Some(gap)) => {
                prop_assert_eq!(gap.from, wanted);
                prop_assert!(gap.to.is_none_or(|to| to == found.next && to > wanted));
            }
        }
    }
}
