//! The inside of a [`super::tree::Tree`]: branches, leaves and how both are cut when they are full.

use super::leaf::{ALLOCATION, Leaf};
use super::tree::{FAN_OUT, Fix, LEAF_ROWS, Shape};
use super::work;

/// Children that a branch has room made for at once: there are many keys, and most have few leaves.
const ROOM: usize = 2;

#[derive(Debug)]
pub enum Node {
    Leaf(Leaf),
    Branch(Box<Branch>),
}

/// Children in the order of their times, with what stands for each.
#[derive(Debug, Default)]
pub struct Branch {
    children: Vec<Node>,
    /// The time of each child's last row.
    lasts: Vec<i64>,
    /// The summary of each child.
    sums: Vec<u64>,
}

impl Node {
    #[must_use]
    pub fn last(&self) -> Option<i64> {
        match self {
            Self::Leaf(leaf) => leaf.last(),
            Self::Branch(branch) => branch.lasts.last().copied(),
        }
    }

    /// Puts a row in. What no longer fits is returned, to stand behind this node. `bytes` is kept.
    pub fn insert(&mut self, time_us: i64, row: &[u64], shape: Shape<'_>, bytes: &mut usize) -> Option<Self> {
        match self {
            Self::Leaf(leaf) => {
                *bytes -= leaf.bytes().min(*bytes);
                let at = leaf.until(time_us);
                let right = insert_in_leaf(leaf, at, time_us, row, shape.width());
                *bytes += leaf.bytes() + right.as_ref().map_or(0, Leaf::bytes);
                right.map(Self::Leaf)
            }
            Self::Branch(branch) => {
                let right = branch.insert(time_us, row, shape, bytes)?;
                Some(Self::Branch(Box::new(right)))
            }
        }
    }

    /// Puts a full leaf behind all others. What no longer fits is returned, to stand behind this node.
    pub fn push(&mut self, leaf: Leaf, shape: Shape<'_>, bytes: &mut usize) -> Option<Self> {
        match self {
            Self::Leaf(_) => {
                *bytes += leaf.bytes();
                Some(Self::Leaf(leaf))
            }
            Self::Branch(branch) => branch.push(leaf, shape, bytes).map(|right| Self::Branch(Box::new(right))),
        }
    }

    /// When the first of its rows are old enough to go.
    #[must_use]
    pub fn due(&self) -> Option<i64> {
        match self {
            Self::Leaf(leaf) => leaf.due(),
            Self::Branch(branch) => branch.due(),
        }
    }

    /// Adds all its rows to a summary.
    fn add_to(&self, shape: Shape<'_>, summary: &mut [u64]) {
        match self {
            Self::Leaf(leaf) => leaf.add(0..leaf.len(), shape, summary),
            Self::Branch(branch) => {
                work::done(branch.children.len());
                branch.sums.chunks_exact(shape.layout.words()).for_each(|sum| shape.layout.add(summary, sum));
            }
        }
    }

    pub fn fold(&self, after: i64, until: i64, shape: Shape<'_>, summary: &mut [u64]) {
        match self {
            Self::Leaf(leaf) => leaf.fold(after, until, shape, summary),
            Self::Branch(branch) => branch.fold(after, until, shape, summary),
        }
    }

    pub fn back(&self, after: i64, until: i64, shape: Shape<'_>, visit: &mut dyn FnMut(i64, &[u64]) -> bool) -> bool {
        match self {
            Self::Leaf(leaf) => leaf.back(after, until, shape.width(), visit),
            Self::Branch(branch) => branch.back(after, until, shape, visit),
        }
    }

    pub fn change(
        &mut self,
        time_us: i64,
        shape: Shape<'_>,
        fix: Fix<'_>,
        change: &mut dyn FnMut(&mut [u64]) -> bool,
    ) -> bool {
        match self {
            Self::Leaf(leaf) => leaf.change(time_us, shape.width(), change),
            Self::Branch(branch) => branch.change(time_us, shape, fix, change),
        }
    }

    /// Gives up old rows; the last row is not old. False: there were none to give up.
    pub fn expire(&mut self, time_us: i64, shape: Shape<'_>, gone: &mut dyn FnMut(&[u64]), bytes: &mut usize) -> bool {
        match self {
            Self::Leaf(leaf) => {
                let before = leaf.bytes();
                let changed = leaf.expire(time_us, shape.width(), gone);
                *bytes = (*bytes + leaf.bytes()).saturating_sub(before);
                changed
            }
            Self::Branch(branch) => branch.expire(time_us, shape, gone, bytes),
        }
    }

    /// Visits every row.
    pub fn each(&self, width: usize, visit: &mut dyn FnMut(&[u64])) {
        match self {
            Self::Leaf(leaf) => leaf.each(width, visit),
            Self::Branch(branch) => branch.each(width, visit),
        }
    }

    /// Bytes on the heap, all that is below included.
    fn bytes(&self) -> usize {
        match self {
            Self::Leaf(leaf) => leaf.bytes(),
            Self::Branch(branch) => branch.bytes(),
        }
    }
}

/// Puts a row in at its place. Where the leaf was full, what stands behind the cut is returned.
pub fn insert_in_leaf(leaf: &mut Leaf, at: usize, time_us: i64, row: &[u64], width: usize) -> Option<Leaf> {
    work::done(leaf.len() - at + 1);
    if leaf.len() < LEAF_ROWS {
        leaf.insert(at, time_us, row);
        return None;
    }
    // Behind all others a new leaf begins, so that rows that come in order fill theirs; near the end, where events a
    // little late go, it is cut there.
    let cut = if at < LEAF_ROWS * 3 / 4 { LEAF_ROWS / 2 } else { at };
    let mut right = leaf.split_off(cut, width);
    if at > cut || cut == LEAF_ROWS {
        right.insert(at - cut, time_us, row);
    } else {
        leaf.insert(at, time_us, row);
    }
    Some(right)
}

impl Branch {
    #[must_use]
    pub fn of(left: Node, right: Node, shape: Shape<'_>) -> Self {
        let mut branch = Self::default();
        branch.put(0, left, shape);
        branch.put(1, right, shape);
        branch
    }

    /// Bytes on the heap of itself and its own lists.
    #[must_use]
    pub fn heap(&self) -> usize {
        size_of::<Self>()
            + self.children.capacity() * size_of::<Node>()
            + (self.lasts.capacity() + self.sums.capacity()) * size_of::<u64>()
            + 4 * ALLOCATION
    }

    /// The same with all that is below.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.heap() + self.children.iter().map(Node::bytes).sum::<usize>()
    }

    /// When the first of its rows are old enough to go.
    #[must_use]
    pub fn due(&self) -> Option<i64> {
        self.children.first().and_then(Node::due)
    }

    /// Visits every row.
    pub fn each(&self, width: usize, visit: &mut dyn FnMut(&[u64])) {
        self.children.iter().for_each(|child| child.each(width, visit));
    }

    /// Takes out the branch that is its only child.
    pub fn only_branch(&mut self) -> Option<Box<Self>> {
        let [Node::Branch(child)] = &mut self.children[..] else { return None };
        Some(std::mem::take(child))
    }

    /// The first child with rows after a time.
    fn first_after(&self, time_us: i64) -> usize {
        self.lasts.partition_point(|last| *last <= time_us)
    }

    /// One past the last child with rows at or before a time.
    fn end_of(&self, time_us: i64) -> usize {
        (self.first_after(time_us) + 1).min(self.children.len())
    }

    /// Puts a child at its place, with its last time and summary.
    fn put(&mut self, at: usize, child: Node, shape: Shape<'_>) {
        let words = shape.layout.words();
        if self.children.len() == self.children.capacity() {
            self.children.reserve_exact(ROOM);
            self.lasts.reserve_exact(ROOM);
            self.sums.reserve_exact(ROOM * words);
        }
        self.lasts.insert(at, child.last().unwrap_or(i64::MIN));
        self.children.insert(at, child);
        self.sums.splice(at * words..at * words, std::iter::repeat_n(0, words));
        self.recount(at, shape);
    }

    /// Makes a child's summary anew.
    fn recount(&mut self, at: usize, shape: Shape<'_>) {
        let words = shape.layout.words();
        let (Some(child), Some(sum)) = (self.children.get(at), self.sums.get_mut(at * words..(at + 1) * words)) else {
            return;
        };
        shape.layout.clear(sum);
        child.add_to(shape, sum);
        if let (Some(last), Some(time)) = (self.lasts.get_mut(at), child.last()) {
            *last = time;
        }
    }

    pub fn insert(&mut self, time_us: i64, row: &[u64], shape: Shape<'_>, bytes: &mut usize) -> Option<Self> {
        let words = shape.layout.words();
        let at = self.first_after(time_us).min(self.children.len().saturating_sub(1));
        let right = self.children.get_mut(at)?.insert(time_us, row, shape, bytes);
        let Some(right) = right else {
            if let (Some(sum), Some(last)) = (self.sums.get_mut(at * words..(at + 1) * words), self.lasts.get_mut(at)) {
                shape.add_row(sum, row);
                *last = (*last).max(time_us);
            }
            return None;
        };
        self.behind(at, right, shape, bytes)
    }

    /// Puts a full leaf behind all others.
    pub fn push(&mut self, leaf: Leaf, shape: Shape<'_>, bytes: &mut usize) -> Option<Self> {
        let at = self.children.len().saturating_sub(1);
        let Some(last) = self.children.last_mut() else {
            let before = self.heap();
            self.put(0, Node::Leaf(leaf), shape);
            *bytes = (*bytes + self.bytes()).saturating_sub(before);
            return None;
        };
        if let Some(right) = last.push(leaf, shape, bytes) {
            return self.behind(at, right, shape, bytes);
        }
        self.recount(at, shape);
        None
    }

    pub fn back(&self, after: i64, until: i64, shape: Shape<'_>, visit: &mut dyn FnMut(i64, &[u64]) -> bool) -> bool {
        let (first, end) = (self.first_after(after), self.end_of(until));
        let children = self.children.get(first..end).unwrap_or_default();
        children.iter().rev().any(|child| child.back(after, until, shape, visit))
    }

    /// Puts a node behind a child that was cut; what no longer fits is returned.
    fn behind(&mut self, at: usize, right: Node, shape: Shape<'_>, bytes: &mut usize) -> Option<Self> {
        let before = self.heap();
        self.recount(at, shape);
        self.put(at + 1, right, shape);
        let cut = (self.children.len() > FAN_OUT).then(|| {
            // As with leaves: what comes in order fills its branches.
            let cut = if at + 2 == self.children.len() { FAN_OUT } else { FAN_OUT / 2 };
            let right = self.cut(cut, shape.layout.words());
            *bytes += right.heap();
            right
        });
        *bytes = (*bytes + self.heap()).saturating_sub(before);
        cut
    }

    fn cut(&mut self, at: usize, words: usize) -> Self {
        let right = Self {
            children: self.children.split_off(at),
            lasts: self.lasts.split_off(at),
            sums: self.sums.split_off(at * words),
        };
        self.children.shrink_to_fit();
        self.lasts.shrink_to_fit();
        self.sums.shrink_to_fit();
        right
    }

    pub fn fold(&self, after: i64, until: i64, shape: Shape<'_>, summary: &mut [u64]) {
        let words = shape.layout.words();
        let first = self.first_after(after);
        let end = self.end_of(until);
        for at in first..end {
            let (Some(child), Some(last)) = (self.children.get(at), self.lasts.get(at)) else { return };
            // Those behind the first are all after `after`; the last may reach beyond `until`.
            if at > first && *last <= until {
                work::done(1);
                shape.layout.add(summary, self.sums.get(at * words..(at + 1) * words).unwrap_or_default());
            } else {
                child.fold(after, until, shape, summary);
            }
        }
    }

    pub fn change(
        &mut self,
        time_us: i64,
        shape: Shape<'_>,
        fix: Fix<'_>,
        change: &mut dyn FnMut(&mut [u64]) -> bool,
    ) -> bool {
        let words = shape.layout.words();
        let range = self.first_after(time_us.saturating_sub(1))..self.end_of(time_us);
        for at in range.rev() {
            let Some(child) = self.children.get_mut(at) else { continue };
            if !child.change(time_us, shape, fix, change) {
                continue;
            }
            match (fix, self.sums.get_mut(at * words..(at + 1) * words)) {
                (Fix::Add(more), Some(sum)) => shape.layout.add(sum, more),
                _ => self.recount(at, shape),
            }
            return true;
        }
        false
    }

    pub fn expire(&mut self, time_us: i64, shape: Shape<'_>, gone: &mut dyn FnMut(&[u64]), bytes: &mut usize) -> bool {
        let old = self.first_after(time_us).min(self.children.len().saturating_sub(1));
        if old > 0 {
            for child in self.children.drain(..old) {
                child.each(shape.width(), gone);
                *bytes -= child.bytes().min(*bytes);
            }
            self.lasts.drain(..old);
            self.sums.drain(..old * shape.layout.words());
        }
        let changed = self.children.first_mut().is_some_and(|first| first.expire(time_us, shape, gone, bytes));
        if changed {
            self.recount(0, shape);
        }
        changed || old > 0
    }
}
