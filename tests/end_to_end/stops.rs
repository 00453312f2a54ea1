//! Stopping and what it costs: SIGTERM drains and nothing is sent twice; memory stays under the budget.

use crate::events::{event, ndjson, sink_lines, verdict};
use crate::support::daemon::{Daemon, configured};
use crate::support::http::{Client, JSON, NDJSON};
use crate::support::site::{Site, member, sequence};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn sigterm_under_load_answers_what_it_took_and_sends_nothing_twice() {
    let site = Site::new();
    let daemon = Daemon::start(&site);
    let acked = AtomicUsize::new(0);
    let client_of = |name: usize| {
        let Ok(mut client) = Client::connect(&site.events_socket()) else { return Vec::new() };
        let mut verdicts = Vec::new();
        for n in 0.. {
            // Once it stops, a request is answered whole, refused with 503, or the connection ends.
            let Ok(reply) = client.post(JSON, event(&format!("s-{name}-{n}"), 100.0)) else { break };
            if reply.status != 200 {
                assert_eq!(reply.status, 503, "{}", reply.text());
                break;
            }
            acked.fetch_add(1, Ordering::Relaxed);
            verdicts.push(reply.text().trim_end().to_owned());
        }
        verdicts
    };
    let (status, answered) = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..4).map(|name| scope.spawn(move || client_of(name))).collect();
        while acked.load(Ordering::Relaxed) < 500 {
            std::thread::yield_now();
        }
        let status = daemon.stop();
        (status, clients.into_iter().flat_map(|client| client.join().unwrap()).collect::<BTreeSet<_>>())
    });
    assert!(status.success(), "{status}");
    let lines = site.sink_lines();
    let delivered: BTreeSet<_> = lines.iter().cloned().collect();
    assert_eq!(lines.len(), delivered.len(), "no line twice");
    assert!(answered.is_subset(&delivered), "what was answered was delivered before it ended");

    let daemon = Daemon::start(&site);
    verdict(&mut daemon.client(), "behind", 100.0);
    sink_lines(&site, lines.len() + 1);
    assert!(daemon.stop().success());
    let sequences: Vec<u64> = site.sink_lines().iter().map(|line| sequence(line)).collect();
    assert!(sequences.windows(2).all(|pair| pair[0] < pair[1]), "a clean stop stored the cursor: nothing again");
    assert_eq!(sequences.len(), lines.len() + 1);
}

#[test]
fn an_idle_daemon_stops_at_either_signal_and_removes_its_sockets() {
    for signal in [Signal::TERM, Signal::INT] {
        let site = Site::new();
        let mut daemon = Daemon::start(&site);
        let idle = daemon.client();
        daemon.signal(signal);
        assert!(daemon.wait_exit().success(), "{signal:?}:\n{}", daemon.log());
        assert!(!site.events_socket().exists() && !site.admin_socket().exists());
        drop(idle);
    }
}

#[test]
fn memory_stays_under_the_budget_under_load() {
    const EVENTS: usize = 100_000;
    let site = Site::new();
    let daemon = Daemon::start(&site);
    std::thread::scope(|scope| {
        for name in 0..4 {
            let daemon = &daemon;
            scope.spawn(move || {
                let mut client = daemon.client();
                for request in 0..EVENTS / 4 / 500 {
                    let ids = (0..500).map(|n| format!("m-{name}-{request}-{n}"));
                    let reply = client.post(NDJSON, ndjson(ids)).unwrap();
                    assert_eq!((reply.status, reply.lines().len()), (200, 500));
                }
            });
        }
    });
    // Bodies as large as they may be, several at once.
    std::thread::scope(|scope| {
        for name in 0..3 {
            let daemon = &daemon;
            scope.spawn(move || {
                let pad = "x".repeat(250 * 1024);
                let line = |n| format!(r#"{{"id":"b-{name}-{n}","amount":1,"pad":"{pad}"}}"#);
                let body: Vec<String> = (0..32).map(line).collect();
                let reply = daemon.client().post(NDJSON, body.join("\n")).unwrap();
                assert!(reply.status == 200 || reply.status == 503, "{}", reply.text());
            });
        }
    });
    let peak = daemon.peak_rss_bytes();
    assert!(peak <= 64 << 20, "peak RSS {} KiB", peak >> 10);
    assert_eq!(daemon.metric("verdictd_memory_budget_bytes"), Some(f64::from(64 << 20)));
}

#[test]
fn the_commands_look_into_a_running_and_a_stopped_store_alike() {
    let site = Site::new();
    let daemon = Daemon::start(&site);
    let reply = daemon.client().post(NDJSON, ndjson((0..300).map(|n| format!("look-{n}")))).unwrap();
    let running = configured(&site, &["store", "events"]);
    daemon.kill();
    for done in [running, configured(&site, &["store", "events"])] {
        assert!(done.status.success(), "{done:?}");
        assert_eq!(done.stdout.lines().collect::<Vec<_>>(), reply.lines(), "the same lines as were answered");
    }
    let done = configured(&site, &["store", "events", "--from", "299"]);
    assert_eq!(done.stdout.lines().map(|line| member(line, "sequence")).collect::<Vec<_>>(), [299, 300]);
    assert!(configured(&site, &["store", "info"]).status.success());
    assert_eq!(configured(&site, &["store", "verify"]).status.code(), Some(0));
}

#[test]
fn status_and_metrics_count_what_was_done() {
    let site = Site::new();
    let daemon = Daemon::start(&site);
    let mut client = daemon.client();
    verdict(&mut client, "count", 100.0);
    verdict(&mut client, "count", 100.0);
    client.post(JSON, event("count", 7.0)).unwrap();
    client.post(JSON, "{").unwrap();
    for (outcome, count) in [("accepted", 1.0), ("duplicate", 1.0), ("conflict", 1.0), ("quarantined", 1.0)] {
        let name = format!("verdictd_events_total{{source=\"pos\",outcome=\"{outcome}\"}}");
        assert_eq!(daemon.metric(&name), Some(count), "{name}\n{}", daemon.admin("/metrics").text());
    }
    assert_eq!(daemon.admin("/healthz").status, 200);
    let done = configured(&site, &["status", "--json"]);
    assert!(done.status.success(), "{done:?}");
    let status: serde_json::Value = serde_json::from_str(&done.stdout).expect("JSON");
    assert!(status.is_object(), "{status}");
}
