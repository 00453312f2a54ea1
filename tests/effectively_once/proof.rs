//! The whole way, everyone on it killed at random: transactions in, daemon, Kafka, consumer, PostgreSQL.

use super::books::{Books, quarters};
use super::example::{Consumer, Place, await_counted, database};
use super::killers::{Alarm, Progress, VICTIMS, kill};
use super::load::{self, Answers};
use super::reader::{Seen, check, read_all};
use super::support::bundle;
use super::support::daemon::Daemon;
use super::support::kafka::{Broker, Setup};
use super::support::postgres::{Postgres, Session};
use super::support::site::Site;
use super::support::{from_env, random};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::{Duration, Instant};

/// Events begun and not in the tables yet, at most: more would be a backlog that is worked off when nobody is killed
/// any more.
const UNDER_WAY_MAX: u64 = 3000;

const SENDERS: u64 = 2;

/// Of the sink; after a kill of the daemon at most so many come again.
const IN_FLIGHT: usize = 200;

fn site(broker: &Broker) -> Site {
    let mut site = Site::new();
    bundle::write_amount(&site.bundle());
    site.set("sinks.bank.type", "\"kafka\"");
    site.set("sinks.bank.brokers", &format!("[{:?}]", broker.bootstrap()));
    site.set("sinks.bank.topic", "\"verdicts\"");
    site.set("sinks.bank.in-flight", &IN_FLIGHT.to_string());
    site
}

#[test]
fn after_random_kills_of_daemon_broker_consumer_and_database_the_table_holds_each_event_once_and_the_balances_are_right()
 {
    let kills = from_env("VERDICTD_TEST_END_TO_END_KILLS", 50);
    // After a crash the old registration must expire before the broker may come back.
    let properties = ["broker.session.timeout.ms=1000", "broker.heartbeat.interval.ms=200"].map(str::to_owned);
    let Some(database) = database() else { return };
    let Some(mut broker) = Broker::start(Setup { properties: properties.to_vec(), ..Setup::default() }) else { return };
    broker.create_topic("verdicts", 4, &[]);
    let (seed, _) = random(8);
    let begun = Instant::now();
    let site = site(&broker);
    let place = Place {
        brokers: broker.bootstrap(),
        topic: "verdicts".to_owned(),
        member: "books".to_owned(),
        database: database.dsn(),
        folder: site.path().to_owned(),
    };
    let bootstrap = broker.bootstrap();
    let database = Mutex::new(database);
    let (progress, answers) = (Progress::default(), Mutex::new(Answers::default()));
    let mut daemon = Some(Daemon::start(&site));
    let mut consumer = Consumer::spawn(&place);
    let socket = site.events_socket();
    let log = || {
        let daemon_log = std::fs::read_to_string(site.path().join("daemon.log")).unwrap_or_default();
        let tail = |text: &str| text[text.floor_char_boundary(text.len().saturating_sub(3000))..].to_owned();
        format!("seed {seed}\ndaemon: {}\nconsumer: {}", tail(&daemon_log), tail(&place.log()))
    };
    thread::scope(|scope| {
        let seeds: [u64; 6] = std::array::from_fn(|n| seed.wrapping_mul(1000) + n as u64);
        let part = |n: usize| Pcg64Mcg::seed_from_u64(seeds[n]);
        let (progress, answers, log, database, place) = (&progress, &answers, &log, &database, &place);
        scope.spawn(move || watch(database, progress));
        let may_send = move |count: u32| {
            let begun = u64::from(answers.lock().unwrap().begun()) + u64::from(count);
            begun < progress.stored.load(SeqCst) + UNDER_WAY_MAX
        };
        let senders: Vec<_> = (4..4 + usize::try_from(SENDERS).unwrap())
            .map(|n| {
                let (socket, random) = (&socket, part(n));
                scope.spawn(move || {
                    let _alarm = Alarm(progress);
                    load::send(socket, answers, random, || progress.goes_on(kills), may_send);
                })
            })
            .collect();
        let strike_daemon = || {
            daemon.take().map(Daemon::kill);
            daemon = Some(Daemon::start(&site));
        };
        let strike_broker = || {
            broker.kill();
            broker.up();
        };
        let strike_consumer = || {
            assert!(!consumer.has_ended(), "the consumer has ended by itself\n{}", log());
            consumer.kill();
            consumer = Consumer::spawn(place);
        };
        let strike_database = || {
            let mut database = database.lock().unwrap();
            database.kill();
            database.up();
        };
        let killers = [
            scope.spawn({
                let random = part(0);
                move || kill(0, kills, progress, random, strike_daemon, log)
            }),
            scope.spawn({
                let random = part(1);
                move || kill(1, kills, progress, random, strike_broker, log)
            }),
            scope.spawn({
                let random = part(2);
                move || kill(2, kills, progress, random, strike_consumer, log)
            }),
            scope.spawn({
                let random = part(3);
                move || kill(3, kills, progress, random, strike_database, log)
            }),
        ];
        let ended = killers.into_iter().chain(senders).map(thread::ScopedJoinHandle::join);
        let ended = ended.collect::<Vec<_>>().into_iter().all(|end| end.is_ok());
        progress.end();
        assert!(ended, "someone has failed: see above");
    });
    let database = database.into_inner().unwrap();
    let answers = answers.into_inner().unwrap();
    let events = answers.begun();
    await_counted(&database, u64::from(events), || {
        let in_topic: BTreeSet<u32> = read_all(&bootstrap, "verdicts").iter().map(Seen::id).collect();
        let rows = database.psql("SELECT id FROM verdicts");
        let in_table: BTreeSet<u32> = rows.lines().map(|id| id.parse().expect("a number")).collect();
        let missing = |there: &BTreeSet<u32>| (0..events).filter(|id| !there.contains(id)).collect::<Vec<_>>();
        let of_topic = missing(&in_topic);
        format!("not in the topic: {of_topic:?}\nnot in the table: {:?}\n{}", missing(&in_table), log())
    });
    consumer.stop();
    assert!(daemon.expect("a daemon that is up").stop().success());
    settled(&database, &answers);
    let records = read_all(&bootstrap, "verdicts");
    let repeats = check(&records, 0..events);
    let by_victim = progress.kills();
    assert!(repeats <= IN_FLIGHT * usize::try_from(by_victim[0] + by_victim[1]).unwrap(), "{repeats} repeats");
    let seconds = begun.elapsed().as_secs();
    let (_, cut_off) = place.told();
    println!(
        "{events} events in {seconds} s, each one row; killed: {}",
        VICTIMS.iter().zip(by_victim).map(|(who, n)| format!("{who} {n}")).collect::<Vec<_>>().join(", ")
    );
    println!(
        "  came again to the daemon  {:>8}  each got its first answer ({} requests were cut off)",
        answers.again, answers.retries
    );
    println!("  came again in the topic   {repeats:>8}  of {} records", records.len());
    println!("  came again to the table   {cut_off:>8}  at least, each cut off by its key");
    assert!(by_victim.iter().all(|n| *n >= kills), "{by_victim:?}");
    assert!(repeats > 0 && cut_off > 0, "no repeat came, so that nothing was tried");
}

/// Looks how many verdicts are counted, until it is told to end; the database is killed under it.
fn watch(database: &Mutex<Postgres>, progress: &Progress) {
    let _alarm = Alarm(progress);
    let mut session: Option<Session> = None;
    while !progress.is_over() {
        let open = session.get_or_insert_with(|| database.lock().unwrap().session("postgres"));
        open.begin("SELECT coalesce(sum(verdicts), 0) FROM balances");
        match open.finish().and_then(|text| text.trim().parse::<u64>().ok()) {
            Some(stored) => {
                // What was committed is there for ever.
                let before = progress.stored.swap(stored, SeqCst);
                assert!(before <= stored, "{before} verdicts were counted, and now {stored}");
                thread::park_timeout(Duration::from_millis(20));
            }
            None => session = None,
        }
    }
}

/// A row an event with the answer that its sender got, and balances that equal the input's.
fn settled(database: &Postgres, answers: &Answers) {
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
