//! The daemon: HTTP in, file sink out, killed with an answer open, killed while idle, stopped and started again.

use super::bundles;
use super::offline::score;
use super::stream::{Line, Stream};
use crate::support::daemon::Daemon;
use crate::support::http::NDJSON;
use crate::support::site::Site;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Lines of a request.
const LINES: usize = 300;

fn site() -> Site {
    let mut site = Site::new();
    bundles::write_sum(&site.bundle());
    site.set("sources.pos.event", "{ id = \"/TRANSACTION_ID\", key = \"/CUSTOMER_ID\", time = \"/TX_DATETIME\" }");
    site
}

fn post(daemon: &Daemon, body: &str, lines: usize) {
    let reply = daemon.client().post(NDJSON, body).expect("an answer");
    assert_eq!(reply.status, 200, "{}", reply.text());
    let answers = reply.lines();
    assert_eq!(answers.len(), lines, "an answer a line");
}

/// Sends the stream, with what befalls the daemon at a quarter, at half and at three quarters of it.
fn through_the_daemon(site: &Site, stream: &Stream) -> HashMap<String, Value> {
    let mut daemon = Daemon::start(site);
    let requests = stream.lines.len().div_ceil(LINES);
    for (n, lines) in stream.lines.chunks(LINES).enumerate() {
        let body: Vec<String> = lines.iter().map(|line| stream.text(line)).collect();
        let body = body.join("\n");
        if n == requests / 4 || n == requests / 2 {
            // Nobody knows whether it was taken: it is sent again, as a client would.
            let mut client = daemon.client();
            client.send_post(NDJSON, &[], body.as_bytes()).expect("a request on its way");
            if n == requests / 2 {
                let _ = client.receive();
            }
            daemon.kill();
            daemon = Daemon::start(site);
        }
        if n == requests * 3 / 4 {
            assert!(daemon.stop().success());
            daemon = Daemon::start(site);
        }
        post(&daemon, &body, lines.len());
    }
    assert!(daemon.stop().success());
    let mut verdicts = HashMap::new();
    for line in site.sink_lines() {
        let verdict: Value = serde_json::from_str(&line).expect("a verdict");
        let id = verdict["id"].as_str().expect("an id").to_owned();
        assert!(verdicts.insert(id.clone(), verdict).is_none(), "{id} was delivered twice");
    }
    verdicts
}

/// What a verdict is, less what only a commit gives.
fn told(verdict: &Value) -> [&Value; 5] {
    ["key", "time", "decision", "score", "reasons"].map(|name| &verdict[name])
}

fn a_killed_daemon_says_what_score_says(stream: &Stream) {
    let site = site();
    let verdicts = through_the_daemon(&site, stream);
    assert_eq!(verdicts.len(), stream.events.len(), "a verdict an event");
    let file = stream.write(&site.path().join("events.ndjson"), true);
    let answers = score(&site.bundle(), &file);
    let asked: Vec<&Line> = stream.lines.iter().filter(|line| !matches!(line, Line::Label(..))).collect();
    assert_eq!(answers.len(), asked.len());
    for (line, answer) in asked.into_iter().zip(&answers) {
        if let Line::Event(n) = line {
            let id = &stream.events[*n].id;
            assert_eq!(told(&verdicts[id]), told(answer), "event {id}");
        }
    }
    let scores: HashSet<String> = verdicts.values().map(|verdict| verdict["score"].to_string()).collect();
    assert!(scores.len() > verdicts.len() / 2, "the score hardly moves: {}", scores.len());
}

#[test]
fn after_kills_the_windows_are_those_of_an_uninterrupted_run() {
    a_killed_daemon_says_what_score_says(&Stream::in_order(21));
}

#[test]
fn after_kills_late_events_are_given_what_an_uninterrupted_run_gives_them() {
    a_killed_daemon_says_what_score_says(&Stream::disordered(22));
}
