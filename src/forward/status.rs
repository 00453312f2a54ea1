//! What a sink shows of itself.

use super::http::Desk;
use crate::link::{LinkState, Trouble};
use crate::notice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts and link of one sink; written by its task, read by `status` and the metrics.
#[derive(Debug, Default)]
pub struct SinkStatus {
    pub name: String,
    /// Its type in the config.
    pub kind: &'static str,
    /// Where it delivers to, for people.
    pub target: String,
    /// Verdicts confirmed since the start.
    pub delivered: AtomicU64,
    pub link: LinkState,
    /// The cases of a guarded sink.
    pub desk: Option<Arc<Desk>>,
}

impl SinkStatus {
    #[must_use]
    pub fn new(name: &str, kind: &'static str, target: String) -> Self {
        Self { name: name.to_owned(), kind, target, ..Self::default() }
    }

    pub fn add_delivered(&self, count: u64) {
        self.delivered.fetch_add(count, Relaxed);
    }

    /// Notes a failed try, and says it in the log where it is news.
    pub fn failed(&self, trouble: Trouble, error: &str) {
        if !self.link.failed(trouble, error) {
            return;
        }
        let sink = &self.name;
        if trouble == Trouble::Configuration {
            tracing::error!(
                kind = notice::SINK_BLOCKED.kind,
                sink,
                error,
                "the sink needs a person; its verdicts wait in the store, and it is tried again slowly"
            );
        } else {
            tracing::warn!(
                kind = notice::SINK_DOWN.kind,
                sink,
                error,
                "the sink fails; its verdicts wait in the store"
            );
        }
    }

    /// Notes that it works.
    pub fn recovered(&self) {
        if self.link.recovered() {
            tracing::info!(kind = notice::SINK_UP.kind, sink = self.name, "the sink takes verdicts again");
        }
    }

    /// Notes a record that is set aside.
    pub fn poisoned(&self, sequence: u64, event_id: Option<&str>, reason: &str) {
        self.link.note(Trouble::Poison, reason);
        let (kind, sink) = (notice::SINK_POISON.kind, &self.name);
        tracing::error!(
            kind,
            sink,
            sequence,
            event_id,
            error = reason,
            "the sink refuses a verdict for what it is: set aside"
        );
    }
}
