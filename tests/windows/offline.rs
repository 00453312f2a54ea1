//! `verdictd score --features`.

use super::naive::{Expected, NAMES, expected};
use super::stream::{Line, Stream};
use super::{bundles, compare};
use crate::support::child;
use serde_json::Value;
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How the stream's events are known, to `score` and to the daemon alike.
pub const IDENTITY: [&str; 8] =
    ["--id", "/TRANSACTION_ID", "--key", "/CUSTOMER_ID", "--time", "/TX_DATETIME", "--source", "pos"];

/// A line of output a line of events, repeats among them.
pub fn score(bundle: &Path, events: &Path) -> Vec<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_verdictd"));
    command.args(["score", "--features", "--bundle"]).arg(bundle).args(IDENTITY).arg(events);
    let done = child::run(&mut command).expect("score to end");
    assert_eq!(done.status.code(), Some(0), "{}", done.stderr);
    done.stdout.lines().map(|line| serde_json::from_str(line).expect("a verdict")).collect()
}

pub fn features(line: &Value) -> [f64; 15] {
    NAMES.map(|name| line["features"][name].as_f64().unwrap_or_else(|| panic!("{name} of {line}")))
}

/// The first line of each event, by its index.
fn first_lines(stream: &Stream, lines: Vec<Value>) -> Vec<Value> {
    let asked = stream.lines.iter().filter(|line| !matches!(line, Line::Label(..)));
    let mut found = vec![Value::Null; stream.events.len()];
    let mut count = 0;
    for (line, answer) in asked.zip(lines) {
        count += 1;
        if let Line::Event(n) = line {
            assert_eq!(answer["id"], *stream.events[*n].id);
            found[*n] = answer;
        }
    }
    assert_eq!(count, stream.lines.iter().filter(|line| !matches!(line, Line::Label(..))).count(), "an answer a line");
    found
}

fn scored(stream: &Stream) -> Vec<Value> {
    let folder = tempfile::tempdir().expect("a folder");
    bundles::write_exact(&folder.path().join("exact"));
    let file = stream.write(&folder.path().join("events.ndjson"), true);
    first_lines(stream, score(&folder.path().join("exact"), &file))
}

#[test]
fn events_in_order_are_counted_as_pandas_counts_them() {
    let stream = Stream::in_order(11);
    let answers = scored(&stream);
    for ((event, answer), expected) in stream.events.iter().zip(&answers).zip(expected(&stream)) {
        let Expected::Row(expected) = expected else { panic!("in order nothing is too late") };
        compare::same(&event.id, &features(answer), &expected);
    }
    let Some(reference) = pandas(&stream) else { return };
    for (event, answer) in stream.events.iter().zip(&answers) {
        compare::same(&event.id, &features(answer), &reference[&event.id]);
    }
}

#[test]
fn late_events_take_their_own_place_and_those_too_late_count_nowhere() {
    let stream = Stream::disordered(12);
    let answers = scored(&stream);
    let mut too_late = 0;
    for ((event, answer), expected) in stream.events.iter().zip(&answers).zip(expected(&stream)) {
        match expected {
            Expected::Row(expected) => compare::same(&event.id, &features(answer), &expected),
            Expected::TooLate => too_late += 1,
        }
    }
    assert!(too_late > 5, "{too_late}");
}

#[test]
fn a_repeat_is_not_counted_again() {
    let stream = Stream::in_order(13);
    let without = Stream {
        lines: stream.lines.iter().filter(|line| !matches!(line, Line::Repeat(_))).cloned().collect(),
        events: stream.events.clone(),
    };
    assert!(without.lines.len() < stream.lines.len());
    let rows = |stream: &Stream| scored(stream).iter().map(features).collect::<Vec<_>>();
    assert_eq!(rows(&stream), rows(&without));
}

/// Where the libraries are, as tests/models/venv has it; None where they have not been installed.
fn python() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let cache = || variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let venv = variable("VERDICTD_TEST_VENV").or_else(|| Some(cache()?.join("verdictd-models/venv")))?;
    // Written when everything else is there.
    venv.join("made-from").exists().then(|| venv.join("bin/python"))
}

/// What pandas says, by id; None without it.
fn pandas(stream: &Stream) -> Option<HashMap<String, [f64; 15]>> {
    let Some(python) = python() else {
        let required = std::env::var("VERDICTD_TEST_MODELS").is_ok_and(|value| value == "required");
        assert!(!required, "tests/models/venv has not made the libraries");
        let line = b"\n*** NOT TESTED: windows against pandas, for which tests/models/venv is to run first ***\n";
        let _ = std::io::stderr().write_all(line);
        return None;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = stream.write(&folder.path().join("events.ndjson"), false);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/windows/reference.py");
    let done = Command::new(python).arg("-B").arg(script).arg(file).stdin(Stdio::null()).output().expect("python");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8(done.stdout).expect("UTF-8");
    let mut lines = text.lines();
    let header = lines.next().expect("a header");
    assert_eq!(header, format!("TRANSACTION_ID,{}", NAMES.join(",")));
    let rows = lines.map(|line| {
        let mut cells = line.split(',');
        let id = cells.next().expect("an id").to_owned();
        let values: Vec<f64> = cells.map(|cell| cell.parse().expect("a number")).collect();
        (id, values.try_into().expect("fifteen features"))
    });
    Some(rows.collect())
}
