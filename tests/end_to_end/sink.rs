//! The file sink: whole lines, each verdict once, through rotation, torn tails and crashes.

use crate::events::{ndjson, sink_lines, verdict};
use crate::support::daemon::Daemon;
use crate::support::http::NDJSON;
use crate::support::site::{Site, sequence};
use std::io::Write;

fn post(daemon: &Daemon, prefix: &str, count: usize) {
    let ids = (0..count).map(|n| format!("{prefix}-{n}"));
    let reply = daemon.client().post(NDJSON, ndjson(ids)).unwrap();
    assert_eq!((reply.status, reply.lines().len()), (200, count));
}

/// Sequences 1 to `count`, each once, in order over all files.
fn must_be_complete(lines: &[String], count: u64) {
    let sequences: Vec<u64> = lines.iter().map(|line| sequence(line)).collect();
    assert!(sequences.iter().copied().eq(1..=count), "expected 1 to {count}, got {sequences:?}");
}

#[test]
fn rotation_loses_and_repeats_nothing() {
    let mut site = Site::new();
    // A line has some 250 bytes: about 250 lines a file.
    site.set("sinks.audit.rotate-size", "\"64 KiB\"").set("sinks.audit.keep", "1000");
    let daemon = Daemon::start(&site);
    for n in 0..20 {
        post(&daemon, &format!("rotate-{n}"), 100);
        // What waits is written in one go and the file looked at then: so nothing may pile up.
        sink_lines(&site, (n + 1) * 100);
    }
    must_be_complete(&sink_lines(&site, 2000), 2000);
    let files: Vec<_> = std::fs::read_dir(site.sink().parent().unwrap()).unwrap().map(|e| e.unwrap()).collect();
    assert!(files.len() >= 4, "{files:?}");
    for file in &files {
        let name = file.file_name().into_string().unwrap();
        assert!(name.starts_with("verdicts") && name.ends_with(".ndjson"), "{name}: rotated files keep the stem");
    }
    daemon.kill();
    let daemon = Daemon::start(&site);
    post(&daemon, "behind", 1);
    must_be_complete(&sink_lines(&site, 2001), 2001);
}

#[test]
fn only_the_files_to_keep_are_kept() {
    let mut site = Site::new();
    site.set("sinks.audit.rotate-size", "\"64 KiB\"").set("sinks.audit.keep", "2");
    let daemon = Daemon::start(&site);
    for n in 0..20 {
        post(&daemon, &format!("keep-{n}"), 100);
    }
    let last = crate::support::child::poll(crate::support::child::WATCHDOG, || {
        let text = std::fs::read_to_string(site.sink()).unwrap_or_default();
        text.lines().last().filter(|_| text.ends_with('\n')).map(sequence).filter(|n| *n == 2000)
    });
    assert_eq!(last, Some(2000));
    assert!(daemon.stop().success());
    let count = std::fs::read_dir(site.sink().parent().unwrap()).unwrap().count();
    assert!(count <= 3, "{count} files: the live one and two kept");
}

#[test]
fn a_torn_last_line_is_cut_off_and_written_again() {
    let site = Site::new();
    let daemon = Daemon::start(&site);
    post(&daemon, "torn", 10);
    sink_lines(&site, 10);
    daemon.kill();
    // What a power cut leaves of an append: half a line, and then zeros.
    for tail in [&br#"{"source":"pos","id":"to"#[..], &[0; 700], b"\xff\xfe"] {
        std::fs::File::options().append(true).open(site.sink()).unwrap().write_all(tail).unwrap();
        let daemon = Daemon::start(&site);
        verdict(&mut daemon.client(), "torn-0", 100.0);
        assert!(daemon.stop().success());
        must_be_complete(&site.sink_lines(), 10);
    }
}

#[test]
fn lines_that_were_lost_with_the_sinks_file_are_not_sent_again_but_new_ones_are() {
    let site = Site::new();
    let daemon = Daemon::start(&site);
    post(&daemon, "gone", 5);
    sink_lines(&site, 5);
    assert!(daemon.stop().success());
    std::fs::remove_file(site.sink()).unwrap();
    let daemon = Daemon::start(&site);
    post(&daemon, "new", 3);
    let sequences: Vec<u64> = sink_lines(&site, 3).iter().map(|line| sequence(line)).collect();
    assert_eq!(sequences, [6, 7, 8]);
}
