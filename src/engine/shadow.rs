//! A second model over the same events: scored after the first in the same round, compared, kept with the verdict,
//! and never acted on.
//!
//! It must not cost the first one anything but time, and of that no more than it is allowed: a panic, a mean of more
//! than the limit a row over [`WINDOW_ROWS`] rows, or no score for more than half of them, and it is dropped until the
//! next reload. What a row takes is measured as time of the processor, so that a busy box does not drop it. It has
//! taken at most twice [`WINDOW_ROWS`] times the limit by then, or a single row: a slice is never of more rows than it
//! has scored before.

use super::compare::Comparison;
use crate::event::{Field, Pointer};
use crate::features::{FeatureSet, Plan, View};
use crate::model::{Bundle, Scorer};
use crate::notice;
use crate::store::Shadowed;
use rustix::time::{ClockId, clock_gettime};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// Rows over which it is judged.
pub const WINDOW_ROWS: u64 = 256;
/// Rows scored in one call at most; between calls the time is looked at.
const SLICE_ROWS: usize = 32;

const PANICKED: &str = "its code panicked, which is a bug; please report it";

/// A shadow model with what is known of it.
pub struct Shadow {
    bundle: Arc<Bundle>,
    /// Its features over the fields of both models.
    features: FeatureSet,
    limit: Duration,
    comparison: Mutex<Comparison>,
    dropped: OnceLock<String>,
}

impl Shadow {
    pub(super) fn new(bundle: Arc<Bundle>, pointers: &[Pointer], limit: Duration) -> Self {
        let features = bundle.features().reading(pointers);
        Self { bundle, features, limit, comparison: Mutex::default(), dropped: OnceLock::new() }
    }

    #[must_use]
    pub fn bundle(&self) -> &Arc<Bundle> {
        &self.bundle
    }

    /// What a row may take on average.
    #[must_use]
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Why it scores no more, if it was dropped.
    #[must_use]
    pub fn dropped(&self) -> Option<&str> {
        self.dropped.get().map(String::as_str)
    }

    /// What was seen of it so far.
    #[must_use]
    pub fn comparison(&self) -> Comparison {
        self.counts().clone()
    }

    pub(super) fn counts(&self) -> MutexGuard<'_, Comparison> {
        self.comparison.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn drop_for(&self, why: String) {
        let (kind, model) = (notice::SHADOW_DROPPED.kind, self.bundle.label());
        if self.dropped.set(why).is_ok() {
            let why = self.dropped().unwrap_or_default();
            tracing::warn!(kind, model, why, "the shadow model is dropped until the next reload");
        }
    }
}

/// The engine's way to a shadow: its scorer, and what it said of the wave in hand.
pub(super) struct ShadowRun {
    shadow: Arc<Shadow>,
    scorer: Scorer,
    /// Its features, as the windows in force are arranged.
    features: FeatureSet,
    /// Of the wave's events that have one.
    rows: Vec<f64>,
    /// Which event of the wave each row is of.
    places: Vec<usize>,
    /// Events of the wave.
    events: usize,
    scores: Vec<f64>,
    /// A score an event of the wave, NaN where there is none; empty where nothing was asked.
    said: Vec<f64>,
    /// Rows so far.
    scored: usize,
    window: Window,
}

/// What it is judged by.
#[derive(Clone, Copy, Default)]
struct Window {
    rows: u64,
    unscored: u64,
    spent: Duration,
}

impl ShadowRun {
    pub fn new(shadow: Arc<Shadow>) -> Self {
        let scorer = shadow.bundle.scorer(SLICE_ROWS);
        Self {
            features: shadow.features.clone(),
            shadow,
            scorer,
            rows: Vec::new(),
            places: Vec::new(),
            events: 0,
            scores: Vec::with_capacity(SLICE_ROWS),
            said: Vec::new(),
            scored: 0,
            window: Window::default(),
        }
    }

    pub fn scorer(&mut self) -> &mut Scorer {
        &mut self.scorer
    }

    pub fn shadow(&self) -> &Shadow {
        &self.shadow
    }

    /// Has its features read windows that are arranged like this.
    pub fn bind(&mut self, plan: &Plan) {
        self.features = self.shadow.features.bound_to(plan);
    }

    /// A new wave begins.
    pub fn begin(&mut self) {
        self.said.clear();
        self.rows.clear();
        self.places.clear();
        self.events = 0;
    }

    /// Makes the row of the wave's next event, while the windows are as they are at its place.
    pub fn add(&mut self, fields: &[Field], text: &str, view: Option<&View<'_>>) {
        let place = self.events;
        self.events += 1;
        if self.shadow.dropped().is_some() {
            return;
        }
        let start = self.rows.len();
        self.rows.resize(start + self.features.width(), 0.0);
        let row = self.rows.get_mut(start..).unwrap_or_default();
        let features = &self.features;
        let filled = catch_unwind(AssertUnwindSafe(|| features.fill(fields, text, view, row).is_ok()));
        match filled {
            Ok(true) => self.places.push(place),
            Ok(false) => self.rows.truncate(start),
            Err(_) => {
                self.rows.truncate(start);
                self.shadow.drop_for(PANICKED.to_owned());
            }
        }
    }

    /// Scores the wave's rows.
    pub fn score(&mut self) {
        let mut row = 0;
        while self.said.len() < self.events && self.shadow.dropped().is_none() {
            let begun = cpu_time();
            let from = self.said.len();
            let until = (from + self.scored.clamp(1, SLICE_ROWS)).min(self.events);
            self.said.resize(until, f64::NAN);
            let rows = self.places.get(row..).unwrap_or_default().partition_point(|place| *place < until);
            let scored = catch_unwind(AssertUnwindSafe(|| self.score_slice(row, row + rows)));
            row += rows;
            let spent = cpu_time().saturating_sub(begun);
            if scored.is_err() {
                self.shadow.drop_for(PANICKED.to_owned());
                break;
            }
            self.scored = self.scored.saturating_add(until - from);
            self.judge(from, spent);
        }
        if self.shadow.dropped().is_some() {
            self.said.clear();
        }
    }

    fn score_slice(&mut self, from: usize, until: usize) {
        #[cfg(feature = "fault-injection")]
        super::fault::shadow();
        let width = self.features.width();
        self.scores.clear();
        self.scores.resize(until - from, f64::NAN);
        let rows = self.rows.get(from * width..until * width).unwrap_or_default();
        self.scorer.score(rows, &mut self.scores);
        for (place, score) in self.places.get(from..until).unwrap_or_default().iter().zip(&self.scores) {
            if let Some(said) = self.said.get_mut(*place) {
                *said = *score;
            }
        }
    }

    /// Counts the events of the wave from this one on, and drops the shadow where it does not hold what it must.
    fn judge(&mut self, from: usize, spent: Duration) {
        let said = self.said.get(from..).unwrap_or_default();
        let rows = said.len() as u64;
        let unscored = said.iter().filter(|score| !score.is_finite()).count() as u64;
        {
            let mut counts = self.shadow.counts();
            counts.rows += rows;
            counts.spent += spent;
        }
        let window = &mut self.window;
        window.rows += rows;
        window.unscored += unscored;
        window.spent += spent;
        let Window { rows, unscored, spent } = *window;
        let limit = self.shadow.limit;
        let all = |rows: u64| limit.saturating_mul(u32::try_from(rows).unwrap_or(u32::MAX));
        // What is over the whole window's allowance before its end can only be more at its end.
        if spent > all(rows.max(WINDOW_ROWS)) {
            let mean = spent.as_secs_f64() * 1e6 / f64::from(u32::try_from(rows).unwrap_or(u32::MAX));
            let limit = limit.as_secs_f64() * 1e6;
            self.shadow.drop_for(format!(
                "it took {mean:.0} µs a row over {rows} rows, model.shadow-limit allows {limit:.0} µs"
            ));
        } else if rows >= WINDOW_ROWS {
            if 2 * unscored > rows {
                self.shadow.drop_for(format!("it had no score for {unscored} of {rows} events"));
            }
            *window = Window::default();
        }
    }

    /// What it said of the wave's event `n`; None where it was not asked.
    pub fn said(&self, n: usize) -> Option<Shadowed<'_>> {
        let score = self.said.get(n).copied()?;
        let bundle = &self.shadow.bundle;
        let score = score.is_finite().then_some(score);
        Some(Shadowed {
            model: bundle.label(),
            model_sha256: bundle.sha256(),
            decision: score.map_or(bundle.fallback(), |score| bundle.decide(score)),
            score,
        })
    }
}

/// What this thread has taken of the processor.
pub(super) fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let part = |part: i64| u64::try_from(part).unwrap_or(0);
    Duration::from_secs(part(now.tv_sec)) + Duration::from_nanos(part(now.tv_nsec))
}
