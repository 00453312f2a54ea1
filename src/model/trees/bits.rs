//! The bit vectors of a block of trees: what each class of each column leaves of the trees' leaves.
//!
//! After QuickScorer (Lucchese, Nardini, Orlando, Perego, Tonellotto, Venturini: "QuickScorer: a fast algorithm to
//! rank documents with additive ensembles of regression trees", SIGIR 2015): each leaf is a bit, the left-most the
//! lowest; a split that sends a row right takes away the leaves on its left; of what all splits leave, the lowest
//! bit is the row's leaf. The splits of one column that send a row right are known from the cell's class alone.
//!
//! Here a block's trees stand side by side as the lanes of one row of masks, and for every `1 << shift` splits of a
//! column, in ascending order of their cuts, the AND of all so far is kept as such a row. So a cell costs one AND of
//! a row and fewer than `1 << shift` single masks. Classes that do not fit that order (NaN, zeros that are missing,
//! category sets) have rows of their own.
//!
//! A class's *code* says both: `code >> shift` is the row, and the single masks are those from the code with its
//! low bits cleared up to the code.

use super::cuts::Cuts;
use super::forest::{Forest, Node, Split, ZERO};
use super::isa::Instructions;
use super::order::Order;
use std::collections::HashMap;
use std::hash::Hash;
use std::ops::BitAndAssign;

/// Most answers of splits to classes that are worked out for one block: past it, the trees are walked.
const WORK_MAX: usize = 1 << 24;

/// A tree's leaves.
pub trait Mask: Copy + BitAndAssign + Eq + Hash + Send + Sync + std::fmt::Debug + 'static {
    const ALL: Self;
    /// Leaves that it has room for.
    const LEAVES: usize;
    /// All but `count` leaves from `first`.
    fn without(first: u32, count: u32) -> Self;
    fn first(self) -> u32;
}

impl Mask for u32 {
    const ALL: Self = Self::MAX;
    const LEAVES: usize = 32;
    #[allow(clippy::cast_possible_truncation)] // first + count is at most 32
    fn without(first: u32, count: u32) -> Self {
        !(((1_u64 << count) - 1) << first) as Self
    }
    #[inline(always)]
    fn first(self) -> u32 {
        self.trailing_zeros()
    }
}

impl Mask for u64 {
    const ALL: Self = Self::MAX;
    const LEAVES: usize = 64;
    #[allow(clippy::cast_possible_truncation)] // first + count is at most 64
    fn without(first: u32, count: u32) -> Self {
        !(((1_u128 << count) - 1) << first) as Self
    }
    #[inline(always)]
    fn first(self) -> u32 {
        self.trailing_zeros()
    }
}

/// The tables of up to L trees.
#[derive(Clone, Debug, PartialEq)]
pub struct Bits<M, const L: usize> {
    pub columns: Vec<BitColumn>,
    pub codes: Vec<u16>,
    pub rows: Vec<Row<M, L>>,
    pub singles: Vec<Single<M>>,
    pub shift: u32,
}

/// A mask for each tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(align(64))]
pub struct Row<M, const L: usize>(pub [M; L]);

/// Where a column's parts begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BitColumn {
    /// Its place among the ranked columns.
    pub rank: u32,
    pub codes: u32,
    pub rows: u32,
    pub singles: u32,
}

/// One split that sends a row right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Single<M> {
    pub mask: M,
    pub lane: u32,
}

/// A split with its tree's lane and its leaves on the left.
struct Placed<'a, M> {
    split: &'a Split,
    single: Single<M>,
}

impl<M: Mask, const L: usize> Bits<M, L> {
    /// The tables of `trees` (at most L places of trees with at most `M::LEAVES` leaves) of a checked forest; `columns` are the ranked ones,
    /// `cuts` those of all the forest's columns. None where the tables would grow out of proportion.
    #[must_use]
    pub fn new(forest: &Forest, trees: &[usize], cuts: &[Cuts], columns: &[u32], shift: u32) -> Option<Self> {
        let mut bits = Self { columns: Vec::new(), codes: Vec::new(), rows: Vec::new(), singles: Vec::new(), shift };
        let mut splits = placed(forest, trees);
        splits.sort_by_key(|placed| placed.split.feature);
        let mut work = 0;
        for part in splits.chunk_by_mut(|a, b| a.split.feature == b.split.feature) {
            let feature = part.first()?.split.feature;
            let rank = u32::try_from(columns.binary_search(&feature).ok()?).ok()?;
            let cuts = cuts.get(feature as usize)?;
            bits.columns.push(BitColumn {
                rank,
                codes: u32::try_from(bits.codes.len()).ok()?,
                rows: u32::try_from(bits.rows.len()).ok()?,
                singles: u32::try_from(bits.singles.len()).ok()?,
            });
            bits.add(forest, part, cuts, &mut work)?;
        }
        Some(bits)
    }

    fn add(&mut self, forest: &Forest, splits: &mut [Placed<M>], cuts: &Cuts, work: &mut usize) -> Option<()> {
        let step = 1 << self.shift;
        let (from, codes) = (self.rows.len(), self.codes.len());
        let numbers = cuts.classes() - 1;
        // The class from which on a threshold sends right.
        let turn = |split: &Split| {
            let (mut low, mut high) = (0, numbers);
            while low < high {
                let middle = usize::midpoint(low, high);
                if plain(split, cuts.least(middle), forest) { low = middle + 1 } else { high = middle }
            }
            low
        };
        let ordered = splits.iter().all(|placed| placed.split.is_threshold());
        let mut own = Vec::new();
        if ordered {
            let mut turns: Vec<(usize, Single<M>)> = splits.iter().map(|p| (turn(p.split), p.single)).collect();
            turns.sort_by_key(|(turn, _)| *turn);
            let mut row = Row([M::ALL; L]);
            self.rows.push(row);
            for (n, (_, single)) in turns.iter().enumerate() {
                row.0[single.lane as usize] &= single.mask;
                if (n + 1) % step == 0 {
                    self.rows.push(row);
                }
            }
            let mut passed = 0;
            for class in 0..numbers {
                passed += turns[passed..].iter().take_while(|(turn, _)| *turn <= class).count();
                self.codes.push(u16::try_from(passed).ok()?);
            }
            self.codes.push(0);
            self.singles.extend(turns.iter().map(|(_, single)| *single));
            own.push(numbers);
            if splits.iter().any(|placed| placed.split.zero_is_missing) {
                own.extend(cuts.class(-ZERO)..=cuts.class(ZERO));
            }
        } else {
            self.codes.extend(std::iter::repeat_n(0, numbers + 1));
            own.extend(0..=numbers);
        }
        *work += own.len().checked_mul(splits.len())?;
        if *work > WORK_MAX {
            return None;
        }
        let mut known: HashMap<Row<M, L>, u16> = HashMap::new();
        for class in own {
            let cell = cuts.least(class);
            let mut row = Row([M::ALL; L]);
            for placed in splits.iter().filter(|placed| !placed.split.goes_left(cell, &forest.sets)) {
                row.0[placed.single.lane as usize] &= placed.single.mask;
            }
            let next = (self.rows.len() - from) << self.shift;
            let code = if let Some(code) = known.get(&row) {
                *code
            } else {
                let code = u16::try_from(next).ok()?;
                known.insert(row, code);
                self.rows.push(row);
                code
            };
            self.codes[codes + class] = code;
        }
        Some(())
    }

    #[must_use]
    pub fn bytes(&self) -> usize {
        self.columns.len() * size_of::<BitColumn>()
            + self.codes.len() * size_of::<u16>()
            + self.rows.len() * size_of::<Row<M, L>>()
            + self.singles.len() * size_of::<Single<M>>()
    }

    /// What is left of each tree's leaves for a row of these classes; `codes` and `picks` have room for one a column.
    #[inline(always)]
    pub fn masks<I: Instructions>(&self, classes: &[u32], codes: &mut [u16], picks: &mut [u32]) -> Row<M, L> {
        let picks = &mut picks[..self.columns.len()];
        for (column, (code, pick)) in self.columns.iter().zip(codes.iter_mut().zip(picks.iter_mut())) {
            *code = self.codes[column.codes as usize + classes[column.rank as usize] as usize];
            *pick = column.rows + u32::from(*code >> self.shift);
        }
        // SAFETY: the kernel runs only where its instructions were detected.
        let mut masks = unsafe { I::and(&self.rows, picks, Row([M::ALL; L])) };
        let low = (1_u16 << self.shift) - 1;
        if low > 0 {
            for (column, code) in self.columns.iter().zip(codes.iter()) {
                let first = column.singles as usize + (*code & !low) as usize;
                for single in self.singles.get(first..first + (*code & low) as usize).unwrap_or_default() {
                    masks.0[single.lane as usize % L] &= single.mask;
                }
            }
        }
        masks
    }
}

/// True if a threshold sends a number left, whatever it does with missing ones.
fn plain(split: &Split, cell: f64, forest: &Forest) -> bool {
    Split { zero_is_missing: false, ..*split }.goes_left(cell, &forest.sets)
}

fn placed<'a, M: Mask>(forest: &'a Forest, trees: &[usize]) -> Vec<Placed<'a, M>> {
    let mut placed = Vec::new();
    for (lane, tree) in (0..).zip(trees.iter().filter_map(|at| forest.trees.get(*at))) {
        let order = Order::of(tree);
        for node in &tree.nodes {
            let Node::Split(split) = node else { continue };
            let (first, count) = order.leaves[split.left() as usize];
            placed.push(Placed { split, single: Single { mask: M::without(first, count), lane } });
        }
    }
    placed
}
