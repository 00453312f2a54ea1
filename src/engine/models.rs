//! Which model scores a batch.
//!
//! A batch holds the fields that one model's features want ([`EventBatch::columns`]). A new model takes over between
//! two submissions. What was decoded for the old one, and wants other fields than the new one, is still scored by
//! the old: it stays as long as such a batch can come, which its handle on the columns tells.

use super::WAVE_EVENTS_MAX;
use crate::event::{EventBatch, Pointer};
use crate::model::{Bundle, Scorer};
use std::sync::{Arc, Mutex, PoisonError};

/// Changes that wait for the leader, in order: what was decoded for one that is replaced at once must still find it.
#[derive(Debug, Default)]
pub(super) struct Swap(Mutex<Vec<(Arc<Bundle>, u64)>>);

impl Swap {
    /// From the next submission on this model scores, and the index keeps to this budget in bytes.
    pub fn put(&self, bundle: Arc<Bundle>, index_bytes: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((bundle, index_bytes));
    }

    pub fn take(&self) -> Vec<(Arc<Bundle>, u64)> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The model in use, its scorer, and models that batches may still need.
pub(super) struct Models {
    pub bundle: Arc<Bundle>,
    pub scorer: Scorer,
    /// Scores whatever it fits.
    newest: Arc<Bundle>,
    older: Vec<Arc<Bundle>>,
    swap: Arc<Swap>,
}

impl Models {
    pub fn new(bundle: Arc<Bundle>, swap: Arc<Swap>) -> Self {
        let (scorer, newest) = (bundle.scorer(WAVE_EVENTS_MAX), Arc::clone(&bundle));
        Self { bundle, scorer, newest, older: Vec::new(), swap }
    }

    /// The scorer anew: after a panic nothing of its buffers is trusted.
    pub fn renew(&mut self) {
        self.scorer = self.bundle.scorer(WAVE_EVENTS_MAX);
    }

    /// Takes over what [`Swap`] holds, with the budget of the index, and lets go of models that no batch can need any
    /// more. Cheap where there is nothing to do.
    pub fn adopt(&mut self) -> Option<u64> {
        let mut swapped = None;
        for (bundle, index_bytes) in self.swap.take() {
            swapped = Some(index_bytes);
            // A reload that changes something else hands in the same one again.
            if !Arc::ptr_eq(&self.newest, &bundle) {
                self.older.retain(|older| !Arc::ptr_eq(older, &bundle));
                self.older.push(std::mem::replace(&mut self.newest, bundle));
            }
        }
        self.older.retain(|bundle| Arc::strong_count(bundle.features().pointers()) > 1);
        swapped
    }

    /// Whether the model in use is the one for this batch.
    pub fn fits(&self, batch: &EventBatch) -> bool {
        Arc::ptr_eq(&self.bundle, self.of(batch))
    }

    /// Takes the model for this batch in use.
    pub fn change(&mut self, batch: &EventBatch) {
        self.bundle = Arc::clone(self.of(batch));
        self.renew();
    }

    /// The newest model that wants the fields that the batch holds.
    fn of(&self, batch: &EventBatch) -> &Arc<Bundle> {
        let Some(columns) = &batch.columns else { return &self.newest };
        let fits = |bundle: &&Arc<Bundle>| is_same(bundle.features().pointers(), columns);
        std::iter::once(&self.newest).chain(self.older.iter().rev()).find(fits).unwrap_or(&self.newest)
    }
}

fn is_same(a: &Arc<[Pointer]>, b: &Arc<[Pointer]>) -> bool {
    Arc::ptr_eq(a, b) || a == b
}
