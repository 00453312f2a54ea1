//! Events that the tests post.

use crate::support::child;
use crate::support::daemon::configured;
use crate::support::http::{Client, JSON, Reply};
use crate::support::site::Site;
use serde_json::Value;

/// A plain event. 100 is allowed, 700 reviewed, 1200 blocked by the bundle of `support/bundle`.
pub fn event(id: &str, amount: f64) -> String {
    format!(r#"{{"id":"{id}","key":"card-1","time":"2018-05-01T00:20:11Z","amount":{amount}}}"#)
}

/// Several, a line each.
pub fn ndjson(ids: impl IntoIterator<Item = String>) -> String {
    ids.into_iter().map(|id| event(&id, 100.0) + "\n").collect()
}

/// Posts one plain event and expects its verdict.
#[track_caller]
pub fn verdict(client: &mut Client, id: &str, amount: f64) -> Reply {
    let reply = client.post(JSON, event(id, amount)).expect("an answer");
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.json()["id"], id);
    reply
}

/// What `quarantine list --json` prints: an object a line.
#[track_caller]
pub fn quarantine(site: &Site) -> Vec<Value> {
    let done = configured(site, &["quarantine", "list", "--json"]);
    assert!(done.status.success(), "{done:?}");
    done.stdout.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
}

/// Waits until the sink has this many lines, and gives them.
#[track_caller]
pub fn sink_lines(site: &Site, count: usize) -> Vec<String> {
    let found = child::poll(child::WATCHDOG, || site.whole_sink_lines().filter(|lines| lines.len() >= count));
    found.unwrap_or_else(|| panic!("expected {count} lines in the sink, got {:?}", site.whole_sink_lines()))
}
