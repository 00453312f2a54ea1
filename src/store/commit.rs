//! What one commit carries, and what it gives back.

use super::case::{Calls, CaseChange};
use super::chunk::Chunk;
use super::label::Label;
use super::model_use::ModelUse;
use super::observation::Observed;
use super::quarantine::QuarantineEntry;
use std::sync::Arc;

/// Everything that is to become durable together.
#[derive(Clone, Debug, Default)]
pub struct Commit {
    /// From [`super::BatchBuilder::seal`], in order.
    pub chunks: Vec<Arc<Chunk>>,
    /// Offsets of sources: name, bytes (at most [`super::OFFSET_BYTES_MAX`]).
    pub offsets: Vec<(String, Vec<u8>)>,
    pub quarantine: Vec<QuarantineEntry>,
    pub labels: Vec<Label>,
    /// What the windows need of the events of this very commit.
    pub observed: Option<Arc<Observed>>,
    /// Event time at and before which no window needs anything any more: observations whose watermark it has passed, and
    /// labels of events before it, may go; with the greatest number all of them. None: it stands where it was told last,
    /// and where it was not told since the start nothing that a window may need goes.
    pub horizon_us: Option<i64>,
    /// Quarantine entries to remove.
    pub quarantine_drop: Vec<u64>,
    /// Sink cursors to move in this very commit: name, next sequence. One never moves back.
    pub cursors: Vec<(String, u64)>,
    /// What becomes of calls that are not settled, in order.
    pub cases: Vec<CaseChange>,
    /// How many calls sinks have made: name, count.
    pub calls: Vec<(String, Calls)>,
    /// Models taken into use; their numbers are given by the store.
    pub models: Vec<ModelUse>,
}

impl Commit {
    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
            && self.offsets.is_empty()
            && self.quarantine.is_empty()
            && self.labels.is_empty()
            && self.observed.as_ref().is_none_or(|observed| observed.rows.is_empty())
            && self.quarantine_drop.is_empty()
            && self.cursors.is_empty()
            && self.cases.is_empty()
            && self.calls.is_empty()
            && self.models.is_empty()
    }
}

#[derive(Clone, Debug, Default)]
pub struct Committed {
    /// The sequence after the last durable record.
    pub next: u64,
    /// Sequences of the quarantine entries, in order.
    pub quarantine: Vec<u64>,
    /// Bytes of the values handed to the log engine.
    pub bytes: u64,
}
