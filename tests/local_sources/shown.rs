//! What operators see of these sources.

use super::support::child::{WATCHDOG, poll};
use super::support::daemon::Daemon;
use super::support::site::Site;
use super::{event, quoted};
use std::fs;

#[test]
fn a_file_that_does_not_exist_yet_is_a_warning_until_it_does() {
    let mut site = Site::new();
    let log = site.path().join("events.log");
    site.set("sources.log.type", "\"file\"").set("sources.log.path", &quoted(&log));
    let daemon = Daemon::start(&site);
    let warned = || daemon.status().to_string().contains("does not exist").then_some(());
    assert!(poll(WATCHDOG, warned).is_some(), "{}", daemon.status());
    fs::write(&log, event(0) + "\n").unwrap();
    let gone = || (!daemon.status().to_string().contains("does not exist")).then_some(());
    assert!(poll(WATCHDOG, gone).is_some(), "{}", daemon.status());
    assert!(daemon.stop().success());
}
