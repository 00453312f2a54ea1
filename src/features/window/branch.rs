//! The inside of a [`super::tree::Tree`]: branches, leaves and how both are cut when they are full.
//!
//! What a branch says of a child are the sums of all rows up to that child's last: those between two children are the
//! difference, however many lie there. The least and greatest, of which there is no difference, are the child's own.

use super::layout::Way;
use super::leaf::{ALLOCATION, Leaf};
use super::tree::{FAN_OUT, Fix, LEAF_ROWS, Shape};
use super::warm::LINE_WORDS;
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
    /// A summary a child: its sums are those of all children up to it, its least and greatest are its own.
    sums: Vec<u64>,
}

/// A row that is put in: when, its cells, and the summary of it alone.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    pub time_us: i64,
    pub row: &'a [u64],
    pub summary: &'a [u64],
}

impl Node {
    #[must_use]
    pub fn last(&self) -> Option<i64> {
        match self {
            Self::Leaf(leaf) => leaf.last(),
            Self::Branch(branch) => branch.last(),
        }
    }

    /// Puts a row in. What no longer fits is returned, to stand behind this node. `bytes` is kept.
    fn insert(&mut self, entry: Entry<'_>, shape: Shape<'_>, bytes: &mut usize) -> Option<Self> {
        match self {
            Self::Leaf(leaf) => {
                *bytes -= leaf.bytes().min(*bytes);
                let at = leaf.until(entry.time_us);
                let right = insert_in_leaf(leaf, at, entry.time_us, entry.row, shape.width());
                *bytes += leaf.bytes() + right.as_ref().map_or(0, Leaf::bytes);
                right.map(Self::Leaf)
            }
            Self::Branch(branch) => {
                let right = branch.insert(entry, shape, bytes)?;
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
            Self::Leaf(leaf) => leaf.sum(0..leaf.len(), Way::In, shape, summary),
            Self::Branch(branch) => branch.add_between(None, branch.children.len(), shape, summary),
        }
    }

    fn fold(&self, after: i64, until: i64, shape: Shape<'_>, summary: &mut [u64]) {
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

    /// The time of its last row.
    #[must_use]
    pub fn last(&self) -> Option<i64> {
        self.lasts.last().copied()
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

    /// Reads itself.
    #[must_use]
    pub fn read_itself(&self) -> u64 {
        (self.lasts.len() ^ self.sums.len()) as u64
    }

    /// Reads a word of each line of its lists.
    #[must_use]
    pub fn read(&self) -> u64 {
        let lasts = self.lasts.iter().step_by(LINE_WORDS).fold(0, |all, word| all ^ word);
        let sums = self.sums.iter().step_by(LINE_WORDS).fold(0, |all, word| all ^ word);
        let leaves = self.children.iter().filter(|child| matches!(child, Node::Leaf(_))).count();
        lasts.cast_unsigned() ^ sums ^ leaves as u64
    }

    /// Reads the leaf in which a window is cut there; of a key of many entries, which is near as it is, nothing.
    #[must_use]
    pub fn read_at(&self, time_us: i64) -> u64 {
        match self.children.get(self.first_after(time_us)) {
            Some(Node::Leaf(leaf)) => leaf.read(),
            _ => 0,
        }
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
        // It has nothing yet beside what is before it.
        let before = at.checked_sub(1).map_or_else(|| vec![0; words], |before| self.sum(before, words).to_vec());
        self.sums.splice(at * words..at * words, before);
        self.recount(at, shape);
    }

    /// What stands for a child.
    fn sum(&self, at: usize, words: usize) -> &[u64] {
        self.sums.get(at * words..(at + 1) * words).unwrap_or_default()
    }

    /// Adds what a child has more than before, to it and to all behind it.
    fn raise(&mut self, at: usize, more: &[u64], way: Way, shape: Shape<'_>) {
        let words = shape.layout.words();
        let sums = self.sums.get_mut(at * words..).unwrap_or_default();
        work::done(sums.len() / words);
        sums.chunks_exact_mut(words).for_each(|sum| shape.layout.sum(sum, more, way));
    }

    /// Makes a child's summary anew.
    fn recount(&mut self, at: usize, shape: Shape<'_>) {
        let (layout, words) = (shape.layout, shape.layout.words());
        let Some(child) = self.children.get(at) else { return };
        let mut own = layout.nothing();
        child.add_to(shape, &mut own);
        if let (Some(last), Some(time)) = (self.lasts.get_mut(at), child.last()) {
            *last = time;
        }
        if let Some(sum) = self.sums.get_mut(at * words..(at + 1) * words) {
            layout.copy_extremes(sum, &own);
        }
        // It had what was its own before: the difference is the same for all behind it.
        layout.sum(&mut own, self.sum(at, words), Way::Out);
        if let Some(before) = at.checked_sub(1) {
            layout.sum(&mut own, self.sum(before, words), Way::In);
        }
        self.raise(at, &own, Way::In, shape);
    }

    pub fn insert(&mut self, entry: Entry<'_>, shape: Shape<'_>, bytes: &mut usize) -> Option<Self> {
        let words = shape.layout.words();
        let at = self.first_after(entry.time_us).min(self.children.len().saturating_sub(1));
        let right = self.children.get_mut(at)?.insert(entry, shape, bytes);
        let Some(right) = right else {
            if let (Some(sum), Some(last)) = (self.sums.get_mut(at * words..(at + 1) * words), self.lasts.get_mut(at)) {
                shape.layout.reach(sum, entry.summary);
                *last = (*last).max(entry.time_us);
            }
            self.raise(at, entry.summary, Way::In, shape);
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
            let right = self.cut(cut, shape);
            *bytes += right.heap();
            right
        });
        *bytes = (*bytes + self.heap()).saturating_sub(before);
        cut
    }

    fn cut(&mut self, at: usize, shape: Shape<'_>) -> Self {
        let words = shape.layout.words();
        let mut right = Self {
            children: self.children.split_off(at),
            lasts: self.lasts.split_off(at),
            sums: self.sums.split_off(at * words),
        };
        right.raise(0, self.sum(at.saturating_sub(1), words), Way::Out, shape);
        self.children.shrink_to_fit();
        self.lasts.shrink_to_fit();
        self.sums.shrink_to_fit();
        right
    }

    /// Adds the children behind `after`, or all, and before `end` to a summary.
    fn add_between(&self, after: Option<usize>, end: usize, shape: Shape<'_>, summary: &mut [u64]) {
        let (layout, words) = (shape.layout, shape.layout.words());
        let first = after.map_or(0, |after| after + 1);
        let Some(last) = end.checked_sub(1).filter(|last| *last >= first) else { return };
        work::done(2);
        layout.sum(summary, self.sum(last, words), Way::In);
        if let Some(after) = after {
            layout.sum(summary, self.sum(after, words), Way::Out);
        }
        if layout.has_extremes() {
            work::done(end - first);
            let sums = self.sums.get(first * words..end * words).unwrap_or_default();
            sums.chunks_exact(words).for_each(|sum| layout.reach(summary, sum));
        }
    }

    /// Adds the sums of the rows not after `until`.
    pub fn sum_until(&self, until: i64, shape: Shape<'_>, sums: &mut [u64]) {
        let at = self.first_after(until);
        match self.children.get(at) {
            Some(Node::Branch(branch)) => branch.sum_until(until, shape, sums),
            Some(Node::Leaf(leaf)) => {
                let end = leaf.until(until);
                // Of a leaf that counts for the most part, what does not is less work.
                if end * 2 > leaf.len() {
                    self.add_between(None, at + 1, shape, sums);
                    return leaf.sum(end..leaf.len(), Way::Out, shape, sums);
                }
                leaf.sum(0..end, Way::In, shape, sums);
            }
            None => {}
        }
        self.add_between(None, at, shape, sums);
    }

    pub fn fold(&self, after: i64, until: i64, shape: Shape<'_>, summary: &mut [u64]) {
        // In these two the window begins and ends; all between them is in it.
        let (first, last) = (self.first_after(after), self.first_after(until));
        self.fold_child(first, after, until, shape, summary);
        if last > first {
            self.add_between(Some(first), last, shape, summary);
            self.fold_child(last, after, until, shape, summary);
        }
    }

    /// Adds what the window has of a child at one of its ends.
    fn fold_child(&self, at: usize, after: i64, until: i64, shape: Shape<'_>, summary: &mut [u64]) {
        let Some(child) = self.children.get(at) else { return };
        let Node::Leaf(leaf) = child else { return child.fold(after, until, shape, summary) };
        leaf.fold(after, until, shape, summary);
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
                (Fix::Add(more), Some(sum)) => {
                    shape.layout.reach(sum, more);
                    self.raise(at, more, Way::In, shape);
                }
                _ => self.recount(at, shape),
            }
            return true;
        }
        false
    }

    pub fn expire(&mut self, time_us: i64, shape: Shape<'_>, gone: &mut dyn FnMut(&[u64]), bytes: &mut usize) -> bool {
        let words = shape.layout.words();
        let old = self.first_after(time_us).min(self.children.len().saturating_sub(1));
        if old > 0 {
            for child in self.children.drain(..old) {
                child.each(shape.width(), gone);
                *bytes -= child.bytes().min(*bytes);
            }
            self.lasts.drain(..old);
            let gone: Vec<u64> = self.sums.drain(..old * words).skip((old - 1) * words).collect();
            self.raise(0, &gone, Way::Out, shape);
        }
        let changed = self.children.first_mut().is_some_and(|first| first.expire(time_us, shape, gone, bytes));
        if changed {
            self.recount(0, shape);
        }
        changed || old > 0
    }
}
