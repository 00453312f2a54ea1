//! The source: forms, places, gaps, members.

use super::rig::{Rig, SOURCE, source_options};
use super::support::child::{WATCHDOG, poll};
use super::support::kafka::{Broker, Setup, shared, unique};
use super::writer::Writer;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Duration;
use verdictd::ingest::kafka::{OnGap, Options, Start};

/// What the group has committed, summed over the partitions.
fn told(broker: &Broker, topic: &str, partitions: i32) -> i64 {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", broker.bootstrap()).set("group.id", format!("group-of-{topic}"));
    let consumer: BaseConsumer = config.create().expect("a consumer");
    let mut list = TopicPartitionList::new();
    list.add_partition_range(topic, 0, partitions - 1);
    let committed = consumer.committed_offsets(list, Duration::from_secs(30)).expect("offsets");
    let offset = |offset: Offset| if let Offset::Offset(offset) = offset { offset } else { 0 };
    committed.elements().iter().map(|element| offset(element.offset())).sum()
}

/// Nothing lost and one verdict an event.
fn check(rig: &Rig, ids: Range<u32>) {
    let seen: Vec<u32> = rig.verdicts().iter().map(|(_, id, _)| id.parse().expect("a number")).collect();
    let unique: BTreeSet<u32> = seen.iter().copied().collect();
    assert_eq!(unique.len(), seen.len(), "two verdicts for one event");
    assert_eq!(unique, ids.collect());
}

#[test]
fn every_form_of_a_record_becomes_an_event_and_what_is_none_is_set_aside() {
    let Some(broker) = shared() else { return };
    let topic = unique("in-forms");
    broker.create_topic(&topic, 1, &[]);
    let writer = Writer::to(&broker.bootstrap(), &topic);
    writer.put(None, Some("key-a"), Some(br#"{"amount":1}"#), &[]);
    writer.put(None, Some("key-b"), Some(br#"{"id":"own","key":"of-the-event","amount":1}"#), &[]);
    let binary = [("ce_specversion", "1.0"), ("ce_type", "t"), ("ce_source", "shop"), ("ce_id", "b1")];
    writer.put(None, Some("key-c"), Some(br#"{"amount":1}"#), &binary);
    let structured = br#"{"specversion":"1.0","type":"t","source":"shop","id":"s1","data":{"amount":1}}"#;
    writer.put(None, None, Some(structured), &[("content-type", "application/cloudevents+json")]);
    writer.put(None, None, Some(br#"{"specversion":"1.0","type":"t","source":"shop","id":"s2"}"#), &[]);
    writer.put(None, Some("gone"), None, &[]);
    writer.put(None, None, Some(b"broken"), &[]);
    writer.put(None, None, Some(br#"{"amount":2}"#), &[]);
    writer.flush();
    let rig = Rig::new();
    let source = rig.source(source_options(&broker.bootstrap(), &topic));
    rig.await_verdicts(6);
    rig.wait(source);
    let identities: Vec<_> = rig.verdicts().into_iter().map(|(source, id, _)| (source, id)).collect();
    let place = |offset: u32| format!("{topic}/0/{offset}");
    let expected = [
        (SOURCE, place(0)),
        (SOURCE, "own".to_owned()),
        ("shop", "b1".to_owned()),
        ("shop", "s1".to_owned()),
        ("shop", "s2".to_owned()),
        (SOURCE, place(7)),
    ];
    assert_eq!(identities, expected.map(|(source, id)| (source.to_owned(), id)));
    let chunk = rig.store.next_chunk(0).unwrap().unwrap();
    let keys: Vec<_> = chunk.records().map(|record| record.verdict.key.map(str::to_owned)).collect();
    let key = |text: &str| Some(text.to_owned());
    assert_eq!(keys[..4], [key("key-a"), key("of-the-event"), key("key-c"), None]);
    let aside: Vec<_> = rig.quarantine().into_iter().filter(|entry| entry.kind == "malformed").collect();
    assert_eq!(aside.iter().map(|entry| entry.id.clone()).collect::<Vec<_>>(), [Some(place(5)), Some(place(6))]);
    assert!(aside[0].reason.contains("found none"), "{}", aside[0].reason);
}

#[test]
fn a_restart_goes_on_behind_the_last_verdict_and_the_group_knows_how_far() {
    let Some(broker) = shared() else { return };
    let topic = unique("in-restart");
    broker.create_topic(&topic, 3, &[]);
    let writer = Writer::to(&broker.bootstrap(), &topic);
    let mut rig = Rig::new();
    for round in 0..3 {
        writer.write(round * 10_000..(round + 1) * 10_000);
        let source = rig.source(source_options(&broker.bootstrap(), &topic));
        rig.await_verdicts((round as usize + 1) * 10_000);
        assert!(source.status.link.is_up());
        rig.wait(source);
        assert_eq!(rig.repeats(), 0, "read twice");
        assert_eq!(told(broker, &topic, 3), i64::from((round + 1) * 10_000));
        rig = rig.reopened();
    }
    check(&rig, 0..30_000);
}

/// Whoever had the partition before us went further: the group's place counts.
#[test]
fn where_the_group_is_further_its_place_counts() {
    let Some(broker) = shared() else { return };
    let topic = unique("in-further");
    broker.create_topic(&topic, 1, &[]);
    Writer::to(&broker.bootstrap(), &topic).write(0..100);
    let first = Rig::new();
    let source = first.source(source_options(&broker.bootstrap(), &topic));
    first.await_verdicts(100);
    first.wait(source);
    Writer::to(&broker.bootstrap(), &topic).write(100..150);
    let second = Rig::new();
    let source = second.source(source_options(&broker.bootstrap(), &topic));
    second.await_verdicts(50);
    second.wait(source);
    check(&second, 100..150);
}

#[test]
fn latest_begins_with_what_comes_and_loses_nothing_of_it_over_a_restart() {
    let Some(broker) = shared() else { return };
    let topic = unique("in-latest");
    broker.create_topic(&topic, 1, &[]);
    let writer = Writer::to(&broker.bootstrap(), &topic);
    writer.write(0..10);
    let options = || Options { start: Start::Latest, ..source_options(&broker.bootstrap(), &topic) };
    let rig = Rig::new();
    let source = rig.source(options());
    let name = format!("{SOURCE}/{topic}/0");
    poll(WATCHDOG, || rig.store.offset(&name).unwrap()).expect("a place that is stored without a record");
    rig.wait(source);
    writer.write(10..20);
    let rig = rig.reopened();
    let source = rig.source(options());
    rig.await_verdicts(10);
    rig.wait(source);
    check(&rig, 10..20);
}

#[test]
fn records_that_are_gone_are_a_gap_with_its_offsets_and_reading_goes_on() {
    let Some(broker) = shared() else { return };
    let topic = unique("in-gap");
    broker.create_topic(&topic, 1, &[]);
    let writer = Writer::to(&broker.bootstrap(), &topic);
    writer.write(0..100);
    let rig = Rig::new();
    let source = rig.source(source_options(&broker.bootstrap(), &topic));
    rig.await_verdicts(100);
    rig.wait(source);
    writer.write(100..200);
    broker.delete_records(&topic, 0, 150);
    let rig = rig.reopened();
    let source = rig.source(source_options(&broker.bootstrap(), &topic));
    rig.await_verdicts(150);
    let warnings = source.status.warnings();
    assert!(warnings[0].contains(&format!("topic {topic}, partition 0")), "{warnings:?}");
    assert!(warnings[0].contains("offsets 100 to 149"), "{warnings:?}");
    rig.wait(source);
    assert_eq!(rig.verdicts().len(), 150);
}

/// All before the place is gone, and nothing is missing.
#[test]
fn a_place_at_the_start_of_what_is_left_is_no_gap() {
    let Some(broker) = shared() else { return };
    let topic = unique("in-no-gap");
    broker.create_topic(&topic, 1, &[]);
    let writer = Writer::to(&broker.bootstrap(), &topic);
    writer.write(0..100);
    let rig = Rig::new();
    let source = rig.source(source_options(&broker.bootstrap(), &topic));
    rig.await_verdicts(100);
    rig.wait(source);
    broker.delete_records(&topic, 0, 100);
    writer.write(100..200);
    let rig = rig.reopened();
    let source = rig.source(source_options(&broker.bootstrap(), &topic));
    rig.await_verdicts(200);
    assert!(source.status.warnings().is_empty(), "{:?}", source.status.warnings());
    rig.wait(source);
    check(&rig, 0..200);
}

#[test]
fn where_the_rule_is_to_stop_a_gap_stops_its_partition_alone() {
    let Some(broker) = shared() else { return };
    let topic = unique("in-stop");
    broker.create_topic(&topic, 2, &[]);
    let writer = Writer::to(&broker.bootstrap(), &topic);
    let put = |partition: i32, ids: Range<u32>| {
        for id in ids {
            writer.put(Some(partition), None, Some(super::rig::event(id).as_bytes()), &[]);
        }
        writer.flush();
    };
    put(0, 0..10);
    put(1, 10..20);
    let options = || Options { on_gap: OnGap::Stop, ..source_options(&broker.bootstrap(), &topic) };
    let rig = Rig::new();
    let source = rig.source(options());
    rig.await_verdicts(20);
    rig.wait(source);
    put(0, 100..120);
    broker.delete_records(&topic, 0, 20);
    let rig = rig.reopened();
    let source = rig.source(options());
    poll(WATCHDOG, || source.status.warnings().into_iter().next()).expect("a gap");
    put(1, 20..30);
    rig.await_verdicts(30);
    rig.wait(source);
    check(&rig, 0..30);
}

/// It has more records than the old one had: no offset is out of range.
#[test]
fn a_topic_that_was_made_anew_is_recognised_and_read_from_its_start() {
    let Some(broker) = shared() else { return };
    let topic = unique("in-anew");
    broker.create_topic(&topic, 1, &[]);
    let without_id = |amount: u32| format!("{{\"amount\":{amount}}}");
    let writer = Writer::to(&broker.bootstrap(), &topic);
    (0..20).for_each(|n| writer.put(None, None, Some(without_id(n).as_bytes()), &[]));
    writer.flush();
    let rig = Rig::new();
    let source = rig.source(source_options(&broker.bootstrap(), &topic));
    rig.await_verdicts(20);
    rig.wait(source);
    broker.delete_topic(&topic);
    broker.create_topic(&topic, 1, &[]);
    let writer = Writer::to(&broker.bootstrap(), &topic);
    (0..50).for_each(|n| writer.put(None, None, Some(without_id(1000 + n).as_bytes()), &[]));
    writer.flush();
    let rig = rig.reopened();
    let source = rig.source(source_options(&broker.bootstrap(), &topic));
    rig.await_verdicts(70);
    let warnings = source.status.warnings();
    assert!(warnings.iter().any(|warning| warning.contains("before offset 20")), "{warnings:?}");
    rig.wait(source);
    // Their places stand for other events now.
    assert!(rig.quarantine().is_empty(), "{:?}", rig.quarantine());
}

#[test]
fn members_share_the_partitions_and_what_one_leaves_the_other_reads_on() {
    let Some(broker) = shared() else { return };
    let topic = unique("in-members");
    broker.create_topic(&topic, 4, &[]);
    let writer = Writer::to(&broker.bootstrap(), &topic);
    writer.write(0..1000);
    let options =
        |instance: &str| Options { instance: instance.to_owned(), ..source_options(&broker.bootstrap(), &topic) };
    let (one, two) = (Rig::new(), Rig::new());
    let first = one.source(options("edge-1"));
    one.await_verdicts(1000);
    let second = two.source(options("edge-2"));
    let mut next = 1000;
    let both = || one.verdicts().len() + two.verdicts().len();
    // Until the second has some.
    poll(WATCHDOG, || {
        writer.write(next..next + 100);
        next += 100;
        (two.store.committed() > 1).then_some(())
    })
    .expect("partitions for the second");
    poll(WATCHDOG, || (both() >= next as usize).then_some(())).expect("all events");
    // It has left for good, after a session.
    two.wait(second);
    writer.write(next..next + 1000);
    next += 1000;
    poll(WATCHDOG, || (both() >= next as usize).then_some(())).expect("the partitions of the one that left");
    one.wait(first);
    let mut seen = BTreeMap::new();
    for (_, id, _) in one.verdicts().into_iter().chain(two.verdicts()) {
        *seen.entry(id.parse::<u32>().unwrap()).or_insert(0) += 1;
    }
    assert_eq!(seen.keys().copied().collect::<BTreeSet<_>>(), (0..next).collect());
    let repeats = seen.values().filter(|count| **count > 1).count();
    assert_eq!(repeats, 0, "what was read was committed before the partition was given up");
}

#[test]
fn a_broker_that_is_killed_again_and_again_costs_no_event() {
    let Some(mut broker) = Broker::start(Setup::default()) else { return };
    broker.create_topic("in", 2, &[]);
    let rig = Rig::new();
    let source = rig.source(source_options(&broker.bootstrap(), "in"));
    for round in 0..4 {
        Writer::to(&broker.bootstrap(), "in").write(round * 5000..(round + 1) * 5000);
        broker.kill();
        broker.up();
    }
    rig.await_verdicts(20_000);
    poll(WATCHDOG, || source.status.link.is_up().then_some(())).expect("a source that is up again");
    rig.wait(source);
    check(&rig, 0..20_000);
}
