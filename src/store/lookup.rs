//! Observations and labels read back: for the fold at start, for labels, for backfill.

use super::error::StoreError;
use super::keys;
use super::label::{Label, LabelChunk};
use super::observation::ObservationChunk;
use super::observed;
use super::shared::Store;
use crate::event::identity_fingerprint;
use std::ops::ControlFlow;
use std::sync::{Arc, PoisonError};

/// Values read between two times that the log engine is made to collect its garbage.
const COLLECT_EVERY: usize = 64;

impl Store {
    /// The committed observation of a verdict: the chunk it stands in and its place there. None where there is none,
    /// or no longer. The chunk read last is kept.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn observation(&self, sequence: u64) -> Result<Option<(Arc<ObservationChunk>, usize)>, StoreError> {
        if sequence >= self.committed() {
            return Ok(None);
        }
        let mut last = self.last_observed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((chunk, place)) = last.as_ref().and_then(|chunk| Some((chunk, chunk.place(sequence)?))) {
            return Ok(Some((Arc::clone(chunk), place)));
        }
        let Some((key, value)) = self.medium.last_before(&keys::observation(sequence + 1))? else { return Ok(None) };
        let like = last.as_ref().map(|chunk| &chunk.schema);
        let Some(chunk) = observed::decode(&key, &value, like).map(Arc::new) else { return Ok(None) };
        *last = Some(Arc::clone(&chunk));
        Ok(chunk.place(sequence).map(|place| (chunk, place)))
    }

    /// The newest committed observation of an event, known by its fingerprint and its time: the chunk it stands in and
    /// its place there. Reads the chunks in whose range of times it lies: mostly one, more where times are in disorder.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn observation_of(
        &self,
        identity: u64,
        time_us: i64,
    ) -> Result<Option<(Arc<ObservationChunk>, usize)>, StoreError> {
        let committed = self.committed();
        let around = self.observed().around(time_us);
        for first in around {
            let key = keys::observation(first);
            let Some(value) = self.medium.get(&key)? else { continue };
            let Some(chunk) = observed::decode(&key, &value, None) else { continue };
            let place = chunk
                .rows
                .iter()
                .rposition(|row| row.identity == identity && row.time_us == time_us && row.sequence < committed);
            if let Some(place) = place {
                return Ok(Some((Arc::new(chunk), place)));
            }
        }
        Ok(None)
    }

    /// Hands out the committed observations, ascending, from a sequence on, until the callback breaks; the first chunk
    /// may start before it. Damaged chunks are passed over.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn observations(
        &self,
        from_sequence: u64,
        each: &mut dyn FnMut(&ObservationChunk) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let committed = self.committed();
        let start = self.medium.last_before(&keys::observation(from_sequence.saturating_add(1)))?;
        let start = start.and_then(|(key, _)| keys::observation_first(&key)).unwrap_or(from_sequence);
        let mut like = None;
        for (n, entry) in self.medium.scan(keys::OBSERVATION, &keys::observation(start)).enumerate() {
            let (key, value) = entry?;
            if n % COLLECT_EVERY == COLLECT_EVERY - 1 {
                self.medium.collect_garbage(2 * COLLECT_EVERY);
            }
            let Some(mut chunk) = observed::decode(&key, &value, like.as_ref()) else { continue };
            if chunk.rows.last().is_some_and(|row| row.sequence < from_sequence) {
                continue;
            }
            if !chunk.keep(0, committed) || each(&chunk).is_break() {
                break;
            }
            like = Some(chunk.schema);
        }
        Ok(())
    }

    /// Hands out the labels kept, in the order of their commits: of two of one event the later counts. Reads the whole
    /// family: for the start and for looks.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn each_label(&self, each: &mut dyn FnMut(Label)) -> Result<(), StoreError> {
        self.labels_from(0, each).map(drop)
    }

    /// The same from a place on that an earlier call gave; gives the place to go on from. The labels of one chunk come
    /// again with those that were added to it.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn labels_from(&self, place: u64, each: &mut dyn FnMut(Label)) -> Result<u64, StoreError> {
        let mut last = place;
        for entry in self.medium.scan(keys::LABEL, &keys::label(place)) {
            let (_, value) = entry?;
            let Some(chunk) = LabelChunk::of_value(&value) else { continue };
            last = chunk.number;
            for mut label in chunk.labels {
                if chunk.is_old {
                    label.identity = identity_fingerprint(self.seed, &label.source, &label.id);
                }
                each(label);
            }
        }
        Ok(last)
    }
}
