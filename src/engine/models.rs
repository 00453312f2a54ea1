//! Which models score a batch.
//!
//! A batch holds the fields that one line-up's features want ([`EventBatch::columns`]). A new line-up takes over
//! between two submissions. What was decoded for the old one, and wants other fields than the new one, is still scored
//! by the old: it stays as long as such a batch can come, which its handle on the columns tells.

use super::WAVE_EVENTS_MAX;
use super::lineup::{Lineup, Scorers};
use super::shadow::ShadowRun;
use super::windows::{Refolded, check_windows};
use crate::event::{EventBatch, Pointer};
use crate::features::{CellReader, FeatureSet, Plan};
use crate::model::{Bundle, Scorer};
use std::sync::{Arc, Mutex, PoisonError};

/// Changes that wait for the leader, in order: what was decoded for one that is replaced at once must still find it.
#[derive(Default)]
pub(super) struct Swap(Mutex<Vec<(Arc<Lineup>, Shares)>>);

/// What parts of the memory plan the engine keeps to, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    pub index: u64,
    pub windows: u64,
}

impl Swap {
    /// From the next submission on these score, and index and windows keep to these budgets.
    pub fn put(&self, lineup: Arc<Lineup>, shares: Shares) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((lineup, shares));
    }

    pub fn take(&self) -> Vec<(Arc<Lineup>, Shares)> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The models in use, their scorers, and models that batches may still need.
pub(super) struct Models {
    /// The one whose verdicts count.
    pub bundle: Arc<Bundle>,
    pub scorer: Scorer,
    pub shadow: Option<ShadowRun>,
    /// The first model's features, as the windows in force are arranged.
    features: FeatureSet,
    /// Where the windows' columns stand among the fields of a batch.
    reading: CellReader,
    /// Where the fields of the rules' own do.
    places: Vec<usize>,
    lineup: Arc<Lineup>,
    /// Scores whatever it fits.
    newest: Arc<Lineup>,
    older: Vec<Arc<Lineup>>,
    swap: Arc<Swap>,
    /// Whether the models that batches can be for are others than before.
    rearranged: bool,
    /// What the log holds for those that came.
    refolded: Vec<Refolded>,
}

impl Models {
    pub fn new(lineup: Arc<Lineup>, swap: Arc<Swap>) -> Self {
        let Scorers { first, shadow } = lineup.take_scorers();
        let (bundle, newest) = (Arc::clone(lineup.bundle()), Arc::clone(&lineup));
        let features = bundle.features().clone();
        let reading = CellReader::default();
        let places = places_of(&lineup);
        Self {
            bundle,
            scorer: first,
            shadow,
            features,
            reading,
            places,
            lineup,
            newest,
            older: Vec::new(),
            swap,
            rearranged: false,
            refolded: Vec::new(),
        }
    }

    /// Has those in use read windows that are arranged like this.
    pub fn bind(&mut self, plan: Option<&Plan>) {
        self.features = self.bundle.features().clone();
        self.places = places_of(&self.lineup);
        let Some(plan) = plan else { return };
        self.features = self.features.bound_to(plan);
        self.reading = plan.reading(self.lineup.pointers());
        if let Some(shadow) = &mut self.shadow {
            shadow.bind(plan);
        }
    }

    /// Features of the model whose verdicts count.
    pub fn features(&self) -> &FeatureSet {
        &self.features
    }

    /// Where the fields of the rules' own stand in the batches of the models in use.
    pub fn places(&self) -> &[usize] {
        &self.places
    }

    /// Where the windows' columns stand in the batches of the models in use.
    pub fn reading(&self) -> &CellReader {
        &self.reading
    }

    /// Whether [`Self::plan`] may have become another one since it was asked last.
    pub fn take_rearranged(&mut self) -> bool {
        std::mem::take(&mut self.rearranged)
    }

    /// What the windows must hold for all models that batches can still be for.
    pub fn plan(&self) -> Option<Arc<Plan>> {
        if self.older.is_empty() {
            return self.newest.plan().cloned();
        }
        let all = std::iter::once(&self.newest).chain(self.older.iter().rev());
        let joined = Plan::joined(all.filter_map(|lineup| lineup.plan().map(AsRef::as_ref)));
        // Together they may want more of an event than the store takes: then the newest has its way.
        let joined = joined.filter(|joined| check_windows(joined).is_ok()).map(Arc::new);
        joined.or_else(|| self.newest.plan().cloned())
    }

    /// What was folded for those that came since this was asked last.
    pub fn take_refolded(&mut self) -> Vec<Refolded> {
        std::mem::take(&mut self.refolded)
    }

    /// The scorer anew: after a panic nothing of its buffers is trusted.
    pub fn renew(&mut self) {
        self.scorer = self.bundle.scorer(WAVE_EVENTS_MAX);
    }

    /// Takes over what [`Swap`] holds, with the budgets, and lets go of models that no batch can need any
    /// more. Cheap where there is nothing to do.
    pub fn adopt(&mut self) -> Option<Shares> {
        let mut swapped = None;
        for (lineup, shares) in self.swap.take() {
            swapped = Some(shares);
            self.refolded.extend(lineup.take_refolded());
            // A reload that changes something else hands in the same one again.
            if !Arc::ptr_eq(&self.newest, &lineup) {
                self.older.retain(|older| !Arc::ptr_eq(older, &lineup));
                self.older.push(std::mem::replace(&mut self.newest, lineup));
                self.rearranged = true;
            }
        }
        let before = self.older.len();
        self.older.retain(|lineup| Arc::strong_count(lineup.pointers()) > 1);
        self.rearranged |= self.older.len() < before;
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

fn places_of(lineup: &Lineup) -> Vec<usize> {
    let place = |wanted| lineup.pointers().iter().position(|there| there == wanted).unwrap_or(usize::MAX);
    lineup.bundle().rules().pointers().iter().map(place).collect()
}

fn is_same(a: &Arc<[Pointer]>, b: &Arc<[Pointer]>) -> bool {
    Arc::ptr_eq(a, b) || a == b
}
