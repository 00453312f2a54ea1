//! Reason codes: how much each column's cell moved one raw sum of a forest, exactly, by Shapley values.
//!
//! Two ways, both with buffers made at load and a cost that is known there:
//!
//! - [`PathShap`]: what a row is compared with is the training data, as the covers tell of it. "Path-dependent"
//!   TreeSHAP, the values that LightGBM's and XGBoost's `pred_contrib(s)` give.
//! - [`BaselineShap`]: what a row is compared with is one other row. For trees without covers (ONNX).
//!
//! In both the values of all columns add up to the margin less the expected margin (or the baseline's margin).

mod baseline;
mod path;
mod quadrature;

pub use baseline::{BaselineScratch, BaselineShap};
pub use path::{PathScratch, PathShap};

use super::forest::{Aggregate, Forest, Leaf};

/// What a leaf gives one target.
fn value(forest_weights: &[(u32, f64)], leaf: (u32, u32), target: u32) -> f64 {
    let weights = forest_weights.get(leaf.0 as usize..leaf.1 as usize).unwrap_or_default();
    weights.iter().filter(|(of, _)| *of == target).map(|(_, value)| value).sum()
}

/// The forest's weights, divided where it averages.
///
/// # Errors
/// For forests that do not sum.
fn weights(forest: &Forest) -> Result<Vec<(u32, f64)>, String> {
    let over = match forest.sum.aggregate {
        Aggregate::Sum => 1.0,
        Aggregate::Average(over) => over,
        Aggregate::Min | Aggregate::Max => {
            return Err("reason codes need a forest that sums or averages".to_owned());
        }
    };
    Ok(forest.weights.iter().map(|weight| (weight.target, weight.value / over)).collect())
}

/// The only target that leaves feed. None where there are several.
fn only_target<'a>(weights: &[(u32, f64)], leaves: impl Iterator<Item = &'a Leaf>) -> Option<u32> {
    let mut all =
        leaves.flat_map(|leaf| weights.get(leaf.weights.0 as usize..leaf.weights.1 as usize).unwrap_or_default());
    let first = all.next().map_or(0, |(target, _)| *target);
    all.all(|(target, _)| *target == first).then_some(first)
}
