//! Who scores: the model, and beside it perhaps a shadow, which is never acted on.

use super::WAVE_EVENTS_MAX;
use super::shadow::{Shadow, ShadowRun};
use super::windows::{Refolded, refold};
use crate::event::Pointer;
use crate::features::{FeatureSet, Limits, Plan};
use crate::model::{Bundle, Scorer};
use crate::store::{Store, StoreError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Rows that a model scores before it is taken into use: one, and then so many at once.
const WARM_ROWS: usize = 8;
/// What takes longer than this for a row is as warm as it gets.
const WARM_ROW_MAX: Duration = Duration::from_millis(20);

/// The models over one set of fields. Immutable but for what it counts; swapped as a whole.
pub struct Lineup {
    bundle: Arc<Bundle>,
    shadow: Option<Arc<Shadow>>,
    /// Its own handle, by which it is known who still needs it.
    pointers: Arc<[Pointer]>,
    /// What their window features need, where they have any.
    plan: Option<Arc<Plan>>,
    warmed: Mutex<Option<Scorers>>,
    refolded: Mutex<Option<Refolded>>,
}

/// One thread's way to the models.
pub(super) struct Scorers {
    pub first: Scorer,
    pub shadow: Option<ShadowRun>,
}

impl Lineup {
    /// A model by itself.
    #[must_use]
    pub fn alone(bundle: Arc<Bundle>) -> Arc<Self> {
        Self::reading(bundle, None, &[])
    }

    /// A model with another one as its shadow, which may take so long for a row, on average.
    #[must_use]
    pub fn with_shadow(bundle: Arc<Bundle>, shadow: Arc<Bundle>, limit: Duration) -> Arc<Self> {
        Self::reading(bundle, Some((shadow, limit)), &[])
    }

    /// A model, a shadow with its limit, and fields that are looked for beside those that these read.
    #[must_use]
    pub fn reading(bundle: Arc<Bundle>, shadow: Option<(Arc<Bundle>, Duration)>, more: &[Pointer]) -> Arc<Self> {
        let first = bundle.features().pointers();
        let second: &[Pointer] = shadow.as_ref().map_or(&[], |(shadow, _)| shadow.features().pointers());
        let union = crate::features::union;
        let pointers = union(&union(&union(first, bundle.rules().pointers()), second), more);
        let shadow = shadow.map(|(shadow, limit)| Arc::new(Shadow::new(shadow, &pointers, limit)));
        let sets: Vec<&FeatureSet> =
            std::iter::once(bundle.features()).chain(shadow.iter().map(|shadow| shadow.bundle().features())).collect();
        let plan = Plan::of(&sets).map(Arc::new);
        Arc::new(Self { bundle, shadow, pointers, plan, warmed: Mutex::default(), refolded: Mutex::default() })
    }

    /// The model whose verdicts count.
    #[must_use]
    pub fn bundle(&self) -> &Arc<Bundle> {
        &self.bundle
    }

    #[must_use]
    pub fn shadow(&self) -> Option<&Arc<Shadow>> {
        self.shadow.as_ref()
    }

    /// The fields to look for in each event, each once.
    #[must_use]
    pub fn pointers(&self) -> &Arc<[Pointer]> {
        &self.pointers
    }

    /// What their window features need; None where they have none.
    #[must_use]
    pub fn plan(&self) -> Option<&Arc<Plan>> {
        self.plan.as_ref()
    }

    /// Has what the log says of windows that are not held yet taken over with these models: `held` is what the windows
    /// hold now. Takes as long as reading the log does.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn refold(&self, store: &Store, held: Option<&Arc<Plan>>, limits: Limits) -> Result<(), StoreError> {
        let Some(plan) = &self.plan else { return Ok(()) };
        let missing = match held {
            Some(held) => plan.without(held).map(Arc::new),
            None => Some(Arc::clone(plan)),
        };
        if let Some(missing) = missing {
            *self.refolded.lock().unwrap_or_else(PoisonError::into_inner) = Some(refold(store, &missing, limits)?);
        }
        Ok(())
    }

    pub(super) fn take_refolded(&self) -> Option<Refolded> {
        self.refolded.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Allocates what scoring needs and scores a few rows, so that the first events of a new model do not pay for it.
    /// Takes as long as that takes: not for a thread that has others waiting.
    pub fn warm(&self) {
        let mut scorers = self.scorers();
        warm(&self.bundle, &mut scorers.first);
        if let (Some(shadow), Some(run)) = (&self.shadow, &mut scorers.shadow) {
            warm(shadow.bundle(), run.scorer());
        }
        *self.warmed.lock().unwrap_or_else(PoisonError::into_inner) = Some(scorers);
    }

    fn scorers(&self) -> Scorers {
        let shadow = self.shadow.as_ref().map(|shadow| ShadowRun::new(Arc::clone(shadow)));
        Scorers { first: self.bundle.scorer(WAVE_EVENTS_MAX), shadow }
    }

    /// Those that were warmed, once; then new ones.
    pub(super) fn take_scorers(&self) -> Scorers {
        let warmed = self.warmed.lock().unwrap_or_else(PoisonError::into_inner).take();
        warmed.unwrap_or_else(|| self.scorers())
    }
}

fn warm(bundle: &Bundle, scorer: &mut Scorer) {
    let width = bundle.features().width();
    let rows = vec![0.0; width * WARM_ROWS];
    let mut out = [0.0; WARM_ROWS];
    let row = rows.get(..width).unwrap_or_default();
    let begun = Instant::now();
    scorer.score(row, &mut out[..1]);
    if begun.elapsed() <= WARM_ROW_MAX {
        scorer.score(&rows, &mut out);
    }
    scorer.reasons(row);
}
