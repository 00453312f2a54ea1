//! Entries of one key in the order of their times: a B+ tree whose branches hold the summaries of what is below.
//!
//! The last rows stand in a leaf beside it: an event in order touches no branch until that leaf is full.
//!
//! A leaf holds up to [`LEAF_ROWS`] rows, a branch up to [`FAN_OUT`] children. Entering a row, also a late one, and
//! adding up a window cost O(log n); old rows go by whole leaves from the front. Rows that come in order fill their
//! leaves; a full leaf is cut where a late row goes.

use super::branch::{Branch, Node, insert_in_leaf};
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
    /// All but the last rows.
    root: Option<Box<Branch>>,
    /// The time of its last row; the least there is where it holds none.
    root_last: i64,
    /// The last rows, where nearly all that comes goes.
    tail: Leaf,
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
        Self { root: None, root_last: i64::MIN, tail: Leaf::new(), rows: 0, bytes: 0 }
    }

    /// Rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes + self.tail.bytes()
    }

    /// The time of its last row.
    #[must_use]
    pub fn last(&self) -> Option<i64> {
        self.tail.last()
    }

    /// Puts a row behind all that are not later.
    pub fn insert(&mut self, time_us: i64, row: &[u64], shape: Shape<'_>) {
        self.rows += 1;
        if let Some(root) = self.root.as_mut().filter(|_| self.root_last > time_us) {
            let split = root.insert(time_us, row, shape, &mut self.bytes);
            self.grow(split, shape);
            return;
        }
        let at = self.tail.until(time_us);
        let Some(rest) = insert_in_leaf(&mut self.tail, at, time_us, row, shape.width()) else { return };
        let full = std::mem::replace(&mut self.tail, rest);
        self.root_last = full.last().unwrap_or(i64::MIN);
        let root = self.root.get_or_insert_with(|| {
            self.bytes += Branch::default().heap();
            Box::default()
        });
        let split = root.push(full, shape, &mut self.bytes);
        self.grow(split, shape);
    }

    /// Puts a root above two branches.
    fn grow(&mut self, right: Option<Branch>, shape: Shape<'_>) {
        let Some(right) = right else { return };
        let left = self.root.take().unwrap_or_default();
        let root = Branch::of(Node::Branch(left), Node::Branch(Box::new(right)), shape);
        self.bytes += root.heap();
        self.root = Some(Box::new(root));
    }

    /// Adds the rows after `after` and not after `until` to a summary.
    pub fn fold(&self, after: i64, until: i64, shape: Shape<'_>, summary: &mut [u64]) {
        if after >= until {
            return;
        }
        if let Some(root) = self.root.as_ref().filter(|_| after < self.root_last) {
            root.fold(after, until, shape, summary);
        }
        if self.root_last <= until {
            self.tail.fold(after, until, shape, summary);
        }
    }

    /// Visits the rows after `after` and not after `until`, from the last, until the visitor says stop (true).
    pub fn back(&self, after: i64, until: i64, shape: Shape<'_>, visit: &mut dyn FnMut(i64, &[u64]) -> bool) -> bool {
        after < until
            && (self.tail.back(after, until, shape.width(), visit)
                || self.root.as_ref().is_some_and(|root| root.back(after, until, shape, visit)))
    }

    /// Changes the last row of that time that `change` takes: it returns whether it did.
    pub fn change(
        &mut self,
        time_us: i64,
        shape: Shape<'_>,
        fix: Fix<'_>,
        change: &mut dyn FnMut(&mut [u64]) -> bool,
    ) -> bool {
        self.tail.change(time_us, shape.width(), change)
            || self.root.as_mut().is_some_and(|root| root.change(time_us, shape, fix, change))
    }

    /// Gives up what is not after `time_us`, by whole leaves and, of the first, where most of it is old. `gone` sees
    /// the rows that go.
    pub fn expire(&mut self, time_us: i64, shape: Shape<'_>, gone: &mut dyn FnMut(&[u64])) {
        let (mut rows, width) = (0, shape.width());
        let mut count = |row: &[u64]| {
            rows += 1;
            gone(row);
        };
        if self.root_last <= time_us {
            if let Some(root) = self.root.take() {
                root.each(width, &mut count);
            }
            (self.root_last, self.bytes) = (i64::MIN, 0);
            self.tail.expire(time_us, width, &mut count);
        } else if let Some(root) = &mut self.root {
            root.expire(time_us, shape, &mut count, &mut self.bytes);
            // A root of one branch is none.
            while let Some(child) = root.only_branch() {
                self.bytes -= root.heap().min(self.bytes);
                *root = child;
            }
        }
        self.rows -= rows.min(self.rows);
    }

    /// When something is old enough to go: [`Self::expire`] up to an earlier time gives up nothing.
    #[must_use]
    pub fn due(&self) -> Option<i64> {
        self.root.as_ref().map_or_else(|| self.tail.due(), |root| root.due())
    }

    /// The same as [`Self::bytes`], by looking at all of it.
    #[cfg(test)]
    pub fn bytes_counted(&self) -> usize {
        self.root.as_ref().map_or(0, |root| root.bytes()) + self.tail.bytes()
    }
}
