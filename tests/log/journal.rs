//! The daemon's messages as the journal gets them.
//!
//! The journal's socket has a fixed path. So the test runs in a mount namespace of its own with an empty /run, where
//! it plays the journal; without the right to make one it says that it was skipped.

use super::support::child::{self, Guarded, WATCHDOG, poll};
use super::support::http::{Client, JSON};
use super::support::site::Site;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Stdio};
use verdictd::notice;

const SOCKET: &str = "/run/systemd/journal/socket";

type Fields = BTreeMap<String, String>;

/// An entry as journald reads it: `NAME=value` lines, or a name's line, a length of eight bytes and the value.
fn parsed(mut entry: &[u8]) -> Fields {
    let mut fields = Fields::new();
    while let Some(end) = entry.iter().position(|byte| *byte == b'\n') {
        let line = std::str::from_utf8(&entry[..end]).expect("a name");
        entry = &entry[end + 1..];
        let (name, value) = if let Some((name, value)) = line.split_once('=') {
            (name, value.to_owned())
        } else {
            let length = usize::try_from(u64::from_le_bytes(entry[..8].try_into().unwrap())).unwrap();
            let value = String::from_utf8(entry[8..8 + length].to_vec()).expect("a text");
            entry = &entry[8 + length + 1..];
            (line, value)
        };
        assert!(fields.insert(name.to_owned(), value).is_none(), "{name} twice");
    }
    fields
}

/// Those that have come; empty ones only ask whether someone listens.
fn received(socket: &UnixDatagram) -> Vec<Fields> {
    let mut entries = Vec::new();
    let mut buffer = vec![0; 1 << 17];
    loop {
        match socket.recv(&mut buffer) {
            Ok(0) => {}
            Ok(length) => entries.push(parsed(&buffer[..length])),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return entries,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn the_journal_gets_each_message_with_its_kind_and_fields() {
    let part = child::part("journal::in_a_run_of_its_own", "journal");
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "--", "sh", "-c"]);
    command.arg("mount -t tmpfs none /run && exec \"$@\"").arg("sh").arg(part.get_program()).args(part.get_args());
    for (name, value) in part.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    let mut may = Command::new("unshare");
    may.args(["--map-root-user", "--mount", "--", "mount", "-t", "tmpfs", "none", "/run"]).stderr(Stdio::null());
    if !may.status().is_ok_and(|status| status.success()) {
        let line = "\n*** NOT TESTED: what the journal gets, which needs the right to make a mount namespace ***\n";
        let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
        return;
    }
    let done = child::run(&mut command).expect("an end");
    assert!(done.status.success(), "{}\n{}", done.stdout, done.stderr);
}

#[test]
#[ignore = "part of the_journal_gets_each_message_with_its_kind_and_fields"]
fn in_a_run_of_its_own() {
    if child::task().is_none() {
        return;
    }
    std::fs::create_dir_all(Path::new(SOCKET).parent().unwrap()).unwrap();
    let journal = UnixDatagram::bind(SOCKET).unwrap();
    journal.set_nonblocking(true).unwrap();
    let mut site = Site::new();
    // A sink that cannot work: its folder is a file.
    let file = site.path().join("file");
    std::fs::write(&file, "").unwrap();
    site.set("sinks.broken.type", "\"file\"");
    site.set("sinks.broken.path", &format!("{:?}", file.join("x.ndjson").display().to_string()));

    // `auto` sees that stderr is the journal's by what the service manager says of it.
    let log = site.path().join("stderr");
    let stderr = File::create(&log).unwrap();
    let about = stderr.metadata().unwrap();
    let mut command = site.configured(&["run"]);
    command.env("JOURNAL_STREAM", format!("{}:{}", about.dev(), about.ino())).stdin(Stdio::null()).stderr(stderr);
    let mut daemon = Guarded::spawn(&mut command);
    let mut entries = Vec::new();
    let mut until = |daemon: &mut Guarded, kind: &notice::Notice| {
        let entry = poll(WATCHDOG, || {
            let ended = daemon.0.try_wait().unwrap();
            entries.extend(received(&journal));
            let entry = entries.iter().find(|entry: &&Fields| entry.get("MESSAGE_ID").is_some_and(|id| id == kind.id));
            assert!(entry.is_some() || ended.is_none(), "it ended: {entries:?}");
            entry.cloned()
        });
        entry.unwrap_or_else(|| panic!("{} is not in {entries:?}", kind.kind))
    };
    let ready = until(&mut daemon, &notice::READY);
    assert_eq!(ready["MESSAGE"], "ready");
    assert_eq!((ready["PRIORITY"].as_str(), ready["SYSLOG_IDENTIFIER"].as_str()), ("5", "verdictd"));
    assert_eq!((ready["VERDICTD_KIND"].as_str(), ready["MODEL"].as_str()), ("ready", "test@1"));
    assert!(ready.contains_key("CODE_FILE") && ready.contains_key("CODE_LINE"), "{ready:?}");

    let mut client = Client::connect(&site.events_socket()).unwrap();
    assert_eq!(client.post(JSON, br#"{"id":"1","amount":5}"#).unwrap().status, 200);
    let down = until(&mut daemon, &notice::SINK_DOWN);
    assert_eq!((down["SINK"].as_str(), down["PRIORITY"].as_str()), ("broken", "4"));
    assert!(!down["ERROR"].is_empty(), "{down:?}");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "", "nothing is said twice");

    // Without the journal its messages are lines, and the first of them says why.
    std::fs::remove_file(SOCKET).unwrap();
    drop(journal);
    let pid = rustix::process::Pid::from_raw(i32::try_from(daemon.0.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(child::wait(&mut daemon).expect("an end").success());
    let text = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line["kind"].as_str().expect("a kind")).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == notice::JOURNAL_UNREACHABLE.kind).count(), 1, "{text}");
    assert!(kinds.contains(&notice::STOPPING.kind), "{text}");
}
