//! A daemon with a webhook, and what a test asks of it.

use super::receiver::Receiver;
use super::support::child::{Finished, WATCHDOG, poll};
use super::support::daemon::{Daemon, verdictd};
use super::support::http::NDJSON;
use super::support::site::Site;
use serde_json::Value;
use std::ops::Range;

/// The sink's name.
pub const HOOK: &str = "hook";
pub const KEYS: u32 = 7;

/// A site whose daemon posts to the receiver.
pub fn site(receiver: &Receiver) -> Site {
    let mut site = Site::new();
    site.set("sinks.hook.type", "\"http\"").set("sinks.hook.url", &format!("{:?}", receiver.url()));
    site
}

/// The same, guarded; what is waited for is short.
pub fn guarded(receiver: &Receiver) -> Site {
    let mut site = site(receiver);
    site.set("sinks.hook.idempotent", "false").set("sinks.hook.timeout", "\"400 ms\"");
    site
}

pub fn event(id: u32) -> String {
    format!("{{\"id\":\"{id}\",\"key\":\"k{}\",\"amount\":{}}}", id % KEYS, id % 1000)
}

/// Has the daemon take events with these ids.
pub fn send(daemon: &Daemon, ids: Range<u32>) {
    let lines: Vec<String> = ids.clone().map(event).collect();
    let reply = daemon.client().post(NDJSON, lines.join("\n")).expect("an answer");
    assert_eq!((reply.status, reply.lines().len()), (200, ids.len()));
}

/// What the status says of the sink.
pub fn sink(daemon: &Daemon) -> Value {
    let status = daemon.status();
    let sinks = status["sinks"].as_array().expect("sinks");
    sinks.iter().find(|sink| sink["name"] == HOOK).cloned().unwrap_or_default()
}

/// Waits until something holds of the sink.
pub fn await_sink(daemon: &Daemon, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let found = poll(WATCHDOG, || Some(sink(daemon)).filter(&holds));
    found.unwrap_or_else(|| panic!("the sink is not {what}: {}\n{}", sink(daemon), daemon.log()))
}

/// Waits until the sink has nothing more to do.
pub fn await_drained(daemon: &Daemon) -> Value {
    await_sink(daemon, "drained", |sink| sink["lag-events"] == 0)
}

pub fn await_uncertain(daemon: &Daemon, count: usize) -> Value {
    await_sink(daemon, "uncertain", |sink| sink["guarded"]["uncertain"] == count)
}

/// `verdictd uncertain list --json`.
pub fn listed(site: &Site) -> Vec<Value> {
    let config = site.config().display().to_string();
    let finished = verdictd(site, &["uncertain", "list", "--json", "--config", &config]);
    assert!(finished.status.success(), "{finished:?}");
    finished.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// `verdictd uncertain resolve SEQ HOW`.
pub fn resolve(site: &Site, call: &Value, how: &str) -> Finished {
    let config = site.config().display().to_string();
    verdictd(site, &["uncertain", "resolve", &call["sequence"].to_string(), how, "--config", &config])
}

/// Ids as the receiver gets them.
pub fn ids(ids: Range<u32>) -> Vec<String> {
    ids.map(|id| id.to_string()).collect()
}
