//! Entries of one key in the order of their times.

use super::layout::Layout;
use super::leaf::{Leaf, Rows};

/// Entries in the order of their times; those of one time as they came.
#[derive(Debug)]
pub struct Tree {
    leaf: Leaf,
}

impl Tree {
    #[must_use]
    pub fn new() -> Self {
        Self { leaf: Leaf::new() }
    }

    /// Rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.leaf.len()
    }

    #[must_use]
    pub fn last(&self) -> Option<i64> {
        self.leaf.last()
    }

    /// Puts an entry behind all that are not later.
    pub fn insert(&mut self, time_us: i64, row: &[u64], _rows: Rows, _layout: &Layout) {
        self.leaf.insert(self.leaf.until(time_us), time_us, row);
    }

    /// Adds the entries after `after` and not after `until` to a summary.
    pub fn fold(&self, after: i64, until: i64, rows: Rows, layout: &Layout, summary: &mut [u64]) {
        let range = self.leaf.until(after)..self.leaf.until(until);
        if range.start < range.end {
            self.leaf.add(range, rows, layout, summary);
        }
    }

    /// Visits the rows after `after` and not after `until`, from the last, until the visitor says stop.
    pub fn back(&self, after: i64, until: i64, width: usize, visit: &mut dyn FnMut(i64, &[u64]) -> bool) -> bool {
        for at in (self.leaf.until(after)..self.leaf.until(until)).rev() {
            if visit(self.leaf.time(at).unwrap_or_default(), self.leaf.row(at, width)) {
                return true;
            }
        }
        false
    }

    /// Changes the last row of that time that `change` takes: it returns whether it did.
    pub fn change(
        &mut self,
        time_us: i64,
        rows: Rows,
        layout: &Layout,
        change: &mut dyn FnMut(&mut [u64]) -> bool,
    ) -> bool {
        let width = rows.width(layout);
        let range = self.leaf.until(time_us - 1)..self.leaf.until(time_us);
        range.rev().any(|at| change(self.leaf.row_mut(at, width)))
    }

    /// Gives up what is not after `time_us`.
    pub fn expire(&mut self, time_us: i64, rows: Rows, layout: &Layout) {
        let gone = self.leaf.until(time_us);
        if gone > 0 {
            self.leaf = self.leaf.split_off(gone, rows.width(layout));
        }
    }

    #[must_use]
    pub fn bytes(&self) -> usize {
        self.leaf.bytes()
    }
}
