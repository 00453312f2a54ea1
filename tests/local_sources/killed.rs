//! kill -9 in mid-load, and what is there in the end.

use super::support::child::{WATCHDOG, poll};
use super::support::daemon::Daemon;
use super::support::from_env;
use super::support::site::Site;
use super::{assert_each_once, event, quoted, wait_delivered};
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Events appended to the followed file before each life of the daemon.
const LINES: usize = 20_000;
/// Files dropped before each, and events in each.
const FILES: usize = 5;
const EACH: usize = 3_000;
/// Events sent over the socket in all.
const SENT: usize = 60_000;

fn kills() -> usize {
    usize::try_from(from_env("VERDICTD_TEST_SOURCE_KILLS", 8)).unwrap()
}

/// Kills the daemon again and again, each time when more verdicts have come; the last one lives.
fn killed(site: &Site, mut before_each: impl FnMut(usize)) -> Daemon {
    let mut seen = 0;
    for round in 0..kills() {
        before_each(round);
        let daemon = Daemon::start(site);
        let more = || {
            let bytes = fs::metadata(site.sink()).map_or(0, |sink| sink.len());
            (bytes > seen).then_some(bytes)
        };
        seen = poll(WATCHDOG, more).unwrap_or_else(|| panic!("nothing comes:\n{}", daemon.log()));
        daemon.kill();
    }
    before_each(kills());
    Daemon::start(site)
}

fn append(path: &Path, events: std::ops::Range<usize>) {
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    let text: String = events.map(|n| event(n) + "\n").collect();
    file.write_all(text.as_bytes()).unwrap();
}

#[test]
fn a_followed_file_that_is_rotated_meanwhile() {
    let mut site = Site::new();
    let log = site.path().join("events.log");
    site.set("sources.log.type", "\"file\"").set("sources.log.path", &quoted(&log));
    site.set("sources.log.rotate-wait", "\"50 ms\"");
    let daemon = killed(&site, |round| {
        if round % 3 == 2 {
            for n in (1..5).rev() {
                let _ =
                    fs::rename(log.with_extension(format!("log.{n}")), log.with_extension(format!("log.{}", n + 1)));
            }
            fs::rename(&log, log.with_extension("log.1")).unwrap();
        }
        append(&log, round * LINES..(round + 1) * LINES);
    });
    let count = (kills() + 1) * LINES;
    let ids = wait_delivered(&site, &daemon, count);
    assert!(daemon.stop().success());
    assert_each_once(&ids, count);
    let in_order = ids.iter().enumerate().all(|(n, id)| *id == format!("e{n}"));
    assert!(in_order, "in the order of the lines");
}

#[test]
fn a_spool_folder_that_is_filled_meanwhile() {
    let mut site = Site::new();
    let spool = site.path().join("spool");
    fs::create_dir(&spool).unwrap();
    site.set("sources.drop.type", "\"spool\"").set("sources.drop.path", &quoted(&spool));
    let daemon = killed(&site, |round| {
        for file in round * FILES..(round + 1) * FILES {
            let apart = spool.join(".apart");
            append(&apart, file * EACH..(file + 1) * EACH);
            fs::rename(apart, spool.join(format!("{file:05}.ndjson"))).unwrap();
        }
    });
    let count = (kills() + 1) * FILES * EACH;
    let ids = wait_delivered(&site, &daemon, count);
    let left = || fs::read_dir(&spool).unwrap().all(|entry| entry.unwrap().file_type().unwrap().is_dir()).then_some(());
    assert!(poll(WATCHDOG, left).is_some(), "a file stays:\n{}", daemon.log());
    assert!(daemon.stop().success());
    assert_each_once(&ids, count);
    assert_eq!(fs::read_dir(spool.join("done")).unwrap().count(), (kills() + 1) * FILES);
}

/// Sends what has no answer until the connection breaks; takes down what is answered.
fn exchange(socket: &Path, count: usize, answered: &mut BTreeMap<usize, String>, progress: &AtomicUsize) {
    let Ok(stream) = UnixStream::connect(socket) else { return };
    let open: Vec<usize> = (0..count).filter(|n| !answered.contains_key(n)).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for part in open.chunks(50) {
                let text: String = part.iter().map(|n| event(*n) + "\n").collect();
                if (&stream).write_all(text.as_bytes()).is_err() {
                    return;
                }
            }
        });
        for (n, line) in open.iter().zip(BufReader::new(&stream).lines()) {
            // The last one may be cut off.
            let Some(line) = line.ok().filter(|line| line.ends_with('}')) else { return };
            assert!(line.contains(&format!("\"id\":\"e{n}\"")), "e{n}: {line}");
            answered.insert(*n, line);
            progress.store(answered.len(), Relaxed);
        }
    });
}

#[test]
fn a_socket_whose_client_sends_again_what_has_no_answer() {
    let mut site = Site::new();
    let socket = site.path().join("lines.sock");
    site.set("sources.lines.type", "\"socket\"")
        .set("sources.lines.listen", &quoted(Path::new(&format!("unix:{}", socket.display()))));
    let (progress, mut answered) = (AtomicUsize::new(0), BTreeMap::new());
    let mut daemon = Daemon::start(&site);
    for _ in 0..kills() {
        let before = progress.load(Relaxed);
        std::thread::scope(|scope| {
            let client = scope.spawn(|| exchange(&socket, SENT, &mut answered, &progress));
            let more = || (progress.load(Relaxed) > before || client.is_finished()).then_some(());
            assert!(poll(WATCHDOG, more).is_some(), "no answers:\n{}", daemon.log());
            daemon.signal(rustix::process::Signal::KILL);
        });
        daemon.kill();
        daemon = Daemon::start(&site);
    }
    while answered.len() < SENT {
        exchange(&socket, SENT, &mut answered, &progress);
    }
    assert!(daemon.stop().success());
    let lines = site.sink_lines();
    let mut delivered: Vec<_> = answered.into_values().collect();
    delivered.sort_by_key(|line| super::support::site::sequence(line));
    assert_eq!(delivered, lines, "what was answered is what is delivered, each once");
}
