//! The newest chunks, in memory: what the sinks read as a rule and what most repeats are answered from.

use super::chunk::Chunk;
use std::collections::VecDeque;
use std::sync::Arc;

/// A ring of chunks, bounded in bytes. A sink that lags reads the log instead; the ring never waits.
#[derive(Debug)]
pub struct Tail {
    chunks: VecDeque<Arc<Chunk>>,
    bytes: usize,
    budget: usize,
}

impl Tail {
    pub fn new(budget: usize) -> Self {
        Self { chunks: VecDeque::new(), bytes: 0, budget }
    }

    /// Adds a chunk; sequences ascend.
    pub fn push(&mut self, chunk: Arc<Chunk>) {
        self.bytes += chunk.bytes();
        self.chunks.push_back(chunk);
        while self.bytes > self.budget {
            let Some(oldest) = self.chunks.pop_front() else { break };
            self.bytes -= oldest.bytes();
        }
    }

    /// The chunk that holds this sequence, if it is in the ring.
    pub fn chunk_of(&self, sequence: u64) -> Option<Arc<Chunk>> {
        let at = self.chunks.partition_point(|chunk| chunk.next() <= sequence);
        self.chunks.get(at).filter(|chunk| chunk.first() <= sequence).cloned()
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
