//! The wall clock: nothing that was promised depends on it.
//!
//! The daemon runs with a wall clock of the test's (libfaketime); its monotonic clock is the true one, as on a box
//! whose clock is set while it runs.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // helpers stop at the first surprise, as tests do

mod support;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};
use support::child::{WATCHDOG, poll};
use support::daemon::Daemon;
use support::http::JSON;
use support::site::{Site, member, sequence};
use verdictd::notice::{CLOCK_SET, CLOCK_STEPPED, CLOCK_UNSET, Notice};

const YEAR_S: i64 = 31_557_600;

/// A site whose wall clock the test sets, and what is answered there.
struct Appliance {
    site: Site,
    /// The clock's file: seconds that it is ahead of the true one.
    clock: PathBuf,
    /// The answer to each event, by id.
    answers: BTreeMap<String, Vec<u8>>,
}

/// The library that makes the wall clock up; None, told loudly, where this machine has none.
fn library() -> Option<PathBuf> {
    let of_machine = |entry: std::fs::DirEntry| entry.path().join("faketime/libfaketimeMT.so.1");
    let mut places = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten().map(of_machine);
    let library = places.find(|path| path.exists());
    if library.is_none() {
        let line = "\n*** NOT TESTED: steps of the wall clock, which need libfaketime (Debian: faketime) ***\n";
        let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
    }
    library
}

impl Appliance {
    fn new() -> Option<Self> {
        let library = library()?;
        let mut site = Site::new();
        let clock = site.path().join("clock");
        site.env("LD_PRELOAD", &library.display().to_string());
        site.env("FAKETIME_TIMESTAMP_FILE", &clock.display().to_string());
        for name in ["FAKETIME_NO_CACHE", "FAKETIME_DONT_FAKE_MONOTONIC", "DONT_FAKE_MONOTONIC", "NO_FAKE_STAT"] {
            site.env(name, "1");
        }
        let new = Self { site, clock, answers: BTreeMap::new() };
        new.set_ahead(0);
        Some(new)
    }

    /// Sets the wall clock to the true time and so many seconds.
    fn set_ahead(&self, seconds: i64) {
        let next = self.clock.with_extension("next");
        std::fs::write(&next, format!("{seconds:+}\n")).unwrap();
        // Whoever reads it finds the one or the other.
        std::fs::rename(next, &self.clock).unwrap();
    }

    /// Sets the wall clock to a time, in seconds since 1970.
    fn set_to(&self, seconds: i64) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        self.set_ahead(seconds - i64::try_from(now).unwrap());
    }

    /// Events that are new; their verdicts' `decided`.
    fn take_new(&mut self, daemon: &Daemon, ids: &[&str]) -> Vec<String> {
        let mut client = daemon.client();
        let mut decided = Vec::new();
        for id in ids {
            let reply = client.post(JSON, event(id)).unwrap();
            assert_eq!((reply.status, reply.is_replayed()), (200, false), "{id}: {}", reply.text());
            decided.push(member(&reply.text(), "decided").as_str().expect("a time").to_owned());
            assert!(self.answers.insert((*id).to_owned(), reply.body).is_none(), "{id} is new to the test");
        }
        decided
    }

    /// Everything answered before is answered the same.
    fn repeat_all(&self, daemon: &Daemon, when: &str) {
        let mut client = daemon.client();
        for (id, answer) in &self.answers {
            let reply = client.post(JSON, event(id)).unwrap();
            assert_eq!((reply.status, reply.is_replayed()), (200, true), "{when}: {id}: {}", reply.text());
            assert_eq!(&reply.body, answer, "{when}: {id}");
        }
    }

    /// Each event stands in the sink once, in order; its cursor is behind the last.
    fn is_delivered(&self, daemon: &Daemon, when: &str) {
        let expected = self.answers.len();
        let lines = poll(WATCHDOG, || self.site.whole_sink_lines().filter(|lines| lines.len() >= expected));
        let lines = lines.unwrap_or_else(|| panic!("{when}: not delivered\n{}", daemon.log()));
        let sequences: Vec<u64> = lines.iter().map(|line| sequence(line)).collect();
        assert_eq!(sequences, (1..=expected as u64).collect::<Vec<_>>(), "{when}");
        let lag = poll(WATCHDOG, || (daemon.status()["sinks"][0]["lag-events"] == 0).then_some(()));
        assert!(lag.is_some(), "{when}: {}", daemon.status());
    }
}

fn event(id: &str) -> String {
    // Without a time of its own it stands at that of its arrival.
    format!(r#"{{"id":"{id}","amount":5}}"#)
}

/// Waits until the daemon has said something so often.
fn says(daemon: &Daemon, notice: &Notice, times: usize) {
    let kind = format!("\"kind\":\"{}\"", notice.kind);
    let said = poll(WATCHDOG, || (daemon.log().matches(&kind).count() >= times).then_some(()));
    assert!(said.is_some(), "{} is not said {times} times:\n{}", notice.kind, daemon.log());
}

fn warns(daemon: &Daemon, text: &str) -> bool {
    daemon.status()["warnings"].as_array().expect("a list").iter().any(|line| line.as_str().unwrap().contains(text))
}

#[test]
fn a_box_that_boots_in_1970_keeps_every_promise_also_once_its_clock_is_set() {
    let Some(mut it) = Appliance::new() else { return };
    it.set_to(20);
    let daemon = Daemon::start(&it.site);
    let decided = it.take_new(&daemon, &["a", "b", "c"]);
    assert!(decided.iter().all(|time| time.starts_with("1970-01-01T00:0")), "{decided:?}");
    says(&daemon, &CLOCK_UNSET, 1);
    assert!(warns(&daemon, "the wall clock is not set"));
    it.repeat_all(&daemon, "in 1970");
    it.is_delivered(&daemon, "in 1970");
    assert!(daemon.stop().success());

    // It boots again, as early as before.
    it.set_to(15);
    let daemon = Daemon::start(&it.site);
    it.repeat_all(&daemon, "after a second boot in 1970");
    it.take_new(&daemon, &["d"]);

    // Then the clock is set.
    it.set_ahead(0);
    says(&daemon, &CLOCK_SET, 1);
    assert!(!warns(&daemon, "wall clock"));
    it.repeat_all(&daemon, "after the clock was set");
    it.is_delivered(&daemon, "after the clock was set");
    assert!(daemon.stop().success());

    // The time that did not pass does not count at the next start either.
    let daemon = Daemon::start(&it.site);
    it.repeat_all(&daemon, "after a restart with the clock set");
    let decided = it.take_new(&daemon, &["e"]);
    assert!(!decided[0].starts_with("1970"), "{decided:?}");
    it.is_delivered(&daemon, "after a restart with the clock set");
    daemon.kill();
    let daemon = Daemon::start(&it.site);
    it.repeat_all(&daemon, "after kill -9");
    assert!(daemon.stop().success());
}

#[test]
fn steps_of_years_in_both_directions_expire_nothing_and_double_nothing() {
    let Some(mut it) = Appliance::new() else { return };
    // A file a day, so that a step meets the rotation too.
    it.site.set("sinks.audit.rotate-age", "\"1 d\"");
    let mut daemon = Daemon::start(&it.site);
    it.take_new(&daemon, &["a"]);
    let steps = [
        (10, &CLOCK_STEPPED, "stepped ahead"),
        (20, &CLOCK_STEPPED, "stepped ahead"),
        (5, &CLOCK_STEPPED, "stepped back"),
        // Before the year of the release it cannot be right.
        (-10, &CLOCK_UNSET, "not set"),
        (0, &CLOCK_SET, "stepped back"),
    ];
    for (n, (years, notice, warning)) in steps.into_iter().enumerate() {
        let when = format!("after the step to {years} years ahead");
        it.set_ahead(years * YEAR_S);
        let times = steps[..=n].iter().filter(|step| step.1 == notice).count();
        says(&daemon, notice, times);
        assert!(warns(&daemon, warning), "{when}: {}", daemon.status()["warnings"]);
        it.repeat_all(&daemon, &when);
        it.take_new(&daemon, &[&format!("n{n}")]);
        it.repeat_all(&daemon, &when);
        it.is_delivered(&daemon, &when);
    }
    daemon.kill();
    daemon = Daemon::start(&it.site);
    it.repeat_all(&daemon, "after kill -9");
    it.is_delivered(&daemon, "after kill -9");
    assert!(daemon.stop().success());

    // A clean stop far ahead, a start at the true time: nothing passed, nothing is lost.
    daemon = Daemon::start(&it.site);
    it.set_ahead(10 * YEAR_S);
    it.take_new(&daemon, &["ahead"]);
    assert!(daemon.stop().success());
    it.set_ahead(0);
    daemon = Daemon::start(&it.site);
    it.repeat_all(&daemon, "after a start before the last stop");
    it.is_delivered(&daemon, "after a start before the last stop");
    assert!(daemon.stop().success());
}
