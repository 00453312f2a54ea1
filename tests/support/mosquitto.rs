//! A real Mosquitto broker with a private configuration, on a free loopback port.

use super::child::{Guarded, WATCHDOG, poll};
use rustix::process::{Pid, Signal, kill_process};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Where Debian puts it.
const PROGRAM: &str = "/usr/sbin/mosquitto";

/// How a broker is to be; [`Setup::default`] lets everyone do everything and keeps its sessions over a restart.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// More lines of `mosquitto.conf`.
    pub lines: Vec<String>,
    /// Users with their passwords; where there are some, nobody else may connect.
    pub users: Vec<(String, String)>,
    /// Lines of an access list, `topic write verdicts/#` and the like.
    pub access: Vec<String>,
    /// Certificate and key (PEM) of a TLS listener.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Client certificates must be of this authority (PEM).
    pub client_ca: Option<PathBuf>,
}

/// A broker; ended, and its folder removed, when dropped.
pub struct Mosquitto {
    folder: TempDir,
    port: u16,
    setup: Setup,
    child: Option<Guarded>,
}

impl Mosquitto {
    /// Starts one and waits until it takes connections.
    pub fn start(setup: &Setup) -> Self {
        let mut folder = tempfile::Builder::new().prefix("mosquitto-").tempdir().expect("a temporary folder");
        // A port that was free a moment ago; should another take it, mosquitto ends and the next one is tried.
        for _ in 0..20 {
            let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
            let port = free.expect("a free port").port();
            let mut broker = Self { folder, port, setup: setup.clone(), child: None };
            if broker.try_restart() {
                return broker;
            }
            folder = broker.folder;
        }
        panic!("mosquitto does not start");
    }

    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(|child| child.0.id())
    }

    /// SIGKILL: what it has not saved is lost.
    pub fn kill(&mut self) {
        self.child = None;
    }

    /// SIGTERM: it saves its sessions and ends.
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            signal(&child, Signal::TERM);
            poll(WATCHDOG, || child.0.try_wait().expect("a child that can be waited for")).expect("mosquitto's end");
        }
    }

    /// SIGUSR1: it saves its sessions now.
    pub fn save(&self) {
        signal(self.child.as_ref().expect("a running broker"), Signal::USR1);
    }

    /// Starts it again on the same data and port.
    pub fn restart(&mut self) {
        assert!(self.try_restart(), "mosquitto does not start again:\n{}", self.log());
    }

    /// Starts it again, after a stop, as another setup has it.
    pub fn restart_as(&mut self, setup: &Setup) {
        self.stop();
        self.setup = setup.clone();
        self.restart();
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.path().join("mosquitto.log")).unwrap_or_default()
    }

    fn try_restart(&mut self) -> bool {
        self.kill();
        self.configure();
        let log = File::options().create(true).append(true).open(self.path().join("mosquitto.log")).expect("a log");
        let mut command = Command::new(PROGRAM);
        command
            .arg("-c")
            .arg(self.path().join("mosquitto.conf"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let mut child = Guarded::spawn(&mut command);
        let up = poll(WATCHDOG, || {
            if child.0.try_wait().expect("a child that can be waited for").is_some() {
                return Some(false);
            }
            TcpStream::connect(self.address()).is_ok().then_some(true)
        });
        let up = up.unwrap_or(false);
        self.child = up.then_some(child);
        up
    }

    fn configure(&self) {
        let path = |name: &str| self.path().join(name);
        let mut text = String::new();
        let _ = writeln!(text, "listener {} 127.0.0.1", self.port);
        if let Some((cert, key)) = &self.setup.tls {
            let _ = writeln!(text, "certfile {}\nkeyfile {}", cert.display(), key.display());
        }
        if let Some(ca) = &self.setup.client_ca {
            let _ = writeln!(text, "cafile {}\nrequire_certificate true", ca.display());
        }
        // It gives up root for a user of its own, who must be able to write here.
        let _ = writeln!(text, "user {}", std::env::var("USER").unwrap_or_else(|_| "root".to_owned()));
        let _ =
            writeln!(text, "persistence true\npersistence_location {}/\nautosave_interval 0", self.path().display());
        let _ = writeln!(text, "log_dest stderr\nlog_type error\nlog_type warning\nlog_type notice");
        let _ = writeln!(text, "allow_anonymous {}", self.setup.users.is_empty());
        if !self.setup.users.is_empty() {
            let users: Vec<String> =
                self.setup.users.iter().map(|(user, secret)| format!("{user}:{secret}\n")).collect();
            fs::write(path("users"), users.concat()).expect("the users");
            fs::set_permissions(path("users"), fs::Permissions::from_mode(0o600)).expect("its mode");
            let hashed = Command::new("mosquitto_passwd").arg("-U").arg(path("users")).status();
            assert!(hashed.expect("mosquitto_passwd").success(), "passwords that can be hashed");
            let _ = writeln!(text, "password_file {}", path("users").display());
        }
        if !self.setup.access.is_empty() {
            fs::write(path("access"), self.setup.access.join("\n") + "\n").expect("the access list");
            fs::set_permissions(path("access"), fs::Permissions::from_mode(0o600)).expect("its mode");
            let _ = writeln!(text, "acl_file {}", path("access").display());
        }
        for line in &self.setup.lines {
            let _ = writeln!(text, "{line}");
        }
        fs::write(path("mosquitto.conf"), text).expect("the configuration");
    }
}

fn signal(child: &Guarded, signal: Signal) {
    let pid = i32::try_from(child.0.id()).ok().and_then(Pid::from_raw).expect("a process id");
    kill_process(pid, signal).expect("a process that can be signalled");
}
