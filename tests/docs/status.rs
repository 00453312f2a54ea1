//! packaging/reference/status.md: the members of `status --json`.

use super::read;
use super::support::bundle;
use super::support::child::{WATCHDOG, poll};
use super::support::daemon::{Daemon, configured};
use super::support::site::Site;
use serde_json::Value;
use std::collections::BTreeSet;

/// Members that the page names: `sources[].name` and the like.
fn documented() -> BTreeSet<String> {
    let page = read("packaging/reference/status.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once(" | "));
    rows.flat_map(|(first, _)| first.split(", ").map(|name| name.trim_matches('`').to_owned())).collect()
}

/// The paths of all members below a value; `*` where names depend on what there is.
fn paths(value: &Value, at: &str, out: &mut BTreeSet<String>) {
    let by_name = [".errors", ".counts", ".parts"].iter().any(|end| at.ends_with(end));
    match value {
        // Places of faults are those of `check`.
        Value::Object(_) if at.ends_with(".problems[]") => drop(out.insert(at.to_owned())),
        Value::Object(members) => {
            if at.ends_with(".last-error") {
                out.insert(at.to_owned());
            }
            for (name, value) in members {
                let name = if by_name { "*" } else { name };
                let dot = if at.is_empty() { "" } else { "." };
                paths(value, &format!("{at}{dot}{name}"), out);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| paths(item, &format!("{at}[]"), out)),
        _ => drop(out.insert(at.to_owned())),
    }
}

/// A site with every type of source and sink; brokers and devices are not there.
fn everything() -> Site {
    let mut site = Site::new();
    let folder = site.path().to_owned();
    let path = |name: &str| format!("{:?}", folder.join(name).display().to_string());
    let (lines, file, spool) = (format!("\"unix:{}/lines.sock\"", site.path().display()), path("f"), path("spool"));
    std::fs::create_dir(site.path().join("spool")).expect("a folder");
    // One that decides otherwise, to be compared.
    let shadow = site.path().join("shadow");
    bundle::write(&shadow, "shadow", "1");
    let manifest = shadow.join("model.toml");
    let text = std::fs::read_to_string(&manifest).expect("a manifest");
    std::fs::write(&manifest, text.replace("review = 0.5", "review = 0.55")).expect("a manifest");
    site.set("model.shadow", &path("shadow"));
    // Nobody listens on port 1.
    for (key, value) in [
        ("limits.memory", "\"256 MiB\""),
        ("sources.b-socket", &format!("{{ type = \"socket\", listen = {lines} }}")),
        ("sources.c-mqtt", "{ type = \"mqtt\", broker = \"mqtt://127.0.0.1:1\", topics = [\"t\"] }"),
        ("sources.d-kafka", "{ type = \"kafka\", brokers = [\"127.0.0.1:1\"], topics = [\"t\"] }"),
        ("sources.e-serial", "{ type = \"serial\", device = \"/dev/no-such-device\" }"),
        ("sources.f-file", &format!("{{ type = \"file\", path = {file} }}")),
        ("sources.g-spool", &format!("{{ type = \"spool\", path = {spool} }}")),
        ("sinks.b-mqtt", "{ type = \"mqtt\", broker = \"mqtt://127.0.0.1:1\", topic = \"v\" }"),
        ("sinks.d-http", "{ type = \"http\", url = \"http://127.0.0.1:1/x\", idempotent = false }"),
        ("sinks.c-kafka", "{ type = \"kafka\", brokers = [\"127.0.0.1:1\"], topic = \"v\" }"),
    ] {
        site.set(key, value);
    }
    site
}

fn verdict(daemon: &Daemon, amount: f64) -> Value {
    let event = format!(r#"{{"id":"a","time":"2018-05-01T00:20:11Z","amount":{amount}}}"#);
    daemon.client().post("application/json", event).expect("an answer").json()
}

#[test]
fn every_member_of_the_status_is_in_its_page_and_none_else() {
    let mut site = everything();
    bundle::add_window(&site.bundle());
    let daemon = Daemon::start(&site);
    let mut found = BTreeSet::new();
    assert_eq!(verdict(&daemon, 500.0)["decision"], "review");
    // Errors are there once something has failed.
    let is_whole = || {
        let status = daemon.status();
        (status["warnings"].as_array().is_some_and(|warnings| warnings.len() > 2)).then_some(status)
    };
    let status = poll(WATCHDOG, is_whole).expect("warnings");
    paths(&status, "", &mut found);
    // A reload that changes a sink and asks for a restart, with a warning; then one that is refused.
    let sink = "{ type = \"mqtt\", broker = \"mqtt://127.0.0.1:1\", topic = \"other\" }";
    site.set("sinks.b-mqtt", sink).set("limits.connections", "100");
    let next = site.path().join("next");
    bundle::write(&next, "test", "2");
    site.set("model.bundle", &format!("{:?}", next.display().to_string()));
    let done = configured(&site, &["reload"]);
    assert!(done.status.success(), "{done:?}");
    paths(&daemon.status(), "", &mut found);
    site.set("limits.connections", "0");
    assert_eq!(configured(&site, &["reload"]).status.code(), Some(78));
    // `reload` does not ask the daemon where the config is at fault; a signal does.
    daemon.signal(rustix::process::Signal::HUP);
    let refused = || (daemon.status()["reload"]["ok"] == false).then(|| daemon.status());
    paths(&poll(WATCHDOG, refused).expect("a refusal"), "", &mut found);
    assert!(daemon.stop().success());

    let documented = documented();
    let optional = ["sources[].counts.*", "reload.notes[]", "shadow", "windows"];
    let missing: Vec<_> = found.difference(&documented).collect();
    let more: Vec<_> = documented.difference(&found).filter(|name| !optional.contains(&name.as_str())).collect();
    assert!(missing.is_empty() && more.is_empty(), "not in the page: {missing:?}; only in the page: {more:?}");
}
