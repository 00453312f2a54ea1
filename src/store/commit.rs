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
    /// Events of this very commit as they are kept for a replay.
    pub kept: Option<Kept>,
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

/// Lines of events, each under the sequence of its verdict.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// Sequence and the end of its line in `bytes`.
    rows: Vec<(u64, usize)>,
    bytes: Vec<u8>,
    /// Events whose line is longer than what is kept of one.
    pub(crate) passed_over: u64,
}

impl Kept {
    /// Adds a line; sequences ascend. One longer than [`super::LINE_BYTES_MAX`] is passed over and
    /// counted.
    pub fn push(&mut self, sequence: u64, line: &[u8]) {
        if line.len() > super::LINE_BYTES_MAX {
            self.passed_over += 1;
        } else {
            self.bytes.extend_from_slice(line);
            self.rows.push((sequence, self.bytes.len()));
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.passed_over == 0
    }

    /// Bytes of the lines.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Sequences and lines, ascending.
    pub fn lines(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let starts = std::iter::once(0).chain(self.rows.iter().map(|row| row.1));
        self.rows
            .iter()
            .zip(starts)
            .map(|((sequence, end), start)| (*sequence, self.bytes.get(start..*end).unwrap_or_default()))
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
