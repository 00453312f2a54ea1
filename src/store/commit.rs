//! What one commit carries, and what it gives back.

use super::chunk::Chunk;
use super::label::Label;
use super::model_use::ModelUse;
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
    /// Quarantine entries to remove.
    pub quarantine_drop: Vec<u64>,
    /// Sink cursors to move in this very commit: name, next sequence. One never moves back.
    pub cursors: Vec<(String, u64)>,
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
            && self.quarantine_drop.is_empty()
            && self.cursors.is_empty()
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
