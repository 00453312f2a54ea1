//! A real Apache Kafka broker: one `KRaft` node on free loopback ports, from Maven Central's jars.
//!
//! Needs Java 17 or later and, the first time, Maven: the jars (44 MB) are kept in the target folder, or in
//! `KAFKA_JARS`. Where Java is missing the tests say so and pass; with `VERDICTD_TEST_KAFKA=required` they fail.
//!
//! The broker runs below a shell that kills it when this process ends, however it ends.

use super::certificates::{self, Validity};
use super::child::{WATCHDOG, poll};
use rdkafka::ClientConfig;
use rdkafka::admin::{
    AdminClient, AdminOptions, AlterConfig, NewPartitions, NewTopic, ResourceSpecifier, TopicReplication,
};
use rdkafka::client::DefaultClientContext;
use rustix::process::{Pid, Signal, kill_process};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;
use tempfile::TempDir;

/// A name and password that a secured broker knows.
pub const USER: (&str, &str) = ("app", "app-secret");

/// What a broker is to be.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Adds the listeners with SASL and TLS; [`USER`] may log in by PLAIN and SCRAM-SHA-256.
    pub secured: bool,
    /// [`USER`] may do nothing until an ACL says so.
    pub acls: bool,
    /// The certificate of the TLS listeners.
    pub certificate: Validity,
    /// A further listener that sends its clients on to this port of loopback, as behind a proxy.
    pub behind: Option<u16>,
    /// More server properties.
    pub properties: Vec<String>,
}

pub struct Broker {
    folder: TempDir,
    setup: Setup,
    ports: [u16; 6],
    process: Option<Process>,
}

const PLAINTEXT: usize = 0;
const CONTROLLER: usize = 1;
const SASL: usize = 2;
const TLS: usize = 3;
const SASL_TLS: usize = 4;
const PROXIED: usize = 5;

struct Process {
    /// Kills the broker when its standard input ends.
    shell: Child,
    broker: Pid,
}

/// A broker for tests that do it no harm; each uses topics and groups of its own. None where Java is missing.
pub fn shared() -> Option<&'static Broker> {
    static SHARED: OnceLock<Option<Broker>> = OnceLock::new();
    SHARED.get_or_init(|| Broker::start(Setup::default())).as_ref()
}

/// A name no other test uses.
pub fn unique(stem: &str) -> String {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{stem}-{}", NEXT.fetch_add(1, Relaxed))
}

impl Broker {
    /// Starts one and waits until it answers; None where Java is missing.
    pub fn start(setup: Setup) -> Option<Self> {
        if !is_available() {
            return None;
        }
        let folder = tempfile::Builder::new().prefix("verdictd-kafka-").tempdir().expect("a temporary folder");
        let mut broker = Self { folder, setup, ports: free_ports(), process: None };
        broker.configure();
        let mut format = java(128);
        format.args(["kafka.tools.StorageTool", "format", "-t", "AAAAAAAAQACAAAAAAAAAAQ", "-c"]);
        format.arg(broker.path("server.properties"));
        if broker.setup.secured {
            format.arg("--add-scram").arg(format!("SCRAM-SHA-256=[name={},password={}]", USER.0, USER.1));
        }
        let output = format.output().expect("java");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        broker.up();
        Some(broker)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `host:port` of the listener without log-in and encryption; who comes there may do everything.
    pub fn bootstrap(&self) -> String {
        self.listener(PLAINTEXT).to_string()
    }

    pub fn sasl_bootstrap(&self) -> String {
        self.listener(SASL).to_string()
    }

    /// By name: the certificate is for `localhost`.
    pub fn tls_bootstrap(&self) -> String {
        format!("localhost:{}", self.ports[TLS])
    }

    pub fn sasl_tls_bootstrap(&self) -> String {
        format!("localhost:{}", self.ports[SASL_TLS])
    }

    /// Where a proxy is to connect to, see [`Setup::behind`].
    pub fn behind(&self) -> SocketAddr {
        self.listener(PROXIED)
    }

    /// The authority of the TLS listeners' certificate.
    pub fn ca_file(&self) -> PathBuf {
        self.path("ca.pem")
    }

    fn listener(&self, which: usize) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.ports[which]).into()
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// A clean stop.
    pub fn stop(&mut self) {
        self.signal(Signal::TERM);
        let running = || {
            File::open(format!("/proc/{}/cmdline", self.pid().as_raw_nonzero())).is_ok_and(|mut file| {
                let mut text = String::new();
                file.read_to_string(&mut text).is_ok_and(|_| !text.is_empty())
            })
        };
        poll(WATCHDOG, || (!running()).then_some(())).expect("a broker that stops");
        self.process = None;
    }

    /// Starts it again on the same data and ports.
    pub fn up(&mut self) {
        assert!(self.process.is_none(), "the broker is up");
        self.process = Some(Process::spawn(&self.path("server.properties"), &self.path("broker.log")));
        let ready = poll(WATCHDOG, || answers(self.listener(PLAINTEXT)).then_some(()));
        assert!(ready.is_some(), "the broker does not answer:\n{}", self.log());
    }

    /// Connections stay open and nothing is answered, until [`Broker::thaw`].
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.path("broker.log")).unwrap_or_default()
    }

    fn pid(&self) -> Pid {
        self.process.as_ref().expect("a broker that is up").broker
    }

    fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("a broker that can be signalled");
    }

    /// The certificate of the TLS listeners from the next start on.
    pub fn set_certificate(&mut self, certificate: Validity) {
        self.setup.certificate = certificate;
        self.configure();
    }

    /// Runs one of the broker's own tools against it.
    pub fn tool(&self, class: &str, arguments: &[&str]) -> String {
        let mut command = java(128);
        command.arg(format!("org.apache.kafka.tools.{class}")).args(["--bootstrap-server", &self.bootstrap()]);
        let output = command.args(arguments).output().expect("java");
        assert!(output.status.success(), "{class}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Lets [`USER`] write to a topic or takes that back (`--add` or `--remove --force`).
    pub fn acl(&self, change: &[&str], topic: &str) {
        let user = format!("User:{}", USER.0);
        let rule = ["--allow-principal", &user, "--operation", "Write", "--operation", "Describe", "--topic", topic];
        self.tool("AclCommand", &[change, &rule].concat());
    }

    fn admin(&self) -> AdminClient<DefaultClientContext> {
        ClientConfig::new().set("bootstrap.servers", self.bootstrap()).create().expect("an admin client")
    }

    /// Makes a topic; `settings` are its properties.
    pub fn create_topic(&self, name: &str, partitions: i32, settings: &[(&str, &str)]) {
        let mut topic = NewTopic::new(name, partitions, TopicReplication::Fixed(1));
        for (key, value) in settings {
            topic = topic.set(key, value);
        }
        let admin = self.admin();
        let made = block_on(admin.create_topics([&topic], &options())).expect("an answer");
        assert!(made.iter().all(Result::is_ok), "{made:?}");
        self.await_topic(name, Some(usize::try_from(partitions).expect("a number of partitions")));
    }

    pub fn delete_topic(&self, name: &str) {
        let admin = self.admin();
        let gone = block_on(admin.delete_topics(&[name], &options())).expect("an answer");
        assert!(gone.iter().all(Result::is_ok), "{gone:?}");
        self.await_topic(name, None);
    }

    /// Sets a topic's properties.
    pub fn alter_topic(&self, name: &str, settings: &[(&str, &str)]) {
        let mut change = AlterConfig::new(ResourceSpecifier::Topic(name));
        for (key, value) in settings {
            change = change.set(key, value);
        }
        let admin = self.admin();
        let changed = block_on(admin.alter_configs([&change], &options())).expect("an answer");
        assert!(changed.iter().all(Result::is_ok), "{changed:?}");
    }

    pub fn add_partitions(&self, topic: &str, count: usize) {
        let admin = self.admin();
        block_on(admin.create_partitions([&NewPartitions::new(topic, count)], &options())).expect("an answer");
    }

    /// Removes what a topic's partition holds below `offset`.
    pub fn delete_records(&self, topic: &str, partition: i32, offset: i64) {
        let mut below = rdkafka::TopicPartitionList::new();
        below.add_partition_offset(topic, partition, rdkafka::Offset::Offset(offset)).expect("an offset");
        let admin = self.admin();
        block_on(admin.delete_records(&below, &options())).expect("an answer");
    }

    /// Waits until the brokers' metadata has a topic with so many partitions, or has it no more. The listing of
    /// all topics does not make one.
    fn await_topic(&self, name: &str, partitions: Option<usize>) {
        let admin = self.admin();
        let is_there = || {
            let metadata = admin.inner().fetch_metadata(None, Duration::from_secs(10)).ok()?;
            let found = metadata.topics().iter().find(|topic| topic.name() == name).map(|t| t.partitions().len());
            (found == partitions).then_some(())
        };
        poll(WATCHDOG, is_there).expect("a topic that comes or goes");
    }

    fn configure(&self) {
        let ports = &self.ports;
        let mut listeners = vec![format!("PLAINTEXT://127.0.0.1:{}", ports[PLAINTEXT])];
        let mut advertised = listeners.clone();
        if let Some(port) = self.setup.behind {
            listeners.push(format!("PROXIED://127.0.0.1:{}", ports[PROXIED]));
            advertised.push(format!("PROXIED://127.0.0.1:{port}"));
        }
        let mut text = String::new();
        if self.setup.secured {
            let secured = [
                format!("SASL_PLAINTEXT://127.0.0.1:{}", ports[SASL]),
                format!("SSL://localhost:{}", ports[TLS]),
                format!("SASL_SSL://localhost:{}", ports[SASL_TLS]),
            ];
            listeners.extend(secured.clone());
            advertised.extend(secured);
            let login =
                |module: &str, rest: String| format!("org.apache.kafka.common.security.{module} required{rest};");
            let plain = login("plain.PlainLoginModule", format!(" user_{}=\"{}\"", USER.0, USER.1));
            let scram = login("scram.ScramLoginModule", String::new());
            for listener in ["sasl_plaintext", "sasl_ssl"] {
                let prefix = format!("listener.name.{listener}");
                let _ = writeln!(text, "{prefix}.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256");
                let _ = writeln!(text, "{prefix}.plain.sasl.jaas.config={plain}");
                let _ = writeln!(text, "{prefix}.scram-sha-256.sasl.jaas.config={scram}");
            }
            certificates::write(self.folder.path(), self.setup.certificate);
            let _ =
                writeln!(text, "ssl.keystore.type=PEM\nssl.keystore.location={}", self.path("server.pem").display());
        }
        if self.setup.acls {
            let _ = writeln!(text, "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer");
            let _ = writeln!(text, "super.users=User:ANONYMOUS");
        }
        let controller = format!("127.0.0.1:{}", ports[CONTROLLER]);
        listeners.push(format!("CONTROLLER://{controller}"));
        let own = [
            ("process.roles", "broker,controller".to_owned()),
            ("node.id", "1".to_owned()),
            ("controller.quorum.voters", format!("1@{controller}")),
            ("controller.listener.names", "CONTROLLER".to_owned()),
            ("inter.broker.listener.name", "PLAINTEXT".to_owned()),
            ("listener.security.protocol.map", PROTOCOLS.to_owned()),
            ("listeners", listeners.join(",")),
            ("advertised.listeners", advertised.join(",")),
            ("log.dirs", self.path("data").display().to_string()),
            ("offsets.topic.replication.factor", "1".to_owned()),
            ("offsets.topic.num.partitions", "4".to_owned()),
            ("transaction.state.log.replication.factor", "1".to_owned()),
            ("transaction.state.log.min.isr", "1".to_owned()),
            ("transaction.state.log.num.partitions", "4".to_owned()),
            ("group.initial.rebalance.delay.ms", "0".to_owned()),
            ("auto.create.topics.enable", "false".to_owned()),
            ("log.cleaner.dedupe.buffer.size", "16777216".to_owned()),
            // After a crash the old registration must expire before the broker may come back.
            ("broker.session.timeout.ms", "2000".to_owned()),
            ("broker.heartbeat.interval.ms", "500".to_owned()),
        ];
        for (key, value) in own {
            let _ = writeln!(text, "{key}={value}");
        }
        text += &self.setup.properties.join("\n");
        fs::write(self.path("server.properties"), text).expect("the broker's properties");
    }
}

const PROTOCOLS: &str = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,\
                         SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL";

impl Process {
    fn spawn(properties: &Path, log: &Path) -> Self {
        let open = || File::options().create(true).append(true).open(log).expect("the broker's log");
        let script = "\"$@\" >>\"$LOG\" 2>&1 </dev/null & echo $!; cat >/dev/null; kill -9 $!; wait";
        let mut broker = java(384);
        broker.arg("kafka.Kafka").arg(properties);
        let mut shell = Command::new("sh");
        shell.args(["-c", script, "sh"]).arg(broker.get_program()).args(broker.get_args()).env("LOG", log);
        let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(open()).spawn().expect("a shell");
        let mut line = String::new();
        BufReader::new(shell.stdout.as_mut().expect("its output")).read_line(&mut line).expect("the broker's pid");
        let broker = line.trim().parse().ok().and_then(Pid::from_raw).expect("a process id");
        Self { shell, broker }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

fn java(heap_mib: u32) -> Command {
    let mut command = Command::new("java");
    let log = ["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dlog4j2.level=WARN"];
    command.arg(format!("-Xmx{heap_mib}m")).args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]).args(log);
    command.arg("-cp").arg(jars().join("*"));
    command
}

/// Whether there is a Java to run it with; says loudly what is not tested where there is none.
fn is_available() -> bool {
    let java = Command::new("java").arg("-version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let is_there = java.is_ok_and(|status| status.success());
    if !is_there {
        let required = std::env::var("VERDICTD_TEST_KAFKA").is_ok_and(|value| value == "required");
        assert!(!required, "Java is required here and is missing");
        let name = std::thread::current().name().unwrap_or("a test").to_owned();
        let line = format!("\n*** NOT TESTED: {name} needs Java 17 and Maven, to run Apache Kafka ***\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
    is_there
}

/// The folder of the jars, filled once.
fn jars() -> PathBuf {
    static JARS: OnceLock<PathBuf> = OnceLock::new();
    if let Some(folder) = std::env::var_os("KAFKA_JARS") {
        return folder.into();
    }
    JARS.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kafka-jars");
        fs::create_dir_all(&folder).expect("the jars' folder");
        let lock = File::create(folder.join("lock")).expect("a lock file");
        lock.lock().expect("the lock");
        let done = folder.join("done");
        if !done.exists() {
            let pom = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/kafka/pom.xml");
            let goal = "org.apache.maven.plugins:maven-dependency-plugin:3.6.0:copy-dependencies";
            let mut maven = Command::new("mvn");
            maven.args(["-q", "-B", "-f"]).arg(pom).arg(goal).arg("-DincludeScope=runtime");
            let status = maven.arg(format!("-DoutputDirectory={}", folder.display())).status().expect("mvn");
            assert!(status.success(), "Maven could not fetch Kafka's jars");
            File::create(done).expect("a mark");
        }
        folder
    })
    .clone()
}

/// Whether it answers a request for its API versions: then it handles requests.
fn answers(address: SocketAddr) -> bool {
    let ask = || -> std::io::Result<()> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        // Length, API 18, version 0, correlation 1, client id "x".
        stream.write_all(&[0, 0, 0, 11, 0, 18, 0, 0, 0, 0, 0, 1, 0, 1, b'x'])?;
        stream.read_exact(&mut [0; 8])
    };
    ask().is_ok()
}

fn free_ports() -> [u16; 6] {
    let listeners: [TcpListener; 6] =
        std::array::from_fn(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port"));
    listeners.map(|listener| listener.local_addr().expect("its address").port())
}

fn options() -> AdminOptions {
    AdminOptions::new().operation_timeout(Some(Duration::from_secs(30)))
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}
