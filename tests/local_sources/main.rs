//! The sources of this machine through the whole daemon: a followed file, a spool folder, a socket, a serial line.
//! Each is loaded while the daemon is killed again and again: nothing is lost, each event has one verdict.
//!
//! `VERDICTD_TEST_SOURCE_KILLS` sets how often (default 8).
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // helpers stop at the first surprise, as tests do

#[path = "../support/mod.rs"]
mod support;

mod killed;
mod serial;
mod shown;

use std::collections::BTreeSet;
use support::child::{WATCHDOG, poll};
use support::daemon::Daemon;
use support::site::{Site, member};

/// An event whose payload follows from its number.
fn event(n: usize) -> String {
    format!(r#"{{"id":"e{n}","key":"k{}","time":"2018-05-01T00:20:11Z","amount":{}}}"#, n % 7, n % 1500)
}

/// Ids of the sink's verdicts, in order, once there are so many different ones.
fn wait_delivered(site: &Site, daemon: &Daemon, count: usize) -> Vec<String> {
    let all = || {
        let lines = site.whole_sink_lines()?;
        (lines.len() >= count).then_some(lines)
    };
    let lines = poll(WATCHDOG, all).unwrap_or_else(|| {
        panic!("{} of {count} came:\n{}", site.whole_sink_lines().unwrap_or_default().len(), daemon.log())
    });
    lines.iter().map(|line| member(line, "id").as_str().expect("an id").to_owned()).collect()
}

/// Each of `count` events has exactly one verdict.
fn assert_each_once(ids: &[String], count: usize) {
    let different: BTreeSet<_> = ids.iter().collect();
    assert_eq!(ids.len(), different.len(), "some were delivered twice");
    let missing: Vec<_> = (0..count).filter(|n| !different.contains(&format!("e{n}"))).take(5).collect();
    assert!(missing.is_empty(), "lost: {missing:?}");
    assert_eq!(ids.len(), count);
}

/// The key of a setting, quoted as TOML has it.
fn quoted(path: &std::path::Path) -> String {
    format!("{:?}", path.display().to_string())
}
