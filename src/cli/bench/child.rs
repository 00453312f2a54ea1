//! The measured processes: started on private directories, looked at through /proc, ended with the handle.

use super::{BenchError, floor};
use crate::model::shipped;
use crate::service::demo_config;
use std::{
    fs, io,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{self, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

/// How long a child may take until its socket answers.
const READY_MAX: Duration = Duration::from_secs(20);
/// How long it may take to end.
const END_MAX: Duration = Duration::from_secs(15);
/// /proc counts CPU time in units of 1/100 s, whatever the kernel's own tick.
const TICK: Duration = Duration::from_millis(10);

pub(super) fn io_error(what: impl Into<String>, error: io::Error) -> BenchError {
    BenchError::Io { what: what.into(), error }
}

/// A directory of our own, removed in the end.
pub(super) struct Scratch {
    pub path: PathBuf,
}

impl Scratch {
    pub(super) fn new(parent: &Path, name: &str) -> Result<Self, BenchError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("verdictd-bench-{}-{number}-{name}", process::id()));
        fs::create_dir_all(&path).map_err(|error| io_error(path.display().to_string(), error))?;
        Ok(Self { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// A process, as /proc shows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Process(u32);

impl Process {
    /// CPU time it has used so far, user and system.
    pub(super) fn cpu(self) -> io::Result<Duration> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.0))?;
        cpu_of_stat(&text).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "expected utime and stime"))
    }

    /// The most memory it has had.
    pub(super) fn peak_rss_bytes(self) -> io::Result<u64> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.0))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib: Option<u64> = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        kib.map(|kib| kib << 10).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "expected VmHWM"))
    }
}

fn cpu_of_stat(text: &str) -> Option<Duration> {
    // The name, in parentheses, may hold anything; utime and stime are fields 14 and 15.
    let (_, fields) = text.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(11);
    let ticks: u32 = fields.next()?.parse::<u32>().ok()? + fields.next()?.parse::<u32>().ok()?;
    Some(TICK * ticks)
}

/// A running child; ended when it falls.
pub(super) struct Child {
    pub name: &'static str,
    pub socket: PathBuf,
    pub process: Process,
    running: process::Child,
    dir: Scratch,
}

impl Child {
    pub(super) fn daemon(parent: &Path, bundle: Option<&Path>) -> Result<Self, BenchError> {
        let dir = Scratch::new(parent, "daemon")?;
        let socket = dir.path.join("events.sock");
        let config = dir.path.join("verdictd.toml");
        let text = demo_config(&dir.path, &self::bundle(bundle, &dir.path)?);
        fs::write(&config, text).map_err(|error| io_error(config.display().to_string(), error))?;
        let arguments = ["run".into(), "--config".into(), config.into_os_string()];
        Self::start("daemon", dir, socket, &arguments)
    }

    pub(super) fn floor(parent: &Path) -> Result<Self, BenchError> {
        let dir = Scratch::new(parent, "floor")?;
        let socket = dir.path.join(floor::SOCKET);
        let arguments = ["bench-floor".into(), "--dir".into(), dir.path.clone().into_os_string()];
        Self::start("floor", dir, socket, &arguments)
    }

    fn start(
        name: &'static str,
        dir: Scratch,
        socket: PathBuf,
        arguments: &[std::ffi::OsString],
    ) -> Result<Self, BenchError> {
        let program = std::env::current_exe().map_err(|error| io_error("this program", error))?;
        let log = fs::File::create(dir.path.join("stderr.log")).map_err(|error| io_error("stderr.log", error))?;
        let child = Command::new(&program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(|error| io_error(program.display().to_string(), error))?;
        let mut started = Self { name, socket, process: Process(child.id()), running: child, dir };
        let deadline = Instant::now() + READY_MAX;
        while UnixStream::connect(&started.socket).is_err() {
            let ended = !matches!(started.running.try_wait(), Ok(None));
            if ended || Instant::now() > deadline {
                return Err(BenchError::NotReady { name, log: started.log() });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(started)
    }

    /// The end of what it wrote to stderr.
    pub(super) fn log(&self) -> String {
        let text = fs::read(self.dir.path.join("stderr.log")).unwrap_or_default();
        String::from_utf8_lossy(text.get(text.len().saturating_sub(2000)..).unwrap_or_default()).into_owned()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let pid = i32::try_from(self.running.id()).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            // Not yet waited for, so the number is still this child's.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let deadline = Instant::now() + END_MAX;
        while matches!(self.running.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.running.kill();
        let _ = self.running.wait();
    }
}

/// The config of the measured daemon.
/// The bundle asked for, or the shipped one, unpacked into `dir`.
pub(super) fn bundle(asked: Option<&Path>, dir: &Path) -> Result<PathBuf, BenchError> {
    if let Some(bundle) = asked {
        return bundle.canonicalize().map_err(|error| io_error(bundle.display().to_string(), error));
    }
    let bundle = dir.join("card-fraud");
    shipped::unpack(&bundle).map_err(|error| io_error(bundle.display().to_string(), error))?;
    Ok(bundle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_read_past_a_hostile_process_name() {
        let stat = "12 (a) b) c) S 1 12 12 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 1 0 1 1 1";
        assert_eq!(cpu_of_stat(stat), Some(Duration::from_secs(3)));
        assert_eq!(cpu_of_stat("12 (a) S 1"), None);
    }

    #[test]
    fn this_process_has_used_memory() {
        let this = Process(process::id());
        assert!(this.peak_rss_bytes().unwrap() > 0);
        this.cpu().unwrap();
    }
}
