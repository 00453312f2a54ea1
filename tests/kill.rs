//! kill -9 at random moments under load from several clients, again and again on one state.
//!
//! Whatever the moment: what was answered is in the sink, each identity has one verdict, a repeat gets the
//! same bytes after any number of restarts, and what was refused for what it is lies in quarantine.
//!
//! `VERDICTD_TEST_KILL_ROUNDS` sets the rounds, `VERDICTD_TEST_SEED` repeats a run's choices (not its moments).
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // helpers stop at the first surprise, as tests do

mod support;

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use support::child;
use support::daemon::{Daemon, configured};
use support::http::{Client, JSON, NDJSON};
use support::site::{Site, member};

const SENDERS: usize = 4;

/// Answers in a round before the kill, at most.
const ANSWERS_MAX: usize = 800;

/// One client, over all restarts: what it has sent, and what it was told.
struct Sender {
    name: String,
    random: Pcg64Mcg,
    next: u64,
    /// The verdict's line of each answered id.
    acked: BTreeMap<String, String>,
    /// Ids sent and not answered: sent again until they are.
    open: BTreeSet<String>,
    /// Ids answered since the last start, asked for again after the next.
    recent: Vec<String>,
    malformed: Refused,
    conflicts: Refused,
}

/// What is refused for what it is: known to be set aside once it is answered.
#[derive(Default)]
struct Refused {
    sent: BTreeSet<String>,
    answered: BTreeSet<String>,
}

enum Line {
    Event(String),
    Malformed(String),
    Conflict(String),
}

impl Line {
    fn text(&self) -> String {
        match self {
            Self::Event(id) => event(id, 0),
            Self::Conflict(id) => event(id, 1),
            Self::Malformed(id) => format!(r#"{{"id":"{id}","amount":1,"amount":2}}"#),
        }
    }
}

/// An event whose payload follows from its id; `other` makes it another.
fn event(id: &str, other: usize) -> String {
    let amount = id.bytes().map(usize::from).sum::<usize>() % 1500 + other;
    format!(r#"{{"id":"{id}","key":"{}","time":"2018-05-01T00:20:11Z","amount":{amount}}}"#, &id[..3])
}

impl Sender {
    fn new(name: usize, seed: u64) -> Self {
        Self {
            name: format!("k{name}"),
            random: Pcg64Mcg::seed_from_u64(seed + name as u64),
            next: 0,
            acked: BTreeMap::new(),
            open: BTreeSet::new(),
            recent: Vec::new(),
            malformed: Refused::default(),
            conflicts: Refused::default(),
        }
    }

    /// Sends until the connection breaks, first what the last life of the daemon has answered or left open.
    fn run(&mut self, site: &Site, answers: &AtomicUsize) {
        let Ok(mut client) = Client::connect(&site.events_socket()) else { return };
        let recent = std::mem::take(&mut self.recent);
        for ids in recent.chunks(200) {
            if self.exchange(&mut client, ids.iter().cloned().map(Line::Event).collect()).is_err() {
                return;
            }
        }
        let open: Vec<_> = self.open.iter().cloned().map(Line::Event).collect();
        if !open.is_empty() && self.exchange(&mut client, open).is_err() {
            return;
        }
        loop {
            let count = if self.random.random_ratio(2, 3) { 1 } else { self.random.random_range(2..100) };
            let lines: Vec<_> = (0..count).map(|_| self.draw()).collect();
            if self.exchange(&mut client, lines).is_err() {
                return;
            }
            answers.fetch_add(count, Ordering::Relaxed);
        }
    }

    fn draw(&mut self) -> Line {
        self.next += 1;
        let known = self.recent.choose(&mut self.random).cloned();
        match (self.random.random_range(0..20), known) {
            (0, _) => Line::Malformed(format!("{}-bad-{}", self.name, self.next)),
            (1, Some(id)) => Line::Conflict(id),
            (2..5, Some(id)) => Line::Event(id),
            _ => Line::Event(format!("{}-{}", self.name, self.next)),
        }
    }

    /// Sends the lines as one request and takes down what is answered.
    fn exchange(&mut self, client: &mut Client, lines: Vec<Line>) -> io::Result<()> {
        for line in &lines {
            match line {
                Line::Event(id) if !self.acked.contains_key(id) => self.open.insert(id.clone()),
                Line::Event(_) => true,
                Line::Malformed(id) => self.malformed.sent.insert(id.clone()),
                Line::Conflict(id) => self.conflicts.sent.insert(id.clone()),
            };
        }
        let answers: Vec<(u64, String)> = if let [line] = &lines[..] {
            let reply = client.post(JSON, line.text())?;
            vec![(reply.status.into(), reply.text().trim_end().to_owned())]
        } else {
            let body: Vec<_> = lines.iter().map(Line::text).collect();
            let reply = client.post(NDJSON, body.join("\n"))?;
            assert_eq!(reply.status, 200, "{}", reply.text());
            let status = |line: &String| member(line, "status").as_u64().unwrap_or(200);
            reply.lines().into_iter().map(|line| (status(&line), line)).collect()
        };
        assert_eq!(answers.len(), lines.len(), "an answer a line");
        for (line, (status, text)) in lines.into_iter().zip(answers) {
            self.take_down(line, status, &text);
        }
        Ok(())
    }

    fn take_down(&mut self, line: Line, status: u64, text: &str) {
        match line {
            Line::Event(id) => {
                assert_eq!(status, 200, "{id}: {text}");
                self.open.remove(&id);
                let first = self.acked.entry(id.clone()).or_insert_with(|| text.to_owned());
                assert_eq!(first, text, "{id}: a repeat was answered otherwise");
                self.recent.push(id);
            }
            Line::Malformed(id) => {
                assert_eq!(status, 400, "{id}: {text}");
                self.malformed.answered.insert(id);
            }
            Line::Conflict(id) => {
                assert_eq!(status, 409, "{id}: {text}");
                self.conflicts.answered.insert(id);
            }
        }
    }
}

/// One life of the daemon: it is started, loaded and killed. Some lives end before they are ready.
fn live_and_die(site: &Site, senders: &mut [Sender], random: &mut Pcg64Mcg) {
    // A moment between two events of the daemon's own; nothing waits for it.
    let moment = Duration::from_micros(random.random_range(0..3000));
    if random.random_ratio(1, 10) {
        let daemon = Daemon::spawn(site);
        std::thread::park_timeout(moment * 20);
        return daemon.kill();
    }
    let daemon = Daemon::start(site);
    let answers = AtomicUsize::new(0);
    let enough = random.random_range(1..ANSWERS_MAX);
    std::thread::scope(|scope| {
        let threads: Vec<_> = senders.iter_mut().map(|sender| scope.spawn(|| sender.run(site, &answers))).collect();
        let reached = || {
            (answers.load(Ordering::Relaxed) >= enough
                || threads.iter().any(std::thread::ScopedJoinHandle::is_finished))
            .then_some(())
        };
        assert!(child::poll(child::WATCHDOG, reached).is_some(), "no answers any more:\n{}", daemon.log());
        std::thread::park_timeout(moment);
        daemon.kill();
        for thread in threads {
            thread.join().expect("a sender that saw no broken promise");
        }
    });
}

fn must_be_set_aside(entries: &[Value], kind: &str, refused: &[&Refused]) {
    let mut kept = BTreeMap::<String, usize>::new();
    for entry in entries.iter().filter(|entry| entry["kind"] == kind) {
        *kept.entry(entry["id"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
    }
    for id in refused.iter().flat_map(|refused| &refused.answered) {
        assert!(kept.contains_key(id), "{kind} {id} was answered and is not in quarantine");
    }
    for (id, count) in &kept {
        assert!(refused.iter().any(|refused| refused.sent.contains(id)), "{kind} {id} in quarantine was never sent");
        assert!(kind != "malformed" || *count == 1, "{kind} {id} was sent once and is kept {count} times");
    }
}

#[test]
fn what_was_answered_outlives_any_kill() {
    let rounds = support::from_env("VERDICTD_TEST_KILL_ROUNDS", 200);
    let (seed, mut random) = support::random(rand::random());
    // Shown where the test fails.
    println!("VERDICTD_TEST_SEED={seed} repeats these choices");
    let site = Site::new();
    let mut senders: Vec<_> = (0..SENDERS).map(|name| Sender::new(name, seed)).collect();
    for round in 1..=rounds {
        live_and_die(&site, &mut senders, &mut random);
        println!("round {round}: {} answered", senders.iter().map(|s| s.acked.len()).sum::<usize>());
    }

    // Whatever was left open is sent again; then it may finish its work.
    let daemon = Daemon::start(&site);
    for sender in &mut senders {
        let open: Vec<_> = sender.open.iter().cloned().map(Line::Event).collect();
        let recent: Vec<_> = sender.recent.iter().cloned().map(Line::Event).collect();
        for lines in [open, recent].into_iter().filter(|lines| !lines.is_empty()) {
            sender.exchange(&mut daemon.client(), lines).expect("an answer");
        }
    }
    assert!(daemon.stop().success());

    let mut delivered = BTreeMap::new();
    for line in site.sink_lines() {
        let id = member(&line, "id").as_str().unwrap_or_default().to_owned();
        let before = delivered.insert(id.clone(), line);
        assert!(before.is_none(), "{id} was delivered twice: {before:?}");
    }
    let acked: BTreeMap<_, _> = senders.iter().flat_map(|s| s.acked.clone()).collect();
    for (id, line) in &acked {
        assert_eq!(delivered.get(id), Some(line), "{id} was answered so");
    }
    assert_eq!(delivered.len(), acked.len(), "nothing was delivered that was not sent");

    let done = configured(&site, &["quarantine", "list", "--json"]);
    let entries: Vec<Value> = done.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    must_be_set_aside(&entries, "malformed", &senders.iter().map(|s| &s.malformed).collect::<Vec<_>>());
    must_be_set_aside(&entries, "conflict", &senders.iter().map(|s| &s.conflicts).collect::<Vec<_>>());
    println!("{} answered, {} set aside, {rounds} rounds", acked.len(), entries.len());
}
