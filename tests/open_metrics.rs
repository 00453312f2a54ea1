//! The admin listener: metrics by the rules of OpenMetrics, as another project's parser reads them, and health.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // helpers stop at the first surprise, as tests do

mod support;

use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use support::child::{WATCHDOG, poll};
use support::daemon::Daemon;
use support::http::{Client, JSON};
use support::site::Site;

/// Name of the family, type, unit, and its labels.
type Expected = (&'static str, &'static str, &'static str, &'static [&'static str]);

/// What scripts rely on.
const EXPECTED: [Expected; 18] = [
    ("verdictd_events", "counter", "", &["source", "outcome"]),
    ("verdictd_verdicts", "counter", "", &["decision", "model"]),
    ("verdictd_answer_seconds", "histogram", "seconds", &[]),
    ("verdictd_commit_seconds", "histogram", "seconds", &[]),
    ("verdictd_batch_events", "histogram", "", &[]),
    ("verdictd_sink_delivered", "counter", "", &["sink"]),
    ("verdictd_sink_errors", "counter", "", &["sink", "kind"]),
    ("verdictd_sink_lag_events", "gauge", "", &["sink"]),
    ("verdictd_sink_lag_seconds", "gauge", "seconds", &["sink"]),
    ("verdictd_sink_up", "gauge", "", &["sink"]),
    ("verdictd_memory_bytes", "gauge", "bytes", &["part"]),
    ("verdictd_memory_budget_bytes", "gauge", "bytes", &[]),
    ("verdictd_store_bytes", "gauge", "bytes", &[]),
    ("verdictd_store_budget_bytes", "gauge", "bytes", &[]),
    ("verdictd_dedup_window_seconds", "gauge", "seconds", &[]),
    ("verdictd_quarantined_events", "gauge", "", &[]),
    ("verdictd_model", "info", "", &["name", "version", "sha256"]),
    ("verdictd_build", "info", "", &["version"]),
];

/// The page's families, or None where this machine has no parser.
fn parsed(page: &[u8]) -> Option<Vec<Value>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/open_metrics.py");
    // Debian's own comes first: the package is its.
    let works = |python: &&str| {
        let import = Command::new(python).args(["-c", "import prometheus_client.openmetrics.parser"]).output();
        import.is_ok_and(|done| done.status.success())
    };
    let Some(python) = ["/usr/bin/python3", "python3"].into_iter().find(works) else {
        let line = "\n*** NOT TESTED: OpenMetrics by a parser, which needs python3-prometheus-client ***\n";
        let _ = std::io::stderr().write_all(line.as_bytes());
        return None;
    };
    let mut command = Command::new(python);
    command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("python");
    child.stdin.take().expect("its stdin").write_all(page).expect("a reader");
    let done = child.wait_with_output().expect("an end");
    let page = String::from_utf8_lossy(page);
    assert!(done.status.success(), "{}\n{page}", String::from_utf8_lossy(&done.stderr));
    Some(serde_json::from_slice(&done.stdout).expect("JSON"))
}

/// The value of the sample with these labels.
fn value(families: &[Value], name: &str, labels: &[(&str, &str)]) -> f64 {
    let samples = families.iter().flat_map(|family| family["samples"].as_array().into_iter().flatten());
    let found = samples.into_iter().find(|sample| {
        sample["name"] == name && labels.iter().all(|(label, value)| sample["labels"][*label].as_str() == Some(value))
    });
    found.and_then(|sample| sample["value"].as_f64()).unwrap_or_else(|| panic!("{name} {labels:?} is not there"))
}

/// A site with a sink that works and one that cannot: its folder is a file.
fn site() -> Site {
    let mut site = Site::new();
    let file = site.path().join("file");
    std::fs::write(&file, "").unwrap();
    site.set("sinks.broken.type", "\"file\"");
    site.set("sinks.broken.path", &format!("{:?}", file.join("x.ndjson").display().to_string()));
    site
}

#[test]
fn every_metric_is_there_by_the_rules_and_counts_what_happened() {
    let site = site();
    let daemon = Daemon::start(&site);
    let mut client = daemon.client();
    for (event, status) in [
        (r#"{"id":"1","amount":5}"#, 200),
        (r#"{"id":"2","amount":5}"#, 200),
        (r#"{"amount":5,"id":"1"}"#, 200),
        (r#"{"id":"1","amount":6}"#, 409),
        ("{", 400),
    ] {
        assert_eq!(client.post(JSON, event).unwrap().status, status, "{event}");
    }
    let settled = poll(WATCHDOG, || {
        let errors = daemon.metric(r#"verdictd_sink_errors_total{sink="broken",kind="transient"}"#)? > 0.0;
        let delivered = daemon.metric(r#"verdictd_sink_delivered_total{sink="audit"}"#)? >= 2.0;
        (errors && delivered).then_some(())
    });
    settled.unwrap_or_else(|| panic!("{}", daemon.admin("/metrics").text()));

    let page = daemon.admin("/metrics");
    let kind = page.header("content-type");
    assert_eq!(kind, Some("application/openmetrics-text; version=1.0.0; charset=utf-8"));
    assert!(page.text().ends_with("\n# EOF\n"));
    let Some(families) = parsed(&page.body) else { return };
    for (name, kind, unit, labels) in EXPECTED {
        let family = families.iter().find(|family| family["name"] == name);
        let family = family.unwrap_or_else(|| panic!("{name} is not there"));
        assert_eq!((family["type"].as_str(), family["unit"].as_str()), (Some(kind), Some(unit)), "{name}");
        let samples = family["samples"].as_array().expect("samples");
        assert!(!samples.is_empty(), "{name} has no samples");
        for sample in samples {
            let found = sample["labels"].as_object().expect("labels");
            let found: BTreeSet<&str> = found.keys().map(String::as_str).filter(|label| *label != "le").collect();
            assert_eq!(found, labels.iter().copied().collect(), "{name}");
        }
    }
    for family in &families {
        let help = family["help"].as_str().unwrap_or_default();
        assert!(help.len() > 5, "{} says nothing of itself: {help:?}", family["name"]);
    }
    for (outcome, count) in [("accepted", 2.0), ("duplicate", 1.0), ("conflict", 1.0), ("quarantined", 1.0)] {
        let labels = [("source", "pos"), ("outcome", outcome)];
        assert!((value(&families, "verdictd_events_total", &labels) - count).abs() < 0.5, "{outcome}");
    }
    let exact = |name: &str, labels: &[(&str, &str)], expected: f64| {
        let found = value(&families, name, labels);
        assert!((found - expected).abs() < 0.5, "{name} {labels:?}: expected {expected}, found {found}");
    };
    exact("verdictd_sink_delivered_total", &[("sink", "audit")], 2.0);
    exact("verdictd_sink_lag_events", &[("sink", "audit")], 0.0);
    exact("verdictd_sink_lag_events", &[("sink", "broken")], 2.0);
    exact("verdictd_sink_up", &[("sink", "audit")], 1.0);
    exact("verdictd_sink_up", &[("sink", "broken")], 0.0);
    exact("verdictd_quarantined_events", &[], 2.0);
    exact("verdictd_dedup_window_seconds", &[], 604_800.0);
    exact("verdictd_model_info", &[("name", "test"), ("version", "1")], 1.0);
    exact("verdictd_answer_seconds_count", &[], 5.0);
    assert!(value(&families, "verdictd_sink_errors_total", &[("sink", "broken"), ("kind", "transient")]) > 0.5);
    assert!(value(&families, "verdictd_memory_bytes", &[("part", "resident")]) > 1e6);
    assert!(daemon.stop().success());
}

#[test]
fn it_is_alive_and_not_ready_while_it_stops() {
    let site = Site::new();
    let mut daemon = Daemon::start(&site);
    assert_eq!(daemon.admin("/healthz").status, 200);
    assert_eq!(daemon.admin("/readyz").status, 200);
    // A request that is on its way holds the stop up.
    let event = r#"{"id":"1","amount":5}"#;
    let mut slow = std::os::unix::net::UnixStream::connect(site.events_socket()).unwrap();
    let head = format!(
        "POST /v1/events HTTP/1.1\r\nhost: x\r\ncontent-type: {JSON}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        event.len()
    );
    slow.write_all(head.as_bytes()).unwrap();
    slow.write_all(&event.as_bytes()[..5]).unwrap();
    let connected = poll(WATCHDOG, || (daemon.metric(r#"verdictd_connections{source="pos"}"#)? > 0.5).then_some(()));
    assert!(connected.is_some());
    daemon.signal(Signal::TERM);
    let stopping = poll(WATCHDOG, || {
        let reply = Client::connect(&site.admin_socket()).and_then(|mut client| client.get("/readyz")).unwrap();
        (reply.status == 503).then_some(reply)
    });
    assert_eq!(stopping.expect("an answer").text(), "stopping\n");
    assert_eq!(daemon.admin("/healthz").status, 200, "it works all the same");
    assert_eq!(daemon.status()["ready"], false);
    slow.write_all(&event.as_bytes()[5..]).unwrap();
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut slow, &mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("\"decision\""), "{answer}");
    assert!(daemon.wait_exit().success());
}
