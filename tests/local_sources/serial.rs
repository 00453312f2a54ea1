//! A serial line: the daemon killed under a device that repeats, and the example sender as it is shipped.

use super::support::child::{WATCHDOG, poll};
use super::support::daemon::Daemon;
use super::support::from_env;
use super::support::pty::Pty;
use super::support::site::Site;
use super::{assert_each_once, event, quoted, wait_delivered};
use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long a device waits for an answer before it sends again.
const REPEAT_AFTER: Duration = Duration::from_millis(300);
/// Events sent in all.
const COUNT: usize = 6_000;
/// Events without an answer that a device has under way.
const WINDOW: usize = 32;

fn site(pty: &Pty) -> Site {
    let mut site = Site::new();
    site.set("sources.line.type", "\"serial\"").set("sources.line.device", &quoted(&pty.path));
    site.set("sources.line.baud", "921600");
    site
}

/// Sends until `count` events are acknowledged, or `enough` more than before.
fn send(pty: &mut Pty, acked: &mut BTreeSet<usize>, count: usize, enough: usize) {
    let goal = count.min(acked.len() + enough);
    while acked.len() < goal {
        let window: Vec<_> = (0..count).filter(|n| !acked.contains(n)).take(WINDOW).collect();
        // A line that a dead daemon has read half of is ended first.
        pty.send("\n");
        for n in &window {
            pty.send(event(*n) + "\n");
        }
        for _ in &window {
            let Some(line) = pty.line_within(REPEAT_AFTER) else { break };
            assert!(!line.contains("NAK e"), "{line}");
            // A daemon that was killed may have left half an answer before this one, or half a line unread.
            if let Some((_, id)) = line.rsplit_once("ACK e") {
                acked.insert(id.parse().expect("a number"));
            }
        }
    }
}

#[test]
fn a_serial_line_whose_device_sends_again_what_has_no_answer() {
    let kills = usize::try_from(from_env("VERDICTD_TEST_SOURCE_KILLS", 8)).unwrap();
    let mut pty = Pty::open();
    let site = site(&pty);
    let mut acked = BTreeSet::new();
    for _ in 0..kills {
        let daemon = Daemon::start(&site);
        send(&mut pty, &mut acked, COUNT, COUNT / (2 * kills));
        // More under way.
        for n in (0..COUNT).filter(|n| !acked.contains(n)).take(WINDOW) {
            pty.send(event(n) + "\n");
        }
        daemon.kill();
    }
    let daemon = Daemon::start(&site);
    send(&mut pty, &mut acked, COUNT, COUNT);
    let ids = wait_delivered(&site, &daemon, COUNT);
    assert!(daemon.stop().success());
    assert_each_once(&ids, COUNT);
}

/// Joins two pseudo-terminals as a cable joins two devices.
fn cable(a: &mut Pty, b: &mut Pty) {
    let copy = |from: &mut Pty, to: &Pty| {
        let (bytes, mut to) = (from.take_bytes(), to.sender());
        std::thread::spawn(move || while bytes.recv().is_ok_and(|part| to.write_all(&part).is_ok()) {});
    };
    copy(a, b);
    copy(b, a);
}

#[test]
fn the_example_sender_gets_an_answer_to_each_event() {
    let python = Command::new("python3").arg("--version").output();
    assert!(python.is_ok_and(|out| out.status.success()), "the example needs python3");
    let (mut ours, mut theirs) = (Pty::open(), Pty::open());
    let site = site(&ours);
    cable(&mut ours, &mut theirs);
    let daemon = Daemon::start(&site);
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new("python3");
    command.arg(root.join("packaging/examples/serial_sender.py")).arg(&theirs.path).arg("115200");
    let mut sender = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the example");
    let mut events: Vec<_> = (0..20).map(event).collect();
    // The same id with another payload.
    events.push(event(3).replace("\"amount\":3", "\"amount\":4"));
    sender.stdin.take().unwrap().write_all(events.join("\n").as_bytes()).unwrap();
    if poll(WATCHDOG, || sender.try_wait().expect("a child that can be waited for")).is_none() {
        let _ = sender.kill();
        panic!("the example does not end:\n{}", daemon.log());
    }
    let out = sender.wait_with_output().unwrap();
    assert!(out.status.success());
    let told = String::from_utf8(out.stdout).unwrap();
    let told: Vec<_> = told.lines().collect();
    assert_eq!(told.len(), 21);
    assert!(told[..20].iter().enumerate().all(|(n, line)| *line == format!("ACK e{n}")), "{told:?}");
    assert!(told[20].starts_with("NAK e3 expected the payload"), "{told:?}");
    assert_eq!(wait_delivered(&site, &daemon, 20).len(), 20);
    assert!(daemon.stop().success());
}
