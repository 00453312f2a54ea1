//! What a source that is no server shows of itself: one that reads a device, a file or a broker.

use crate::link::{LinkState, Trouble};
use crate::notice;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Link and counts of one source; written by its task, read by `status` and the metrics.
#[derive(Debug, Default)]
pub struct SourceStatus {
    pub name: String,
    /// Its type in the config.
    pub kind: &'static str,
    /// What it reads from, for people.
    pub origin: String,
    pub link: LinkState,
    /// Connections made again, devices opened again.
    pub reconnects: AtomicU64,
    /// Counts of its own by name, such as bytes that were no frame.
    counts: Mutex<Vec<(&'static str, u64)>>,
    /// What shortens a promise just now, a line each: shown until it is taken back.
    warnings: Mutex<Vec<(&'static str, String)>>,
}

impl SourceStatus {
    #[must_use]
    pub fn new(name: &str, kind: &'static str, origin: String) -> Self {
        Self { name: name.to_owned(), kind, origin, ..Self::default() }
    }

    /// Notes a failed try, and says it in the log where it is news.
    pub fn failed(&self, trouble: Trouble, error: &str) {
        if !self.link.failed(trouble, error) {
            return;
        }
        let source = &self.name;
        if trouble == Trouble::Configuration {
            tracing::error!(
                kind = notice::SOURCE_BLOCKED.kind,
                source,
                error,
                "the source needs a person; it is tried again slowly"
            );
        } else {
            tracing::warn!(kind = notice::SOURCE_DOWN.kind, source, error, "the source fails; it is tried again");
        }
    }

    /// Notes that it works.
    pub fn recovered(&self) {
        if self.link.recovered() {
            self.reconnects.fetch_add(1, Relaxed);
            tracing::info!(kind = notice::SOURCE_UP.kind, source = self.name, "the source gives events again");
        }
    }

    /// Adds to a count of its own.
    pub fn add(&self, name: &'static str, count: u64) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += count,
            None => counts.push((name, count)),
        }
    }

    /// Its own counts by name.
    #[must_use]
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts a warning under a name of its own; None takes it back.
    pub fn warn(&self, name: &'static str, warning: Option<String>) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        warnings.retain(|(known, _)| *known != name);
        warnings.extend(warning.map(|warning| (name, warning)));
    }

    /// The warnings in force.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        warnings.iter().map(|(_, warning)| warning.clone()).collect()
    }
}
