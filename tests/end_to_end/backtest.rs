//! `verdictd backtest`: another bundle beside what the daemon decided, from its sink's lines and from its store.

use crate::support::bundle;
use crate::support::child::Finished;
use crate::support::daemon::{Daemon, verdictd};
use crate::support::http::NDJSON;
use crate::support::site::Site;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Amounts and what became known of them. 500 scores 0.5, 1,000 almost 1.
const EVENTS: [(u32, u32, Option<u32>); 6] =
    [(1, 20, Some(0)), (2, 450, Some(1)), (3, 520, Some(0)), (4, 700, Some(1)), (5, 1000, Some(1)), (6, 30, None)];

/// A site whose daemon has decided all but the last event and knows the labels; the bundle to try, which reviews from
/// 0.3 on; the events' file.
fn decided() -> (Site, PathBuf, PathBuf) {
    let site = Site::new();
    let daemon = Daemon::start(&site);
    let event = |id: u32, amount: u32| json!({ "id": id, "key": "A", "amount": amount }).to_string();
    let known = &EVENTS[..5];
    let mut lines: Vec<String> = known.iter().map(|(id, amount, _)| event(*id, *amount)).collect();
    lines.extend(known.iter().filter_map(|(id, _, label)| {
        Some(json!({ "type": "verdictd.label.v1", "id": id.to_string(), "label": (*label)? }).to_string())
    }));
    let reply = daemon.client().post(NDJSON, lines.join("\n")).unwrap();
    assert_eq!((reply.status, reply.lines().len()), (200, 10), "{}", reply.text());
    assert!(daemon.stop().success());
    let tried = site.path().join("tried");
    bundle::write(&tried, "tried", "2");
    let manifest = std::fs::read_to_string(tried.join("model.toml")).unwrap();
    std::fs::write(tried.join("model.toml"), manifest.replace("review = 0.5", "review = 0.3")).unwrap();
    let file = site.path().join("events.ndjson");
    let all: Vec<String> = EVENTS.iter().map(|(id, amount, _)| event(*id, *amount)).collect();
    // A repeat, and what is no event.
    std::fs::write(&file, format!("{}\n{}\nno event\n", all.join("\n"), all[0])).unwrap();
    (site, tried, file)
}

fn backtest(site: &Site, arguments: &[&str]) -> Finished {
    verdictd(site, &[&["backtest", "--bundle", "tried"], arguments, &["events.ndjson"]].concat())
}

fn json_of(done: &Finished) -> Value {
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    serde_json::from_str(&done.stdout).unwrap()
}

#[test]
fn the_same_figures_come_from_the_sink_and_from_the_store() {
    let (site, ..) = decided();
    let sink = site.sink().display().to_string();
    let (state, config) = (site.state().display().to_string(), site.config().display().to_string());
    let lines = json_of(&backtest(&site, &["--json", "--verdicts", &sink]));
    assert_eq!((&lines["events"], &lines["compared"], &lines["agreed"]), (&6.into(), &5.into(), &4.into()));
    assert_eq!((&lines["repeats"], &lines["not-events"]), (&1.into(), &1.into()));
    assert_eq!(lines["matrix"]["allow"], json!({ "allow": 1, "review": 1, "block": 0 }));
    // Nobody said what was fraud.
    assert_eq!(lines["labelled"], 0);
    for place in [["--dir", &state], ["--config", &config]] {
        let done = backtest(&site, &["--json", place[0], place[1]]);
        assert!(done.stderr.contains("still in the store"), "{}", done.stderr);
        let store = json_of(&done);
        assert_eq!((&store["matrix"], &store["scores"]), (&lines["matrix"], &lines["scores"]));
        assert_eq!((&store["labelled"], &store["positive"]), (&5.into(), &3.into()));
        let review = &store["decisions"]["review"];
        assert_eq!((&review["was"]["precision"], &review["is"]["events"]), (&0.5.into(), &3.into()));
        assert_eq!(review["is"]["recall"], 2.0 / 3.0);
    }
}

#[test]
fn a_changed_decision_has_a_line_of_its_own_and_labels_come_from_a_field() {
    let (site, ..) = decided();
    let mut lines = vec!["id,amount,fraud".to_owned()];
    lines.extend(EVENTS.iter().map(|(id, amount, label)| {
        format!("{id},{amount},{}", label.map_or(String::new(), |label| label.to_string()))
    }));
    std::fs::write(site.path().join("events.csv"), lines.join("\n")).unwrap();
    let arguments = [
        "backtest",
        "--bundle",
        "tried",
        "--against",
        "bundle",
        "--label",
        "/fraud",
        "--changes",
        "changes",
        "events.csv",
    ];
    let done = verdictd(&site, &arguments);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert!(done.stdout.contains("alike      83.33 %, 1 decisions changed"), "{}", done.stdout);
    assert!(done.stdout.contains("labels     of 5 events, 3 of them above 0"), "{}", done.stdout);
    let changes = std::fs::read_to_string(site.path().join("changes")).unwrap();
    let changes: Vec<Value> = changes.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(changes.len(), 1);
    let change = &changes[0];
    assert_eq!((&change["id"], &change["label"]), (&"2".into(), &1.into()));
    assert_eq!((&change["was"]["decision"], &change["is"]["decision"]), (&"allow".into(), &"review".into()));
    assert_eq!((&change["was"]["score"], &change["is"]["reasons"]), (&change["is"]["score"], &json!(["amount"])));
}

#[test]
fn verdicts_of_other_events_are_no_success() {
    let (site, ..) = decided();
    let sink = site.sink().display().to_string();
    let done = backtest(&site, &["--verdicts", &sink, "--source", "elsewhere"]);
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    assert!(done.stderr.contains("--source"), "{}", done.stderr);
    // Without anything to stand beside.
    let done = backtest(&site, &[]);
    assert_eq!(done.status.code(), Some(64), "{done:?}");
}
