//! The raw sums that an operator's scores are made of: what reason codes are reckoned with.

use super::super::trees::Forest;
use super::ml::Weights;
use std::sync::Arc;

/// A number as a sum of multiples of raw sums: target and factor.
pub type Combination = Vec<(usize, f64)>;

/// What raw sums are added up from.
#[derive(Clone, Debug)]
pub enum Body {
    Trees(Arc<Forest>),
    Linear(Arc<Weights>),
}

/// An operator whose scores grow with sums over its columns.
#[derive(Clone, Debug)]
pub struct Sums {
    pub body: Body,
    /// The output that the scores are.
    pub output: usize,
    /// What each score of a row grows with; None where no such sum stands behind it.
    pub scores: Vec<Option<Combination>>,
    /// The scores of a row are at least 0 and add up to 1, so that shares of them are the same again.
    pub shares: bool,
}

/// What the scores of two classes are where both are told by one sum, that of the second.
pub fn one_sum() -> Vec<Option<Combination>> {
    vec![Some(vec![(0, -1.0)]), Some(vec![(0, 1.0)])]
}

/// A sum each.
pub fn each(count: usize) -> Vec<Option<Combination>> {
    (0..count).map(|target| Some(vec![(target, 1.0)])).collect()
}

/// The softmax of several sums: of two it grows with the difference, of more with no sum alone.
pub fn softmax(count: usize) -> Vec<Option<Combination>> {
    match count {
        0 | 1 => each(count),
        2 => vec![Some(vec![(0, 1.0), (1, -1.0)]), Some(vec![(0, -1.0), (1, 1.0)])],
        _ => vec![None; count],
    }
}
