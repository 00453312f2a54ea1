//! Decision trees: the neutral form that loaders make, and the plan that runs it.

pub mod forest;

pub use forest::{Aggregate, Forest, Leaf, Nan, Node, Precision, Set, Split, Sum, Test, Tree, Weight};
