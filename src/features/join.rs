//! Two models over the same events: the fields of both are looked for once.

use super::FeatureSet;
use super::transform::Source;
use super::window::Plan;
use crate::event::Pointer;
use std::sync::Arc;

/// The fields of both, each once: the first's in its own order, so that it reads them as it did, then what only the
/// second wants.
#[must_use]
pub fn union(first: &[Pointer], second: &[Pointer]) -> Arc<[Pointer]> {
    let mut all = first.to_vec();
    all.extend(second.iter().filter(|pointer| !first.contains(pointer)).cloned());
    all.into()
}

impl FeatureSet {
    /// The same features, reading their fields from where `pointers` finds them. A field that is not among those is
    /// missing in every event.
    #[must_use]
    pub fn reading(&self, pointers: &[Pointer]) -> Self {
        let place = |pointer: usize| {
            let wanted = self.pointers.get(pointer);
            pointers.iter().position(|there| Some(there) == wanted).unwrap_or(usize::MAX)
        };
        let mut features = self.features.clone();
        for feature in &mut features {
            if let Source::Field { pointer, .. } = &mut feature.source {
                *pointer = place(*pointer);
            }
        }
        Self { pointers: pointers.into(), names: self.names.clone(), features }
    }

    /// The same features, asking their windows of the state of `plan`, which was made for them, among others.
    #[must_use]
    pub fn bound_to(&self, plan: &Plan) -> Self {
        let mut set = self.clone();
        for feature in &mut set.features {
            if let Source::Window { query, .. } = &mut feature.source {
                query.place = plan.place(query);
            }
        }
        set
    }
}
