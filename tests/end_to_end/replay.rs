//! `[replay]`: what models read of the events is kept with their verdicts, over kills, and another bundle is tried over it.

use crate::support::bundle;
use crate::support::child::Finished;
use crate::support::daemon::{Daemon, verdictd};
use crate::support::http::NDJSON;
use crate::support::site::Site;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Batches; after each the daemon is killed. With labels between the events, and repeats.
const BATCHES: u32 = 5;

fn event(n: u32) -> String {
    let (card, amount) = (format!("card-{}", n % 7), n * 37 % 1100);
    json!({ "id": n, "card": card, "amount": amount, "time": 1_767_225_600 + n * 600, "name": "Jo" }).to_string()
}

fn site(bundle: impl Fn(&std::path::Path)) -> Site {
    let mut site = Site::new();
    site.set("sources.pos.event", "{ key = \"/card\" }");
    bundle(&site.bundle());
    site
}

/// All lines sent, in their order.
fn fill(site: &Site) -> Vec<String> {
    let mut all = Vec::new();
    for batch in 0..BATCHES {
        let daemon = Daemon::start(site);
        let first = batch * 60;
        let mut lines: Vec<String> = (first..first + 60).map(event).collect();
        // Known by now of the batch before.
        let known = (first.saturating_sub(60)..first).filter(|n| n % 3 == 0);
        lines.extend(known.map(|n| {
            json!({ "type": "verdictd.label.v1", "source": "pos", "id": n.to_string(), "label": n % 2 }).to_string()
        }));
        let reply = daemon.client().post(NDJSON, lines.join("\n")).unwrap();
        assert_eq!((reply.status, reply.lines().len()), (200, lines.len()), "{}", reply.text());
        // A repeat is kept once.
        assert_eq!(daemon.client().post(NDJSON, &lines[0]).unwrap().status, 200);
        all.append(&mut lines);
        daemon.kill();
    }
    all
}

fn lines(done: &Finished) -> Vec<Value> {
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    done.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn state(site: &Site) -> String {
    site.state().display().to_string()
}

fn tried(site: &Site) -> PathBuf {
    let tried = site.path().join("tried");
    bundle::write_counting(&tried);
    let manifest = std::fs::read_to_string(tried.join("model.toml")).unwrap();
    std::fs::write(tried.join("model.toml"), manifest.replace("review = 0.5", "review = 0.3")).unwrap();
    tried
}

#[test]
fn another_bundle_over_the_events_kept_says_what_it_says_over_the_events_themselves() {
    let mut site = site(bundle::write_counting);
    site.set("replay.keep", "\"30 d\"");
    let sent = fill(&site);
    std::fs::write(site.path().join("sent.ndjson"), sent.join("\n")).unwrap();
    let tried = tried(&site).display().to_string();
    let state = state(&site);
    // Its scores: of the file, and of what was kept.
    let file = verdictd(&site, &["score", "--bundle", &tried, "--source", "pos", "--key", "/card", "sent.ndjson"]);
    let kept = verdictd(&site, &["store", "kept", "--dir", &state]);
    std::fs::write(site.path().join("kept.ndjson"), &kept.stdout).unwrap();
    let replayed = verdictd(&site, &["score", "--bundle", &tried, "kept.ndjson"]);
    let of = |done: &Finished| {
        let scored = lines(done).into_iter().filter(|line| line.get("score").is_some());
        scored.map(|line| (line["id"].clone(), line["key"].clone(), line["score"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(of(&file).len(), 300, "{file:?}");
    assert_eq!(of(&replayed), of(&file));
    // Beside what was decided.
    let arguments = ["backtest", "--json", "--bundle", &tried, "--dir", &state];
    let done = verdictd(&site, &arguments);
    assert!(done.stderr.contains("windows are whole where"), "{}", done.stderr);
    let from_store = lines(&Finished { stdout: done.stdout.replace('\n', " "), ..done }).remove(0);
    let more = ["--source", "pos", "--key", "/card", "sent.ndjson"];
    let from_file = verdictd(&site, &[&arguments[..], &more].concat());
    let from_file = lines(&Finished { stdout: from_file.stdout.replace('\n', " "), ..from_file }).remove(0);
    assert_eq!((&from_store["events"], &from_store["compared"]), (&300.into(), &300.into()));
    assert_eq!(from_store, from_file);
    assert_ne!(from_store["agreed"], 300);
}

#[test]
fn no_more_is_kept_than_what_models_read_and_what_is_named() {
    let mut site = site(|at| bundle::write(at, "test", "1"));
    site.set("replay.keep", "\"30 d\"").set("replay.fields", "[\"/card\"]");
    std::fs::write(site.path().join("key"), "a secret of some length, as a file has it").unwrap();
    let secret = format!("{{ key = {{ pointer = \"/card\", hmac-key-file = {:?} }} }}", site.path().join("key"));
    site.set("sources.pos.event", &secret);
    let daemon = Daemon::start(&site);
    assert_eq!(daemon.client().post(NDJSON, event(1)).unwrap().status, 200);
    let verdict = daemon.client().get("/v1/verdicts?source=pos&id=1").unwrap().json();
    assert_eq!(daemon.status()["replay"]["events"], 1);
    assert!(daemon.stop().success());
    let kept = lines(&verdictd(&site, &["store", "kept", "--dir", &state(&site)])).remove(0);
    assert_eq!(kept["data"], json!({ "amount": 37.0, "card": verdict["key"] }), "no name, and the card as its HMAC");
    assert_eq!((&kept["id"], &kept["partitionkey"]), (&"1".into(), &verdict["key"]));
}

#[test]
fn a_field_that_was_not_kept_and_a_store_without_events_are_told() {
    let mut site = site(|at| bundle::write(at, "test", "1"));
    let daemon = Daemon::start(&site);
    assert_eq!(daemon.client().post(NDJSON, event(1)).unwrap().status, 200);
    assert!(daemon.stop().success());
    let tried = tried(&site).display().to_string();
    let arguments = ["backtest", "--bundle", &tried, "--dir", &state(&site)].map(str::to_owned);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = verdictd(&site, &arguments);
    assert_eq!(done.status.code(), Some(64), "{done:?}");
    assert!(done.stderr.contains("replay.keep"), "{}", done.stderr);
    site.set("replay.keep", "\"1 d\"");
    let daemon = Daemon::start(&site);
    assert_eq!(daemon.client().post(NDJSON, event(2)).unwrap().status, 200);
    assert!(daemon.stop().success());
    let done = verdictd(&site, &arguments);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert!(done.stderr.contains("do not have: /card"), "{}", done.stderr);
}
