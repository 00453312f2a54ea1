//! What a service manager is told and hands over: sockets that it listens on, ready, reloading, the watchdog.

use crate::events::event;
use crate::support::child::{Guarded, WATCHDOG, poll};
use crate::support::daemon::configured;
use crate::support::http::{Client, JSON};
use crate::support::site::Site;
use rustix::process::{Pid, Signal, kill_process};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// The supervisor's side: where it is told, and the socket that it keeps.
struct Supervisor {
    told: UnixDatagram,
    kept: UnixListener,
    site: Site,
}

impl Supervisor {
    fn new() -> Self {
        let site = Site::new();
        let told = UnixDatagram::bind(site.path().join("notify.sock")).unwrap();
        told.set_read_timeout(Some(WATCHDOG)).unwrap();
        let kept = UnixListener::bind(site.events_socket()).unwrap();
        Self { told, kept, site }
    }

    /// Starts the daemon as a service manager does: the socket as descriptor 3, under this name.
    fn start(&self, name: &str) -> Guarded {
        let descriptor = self.kept.as_raw_fd();
        // The process id that descriptors are meant for is known after the fork alone: a shell says it.
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg("WATCHDOG_PID=$$ LISTEN_PID=$$ exec \"$0\" run --config \"$1\"");
        command.arg(env!("CARGO_BIN_EXE_verdictd")).arg(self.site.config());
        command.env("LISTEN_FDS", "1").env("LISTEN_FDNAMES", name);
        command.env("NOTIFY_SOCKET", self.site.path().join("notify.sock")).env("WATCHDOG_USEC", "4000000");
        let log = std::fs::File::create(self.site.path().join("daemon.log")).unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        // SAFETY: dup2 alone is called between fork and exec, and it may be.
        unsafe {
            command.pre_exec(
                move || if libc::dup2(descriptor, 3) < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) },
            );
        }
        Guarded::spawn(&mut command)
    }

    /// What is told next that has this word.
    fn next(&self, word: &str) -> String {
        let mut buffer = [0; 4096];
        loop {
            let length =
                self.told.recv(&mut buffer).unwrap_or_else(|error| panic!("no {word} ({error}): {}", self.log()));
            let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
            if text.contains(word) {
                return text;
            }
        }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.site.path().join("daemon.log")).unwrap_or_default()
    }

    fn signal(child: &Guarded, signal: Signal) {
        kill_process(Pid::from_raw(i32::try_from(child.0.id()).unwrap()).unwrap(), signal).unwrap();
    }
}

#[test]
fn callers_wait_in_the_kernels_queue_over_a_restart_and_none_is_refused() {
    let supervisor = Supervisor::new();
    let mut daemon = supervisor.start("pos");
    supervisor.next("READY=1");
    let post = |id: &str| {
        let mut client = Client::connect(&supervisor.site.events_socket()).unwrap();
        client.send_post(JSON, &[], event(id, 1.0).as_bytes()).unwrap();
        client
    };
    assert_eq!(post("a").receive().unwrap().status, 200);
    Supervisor::signal(&daemon, Signal::TERM);
    supervisor.next("STOPPING=1");
    daemon.0.wait().unwrap();
    assert!(supervisor.site.events_socket().exists(), "the file is the supervisor's");
    // Nobody serves it now: the request lies in the queue.
    let mut waiting = post("b");
    let _again = supervisor.start("events-by-another-name");
    supervisor.next("READY=1");
    assert_eq!(waiting.receive().unwrap().status, 200, "{}", supervisor.log());
}

#[test]
fn the_supervisor_is_told_of_ready_reloads_a_line_for_people_and_an_idle_daemon_feeds_the_watchdog() {
    let mut supervisor = Supervisor::new();
    let daemon = supervisor.start("pos");
    let ready = supervisor.next("READY=1");
    assert!(ready.contains("STATUS=taking events from unix:"), "{ready}");
    // Nothing comes in, and it is fed again and again.
    for _ in 0..3 {
        supervisor.next("WATCHDOG=1");
    }
    let line = supervisor.next("STATUS=");
    assert!(line.contains("events/s") && line.contains("audit: 0 behind"), "{line}");
    let reloaded = configured(&supervisor.site, &["reload"]);
    assert!(reloaded.status.success(), "{reloaded:?}");
    let reloading = supervisor.next("RELOADING=1");
    assert!(reloading.contains("MONOTONIC_USEC="), "{reloading}");
    supervisor.next("READY=1");
    supervisor.site.set("log.lewel", "1");
    Supervisor::signal(&daemon, Signal::HUP);
    supervisor.next("RELOADING=1");
    assert!(supervisor.next("READY=1").contains("refused"));
}

#[test]
fn a_passed_socket_that_nobody_wants_is_named_and_the_rest_works() {
    let supervisor = Supervisor::new();
    let elsewhere = supervisor.site.path().join("elsewhere.sock");
    let other = Supervisor { kept: UnixListener::bind(&elsewhere).unwrap(), ..supervisor };
    std::fs::remove_file(other.site.events_socket()).unwrap();
    let _daemon = other.start("nobody");
    other.next("READY=1");
    let said = poll(WATCHDOG, || other.log().contains("elsewhere.sock").then(|| other.log()));
    assert!(said.unwrap_or_default().contains("socket-unwanted"), "{}", other.log());
    let mut client = Client::connect(&other.site.events_socket()).unwrap();
    assert_eq!(client.post(JSON, event("a", 1.0)).unwrap().status, 200);
}

/// A commit that does not come back is not to be taken for work: the watchdog must end it.
#[cfg(feature = "fault-injection")]
#[test]
fn a_commit_that_hangs_starves_the_watchdog() {
    let mut supervisor = Supervisor::new();
    let hang = supervisor.site.path().join("hang");
    supervisor.site.env("VERDICTD_FAULT_HANG", "");
    let socket = supervisor.site.events_socket();
    // SAFETY: set before the daemon starts, and read by it alone.
    unsafe { std::env::set_var("VERDICTD_FAULT_HANG", &hang) };
    let _daemon = supervisor.start("pos");
    supervisor.next("READY=1");
    supervisor.next("WATCHDOG=1");
    std::fs::write(&hang, "").unwrap();
    let mut client = Client::connect(&socket).unwrap();
    client.send_post(JSON, &[], event("a", 1.0).as_bytes()).unwrap();
    let told = poll(WATCHDOG, || supervisor.log().contains("engine-stuck").then_some(()));
    assert!(told.is_some(), "{}", supervisor.log());
    while supervisor.told.set_nonblocking(true).is_ok() && supervisor.told.recv(&mut [0; 4096]).is_ok() {}
    supervisor.told.set_nonblocking(false).unwrap();
    assert!(!supervisor.next("STATUS=").contains("WATCHDOG"));
    std::fs::remove_file(&hang).unwrap();
    assert_eq!(client.receive().unwrap().status, 200);
    supervisor.next("WATCHDOG=1");
}
