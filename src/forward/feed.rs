//! Reading the log for one sink.

use super::Filter;
use crate::store::{Chunk, Store, StoreError};
use crate::verdict::Verdict;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The log from a sequence on, as far as a sink wants it. Holds one chunk at a time.
pub struct Feed {
    store: Arc<Store>,
    filter: Filter,
    next: u64,
    chunk: Option<Arc<Chunk>>,
}

impl Feed {
    #[must_use]
    pub fn new(store: Arc<Store>, filter: Filter, from: u64) -> Self {
        Self { store, filter, next: from, chunk: None }
    }

    /// Everything below was read.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Whether nothing more is committed.
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        self.next >= self.store.committed()
    }

    /// Goes back or on to a sequence.
    pub fn seek(&mut self, to: u64) {
        self.next = to;
    }

    /// Hands on what is committed, one verdict at a time with its sequence, passing over what the sink does
    /// not want. A verdict for which `take` breaks was not taken: it comes first the next time.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn read(&mut self, mut take: impl FnMut(u64, &Verdict<'_>) -> ControlFlow<()>) -> Result<(), StoreError> {
        loop {
            let known = self.chunk.take().filter(|chunk| (chunk.first()..chunk.next()).contains(&self.next));
            // Asked for before the log is: what is committed meanwhile must not be taken for read.
            let committed = self.store.committed();
            let chunk = match known {
                Some(chunk) => Some(chunk),
                None => self.store.next_chunk(self.next)?,
            };
            let Some(chunk) = chunk else {
                // Records at the end that were trimmed or set aside will not come.
                self.next = self.next.max(committed);
                return Ok(());
            };
            let first = chunk.first();
            let skip = usize::try_from(self.next.saturating_sub(first)).unwrap_or(usize::MAX);
            self.next = self.next.max(first);
            let mut records = chunk.records().skip(skip);
            let broken = records.any(|record| {
                let wanted = self.filter.wants(record.verdict.decision);
                let broken = wanted && take(self.next, &record.verdict).is_break();
                self.next += u64::from(!broken);
                broken
            });
            drop(records);
            if broken {
                self.chunk = Some(chunk);
                return Ok(());
            }
            self.next = self.next.max(chunk.next());
        }
    }
}
