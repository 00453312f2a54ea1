//! Sources and sinks as they are configured: each runs, is shown, and can be taken away again.

use crate::events::{ndjson, sink_lines, verdict};
use crate::support::child::{self, WATCHDOG};
use crate::support::daemon::{Daemon, configured, verdictd};
use crate::support::http::NDJSON;
use crate::support::site::{Site, member};
use serde_json::Value;
use std::io::Write;
use std::path::Path;

fn append(path: &Path, text: &str) {
    let mut file = std::fs::File::options().create(true).append(true).open(path).expect("a file");
    file.write_all(text.as_bytes()).expect("written");
}

fn quoted(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}

/// A member of the status, by the names of table and source or sink.
fn shown(daemon: &Daemon, table: &str, name: &str) -> Value {
    let status = daemon.status();
    let found = status[table].as_array().expect("a list").iter().find(|one| one["name"] == name).cloned();
    found.unwrap_or_else(|| panic!("no {name} in {status}"))
}

#[test]
fn a_followed_file_and_a_spool_are_sources_over_a_kill() {
    let mut site = Site::new();
    let (journal, spool) = (site.path().join("events.csv"), site.path().join("spool"));
    std::fs::create_dir(&spool).unwrap();
    site.set("sources.journal.type", "\"file\"")
        .set("sources.journal.path", &quoted(&journal))
        .set("sources.journal.format", "\"csv\"")
        .set("sources.journal.csv", "{ separator = \";\", columns = { amount = \"number\" } }")
        .set(
            "sources.journal.event",
            "{ id = \"/nr\", key = \"line-7\", time = { pointer = \"/at\", format = \"%d.%m.%Y %H:%M\", zone = \"Europe/Berlin\" } }",
        )
        .set("sources.uploads.type", "\"spool\"")
        .set("sources.uploads.path", &quoted(&spool));
    append(&journal, "nr;at;amount\n1;01.01.2026 12:00;1200\n");
    let daemon = Daemon::start(&site);
    let lines = sink_lines(&site, 1);
    assert_eq!(member(&lines[0], "source"), "journal");
    assert_eq!((member(&lines[0], "key"), member(&lines[0], "decision")), ("line-7".into(), "block".into()));
    assert_eq!(member(&lines[0], "time"), "2026-01-01T11:00:00Z", "noon of a winter's day in Berlin");

    std::fs::write(site.path().join("late"), ndjson((0..10).map(|n| format!("late-{n}")))).unwrap();
    std::fs::rename(site.path().join("late"), spool.join("late")).unwrap();
    sink_lines(&site, 11);
    let gone = child::poll(WATCHDOG, || spool.join("done/late").exists().then_some(()));
    assert!(gone.is_some(), "a file that was taken is moved");
    for (name, kind, path) in [("journal", "file", &journal), ("uploads", "spool", &spool)] {
        let source = shown(&daemon, "sources", name);
        assert_eq!((&source["type"], &source["up"]), (&kind.into(), &true.into()), "{source}");
        assert_eq!(source["path"], path.display().to_string(), "{source}");
        assert_eq!(daemon.metric(&format!("verdictd_source_up{{source=\"{name}\"}}")), Some(1.0));
    }
    assert_eq!(shown(&daemon, "sources", "uploads")["accepted"], 10);

    daemon.kill();
    append(&journal, "2;01.07.2026 12:00;100\n");
    let daemon = Daemon::start(&site);
    let lines = sink_lines(&site, 12);
    assert_eq!(member(&lines[11], "time"), "2026-07-01T10:00:00Z", "in summer it is two hours");
    let text = configured(&site, &["status"]).stdout;
    assert!(text.contains(&format!("journal up at {}: 1 accepted, 0 duplicate", journal.display())), "{text}");
    assert!(daemon.stop().success());
    assert_eq!(site.sink_lines().len(), 12, "nothing is read twice");
}

#[test]
fn a_removed_sink_is_named_and_its_cursor_goes_only_by_hand() {
    let mut site = Site::new();
    let old = quoted(&site.path().join("old.ndjson"));
    site.set("sinks.old.type", "\"file\"").set("sinks.old.path", &old);
    let daemon = Daemon::start(&site);
    verdict(&mut daemon.client(), "kept", 100.0);
    let forgotten = configured(&site, &["store", "forget-sink", "old"]);
    assert_eq!(forgotten.status.code(), Some(64), "{forgotten:?}");
    assert!(forgotten.stderr.contains("sinks.old is still in"), "{}", forgotten.stderr);
    assert!(daemon.stop().success());

    let without = Site::with_state(site.state());
    let daemon = Daemon::start(&without);
    let warnings = daemon.status()["warnings"].to_string();
    assert!(warnings.contains("sink old is no longer configured"), "{warnings}");
    assert!(daemon.log().contains("old"), "{}", daemon.log());
    let running = configured(&without, &["store", "forget-sink", "old"]);
    assert_eq!(running.status.code(), Some(78), "{running:?}");
    assert!(running.stderr.contains("in use by process") && running.stderr.contains("stop it first"), "{running:?}");
    assert!(daemon.stop().success());

    let dir = site.state().display().to_string();
    let unknown = verdictd(&without, &["store", "forget-sink", "other", "--dir", &dir]);
    assert_eq!(unknown.status.code(), Some(64), "{unknown:?}");
    assert!(unknown.stderr.contains("audit, old"), "{}", unknown.stderr);
    let forgotten = configured(&without, &["store", "forget-sink", "old"]);
    assert!(forgotten.status.success() && forgotten.stdout.contains("old is dropped"), "{forgotten:?}");
    let daemon = Daemon::start(&without);
    let status = daemon.status();
    assert!(!status["warnings"].to_string().contains("old"), "{status}");
    assert!(daemon.stop().success());
}

#[test]
fn a_key_under_hmac_is_nowhere_in_the_clear() {
    const PAN: &str = "4929123456780018";
    let mut site = Site::new();
    std::fs::write(site.path().join("pan.key"), "0123456789abcdef0123456789abcdef").unwrap();
    let (journal, mapping) =
        (site.path().join("pans.ndjson"), "{ key = { pointer = \"/PAN\", hmac-key-file = \"pan.key\" } }");
    site.set("quarantine.payload", "false")
        .set("log.level", "\"debug\"")
        .set("sources.pos.event", mapping)
        .set("sources.journal.type", "\"file\"")
        .set("sources.journal.path", &quoted(&journal))
        .set("sources.journal.event", mapping);
    let event = |id: &str, amount: f64| format!("{{\"id\":\"{id}\",\"PAN\":\"{PAN}\",\"amount\":{amount}}}\n");
    append(&journal, &event("by-file", 5.0));
    let daemon = Daemon::start(&site);
    // Taken, repeated, in conflict, not scorable, malformed.
    let body = event("a", 1.0) + &event("a", 1.0) + &event("a", 2.0) + &event("b", 1.0).replace("1}", "\"x\"}");
    let reply = daemon.client().post(NDJSON, body + &event("", 1.0)).unwrap();
    assert_eq!((reply.status, reply.lines().len()), (200, 5));
    let lines = sink_lines(&site, 3);
    let keys: Vec<Value> = lines.iter().map(|line| member(line, "key")).collect();
    assert!(keys.iter().all(|key| *key == keys[0] && key.as_str().unwrap().len() == 64), "one key each: {keys:?}");
    assert!(!reply.text().contains(PAN) && !lines.concat().contains(PAN));
    assert!(!daemon.log().contains(PAN), "the log names nobody");
    assert!(!daemon.admin("/metrics").text().contains(PAN) && !daemon.status().to_string().contains(PAN));
    daemon.kill();
    let mut folders = vec![site.state().to_owned()];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                let clear = bytes.windows(PAN.len()).any(|window| window == PAN.as_bytes());
                assert!(!clear, "{} holds it in the clear", path.display());
                files += 1;
            }
        }
    }
    assert!(files > 3, "the state was looked through");
}
