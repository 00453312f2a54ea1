//! For receivers that honour the key.

use super::hook::{KEYS, await_drained, await_sink, ids, send, site};
use super::receiver::{Receiver, Reply, Request};
use super::support::daemon::{Daemon, verdictd};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

fn key_of(id: &str) -> String {
    let digest = Sha256::digest([b"pos\0".as_slice(), id.as_bytes()].concat());
    verdictd::model::hex_text(&digest.into())
}

/// Sequences by key, as they came.
fn by_key(requests: &[Request]) -> BTreeMap<String, Vec<u64>> {
    let mut found: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for request in requests {
        let verdict = request.json();
        let key = verdict["key"].as_str().unwrap().to_owned();
        found.entry(key).or_default().push(verdict["sequence"].as_u64().unwrap());
    }
    found
}

#[test]
fn each_verdict_is_posted_once_under_its_key_and_those_of_one_key_in_order() {
    let receiver = Receiver::start(|_| Reply::Status(200));
    let mut site = site(&receiver);
    site.set("sinks.hook.in-flight", "8");
    let daemon = Daemon::start(&site);
    send(&daemon, 0..500);
    let shown = await_drained(&daemon);
    assert_eq!((&shown["state"], &shown["delivered"], &shown["guarded"]), (&"up".into(), &500.into(), &Value::Null));
    let requests = receiver.requests();
    assert_eq!(requests.len(), 500);
    for request in &requests {
        let id = request.id();
        assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/hook"));
        assert_eq!(request.header("idempotency-key"), Some(key_of(&id).as_str()));
        assert_eq!(request.header("content-type"), Some("application/json"));
    }
    let lines: BTreeSet<String> =
        requests.iter().map(|request| String::from_utf8(request.body.clone()).unwrap()).collect();
    for sequences in by_key(&requests).values() {
        assert!(sequences.is_sorted(), "{sequences:?}");
    }
    assert!(daemon.stop().success());
    // The very lines that other sinks write.
    assert_eq!(lines, site.sink_lines().into_iter().collect());
}

/// Whatever goes wrong, each is sent until it is taken, under the same key, and none passes an earlier one of its key.
#[test]
fn what_fails_for_now_is_sent_again_under_the_same_key_and_in_order() {
    let tries = Arc::new(Mutex::new(BTreeMap::<String, u32>::new()));
    let taken = Arc::new(Mutex::new(Vec::<Request>::new()));
    let (counting, noting) = (Arc::clone(&tries), Arc::clone(&taken));
    let receiver = Receiver::start(move |request| {
        let id: u32 = request.id().parse().unwrap();
        let mut tries = counting.lock().unwrap();
        let count = tries.entry(request.header("idempotency-key").unwrap().to_owned()).or_default();
        *count += 1;
        match (id % 12, *count) {
            (1, 1..=2) => Reply::Status(500),
            (3, 1) => Reply::Full(503, vec![("retry-after", "0".to_owned())], String::new()),
            (5, 1) => {
                Reply::Full(429, vec![("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT".to_owned())], String::new())
            }
            (7, 1) => Reply::Close,
            (9, 1) => Reply::Hang,
            (11, 1) => Reply::Status(408),
            _ => {
                noting.lock().unwrap().push(request.clone());
                Reply::Status(204)
            }
        }
    });
    let mut site = site(&receiver);
    site.set("sinks.hook.timeout", "\"200 ms\"");
    let daemon = Daemon::start(&site);
    send(&daemon, 0..60);
    await_drained(&daemon);
    let taken = taken.lock().unwrap().clone();
    let all: BTreeSet<String> = taken.iter().map(Request::id).collect();
    assert_eq!((taken.len(), all.len()), (60, 60), "a verdict was taken twice");
    assert!(tries.lock().unwrap().len() == 60, "a verdict came under two keys");
    for sequences in by_key(&taken).values() {
        assert!(sequences.is_sorted(), "{sequences:?}");
    }
    assert_eq!(daemon.metric("verdictd_quarantined_events"), Some(0.0));
}

#[test]
fn a_batch_is_an_array_and_what_is_refused_in_it_is_found_singly() {
    let receiver = Receiver::start(|request| {
        let bad = |verdict: &Value| verdict["id"].as_str().is_some_and(|id| id.ends_with('7'));
        if request.json().as_array().expect("an array").iter().any(bad) {
            Reply::Full(422, vec![], "unknown\tcard".to_owned())
        } else {
            Reply::Status(200)
        }
    });
    let mut site = site(&receiver);
    site.set("sinks.hook.batch", "10").set("sinks.hook.in-flight", "2");
    let daemon = Daemon::start(&site);
    send(&daemon, 0..100);
    let shown = await_drained(&daemon);
    assert_eq!(shown["delivered"], 90);
    assert_eq!(daemon.metric("verdictd_quarantined_events"), Some(10.0));
    let taken = receiver.requests().into_iter().filter(|request| {
        request.json().as_array().unwrap().iter().all(|verdict| !verdict["id"].as_str().unwrap().ends_with('7'))
    });
    let mut seen = BTreeSet::new();
    let mut arrays = 0;
    for request in taken {
        let verdicts = request.json();
        arrays += usize::from(verdicts.as_array().unwrap().len() > 1);
        for verdict in verdicts.as_array().unwrap() {
            assert!(seen.insert(verdict["id"].as_str().unwrap().to_owned()), "{verdict} came twice");
        }
    }
    assert_eq!(seen.len(), 90);
    assert!(arrays > 0, "nothing was sent together");
    assert!(daemon.stop().success());
    let config = site.config().display().to_string();
    let listed = verdictd(&site, &["quarantine", "list", "--json", "--config", &config]).stdout;
    let entries: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(entries.len(), 10);
    for entry in entries {
        assert_eq!(entry["kind"], "poison");
        assert_eq!(entry["reason"], "sink hook: the receiver answers 422: unknown\\tcard");
        assert!(entry["id"].as_str().unwrap().ends_with('7'));
    }
}

/// A wrong address, a missing right, a redirect: a person must look, and nothing of the log goes to the quarantine.
#[test]
fn an_address_or_a_right_that_is_wrong_turns_the_sink_down_and_loses_nothing() {
    for status in [301, 307, 401, 403, 404, 405] {
        let elsewhere = Receiver::start(|_| Reply::Status(200));
        let target = elsewhere.url();
        let receiver = Receiver::start(move |_| Reply::Full(status, vec![("location", target.clone())], String::new()));
        let site = site(&receiver);
        let daemon = Daemon::start(&site);
        send(&daemon, 0..20);
        let shown = await_sink(&daemon, "down", |sink| sink["last-error"]["kind"] == "configuration");
        assert_eq!((&shown["up"], &shown["lag-events"]), (&false.into(), &20.into()), "{status}");
        assert!(shown["last-error"]["text"].as_str().unwrap().contains(&status.to_string()));
        assert_eq!(daemon.metric("verdictd_quarantined_events"), Some(0.0));
        assert!(daemon.stop().success());
        assert!(elsewhere.requests().is_empty(), "{status}: a redirect was followed");
        receiver.set(|_| Reply::Status(200));
        let before = receiver.requests().len();
        let daemon = Daemon::start(&site);
        await_drained(&daemon);
        let mut come: Vec<String> = receiver.ids().split_off(before);
        come.sort_by_key(|id| id.parse::<u32>().unwrap());
        // What was on its way when the daemon stopped may have come after the look at what had.
        come.dedup();
        assert_eq!(come, ids(0..20));
    }
}

#[test]
fn a_receiver_that_is_away_or_sends_too_much_holds_up_nobody_else() {
    let receiver = Receiver::start(|_| Reply::Full(200, vec![], "x".repeat(3 << 20)));
    let mut site = site(&receiver);
    site.set("sinks.dead.type", "\"http\"").set("sinks.dead.url", "\"http://127.0.0.1:9/x\"");
    let daemon = Daemon::start(&site);
    send(&daemon, 0..(KEYS * 10));
    await_drained(&daemon);
    assert_eq!(daemon.metric("verdictd_sink_lag_events{sink=\"dead\"}"), Some(f64::from(KEYS * 10)));
    assert_eq!(receiver.requests().len(), (KEYS * 10) as usize);
    assert!(daemon.stop().success());
    assert_eq!(site.sink_lines().len(), (KEYS * 10) as usize);
}
