//! Which models score a batch.
//!
//! A batch holds the fields that one line-up's features want ([`EventBatch::columns`]). A new line-up takes over
//! between two submissions. What was decoded for the old one, and wants other fields than the new one, is still scored
//! by the old: it stays as long as such a batch can come, which its handle on the columns tells.

use super::WAVE_EVENTS_MAX;
use super::lineup::{Lineup, Scorers};
use super::shadow::ShadowRun;
use crate::event::{EventBatch, Pointer};
use crate::model::{Bundle, Scorer};
use std::sync::{Arc, Mutex, PoisonError};

/// Changes that wait for the leader, in order: what was decoded for one that is replaced at once must still find it.
#[derive(Default)]
pub(super) struct Swap(Mutex<Vec<(Arc<Lineup>, u64)>>);

impl Swap {
    /// From the next submission on these score, and the index keeps to this budget in bytes.
    pub fn put(&self, lineup: Arc<Lineup>, index_bytes: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((lineup, index_bytes));
    }

    pub fn take(&self) -> Vec<(Arc<Lineup>, u64)> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The models in use, their scorers, and models that batches may still need.
pub(super) struct Models {
    /// The one whose verdicts count.
    pub bundle: Arc<Bundle>,
    pub scorer: Scorer,
    pub shadow: Option<ShadowRun>,
    lineup: Arc<Lineup>,
    /// Scores whatever it fits.
    newest: Arc<Lineup>,
    older: Vec<Arc<Lineup>>,
    swap: Arc<Swap>,
}

impl Models {
    pub fn new(lineup: Arc<Lineup>, swap: Arc<Swap>) -> Self {
        let Scorers { first, shadow } = lineup.take_scorers();
        let (bundle, newest) = (Arc::clone(lineup.bundle()), Arc::clone(&lineup));
        Self { bundle, scorer: first, shadow, lineup, newest, older: Vec::new(), swap }
    }

    /// The scorer anew: after a panic nothing of its buffers is trusted.
    pub fn renew(&mut self) {
        self.scorer = self.bundle.scorer(WAVE_EVENTS_MAX);
    }

    /// Takes over what [`Swap`] holds, with the budget of the index, and lets go of models that no batch can need any
    /// more. Cheap where there is nothing to do.
    pub fn adopt(&mut self) -> Option<u64> {
        let mut swapped = None;
        for (lineup, index_bytes) in self.swap.take() {
            swapped = Some(index_bytes);
            // A reload that changes something else hands in the same one again.
            if !Arc::ptr_eq(&self.newest, &lineup) {
                self.older.retain(|older| !Arc::ptr_eq(older, &lineup));
                self.older.push(std::mem::replace(&mut self.newest, lineup));
            }
        }
        self.older.retain(|lineup| Arc::strong_count(lineup.pointers()) > 1);
        swapped
    }

    /// Whether newer models took over and no batch can need those in use any more.
    pub fn is_over(&self) -> bool {
        !Arc::ptr_eq(&self.lineup, &self.newest) && Arc::strong_count(self.lineup.pointers()) == 1
    }

    /// Fields that each event of these models' batches has.
    pub fn fields(&self) -> usize {
        self.lineup.pointers().len()
    }

    /// Whether the models in use are those for this batch.
    pub fn fits(&self, batch: &EventBatch) -> bool {
        Arc::ptr_eq(&self.lineup, self.of(batch))
    }

    /// Takes the models for this batch in use.
    pub fn change(&mut self, batch: &EventBatch) {
        self.put_in(Arc::clone(self.of(batch)));
    }

    /// Takes the newest in use.
    pub fn go_on(&mut self) {
        self.put_in(Arc::clone(&self.newest));
    }

    fn put_in(&mut self, lineup: Arc<Lineup>) {
        self.lineup = lineup;
        self.bundle = Arc::clone(self.lineup.bundle());
        let Scorers { first, shadow } = self.lineup.take_scorers();
        (self.scorer, self.shadow) = (first, shadow);
    }

    /// The newest line-up that wants the fields that the batch holds.
    fn of(&self, batch: &EventBatch) -> &Arc<Lineup> {
        let Some(columns) = &batch.columns else { return &self.newest };
        let fits = |lineup: &&Arc<Lineup>| is_same(lineup.pointers(), columns);
        std::iter::once(&self.newest).chain(self.older.iter().rev()).find(fits).unwrap_or(&self.newest)
    }
}

fn is_same(a: &Arc<[Pointer]>, b: &Arc<[Pointer]>) -> bool {
    Arc::ptr_eq(a, b) || a == b
}
