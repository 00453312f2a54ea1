//! The shipped example, run as a user would: its tables, its Python, its SQL.

use super::support::child::{Guarded, WATCHDOG, poll, wait};
use super::support::postgres::{DATABASE, Postgres, Setup, USER};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Debian's: its libraries are not seen by another Python.
const PYTHON: &str = "/usr/bin/python3";

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/examples/consumer").join(name)
}

/// A database with the example's tables. None where PostgreSQL or the example's libraries are missing.
pub fn database() -> Option<Postgres> {
    if !has_libraries() {
        return None;
    }
    let database = Postgres::start(Setup::default())?;
    let mut command = psql(&database);
    let schema = File::open(file("schema.sql")).expect("the example's tables");
    let made = command.args(["-v", "ON_ERROR_STOP=1"]).stdin(schema).output().expect("psql");
    assert!(made.status.success(), "{made:?}");
    Some(database)
}

fn has_libraries() -> bool {
    let mut python = Command::new(PYTHON);
    python.args(["-c", "import psycopg2, confluent_kafka"]).stdout(Stdio::null()).stderr(Stdio::null());
    let is_there = python.status().is_ok_and(|status| status.success());
    if !is_there {
        let required = std::env::var("VERDICTD_TEST_POSTGRES").is_ok_and(|value| value == "required");
        assert!(!required, "python3-psycopg2 and python3-confluent-kafka are required here and are missing");
        let name = std::thread::current().name().unwrap_or("a test").to_owned();
        let line = format!("\n*** NOT TESTED: {name} needs python3-psycopg2 and python3-confluent-kafka ***\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
    is_there
}

/// `psql` as the owner of the tables, over TCP.
pub fn psql(database: &Postgres) -> Command {
    let mut command = Command::new("psql");
    command.args(["-X", "-q", "-A", "-t", "-h", "127.0.0.1", "-p", &database.port().to_string(), "-U", USER.0]);
    command.args(["-d", DATABASE]).env("PGPASSWORD", USER.1);
    command
}

/// `consumer.sql` over the lines of a file.
pub fn load(database: &Postgres, lines: &Path) -> Command {
    let mut command = psql(database);
    command.arg("-f").arg(file("consumer.sql")).stdin(File::open(lines).expect("lines"));
    command
}

/// Where a consumer reads and writes.
#[derive(Clone)]
pub struct Place {
    pub brokers: String,
    pub topic: String,
    /// Its name in the group, and that of its log.
    pub member: String,
    pub database: String,
    pub folder: PathBuf,
}

/// A running `consumer.py`; killed when dropped.
pub struct Consumer {
    child: Guarded,
}

impl Consumer {
    pub fn spawn(place: &Place) -> Self {
        let open = || File::options().create(true).append(true).open(place.log_file()).expect("a log");
        let mut command = Command::new(PYTHON);
        command.arg(file("consumer.py")).args([&place.brokers, &place.topic, &place.group(), &place.member]);
        command.arg(&place.database).stdin(Stdio::null()).stdout(open()).stderr(open());
        Self { child: Guarded::spawn(&mut command) }
    }

    /// Whether it has ended by itself, which it must not.
    pub fn has_ended(&mut self) -> bool {
        self.child.0.try_wait().expect("a child that can be waited for").is_some()
    }

    /// SIGKILL; returns when it is gone.
    pub fn kill(&mut self) {
        let _ = self.child.0.kill();
        let _ = self.child.0.wait();
    }

    /// SIGTERM; returns when it has ended, as it should.
    pub fn stop(mut self) {
        let pid = i32::try_from(self.child.0.id()).ok().and_then(Pid::from_raw).expect("a process id");
        kill_process(pid, Signal::TERM).expect("a process that can be signalled");
        let status = wait(&mut self.child).expect("a consumer that ends");
        // By the signal itself where it has only just been started.
        assert!(status.success() || status.signal() == Some(Signal::TERM.as_raw()), "{status}");
    }
}

impl Place {
    pub fn group(&self) -> String {
        format!("books-of-{}", self.topic)
    }

    fn log_file(&self) -> PathBuf {
        self.folder.join(format!("{}.log", self.member))
    }

    /// All it has written, over its restarts.
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    /// What it has told of its batches: verdicts that were new, and such as were there already. Of a batch that was
    /// written just before it was killed it tells nothing.
    pub fn told(&self) -> (u64, u64) {
        let mut told = (0, 0);
        for line in self.log().lines() {
            let Some((new, known)) = line.strip_suffix(" known").and_then(|rest| rest.split_once(" new, ")) else {
                continue;
            };
            told.0 += new.parse::<u64>().unwrap_or_default();
            told.1 += known.parse::<u64>().unwrap_or_default();
        }
        told
    }
}

/// How many verdicts the balances count: less than there are rows only if something is wrong.
pub fn counted(database: &Postgres) -> u64 {
    let text = database.try_psql("SELECT coalesce(sum(verdicts), 0) FROM balances");
    text.ok().and_then(|text| text.trim().parse().ok()).unwrap_or_default()
}

/// Waits until so many are counted.
pub fn await_counted(database: &Postgres, verdicts: u64, log: impl Fn() -> String) {
    let all = poll(WATCHDOG, || (counted(database) >= verdicts).then_some(()));
    all.unwrap_or_else(|| panic!("{} of {verdicts} are in the table\n{}", counted(database), log()));
}
