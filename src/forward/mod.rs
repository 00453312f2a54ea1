//! Out to the sinks: one task and one cursor a sink, independent of each other and of the ingest.
//!
//! A sink reads the log from its cursor on (newest chunks from memory, older ones from the store), hands
//! the verdicts over, and moves its cursor only behind what the other side has confirmed. Errors are typed:
//! a *transient* one is tried again for ever, with back-off and jitter.

mod backoff;
pub mod file;
mod status;

pub use backoff::Backoff;
pub use status::SinkStatus;

use crate::verdict::{Verdict, write_cloud_event, write_json};

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
