//! A shadow scores beside the model, is kept, compared and told of, and never acted on; slow or broken it is dropped.

use crate::events::{event, verdict as ask};
use crate::support::bundle;
use crate::support::child::{WATCHDOG, poll};
use crate::support::daemon::{Daemon, configured, verdictd};
use crate::support::http::{Client, NDJSON};
use crate::support::site::{Site, member};
use std::path::{Path, PathBuf};

fn quoted(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}

/// A bundle next@1 that blocks from 0.45 on, where the first only reviews.
fn stricter(site: &Site) -> PathBuf {
    let folder = site.path().join("next");
    bundle::write(&folder, "next", "1");
    let manifest = folder.join("model.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replace("block = 0.9", "block = 0.45").replace("review = 0.5", "review = 0.4"))
        .unwrap();
    folder
}

fn with_shadow() -> Site {
    let mut site = Site::new();
    let next = stricter(&site);
    site.set("model.shadow", &quoted(&next));
    site
}

fn send(client: &mut Client, prefix: &str, count: usize) {
    let body: String = (0..count).map(|n| event(&format!("{prefix}-{n}"), 500.0) + "\n").collect();
    let reply = client.post(NDJSON, body).unwrap();
    assert_eq!(reply.status, 200);
    assert_eq!(reply.lines().len(), count);
}

#[test]
fn a_shadow_is_compared_and_kept_and_in_no_answer_and_no_sink() {
    let site = with_shadow();
    let daemon = Daemon::start(&site);
    let mut client = daemon.client();
    let answers: Vec<String> = [("low", 1.0), ("middle", 500.0), ("high", 2_000.0)]
        .map(|(id, amount)| ask(&mut client, id, amount).text())
        .to_vec();
    assert_eq!(member(&answers[1], "decision"), "review");
    let status = daemon.status();
    let shadow = &status["shadow"];
    assert_eq!(shadow["state"], "scoring", "{shadow}");
    assert_eq!((shadow["events"].as_u64(), shadow["agreed"].as_u64()), (Some(3), Some(2)), "{shadow}");
    assert_eq!(shadow["changed"], serde_json::json!([{ "model": "review", "shadow": "block", "events": 1 }]));
    assert_eq!((shadow["score-difference"].as_f64(), shadow["score-drift"].as_f64()), (Some(0.0), Some(0.0)));
    let pair = "verdictd_shadow_changes_total{model=\"next@1\",decision=\"review\",shadow=\"block\"}";
    assert_eq!(daemon.metric(pair), Some(1.0));
    assert_eq!(daemon.metric("verdictd_shadow_events_total{model=\"next@1\",outcome=\"agreed\"}"), Some(2.0));
    assert_eq!(daemon.metric("verdictd_shadow_up{model=\"next@1\"}"), Some(1.0));
    let text = configured(&site, &["status"]);
    assert!(text.stdout.contains("next@1 scoring: 2 of 3 decided alike"), "{text:?}");
    assert!(daemon.stop().success());
    for line in answers.iter().chain(&site.sink_lines()) {
        assert!(!line.contains("next") && !line.contains("shadow"), "{line}");
    }
    let state = site.state().to_str().unwrap().to_owned();
    let told = verdictd(&site, &["store", "events", "--shadow", "--dir", &state]).stdout;
    let told: Vec<&str> = told.lines().collect();
    let beside = member(told[1], "shadow");
    assert_eq!((beside["decision"].as_str(), beside["model"].as_str()), (Some("block"), Some("next@1")));
    assert_eq!(beside["score"], member(told[1], "score"));
    let plain = verdictd(&site, &["store", "events", "--dir", &state]).stdout;
    assert!(!plain.contains("next"), "{plain}");
}

#[test]
fn a_shadow_is_swapped_added_and_taken_away_by_a_reload() {
    let mut site = Site::new();
    let daemon = Daemon::start(&site);
    let mut client = daemon.client();
    ask(&mut client, "a", 500.0);
    assert!(daemon.status()["shadow"].is_null());
    let next = stricter(&site);
    site.set("model.shadow", &quoted(&next));
    let reloaded = configured(&site, &["reload"]);
    assert!(reloaded.status.success() && reloaded.stdout.contains("shadow: next@1"), "{reloaded:?}");
    ask(&mut client, "b", 500.0);
    assert_eq!(daemon.status()["shadow"]["events"], 1);
    // A reload that changes neither goes on counting.
    assert!(configured(&site, &["reload"]).stdout.contains("nothing has changed"));
    ask(&mut client, "c", 500.0);
    assert_eq!(daemon.status()["shadow"]["events"], 2);
    // One at fault is refused, and the one in force goes on.
    std::fs::write(next.join("model.safetensors"), b"none").unwrap();
    let refused = configured(&site, &["reload"]);
    assert_eq!(refused.status.code(), Some(78), "{refused:?}");
    assert!(refused.stderr.contains("model.shadow: "), "{refused:?}");
    ask(&mut client, "d", 500.0);
    assert_eq!(daemon.status()["shadow"]["events"], 3);
    // At a start it must not keep the daemon from its work.
    assert!(daemon.stop().success());
    assert_eq!(configured(&site, &["check"]).status.code(), Some(78));
    let daemon = Daemon::start(&site);
    let status = daemon.status();
    assert!(status["shadow"].is_null() && status["warnings"].to_string().contains("left out"), "{status}");
    assert!(daemon.log().contains("shadow-left-out"), "{}", daemon.log());
    stricter(&site);
    assert!(configured(&site, &["reload"]).status.success());
    assert_eq!(daemon.status()["shadow"]["state"], "scoring");
    assert!(!daemon.status()["warnings"].to_string().contains("left out"));
    assert!(daemon.stop().success());
}

#[test]
fn a_shadow_that_does_not_fit_beside_the_model_is_refused_with_the_numbers() {
    let mut site = with_shadow();
    let plan = |site: &Site| {
        let told = configured(site, &["check", "--json"]).stdout;
        serde_json::from_str::<serde_json::Value>(&told).unwrap()["memory"]["parts"].clone()
    };
    let counted = plan(&site)["shadow"].as_u64().unwrap();
    assert!(counted > 0, "its cost is a part of the plan");
    // A wide one: 4 MiB of weights fit a quarter of the budget, and not beside what the rest needs.
    bundle::write_wide(&site.path().join("next"), "next", "1", 1_000);
    site.set("limits.memory", "\"44 MiB\"").set("limits.connections", "16");
    let refused = configured(&site, &["check"]);
    assert_eq!(refused.status.code(), Some(78), "{refused:?}");
    let words = ["with this model and its shadow", "shadow 4.1 MiB", "which need \"45 MiB\""];
    assert!(words.iter().all(|word| refused.stderr.contains(word)), "{refused:?}");
}

/// A shadow with no score for anything: the field that it wants is in no event.
#[test]
fn a_shadow_without_scores_is_dropped_with_an_alarm_and_the_model_goes_on() {
    let site = with_shadow();
    let manifest = site.path().join("next/model.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replace("\"/amount\"", "\"/no-such-field\"")).unwrap();
    let daemon = Daemon::start(&site);
    let mut client = daemon.client();
    send(&mut client, "a", 300);
    dropped(&daemon, "no score for");
    send(&mut client, "b", 300);
    assert_eq!(daemon.status()["sources"][0]["accepted"], 600);
    // The next reload gives it another chance.
    std::fs::write(&manifest, text).unwrap();
    let reloaded = configured(&site, &["reload"]);
    assert!(reloaded.stdout.contains("shadow: next@1"), "{reloaded:?}");
    send(&mut client, "c", 10);
    assert_eq!(daemon.status()["shadow"]["events"], 10);
    assert!(daemon.stop().success());
}

fn dropped(daemon: &Daemon, why: &str) {
    let status = daemon.status();
    assert_eq!(status["shadow"]["state"], "dropped", "{}", status["shadow"]);
    assert!(status["shadow"]["dropped"].as_str().unwrap().contains(why), "{}", status["shadow"]);
    assert!(status["warnings"].to_string().contains("is dropped until the next reload"), "{status}");
    assert_eq!(daemon.metric("verdictd_shadow_up{model=\"next@1\"}"), Some(0.0));
    let told = poll(WATCHDOG, || daemon.log().contains("shadow-dropped").then_some(()));
    told.unwrap_or_else(|| panic!("no alarm:\n{}", daemon.log()));
}

#[cfg(feature = "fault-injection")]
#[test]
fn a_shadow_that_is_slow_or_panics_is_dropped_and_every_event_has_its_verdict() {
    for (fault, why) in [("slow", "µs a row"), ("panic", "panicked")] {
        let mut site = with_shadow();
        let file = site.path().join("fault");
        site.env("VERDICTD_FAULT_SHADOW", file.to_str().unwrap());
        let daemon = Daemon::start(&site);
        let mut client = daemon.client();
        send(&mut client, "well", 100);
        assert_eq!(daemon.status()["shadow"]["events"], 100);
        std::fs::write(&file, fault).unwrap();
        send(&mut client, "ill", 1_000);
        dropped(&daemon, why);
        send(&mut client, "after", 100);
        assert!(daemon.stop().success());
        let lines = site.sink_lines();
        assert_eq!(lines.len(), 1_200, "{fault}");
        assert!(lines.iter().all(|line| member(line, "score").is_number()), "{fault}: all scored by the model");
    }
}
