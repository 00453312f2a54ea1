//! The source while links break, doors are shut, and others take its name.

use super::gate::Gate;
use super::rig::{Rig, source_options};
use super::support::child::{WATCHDOG, poll};
use super::support::from_env;
use super::support::kafka::{Broker, Setup, USER, shared, unique};
use super::support::link::Link;
use super::writer::Writer;
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::groups::GroupInfo;
use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::time::Duration;
use verdictd::ingest::kafka::Options;
use verdictd::link::Trouble;
use verdictd::link::kafka::{Connection, Mechanism, Sasl};

#[test]
fn a_link_cut_while_records_are_read_costs_none_and_gives_none_twice() {
    let link = Link::unconnected();
    let Some(broker) = Broker::start(Setup { behind: Some(link.port()), ..Setup::default() }) else { return };
    link.retarget(broker.behind());
    link.set_round_trip(Duration::from_millis(50));
    broker.create_topic("in", 3, &[]);
    let cuts = u32::try_from(from_env("VERDICTD_TEST_KAFKA_CUTS", 30)).unwrap();
    let writer = Writer::to(&broker.bootstrap(), "in");
    let rig = Rig::new();
    let source = rig.source(source_options(&link.address().to_string(), "in"));
    for cut in 0..cuts {
        writer.write(cut * 400..(cut + 1) * 400);
        rig.await_verdicts(cut as usize * 400 + 100);
        match cut % 3 {
            0 => link.cut(),
            1 => link.cut_client_side(),
            _ => link.cut_target_side(),
        };
    }
    link.bury();
    rig.await_verdicts(cuts as usize * 400);
    rig.wait(source);
    let ids: Vec<u32> = rig.verdicts().iter().map(|(_, id, _)| id.parse().unwrap()).collect();
    assert_eq!(ids.len(), cuts as usize * 400);
    assert_eq!(ids.into_iter().collect::<BTreeSet<_>>(), (0..cuts * 400).collect());
}

/// Nothing is taken for as long as it takes: the records wait with the brokers, and the member neither falls out of
/// the group nor keeps others out.
#[test]
fn a_source_that_can_hand_nothing_in_holds_up_nobody_and_loses_nothing() {
    let Some(broker) = shared() else { return };
    let topic = unique("in-shut");
    broker.create_topic(&topic, 4, &[]);
    let events = 40_000;
    Writer::to(&broker.bootstrap(), &topic).write(0..events);
    let options =
        |instance: &str| Options { instance: instance.to_owned(), ..source_options(&broker.bootstrap(), &topic) };
    let (one, two) = (Rig::new(), Rig::new());
    let (gate, open) = Gate::before(Arc::clone(&one.intake));
    let first = one.source_through(options("edge-1"), Arc::new(gate));
    // It stands before the gate with a batch, and gathers the next until that is full, too.
    poll(WATCHDOG, || (open.receiver_count() > 1).then_some(())).expect("a batch before the gate");
    let second = two.source(options("edge-2"));
    two.await_verdicts(1);
    assert_eq!(one.store.committed(), 1);
    open.send(true).unwrap();
    let seen = || -> BTreeSet<u32> {
        one.verdicts().into_iter().chain(two.verdicts()).map(|(_, id, _)| id.parse().unwrap()).collect()
    };
    poll(WATCHDOG, || (seen().len() == events as usize).then_some(())).expect("all events");
    one.wait(first);
    two.wait(second);
}

/// Else the next owner begins where the group last heard of, and reads again what is still under way here.
#[test]
fn what_is_under_way_is_committed_before_a_partition_is_given_up() {
    let Some(broker) = shared() else { return };
    let topic = unique("in-revoked");
    broker.create_topic(&topic, 4, &[]);
    let events = 3000;
    Writer::to(&broker.bootstrap(), &topic).write(0..events);
    let options =
        |instance: &str| Options { instance: instance.to_owned(), ..source_options(&broker.bootstrap(), &topic) };
    let (one, two) = (Rig::new(), Rig::new());
    let (gate, open) = Gate::before(Arc::clone(&one.intake));
    let first = one.source_through(options("edge-1"), Arc::new(gate));
    let group = options("").group;
    let mut config = ClientConfig::new();
    let watcher: BaseConsumer = config.set("bootstrap.servers", broker.bootstrap()).create().unwrap();
    let await_members = |count: usize| {
        let are_there = || {
            let groups = watcher.fetch_group_list(Some(&group), Duration::from_secs(10)).ok()?;
            let is_it = |group: &GroupInfo| group.state() == "Stable" && group.members().len() == count;
            groups.groups().first().is_some_and(is_it).then_some(())
        };
        poll(WATCHDOG, are_there).expect("members");
    };
    await_members(1);
    let second = two.source(options("edge-2"));
    // The first has been told to give up half of them, or is about to be.
    await_members(2);
    open.send(true).unwrap();
    let all = || (one.verdicts().len() + two.verdicts().len() >= events as usize).then_some(());
    poll(WATCHDOG, all).expect("all events");
    Writer::to(&broker.bootstrap(), &topic).write(events..2 * events);
    let all = || (one.verdicts().len() + two.verdicts().len() >= 2 * events as usize).then_some(());
    poll(WATCHDOG, all).expect("all events");
    one.wait(first);
    two.wait(second);
    let seen: BTreeSet<u32> =
        one.verdicts().into_iter().chain(two.verdicts()).map(|(_, id, _)| id.parse().unwrap()).collect();
    assert_eq!(seen, (0..2 * events).collect());
    assert_eq!(one.verdicts().len() + two.verdicts().len(), seen.len(), "read by both");
}

#[test]
fn two_daemons_of_one_name_are_an_alarm() {
    let Some(broker) = shared() else { return };
    let topic = unique("in-twins");
    broker.create_topic(&topic, 1, &[]);
    Writer::to(&broker.bootstrap(), &topic).write(0..10);
    let (one, two) = (Rig::new(), Rig::new());
    let first = one.source(source_options(&broker.bootstrap(), &topic));
    one.await_verdicts(10);
    let second = two.source(source_options(&broker.bootstrap(), &topic));
    let alarm = || {
        let told = [&first, &second].map(|source| source.status.link.last_error());
        told.into_iter().flatten().find(|error| error.trouble == Trouble::Configuration)
    };
    let error = poll(WATCHDOG, alarm).expect("an alarm");
    assert!(error.text.contains("instance's name"), "{}", error.text);
    two.wait(second);
    one.wait(first);
}

#[test]
fn a_wrong_password_is_an_alarm_until_the_file_holds_the_right_one() {
    let Some(broker) = Broker::start(Setup { secured: true, ..Setup::default() }) else { return };
    broker.create_topic("in", 1, &[]);
    Writer::to(&broker.bootstrap(), "in").write(0..10);
    let rig = Rig::new();
    let password_file = rig.path().join("password");
    fs::write(&password_file, "wrong\n").unwrap();
    let plain = source_options(&broker.sasl_bootstrap(), "in");
    let sasl = Some(Sasl {
        mechanism: Mechanism::ScramSha256,
        username: USER.0.to_owned(),
        password_file: password_file.clone(),
    });
    let source = rig.source(Options { connection: Connection { sasl, ..plain.connection.clone() }, ..plain });
    let alarm = || source.status.link.last_error().filter(|error| error.trouble == Trouble::Configuration);
    let error = poll(WATCHDOG, alarm).expect("an alarm");
    assert!(error.text.contains("uthentication"), "{}", error.text);
    fs::write(&password_file, USER.1).unwrap();
    rig.await_verdicts(10);
    assert!(source.status.link.is_up());
    rig.wait(source);
}

#[test]
fn a_topic_that_does_not_exist_yet_is_read_once_it_does() {
    let Some(broker) = shared() else { return };
    let topic = unique("in-later");
    let rig = Rig::new();
    let source = rig.source(source_options(&broker.bootstrap(), &topic));
    let alarm = || source.status.link.last_error().filter(|error| error.trouble == Trouble::Configuration);
    let error = poll(WATCHDOG, alarm).expect("an alarm");
    assert!(error.text.contains(&topic), "{}", error.text);
    broker.create_topic(&topic, 2, &[]);
    Writer::to(&broker.bootstrap(), &topic).write(0..100);
    rig.await_verdicts(100);
    assert!(source.status.link.is_up());
    rig.wait(source);
}
