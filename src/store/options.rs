//! What the store is opened with.

use super::kept_log::Keeping;
use std::path::PathBuf;
use std::time::Duration;

/// What to do when the disk budget is reached by delivered events that are still in the dedup window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// Shorten the window, with an alarm.
    #[default]
    Shorten,
    /// Take nothing new.
    Refuse,
}

/// Where a sink that the store does not know yet starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SinkStart {
    /// With the oldest event in the log.
    #[default]
    Oldest,
    /// With the next event.
    Newest,
}

/// A sink that reads the log. What it has not passed is not removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SinkDecl {
    pub name: String,
    pub start: SinkStart,
}

#[derive(Clone, Debug)]
pub struct Options {
    /// The state-dir. The store lives in `store/` in it, beside the files `lock`, `ballast` and `tip`.
    pub dir: PathBuf,
    /// This daemon's name, to tell a second one who holds the directory.
    pub instance: String,
    /// The log engine's page cache, bytes.
    pub cache_bytes: u64,
    /// Newest chunks kept in memory for sinks and repeats, bytes.
    pub tail_bytes: usize,
    /// How long a repeat is known for.
    pub window: Duration,
    /// Memory for the dedup index, bytes; the window is shortened to fit.
    pub index_bytes: u64,
    /// Budget of the whole state-dir, bytes; other files in it count.
    pub disk_bytes: u64,
    pub when_full: WhenFull,
    /// The sinks in force. A cursor of another name stays and is reported, but holds nothing back.
    pub sinks: Vec<SinkDecl>,
    /// Budget of the quarantine, bytes; over it the oldest entries go, counted and warned of.
    pub quarantine_bytes: u64,
    /// What is kept of events for a replay.
    pub keeping: Keeping,
    /// Called when a write has hung for [`super::STUCK_AFTER`]. The log engine can wait for ever on a write
    /// that failed on another thread; the process must then end (74).
    pub on_stuck: fn(&str),
}

impl Options {
    /// Defaults for everything but the directory: window 7 d, budgets 8 MiB cache, 4 MiB tail, 16 MiB index,
    /// 4 GiB disk, 64 MiB quarantine; no sinks; no events kept.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            instance: String::from("verdictd"),
            cache_bytes: 8 << 20,
            tail_bytes: 4 << 20,
            window: Duration::from_hours(7 * 24),
            index_bytes: 16 << 20,
            disk_bytes: 4 << 30,
            when_full: WhenFull::Shorten,
            sinks: Vec::new(),
            quarantine_bytes: 64 << 20,
            keeping: Keeping::default(),
            on_stuck: super::medium::exit_stuck,
        }
    }
}
