//! The guarded mode: each call once, and what came of it is known or is said not to be.

use super::hook::{await_drained, await_sink, await_uncertain, guarded, ids, listed, resolve, send, sink};
use super::receiver::{Receiver, Reply, Request};
use super::support::child::{WATCHDOG, poll};
use super::support::daemon::Daemon;
use super::support::http::Client;
use serde_json::Value;
use std::sync::mpsc;

#[test]
fn calls_are_made_once_one_after_the_other_in_order_and_leave_nothing_open() {
    let receiver = Receiver::start(|_| Reply::Status(200));
    let site = guarded(&receiver);
    let daemon = Daemon::start(&site);
    send(&daemon, 0..150);
    let shown = await_drained(&daemon);
    assert_eq!((&shown["delivered"], &shown["guarded"]["uncertain"]), (&150.into(), &0.into()));
    assert_eq!(shown["guarded"]["calls-today"], 150);
    assert_eq!(receiver.ids(), ids(0..150));
    assert!(listed(&site).is_empty());
    daemon.kill();
    let daemon = Daemon::start(&site);
    await_drained(&daemon);
    assert_eq!(receiver.ids().len(), 150);
}

/// A time-out, a connection that ends, an error of the receiver, a promise that means nothing: nobody knows.
#[test]
fn what_nobody_knows_the_outcome_of_is_uncertain_and_is_not_sent_again_and_the_rest_go_on() {
    let receiver = Receiver::start(|request| match request.id().as_str() {
        "2" => Reply::Hang,
        "4" => Reply::Close,
        "6" => Reply::Status(500),
        "8" => Reply::Full(504, vec![("retry-after", "0".to_owned())], "gone".to_owned()),
        _ => Reply::Status(200),
    });
    let site = guarded(&receiver);
    let daemon = Daemon::start(&site);
    send(&daemon, 0..12);
    await_drained(&daemon);
    let shown = await_uncertain(&daemon, 4);
    assert_eq!(shown["delivered"], 8);
    assert!(shown["guarded"]["oldest"].is_string());
    assert_eq!(daemon.metric("verdictd_sink_uncertain{sink=\"hook\"}"), Some(4.0));
    assert_eq!(daemon.log().matches("\"call-uncertain\"").count(), 4, "{}", daemon.log());
    assert!(daemon.status()["warnings"].to_string().contains("4 calls are uncertain"));
    let calls = listed(&site);
    let of = |n: usize| calls[n]["id"].as_str().unwrap();
    assert_eq!((of(0), of(1), of(2), of(3)), ("2", "4", "6", "8"));
    assert!(calls[3]["reason"].as_str().unwrap().contains("504: gone"), "{}", calls[3]);
    // A restart sends none of them either.
    daemon.kill();
    let daemon = Daemon::start(&site);
    await_uncertain(&daemon, 4);
    assert_eq!(receiver.ids(), ids(0..12));
    // Three were done, one was not.
    receiver.set(|_| Reply::Status(200));
    for call in calls.iter().skip(1) {
        assert!(resolve(&site, call, "--delivered").status.success());
    }
    assert!(resolve(&site, &calls[0], "--resend").status.success());
    // What is under way is in no number.
    let expected: Vec<String> = ids(0..12).into_iter().chain(["2".to_owned()]).collect();
    receiver.await_ids(&expected);
    let come = receiver.requests();
    let twice: Vec<&Request> = come.iter().filter(|request| request.id() == "2").collect();
    assert_eq!((come.len(), twice.len()), (13, 2));
    assert_eq!(twice[0].header("idempotency-key"), twice[1].header("idempotency-key"));
    poll(WATCHDOG, || listed(&site).is_empty().then_some(())).expect("all settled");
    // Settled is settled.
    let again = resolve(&site, &calls[0], "--resend");
    assert_eq!(again.status.code(), Some(1), "{again:?}");
}

/// What was certainly not done is no reason for an alarm: it is made when it can be.
#[test]
fn a_call_that_was_certainly_not_done_is_made_later_or_set_aside() {
    let receiver = Receiver::start(|_| Reply::Status(200));
    let port = receiver.port();
    let mut site = guarded(&receiver);
    site.set("sinks.hook.uncertain-limit", "1");
    drop(receiver);
    let daemon = Daemon::start(&site);
    send(&daemon, 0..6);
    await_sink(&daemon, "down", |sink| sink["up"] == false);
    assert_eq!(sink(&daemon)["guarded"]["calls-today"], 0);
    let mut asked = 0;
    let receiver = Receiver::start_at(port, move |request| {
        asked += 1;
        match (request.id().as_str(), asked) {
            ("0", 1) => Reply::Full(503, vec![("retry-after", "0".to_owned())], String::new()),
            ("0", 2) => Reply::Status(429),
            ("3", _) => Reply::Full(409, vec![], "closed account".to_owned()),
            _ => Reply::Status(201),
        }
    });
    let shown = await_drained(&daemon);
    assert_eq!((&shown["delivered"], &shown["guarded"]["uncertain"]), (&5.into(), &0.into()));
    assert_eq!(receiver.ids(), ["0", "0", "0", "1", "2", "3", "4", "5"]);
    assert_eq!(daemon.metric("verdictd_quarantined_events"), Some(1.0));
    assert!(!daemon.log().contains("call-uncertain"));
}

#[test]
fn with_when_uncertain_wait_nothing_passes_an_uncertain_call() {
    let receiver = Receiver::start(|request| if request.id() == "3" { Reply::Close } else { Reply::Status(200) });
    let mut site = guarded(&receiver);
    site.set("sinks.hook.when-uncertain", "\"wait\"");
    let daemon = Daemon::start(&site);
    send(&daemon, 0..8);
    await_sink(&daemon, "held", |sink| sink["guarded"]["held-by"] == "uncertain");
    assert_eq!(receiver.ids(), ids(0..4));
    receiver.set(|_| Reply::Status(200));
    assert!(resolve(&site, &listed(&site)[0], "--resend").status.success());
    await_drained(&daemon);
    assert_eq!(receiver.ids(), ["0", "1", "2", "3", "3", "4", "5", "6", "7"]);
}

#[test]
fn the_open_calls_are_bounded_and_the_sink_waits_for_a_person_then() {
    let receiver = Receiver::start(|_| Reply::Close);
    let mut site = guarded(&receiver);
    site.set("sinks.hook.uncertain-limit", "2");
    let daemon = Daemon::start(&site);
    send(&daemon, 0..9);
    let shown = await_sink(&daemon, "full", |sink| sink["guarded"]["held-by"] == "uncertain-limit");
    assert_eq!((&shown["guarded"]["uncertain"], &shown["last-error"]["kind"]), (&2.into(), &"configuration".into()));
    receiver.set(|_| Reply::Status(200));
    for call in listed(&site) {
        assert!(resolve(&site, &call, "--delivered").status.success());
    }
    await_drained(&daemon);
    assert_eq!(receiver.ids(), ids(0..9));
}

/// A crash gives no new budget.
#[test]
fn the_days_calls_are_counted_over_restarts() {
    let receiver = Receiver::start(|_| Reply::Status(200));
    let mut site = guarded(&receiver);
    site.set("sinks.hook.calls-per-day", "5");
    let mut daemon = Daemon::start(&site);
    send(&daemon, 0..12);
    for _ in 0..3 {
        await_sink(&daemon, "used up", |sink| sink["guarded"]["held-by"] == "calls-per-day");
        assert_eq!(receiver.ids(), ids(0..5));
        daemon.kill();
        daemon = Daemon::start(&site);
    }
    await_sink(&daemon, "used up", |sink| sink["guarded"]["held-by"] == "calls-per-day");
    assert!(daemon.log().contains("\"calls-used-up\""));
    assert!(daemon.stop().success());
    site.set("sinks.hook.calls-per-day", "8");
    let daemon = Daemon::start(&site);
    await_sink(&daemon, "used up", |sink| sink["guarded"]["calls-today"] == 8);
    // A call counts before it is made.
    receiver.await_ids(&ids(0..8));
}

/// 200 says that it was done, 404 that it was not, anything else nothing.
#[test]
fn the_receiver_is_asked_about_what_is_uncertain() {
    let mut asked = 0;
    let receiver = Receiver::start(move |request| match (request.method.as_str(), request.target.as_str()) {
        ("GET", "/done/pos/1") => Reply::Status(200),
        ("GET", "/done/pos/2") => {
            asked += 1;
            Reply::Status(if asked < 3 { 500 } else { 404 })
        }
        ("GET", _) => Reply::Status(202),
        _ => match request.id().as_str() {
            "1" | "2" | "3" if asked < 3 => Reply::Close,
            _ => Reply::Status(200),
        },
    });
    let mut site = guarded(&receiver);
    let probe = format!("\"http://127.0.0.1:{}/done/{{source}}/{{id}}\"", receiver.port());
    site.set("sinks.hook.probe-url", &probe).set("sinks.hook.probe-after", "\"100 ms\"");
    let daemon = Daemon::start(&site);
    send(&daemon, 0..5);
    await_drained(&daemon);
    await_sink(&daemon, "asked", |sink| sink["guarded"]["uncertain"] == 1 && sink["guarded"]["to-resend"] == 0);
    // What is under way is in neither number.
    receiver.await_ids(&["0", "1", "2", "3", "4", "2"].map(str::to_owned));
    await_sink(&daemon, "settled", |sink| sink["guarded"]["uncertain"] == 1);
    assert_eq!(listed(&site)[0]["id"], "3");
    assert_eq!(daemon.log().matches("\"call-settled\"").count(), 2);
}

/// A stop waits for the answer to the call that is under way, and makes no further one.
#[test]
fn a_stop_in_the_midst_of_a_call_leaves_nothing_uncertain() {
    let (arrived, arrivals) = mpsc::channel();
    let (go, gate) = mpsc::channel::<()>();
    let receiver = Receiver::start(move |_| {
        let _ = arrived.send(());
        let _ = gate.recv();
        Reply::Status(200)
    });
    let mut site = guarded(&receiver);
    site.set("sinks.hook.timeout", "\"1 min\"");
    let daemon = Daemon::start(&site);
    send(&daemon, 0..5);
    arrivals.recv_timeout(WATCHDOG).expect("a call");
    daemon.signal(rustix::process::Signal::TERM);
    let stopping = || daemon.log().contains("\"stopping\"").then_some(());
    poll(WATCHDOG, stopping).expect("it stops");
    drop(go);
    let mut daemon = daemon;
    assert!(daemon.wait_exit().success());
    assert_eq!(receiver.ids(), ids(0..1));
    assert!(listed(&site).is_empty(), "{:?}", listed(&site));
    let daemon = Daemon::start(&site);
    await_drained(&daemon);
    assert_eq!(receiver.ids(), ids(0..5));
}

/// A reload that changes the sink, in the midst of its calls.
#[test]
fn a_reload_makes_no_call_twice() {
    let receiver = Receiver::start(|_| Reply::Status(200));
    let mut site = guarded(&receiver);
    let daemon = Daemon::start(&site);
    send(&daemon, 0..300);
    for n in 0..5 {
        site.set("sinks.hook.timeout", &format!("\"{} s\"", n + 2));
        let answer = Client::connect(&site.admin_socket()).unwrap().reload().unwrap();
        assert_eq!(answer.json()["ok"], true);
    }
    await_drained(&daemon);
    assert_eq!(receiver.ids(), ids(0..300));
}

/// A receiver that never answers, and sinks beside it.
#[test]
fn a_guarded_sink_that_hangs_slows_no_other() {
    let receiver = Receiver::start(|_| Reply::Hang);
    let mut site = guarded(&receiver);
    site.set("sinks.hook.timeout", "\"5 min\"");
    let daemon = Daemon::start(&site);
    send(&daemon, 0..200);
    let audit = || {
        let status = daemon.status();
        let sinks = status["sinks"].as_array().unwrap().clone();
        sinks.iter().any(|sink: &Value| sink["name"] == "audit" && sink["delivered"] == 200).then_some(())
    };
    poll(WATCHDOG, audit).expect("the file sink has all");
    assert_eq!(sink(&daemon)["delivered"], 0);
    daemon.kill();
}
