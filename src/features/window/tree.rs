//! Entries of one key in the order of their times: a B+ tree whose branches hold the summaries of what is below.
//!
//! The last rows stand in a leaf beside it: an event in order touches no branch until that leaf is full.
//!
//! A leaf holds up to [`LEAF_ROWS`] rows, a branch up to [`FAN_OUT`] children. Entering a row, also a late one, and
//! adding up a window cost O(log n); old rows go by whole leaves from the front. Rows that come in order fill their
//! leaves; a full leaf is cut where a late row goes.

use super::branch::{Branch, Entry, Node, insert_in_leaf};
use super::layout::{Layout, Way};
use super::leaf::{Leaf, Rows};

/// Most rows of a leaf.
pub const LEAF_ROWS: usize = 64;
/// Most children of a branch.
pub const FAN_OUT: usize = 16;

/// Bytes of a root beside its branch.
const ROOT_BYTES: usize = size_of::<Root>() - size_of::<Branch>();

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
#[derive(Debug, Default)]
pub struct Tree {
    /// All but the last rows. Where there is one, the tail is not empty.
    root: Option<Box<Root>>,
    /// The last rows, where nearly all that comes goes.
    tail: Leaf,
}

/// The branches, with how many rows and bytes are below.
#[derive(Debug, Default)]
struct Root {
    branch: Branch,
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

/// The sums of the branches' rows up to a time: where one window begins, a shorter one with the same end began to be
/// added to.
#[derive(Debug, Default)]
pub struct Edge {
    time_us: Option<i64>,
    sums: Vec<u64>,
}

impl Edge {
    /// Makes it that of another tree.
    pub fn reset(&mut self) {
        self.time_us = None;
    }

    fn go_to(&mut self, time_us: i64, root: &Root, shape: Shape<'_>) {
        if self.time_us.replace(time_us) != Some(time_us) {
            shape.layout.prepare(&mut self.sums);
            root.branch.sum_until(time_us, shape, &mut self.sums);
        }
    }
}

impl Root {
    /// Puts a root above two branches.
    fn grow(&mut self, right: Option<Branch>, shape: Shape<'_>) {
        let Some(right) = right else { return };
        let left = std::mem::take(&mut self.branch);
        self.branch = Branch::of(Node::Branch(Box::new(left)), Node::Branch(Box::new(right)), shape);
        self.bytes += self.branch.heap();
    }
}

impl Tree {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tail.len() + self.root.as_ref().map_or(0, |root| root.rows)
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.tail.bytes() + self.root.as_ref().map_or(0, |root| root.bytes)
    }

    /// The time of its last row.
    #[must_use]
    pub fn last(&self) -> Option<i64> {
        self.tail.last()
    }

    /// Puts a row behind all that are not later.
    pub fn insert(&mut self, time_us: i64, row: &[u64], shape: Shape<'_>) {
        // In order it goes behind the tail, of which no other line is looked at.
        let tail = &self.tail;
        let is_late = tail.last() > Some(time_us) && tail.first() > Some(time_us);
        if let Some(root) = self.root.as_mut().filter(|_| is_late)
            && root.branch.last().is_some_and(|last| last > time_us)
        {
            root.rows += 1;
            let mut summary = shape.layout.nothing();
            shape.add_row(&mut summary, row);
            let split = root.branch.insert(Entry { time_us, row, summary: &summary }, shape, &mut root.bytes);
            root.grow(split, shape);
            return;
        }
        let at = self.tail.until(time_us);
        let Some(rest) = insert_in_leaf(&mut self.tail, at, time_us, row, shape.width()) else { return };
        let full = std::mem::replace(&mut self.tail, rest);
        let root = self
            .root
            .get_or_insert_with(|| Box::new(Root { bytes: ROOT_BYTES + Branch::default().heap(), ..Root::default() }));
        root.rows += full.len();
        let split = root.branch.push(full, shape, &mut root.bytes);
        root.grow(split, shape);
    }

    /// Adds the rows after `after` and not after `until` to a summary. `edge`: of this tree, or new.
    pub fn fold_on(&self, after: i64, until: i64, shape: Shape<'_>, summary: &mut [u64], edge: &mut Edge) {
        if after >= until {
            return;
        }
        let Some(tail) = self.tail.first() else { return };
        if let Some(root) = self.root.as_ref().filter(|_| tail > after) {
            if shape.layout.has_extremes() {
                root.branch.fold(after, until, shape, summary);
            } else {
                edge.go_to(until, root, shape);
                shape.layout.sum(summary, &edge.sums, Way::In);
                edge.go_to(after, root, shape);
                shape.layout.sum(summary, &edge.sums, Way::Out);
            }
        }
        if tail <= until {
            self.tail.fold(after, until, shape, summary);
        }
    }

    /// The same, with a new edge.
    pub fn fold(&self, after: i64, until: i64, shape: Shape<'_>, summary: &mut [u64]) {
        self.fold_on(after, until, shape, summary, &mut Edge::default());
    }

    #[must_use]
    pub fn has_branches(&self) -> bool {
        self.root.is_some()
    }

    /// Reads where the next row in order goes, and the root.
    #[must_use]
    pub fn read_end(&self, width: usize) -> u64 {
        self.tail.read_end(width) ^ self.root.as_ref().map_or(0, |root| root.rows as u64)
    }

    /// Reads the lines of its last rows, and where its highest branch has its own.
    #[must_use]
    pub fn read_tail(&self) -> u64 {
        self.tail.read() ^ self.root.as_ref().map_or(0, |root| root.branch.read_itself())
    }

    /// Reads the lines of its highest branch.
    #[must_use]
    pub fn read_branch(&self) -> u64 {
        self.root.as_ref().map_or(0, |root| root.branch.read())
    }

    /// Reads what is needed to cut a window there.
    #[must_use]
    pub fn read_at(&self, time_us: i64) -> u64 {
        self.root.as_ref().map_or(0, |root| root.branch.read_at(time_us))
    }

    /// Visits the rows after `after` and not after `until`, from the last, until the visitor says stop (true).
    pub fn back(&self, after: i64, until: i64, shape: Shape<'_>, visit: &mut dyn FnMut(i64, &[u64]) -> bool) -> bool {
        after < until
            && (self.tail.back(after, until, shape.width(), visit)
                || self.root.as_ref().is_some_and(|root| root.branch.back(after, until, shape, visit)))
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
            || self.root.as_mut().is_some_and(|root| root.branch.change(time_us, shape, fix, change))
    }

    /// Gives up what is not after `time_us`, by whole leaves and, of the first, where most of it is old. `gone` sees
    /// the rows that go.
    pub fn expire(&mut self, time_us: i64, shape: Shape<'_>, gone: &mut dyn FnMut(&[u64])) {
        let width = shape.width();
        if let Some(root) = self.root.as_mut().filter(|root| root.branch.last().is_some_and(|last| last > time_us)) {
            let mut rows = 0;
            let mut count = |row: &[u64]| {
                rows += 1;
                gone(row);
            };
            root.branch.expire(time_us, shape, &mut count, &mut root.bytes);
            root.rows -= rows.min(root.rows);
            // A root of one branch is none.
            while let Some(child) = root.branch.only_branch() {
                root.bytes -= root.branch.heap().min(root.bytes);
                root.branch = *child;
            }
        } else {
            if let Some(root) = self.root.take() {
                root.branch.each(width, gone);
            }
            self.tail.expire(time_us, width, gone);
        }
    }

    /// When something is old enough to go: [`Self::expire`] up to an earlier time gives up nothing.
    #[must_use]
    pub fn due(&self) -> Option<i64> {
        self.root.as_ref().map_or_else(|| self.tail.due(), |root| root.branch.due())
    }

    /// The same as [`Self::bytes`], by looking at all of it.
    #[cfg(test)]
    pub fn bytes_counted(&self) -> usize {
        self.root.as_ref().map_or(0, |root| root.branch.bytes() + ROOT_BYTES) + self.tail.bytes()
    }
}
