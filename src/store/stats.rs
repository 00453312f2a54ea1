//! What the store says of itself.

/// For status and metrics.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// The next sequence after the last durable record.
    pub committed: u64,
    /// The oldest sequence still in the log.
    pub log_floor: u64,
    /// The oldest sequence still in the dedup window.
    pub window_floor: u64,
    /// The window in force, milliseconds: the configured one unless a budget shortened it.
    pub window_ms: u64,
    /// Why the window is shorter than configured, if it is.
    pub window_cut_by: Option<WindowCut>,
    pub index_bytes: u64,
    pub tail_bytes: u64,
    pub disk_bytes: u64,
    pub disk_budget_bytes: u64,
    pub disk_free_bytes: u64,
    /// Bytes of live values in the log engine's file.
    pub live_bytes: u64,
    pub quarantine_entries: u64,
    pub quarantine_bytes: u64,
    /// Quarantine entries that went over its budget, since start.
    pub quarantine_evicted: u64,
    /// Calls of sinks that are not settled.
    pub cases: u64,
    /// Labels kept.
    pub labels: u64,
    /// Those of them whose event is not known yet.
    pub labels_pending: u64,
    /// Labels whose event did not come and that went for newer ones, since start.
    pub labels_shed: u64,
    /// Observations kept for the windows, in how many chunks, and the bytes of those.
    pub observations: u64,
    pub observation_chunks: u64,
    pub observation_bytes: u64,
    /// Observations that went early for the disk budget, since start: after the next one windows miss them.
    pub observations_cut: u64,
    /// Memory that the list of the chunks takes.
    pub observation_memory_bytes: u64,
    /// Least event time in the oldest chunk, microseconds since 1970.
    pub observations_from_us: Option<i64>,
    /// Events kept for a replay, the bytes of their chunks, and events that were too long for it since start.
    pub kept_events: u64,
    pub kept_bytes: u64,
    pub kept_passed_over: u64,
    /// Damaged stores set aside in `damaged-<n>` and rebuilt.
    pub set_aside: u64,
    /// Sequences that were durable once and are missing from the log.
    pub lost: u64,
    /// Cursors of sinks that are no longer declared: name, next sequence.
    pub orphan_cursors: Vec<(String, u64)>,
    /// A non-empty `blobs/`: values the log engine does not sync.
    pub blobs: bool,
    /// Why nothing is committed any more.
    pub failed: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowCut {
    /// By `index_bytes`.
    Memory,
    /// By `disk_bytes` or a full disk.
    Disk,
}

impl WindowCut {
    /// What is used up.
    pub(crate) const fn budget(self) -> &'static str {
        match self {
            Self::Memory => "the memory budget",
            Self::Disk => "the disk budget",
        }
    }
}

/// What opening found.
#[derive(Clone, Debug, Default)]
pub struct Recovery {
    /// A store was made, there was none.
    pub created: bool,
    pub chunks: u64,
    pub records: u64,
    /// Values set aside as damaged, now; those of earlier starts are in [`Stats::set_aside`].
    pub set_aside_now: u64,
    /// Observations missing that were durable once, found now.
    pub observations_lost_now: u64,
    /// Sequences missing that were durable once, found now.
    pub lost_now: u64,
    /// Where the damaged files were moved, if the store was rebuilt from them.
    pub salvaged_to: Option<std::path::PathBuf>,
    pub ballast_given_up: bool,
    /// How far the wall clock is ahead of the last log time, milliseconds: time that passed, or a jump.
    pub clock_ahead_ms: u64,
    /// Time to ready, milliseconds, by phase.
    pub phases: Vec<(&'static str, f64)>,
}
