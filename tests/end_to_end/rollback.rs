//! Which model was in use is told, one command goes back, and with a public key nothing else does.

use crate::events::verdict as ask;
use crate::support::bundle;
use crate::support::child::Finished;
use crate::support::daemon::{Daemon, configured};
use crate::support::minisign::Minisign;
use crate::support::site::{Site, member};
use serde_json::Value;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

fn quoted(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}

/// A site whose `model.bundle` is a link to the bundle test@1.
fn linked() -> (Site, PathBuf) {
    let mut site = Site::new();
    let link = site.path().join("current");
    symlink(site.bundle(), &link).unwrap();
    site.set("model.bundle", &quoted(&link));
    (site, link)
}

/// A bundle test@`version` beside the first, with this serial.
fn another(site: &Site, version: &str, serial: Option<u64>) -> PathBuf {
    let folder = site.path().join(format!("test-{version}"));
    bundle::write(&folder, "test", version);
    let manifest = folder.join("model.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let serial = serial.map(|serial| format!("serial = {serial}\n")).unwrap_or_default();
    std::fs::write(&manifest, serial + &text).unwrap();
    folder.canonicalize().unwrap()
}

fn use_it(site: &Site, bundle: &Path) -> Finished {
    configured(site, &["model", "use", bundle.to_str().unwrap()])
}

fn history(site: &Site) -> Vec<Value> {
    let done = configured(site, &["model", "history", "--json"]);
    assert!(done.status.success(), "{done:?}");
    let told: Value = serde_json::from_str(&done.stdout).unwrap();
    told["history"].as_array().unwrap().clone()
}

/// Why and label of each entry.
fn uses(site: &Site) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    history(site).iter().map(|used| (text(&used["why"]), text(&used["to"]["label"]))).collect()
}

fn pair(why: &str, label: &str) -> (String, String) {
    (why.to_owned(), label.to_owned())
}

#[test]
fn each_model_in_use_is_told_with_its_reason_and_first_sequence_and_one_command_goes_back() {
    let (site, link) = linked();
    let daemon = Daemon::start(&site);
    let mut client = daemon.client();
    ask(&mut client, "a", 600.0);
    let second = another(&site, "2", None);
    assert!(use_it(&site, &second).status.success());
    let model = |id: &str, client: &mut _| member(&ask(client, id, 600.0).text(), "model");
    assert_eq!(model("b", &mut client), "test@2");
    let third = another(&site, "3", None);
    assert!(use_it(&site, &third).status.success());
    let told = history(&site);
    let firsts: Vec<_> = told.iter().map(|used| used["first-sequence"].as_u64().unwrap()).collect();
    assert_eq!(firsts, [1, 2, 3], "{told:?}");
    assert_eq!(told[2]["from"]["label"], "test@2");
    assert_eq!(told[2]["to"]["folder"], third.to_str().unwrap());
    let status = daemon.status();
    assert_eq!(status["model"]["history"][0], told[2], "the newest first");
    assert_eq!(status["model"]["before"]["label"], "test@2");

    let back = configured(&site, &["model", "rollback"]);
    assert!(back.status.success() && back.stdout.contains("test@2 instead of test@3"), "{back:?}");
    assert_eq!(std::fs::read_link(&link).unwrap(), second);
    assert_eq!(model("c", &mut client), "test@2");
    let back = configured(&site, &["model", "rollback"]);
    assert!(back.status.success() && back.stdout.contains("test@1 instead of test@2"), "further back: {back:?}");
    let nothing = configured(&site, &["model", "rollback"]);
    assert_eq!(nothing.status.code(), Some(1), "{nothing:?}");
    assert!(nothing.stderr.contains("nothing to go back to"), "{nothing:?}");
    assert!(daemon.stop().success());
    let expected = [("start", "test@1"), ("reload", "test@2"), ("reload", "test@3"), ("rollback", "test@2")];
    let expected = expected.into_iter().chain([("rollback", "test@1")]).map(|(why, label)| pair(why, label));
    assert_eq!(uses(&site), expected.collect::<Vec<_>>(), "of a stopped store too");
    // The same again at a start is nothing new.
    assert!(Daemon::start(&site).stop().success());
    assert_eq!(uses(&site).len(), 5);
    let text = configured(&site, &["model", "history"]);
    assert!(text.stdout.lines().last().unwrap().contains("rollback  test@1 instead of test@2"), "{text:?}");
}

#[test]
fn a_rollback_is_refused_where_the_bundle_is_gone_altered_or_the_place_no_link() {
    let (mut site, link) = linked();
    let daemon = Daemon::start(&site);
    let second = another(&site, "2", None);
    assert!(use_it(&site, &second).status.success());
    let manifest = site.bundle().join("model.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replace("0.9", "0.8")).unwrap();
    let refused = |words: &str, site: &Site| {
        let done = configured(site, &["model", "rollback"]);
        assert!(!done.status.success() && done.stderr.contains(words), "{words}: {done:?}");
        assert_eq!(std::fs::read_link(&link).unwrap(), second);
    };
    refused("was altered since", &site);
    std::fs::remove_file(&manifest).unwrap();
    refused("is gone", &site);
    std::fs::write(&manifest, text).unwrap();
    site.set("model.bundle", &quoted(&second));
    refused("expected a symbolic link", &site);
    assert_eq!(daemon.status()["model"]["version"], "2");
    assert!(daemon.stop().success());
}

#[test]
fn signed_by_minisign_a_bundle_is_taken_and_altered_unsigned_or_older_it_is_refused() {
    let (mut site, link) = linked();
    let key = Minisign::new();
    site.set("model.public-key", &quoted(&key.public_key()));
    let (first, second) = (another(&site, "11", Some(11)), another(&site, "12", Some(12)));
    for folder in [&first, &second] {
        key.sign(folder, None);
    }
    let unsigned = configured(&site, &["run"]);
    assert_eq!(unsigned.status.code(), Some(78), "{unsigned:?}");
    assert!(unsigned.stderr.contains("model.toml.minisig"), "{unsigned:?}");
    let point = |to: &Path| {
        std::fs::remove_file(&link).unwrap();
        symlink(to, &link).unwrap();
    };
    point(&first);
    let daemon = Daemon::start(&site);
    let status = daemon.status();
    assert_eq!(status["model"]["serial"], 11);
    let signed_at = status["model"]["history"][0]["to"]["signed-at"].as_u64().expect("minisign writes the time");
    assert!(signed_at > 1_700_000_000);
    assert!(use_it(&site, &second).status.success());
    // Altered after it was signed.
    let altered = another(&site, "13", Some(13));
    key.sign(&altered, None);
    let manifest = altered.join("model.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replace("0.9", "0.99")).unwrap();
    let refused = use_it(&site, &altered);
    assert!(!refused.status.success() && refused.stderr.contains("public key"), "{refused:?}");
    // Whole and signed, but older: neither a reload nor a start takes it.
    let refused = use_it(&site, &first);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(refused.stderr.contains("serial of at least 12") && refused.stderr.contains("older 11"), "{refused:?}");
    assert_eq!(std::fs::read_link(&link).unwrap(), second);
    let reload = &daemon.status()["reload"];
    assert!(reload["ok"] == false && reload["problems"][0]["key"] == "model.bundle", "{reload}");
    assert!(daemon.log().contains("reload-refused"), "{}", daemon.log());
    assert!(daemon.stop().success());
    point(&first);
    for command in ["run", "check"] {
        let refused = configured(&site, &[command]);
        assert_eq!(refused.status.code(), Some(78), "{refused:?}");
        assert!(refused.stderr.contains("serial of at least 12"), "{refused:?}");
    }
    point(&second);
    // Nor is it put there for the next start; where the store cannot be looked at that is said.
    assert_eq!(configured(&site, &["check"]).status.code(), Some(0));
    let refused = configured(&site, &["model", "use", "--no-reload", first.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(refused.stderr.contains("serial of at least 12"), "{refused:?}");
    assert_eq!(std::fs::read_link(&link).unwrap(), second);
    let (db, away) = (site.state().join("store/db"), site.state().join("store/away"));
    std::fs::rename(&db, &away).unwrap();
    std::fs::create_dir(&db).unwrap();
    let blind = configured(&site, &["check"]);
    assert_eq!(blind.status.code(), Some(0), "{blind:?}");
    assert!(blind.stderr.contains("cannot be told from here"), "{blind:?}");
    std::fs::remove_dir(&db).unwrap();
    std::fs::rename(&away, &db).unwrap();
    // Asked for by name it goes back, and a restart leaves it there.
    let daemon = Daemon::start(&site);
    let back = configured(&site, &["model", "rollback"]);
    assert!(back.status.success() && back.stdout.contains("test@11 instead of test@12"), "{back:?}");
    assert!(daemon.stop().success());
    let daemon = Daemon::start(&site);
    assert_eq!(daemon.status()["model"]["version"], "11");
    // That permits this one alone.
    let between = another(&site, "11.5", Some(11));
    key.sign(&between, None);
    assert_eq!(use_it(&site, &between).status.code(), Some(1));
    assert!(use_it(&site, &second).status.success());
    assert_eq!(use_it(&site, &first).status.code(), Some(1), "the permission was for once");
    assert!(daemon.stop().success());
    // The same without a daemon.
    let back = configured(&site, &["model", "rollback"]);
    assert!(back.status.success() && back.stdout.contains("the next start takes it"), "{back:?}");
    let daemon = Daemon::start(&site);
    let newest = &daemon.status()["model"]["history"][0];
    assert_eq!((newest["why"].as_str(), newest["to"]["label"].as_str()), (Some("rollback"), Some("test@11")));
    assert!(daemon.stop().success());
}

#[test]
fn without_serials_the_time_that_minisign_signs_tells_the_older_bundle() {
    let (mut site, link) = linked();
    let key = Minisign::new();
    site.set("model.public-key", &quoted(&key.public_key()));
    let (first, second) = (another(&site, "1st", None), another(&site, "2nd", None));
    key.sign(&first, Some("timestamp:1700000000\tfile:model.toml\thashed"));
    key.sign(&second, Some("timestamp:1800000000\tfile:model.toml\thashed"));
    std::fs::remove_file(&link).unwrap();
    symlink(&first, &link).unwrap();
    let daemon = Daemon::start(&site);
    assert!(use_it(&site, &second).status.success());
    let refused = use_it(&site, &first);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(refused.stderr.contains("found the older 2023-11-14"), "{refused:?}");
    assert!(daemon.stop().success());
}
