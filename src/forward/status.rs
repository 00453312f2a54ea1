//! What a sink shows of itself.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Counts and the last error of one sink; written by its task, read by `status` and the metrics.
#[derive(Debug, Default)]
pub struct SinkStatus {
    pub name: String,
    /// Verdicts confirmed since the start.
    pub delivered: AtomicU64,
    /// Transient errors since the start.
    pub transient: AtomicU64,
    /// Records that could not be rendered; each is a bug.
    pub poison: AtomicU64,
    up: AtomicBool,
    last_error: Mutex<Option<String>>,
}

impl SinkStatus {
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), up: AtomicBool::new(true), ..Self::default() }
    }

    #[must_use]
    pub fn is_up(&self) -> bool {
        self.up.load(Relaxed)
    }

    #[must_use]
    pub fn last_error(&self) -> Option<String> {
        self.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes a failed try; true where the sink was up before it.
    pub fn failed(&self, error: &str) -> bool {
        self.transient.fetch_add(1, Relaxed);
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_owned());
        self.up.swap(false, Relaxed)
    }

    /// Notes success; true where the sink was down before it.
    pub fn recovered(&self) -> bool {
        !self.up.swap(true, Relaxed)
    }
}
