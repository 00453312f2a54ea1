//! Models are swapped under load: each event has one verdict, by a model that is named, and memory stays flat.

use crate::events::event;
use crate::support::bundle;
use crate::support::child::{WATCHDOG, poll};
use crate::support::daemon::{Daemon, configured};
use crate::support::http::{Client, JSON, NDJSON};
use crate::support::site::{Site, member, sequence};
use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

const SENDERS: usize = 3;
const SWAPS: usize = 20;

fn quoted(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}

/// Points the link elsewhere in one step, as a publisher does.
fn point(link: &Path, to: &Path) {
    let new = link.with_extension("new");
    symlink(to, &new).unwrap();
    std::fs::rename(&new, link).unwrap();
}

/// A site whose model is a link, two bundles to swap, and one that also wants another field.
fn site() -> (Site, PathBuf, [PathBuf; 2]) {
    let mut site = Site::new();
    let (link, other) = (site.path().join("current"), site.path().join("other"));
    bundle::write(&other, "test", "2");
    // With another field of its own, the events are decoded otherwise for it.
    let manifest = other.join("model.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let feature = "from = \"/amount\"\nmissing = \"unscorable\"\n";
    assert!(text.contains(feature));
    std::fs::write(&manifest, text.replace(feature, "from = \"/other\"\nmissing = 7\n")).unwrap();
    symlink(site.bundle(), &link).unwrap();
    let shadow = quoted(&site.bundle());
    site.set("model.bundle", &quoted(&link)).set("model.shadow", &shadow);
    let both = [site.bundle(), other];
    (site, link, both)
}

#[test]
fn under_load_no_event_is_lost_or_doubled_by_a_swap_and_a_bad_bundle_changes_nothing() {
    let (site, link, both) = site();
    let broken = site.path().join("broken");
    bundle::write(&broken, "test", "3");
    std::fs::write(broken.join("model.safetensors"), b"no weights").unwrap();
    let daemon = Daemon::start(&site);
    let (sent, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let answered: Vec<String> = std::thread::scope(|scope| {
        let senders: Vec<_> = (0..SENDERS)
            .map(|sender| {
                let (socket, sent, stop) = (site.events_socket(), &sent, &stop);
                scope.spawn(move || {
                    let mut client = Client::connect(&socket).unwrap();
                    let mut answers = Vec::new();
                    for n in 0.. {
                        if stop.load(Relaxed) {
                            break;
                        }
                        // Now and then a batch that several waves decide.
                        if n % 50 == 0 {
                            let ids = (0..600).map(|m| event(&format!("{sender}-{n}-{m}"), 500.0) + "\n");
                            answers.extend(client.post(NDJSON, ids.collect::<String>()).unwrap().lines());
                        } else {
                            let reply = client.post(JSON, event(&format!("{sender}-{n}"), 500.0)).unwrap();
                            answers.push(reply.text().trim_end().to_owned());
                        }
                        sent.fetch_add(1, Relaxed);
                    }
                    answers
                })
            })
            .collect();
        for n in 1..=SWAPS {
            let now = sent.load(Relaxed);
            poll(WATCHDOG, || (sent.load(Relaxed) > now + 10).then_some(())).unwrap();
            point(&link, &both[n % 2]);
            let reloaded = configured(&site, &["reload"]);
            assert!(reloaded.status.success() && reloaded.stdout.contains("instead of"), "{reloaded:?}");
            if n == SWAPS / 2 {
                point(&link, &broken);
                let refused = configured(&site, &["reload"]);
                assert_eq!(refused.status.code(), Some(78), "{refused:?}");
                let warnings = daemon.status()["warnings"].to_string();
                assert!(warnings.contains("the last reload was refused"), "{warnings}");
            }
        }
        stop.store(true, Relaxed);
        senders.into_iter().flat_map(|sender| sender.join().unwrap()).collect()
    });
    assert!(daemon.stop().success());
    let log = std::fs::read_to_string(site.path().join("daemon.log")).unwrap();
    assert!(log.contains("reload-refused"), "the alarm of the broken bundle");
    let ids: BTreeSet<String> = answered.iter().map(|line| member(line, "id").to_string()).collect();
    assert_eq!(ids.len(), answered.len(), "one answer an event");
    let lines = site.sink_lines();
    assert_eq!(
        lines.iter().map(|line| sequence(line)).collect::<Vec<_>>(),
        (1..=lines.len() as u64).collect::<Vec<_>>()
    );
    assert_eq!(lines.iter().map(|line| member(line, "id").to_string()).collect::<BTreeSet<_>>(), ids);
    let answered: BTreeSet<&str> = answered.iter().map(String::as_str).collect();
    let mut by = std::collections::BTreeMap::new();
    for line in &lines {
        assert!(answered.contains(line.as_str()), "as it was answered: {line}");
        // 500 is 0.5 to the first; the other reads a field that is not there, and takes 7 for it.
        let (model, decision) = (member(line, "model"), member(line, "decision"));
        match (model.as_str().unwrap(), decision.as_str().unwrap()) {
            ("test@1", "review") | ("test@2", "allow") => *by.entry(model.to_string()).or_insert(0) += 1,
            other => panic!("{other:?}: {line}"),
        }
    }
    assert_eq!(by.len(), 2, "both were in use: {by:?}");
}

/// Resident memory, bytes.
fn resident(daemon: &Daemon) -> u64 {
    daemon.status()["memory"]["resident"].as_u64().unwrap()
}

/// A model of a megabyte and its shadow: a leak of either would be a gigabyte.
#[test]
fn memory_is_flat_over_a_thousand_swaps() {
    let (mut site, link, both) = site();
    for (n, folder) in both.iter().enumerate() {
        bundle::write_wide(folder, "test", &(n + 1).to_string(), 500);
    }
    site.set("log.level", "\"error\"");
    let daemon = Daemon::start(&site);
    let mut client = daemon.client();
    let mut settled = 0;
    for n in 1..=1_000 {
        point(&link, &both[n % 2]);
        let mut admin = Client::connect(&site.admin_socket()).unwrap();
        let reply = admin.reload().unwrap();
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert_eq!(client.post(JSON, event(&format!("e-{n}"), 500.0)).unwrap().status, 200);
        if n == 200 {
            settled = resident(&daemon);
        }
    }
    let after = resident(&daemon);
    // Of 800 swaps: the store's caches grow a little with their entries.
    assert!(after < settled + (8 << 20), "{settled} bytes after 200 swaps, {after} after 1,000");
    let history = daemon.status()["model"]["history"].clone();
    assert_eq!(history[0]["number"], 1_001, "{history}");
    assert!(daemon.stop().success());
}
