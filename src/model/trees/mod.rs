//! Decision trees: the neutral form that loaders make, and the plan that runs it.
//!
//! ```text
//! Forest ─(check)─> groups of trees ─> cuts, ranks ─> bit vectors ┐
//!                                  └─> steps ───────────────────> leaves ─(in the trees' order)─> raw sums
//! ```

// A kernel is compiled for the instructions of the function that calls it only where it is inlined there.
#![allow(clippy::inline_always)]

mod bits;
mod cuts;
pub mod forest;
mod isa;
mod leaves;
mod linear;
mod native;
mod objective;
mod order;
mod plan;
mod run;
mod shap;
mod tables;
mod walk;

#[cfg(test)]
mod tests;

pub(super) use forest::cut;
pub use forest::{Aggregate, Forest, Leaf, Nan, Node, Precision, Set, Shape, Split, Sum, Test, Tree, Weight};
pub use isa::Isa;
pub use linear::Linear;
pub use native::{Body, Kind, Native, are_generic};
pub use objective::Objective;
pub use plan::{Options, TreePlan, TreeScratch, Way};
pub use shap::{BaselineScratch, BaselineShap, PathScratch, PathShap};
pub use walk::naive;
