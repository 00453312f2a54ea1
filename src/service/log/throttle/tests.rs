//! What is told is what was logged, whoever logs how much when.

use super::super::message::tests::message;
use super::*;
use crate::notice;
use proptest::prelude::*;

fn down(sink: &str, text: &str) -> Message {
    message(&notice::SINK_DOWN, text, &[("sink", sink.into())])
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// How many messages one that is written stands for.
fn count(message: &Message) -> u64 {
    message.fields.iter().find(|(name, _)| *name == "repeats").map_or(1, |(_, value)| value.as_u64().unwrap())
}

#[test]
fn the_first_few_pass_and_the_others_are_told_in_one_of_the_same_kind() {
    let mut throttle = Throttle::default();
    let mut told = Vec::new();
    for n in 0..1_000 {
        let offered = throttle.offer(down("bank", &format!("failure {n}")), seconds(1));
        assert_eq!(offered.is_first_held, n == PASSED_MAX);
        told.extend(offered.told);
    }
    assert_eq!(told.len(), PASSED_MAX as usize);
    assert_eq!(throttle.next_due(), Some(seconds(1) + SLICE));
    assert!(throttle.due(SLICE, SystemTime::UNIX_EPOCH).is_empty(), "the slice is not over");
    let summary = throttle.due(seconds(1) + SLICE, SystemTime::UNIX_EPOCH);
    let [summary] = summary.as_slice() else { panic!("{summary:?}") };
    assert_eq!(summary.text, "990 more of these in the last 30 s; the last: failure 999");
    assert_eq!((summary.kind, summary.field("sink")), (Some(&notice::SINK_DOWN), Some("bank")));
    assert_eq!(throttle.next_due(), None);
}

#[test]
fn sinks_and_kinds_do_not_hide_each_other() {
    let mut throttle = Throttle::default();
    (0..100).for_each(|_| drop(throttle.offer(down("bank", "x"), seconds(0))));
    assert_eq!(throttle.offer(down("audit", "y"), seconds(0)).told.len(), 1);
    let other = message(&notice::SINK_BLOCKED, "z", &[("sink", "bank".into())]);
    assert_eq!(throttle.offer(other, seconds(0)).told.len(), 1);
}

#[test]
fn a_slice_begins_anew_with_what_was_held_told_first() {
    let mut throttle = Throttle::default();
    (0..PASSED_MAX + 5).for_each(|_| drop(throttle.offer(down("bank", "old"), seconds(0))));
    let told = throttle.offer(down("bank", "new"), SLICE).told;
    let texts: Vec<&str> = told.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(texts, ["5 more of these in the last 30 s; the last: old", "new"]);
}

#[test]
fn memory_is_bounded_however_many_owners_there_are() {
    let mut throttle = Throttle::default();
    let mut told: u64 = 0;
    let all = KEYS_MAX as u64 * 4;
    for n in 0..all {
        told += throttle.offer(down(&format!("sink-{n}"), "x"), seconds(0)).told.iter().map(count).sum::<u64>();
    }
    assert_eq!(throttle.slots.len(), KEYS_MAX);
    let rest = throttle.due(SLICE, SystemTime::UNIX_EPOCH);
    assert!(rest.iter().any(|message| message.text.contains("messages of several kinds")), "{rest:?}");
    assert_eq!(told + rest.iter().map(count).sum::<u64>(), all);
    assert!(throttle.slots.is_empty() && throttle.rest.is_none());
}

proptest! {
    #[test]
    fn what_passes_and_what_is_summarised_is_what_was_logged(
        steps in prop::collection::vec((0_usize..4, 0_u64..20, 1_usize..80, any::<bool>()), 0..200),
    ) {
        let kinds = [&notice::SINK_DOWN, &notice::SINK_BLOCKED, &notice::SOURCE_DOWN, &notice::WINDOW_CUT];
        let mut throttle = Throttle::default();
        let mut now = Duration::ZERO;
        let mut logged = BTreeMap::new();
        let mut told = BTreeMap::new();
        let mut tell = |messages: Vec<Message>| {
            for message in messages {
                *told.entry(message.kind.map(|kind| kind.kind)).or_insert(0) += count(&message);
            }
        };
        for (which, wait, times, look) in steps {
            now += seconds(wait);
            for _ in 0..times {
                *logged.entry(Some(kinds[which].kind)).or_insert(0) += 1;
                tell(throttle.offer(message(kinds[which], "x", &[("sink", "a".into())]), now).told);
            }
            if look {
                tell(throttle.due(now, SystemTime::UNIX_EPOCH));
                prop_assert!(throttle.next_due().is_none_or(|due| due > now));
            }
        }
        tell(throttle.all(now, SystemTime::UNIX_EPOCH));
        prop_assert_eq!(told, logged);
    }
}
