//! The plan: each block of trees as bit vectors or to be walked, over blocks of rows, in scratch made once.
//!
//! Trees are taken in groups of up to 1,024 with their own ranks, so that the tables grow with the trees and not
//! with their square; a group is cut into blocks: 64 trees of up to 32 leaves, or 32 trees of up to 64, become
//! `Bits`, others, and those where bit vectors would cost more than steps, are walked. Every way gives the same
//! leaf, and leaves are summed in the order of the trees.

use super::forest::{Forest, Precision, Shape};
use super::isa::Isa;
use super::run::{Buffers, Call};
use super::tables::{GROUP_TREES, Tables};

/// What may be chosen; the default chooses by itself.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// One that the processor lacks is replaced by the portable one.
    pub isa: Isa,
    pub way: Way,
    /// Bytes of bit-vector rows, about: what is to stay in the second-level cache.
    pub rows_bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By the cost that is expected of each.
    Cheapest,
    /// Bit vectors wherever they can be.
    Bits,
    Walk,
}

impl Default for Options {
    fn default() -> Self {
        Self { isa: Isa::best(), way: Way::Cheapest, rows_bytes: 4 << 20 }
    }
}

/// A forest ready to run. Shared by all scorers.
#[derive(Clone, Debug)]
pub struct TreePlan {
    isa: Isa,
    width: usize,
    targets: usize,
    trees: usize,
    shape: Shape,
    typed: Typed,
}

/// By the precision of cells and of sums.
#[derive(Clone, Debug)]
enum Typed {
    Single(Tables<f32, f32>),
    Mixed(Tables<f32, f64>),
    Rounded(Tables<f64, f32>),
    Double(Tables<f64, f64>),
}

/// The buffers of one scorer.
#[derive(Clone, Debug)]
pub struct TreeScratch {
    /// Rows that it has room for.
    pub(super) rows: usize,
    pub(super) classes: Vec<u32>,
    pub(super) codes: Vec<u16>,
    pub(super) picks: Vec<u32>,
    pub(super) leaves: Vec<u32>,
    pub(super) cells: Buffer,
    pub(super) sums: Buffer,
}

#[derive(Clone, Debug)]
pub(super) enum Buffer {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl TreePlan {
    /// Compiles a forest.
    ///
    /// # Errors
    /// What [`Forest::check`] says.
    pub fn new(forest: &Forest) -> Result<Self, String> {
        Self::with(forest, Options::default())
    }

    /// Compiles a forest with what was chosen.
    ///
    /// # Errors
    /// What [`Forest::check`] says.
    pub fn with(forest: &Forest, options: Options) -> Result<Self, String> {
        let shape = forest.check()?;
        let isa = if Isa::available().contains(&options.isa) { options.isa } else { Isa::Portable };
        let options = Options { isa, ..options };
        let typed = match (forest.precision, forest.sum.precision) {
            (Precision::F32, Precision::F32) => Typed::Single(Tables::new(forest, options)),
            (Precision::F32, Precision::F64) => Typed::Mixed(Tables::new(forest, options)),
            (Precision::F64, Precision::F32) => Typed::Rounded(Tables::new(forest, options)),
            (Precision::F64, Precision::F64) => Typed::Double(Tables::new(forest, options)),
        };
        Ok(Self { isa, width: forest.width, targets: forest.targets, trees: forest.trees.len(), shape, typed })
    }

    /// Columns of a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Raw sums of a row.
    #[must_use]
    pub fn targets(&self) -> usize {
        self.targets
    }

    #[must_use]
    pub fn trees(&self) -> usize {
        self.trees
    }

    /// Of the forest it was made from.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    #[must_use]
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Bytes of the tables.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match &self.typed {
            Typed::Single(tables) => tables.bytes(),
            Typed::Mixed(tables) => tables.bytes(),
            Typed::Rounded(tables) => tables.bytes(),
            Typed::Double(tables) => tables.bytes(),
        }
    }

    /// Bytes that the plan of such a forest takes at most while it is built and after: for a forest of `splits`
    /// splits and `leaves` leaves, `weights` of them, in `trees` trees over `width` columns.
    #[must_use]
    pub fn bytes_of(trees: usize, splits: usize, leaves: usize, weights: usize, width: usize) -> usize {
        let groups = trees.div_ceil(GROUP_TREES).max(1);
        // A cut takes 8 bytes here and there, a code of 2 in each of up to 32 blocks; a split a step of 16 bytes with
        // its leaf's number, or a single mask of 16 and its part of the rows, which are bounded by Options.
        let splits = splits.saturating_mul(2 * 8 + 32 * 2 + 20 + 16);
        let leaves = leaves.saturating_mul(20 + 8).saturating_add(weights.saturating_mul(16));
        let columns = width.saturating_mul(groups).saturating_mul(64);
        splits.saturating_add(leaves).saturating_add(columns).saturating_add(8 << 20)
    }

    /// Bytes of one scratch.
    #[must_use]
    pub fn scratch_bytes(&self, max_batch: usize) -> usize {
        match &self.typed {
            Typed::Single(tables) => tables.scratch_bytes(self.targets, max_batch),
            Typed::Mixed(tables) => tables.scratch_bytes(self.targets, max_batch),
            Typed::Rounded(tables) => tables.scratch_bytes(self.targets, max_batch),
            Typed::Double(tables) => tables.scratch_bytes(self.targets, max_batch),
        }
    }

    /// Every buffer that a run needs, for batches of up to `max_batch` rows (more are taken too, in parts).
    #[must_use]
    pub fn scratch(&self, max_batch: usize) -> TreeScratch {
        match &self.typed {
            Typed::Single(tables) => tables.scratch(self.targets, max_batch, Buffer::F32, Buffer::F32),
            Typed::Mixed(tables) => tables.scratch(self.targets, max_batch, Buffer::F32, Buffer::F64),
            Typed::Rounded(tables) => tables.scratch(self.targets, max_batch, Buffer::F64, Buffer::F32),
            Typed::Double(tables) => tables.scratch(self.targets, max_batch, Buffer::F64, Buffer::F64),
        }
    }

    /// The raw sums of rows: `rows` holds `width` cells a row, `out` takes `targets` numbers a row. `scratch` must be
    /// this plan's own: with another's nothing is written.
    pub fn run(&self, rows: &[f64], out: &mut [f64], scratch: &mut TreeScratch) {
        self.each(rows, scratch, out, None);
    }

    /// The number, as the library tells it, of the leaf that a row reaches in each tree.
    pub fn leaves(&self, row: &[f64], ids: &mut [u32], scratch: &mut TreeScratch) {
        if let Some(row) = row.get(..self.width) {
            self.each(row, scratch, &mut [], Some(ids));
        }
    }

    fn each(&self, rows: &[f64], scratch: &mut TreeScratch, out: &mut [f64], ids: Option<&mut [u32]>) {
        let TreeScratch { rows: most, classes, codes, picks, leaves, cells, sums } = scratch;
        let buffers = &mut Buffers { most: *most, classes, codes, picks, leaves };
        let call = Call { isa: self.isa, width: self.width, targets: self.targets, rows, out, ids };
        match (&self.typed, cells, sums) {
            (Typed::Single(tables), Buffer::F32(cells), Buffer::F32(sums)) => tables.run(call, buffers, cells, sums),
            (Typed::Mixed(tables), Buffer::F32(cells), Buffer::F64(sums)) => tables.run(call, buffers, cells, sums),
            (Typed::Rounded(tables), Buffer::F64(cells), Buffer::F32(sums)) => tables.run(call, buffers, cells, sums),
            (Typed::Double(tables), Buffer::F64(cells), Buffer::F64(sums)) => tables.run(call, buffers, cells, sums),
            _ => {}
        }
    }
}
