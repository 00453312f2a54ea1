//! Everyone on the way, each to be killed and started again.

use super::example::{Consumer, Place, counted, database};
use super::killers::{Alarm, Progress, STUCK, kill};
use super::load::{self, Answers};
use super::reader::{Seen, read_all};
use super::support::child::poll;
use super::support::daemon::Daemon;
use super::support::kafka::{Broker, Setup};
use super::support::postgres::{Postgres, Session};
use super::support::site::Site;
use super::support::{bundle, random};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::Duration;

/// Events begun and not in the tables yet, at most: more would be a backlog that is worked off when nobody is killed
/// any more.
const UNDER_WAY_MAX: u64 = 3000;

const SENDERS: usize = 2;

/// Of the sink; after a crash of either end at most so many come again.
pub const IN_FLIGHT: usize = 200;

pub const TOPIC: &str = "verdicts";

/// How often the broker may have to be started once more when all is over, see [`STUCK`].
const RESTARTS_MAX: usize = 5;

pub struct Scene {
    pub broker: Broker,
    pub database: Mutex<Postgres>,
    site: Site,
    pub daemon: Option<Daemon>,
    pub place: Place,
    consumer: Option<Consumer>,
    seed: u64,
    /// Of the broker, after the fire.
    pub restarts: usize,
}

impl Scene {
    /// Everyone up and connected. None where Java, PostgreSQL or the example's libraries are missing.
    pub fn set() -> Option<Self> {
        let database = database()?;
        let broker = Broker::start(Setup::default())?;
        broker.create_topic(TOPIC, 4, &[]);
        let mut site = Site::new();
        bundle::write_amount(&site.bundle());
        site.set("sinks.bank.type", "\"kafka\"");
        site.set("sinks.bank.brokers", &format!("[{:?}]", broker.bootstrap()));
        site.set("sinks.bank.topic", &format!("{TOPIC:?}"));
        site.set("sinks.bank.in-flight", &IN_FLIGHT.to_string());
        let place = Place {
            brokers: broker.bootstrap(),
            topic: TOPIC.to_owned(),
            member: "books".to_owned(),
            database: database.dsn(),
            folder: site.path().to_owned(),
        };
        let (daemon, consumer) = (Some(Daemon::start(&site)), Some(Consumer::spawn(&place)));
        let (seed, _) = random(8);
        Some(Self { broker, database: Mutex::new(database), site, daemon, place, consumer, seed, restarts: 0 })
    }

    /// Transactions come, and everyone is killed, until each has been killed so often.
    pub fn under_fire(&mut self, kills: u64, progress: &Progress, answers: &Mutex<Answers>) {
        let Self { broker, database, site, daemon, place, consumer, seed, .. } = self;
        let (site, place, database, seed) = (&*site, &*place, &*database, *seed);
        let socket = site.events_socket();
        let log = || log(seed, site, place);
        let part = |n: usize| Pcg64Mcg::seed_from_u64(seed.wrapping_mul(1000) + n as u64);
        let may_send = |count: u32| {
            let begun = u64::from(answers.lock().unwrap().begun()) + u64::from(count);
            begun < progress.stored.load(SeqCst) + UNDER_WAY_MAX
        };
        let strike_daemon = || {
            daemon.take().expect("a daemon that is up").kill();
            *daemon = Some(Daemon::start(site));
        };
        let strike_broker = || {
            broker.kill();
            broker.up();
        };
        let strike_consumer = || {
            let mut running = consumer.take().expect("a consumer that is up");
            assert!(!running.has_ended(), "the consumer has ended by itself\n{}", log());
            running.kill();
            *consumer = Some(Consumer::spawn(place));
        };
        let strike_database = || {
            let mut database = database.lock().unwrap();
            database.kill();
            database.up();
        };
        let (log, socket, may_send) = (&log, &socket, &may_send);
        thread::scope(|scope| {
            scope.spawn(|| watch(database, progress));
            let senders = (0..SENDERS).map(|n| {
                let random = part(4 + n);
                scope.spawn(move || {
                    let _alarm = Alarm(progress);
                    load::send(socket, answers, random, || progress.goes_on(kills), may_send);
                })
            });
            let senders: Vec<_> = senders.collect();
            let killers = [
                scope.spawn(|| kill(0, kills, progress, part(0), strike_daemon, log)),
                scope.spawn(|| kill(1, kills, progress, part(1), strike_broker, log)),
                scope.spawn(|| kill(2, kills, progress, part(2), strike_consumer, log)),
                scope.spawn(|| kill(3, kills, progress, part(3), strike_database, log)),
            ];
            let ended: Vec<_> = killers.into_iter().chain(senders).map(thread::ScopedJoinHandle::join).collect();
            progress.end();
            assert!(ended.iter().all(Result::is_ok), "someone has failed: see above");
        });
    }

    /// Waits until so many verdicts are counted, and ends the consumer.
    pub fn settle(&mut self, events: u32) {
        let database = self.database.get_mut().unwrap();
        let mut before = 0;
        while poll(STUCK, || (counted(database) >= u64::from(events)).then_some(())).is_none() {
            let now = counted(database);
            if std::mem::replace(&mut before, now) < now {
                continue;
            }
            if self.restarts == RESTARTS_MAX {
                let missing = missing(&self.broker, database, events);
                panic!("{now} of {events} are in the table\n{missing}\n{}", log(self.seed, &self.site, &self.place));
            }
            self.restarts += 1;
            self.broker.kill();
            self.broker.up();
        }
        self.consumer.take().expect("a consumer that is up").stop();
    }
}

/// What everyone has said last.
fn log(seed: u64, site: &Site, place: &Place) -> String {
    let daemon = std::fs::read_to_string(site.path().join("daemon.log")).unwrap_or_default();
    let tail = |text: &str| text[text.floor_char_boundary(text.len().saturating_sub(3000))..].to_owned();
    format!("seed {seed}\ndaemon: {}\nconsumer: {}", tail(&daemon), tail(&place.log()))
}

/// Where it is that events are missing.
fn missing(broker: &Broker, database: &Postgres, events: u32) -> String {
    let in_topic: BTreeSet<u32> = read_all(&broker.bootstrap(), TOPIC).iter().map(Seen::id).collect();
    let rows = database.psql("SELECT id FROM verdicts");
    let in_table: BTreeSet<u32> = rows.lines().map(|id| id.parse().expect("a number")).collect();
    let missing = |there: &BTreeSet<u32>| (0..events).filter(|id| !there.contains(id)).collect::<Vec<_>>();
    format!("not in the topic: {:?}\nnot in the table: {:?}", missing(&in_topic), missing(&in_table))
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
