//! What the leaves give, and how it is summed: in the order of the trees, one order for every kernel and batch.

use super::forest::{Aggregate, Forest, Weight, cut};
use super::order::Order;

/// Rows that are summed side by side.
const SIDE_BY_SIDE: usize = 4;

/// An accumulator's number.
pub trait Number: Copy + PartialOrd + Default + std::ops::Add<Output = Self> + std::ops::Div<Output = Self> {
    const NAN: Self;
    fn of(x: f64) -> Self;
    fn wide(self) -> f64;
    fn is_nan(self) -> bool;
}

impl Number for f32 {
    const NAN: Self = f32::NAN;
    #[inline(always)]
    fn of(x: f64) -> Self {
        cut(x)
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        self.is_nan()
    }
}

impl Number for f64 {
    const NAN: Self = f64::NAN;
    #[inline(always)]
    fn of(x: f64) -> Self {
        x
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        self.is_nan()
    }
}

/// The leaves of all trees, side by side: a leaf's place is its tree's first and its number in the tree.
#[derive(Clone, Debug)]
pub struct Leaves<S> {
    first: Vec<u32>,
    ids: Vec<u32>,
    gives: Gives<S>,
    aggregate: Aggregate,
    base: Vec<S>,
    base_first: bool,
}

#[derive(Clone, Debug)]
enum Gives<S> {
    /// One number a leaf, for the only target.
    One(Vec<S>),
    /// One number a leaf, for the tree's target.
    OfTree { values: Vec<S>, targets: Vec<u32> },
    /// Any: a leaf's weights from its place up to the next leaf's.
    Any { first: Vec<u32>, weights: Vec<(u32, S)> },
}

impl<S: Number> Leaves<S> {
    /// Of all trees of a checked forest.
    #[must_use]
    pub fn new(forest: &Forest) -> Self {
        let mut first = Vec::with_capacity(forest.trees.len());
        let mut ids = Vec::new();
        let mut targets = Vec::with_capacity(forest.trees.len());
        let mut weights: Vec<(u32, S)> = Vec::new();
        let mut starts = vec![0];
        let mut one = !matches!(forest.sum.aggregate, Aggregate::Min | Aggregate::Max);
        for tree in &forest.trees {
            first.push(small(ids.len()));
            let mut target = None;
            for leaf in Order::of(tree).in_order(tree) {
                ids.push(leaf.id);
                let range = leaf.weights.0 as usize..leaf.weights.1 as usize;
                let gives: &[Weight] = forest.weights.get(range).unwrap_or_default();
                one &= gives.len() == 1 && gives.iter().all(|w| *target.get_or_insert(w.target) == w.target);
                weights.extend(gives.iter().map(|w| (w.target, S::of(w.value))));
                starts.push(small(weights.len()));
            }
            targets.push(target.unwrap_or(0));
        }
        let gives = if one {
            let values = weights.into_iter().map(|(_, value)| value).collect();
            if forest.targets == 1 { Gives::One(values) } else { Gives::OfTree { values, targets } }
        } else {
            Gives::Any { first: starts, weights }
        };
        let base = (0..forest.targets).map(|at| S::of(forest.base.get(at).copied().unwrap_or(0.0))).collect();
        let base_first = forest.sum.base_first && forest.sum.aggregate == Aggregate::Sum;
        Self { first, ids, gives, aggregate: forest.sum.aggregate, base, base_first }
    }

    #[must_use]
    pub fn bytes(&self) -> usize {
        let gives = match &self.gives {
            Gives::One(values) => values.len() * size_of::<S>(),
            Gives::OfTree { values, targets } => values.len() * size_of::<S>() + targets.len() * size_of::<u32>(),
            Gives::Any { first, weights } => first.len() * size_of::<u32>() + weights.len() * size_of::<(u32, S)>(),
        };
        (self.first.len() + self.ids.len()) * size_of::<u32>() + self.base.len() * size_of::<S>() + gives
    }

    /// The library's number of a tree's leaf.
    #[must_use]
    pub fn id(&self, tree: usize, leaf: u32) -> u32 {
        let at = self.first.get(tree).map(|first| (first + leaf) as usize);
        at.and_then(|at| self.ids.get(at)).copied().unwrap_or(0)
    }

    /// What rows start with: one accumulator a target, row after row.
    pub fn start(&self, sums: &mut [S]) {
        for row in sums.chunks_exact_mut(self.base.len()) {
            match self.aggregate {
                Aggregate::Min | Aggregate::Max => row.fill(S::NAN),
                _ if self.base_first => row.copy_from_slice(&self.base),
                _ => row.fill(S::default()),
            }
        }
    }

    /// Adds trees from `tree` on: `leaves` holds `lanes` numbers a row, of which the first `trees` count.
    #[inline(always)]
    pub fn add(&self, tree: usize, trees: usize, leaves: &[u32], lanes: usize, sums: &mut [S]) {
        let first = &self.first[tree..tree + trees];
        match &self.gives {
            Gives::One(values) => {
                let mut fours = sums.chunks_exact_mut(SIDE_BY_SIDE);
                let mut rows = leaves.chunks_exact(lanes * SIDE_BY_SIDE);
                for (sums, leaves) in (&mut fours).zip(&mut rows) {
                    let [a, b, c, d] = sums else { continue };
                    let (of_a, rest) = leaves.split_at(lanes);
                    let (of_b, rest) = rest.split_at(lanes);
                    let (of_c, of_d) = rest.split_at(lanes);
                    for (first, (((la, lb), lc), ld)) in first.iter().zip(of_a.iter().zip(of_b).zip(of_c).zip(of_d)) {
                        *a = *a + values[(first + la) as usize];
                        *b = *b + values[(first + lb) as usize];
                        *c = *c + values[(first + lc) as usize];
                        *d = *d + values[(first + ld) as usize];
                    }
                }
                for (sum, leaves) in fours.into_remainder().iter_mut().zip(rows.remainder().chunks_exact(lanes)) {
                    for (first, leaf) in first.iter().zip(leaves) {
                        *sum = *sum + values[(first + leaf) as usize];
                    }
                }
            }
            Gives::OfTree { values, targets } => {
                let targets = &targets[tree..tree + trees];
                for (sums, leaves) in sums.chunks_exact_mut(self.base.len()).zip(leaves.chunks_exact(lanes)) {
                    for ((first, target), leaf) in first.iter().zip(targets).zip(leaves) {
                        let sum = &mut sums[*target as usize];
                        *sum = *sum + values[(first + leaf) as usize];
                    }
                }
            }
            Gives::Any { first: starts, weights } => {
                for (sums, leaves) in sums.chunks_exact_mut(self.base.len()).zip(leaves.chunks_exact(lanes)) {
                    for (first, leaf) in first.iter().zip(leaves) {
                        let leaf = (first + leaf) as usize;
                        for (target, value) in &weights[starts[leaf] as usize..starts[leaf + 1] as usize] {
                            let sum = &mut sums[*target as usize];
                            *sum = match self.aggregate {
                                Aggregate::Min if !sum.is_nan() && *sum <= *value => *sum,
                                Aggregate::Max if !sum.is_nan() && *sum >= *value => *sum,
                                Aggregate::Min | Aggregate::Max => *value,
                                Aggregate::Sum | Aggregate::Average(_) => *sum + *value,
                            };
                        }
                    }
                }
            }
        }
    }

    /// The raw sums of rows.
    pub fn finish(&self, sums: &[S], out: &mut [f64]) {
        let targets = self.base.len();
        for (row, out) in sums.chunks_exact(targets).zip(out.chunks_exact_mut(targets)) {
            for ((sum, base), out) in row.iter().zip(&self.base).zip(out) {
                let whole = match self.aggregate {
                    Aggregate::Average(over) => *sum / S::of(over),
                    Aggregate::Min | Aggregate::Max if sum.is_nan() => S::default(),
                    Aggregate::Sum | Aggregate::Min | Aggregate::Max => *sum,
                };
                *out = if self.base_first { whole.wide() } else { (whole + *base).wide() };
            }
        }
    }
}

fn small(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
