//! The whole way, everyone on it killed at random: transactions in, daemon, Kafka, consumer, PostgreSQL.

use super::books::{Books, quarters};
use super::killers::{Progress, VICTIMS};
use super::load::{self, Answers};
use super::reader::{check, read_all};
use super::scene::{IN_FLIGHT, Scene, TOPIC};
use super::support::from_env;
use super::support::postgres::Postgres;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Instant;

#[test]
fn whoever_is_killed_the_table_holds_each_event_once_and_the_balances_equal_the_input() {
    let kills = from_env("VERDICTD_TEST_END_TO_END_KILLS", 50);
    let Some(mut scene) = Scene::set() else { return };
    let begun = Instant::now();
    let (progress, answers) = (Progress::default(), Mutex::new(Answers::default()));
    scene.under_fire(kills, &progress, &answers);
    let answers = answers.into_inner().unwrap();
    let events = answers.begun();
    scene.settle(events);
    let seconds = begun.elapsed().as_secs();
    let (bootstrap, (_, cut_off)) = (scene.broker.bootstrap(), scene.place.told());
    scene.daemon.take().map(|daemon| assert!(daemon.stop().success())).expect("a daemon that is up");
    check_tables(&scene.database.lock().unwrap(), &answers);
    let records = read_all(&bootstrap, TOPIC);
    let repeats = check(&records, 0..events);
    let by_victim = progress.kills();
    let told = VICTIMS.iter().zip(by_victim).map(|(who, n)| format!("{who} {n}")).collect::<Vec<_>>().join(", ");
    println!(
        "{events} events in {seconds} s, each in one row; killed: {told}\n\
         came again to the daemon {}, and got the first answer ({} requests were cut off)\n\
         came again in the topic  {repeats}, of {} records\n\
         came again to the table  {cut_off} at least, and were cut off by the key",
        answers.again,
        answers.retries,
        records.len()
    );
    assert!(by_victim.iter().all(|n| *n >= kills), "{by_victim:?}");
    let crashes = usize::try_from(by_victim[0] + by_victim[1]).unwrap() + scene.restarts;
    assert!(repeats <= IN_FLIGHT * crashes, "{repeats} repeats");
    assert!(repeats > 0 && cut_off > 0, "no repeat came, so that nothing was tried");
}

/// A row an event with the answer that its sender got, and balances that equal the input's.
fn check_tables(database: &Postgres, answers: &Answers) {
    let mut books = Books::default();
    let mut balances: BTreeMap<String, (u64, i64)> = BTreeMap::new();
    for number in 0..answers.begun() {
        let line = answers.verdicts.get(&number).expect("an answer to each event");
        let verdict: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(quarters(verdict["score"].as_f64().expect("a score")), load::quarters(number));
        books.enter(verdict);
        let (count, sum) = balances.entry(load::key(number)).or_default();
        *count += 1;
        *sum += load::quarters(number);
    }
    assert_eq!(books.balances(), balances);
    books.check(database);
}
