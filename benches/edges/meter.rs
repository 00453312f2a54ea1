//! A daemon under measurement: what it did, in what time, with how much of processor and memory.

use super::support::child::{Guarded, poll};
use super::support::http::Client;
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A run that takes longer has failed.
const LONGEST: Duration = Duration::from_mins(10);

/// What one run gave.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    pub events_per_second: f64,
    pub cpu_s_per_100k: f64,
    pub peak_mib: f64,
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A private folder with a config, on the disk of `EDGES_DIR` or the system's temporary folder.
pub struct Place {
    folder: TempDir,
}

impl Place {
    /// `edges`: the tables of sources and sinks.
    pub fn new(edges: &str) -> Self {
        let mut builder = tempfile::Builder::new();
        builder.prefix("verdictd-edges-");
        let folder = match std::env::var_os("EDGES_DIR") {
            Some(dir) => builder.tempdir_in(dir),
            None => builder.tempdir(),
        };
        let place = Self { folder: folder.expect("a temporary folder") };
        verdictd::model::shipped::unpack(&place.path().join("bundle")).expect("the shipped bundle");
        place.configure(edges);
        place
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn configure(&self, edges: &str) {
        let at = self.path().display();
        let text = format!(
            "instance = \"edges\"\nstate-dir = \"{at}/state\"\n[limits]\nmemory = \"64 MiB\"\n[model]\n\
             bundle = \"{at}/bundle\"\n[admin]\nlisten = \"unix:{at}/admin.sock\"\n[log]\nlevel = \"warn\"\n{edges}\n"
        );
        fs::write(self.path().join("verdictd.toml"), text).expect("the config");
    }

    pub fn start(&self) -> Daemon {
        let log = File::options().create(true).append(true).open(self.path().join("log")).expect("a log");
        let mut command = Command::new(env!("CARGO_BIN_EXE_verdictd"));
        command.args(["run", "--config"]).arg(self.path().join("verdictd.toml"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let begun = Instant::now();
        let child = Guarded::spawn(&mut command);
        Daemon { child, begun, admin: self.path().join("admin.sock"), log: self.path().join("log") }
    }
}

/// A running daemon; killed when dropped.
pub struct Daemon {
    child: Guarded,
    begun: Instant,
    admin: PathBuf,
    log: PathBuf,
}

impl Daemon {
    pub fn status(&self) -> Option<Value> {
        let reply = Client::connect(&self.admin).and_then(|mut client| client.get("/v1/status")).ok()?;
        (reply.status == 200).then(|| reply.json())
    }

    pub fn await_ready(&self) {
        self.until("ready", |status| status["ready"] == true);
    }

    pub fn until(&self, what: &str, mut holds: impl FnMut(&Value) -> bool) {
        let asked = poll(LONGEST, || {
            // Asking costs the daemon something, too.
            std::thread::sleep(Duration::from_millis(10));
            assert!(!self.has_ended(), "it ended:\n{}", fs::read_to_string(&self.log).unwrap());
            self.status().filter(|status| holds(status)).map(drop)
        });
        asked.unwrap_or_else(|| panic!("not {what}: {:?}\n{}", self.status(), fs::read_to_string(&self.log).unwrap()));
    }

    /// Runs until all sinks have confirmed `events`; its figures since its start, or since `from`.
    pub fn carry(&self, events: usize, from: Option<(Instant, f64)>) -> Figures {
        self.until("all delivered", |status| {
            status["sinks"].as_array().is_some_and(|sinks| {
                sinks.iter().all(|sink| sink["delivered"].as_u64().is_some_and(|n| n >= events as u64))
            })
        });
        let (begun, cpu) = from.unwrap_or((self.begun, 0.0));
        let seconds = begun.elapsed().as_secs_f64();
        Figures {
            events_per_second: events as f64 / seconds,
            cpu_s_per_100k: (self.cpu_s() - cpu) * 1e5 / events as f64,
            peak_mib: self.peak_mib(),
        }
    }

    /// Whether it ended by itself: a config that it refuses, say.
    fn has_ended(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.0.id())).unwrap_or_default();
        stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'))
    }

    /// Processor seconds so far.
    pub fn cpu_s(&self) -> f64 {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.child.0.id())).expect("its /proc entry");
        let (_, rest) = text.rsplit_once(") ").expect("a name in brackets");
        let ticks: u64 = rest.split(' ').skip(11).take(2).map(|field| field.parse::<u64>().expect("ticks")).sum();
        // The kernel counts for users in hundredths of a second.
        ticks as f64 / 100.0
    }

    pub fn peak_mib(&self) -> f64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.0.id())).expect("its /proc entry");
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("VmHWM");
        line.trim().trim_end_matches(" kB").trim().parse::<f64>().expect("a number of kB") / 1024.0
    }

    /// SIGKILL; returns when it is gone.
    pub fn kill(self) {
        drop(self.child);
    }

    /// SIGTERM; returns when it is gone.
    pub fn stop(mut self) {
        let pid = i32::try_from(self.child.0.id()).ok().and_then(rustix::process::Pid::from_raw).expect("a pid");
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
        self.child.0.wait().expect("its end");
    }
}
