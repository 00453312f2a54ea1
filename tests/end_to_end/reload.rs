//! A reload swaps what may be swapped while events come in, and changes nothing where something is wrong.

use crate::events::event;
use crate::events::verdict as ask;
use crate::support::bundle;
use crate::support::child::{WATCHDOG, poll};
use crate::support::daemon::{Daemon, configured};
use crate::support::http::{Client, JSON};
use crate::support::site::{Site, member};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

fn verdict(client: &mut Client, id: &str, amount: f64) -> String {
    ask(client, id, amount).text().trim_end().to_owned()
}

fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn quoted(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}

/// A second bundle beside the first, whose model is `name@version`.
fn another(site: &Site, name: &str, version: &str) -> PathBuf {
    let folder = site.path().join(format!("{name}-{version}"));
    bundle::write(&folder, name, version);
    folder
}

#[test]
fn sinks_are_added_changed_and_removed_without_a_pause_and_none_misses_or_repeats_a_verdict() {
    let mut site = Site::new();
    let daemon = Daemon::start(&site);
    let (sent, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (second, moved) = (site.path().join("second.ndjson"), site.path().join("moved.ndjson"));
    std::thread::scope(|scope| {
        let socket = site.events_socket();
        let (sent, stop) = (&sent, &stop);
        let sender = scope.spawn(move || {
            let mut client = Client::connect(&socket).unwrap();
            while !stop.load(Ordering::Relaxed) {
                let n = sent.load(Ordering::Relaxed);
                assert_eq!(client.post(JSON, event(&format!("r-{n}"), 100.0)).unwrap().status, 200);
                sent.store(n + 1, Ordering::Relaxed);
            }
        });
        let more = || {
            let now = sent.load(Ordering::Relaxed);
            poll(WATCHDOG, || (sent.load(Ordering::Relaxed) > now + 50).then_some(())).unwrap();
        };
        more();
        site.set("sinks.second.type", "\"file\"").set("sinks.second.path", &quoted(&second));
        let reloaded = configured(&site, &["reload"]);
        assert!(reloaded.status.success() && reloaded.stdout.contains("sinks.second: added"), "{reloaded:?}");
        more();
        // Another place is another config of the same sink: it goes on from its cursor.
        site.set("sinks.second.path", &quoted(&moved));
        let reloaded = configured(&site, &["reload"]);
        assert!(reloaded.stdout.contains("sinks.second: changed"), "{reloaded:?}");
        more();
        stop.store(true, Ordering::Relaxed);
        sender.join().unwrap();
    });
    let count = sent.load(Ordering::Relaxed);
    poll(WATCHDOG, || (lines(&second).len() + lines(&moved).len() >= count).then_some(())).expect("all delivered");
    let delivered = [lines(&second), lines(&moved)].concat();
    let sequences: Vec<_> = delivered.iter().map(|line| member(line, "sequence").as_u64().unwrap()).collect();
    assert_eq!(sequences, (1..=count as u64).collect::<Vec<_>>(), "each once, in order, over both files");
    let before = lines(&moved).len();
    let text = std::fs::read_to_string(site.config()).unwrap();
    let without: String =
        text.lines().filter(|line| !line.starts_with("sinks.second")).flat_map(|line| [line, "\n"]).collect();
    std::fs::write(site.config(), without).unwrap();
    let reloaded = configured(&site, &["reload"]);
    assert!(reloaded.stdout.contains("sinks.second: removed"), "{reloaded:?}");
    verdict(&mut daemon.client(), "after", 1.0);
    let status = daemon.status();
    assert_eq!(status["sinks"].as_array().unwrap().len(), 1, "{status}");
    assert!(status["warnings"].to_string().contains("second"), "its cursor stays, and says so: {status}");
    assert!(daemon.stop().success());
    assert_eq!(lines(&moved).len(), before);
    let all = site.sink_lines();
    assert_eq!(all.len(), count + 1, "the sink that stayed missed nothing");
}

#[test]
fn a_model_is_replaced_while_events_come_and_a_repeat_keeps_its_first_verdict() {
    let mut site = Site::new();
    let daemon = Daemon::start(&site);
    let mut client = daemon.client();
    let first = verdict(&mut client, "a", 600.0);
    let next = another(&site, "test", "2");
    site.set("model.bundle", &quoted(&next));
    daemon.signal(Signal::HUP);
    poll(WATCHDOG, || (daemon.status()["model"]["version"] == "2").then_some(())).expect("the next model");
    assert_eq!(verdict(&mut client, "a", 600.0), first);
    let second = verdict(&mut client, "b", 600.0);
    assert_eq!((member(&first, "model"), member(&second, "model")), ("test@1".into(), "test@2".into()));
    assert_eq!(member(&first, "score"), member(&second, "score"));
    assert!(daemon.status()["reload"]["changes"].to_string().contains("test@2"));
    assert!(daemon.stop().success());
}

#[test]
fn a_reload_with_a_fault_says_where_and_changes_nothing() {
    let mut site = Site::new();
    let daemon = Daemon::start(&site);
    // A sink that would be good beside a key that is not: neither is taken.
    let more = quoted(&site.path().join("more.ndjson"));
    site.set("sinks.more.type", "\"file\"").set("sinks.more.path", &more);
    site.set("log.lewel", "\"warn\"");
    let refused = configured(&site, &["reload"]);
    assert_eq!(refused.status.code(), Some(78), "{refused:?}");
    assert!(refused.stderr.contains("log.lewel") && refused.stderr.contains("verdictd.toml:"), "{refused:?}");
    daemon.signal(Signal::HUP);
    let said = poll(WATCHDOG, || {
        let status = daemon.status();
        (status["reload"]["ok"] == false).then_some(status)
    });
    let status = said.expect("a refused reload");
    assert_eq!(status["sinks"].as_array().unwrap().len(), 1);
    assert_eq!(status["reload"]["problems"][0]["key"], "log.lewel");
    assert!(status["warnings"].to_string().contains("refused"), "{status}");
    // A bundle at fault is refused the same way, and the model in force scores on.
    let broken = another(&site, "broken", "1");
    std::fs::write(broken.join("model.safetensors"), b"no weights").unwrap();
    site.set("log.lewel", "\"warn\"");
    let text = std::fs::read_to_string(site.config()).unwrap().replace("log.lewel", "log.level");
    std::fs::write(site.config(), text.replace(&quoted(&site.bundle()), &quoted(&broken))).unwrap();
    let refused = configured(&site, &["reload"]);
    assert_eq!(refused.status.code(), Some(78), "{refused:?}");
    assert!(refused.stderr.contains("model.safetensors"), "{refused:?}");
    assert_eq!(member(&verdict(&mut daemon.client(), "x", 1.0), "model"), "test@1");
    assert!(daemon.stop().success());
}

#[test]
fn what_cannot_change_while_it_runs_waits_for_a_restart_and_is_named() {
    let mut site = Site::new();
    let daemon = Daemon::start(&site);
    site.set("limits.memory", "\"96 MiB\"").set("sources.more.type", "\"http\"");
    site.set("sources.more.listen", &format!("\"unix:{}\"", site.path().join("more.sock").display()));
    site.set("log.level", "\"debug\"");
    let reloaded = configured(&site, &["reload"]);
    assert!(reloaded.status.success(), "{reloaded:?}");
    assert!(reloaded.stdout.contains("log.level: debug"), "{reloaded:?}");
    assert!(reloaded.stderr.contains("limits") && reloaded.stderr.contains("sources.more"), "{reloaded:?}");
    assert_eq!(daemon.status()["memory"]["budget"], 64 << 20);
    assert!(daemon.status()["warnings"].to_string().contains("wait for a restart"));
    assert!(daemon.stop().success());
    let daemon = Daemon::start(&site);
    assert_eq!(daemon.status()["memory"]["budget"], 96 << 20);
    assert!(daemon.stop().success());
}

#[test]
fn model_use_points_the_link_elsewhere_and_back_where_the_daemon_refuses() {
    let mut site = Site::new();
    let link = site.path().join("current");
    std::os::unix::fs::symlink(site.bundle(), &link).unwrap();
    site.set("model.bundle", &quoted(&link));
    let daemon = Daemon::start(&site);
    let next = another(&site, "test", "2");
    let used = configured(&site, &["model", "use", next.to_str().unwrap()]);
    assert!(used.status.success() && used.stdout.contains("test@2"), "{used:?}");
    assert_eq!(std::fs::read_link(&link).unwrap(), next.canonicalize().unwrap());
    assert_eq!(daemon.status()["model"]["version"], "2");
    // A fault elsewhere in the config: the reload is refused, and so is the link.
    let third = another(&site, "test", "3");
    site.set("sources.pos.socket-mode", "\"0660\"");
    std::fs::remove_file(third.join("model.toml")).unwrap();
    let refused = configured(&site, &["model", "use", third.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert_eq!(std::fs::read_link(&link).unwrap(), next.canonicalize().unwrap());
    // One that is no link is left alone.
    site.set("model.bundle", &quoted(&site.bundle()));
    let refused = configured(&site, &["model", "use", next.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(78), "{refused:?}");
    assert!(daemon.stop().success());
}

/// `ExecReload=` must not fail because the daemon cannot be asked where the new config says.
#[test]
fn the_service_managers_reload_works_by_signal_where_the_daemon_cannot_be_asked() {
    let mut site = Site::new();
    let daemon = Daemon::start(&site);
    site.set("admin.listen", &format!("\"unix:{}\"", site.path().join("moved.sock").display()));
    site.set("log.level", "\"debug\"");
    let silent = configured(&site, &["reload"]);
    assert_eq!(silent.status.code(), Some(1), "{silent:?}");
    site.env("MAINPID", &daemon.pid().to_string());
    let asked = configured(&site, &["reload"]);
    assert!(asked.status.success() && asked.stdout.contains("SIGHUP"), "{asked:?}");
    let told = poll(WATCHDOG, || {
        let status = daemon.status();
        (status["reload"]["ok"] == true).then_some(status)
    });
    let reload = told.expect("a reload")["reload"].clone();
    assert!(reload["changes"].to_string().contains("log.level"), "{reload}");
    assert!(reload["needs-restart"].to_string().contains("admin"), "{reload}");
    assert!(daemon.stop().success());
}
