//! Small chunks, as single events make them, merged into full ones.
//!
//! A run of adjacent small chunks is kept in memory as it is committed. When it would fill a chunk, or has
//! [`RUN_MAX`] members, a later commit's batch removes them and puts the full chunks in their place: the same
//! records under the same sequences. So the log stays compact, and opens quickly, whatever the commits' size.

use super::builder::BatchBuilder;
use super::chunk::{Chunk, RAW_BYTES_MAX};
use super::record::NewRecord;
use std::sync::Arc;

/// Members of a run at which it is merged in any case.
pub const RUN_MAX: usize = 64;
/// Fewer members are not worth the writing.
const RUN_MIN: usize = 8;
/// A chunk up to this length is small, bytes.
const SMALL_BYTES_MAX: usize = RAW_BYTES_MAX / 3;

/// The run of small chunks at the log's end.
#[derive(Debug, Default)]
pub struct SmallRun {
    /// Each with the bytes it takes in the log.
    chunks: Vec<(Arc<Chunk>, u64)>,
    raw: usize,
}

/// What a merge changes.
#[derive(Debug)]
pub struct Merged {
    /// First sequences of the chunks to remove, ascending.
    pub removed: Vec<u64>,
    /// What they took in the log.
    pub removed_bytes: u64,
    pub inserted: Vec<Arc<Chunk>>,
}

impl SmallRun {
    /// Notes a chunk that was committed. Gives a run that is to be merged with the next commit.
    pub fn note(&mut self, chunk: &Arc<Chunk>, bytes: u64) -> Option<Merged> {
        let adjacent = self.chunks.last().is_none_or(|(last, _)| last.next() == chunk.first());
        let small = chunk.raw().len() <= SMALL_BYTES_MAX;
        let mut merged = None;
        let full = self.raw + chunk.raw().len() > RAW_BYTES_MAX || self.chunks.len() >= RUN_MAX;
        if !adjacent || !small || full {
            merged = self.merge();
        }
        if small {
            self.raw += chunk.raw().len();
            self.chunks.push((Arc::clone(chunk), bytes));
        }
        merged
    }

    /// Notes a chunk found in the log at open; what is overdue is merged after the next commit.
    pub fn recover(&mut self, chunk: &Arc<Chunk>, bytes: u64) {
        let adjacent = self.chunks.last().is_none_or(|(last, _)| last.next() == chunk.first());
        let small = chunk.raw().len() <= SMALL_BYTES_MAX;
        if !adjacent || !small || self.chunks.len() >= 4 * RUN_MAX {
            self.chunks.clear();
            self.raw = 0;
        }
        if small {
            self.raw += chunk.raw().len();
            self.chunks.push((Arc::clone(chunk), bytes));
        }
    }

    /// Forgets members below a sequence that were trimmed.
    pub fn trim(&mut self, floor: u64) {
        if self.chunks.first().is_some_and(|(first, _)| first.first() < floor) {
            self.chunks.retain(|(chunk, _)| chunk.first() >= floor);
            self.raw = self.chunks.iter().map(|(chunk, _)| chunk.raw().len()).sum();
        }
    }

    /// Notes what a merged chunk takes in the log, once that is known.
    pub fn inserted(&mut self, chunk: &Arc<Chunk>, bytes: u64) {
        if let Some(member) = self.chunks.iter_mut().find(|(member, _)| Arc::ptr_eq(member, chunk)) {
            member.1 = bytes;
        }
    }

    fn merge(&mut self) -> Option<Merged> {
        self.raw = 0;
        let chunks = std::mem::take(&mut self.chunks);
        if chunks.len() < RUN_MIN {
            return None;
        }
        let inserted = merge(&chunks)?;
        // The last one may be small again: it starts the next run.
        if let Some(last) = inserted.last().filter(|chunk| chunk.raw().len() <= SMALL_BYTES_MAX) {
            self.raw = last.raw().len();
            self.chunks.push((Arc::clone(last), 0));
        }
        Some(Merged {
            removed: chunks.iter().map(|(chunk, _)| chunk.first()).collect(),
            removed_bytes: chunks.iter().map(|(_, bytes)| bytes).sum(),
            inserted,
        })
    }
}

/// The records of adjacent chunks in as few chunks as they fit.
fn merge(chunks: &[(Arc<Chunk>, u64)]) -> Option<Vec<Arc<Chunk>>> {
    let first = chunks.first()?.0.first();
    let mut builder = BatchBuilder::new(first);
    for record in chunks.iter().flat_map(|(chunk, _)| chunk.records()) {
        let sequence = builder.append(&NewRecord::of(&record));
        if sequence.ok() != Some(record.verdict.sequence) {
            return None;
        }
    }
    (Some(builder.next_sequence()) == chunks.last().map(|(chunk, _)| chunk.next())).then(|| builder.seal())
}
