//! Callers over a restart and an upgrade: nobody is refused, nothing acknowledged is lost.

use super::machine::Machine;
use super::on_both;
use super::packages::{self, Unpacked};
use crate::support::http::{Client, JSON};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

const CALLERS: usize = 4;

on_both!(
    no_caller_is_refused_over_a_restart_and_no_event_is_lost,
    no_caller_is_refused_over_an_upgrade_and_no_event_is_lost,
);

fn no_caller_is_refused_over_a_restart_and_no_event_is_lost(release: &str) {
    let Some(machine) = Machine::with_package(release) else { return };
    under_load(&machine, |machine| {
        machine.well("systemctl restart verdictd.service");
        machine.wait_active();
    });
}

fn no_caller_is_refused_over_an_upgrade_and_no_event_is_lost(release: &str) {
    let Some(package) = packages::own() else { return };
    let Some(machine) = Machine::boot(release) else { return };
    let unpacked = Unpacked::new(&package);
    machine.install(&unpacked.repack("0.0.9-1"));
    machine.wait_active();
    let pid = machine.show("MainPID");
    machine.well("echo '# of this site' >>/etc/verdictd/verdictd.toml");
    under_load(&machine, |machine| {
        machine.install(&package);
        machine.wait_active();
        assert_ne!(machine.show("MainPID"), pid, "the old version still runs");
    });
    assert!(machine.read("/etc/verdictd/verdictd.toml").ends_with("# of this site\n"));
    let complaints = machine.entries("--priority warning");
    assert!(complaints.is_empty(), "{complaints:#?}");
}

/// Callers, each with a connection an event, while `change` is made and until each has had answers after it.
fn under_load(machine: &Machine, change: impl FnOnce(&Machine)) {
    let socket = machine.path("/run/verdictd/events.sock");
    let answers = Mutex::new(BTreeMap::new());
    let (stop, counts) = (AtomicBool::new(false), [const { AtomicU64::new(0) }; CALLERS]);
    std::thread::scope(|scope| {
        for (caller, count) in (0..).zip(&counts) {
            let (socket, answers, stop) = (&socket, &answers, &stop);
            scope.spawn(move || {
                let mut event = 0_u64;
                while !stop.load(Relaxed) {
                    let id = format!("{caller}-{event}");
                    let verdict = call(socket, &id);
                    answers.lock().expect("the answers").insert(id, verdict);
                    event += 1;
                    count.store(event, Relaxed);
                }
            });
        }
        // A failure on this thread must end the callers as well.
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let each_has = |more: u64| {
                let before: Vec<u64> = counts.iter().map(|count| count.load(Relaxed)).collect();
                machine.wait_for("answers to every caller", |_| {
                    counts.iter().zip(&before).all(|(count, before)| count.load(Relaxed) >= before + more)
                });
            };
            each_has(20);
            change(machine);
            each_has(20);
        }));
        stop.store(true, Relaxed);
        if let Err(panic) = result {
            std::panic::resume_unwind(panic);
        }
    });
    let answers = answers.into_inner().expect("the answers");
    machine.well("systemctl stop verdictd.socket verdictd.service");
    let text = machine.well("cat /var/lib/verdictd/verdicts/*.ndjson");
    let mut delivered = BTreeMap::new();
    for line in text.lines() {
        let verdict: Value = serde_json::from_str(line).expect("a line of JSON");
        let id = verdict["id"].as_str().expect("an id").to_owned();
        assert!(delivered.insert(id, line.to_owned()).is_none(), "twice in the sink: {line}");
    }
    for (id, verdict) in &answers {
        assert_eq!(delivered.get(id), Some(verdict), "{id} was answered");
    }
}

/// An event's verdict. A connection that was taken may end without an answer at a stop, and is made anew; one that is
/// refused is a failure.
fn call(socket: &Path, id: &str) -> String {
    let event = format!("{{\"id\":\"{id}\",\"key\":\"{id}\"}}");
    loop {
        let mut client = Client::connect(socket).unwrap_or_else(|error| panic!("{id} is refused: {error}"));
        match client.post(JSON, &event) {
            Ok(reply) if reply.status == 200 => return reply.text().trim_end().to_owned(),
            Ok(reply) if reply.status == 503 => {}
            Ok(reply) => panic!("{id}: {reply:?}"),
            Err(_) => {}
        }
    }
}
