//! A submission on its way through one round or several.

use super::{Answer, Counters, Delivery, Outcome, Submission};
use crate::store::Chunk;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A submission that is being worked off.
pub(super) struct Pending {
    pub submission: Submission,
    pub outcomes: Vec<Outcome>,
    pub refusal: Option<Arc<str>>,
    pub chunks: Vec<Arc<Chunk>>,
    /// Whether records of the round in hand belong to it.
    pub fresh: bool,
}

impl Pending {
    /// The answer, after the commit.
    pub fn answer(self, counters: &Counters) -> Delivery {
        let Submission { batch, origin, arrived, held, reply, .. } = self.submission;
        for outcome in &self.outcomes {
            let counter = match outcome {
                Outcome::Verdict { replayed: false, .. } => &origin.accepted,
                Outcome::Verdict { replayed: true, .. } => &origin.duplicate,
                Outcome::Label { .. } => &origin.labels,
                Outcome::Conflict => &origin.conflict,
                Outcome::Bad => &origin.quarantined,
                Outcome::Refused => &origin.refused,
            };
            counter.fetch_add(1, Relaxed);
        }
        // What the daemon makes durable by itself is no request.
        if !self.outcomes.is_empty() {
            counters.answer_seconds.observe(arrived.elapsed().as_secs_f64());
        }
        let mut chunks = self.chunks;
        chunks.sort_unstable_by_key(|chunk| chunk.first());
        let answer = Answer { batch, outcomes: self.outcomes, refusal: self.refusal, chunks, held };
        Delivery { answer, reply }
    }
}
