//! A link that leads to another bundle is taken without being asked; a bad one changes nothing.

use crate::events::verdict as ask;
use crate::support::bundle;
use crate::support::child::{WATCHDOG, poll};
use crate::support::daemon::Daemon;
use crate::support::site::{Site, member};
use serde_json::Value;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

fn quoted(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}

/// Points the link elsewhere in one step, as a publisher does.
fn point(link: &Path, to: &Path) {
    let new = link.with_extension("new");
    symlink(to, &new).unwrap();
    std::fs::rename(&new, link).unwrap();
}

fn another(site: &Site, name: &str, version: &str) -> PathBuf {
    let folder = site.path().join(format!("{name}-{version}"));
    bundle::write(&folder, name, version);
    folder
}

fn until(daemon: &Daemon, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let found = poll(WATCHDOG, || Some(daemon.status()).filter(|status| holds(status)));
    found.unwrap_or_else(|| panic!("{what}:\n{}\n{}", daemon.status(), daemon.log()))
}

#[test]
fn a_changed_link_of_model_or_shadow_is_taken_by_itself_and_a_bad_one_leaves_the_old_with_an_alarm() {
    let mut site = Site::new();
    let (link, beside) = (site.path().join("current"), site.path().join("beside"));
    symlink(site.bundle(), &link).unwrap();
    symlink(another(&site, "next", "1"), &beside).unwrap();
    site.set("model.bundle", &quoted(&link)).set("model.shadow", &quoted(&beside));
    let daemon = Daemon::start(&site);
    let mut client = daemon.client();
    assert_eq!(member(&ask(&mut client, "a", 600.0).text(), "model"), "test@1");
    // What stands in the file and was not asked to be taken is not: the models alone are.
    site.set("log.level", "\"debug\"");

    point(&link, &another(&site, "test", "2"));
    let status = until(&daemon, "the next model", |status| status["model"]["version"] == "2");
    assert_eq!(member(&ask(&mut client, "b", 600.0).text(), "model"), "test@2");
    assert_eq!(status["model"]["history"][0]["why"], "reload");
    let changes = status["reload"]["changes"].to_string();
    assert!(changes.contains("test@2 instead of test@1") && !changes.contains("log.level"), "{changes}");

    point(&beside, &another(&site, "next", "2"));
    until(&daemon, "the next shadow", |status| status["shadow"]["version"] == "2");

    let broken = another(&site, "test", "3");
    std::fs::write(broken.join("model.safetensors"), b"no weights").unwrap();
    point(&link, &broken);
    let status = until(&daemon, "an alarm", |status| status["reload"]["ok"] == false);
    assert_eq!(status["model"]["version"], "2");
    assert!(status["warnings"].to_string().contains("the last reload was refused"), "{status}");
    assert_eq!(status["reload"]["problems"][0]["key"], "model.bundle");
    assert_eq!(member(&ask(&mut client, "c", 600.0).text(), "model"), "test@2");

    point(&link, &another(&site, "test", "4"));
    until(&daemon, "the one after it", |status| status["model"]["version"] == "4");
    assert!(daemon.status()["warnings"].as_array().unwrap().is_empty());
    assert_eq!(daemon.log().matches("reload-refused").count(), 1, "tried once:\n{}", daemon.log());
    assert!(daemon.stop().success());
}
