//! Entries of one key in the order of their times: a B+ tree whose branches hold the summaries of what is below.
//!
//! A leaf holds up to [`LEAF_ROWS`] rows, a branch up to [`FAN_OUT`] children. Entering a row, also a late one, and
//! adding up a window cost O(log n); old rows go by whole leaves from the front. Rows that come in order fill their
//! leaves; a full leaf is cut where a late row goes.

use super::branch::{Branch, Node};
use super::layout::Layout;
use super::leaf::{Leaf, Rows};

/// Most rows of a leaf.
pub const LEAF_ROWS: usize = 64;
/// Most children of a branch.
pub const FAN_OUT: usize = 16;

/// What the rows of a tree are.
#[derive(Clone, Copy, Debug)]
pub struct Shape<'a> {
    pub rows: Rows,
    pub layout: &'a Layout,
}

/// How the summaries above a changed row are put right.
#[derive(Clone, Copy, Debug)]
pub enum Fix<'a> {
    /// From the rows.
    Recount,
    /// By what the row has more than before.
    Add(&'a [u64]),
}

/// Entries in the order of their times; those of one time as they came.
#[derive(Debug)]
pub struct Tree {
    root: Node,
    rows: usize,
    bytes: usize,
}

impl<'a> Shape<'a> {
    /// Rows that are an event's cells.
    #[must_use]
    pub fn events(layout: &'a Layout) -> Self {
        Self { rows: Rows::Events, layout }
    }

    /// Cells of a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.rows.width(self.layout)
    }

    /// Adds a row to a summary.
    pub fn add_row(&self, summary: &mut [u64], row: &[u64]) {
        match self.rows {
            Rows::Events => self.layout.add_rows(summary, row, 1),
            Rows::Panes => self.layout.add(summary, row),
        }
    }
}

impl Tree {
    #[must_use]
    pub fn new() -> Self {
        Self { root: Node::Leaf(Leaf::new()), rows: 0, bytes: 0 }
    }

    /// Rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The time of its last row.
    #[must_use]
    pub fn last(&self) -> Option<i64> {
        self.root.last()
    }

    /// Puts a row behind all that are not later.
    pub fn insert(&mut self, time_us: i64, row: &[u64], shape: Shape<'_>) {
        let split = self.root.insert(time_us, row, shape, &mut self.bytes);
        self.rows += 1;
        if let Some(right) = split {
            let left = std::mem::replace(&mut self.root, Node::Leaf(Leaf::new()));
            let branch = Branch::of(left, right, shape);
            self.bytes += branch.bytes() + size_of::<Branch>();
            self.root = Node::Branch(Box::new(branch));
        }
    }

    /// Adds the rows after `after` and not after `until` to a summary.
    pub fn fold(&self, after: i64, until: i64, shape: Shape<'_>, summary: &mut [u64]) {
        if after < until {
            self.root.fold(after, until, shape, summary);
        }
    }

    /// Visits the rows after `after` and not after `until`, from the last, until the visitor says stop (true).
    pub fn back(&self, after: i64, until: i64, shape: Shape<'_>, visit: &mut dyn FnMut(i64, &[u64]) -> bool) -> bool {
        after < until && self.root.back(after, until, shape, visit)
    }

    /// Changes the last row of that time that `change` takes: it returns whether it did.
    pub fn change(
        &mut self,
        time_us: i64,
        shape: Shape<'_>,
        fix: Fix<'_>,
        change: &mut dyn FnMut(&mut [u64]) -> bool,
    ) -> bool {
        self.root.change(time_us, shape, fix, change)
    }

    /// Gives up what is not after `time_us`, by whole leaves and, of the first, where most of it is old. `gone` sees
    /// the rows that go.
    pub fn expire(&mut self, time_us: i64, shape: Shape<'_>, gone: &mut dyn FnMut(&[u64])) {
        let mut rows = 0;
        let mut count = |row: &[u64]| {
            rows += 1;
            gone(row);
        };
        if self.root.last().is_none_or(|last| last <= time_us) {
            self.root.each(shape.width(), &mut count);
            *self = Self::new();
            return;
        }
        self.root.expire(time_us, shape, &mut count, &mut self.bytes);
        self.rows -= rows.min(self.rows);
        // A branch of one child is none.
        while let Some((child, bytes)) = self.root.only_child() {
            self.bytes -= bytes.min(self.bytes);
            self.root = child;
        }
    }
}
