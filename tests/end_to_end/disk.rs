//! The state's disk fails or runs full: nothing is acked that is not durable, and it comes back.

use crate::events::{event, sink_lines, verdict};
use crate::support::child;
use crate::support::daemon::Daemon;
use crate::support::http::{Client, JSON, NDJSON};
use crate::support::powercut_fs::{Fault, Names, PowercutFs, Rest, Setup, Syncs};
use crate::support::site::{Site, member};
use crate::support::{mount_powercut, random};
use rand::{Rng, RngCore};
use rand_pcg::Pcg64Mcg;
use tempfile::TempDir;

/// The exit code of I/O errors: the state directory's medium failed.
const IO: i32 = 74;

struct Disk {
    fs: PowercutFs,
    folder: TempDir,
}

impl Disk {
    fn new(setup: Setup) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let fs = mount_powercut(&folder.path().join("disk"), setup)?;
        Some(Self { fs, folder })
    }

    fn site(&self) -> Site {
        Site::with_state(&self.fs.path().join("state"))
    }
}

/// Events whose records are as large as they get and cannot be packed: a megabyte and a half a thousand.
fn large(random: &mut Pcg64Mcg, prefix: &str, count: usize) -> String {
    let mut text = |bytes: usize| {
        let mut raw = vec![0; bytes / 2];
        random.fill_bytes(&mut raw);
        raw.iter().map(|byte| char::from(b'0' + byte % 64)).filter(char::is_ascii_alphanumeric).collect::<String>()
    };
    let mut line = |n| format!(r#"{{"id":"{prefix}-{n}-{}","key":"{}","amount":1}}"#, text(900), text(2000));
    (0..count).map(&mut line).collect::<Vec<_>>().join("\n")
}

/// Posts large events until one is refused; the lines that were answered with a verdict, and the refusal's status.
fn fill(client: &mut Client, random: &mut Pcg64Mcg, requests_max: usize) -> (Vec<String>, Option<u16>) {
    let mut taken = Vec::new();
    for request in 0..requests_max {
        let reply =
            client.post(NDJSON, large(random, &format!("fill-{requests_max}-{request}"), 200)).expect("an answer");
        if reply.status != 200 {
            assert!(reply.header("retry-after").is_some_and(|v| v.parse::<u32>().is_ok()), "{reply:?}");
            return (taken, Some(reply.status));
        }
        for line in reply.lines() {
            match member(&line, "status").as_u64() {
                Some(503) => return (taken, Some(503)),
                Some(other) => panic!("{other}: {line}"),
                None => taken.push(line),
            }
        }
    }
    (taken, None)
}

#[test]
fn an_error_of_the_disk_ends_in_74_with_nothing_acked_behind_it_and_a_clean_start() {
    let (seed, mut random) = random(74);
    for round in 0..12 {
        let Some(disk) = Disk::new(Setup::default()) else { return };
        let site = disk.site();
        let mut daemon = Daemon::start(&site);
        let mut client = daemon.client();
        let mut acked = vec![verdict(&mut client, "before", 100.0)];
        let fault = if round % 3 == 0 { Fault::NextSync } else { Fault::Once };
        disk.fs.fail(disk.fs.operations() + random.random_range(1..8), fault);
        for n in 0..1000 {
            match client.post(JSON, event(&format!("e-{n}"), 100.0)) {
                Ok(reply) if reply.status == 200 => {
                    assert_eq!(disk.fs.failed().len(), 0, "seed {seed}, round {round}: acked behind the failure");
                    acked.push(reply);
                }
                // Told that it was not taken, or not told anything.
                Ok(reply) => assert!(reply.status >= 500, "seed {seed}, round {round}: {reply:?}"),
                Err(_) => break,
            }
        }
        let status = daemon.wait_exit();
        assert_eq!(status.code(), Some(IO), "seed {seed}, round {round}: {:?}\n{}", disk.fs.failed(), daemon.log());
        drop(daemon);
        disk.fs.heal();
        let daemon = Daemon::start(&site);
        let mut client = daemon.client();
        for first in &acked {
            let id = first.json()["id"].as_str().unwrap_or_default().to_owned();
            let again = verdict(&mut client, &id, 100.0);
            assert_eq!(again.body, first.body, "seed {seed}, round {round}");
        }
        verdict(&mut client, "behind", 100.0);
    }
}

#[test]
fn an_event_is_acked_only_when_a_power_cut_cannot_take_it() {
    let (seed, mut random) = random(9);
    let Some(disk) = Disk::new(Setup::default()) else { return };
    assert_eq!(cut_and_look(&disk, &mut random), 0, "seed {seed}: acked events were lost");
}

#[test]
fn the_same_with_its_sync_taken_out_loses_events() {
    let (_, mut random) = random(9);
    let Some(disk) = Disk::new(Setup { syncs: Syncs::DataSyncLies, ..Setup::default() }) else { return };
    assert!(cut_and_look(&disk, &mut random) > 0, "the test above could not have seen a missing sync");
}

/// Posts events, cuts the power behind some of the answers, starts on what is left; how many are not known any more.
fn cut_and_look(disk: &Disk, random: &mut Pcg64Mcg) -> usize {
    let site = disk.site();
    let daemon = Daemon::start(&site);
    let mut client = daemon.client();
    let mut acked = Vec::new();
    for n in 0..60 {
        let reply = verdict(&mut client, &format!("p-{n}"), 100.0);
        acked.push((disk.fs.operations(), reply));
    }
    daemon.kill();
    let mut lost = 0;
    for round in 0..8 {
        let (cut, _) = acked[random.random_range(0..acked.len())];
        let names = if round % 2 == 0 { Names::Strict } else { Names::Journal };
        let rest = if round < 4 { Rest::Nothing } else { Rest::Some(round) };
        let image = disk.folder.path().join("image");
        disk.fs.image(cut, names, rest, &image).unwrap();
        let site = Site::with_state(&image.join("state"));
        let daemon = Daemon::start(&site);
        let mut client = daemon.client();
        for (_, first) in acked.iter().filter(|(at, _)| *at <= cut) {
            let id = first.json()["id"].as_str().unwrap_or_default().to_owned();
            let again = verdict(&mut client, &id, 100.0);
            lost += usize::from(again.body != first.body);
        }
    }
    lost
}

#[test]
fn a_full_disk_is_said_and_survived_also_by_a_start_on_it() {
    let (_, mut random) = random(28);
    // Room for the ballast, a reserve and some megabytes more.
    let Some(disk) = Disk::new(Setup { size_bytes: 64 << 20, ..Setup::default() }) else { return };
    let mut site = disk.site();
    // Else what was delivered would make room for ever.
    site.set("dedup.when-full", "\"refuse\"");
    let daemon = Daemon::start(&site);
    let mut client = daemon.client();
    let known = verdict(&mut client, "known", 100.0);
    let (taken, status) = fill(&mut client, &mut random, 1000);
    assert_eq!(status, Some(503), "{} taken", taken.len());
    must_answer_what_it_knows(&daemon, &known.body);
    assert_eq!(daemon.admin("/healthz").status, 200);
    daemon.kill();

    // Really full: not a byte to be had.
    disk.fs.resize(disk.fs.used_bytes());
    let daemon = Daemon::start_unready(&site);
    must_answer_what_it_knows(&daemon, &known.body);
    let reply = daemon.client().post(JSON, event("refused", 100.0)).unwrap();
    assert_eq!(reply.status, 503, "{}", reply.text());
    assert!(reply.header("retry-after").is_some());
    sink_lines(&site, taken.len() + 1);

    // Somebody makes room; it takes events again by itself.
    disk.fs.resize(1 << 30);
    must_recover(&daemon, "recovered");
    assert_eq!(daemon.admin("/readyz").status, 200);
    daemon.kill();
    let daemon = Daemon::start(&site);
    must_answer_what_it_knows(&daemon, &known.body);
}

#[test]
fn at_the_disk_budget_it_refuses_drains_and_recovers() {
    let (_, mut random) = random(64);
    let Some(sink_disk) = Disk::new(Setup { size_bytes: 4096, ..Setup::default() }) else { return };
    let mut site = Site::new();
    // A sink on a disk of 4 KiB: nothing more is delivered, so nothing can go from the log.
    let sink = sink_disk.fs.path().join("verdicts.ndjson");
    site.set("sinks.audit.path", &format!("{:?}", sink.display().to_string()))
        .set("limits.disk", "\"64 MiB\"")
        .set("quarantine.limit", "\"1 MiB\"");
    let daemon = Daemon::start(&site);
    let mut client = daemon.client();
    // The sink's disk takes a few of these; what comes behind them is not delivered, so it stays known.
    let (before, _) = fill(&mut client, &mut random, 2);
    assert_eq!(daemon.admin("/readyz").status, 200, "only a sink is away");
    let known = verdict(&mut client, "known", 100.0);
    let (taken, status) = fill(&mut client, &mut random, 1000);
    assert_eq!(status, Some(503), "{} taken", taken.len());
    assert!(taken.len() > 1000, "only {} fitted into the budget", taken.len());
    must_answer_what_it_knows(&daemon, &known.body);

    sink_disk.fs.resize(0);
    must_recover(&daemon, "recovered");
    assert!(daemon.stop().success());
    // By its own process: this one serves that file system.
    let done = child::run(std::process::Command::new("cat").arg(&sink)).expect("an end");
    let delivered: Vec<&str> = done.stdout.lines().collect();
    let known = known.text();
    let expected = before.iter().map(String::as_str).chain([known.trim_end()]).chain(taken.iter().map(String::as_str));
    assert!(delivered.iter().copied().take(delivered.len() - 1).eq(expected), "{} delivered", delivered.len());
}

#[track_caller]
fn must_answer_what_it_knows(daemon: &Daemon, known: &[u8]) {
    let again = verdict(&mut daemon.client(), "known", 100.0);
    assert!(again.is_replayed());
    assert_eq!(again.body, known);
    let found = daemon.client().get("/v1/verdicts?source=pos&id=known").unwrap();
    assert_eq!((found.status, found.body.as_slice()), (200, known));
}

fn must_recover(daemon: &Daemon, id: &str) {
    let taken = child::poll(child::WATCHDOG, || {
        let reply = daemon.client().post(JSON, event(id, 100.0)).ok()?;
        assert!(reply.status == 200 || reply.status == 503, "{}", reply.text());
        (reply.status == 200).then_some(())
    });
    assert!(taken.is_some(), "it takes nothing again:\n{}", daemon.log());
}
