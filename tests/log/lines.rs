//! The daemon's messages on stderr.

use super::support::child::{WATCHDOG, poll};
use super::support::daemon::Daemon;
use super::support::site::Site;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use verdictd::notice::{JOURNAL_UNREACHABLE, Notice, READY, RELOAD_REFUSED};
use verdictd::service::log::PASSED_MAX;

#[test]
fn each_line_of_json_is_of_a_known_kind_with_its_level_and_fields() {
    let site = Site::new();
    let daemon = Daemon::start(&site);
    let log = poll(WATCHDOG, || Some(daemon.log()).filter(|log| log.contains(READY.kind))).expect("a message");
    for line in log.lines() {
        let message: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let notice = message["kind"].as_str().and_then(Notice::find).unwrap_or_else(|| panic!("no kind in {line}"));
        assert_eq!(message["level"].as_str().map(str::to_lowercase).as_deref(), Some(notice.level.name()), "{line}");
        for field in notice.fields {
            assert!(!message[*field].is_null(), "{field} is not in {line}");
        }
        assert!(message["timestamp"].as_str().is_some_and(|time| time.ends_with('Z')), "{line}");
    }
    assert!(daemon.stop().success());
}

#[test]
fn the_text_form_says_the_kind_at_the_end_of_the_line() {
    let mut site = Site::new();
    site.set("log.format", "\"text\"");
    let daemon = Daemon::start(&site);
    let log = poll(WATCHDOG, || Some(daemon.log()).filter(|log| log.contains("[ready]\n"))).expect("a message");
    assert!(log.contains("  INFO ready ") && log.contains(" model=test@1 "), "{log}");
    assert!(daemon.stop().success());
}

#[test]
fn a_journal_that_is_not_there_is_told_once_and_json_stands_in() {
    let mut site = Site::new();
    site.set("log.format", "\"journal\"");
    let daemon = Daemon::start(&site);
    if std::path::Path::new("/run/systemd/journal/socket").exists() {
        eprintln!("this machine has a journal: nothing to stand in for");
        return;
    }
    let log = poll(WATCHDOG, || Some(daemon.log()).filter(|log| log.contains(READY.kind))).expect("a message");
    assert_eq!(log.matches(JOURNAL_UNREACHABLE.kind).count(), 1, "{log}");
    assert!(daemon.stop().success());
}

#[test]
fn repeats_are_summarised_and_none_is_left_untold_at_the_end() {
    const TIMES: u32 = 3 * PASSED_MAX;
    let mut site = Site::new();
    let daemon = Daemon::start(&site);
    site.set("log.level", "\"loud\"");
    for _ in 0..TIMES {
        let mut admin = UnixStream::connect(site.admin_socket()).unwrap();
        let request = "POST /v1/reload HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        admin.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        admin.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 ") && answer.contains("log.level"), "{answer}");
    }
    let file = site.path().join("daemon.log");
    assert!(daemon.stop().success());
    let log = std::fs::read_to_string(file).unwrap();
    let messages = log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let refused: Vec<_> = messages.filter(|message| message["kind"] == RELOAD_REFUSED.kind).collect();
    assert!(refused.len() < TIMES as usize, "{log}");
    let told: u64 = refused.iter().map(|message| message["repeats"].as_u64().unwrap_or(1)).sum();
    assert_eq!(told, u64::from(TIMES), "{log}");
}
