//! The two ways of carrying events from one topic to the other, and a box that does.

use super::events::MAPPING;
use super::meter::{Daemon, Place};
use super::support::child::Guarded;
use super::support::kafka::{Broker, Setup};
use super::transactional;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

pub const FROM: &str = "events";
pub const TO: &str = "verdicts";
pub const PARTITIONS: i32 = 4;

#[derive(Clone, Copy, Debug)]
pub enum Way {
    AtLeastOnce,
    /// Commits at this interval; the broker gives a transaction up after the time-out.
    Transactions {
        interval: Duration,
        timeout: Duration,
    },
}

impl Way {
    /// With the time-out that Kafka's clients have by default.
    pub const fn transactions(interval: Duration) -> Self {
        Self::Transactions { interval, timeout: Duration::from_mins(1) }
    }

    pub fn name(self) -> String {
        match self {
            Self::AtLeastOnce => "verdictd, at least once, a unique key".to_owned(),
            Self::Transactions { interval, .. } => format!("transactions, committed every {interval:?}"),
        }
    }
}

/// A broker with both topics.
pub fn broker() -> Broker {
    let broker = Broker::start(Setup::default()).expect("Java, for a Kafka broker");
    broker.create_topic(FROM, PARTITIONS, &[]);
    broker.create_topic(TO, PARTITIONS, &[]);
    broker
}

/// One of those who share the events among them.
pub struct Box {
    way: Way,
    name: &'static str,
    bootstrap: String,
    place: Place,
}

/// One that runs; killed when dropped.
pub enum Running {
    Daemon(Daemon),
    /// With a word from it whenever a transaction is open.
    Carrier(Guarded, Receiver<()>),
}

impl Box {
    pub fn new(way: Way, name: &'static str, broker: &Broker) -> Self {
        let bootstrap = broker.bootstrap();
        let place = Place::new(&format!(
            "[sources.{name}]\ntype = \"kafka\"\nbrokers = [\"{bootstrap}\"]\ntopics = [\"{FROM}\"]\nevent = {MAPPING}\n\
             [sinks.out]\ntype = \"kafka\"\nbrokers = [\"{bootstrap}\"]\ntopic = \"{TO}\"\n"
        ));
        let overlay = place.path().join("conf.d");
        std::fs::create_dir(&overlay).expect("a folder");
        std::fs::write(overlay.join("instance.toml"), format!("instance = \"{name}\"\n")).expect("a file");
        Self { way, name, bootstrap, place }
    }

    pub fn start(&self) -> Running {
        let Way::Transactions { interval, timeout } = self.way else {
            return Running::Daemon(self.place.start());
        };
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args([transactional::TASK, &self.bootstrap, self.name]);
        command.args([interval, timeout].map(|period| period.as_millis().to_string()));
        let mut child = Guarded::spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()));
        let (sender, open) = channel();
        let output = BufReader::new(child.0.stdout.take().expect("its output"));
        std::thread::spawn(move || {
            output.lines().take_while(|line| line.is_ok() && sender.send(()).is_ok()).for_each(drop);
        });
        Running::Carrier(child, open)
    }
}

impl Running {
    /// SIGKILL, of the second way with a transaction open; returns when it is gone.
    pub fn kill(self) {
        match self {
            Self::Daemon(daemon) => daemon.kill(),
            Self::Carrier(child, open) => {
                while open.try_recv().is_ok() {}
                open.recv().expect("a transaction that is opened");
                // Its first records are on their way to the broker, and it is not over yet.
                std::thread::sleep(Duration::from_millis(30));
                drop(child);
            }
        }
    }
}
