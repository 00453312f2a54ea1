//! The daemon of a demo: a child process, and a look into its quarantine.

use super::DemoError;
use crate::cli::client::{Address, Client, ClientOptions};
use crate::cli::program::{nothing, this_program};
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// How long it may take to become ready, or to stop.
const PATIENCE: Duration = Duration::from_mins(1);

pub struct Daemon {
    child: Child,
    log: PathBuf,
    /// From its start to ready.
    pub ready_after: Duration,
}

impl Daemon {
    /// Starts it and waits until it is ready.
    pub async fn start(folder: &Path, config: &Path) -> Result<Self, DemoError> {
        let log = folder.join("daemon.log");
        let fail = |error| DemoError::File { what: "cannot start the daemon with", path: config.to_owned(), error };
        let stderr = OpenOptions::new().create(true).append(true).open(&log).map_err(fail)?;
        let began = Instant::now();
        let child = Command::new(this_program().map_err(fail)?)
            .args(["run", "--config"])
            .arg(config)
            .stdin(nothing())
            .stdout(nothing())
            .stderr(stderr)
            .spawn()
            .map_err(fail)?;
        let mut daemon = Self { child, log, ready_after: Duration::ZERO };
        let mut client = Client::new(ClientOptions::new(Address::Unix(folder.join("admin.sock"))))?;
        loop {
            if client.get("/readyz").await.is_ok_and(|answer| answer.status == 200) {
                daemon.ready_after = began.elapsed();
                return Ok(daemon);
            }
            if let Ok(Some(status)) = daemon.child.try_wait() {
                return Err(daemon.error(format!("ended before it was ready: {status}")));
            }
            if began.elapsed() > PATIENCE {
                return Err(daemon.error("was not ready in time".to_owned()));
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// SIGKILL. Returns its peak memory, bytes.
    pub fn kill(&mut self) -> Result<u64, DemoError> {
        let peak = self.peak_memory();
        let killed = self.child.kill().and_then(|()| self.child.wait());
        killed.map_err(|error| self.error(format!("cannot be killed: {error}")))?;
        Ok(peak)
    }

    /// SIGTERM, and waits for its end.
    pub async fn stop(&mut self) -> Result<(), DemoError> {
        let pid = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            // It may have ended by itself; the wait tells.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(self.error(format!("did not stop cleanly: {status}"))),
                _ => tokio::time::sleep(Duration::from_millis(2)).await,
            }
        }
        Err(self.error("did not stop in time".to_owned()))
    }

    /// Its peak memory so far, bytes.
    pub fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
    }

    fn error(&self, what: String) -> DemoError {
        DemoError::Daemon { what, log: self.log.clone() }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // After a clean stop there is nothing to kill.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The quarantine of the stopped daemon, as `quarantine list` and `quarantine show` print it: bytes by kind.
pub fn quarantine(config: &Path) -> Result<Vec<(String, Vec<u8>)>, DemoError> {
    let fail = |error| DemoError::File { what: "cannot read the quarantine of", path: config.to_owned(), error };
    let folder = config.with_file_name("state");
    let entries = crate::store::inspect::quarantine(&folder).map_err(|error| fail(std::io::Error::other(error)))?;
    Ok(entries.into_iter().map(|(_, entry)| (entry.kind, entry.bytes)).collect())
}
