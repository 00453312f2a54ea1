//! The classes of a column: where the tests of a forest can tell two cells apart, and where not.
//!
//! Every test is turned into cuts, numbers c that split cells into `x < c` and `x >= c`: `x <= t` becomes a cut
//! at the number that follows t in the forest's precision, so the turn is exact. A cell's *class* is the count of
//! cuts at or below it, so that within one class every test has one answer, the answer for the class's least
//! number. NaN has a class of its own, the last.
//!
//! Layout of the search: cuts lie in blocks of 16, ascending, filled up with NaN (below nothing); each level above
//! holds the last cut of every block below. So a column of up to 256 cuts costs two blocks, one of 4,096 three.

use super::forest::{Forest, Node, Precision, Set, Split, Test, ZERO, cut};

/// Cuts that are compared at once.
const BLOCK: usize = 16;
/// 16^7 cuts are more than a forest has nodes.
const LEVELS_MAX: usize = 7;

/// The cuts of one column, ascending.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cuts(Vec<f64>);

impl Cuts {
    /// Of every column, out of the splits of `trees` of a checked forest.
    #[must_use]
    pub fn of(forest: &Forest, trees: &[usize]) -> Vec<Self> {
        let mut cuts = vec![Self::default(); forest.width];
        for tree in trees.iter().filter_map(|at| forest.trees.get(*at)) {
            for node in &tree.nodes {
                let Node::Split(split) = node else { continue };
                if let Some(cuts) = cuts.get_mut(split.feature as usize) {
                    cuts.add(split, &forest.sets, forest.precision);
                }
            }
        }
        for Self(cuts) in &mut cuts {
            cuts.sort_unstable_by(f64::total_cmp);
            cuts.dedup();
        }
        cuts
    }

    fn add(&mut self, split: &Split, sets: &[Set], precision: Precision) {
        // -0.0 is 0.0 to every test.
        let mut below = |t: f64| self.0.extend((!t.is_nan()).then_some(t + 0.0));
        let after = |t: f64| next(t, precision).unwrap_or(f64::NAN);
        match split.test {
            Test::Lt(t) | Test::Ge(t) => below(t),
            Test::Le(t) | Test::Gt(t) => below(after(t)),
            Test::Eq(t) | Test::Ne(t) => {
                below(t);
                below(after(t));
            }
            Test::In(set) => match sets.get(set as usize) {
                Some(Set::Values(values)) => values.iter().for_each(|v| {
                    below(*v);
                    below(after(*v));
                }),
                Some(Set::Listed(categories)) => categories.iter().for_each(|category| {
                    below(f64::from(*category));
                    below(f64::from(*category) + 1.0);
                }),
                Some(Set::Categories { words, fractions }) => edges(words, |category| {
                    below(if category == 0 && *fractions { after(-1.0) } else { f64::from(category) });
                }),
                None => {}
            },
        }
        if split.zero_is_missing {
            below(-ZERO);
            below(after(ZERO));
        }
    }

    /// Classes, NaN's among them.
    #[must_use]
    pub fn classes(&self) -> usize {
        self.0.len() + 2
    }

    /// The class of a number.
    #[must_use]
    pub fn class(&self, x: f64) -> usize {
        if x.is_nan() { self.0.len() + 1 } else { self.0.partition_point(|c| *c <= x) }
    }

    /// The least number of a class; NaN for the last.
    #[must_use]
    pub fn least(&self, class: usize) -> f64 {
        match class.checked_sub(1) {
            None => f64::NEG_INFINITY,
            Some(at) => self.0.get(at).copied().unwrap_or(f64::NAN),
        }
    }
}

/// The number that follows `t`. None behind the last one.
#[must_use]
pub fn next(t: f64, precision: Precision) -> Option<f64> {
    let next = match precision {
        Precision::F32 => f64::from(cut(t).next_up()),
        Precision::F64 => t.next_up(),
    };
    (t < f64::INFINITY).then_some(next)
}

/// Calls with each category at which the bits change.
fn edges(words: &[u32], mut edge: impl FnMut(u32)) {
    let mut before = false;
    for (at, word) in (0_u32..).zip(words) {
        for bit in 0..32 {
            let is = word >> bit & 1 == 1;
            if is != before {
                edge(at * 32 + bit);
            }
            before = is;
        }
    }
    if before {
        edge(u32::try_from(words.len()).unwrap_or(u32::MAX).saturating_mul(32));
    }
}

/// A number that cells are compared as.
pub trait Cell: Copy + PartialOrd + Default + Send + Sync + std::fmt::Debug + 'static {
    const NAN: Self;
    const NEG_INFINITY: Self;
    const ZERO: Self;
    fn of(x: f64) -> Self;
    fn wide(self) -> f64;
    /// A number above -∞ that holds a whole one below 2^31.
    fn number(number: u32) -> Self;
    /// The whole number that it holds.
    fn as_number(self) -> u32;
    fn is_nan(self) -> bool;
    /// At most 1e-35 in magnitude.
    fn is_zero(self) -> bool;
}

impl Cell for f32 {
    const NAN: Self = f32::NAN;
    const NEG_INFINITY: Self = f32::NEG_INFINITY;
    const ZERO: Self = 0.0;
    #[inline(always)]
    fn of(x: f64) -> Self {
        cut(x)
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
    fn number(number: u32) -> Self {
        // Below infinity's bits: there are fewer leaves than NODES_MAX.
        f32::from_bits(number)
    }
    #[inline(always)]
    fn as_number(self) -> u32 {
        self.to_bits()
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        self.is_nan()
    }
    #[inline(always)]
    fn is_zero(self) -> bool {
        self.abs() <= 1e-35
    }
}

impl Cell for f64 {
    const NAN: Self = f64::NAN;
    const NEG_INFINITY: Self = f64::NEG_INFINITY;
    const ZERO: Self = 0.0;
    #[inline(always)]
    fn of(x: f64) -> Self {
        x
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
    fn number(number: u32) -> Self {
        f64::from_bits(u64::from(number))
    }
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // it came from a u32
    fn as_number(self) -> u32 {
        self.to_bits() as u32
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        self.is_nan()
    }
    #[inline(always)]
    fn is_zero(self) -> bool {
        self.abs() <= ZERO
    }
}

/// The cuts of all columns laid out for the search.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranks<T> {
    columns: Vec<Column>,
    cuts: Vec<[T; BLOCK]>,
}

#[derive(Clone, Debug, PartialEq)]
struct Column {
    /// Its place in a row.
    at: u32,
    /// NaN's class.
    nan: u32,
    levels: u32,
    /// First block of each level, the top first.
    first: [u32; LEVELS_MAX],
}

impl<T: Cell> Ranks<T> {
    /// Of the columns that have cuts or are named in `wanted`.
    #[must_use]
    pub fn new(cuts: &[Cuts], columns: &[u32]) -> Self {
        let mut ranks = Self { columns: Vec::new(), cuts: Vec::new() };
        for at in columns {
            let Some(cuts) = cuts.get(*at as usize) else { continue };
            let mut levels = vec![blocks(&cuts.0)];
            while let Some(below) = levels.last().filter(|level| level.len() > 1 && levels.len() < LEVELS_MAX) {
                // The last block's own last cut is never needed: who reaches it is in it.
                let lasts: Vec<f64> = below.iter().take(below.len() - 1).map(|block| block[BLOCK - 1]).collect();
                levels.push(blocks(&lasts));
            }
            let nan = u32::try_from(cuts.0.len() + 1).unwrap_or(u32::MAX);
            let mut column = Column { at: *at, nan, levels: 0, first: [0; LEVELS_MAX] };
            for (level, first) in levels.iter().rev().zip(&mut column.first) {
                *first = u32::try_from(ranks.cuts.len()).unwrap_or(u32::MAX);
                column.levels += 1;
                ranks.cuts.extend(level.iter().map(|block| block.map(T::of)));
            }
            ranks.columns.push(column);
        }
        ranks
    }

    pub fn len(&self) -> usize {
        self.columns.len()
    }

    pub fn bytes(&self) -> usize {
        self.columns.len() * size_of::<Column>() + self.cuts.len() * size_of::<[T; BLOCK]>()
    }

    /// The classes of a row's columns, in the order of the columns.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // fewer cuts than nodes
    pub fn classes(&self, row: &[f64], classes: &mut [u32]) {
        for (column, class) in self.columns.iter().zip(classes) {
            let x = T::of(row[column.at as usize]);
            let mut at = 0;
            for first in column.first.iter().take(column.levels as usize) {
                let block = &self.cuts[*first as usize + at];
                at = at * BLOCK + count(block, x);
            }
            *class = if x.is_nan() { column.nan } else { at as u32 };
        }
    }
}

/// Cuts at or below x.
#[inline(always)]
fn count<T: Cell>(block: &[T; BLOCK], x: T) -> usize {
    let mut bits = 0_u32;
    for (n, c) in block.iter().enumerate() {
        bits |= u32::from(*c <= x) << n;
    }
    bits.count_ones() as usize
}

fn blocks(cuts: &[f64]) -> Vec<[f64; BLOCK]> {
    let mut blocks: Vec<[f64; BLOCK]> = Vec::with_capacity(cuts.len().div_ceil(BLOCK).max(1));
    for chunk in cuts.chunks(BLOCK) {
        let mut block = [f64::NAN; BLOCK];
        block[..chunk.len()].copy_from_slice(chunk);
        blocks.push(block);
    }
    // A search that passes a full last block needs a block to end in.
    if blocks.is_empty() {
        blocks.push([f64::NAN; BLOCK]);
    }
    blocks
}
