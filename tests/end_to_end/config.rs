//! What is wrong with a config is said at once, all of it, and ends in 78. One daemon a state-dir.

use crate::events::verdict;
use crate::support::daemon::{Daemon, configured, verdictd};
use crate::support::site::Site;
use rustix::process::Signal;
use std::os::unix::fs::PermissionsExt;

/// Exit codes of INTERFACE: usage, configuration.
const USAGE: i32 = 64;
const CONFIG: i32 = 78;

#[test]
fn every_fault_is_reported_at_once() {
    let mut site = Site::new();
    site.set("limits.memroy", "\"64 MiB\"")
        .set("limits.disk", "4096")
        .set("dedup.window", "\"a week\"")
        .set("model.bundle", "\"missing-bundle\"")
        .set("sources.pos.port", "8080")
        .set("sinks.audit.rotate-size", "true")
        .set("sinks.other.type", "\"pigeon\"");
    for command in [["check"], ["run"]] {
        let done = configured(&site, &command);
        assert_eq!(done.status.code(), Some(CONFIG), "{command:?}: {done:?}");
        for named in ["memroy", "limits.disk", "dedup.window", "missing-bundle", "port", "rotate-size", "pigeon"] {
            assert!(done.stderr.contains(named), "{command:?}: expected {named} in\n{}", done.stderr);
        }
        assert!(done.stderr.contains("verdictd.toml"), "the file is named:\n{}", done.stderr);
    }
}

/// The places that `check` names in its lines, and those of `check --json`, which must be the same.
fn places(site: &Site) -> Vec<String> {
    let done = configured(site, &["check"]);
    assert_eq!(done.status.code(), Some(CONFIG), "{done:?}");
    let json = configured(site, &["check", "--json"]).stdout;
    let report: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let errors = report["errors"].as_array().expect("a list");
    let places = errors.iter().map(|error| {
        let file = std::path::Path::new(error["file"].as_str().expect("a file"));
        let file = file.strip_prefix(site.path()).expect("a file of the site").display().to_string();
        format!("{file}:{}:{}", error["line"], error["column"])
    });
    let places: Vec<String> = places.collect();
    assert_eq!(places.len(), done.stderr.lines().count(), "{}", done.stderr);
    for (place, line) in places.iter().zip(done.stderr.lines()) {
        assert!(line.contains(&format!("/{place}: ")), "{place} in {line}");
    }
    places
}

#[test]
fn every_fault_has_its_file_line_and_column_also_in_an_overlay() {
    let site = Site::new();
    let text = std::fs::read_to_string(site.config()).unwrap();
    std::fs::write(site.config(), text + "limits.event = \"${NO_SUCH}\"\nlog = { levl = \"info\" }\n").unwrap();
    std::fs::create_dir(site.path().join("conf.d")).unwrap();
    let overlay = "[dedup]\nwindow = 7\n[sources.pos]\nevent = { time = { pointer = \"/at\", zone = 5 } }\n";
    std::fs::write(site.path().join("conf.d/site.toml"), overlay).unwrap();
    assert_eq!(
        places(&site),
        ["conf.d/site.toml:2:10", "conf.d/site.toml:4:44", "verdictd.toml:9:17", "verdictd.toml:10:9"]
    );
}

#[test]
fn every_fault_of_a_bundle_has_its_place_in_the_manifest_or_where_the_config_names_it() {
    let site = Site::new();
    let manifest = site.bundle().join("model.toml");
    let good = std::fs::read_to_string(&manifest).unwrap();
    let line_of = |text: &str, wanted: &str| 1 + text.lines().position(|line| line.contains(wanted)).unwrap();
    let bad = good.replace("otherwise = \"allow\"", "otherwise = 5") + "\n[extra]\nx = 1\n";
    assert_ne!(bad, good);
    std::fs::write(&manifest, &bad).unwrap();
    let expected = [
        format!("bundle/model.toml:{}:13", line_of(&bad, "otherwise")),
        format!("bundle/model.toml:{}:2", line_of(&bad, "[extra]")),
    ];
    assert_eq!(places(&site), expected);
    let verified = verdictd(&site, &["model", "verify", "bundle"]);
    assert!(verified.stderr.contains(&format!("{}: ", expected[0])), "{}", verified.stderr);

    std::fs::write(&manifest, good.clone() + "[decision\n").unwrap();
    assert!(places(&site)[0].starts_with(&format!("bundle/model.toml:{}:", good.lines().count() + 1)));

    // Of weights no line can be named: where the config says which they are.
    std::fs::write(&manifest, &good).unwrap();
    std::fs::write(site.bundle().join("model.safetensors"), "x").unwrap();
    assert_eq!(places(&site), ["verdictd.toml:3:16"]);
}

#[test]
fn two_listeners_on_one_address_are_refused() {
    let mut site = Site::new();
    let taken = format!("\"unix:{}\"", site.events_socket().display());
    site.set("admin.listen", &taken);
    let done = configured(&site, &["run"]);
    assert_eq!(done.status.code(), Some(CONFIG), "{done:?}");
    assert!(done.stderr.contains("admin") && done.stderr.contains("pos"), "{}", done.stderr);
}

#[test]
fn budgets_that_do_not_fit_are_refused() {
    for (key, value) in [("limits.memory", "\"16 MiB\""), ("quarantine.limit", "\"8 GiB\"")] {
        let mut site = Site::new();
        site.set(key, value);
        let done = configured(&site, &["check"]);
        assert_eq!(done.status.code(), Some(CONFIG), "{key} = {value}: {done:?}");
        assert!(done.stderr.contains("MiB") || done.stderr.contains("GiB"), "{}", done.stderr);
    }
}

#[test]
fn a_tcp_listener_for_everyone_needs_tls_and_a_token() {
    let mut site = Site::new();
    site.set("sources.pos.listen", "\"0.0.0.0:0\"");
    let done = configured(&site, &["check"]);
    assert_eq!(done.status.code(), Some(CONFIG), "{done:?}");
    assert!(done.stderr.contains("TLS") || done.stderr.contains("tls"), "{}", done.stderr);
}

#[test]
fn a_missing_or_broken_file_is_named() {
    let site = Site::new();
    let done = verdictd(&site, &["run", "--config", "missing.toml"]);
    assert_eq!(done.status.code(), Some(CONFIG), "{done:?}");
    assert!(done.stderr.contains("missing.toml"), "{}", done.stderr);
    std::fs::write(site.path().join("broken.toml"), "instance = \n[").unwrap();
    let done = verdictd(&site, &["check", "--config", "broken.toml"]);
    assert_eq!(done.status.code(), Some(CONFIG), "{done:?}");
    assert!(done.stderr.contains("broken.toml:1"), "the line is named: {}", done.stderr);
}

#[test]
fn check_shows_the_plan_and_passes_what_run_takes() {
    let site = Site::new();
    let done = configured(&site, &["check"]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    for part in ["index", "model", "64 MiB", "state-dir", "default"] {
        assert!(done.stdout.contains(part), "expected {part} in\n{}", done.stdout);
    }
    let done = configured(&site, &["check", "--json"]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    serde_json::from_str::<serde_json::Value>(&done.stdout).expect("JSON on standard output");
}

#[test]
fn what_init_prints_is_a_config() {
    let site = Site::new();
    let done = verdictd(&site, &["init", "--source", "http", "--sink", "file"]);
    assert!(done.status.success(), "{done:?}");
    let text = done.stdout.replace("/var/lib/verdictd/models/card-fraud", &site.bundle().display().to_string());
    let text = text.replace("/var/lib/verdictd", &site.state().display().to_string());
    let text = text.replace("/run/verdictd", &site.path().display().to_string());
    std::fs::write(site.path().join("init.toml"), text).unwrap();
    let done = verdictd(&site, &["check", "--config", "init.toml"]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
}

#[test]
fn usage_errors_end_in_64() {
    let site = Site::new();
    for arguments in [&["fly"][..], &["run", "--fast"], &["store", "nothing"], &[]] {
        let done = verdictd(&site, arguments);
        assert_eq!(done.status.code(), Some(USAGE), "{arguments:?}: {done:?}");
    }
    assert!(verdictd(&site, &["--help"]).status.success());
    assert!(verdictd(&site, &["--version"]).stdout.starts_with("verdictd "));
}

#[test]
fn a_second_daemon_is_told_who_holds_the_state() {
    let site = Site::new();
    let daemon = Daemon::start(&site);
    let mut other = Site::with_state(site.state());
    other.set("instance", "\"other\"");
    let done = configured(&other, &["run"]);
    assert_eq!(done.status.code(), Some(CONFIG), "{done:?}");
    assert!(done.stderr.contains(&daemon.pid().to_string()), "expected the holder, {}: {}", daemon.pid(), done.stderr);
    verdict(&mut daemon.client(), "undisturbed", 1.0);
    // A holder that was killed holds nothing.
    daemon.signal(Signal::KILL);
    drop(daemon);
    let daemon = Daemon::start(&other);
    assert!(verdict(&mut daemon.client(), "undisturbed", 1.0).is_replayed());
}

#[test]
fn the_socket_is_for_its_user_and_group_only_and_a_stale_one_is_replaced() {
    let site = Site::new();
    let daemon = Daemon::start(&site);
    let mode = std::fs::metadata(site.events_socket()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o660);
    daemon.kill();
    assert!(site.events_socket().exists(), "a killed daemon leaves its socket");
    verdict(&mut Daemon::start(&site).client(), "served", 1.0);
}
