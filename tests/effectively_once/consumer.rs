//! The example for Kafka, alone: two members of a group killed at random, and records that are no verdicts.

use super::books::Books;
use super::example::{Consumer, Place, await_counted, counted, database};
use super::support::child::{WATCHDOG, poll};
use super::support::kafka::{Broker, shared, unique};
use super::support::postgres::Postgres;
use super::support::{from_env, random};
use rand::Rng;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::{ClientConfig, TopicPartitionList};
use std::fmt::Write as _;
use std::time::Duration;
use tempfile::TempDir;
use verdictd::verdict::{Verdict, write_json};

/// Verdicts that come between two kills.
const SHARE: u32 = 200;

/// How far back what comes again begins, after each share.
const AGAIN: u32 = 60;

/// The line of a verdict that follows from its number.
pub fn line(number: u32, id: &str) -> Vec<u8> {
    let verdict = Verdict {
        sequence: u64::from(number) + 1,
        source: "pos",
        id,
        key: Some(&format!("k{}", number % 17)),
        time_us: 1_800_000_000_000_000,
        decision: "allow",
        score: Some(f64::from(number % 1000) / 4.0),
        reasons: vec!["amount"],
        model: "test@1",
        model_sha256: &[7; 32],
        decided_ms: 1_800_000_000_000,
    };
    let mut out = Vec::new();
    write_json(&verdict, &mut out);
    out
}

fn entered(lines: impl IntoIterator<Item = Vec<u8>>) -> Books {
    let mut books = Books::default();
    for line in lines {
        books.enter(serde_json::from_slice(&line).expect("JSON"));
    }
    books
}

struct Setting {
    brokers: String,
    database: Postgres,
    topic: String,
    folder: TempDir,
    producer: BaseProducer,
}

fn setting(broker: &Broker, partitions: i32) -> Option<Setting> {
    let database = database()?;
    let topic = unique("consumed");
    broker.create_topic(&topic, partitions, &[]);
    let producer = ClientConfig::new().set("bootstrap.servers", broker.bootstrap()).create().expect("a producer");
    let folder = TempDir::new().expect("a temporary folder");
    Some(Setting { brokers: broker.bootstrap(), database, topic, folder, producer })
}

impl Setting {
    fn place(&self, member: &str) -> Place {
        Place {
            brokers: self.brokers.clone(),
            topic: self.topic.clone(),
            member: member.to_owned(),
            database: self.database.dsn(),
            folder: self.folder.path().to_owned(),
        }
    }

    fn send(&self, key: &str, value: Option<&[u8]>) {
        let mut record = BaseRecord::<str, [u8]>::to(&self.topic).key(key);
        record.payload = value;
        self.producer.send(record).map_err(|(error, _)| error).expect("room in the queue");
    }

    /// The offset of the first partition that the consumer's group has committed.
    fn committed(&self) -> Option<i64> {
        let mut settings = ClientConfig::new();
        settings.set("bootstrap.servers", &self.brokers).set("group.id", self.place("any").group());
        let asking: BaseConsumer = settings.create().expect("a consumer");
        let mut partitions = TopicPartitionList::new();
        partitions.add_partition(&self.topic, 0);
        let committed = asking.committed_offsets(partitions, Duration::from_secs(5)).ok()?;
        committed.elements().first().and_then(|first| first.offset().to_raw()).filter(|offset| *offset > 0)
    }

    fn flush(&self) {
        self.producer.flush(WATCHDOG).expect("a broker that takes records");
    }
}

#[test]
fn consumers_killed_at_random_leave_the_table_equal_to_the_set_of_events() {
    let Some(setting) = shared().and_then(|broker| setting(broker, 4)) else { return };
    let kills = u32::try_from(from_env("VERDICTD_TEST_CONSUMER_KILLS", 25)).unwrap();
    let (seed, mut random) = random(8);
    let places = ["one", "two"].map(|member| setting.place(member));
    let mut members = places.each_ref().map(Consumer::spawn);
    let log = || format!("seed {seed}\n{}\n{}", places[0].log(), places[1].log());
    let verdict = |number: u32| line(number, &number.to_string());
    for kill in 0..kills {
        // As after a crash of the sender: what came last comes again, and goes on from there.
        for number in (kill * SHARE).saturating_sub(AGAIN)..(kill + 1) * SHARE {
            setting.send(&format!("k{}", number % 17), Some(&verdict(number)));
        }
        setting.flush();
        if random.random_ratio(3, 4) {
            let before = counted(&setting.database);
            let moved =
                || (counted(&setting.database) > before || before >= u64::from((kill + 1) * SHARE)).then_some(());
            poll(WATCHDOG, moved).unwrap_or_else(|| panic!("nothing comes after {before}\n{}", log()));
        }
        std::thread::park_timeout(Duration::from_millis(random.random_range(0..40)));
        let which = usize::from(random.random_bool(0.5));
        members[which].kill();
        members[which] = Consumer::spawn(&places[which]);
    }
    let all = kills * SHARE;
    await_counted(&setting.database, u64::from(all), log);
    for member in members {
        member.stop();
    }
    entered((0..all).map(verdict)).check(&setting.database);
    let (new, known) = (0..2).map(|n| places[n].told()).fold((0, 0), |sum, told| (sum.0 + told.0, sum.1 + told.1));
    println!("{kills} kills, {all} verdicts: told of {new} new and of {known} repeats cut off");
    assert!(known > 0, "no repeat came, so that nothing was tried");
    assert_eq!(setting.database.psql("SELECT count(*) FROM rejected"), "0");
}

/// Offsets that ran ahead of the table would have verdicts passed over after a kill.
#[test]
fn offsets_never_run_ahead_of_the_table() {
    const ROUNDS: u32 = 8;
    let Some(setting) = shared().and_then(|broker| setting(broker, 1)) else { return };
    let database = &setting.database;
    let (place, mut holder) = (setting.place("one"), database.session("postgres"));
    let consumer = Consumer::spawn(&place);
    for round in 0..ROUNDS {
        let numbers = round * 1000..(round + 1) * 1000;
        numbers.for_each(|number| setting.send("k", Some(&line(number, &number.to_string()))));
        setting.flush();
        await_counted(database, u64::from(round * 1000 + 1), || place.log());
        // From here on nothing more is written; one batch is in hand, or all are written.
        holder.run("BEGIN; LOCK TABLE verdicts IN EXCLUSIVE MODE");
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
        let all = u64::from((round + 1) * 1000);
        let stands = || (counted(database) == all || database.psql(waiting) == "1").then_some(());
        poll(WATCHDOG, stands).unwrap_or_else(|| panic!("{}", place.log()));
        let written = counted(database);
        let committed = poll(WATCHDOG, || setting.committed()).unwrap_or_else(|| panic!("{}", place.log()));
        assert!(u64::try_from(committed).is_ok_and(|n| n <= written), "{committed} are committed, {written} written");
        holder.run("ROLLBACK");
    }
    let all = ROUNDS * 1000;
    await_counted(database, u64::from(all), || place.log());
    consumer.stop();
    entered((0..all).map(|number| line(number, &number.to_string()))).check(database);
}

#[test]
fn what_is_no_verdict_is_set_aside_once_and_the_rest_flow_on() {
    let Some(setting) = shared().and_then(|broker| setting(broker, 1)) else { return };
    let odd = ["plain", "quote \" and \\ backslash \\n", "line\nend\ttab", "\\u0000 in words", "ÄÖ 漢字 🦀", "'; --"];
    let good: Vec<Vec<u8>> = (0..).zip(odd).map(|(number, id)| line(number, id)).collect();
    let nul = line(90, "a\0b");
    let cut = &good[0][..good[0].len() - 5];
    let bad: [Option<&[u8]>; 7] =
        [Some(&nul), Some(cut), Some(b"\xff\xfe"), None, Some(b"[]"), Some(b"{\"id\":\"7\"}"), Some(b"oops")];
    for (good, bad) in good.iter().zip(bad) {
        setting.send("k", Some(good));
        setting.send("k", bad);
        // Each twice.
        setting.send("k", bad);
    }
    setting.send("k", bad[6]);
    setting.send("k", Some(&line(91, "the last")));
    setting.flush();
    let place = setting.place("one");
    let consumer = Consumer::spawn(&place);
    await_counted(&setting.database, good.len() as u64 + 1, || place.log());
    consumer.stop();
    entered(good.iter().cloned().chain([line(91, "the last")])).check(&setting.database);
    let aside = setting.database.psql("SELECT encode(record, 'hex') FROM rejected WHERE reason <> ''");
    let mut aside: Vec<&str> = aside.split('\n').collect();
    let mut expected: Vec<String> = bad.iter().map(|record| hex(record.unwrap_or_default())).collect();
    aside.sort_unstable();
    expected.sort_unstable();
    assert_eq!(aside, expected);
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
