//! What is known of an identity: among the events of this wave, of this round, of the round in flight, in the store.

use super::Round;
use crate::event::{Event, EventBatch, Item, Label, identity_fingerprint};
use crate::store::{Chunk, StoreError};
use std::sync::Arc;

/// What is known of an identity.
pub(super) enum Known {
    New,
    Same { sequence: u64, chunk: Option<Arc<Chunk>> },
    Conflict { sequence: u64 },
}

impl Round {
    /// Looks an identity up: among the events of this wave, of this round, of the round in flight, in the
    /// store. `first`: the sequence of this wave's first new event.
    pub(super) fn find(&self, batch: &EventBatch, event: &Event, first: u64) -> Result<Known, StoreError> {
        let (source, id) = (batch.str(event.source), batch.str(event.id));
        let known = |sequence: u64, payload: u64, chunk: Option<Arc<Chunk>>| {
            if payload == event.payload { Known::Same { sequence, chunk } } else { Known::Conflict { sequence } }
        };
        for sequence in self.index.find(event.identity) {
            if sequence >= first {
                let place = usize::try_from(sequence - first).unwrap_or(usize::MAX);
                let other = self.fresh.get(place).and_then(|fresh| batch.items.get(fresh.item));
                if let Some(Item::Event(other)) = other
                    && (batch.str(other.source), batch.str(other.id)) == (source, id)
                {
                    return Ok(known(sequence, other.payload, None));
                }
            } else if let Some(record) = self.builder.get(sequence) {
                if (record.verdict.source, record.verdict.id) == (source, id) {
                    return Ok(known(sequence, record.payload, None));
                }
            } else {
                let flying = self.in_flight.iter().find(|chunk| (chunk.first()..chunk.next()).contains(&sequence));
                // Of a chunk of the store one record is kept: a thousand repeats must not hold a thousand chunks.
                let chunk = match flying {
                    Some(chunk) => Some(Arc::clone(chunk)),
                    None => self.store.chunk_of(sequence)?.and_then(|chunk| chunk.excerpt(sequence)),
                };
                let Some(chunk) = chunk else { continue };
                let payload = chunk
                    .get(sequence)
                    .filter(|record| (record.verdict.source, record.verdict.id) == (source, id))
                    .map(|record| record.payload);
                if let Some(payload) = payload {
                    return Ok(known(sequence, payload, Some(chunk)));
                }
            }
        }
        Ok(Known::New)
    }

    /// The durable verdict of (source, id).
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn look_up(&self, source: &str, id: &str) -> Result<Option<(Arc<Chunk>, u64)>, StoreError> {
        for sequence in self.index.find(identity_fingerprint(self.store.seed(), source, id)) {
            if sequence >= self.store.committed() {
                continue;
            }
            if let Some(chunk) = self.store.chunk_of(sequence)?
                && chunk.get(sequence).is_some_and(|r| (r.verdict.source, r.verdict.id) == (source, id))
            {
                return Ok(Some((chunk, sequence)));
            }
        }
        Ok(None)
    }

    /// The sequence of the label's event, if it has a verdict.
    pub(super) fn sequence_of(&self, batch: &EventBatch, label: &Label, first: u64) -> Result<Option<u64>, StoreError> {
        let Label { source, id, key, time_us, identity, raw, .. } = *label;
        let event = Event { source, id, key, time_us, identity, payload: 0, fields: 0, raw };
        Ok(match self.find(batch, &event, first)? {
            Known::New => None,
            Known::Same { sequence, .. } | Known::Conflict { sequence } => Some(sequence),
        })
    }
}
