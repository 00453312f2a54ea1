//! The example in SQL alone, over the lines of a file sink.

use super::books::Books;
use super::consumer::{hex, line};
use super::example::{database, load};
use super::support::child::{Guarded, WATCHDOG, poll};
use super::support::daemon::Daemon;
use super::support::http::NDJSON;
use super::support::postgres::Postgres;
use super::support::site::Site;
use super::support::{from_env, random};
use rand::Rng;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

const VERDICTS: u32 = 4000;

/// Runs it to its end; how many were new, and how many known.
fn loaded(database: &Postgres, lines: &Path) -> (u64, u64) {
    let output = load(database, lines).stderr(Stdio::piped()).output().expect("psql");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let numbers = text.trim().split_once('|').expect("two numbers");
    (numbers.0.parse().expect("a number"), numbers.1.parse().expect("a number"))
}

#[test]
fn psql_killed_at_random_leaves_all_of_a_file_or_nothing_and_a_repeat_adds_nothing() {
    let Some(mut database) = database() else { return };
    let kills = from_env("VERDICTD_TEST_CONSUMER_KILLS", 25);
    let (seed, mut random) = random(8);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("verdicts.ndjson");
    let (mut books, mut text) = (Books::default(), Vec::new());
    for kill in 0..kills {
        // The file has grown since.
        let share = u64::from(VERDICTS) / kills;
        for number in kill * share..(kill + 1) * share {
            let line = line(u32::try_from(number).unwrap(), &number.to_string());
            text.extend_from_slice(&line);
            text.push(b'\n');
            books.enter(serde_json::from_slice(&line).unwrap());
        }
        fs::write(&file, &text).unwrap();
        let mut psql = Guarded::spawn(load(&database, &file).stdout(Stdio::null()).stderr(Stdio::null()));
        std::thread::park_timeout(Duration::from_millis(random.random_range(0..120)));
        if random.random_ratio(1, 4) {
            database.kill();
            database.up();
        }
        drop(psql.0.kill());
        drop(psql);
        // All of one run, or nothing of it.
        let rows: u64 = database.psql("SELECT count(*) FROM verdicts").parse().unwrap();
        assert_eq!(rows % share, 0, "seed {seed}: a part of a file");
    }
    let (new, known) = loaded(&database, &file);
    assert_eq!(new + known, books.verdicts.len() as u64);
    books.check(&database);
    assert_eq!(loaded(&database, &file), (0, books.verdicts.len() as u64));
    books.check(&database);
    println!("{kills} kills, {} verdicts: {new} were left for the last run", books.verdicts.len());
}

#[test]
fn each_line_of_a_file_sink_is_taken_word_for_word() {
    let Some(database) = database() else { return };
    let site = Site::new();
    let daemon = Daemon::start(&site);
    let ids = [
        "plain",
        "quote \" and \\ backslash \\n",
        "line\nend\ttab",
        "\\u0000 in words",
        "ÄÖ 漢字 🦀",
        "'; --",
        "a\0b",
        "\\.",
    ];
    let event = |id: &str| format!("{}\n", serde_json::json!({"id": id, "key": id, "amount": 500}));
    let answer = daemon.client().post(NDJSON, ids.map(event).concat()).expect("an answer");
    assert_eq!(answer.status, 200);
    let all = || site.whole_sink_lines().is_some_and(|lines| lines.len() == ids.len()).then_some(());
    poll(WATCHDOG, all).unwrap_or_else(|| panic!("{}", daemon.log()));
    assert!(daemon.stop().success());
    let (mut books, mut unfit) = (Books::default(), Vec::new());
    for line in site.sink_lines() {
        let verdict: serde_json::Value = serde_json::from_str(&line).unwrap();
        if verdict["id"] == "a\0b" { unfit.push(line) } else { books.enter(verdict) }
    }
    assert_eq!((books.verdicts.len(), unfit.len()), (ids.len() - 1, 1));
    assert_eq!(loaded(&database, site.sink()), (7, 0));
    books.check(&database);
    assert_eq!(database.psql("SELECT encode(record, 'hex') FROM rejected"), hex(unfit[0].as_bytes()));
    assert_eq!(loaded(&database, site.sink()), (0, 7));
    assert_eq!(database.psql("SELECT count(*) FROM rejected"), "1");
    // A file that holds something else changes nothing.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lines");
    fs::write(&file, format!("{}\noops\n", String::from_utf8_lossy(&line(5, "good")))).unwrap();
    let done = load(&database, &file).output().unwrap();
    assert!(!done.status.success(), "{done:?}");
    books.check(&database);
}
