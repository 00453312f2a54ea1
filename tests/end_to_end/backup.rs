//! The back-up and restore of packaging/doc/backup.md, step by step as they stand there, against the real daemon.
//!
//! The commands are taken from the guide. `systemctl` is played by the test; everything else is run by a shell, with
//! the folders of an installed system moved into a private one.

use crate::events::{event, sink_lines, verdict};
use crate::support::child;
use crate::support::daemon::Daemon;
use crate::support::http::{Client, JSON};
use crate::support::site::{Site, sequence};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// The commands of the guide below a heading: of its last block there that copies with `cp` or `tar`.
fn steps(heading: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/doc/backup.md");
    let guide = std::fs::read_to_string(path).expect("the guide");
    let section = guide.split("\n## ").find(|part| part.starts_with(heading)).expect("the section");
    let block =
        section.rsplit("```sh\n").next().and_then(|rest| rest.split("```").next()).expect("a block of commands");
    let lines: Vec<String> = block.lines().map(str::to_owned).collect();
    assert!(lines.iter().any(|line| line.starts_with("tar ")), "{lines:?}");
    lines
}

/// An installed system in miniature: its folders below one of the test's.
struct Installed {
    root: tempfile::TempDir,
    site: Site,
}

impl Installed {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        for folder in ["lib/verdictd", "backup"] {
            std::fs::create_dir_all(root.path().join(folder)).expect("a folder");
        }
        let site = Site::with_state(&root.path().join("lib/verdictd"));
        Self { root, site }
    }

    /// Another box, with the back-up of this one.
    fn with_backup_of(other: &Self) -> Self {
        let new = Self::new();
        let file = "backup/verdictd.tar";
        std::fs::copy(other.root.path().join(file), new.root.path().join(file)).expect("the back-up");
        new
    }

    fn run(&self, daemon: &mut Option<Daemon>, steps: &[String]) {
        for step in steps {
            match step.split(' ').collect::<Vec<_>>()[..] {
                ["systemctl", "stop", ..] => {
                    if let Some(daemon) = daemon.take() {
                        assert!(daemon.stop().success());
                    }
                }
                ["systemctl", "start", ..] => *daemon = Some(Daemon::start(&self.site)),
                ["systemctl", "kill", "--signal=STOP", ..] => hold(daemon.as_ref().expect("a daemon")),
                ["systemctl", "kill", "--signal=CONT", ..] => daemon.as_ref().expect("a daemon").signal(Signal::CONT),
                _ => self.shell(step),
            }
        }
    }

    fn shell(&self, step: &str) {
        let root = self.root.path().display();
        let program = env!("CARGO_BIN_EXE_verdictd");
        let step = step
            .replace("/var/lib", &format!("{root}/lib"))
            .replace("/srv/backup", &format!("{root}/backup"))
            .replace("verdictd store", &format!("{program} store"));
        let done = child::run(Command::new("sh").args(["-ec", &step])).expect("a command that ends");
        assert!(done.status.success(), "{step}: {done:?}");
    }
}

/// SIGSTOP, and until every thread stands.
fn hold(daemon: &Daemon) {
    daemon.signal(Signal::STOP);
    let stands = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", daemon.pid())).expect("its threads");
        let mut states = tasks.map(|task| {
            let stat = std::fs::read_to_string(task.expect("a thread").path().join("stat")).unwrap_or_default();
            stat.rsplit(") ").next().unwrap_or_default().starts_with('T')
        });
        states.all(|stopped| stopped).then_some(())
    };
    child::poll(child::WATCHDOG, stands).expect("a daemon that is held");
}

/// Ends the load when dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_back_up_while_stopped_restores_to_what_it_was() {
    let box_ = Installed::new();
    let mut daemon = Some(Daemon::start(&box_.site));
    let post = |daemon: &Option<Daemon>, id: &str| verdict(&mut daemon.as_ref().expect("a daemon").client(), id, 100.0);
    let before = post(&daemon, "before").text();
    box_.run(&mut daemon, &steps("Back-up while stopped"));
    let after = post(&daemon, "after").text();
    sink_lines(&box_.site, 2);
    box_.run(&mut daemon, &steps("Restore"));

    let repeated = post(&daemon, "before");
    assert_eq!((repeated.text(), repeated.header("idempotent-replayed")), (before.clone(), Some("true")));
    let again = post(&daemon, "other");
    assert_eq!(sequence(&again.text()), sequence(&after), "sequences go on from the back-up's");
    let anew = post(&daemon, "after");
    assert_eq!(anew.header("idempotent-replayed"), None, "what was taken after the back-up is not known");
    assert!(daemon.take().expect("a daemon").stop().success());

    // The sink's file that the log does not hold is put aside: no line is lost, and none stands there twice.
    let lines = box_.site.sink_lines();
    let count = |wanted: &str| lines.iter().filter(|line| *line == wanted.trim_end()).count();
    for wanted in [&before, &after, &again.text(), &anew.text()] {
        assert_eq!(count(wanted), 1, "{wanted} in {lines:?}");
    }
    let old = box_.root.path().join("lib/verdictd.before");
    box_.shell(&format!("verdictd store events --dir {} | grep -q after", old.display()));
}

#[test]
fn a_back_up_of_a_held_daemon_under_load_holds_all_that_was_answered() {
    let box_ = Installed::new();
    let mut daemon = Some(Daemon::start(&box_.site));
    let answered: Mutex<BTreeMap<String, String>> = Mutex::default();
    let is_over = AtomicBool::new(false);
    let load = |name: usize| {
        let mut client = Client::connect(&box_.site.events_socket()).expect("a connection");
        for n in 0.. {
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            let id = format!("l-{name}-{n}");
            let reply = client.post(JSON, event(&id, 100.0)).expect("an answer");
            answered.lock().expect("no panic").insert(id, reply.text());
        }
    };
    std::thread::scope(|scope| {
        // A failure must not wait for clients that nobody stops.
        let _over = Over(&is_over);
        (0..4).for_each(|name| drop(scope.spawn(move || load(name))));
        for round in 1..=3 {
            let enough = || (answered.lock().expect("no panic").len() > 300 * round).then_some(());
            child::poll(child::WATCHDOG, enough).expect("answers");
            let known = answered.lock().expect("no panic").clone();
            box_.run(&mut daemon, &steps("Back-up while running"));

            let other = Installed::with_backup_of(&box_);
            let mut restored = None;
            other.run(&mut restored, &steps("Restore"));
            let restored = restored.expect("a daemon");
            let store = restored.status()["store"].clone();
            assert_eq!((&store["set-aside"], &store["lost"]), (&0.into(), &0.into()), "{store}");
            let mut client = restored.client();
            for (id, text) in &known {
                assert_eq!(verdict(&mut client, id, 100.0).text(), *text);
            }
            assert!(restored.stop().success());
        }
    });
    assert!(daemon.take().expect("a daemon").stop().success());
}
