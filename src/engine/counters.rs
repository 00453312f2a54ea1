//! What the engine counts. The names they are shown under stand in `service::metrics`.

use super::windows::WindowFigures;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// One source's counts, by outcome.
#[derive(Debug, Default)]
pub struct Origin {
    pub name: String,
    pub accepted: AtomicU64,
    pub duplicate: AtomicU64,
    pub conflict: AtomicU64,
    pub quarantined: AtomicU64,
    pub refused: AtomicU64,
    pub labels: AtomicU64,
}

impl Origin {
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }
}

/// The engine's own counts.
#[derive(Debug)]
pub struct Counters {
    /// By decision and model.
    decided: Mutex<BTreeMap<(String, String), u64>>,
    /// Seconds from arrival to answer, a submission each.
    pub answer_seconds: Histogram,
    /// Seconds of one commit.
    pub commit_seconds: Histogram,
    /// Events of one commit.
    pub batch_events: Histogram,
    /// Events that made the code panic. Each is in quarantine; each is a bug.
    pub panics: AtomicU64,
    /// What the windows hold, where there are any.
    windows: Mutex<Option<WindowFigures>>,
}

impl Default for Counters {
    fn default() -> Self {
        let seconds = || Histogram::new(exponential_buckets(0.000_05, 2.0, 16));
        Self {
            decided: Mutex::default(),
            answer_seconds: seconds(),
            commit_seconds: seconds(),
            batch_events: Histogram::new(exponential_buckets(1.0, 4.0, 8)),
            panics: AtomicU64::new(0),
            windows: Mutex::default(),
        }
    }
}

impl Counters {
    /// Verdicts so far by decision and model.
    #[must_use]
    pub fn decided(&self) -> BTreeMap<(String, String), u64> {
        self.decided.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds one round's verdicts.
    pub fn add_decided<'a>(&self, model: &str, decisions: impl Iterator<Item = (&'a str, u64)>) {
        let mut decided = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        for (decision, count) in decisions {
            *decided.entry((decision.to_owned(), model.to_owned())).or_default() += count;
        }
    }

    /// What the windows held at the end of the last round; None where there are none.
    #[must_use]
    pub fn windows(&self) -> Option<WindowFigures> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_windows(&self, figures: Option<WindowFigures>) {
        *self.windows.lock().unwrap_or_else(PoisonError::into_inner) = figures;
    }

    pub fn add_panic(&self) {
        self.panics.fetch_add(1, Relaxed);
    }
}
