//! `verdictd run` as a child process.

use super::child::{self, Finished, Guarded, WATCHDOG};
use super::http::{Client, Reply};
use super::site::Site;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::File;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};

/// A running daemon; killed when dropped.
pub struct Daemon {
    child: Guarded,
    events: PathBuf,
    admin: PathBuf,
    log: PathBuf,
}

impl Daemon {
    /// Starts it and waits until `/readyz` answers 200.
    pub fn start(site: &Site) -> Self {
        let mut daemon = Self::spawn(site);
        if let Err(status) = daemon.wait_ready() {
            panic!("the daemon ended ({status}) instead of being ready:\n{}", daemon.log());
        }
        daemon
    }

    /// Starts it and waits until it answers: ready or, as on a full disk, not.
    pub fn start_unready(site: &Site) -> Self {
        let mut daemon = Self::spawn(site);
        if let Err(status) = daemon.wait_for("/healthz") {
            panic!("the daemon ended ({status}) instead of answering:\n{}", daemon.log());
        }
        daemon
    }

    /// Starts it without waiting.
    pub fn spawn(site: &Site) -> Self {
        let log = site.path().join("daemon.log");
        let open = || File::options().create(true).append(true).open(&log).expect("a log file");
        let mut command = site.configured(&["run"]);
        command.stdin(Stdio::null()).stdout(open()).stderr(open());
        let child = Guarded::spawn(&mut command);
        Self { child, events: site.events_socket(), admin: site.admin_socket(), log }
    }

    /// Waits until it is ready.
    ///
    /// # Errors
    /// Its exit status, where it ended instead.
    pub fn wait_ready(&mut self) -> Result<(), ExitStatus> {
        self.wait_for("/readyz")
    }

    fn wait_for(&mut self, page: &str) -> Result<(), ExitStatus> {
        let answer = child::poll(WATCHDOG, || {
            if let Some(status) = self.child.0.try_wait().expect("a child that can be waited for") {
                return Some(Err(status));
            }
            let reply = Client::connect(&self.admin).and_then(|mut client| client.get(page));
            reply.is_ok_and(|reply| reply.status == 200).then_some(Ok(()))
        });
        answer.unwrap_or_else(|| panic!("the daemon neither answers nor ends:\n{}", self.log()))
    }

    pub fn client(&self) -> Client {
        Client::connect(&self.events).unwrap_or_else(|e| panic!("cannot connect ({e}):\n{}", self.log()))
    }

    pub fn events_socket(&self) -> PathBuf {
        self.events.clone()
    }

    /// Asks the admin listener.
    pub fn admin(&self, path: &str) -> Reply {
        let reply = Client::connect(&self.admin).and_then(|mut client| client.get(path));
        reply.unwrap_or_else(|e| panic!("GET {path} ({e}):\n{}", self.log()))
    }

    /// The status of the running daemon, as `status --json` prints it.
    pub fn status(&self) -> Value {
        self.admin("/v1/status").json()
    }

    /// The value of a metric, `name{labels}` as it is exposed.
    pub fn metric(&self, name: &str) -> Option<f64> {
        let text = self.admin("/metrics").text();
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
    }

    pub fn pid(&self) -> u32 {
        self.child.0.id()
    }

    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw).expect("a process id");
        kill_process(pid, signal).expect("a process that can be signalled");
    }

    /// SIGKILL; returns when it is gone.
    pub fn kill(mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.0.wait();
    }

    /// SIGTERM; its exit status.
    pub fn stop(mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.wait_exit()
    }

    /// Waits until it ends by itself.
    pub fn wait_exit(&mut self) -> ExitStatus {
        child::wait(&mut self.child).unwrap_or_else(|| panic!("the daemon does not end:\n{}", self.log()))
    }

    /// Peak resident memory in bytes, while it runs.
    pub fn peak_rss_bytes(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("its /proc entry");
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("VmHWM");
        line.trim().trim_end_matches(" kB").trim().parse::<u64>().expect("a number of kB") * 1024
    }

    /// All it has written, over its restarts on the same site.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

/// Runs a command of `verdictd` to its end.
pub fn verdictd(site: &Site, arguments: &[&str]) -> Finished {
    child::run(&mut site.command(arguments)).unwrap_or_else(|| panic!("verdictd {arguments:?} does not end"))
}

/// The same with the site's config.
pub fn configured(site: &Site, arguments: &[&str]) -> Finished {
    child::run(&mut site.configured(arguments)).unwrap_or_else(|| panic!("verdictd {arguments:?} does not end"))
}
