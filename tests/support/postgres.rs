//! A real PostgreSQL server with a private data folder, on a Unix socket and a free loopback port.
//!
//! Needs Debian's `postgresql-15` (another version under `/usr/lib/postgresql` will do; the newest is taken). Where it
//! is missing the tests say so and pass; with `VERDICTD_TEST_POSTGRES=required` they fail. The cluster that the package
//! makes is not touched.
//!
//! The server refuses to run as root: it then runs as the user `postgres` of the package. It runs below a shell that
//! kills it when this process ends, however it ends.

use super::certificates::{self, Validity};
use super::child::{WATCHDOG, poll};
use rustix::process::{Pid, Signal, kill_process};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;
use tempfile::TempDir;

/// A name and password that the server knows; it owns [`DATABASE`] and may do anything there. Over TCP the password is
/// asked for (SCRAM-SHA-256), over the Unix socket nobody is asked.
pub const USER: (&str, &str) = ("app", "app-secret");
pub const DATABASE: &str = "site";
/// Of the server; over the Unix socket, and [`Postgres::psql`] is this one.
const SUPERUSER: &str = "postgres";

/// How a server is to be.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// More lines of `postgresql.conf`; they stand above the rig's own.
    pub settings: Vec<String>,
    /// More arguments of `initdb`.
    pub initdb: Vec<String>,
    /// TLS on the port, by an authority of its own: [`Postgres::ca_file`].
    pub tls: Option<Validity>,
    /// Lines of `pg_hba.conf` before the rig's own.
    pub access: Vec<String>,
    /// Where the data lies, if not in the server's temporary folder: an empty folder, which is made the server's user's.
    pub data: Option<PathBuf>,
}

/// A server; ended, and its folder removed, when dropped.
pub struct Postgres {
    folder: TempDir,
    setup: Setup,
    port: u16,
    process: Option<Process>,
}

struct Process {
    /// Kills the server when its standard input ends.
    shell: Child,
    server: Pid,
}

/// A server for tests that do it no harm; each uses tables of its own. None where PostgreSQL is missing.
pub fn shared() -> Option<&'static Postgres> {
    static SHARED: OnceLock<Option<Postgres>> = OnceLock::new();
    SHARED.get_or_init(|| Postgres::start(Setup::default())).as_ref()
}

/// A name no other test of this process uses.
pub fn unique(stem: &str) -> String {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{stem}_{}", NEXT.fetch_add(1, Relaxed))
}

impl Postgres {
    /// Makes a data folder, starts a server on it and waits until it answers; None where PostgreSQL is missing.
    pub fn start(setup: Setup) -> Option<Self> {
        let programs = programs()?;
        let folder = tempfile::Builder::new().prefix("verdictd-pg-").tempdir().expect("a temporary folder");
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        let mut server = Self { folder, setup, port: free.expect("a free port").port(), process: None };
        own(server.folder.path());
        server.setup.data.as_deref().inspect(|data| own(data));
        let mut initdb = server_command(&programs.join("initdb"));
        initdb.arg("-D").arg(server.data()).args(["-U", SUPERUSER, "-E", "UTF8", "--locale=C", "--no-sync"]);
        initdb.args(["--auth=trust"]).args(&server.setup.initdb).current_dir(server.folder.path());
        let output = initdb.output().expect("initdb");
        assert!(output.status.success(), "initdb: {}", String::from_utf8_lossy(&output.stderr));
        server.configure();
        server.up();
        let (user, password) = USER;
        for sql in [
            format!("CREATE ROLE {user} LOGIN PASSWORD '{password}'"),
            format!("CREATE DATABASE {DATABASE} OWNER {user}"),
        ] {
            server.ask("postgres", &sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        Some(server)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn data(&self) -> PathBuf {
        self.setup.data.clone().unwrap_or_else(|| self.path("data"))
    }

    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Of TCP, and in the name of the Unix socket.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder of the Unix socket: a client's `host`.
    pub fn socket_folder(&self) -> &Path {
        self.folder.path()
    }

    /// The URL of [`DATABASE`] for [`USER`] over TCP, without the password.
    pub fn url(&self) -> String {
        format!("postgres://{}@localhost:{}/{DATABASE}", USER.0, self.port)
    }

    /// What a client of libpq takes to be [`USER`] over TCP, the password among it.
    pub fn dsn(&self) -> String {
        format!("host=127.0.0.1 port={} dbname={DATABASE} user={} password={}", self.port, USER.0, USER.1)
    }

    /// Writes a file with the password of [`USER`] on its one line.
    pub fn password_file(&self) -> PathBuf {
        let path = self.path("password");
        fs::write(&path, format!("{}\n", USER.1)).expect("the password");
        path
    }

    /// The authority of the TLS certificate.
    pub fn ca_file(&self) -> PathBuf {
        self.path("ca.pem")
    }

    /// SIGKILL to the server and all its processes at once, as a crash of the machine's software would.
    pub fn kill(&mut self) {
        if let Some(process) = self.process.take() {
            process.kill();
        }
    }

    /// A clean stop: open connections are ended.
    pub fn stop(&mut self) {
        let Some(process) = self.process.take() else { return };
        process.end(Signal::INT);
    }

    /// Starts it again on the same data and ports, and waits until it takes connections.
    pub fn up(&mut self) {
        assert!(self.process.is_none(), "the server is up");
        let programs = programs().expect("PostgreSQL");
        let log = self.path("server.log");
        let (program, data) = (programs.join("postgres"), self.data());
        let socket = self.path(&format!(".s.PGSQL.{}", self.port));
        let mut process = Process::spawn(&program, &data, &log);
        let ready = poll(WATCHDOG, || {
            // It refuses while a process of the killed one, begun in the moment of the kill, is about to notice.
            if !is_there(process.server) {
                process.wait();
                process = Process::spawn(&program, &data, &log);
            }
            answers(&socket).then_some(())
        });
        self.process = Some(process);
        assert!(ready.is_some(), "the server does not answer:\n{}", self.log());
    }

    /// Whether it runs, as far as this rig was told.
    pub fn is_up(&self) -> bool {
        self.process.is_some()
    }

    /// Connections stay open and nothing is answered, until [`Postgres::thaw`].
    pub fn freeze(&self) {
        self.process().signal_all(Signal::STOP);
    }

    pub fn thaw(&self) {
        self.process().signal_all(Signal::CONT);
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.path("server.log")).unwrap_or_default()
    }

    fn process(&self) -> &Process {
        self.process.as_ref().expect("a server that is up")
    }

    /// What the server prints for this SQL in [`DATABASE`], without its last line end: a row a line, columns parted by
    /// `|`. The superuser asks, over the Unix socket.
    ///
    /// # Panics
    /// When the server refuses it.
    pub fn psql(&self, sql: &str) -> String {
        self.try_psql(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// The same.
    ///
    /// # Errors
    /// The server's words, where it refuses or is not there.
    pub fn try_psql(&self, sql: &str) -> Result<String, String> {
        self.ask(DATABASE, sql)
    }

    fn ask(&self, database: &str, sql: &str) -> Result<String, String> {
        let output = self.client(SUPERUSER, database).args(["-c", sql]).output().expect("psql");
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned());
        }
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// A session of its own that stays open: one transaction may stand open in it, or a lock.
    pub fn session(&self, user: &str) -> Session {
        Session::over(self.client(user, DATABASE))
    }

    fn client(&self, user: &str, database: &str) -> Command {
        let mut psql = Command::new(programs().expect("PostgreSQL").join("psql"));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", database, "-U", user, "-h"]);
        psql.arg(self.socket_folder()).args(["-p", &self.port.to_string()]).env("LC_ALL", "C.UTF-8");
        psql
    }

    fn configure(&self) {
        let mut text = String::new();
        let port = self.port;
        let folder = self.folder.path().display();
        let _ = writeln!(text, "listen_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = '{folder}'");
        // Nothing outside the server's own folders that a kill would leave behind.
        let _ = writeln!(text, "dynamic_shared_memory_type = mmap\nlogging_collector = off\nlog_timezone = 'UTC'");
        let _ = writeln!(text, "shared_buffers = '32MB'\nmax_connections = 40\nlc_messages = 'C'");
        if let Some(validity) = self.setup.tls {
            certificates::write(self.folder.path(), validity);
            let server = self.path("server.pem");
            fs::set_permissions(&server, fs::Permissions::from_mode(0o600)).expect("its mode");
            own(&server);
            let server = server.display();
            let _ = writeln!(text, "ssl = on\nssl_cert_file = '{server}'\nssl_key_file = '{server}'");
        }
        text += &self.setup.settings.join("\n");
        fs::write(self.data().join("postgresql.auto.conf"), text + "\n").expect("the settings");
        let own_rules = ["local all all trust", "host all all 127.0.0.1/32 scram-sha-256"].map(str::to_owned);
        let rules = [self.setup.access.clone(), own_rules.to_vec()].concat().join("\n");
        fs::write(self.data().join("pg_hba.conf"), rules + "\n").expect("the access rules");
    }

    /// The certificate of the port from the next start on.
    pub fn set_certificate(&mut self, validity: Validity) {
        self.setup.tls = Some(validity);
        self.configure();
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            // At once, but so that it gives its shared memory back.
            process.end(Signal::QUIT);
        }
    }
}

impl Process {
    fn spawn(program: &Path, data: &Path, log: &Path) -> Self {
        let open = || File::options().create(true).append(true).open(log).expect("the server's log");
        let script = "\"$@\" >&2 </dev/null & echo $!; cat >/dev/null; kill -9 $! 2>/dev/null; wait";
        let mut shell = server_command(Path::new("/bin/sh"));
        shell.args(["-c", script, "sh"]).arg(program).arg("-D").arg(data).current_dir(data);
        let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(open()).spawn().expect("a shell");
        let mut line = String::new();
        BufReader::new(shell.stdout.as_mut().expect("its output")).read_line(&mut line).expect("the server's pid");
        let server = line.trim().parse().ok().and_then(Pid::from_raw).expect("a process id");
        Self { shell, server }
    }

    /// The server first, then its processes.
    fn all(&self) -> Vec<Pid> {
        let of = format!("/proc/{pid}/task/{pid}/children", pid = self.server.as_raw_nonzero());
        let children = fs::read_to_string(of).unwrap_or_default();
        let children = children.split_whitespace().filter_map(|pid| pid.parse().ok().and_then(Pid::from_raw));
        std::iter::once(self.server).chain(children).collect()
    }

    fn signal_all(&self, signal: Signal) {
        for pid in self.all() {
            // A process of a connection that has just ended.
            let _ = kill_process(pid, signal);
        }
    }

    /// Stopped first, so that it starts no process meanwhile.
    fn kill(mut self) {
        let _ = kill_process(self.server, Signal::STOP);
        let all = self.all();
        for pid in &all {
            let _ = kill_process(*pid, Signal::KILL);
        }
        self.wait();
        // The next start refuses while one of them is there.
        poll(WATCHDOG, || all.iter().all(|pid| !is_there(*pid)).then_some(())).expect("processes that end");
    }

    /// Ends it by a signal; one that does not end is killed.
    fn end(mut self, signal: Signal) {
        let _ = kill_process(self.server, signal);
        let ended = poll(WATCHDOG, || (!is_there(self.server)).then_some(()));
        self.wait();
        // Not where a test fails already.
        assert!(ended.is_some() || std::thread::panicking(), "the server does not end");
    }

    fn wait(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

/// Whether it still does something: a process that has ended and was not waited for has no command line.
fn is_there(pid: Pid) -> bool {
    let cmdline = format!("/proc/{}/cmdline", pid.as_raw_nonzero());
    fs::read(cmdline).is_ok_and(|text| !text.is_empty())
}

/// An open session: a `psql` that is told one statement after the other.
pub struct Session {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

const DONE: &str = "-- done --";

impl Session {
    fn over(mut psql: Command) -> Self {
        psql.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = psql.spawn().expect("psql");
        let input = child.stdin.take().expect("its input");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        Self { child, input, output }
    }

    /// Runs a statement to its end and returns what it prints.
    ///
    /// # Panics
    /// When the server refuses it.
    pub fn run(&mut self, sql: &str) -> String {
        self.begin(sql);
        self.finish().unwrap_or_else(|| panic!("refused: {sql}"))
    }

    /// Sends a statement without waiting for its end: it may wait for a lock.
    pub fn begin(&mut self, sql: &str) {
        let line = format!("{sql};\n\\echo '{DONE}'\n");
        // Where it has ended `finish` says so.
        let _ = self.input.write_all(line.as_bytes()).and_then(|()| self.input.flush());
    }

    /// Waits for the end of the statement begun; None where the server refused it or has ended.
    pub fn finish(&mut self) -> Option<String> {
        let mut all = String::new();
        loop {
            let mut line = String::new();
            match self.output.read_line(&mut line) {
                Ok(1..) if line.trim_end() == DONE => return Some(all.trim_end().to_owned()),
                Ok(1..) => all += &line,
                _ => return None,
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A command as the server's user, who is not root.
fn server_command(program: &Path) -> Command {
    let mut command = Command::new(program);
    if let Some((user, group)) = server_user() {
        // Groups are given up with it.
        command.uid(user).gid(group);
    }
    command.env("LC_ALL", "C.UTF-8");
    command
}

/// Gives a file or folder to the server's user.
pub fn own(path: &Path) {
    if let Some((user, group)) = server_user() {
        chown(path, Some(user), Some(group)).expect("root");
    }
}

/// Who the server runs as, where this process is root; None: as this process.
fn server_user() -> Option<(u32, u32)> {
    static USER: OnceLock<Option<(u32, u32)>> = OnceLock::new();
    let number = |option: &str| {
        let output = Command::new("id").args([option, SUPERUSER]).output().expect("id");
        String::from_utf8_lossy(&output.stdout).trim().parse().expect("the user `postgres` of the package")
    };
    *USER.get_or_init(|| rustix::process::geteuid().is_root().then(|| (number("-u"), number("-g"))))
}

/// The folder of the server's programs; says loudly what is not tested where there is none.
fn programs() -> Option<PathBuf> {
    static PROGRAMS: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || {
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let version = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
        let found = versions.map(|entry| entry.path()).filter(|path| path.join("bin/initdb").exists());
        found.max_by_key(version).map(|path| path.join("bin"))
    };
    let found = PROGRAMS.get_or_init(find);
    if found.is_none() {
        let required = std::env::var("VERDICTD_TEST_POSTGRES").is_ok_and(|value| value == "required");
        assert!(!required, "PostgreSQL is required here and is missing");
        let name = std::thread::current().name().unwrap_or("a test").to_owned();
        let line = format!("\n*** NOT TESTED: {name} needs PostgreSQL (the package postgresql-15) ***\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
    found.clone()
}

/// Whether it lets a client in: while it recovers it says that it does not yet.
fn answers(socket: &Path) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        let parameters = format!("user\0{SUPERUSER}\0database\0postgres\0\0");
        let length = u32::try_from(8 + parameters.len()).expect("a short message");
        // Protocol 3.0.
        let message = [&length.to_be_bytes(), &[0, 3, 0, 0][..], parameters.as_bytes()].concat();
        stream.write_all(&message)?;
        let mut kind = [0];
        stream.read_exact(&mut kind)?;
        Ok(kind == *b"R")
    };
    ask().unwrap_or(false)
}
