//! A run: rows by parts, groups and blocks of trees in order, leaves summed as they are found.

use super::bits::{Bits, Mask};
use super::cuts::{Cell, Ranks};
use super::isa::{Instructions, Isa, Work};
use super::leaves::{Leaves, Number};
use super::plan::{Buffer, TreeScratch};
use super::tables::{Block, Group, LANES, Table, Tables};
use super::walk::{SIDE_BY_SIDE, Walk};

/// Rows that go through a block of trees together.
const ROWS: usize = 64;
/// Bytes of scratch from which on fewer rows go together.
const SCRATCH_BYTES: usize = 4 << 20;

/// Buffers of a scratch without those that are typed.
pub struct Buffers<'a> {
    pub most: usize,
    pub classes: &'a mut [u32],
    pub codes: &'a mut [u16],
    pub picks: &'a mut [u32],
    pub leaves: &'a mut [u32],
}

/// What is to be done.
pub struct Call<'a> {
    pub isa: Isa,
    pub width: usize,
    pub targets: usize,
    pub rows: &'a [f64],
    pub out: &'a mut [f64],
    /// Leaves are wanted, of one row, and no sums.
    pub ids: Option<&'a mut [u32]>,
}

impl<T: Cell, S: Number> Tables<T, S> {
    /// Numbers a row in each buffer: classes, cells, leaves, sums; and codes in all.
    fn needs(&self, targets: usize) -> ([usize; 4], usize) {
        let most = |of: fn(&Group<T>) -> usize| self.groups.iter().map(of).max().unwrap_or(0);
        let cells = most(|group| group.walk.as_ref().map_or(0, Walk::slots));
        ([most(|group| group.ranks.len()), cells, LANES, targets], most(|group| group.columns))
    }

    fn rows(&self, targets: usize, max_batch: usize) -> usize {
        let ([classes, cells, leaves, sums], _) = self.needs(targets);
        let row = (classes + leaves) * size_of::<u32>() + cells * size_of::<T>() + sums * size_of::<S>();
        max_batch.clamp(1, ROWS).min(SCRATCH_BYTES / row.max(1)).max(1)
    }

    pub fn scratch_bytes(&self, targets: usize, max_batch: usize) -> usize {
        let ([classes, cells, leaves, sums], codes) = self.needs(targets);
        let row = (classes + leaves) * size_of::<u32>() + cells * size_of::<T>() + sums * size_of::<S>();
        self.rows(targets, max_batch) * row + codes * (size_of::<u16>() + size_of::<u32>())
    }

    pub fn scratch(
        &self,
        targets: usize,
        max_batch: usize,
        cells_as: fn(Vec<T>) -> Buffer,
        sums_as: fn(Vec<S>) -> Buffer,
    ) -> TreeScratch {
        let ([classes, cells, leaves, sums], codes) = self.needs(targets);
        let rows = self.rows(targets, max_batch);
        TreeScratch {
            rows,
            classes: vec![0; rows * classes],
            codes: vec![0; codes],
            picks: vec![0; codes],
            leaves: vec![0; rows * leaves],
            cells: cells_as(vec![T::default(); rows * cells]),
            sums: sums_as(vec![S::default(); rows * sums]),
        }
    }

    pub fn run(&self, call: Call<'_>, buffers: &mut Buffers<'_>, cells: &mut [T], sums: &mut [S]) {
        let Call { isa, width, targets, rows, out, mut ids } = call;
        let ([of_classes, of_cells, _, _], codes) = self.needs(targets);
        let most = buffers.most;
        // Another plan's scratch.
        let fits = buffers.classes.len() >= most * of_classes
            && cells.len() >= most * of_cells
            && sums.len() >= most * targets
            && buffers.codes.len() >= codes
            && buffers.picks.len() >= codes;
        if !fits || most == 0 {
            return;
        }
        let count = rows.len().checked_div(width).unwrap_or(out.len() / targets);
        for start in (0..count).step_by(most) {
            let part = most.min(count - start);
            let rows = &rows[start * width..(start + part) * width];
            let sums = &mut sums[..part * targets];
            self.leaves.start(sums);
            for group in &self.groups {
                let classes = &mut buffers.classes[..part * group.ranks.len()];
                if !classes.is_empty() {
                    isa.run(Rank { ranks: &group.ranks, rows, width, classes });
                }
                let slots = group.walk.as_ref().map_or(0, Walk::slots);
                let cells = &mut cells[..part * slots];
                if let Some(walk) = &group.walk {
                    isa.run(Fill { walk, rows, width, cells });
                }
                for block in &group.blocks {
                    let leaves = &mut buffers.leaves[..part * LANES];
                    let (codes, picks) = (&mut *buffers.codes, &mut *buffers.picks);
                    let classes = Classes { all: classes, of: group.ranks.len() };
                    match (&block.table, &group.walk) {
                        (Table::Narrow(bits), _) => isa.run(Mark { bits, classes, codes, picks, leaves }),
                        (Table::Wide(bits), _) => isa.run(Mark { bits, classes, codes, picks, leaves }),
                        (Table::Walk(from), Some(walk)) => {
                            // Compiled for wider registers, steps become gathers, which take twice as long.
                            Isa::Portable.run(Steps { walk, from: *from, block, rows, width, cells, leaves });
                        }
                        (Table::Walk(_), None) => {}
                    }
                    if let Some(ids) = ids.as_deref_mut() {
                        let trees = block.first..block.first + block.trees;
                        for (id, (tree, leaf)) in ids.iter_mut().skip(block.first).zip(trees.zip(leaves.iter())) {
                            *id = self.leaves.id(tree, *leaf);
                        }
                    } else {
                        isa.run(Add { all: &self.leaves, block, leaves, sums });
                    }
                }
            }
            if ids.is_none() {
                let Some(out) = out.get_mut(start * targets..(start + part) * targets) else { return };
                self.leaves.finish(sums, out);
            }
        }
    }
}

struct Rank<'a, T> {
    ranks: &'a Ranks<T>,
    rows: &'a [f64],
    width: usize,
    classes: &'a mut [u32],
}

impl<T: Cell> Work for Rank<'_, T> {
    #[inline(always)]
    fn work<I: Instructions>(self) {
        let rows = self.rows.chunks_exact(self.width);
        for (row, classes) in rows.zip(self.classes.chunks_exact_mut(self.ranks.len())) {
            self.ranks.classes(row, classes);
        }
    }
}

struct Fill<'a, T> {
    walk: &'a Walk<T>,
    rows: &'a [f64],
    width: usize,
    cells: &'a mut [T],
}

impl<T: Cell> Work for Fill<'_, T> {
    #[inline(always)]
    fn work<I: Instructions>(self) {
        let rows = self.rows.chunks_exact(self.width.max(1));
        for (row, cells) in rows.zip(self.cells.chunks_exact_mut(self.walk.slots())) {
            self.walk.fill(row, cells);
        }
    }
}

/// Classes of all rows, and how many a row has.
struct Classes<'a> {
    all: &'a [u32],
    of: usize,
}

struct Mark<'a, M, const L: usize> {
    bits: &'a Bits<M, L>,
    classes: Classes<'a>,
    codes: &'a mut [u16],
    picks: &'a mut [u32],
    leaves: &'a mut [u32],
}

impl<M: Mask, const L: usize> Work for Mark<'_, M, L> {
    #[inline(always)]
    fn work<I: Instructions>(self) {
        for (row, leaves) in self.leaves.chunks_exact_mut(LANES).enumerate() {
            let classes = &self.classes.all[row * self.classes.of..(row + 1) * self.classes.of];
            let masks = self.bits.masks::<I>(classes, self.codes, self.picks);
            for (leaf, mask) in leaves.iter_mut().zip(&masks.0) {
                *leaf = mask.first();
            }
        }
    }
}

struct Steps<'a, T> {
    walk: &'a Walk<T>,
    from: usize,
    block: &'a Block,
    rows: &'a [f64],
    width: usize,
    cells: &'a [T],
    leaves: &'a mut [u32],
}

impl<T: Cell> Work for Steps<'_, T> {
    #[inline(always)]
    fn work<I: Instructions>(self) {
        let slots = self.walk.slots();
        let count = self.leaves.len() / LANES;
        let whole = count - count % SIDE_BY_SIDE;
        for tree in 0..self.block.trees {
            for row in (0..whole).step_by(SIDE_BY_SIDE) {
                let mut leaves = [0; SIDE_BY_SIDE];
                let (rows, cells) = (&self.rows[row * self.width..], &self.cells[row * slots..]);
                self.walk.rows(self.from + tree, rows, self.width, cells, &mut leaves);
                for (n, leaf) in leaves.iter().enumerate() {
                    self.leaves[(row + n) * LANES + tree] = *leaf;
                }
            }
        }
        for row in whole..count {
            let leaves = &mut self.leaves[row * LANES..][..self.block.trees];
            self.walk.trees(self.from, &self.rows[row * self.width..], &self.cells[row * slots..], leaves);
        }
    }
}

struct Add<'a, S> {
    all: &'a Leaves<S>,
    block: &'a Block,
    leaves: &'a [u32],
    sums: &'a mut [S],
}

impl<S: Number> Work for Add<'_, S> {
    #[inline(always)]
    fn work<I: Instructions>(self) {
        self.all.add(self.block.first, self.block.trees, self.leaves, LANES, self.sums);
    }
}
