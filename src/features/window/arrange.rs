//! The same past for other windows: when models are replaced, what both want is taken over as it is.

use super::plan::{Plan, Stream};
use super::state::Windows;
use std::mem::take;
use std::sync::Arc;

impl Plan {
    /// One that serves all of these: the streams of the first, and those of the others that none before can stand for.
    /// None where there are none.
    #[must_use]
    pub fn joined<'a>(plans: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let mut streams: Vec<Stream> = Vec::new();
        for stream in plans.into_iter().flat_map(Self::streams) {
            if !streams.iter().any(|there| there.holds_all_of(stream)) {
                streams.push(stream.clone());
            }
        }
        Self::over(streams)
    }

    /// The part of it that `held` does not hold; None where that is nothing.
    #[must_use]
    pub fn without(&self, held: &Self) -> Option<Self> {
        let missing = |stream: &&Stream| !held.streams().iter().any(|there| there.holds_all_of(stream));
        Self::over(self.streams().iter().filter(missing).cloned().collect())
    }

    /// Whether windows of the other one can be used for this one as they are.
    #[must_use]
    pub fn is_arranged_as(&self, other: &Self) -> bool {
        let (own, others) = (self.streams(), other.streams());
        let same = |(a, b): (&Stream, &Stream)| a.holds_all_of(b) && b.holds_all_of(a);
        own.len() == others.len() && self.columns() == other.columns() && own.iter().zip(others).all(same)
    }
}

impl Windows {
    /// These windows for another plan: streams that it wants too are taken over, others out of `folded`; what neither
    /// holds begins empty.
    #[must_use]
    pub fn arranged(mut self, plan: Arc<Plan>, mut folded: Vec<Self>) -> Self {
        let mut arranged = Self::new(plan, self.limits());
        let plan = Arc::clone(arranged.plan());
        if let Some(newest_us) = self.newest_us() {
            arranged.restore_newest(newest_us);
        }
        arranged.losses = self.losses;
        arranged.late_us = arranged.late_us.min(self.late_us);
        arranged.floor_us = self.floor_us;
        for (at, stream) in plan.streams().iter().enumerate() {
            let from = std::iter::once(&mut self).chain(&mut folded).find_map(|from| {
                let there = from.plan().streams().iter().position(|held| held.holds_all_of(stream))?;
                from.keys.get_mut(there)
            });
            if let (Some(from), Some(to)) = (from, arranged.keys.get_mut(at)) {
                *to = take(from);
            }
        }
        arranged
    }

    /// Takes another budget, bytes.
    pub fn set_bytes(&mut self, bytes: usize) {
        self.set_limits(super::Limits { bytes, ..self.limits() });
    }
}
