//! Out to the sinks: one task and one cursor a sink, independent of each other and of the ingest.
//!
//! A sink reads the log from its cursor on (newest chunks from memory, older ones from the store), hands
//! the verdicts over, and moves its cursor only behind what the other side has confirmed. Errors are typed:
//! a *transient* one is tried again for ever, with back-off and jitter; one of the *configuration* parks the
//! sink with an alarm and is tried slowly; *poison*, a record refused for what it is, is set aside and the
//! rest flow on.

mod feed;
pub mod file;
pub mod http;
mod inflight;
pub mod kafka;
pub mod mqtt;
mod poison;
pub mod postgres;
mod status;
#[cfg(test)]
mod tests;

pub use feed::Feed;
pub use inflight::InFlight;
pub use poison::poison_entry;
pub use status::SinkStatus;

use crate::store::{Calls, CaseChange, QuarantineEntry};
use crate::verdict::{Verdict, write_cloud_event, write_json};
use std::future::Future;
use std::pin::Pin;

/// How a verdict is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    #[default]
    Json,
    CloudEvents,
}

impl Encoding {
    /// Appends the verdict, without a line end.
    pub fn write(self, verdict: &Verdict<'_>, out: &mut Vec<u8>) {
        match self {
            Self::Json => write_json(verdict, out),
            Self::CloudEvents => write_cloud_event(verdict, out),
        }
    }
}

/// Which decisions a sink wants; none given means all.
#[derive(Clone, Debug, Default)]
pub struct Filter(pub Option<Vec<String>>);

impl Filter {
    #[must_use]
    pub fn wants(&self, decision: &str) -> bool {
        self.0.as_ref().is_none_or(|wanted| wanted.iter().any(|wanted| wanted == decision))
    }
}

/// A sink's way to set a record aside: the quarantine entry and the sink's cursor behind the record, in one
/// commit. To be asked only when everything before the record is confirmed.
pub trait SetAside: Send + Sync {
    /// `next` is the sequence after the record's.
    fn set_aside(&self, entry: QuarantineEntry, sink: &str, next: u64) -> SettingAside;
}

/// What a sink whose calls must not be made twice has to be durable, in one commit.
#[derive(Debug, Default)]
pub struct Entry {
    pub cases: Vec<CaseChange>,
    /// Sink and the sequence behind which its cursor is then.
    pub cursor: Option<(String, u64)>,
    /// Sink and its count.
    pub calls: Option<(String, Calls)>,
    pub quarantine: Option<QuarantineEntry>,
}

/// Such a sink's way to a commit.
pub trait Book: Send + Sync {
    fn enter(&self, entry: Entry) -> SettingAside;
}

/// Resolves when it is durable.
pub type SettingAside = Pin<Box<dyn Future<Output = Result<(), Stopped>> + Send>>;

/// The engine took it no more: it stopped or failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the engine is stopping")]
pub struct Stopped;
