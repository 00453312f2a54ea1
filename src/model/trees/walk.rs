//! Trees that are walked from the root: any size, any test.
//!
//! **Layout.** Children lie side by side, the right one behind the left, so a step is `left + !(cell < cut)`. Cells
//! come from *slots*: a column in one of the ways in which splits treat its NaN and zeros (-∞ goes left, NaN right).
//! Slot 0 is -∞ in every row: a leaf asks for it and names itself as its left child, so that it leads to itself,
//! and its cut, whatever it is, may hold its number. Splits that are no threshold are answered by
//! [`Split::goes_left`] itself.
//!
//! **Bounds.** The steps are not checked as they are taken: [`Walk::new`] makes only steps whose children and slots
//! are there, and the two ways in check the cells.

use super::cuts::{Cell, next};
use super::forest::{Forest, Leaf, Nan, Node, Set, Split, Test};
use super::order::Order;

/// Walked side by side, so that each waits for memory while others step.
pub const SIDE_BY_SIDE: usize = 8;
/// A split answered by definition; the rest is its place in `others`.
const OTHER: u32 = 1 << 31;

#[derive(Clone, Debug)]
pub struct Walk<T> {
    nodes: Vec<Step<T>>,
    roots: Vec<u32>,
    slots: Vec<Slot>,
    others: Vec<Split>,
    sets: Vec<Set>,
}

/// A split, or a leaf.
#[derive(Clone, Copy, Debug)]
struct Step<T> {
    cut: T,
    slot: u32,
    left: u32,
}

/// A column and what its NaN and zeros stand for.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Slot {
    column: u32,
    nan: Stands,
    zero_too: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stands {
    /// Every cell stands for -∞.
    Low,
    Left,
    Right,
    Zero,
}

impl<T: Cell> Walk<T> {
    /// The steps of `trees`, places in a checked forest.
    #[must_use]
    pub fn new(forest: &Forest, trees: &[usize]) -> Self {
        let mut walk = Self {
            nodes: Vec::new(),
            roots: Vec::new(),
            slots: vec![Slot { column: 0, nan: Stands::Low, zero_too: false }],
            others: Vec::new(),
            sets: Vec::new(),
        };
        // A slot's place by column and way: 5 ways.
        let mut places = vec![u32::MAX; forest.width * 5];
        for tree in trees.iter().filter_map(|at| forest.trees.get(*at)) {
            let order = Order::of(tree);
            let root = walk.nodes.len();
            walk.roots.push(small(root));
            walk.grow(1);
            let mut stack = vec![(0_u32, root)];
            while let Some((place, at)) = stack.pop() {
                if let Some(Node::Split(split)) = tree.nodes.get(place as usize) {
                    let left = walk.nodes.len();
                    walk.grow(2);
                    walk.nodes[at] = walk.step(split, small(left), forest, &mut places);
                    stack.push((split.right(), left + 1));
                    stack.push((split.left(), left));
                } else {
                    let number = order.leaves.get(place as usize).map_or(0, |(first, _)| *first);
                    walk.nodes[at] = Step { cut: T::number(number), slot: 0, left: small(at) };
                }
            }
        }
        if !walk.others.is_empty() {
            walk.sets.clone_from(&forest.sets);
        }
        walk
    }

    fn grow(&mut self, by: usize) {
        let nodes = self.nodes.len() + by;
        self.nodes.resize(nodes, Step { cut: T::NAN, slot: 0, left: 0 });
    }

    fn step(&mut self, split: &Split, left: u32, forest: &Forest, places: &mut [u32]) -> Step<T> {
        let cut = match split.test {
            Test::Lt(t) | Test::Ge(t) => Some(t),
            Test::Le(t) | Test::Gt(t) => next(t, forest.precision),
            Test::Eq(_) | Test::Ne(_) | Test::In(_) => None,
        };
        // What no finite number tells apart from what stands for a NaN is answered by definition.
        let Some(cut) = cut.filter(|cut| *cut > f64::NEG_INFINITY) else {
            self.others.push(*split);
            return Step { cut: T::NAN, slot: OTHER | small(self.others.len() - 1), left };
        };
        let nan = match split.nan {
            Nan::Zero => Stands::Zero,
            _ if split.goes_left(f64::NAN, &[]) => Stands::Left,
            _ => Stands::Right,
        };
        let zero_too = split.zero_is_missing && nan != Stands::Zero;
        let slot = Slot { column: split.feature, nan, zero_too };
        let way = match (nan, zero_too) {
            (Stands::Zero, _) => 0,
            (Stands::Low | Stands::Left, false) => 1,
            (Stands::Low | Stands::Left, true) => 2,
            (Stands::Right, false) => 3,
            (Stands::Right, true) => 4,
        };
        let place = &mut places[split.feature as usize * 5 + way];
        if *place == u32::MAX {
            *place = small(self.slots.len());
            self.slots.push(slot);
        }
        Step { cut: T::of(cut), slot: *place, left }
    }

    #[must_use]
    pub fn bytes(&self) -> usize {
        self.nodes.len() * size_of::<Step<T>>()
            + self.roots.len() * size_of::<u32>()
            + self.slots.len() * size_of::<Slot>()
            + self.others.len() * size_of::<Split>()
    }

    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Fills a row's slots.
    #[inline(always)]
    pub fn fill(&self, row: &[f64], cells: &mut [T]) {
        for (slot, cell) in self.slots.iter().zip(cells) {
            let x = row.get(slot.column as usize).map_or(T::NAN, |x| T::of(*x));
            let missing = x.is_nan() || (slot.zero_too && x.is_zero());
            *cell = match slot.nan {
                Stands::Low => T::NEG_INFINITY,
                _ if !missing => x,
                Stands::Left => T::NEG_INFINITY,
                Stands::Right => T::NAN,
                Stands::Zero => T::ZERO,
            };
        }
    }

    /// The leaves' numbers of trees from `tree` on, for one row: `cells` holds its slots.
    #[inline(always)]
    pub fn trees(&self, tree: usize, row: &[f64], cells: &[T], leaves: &mut [u32]) {
        assert!(cells.len() >= self.slots.len(), "the cells are all there");
        for (roots, leaves) in self.roots[tree..].chunks(SIDE_BY_SIDE).zip(leaves.chunks_mut(SIDE_BY_SIDE)) {
            let mut at = [roots[0]; SIDE_BY_SIDE];
            for (at, root) in at.iter_mut().zip(roots) {
                *at = *root;
            }
            // SAFETY: roots are places of nodes; the cells are as many as the slots.
            let numbers = unsafe { self.down(at, |_| cells.as_ptr(), |_| row) };
            for (leaf, number) in leaves.iter_mut().zip(numbers) {
                *leaf = number;
            }
        }
    }

    /// The leaf of one tree for rows side by side: `rows` of `width` columns, `cells` of as many slots as there are,
    /// `leaves` a number for each.
    #[inline(always)]
    pub fn rows(&self, tree: usize, rows: &[f64], width: usize, cells: &[T], leaves: &mut [u32; SIDE_BY_SIDE]) {
        let slots = self.slots.len();
        assert!(cells.len() >= slots * SIDE_BY_SIDE, "the cells are all there");
        let root = self.roots[tree];
        // SAFETY: roots are places of nodes; there are cells for eight rows, as many as the slots each.
        *leaves = unsafe { self.down([root; SIDE_BY_SIDE], |n| cells.as_ptr().add(n * slots), |n| &rows[n * width..]) };
    }

    /// From eight places down to their leaves' numbers.
    ///
    /// # Safety
    /// The places are nodes' and `cells` gives as many cells as there are slots.
    #[inline(always)]
    unsafe fn down<'a>(
        &self,
        mut at: [u32; SIDE_BY_SIDE],
        cells: impl Fn(usize) -> *const T,
        row: impl Fn(usize) -> &'a [f64],
    ) -> [u32; SIDE_BY_SIDE] {
        let cells: [*const T; SIDE_BY_SIDE] = std::array::from_fn(cells);
        if self.others.is_empty() {
            loop {
                let mut moved = 0;
                for n in 0..SIDE_BY_SIDE {
                    // SAFETY: a node's children are nodes, and its slot is one of the row's.
                    let next = unsafe { self.below(at[n], cells[n]) };
                    moved |= next ^ at[n];
                    at[n] = next;
                }
                if moved == 0 {
                    break;
                }
            }
        } else {
            loop {
                let mut moved = 0;
                for n in 0..SIDE_BY_SIDE {
                    let step = self.nodes[at[n] as usize];
                    let next = if step.slot & OTHER == 0 {
                        // SAFETY: as above.
                        unsafe { self.below(at[n], cells[n]) }
                    } else {
                        step.left + u32::from(!self.other(step.slot ^ OTHER, row(n)))
                    };
                    moved |= next ^ at[n];
                    at[n] = next;
                }
                if moved == 0 {
                    break;
                }
            }
        }
        at.map(|at| self.nodes[at as usize].cut.as_number())
    }

    /// # Safety
    /// `at` is a node's place, no `OTHER`, and `cells` has as many cells as there are slots.
    #[inline(always)]
    #[allow(clippy::neg_cmp_op_on_partial_ord)] // a NaN is to go right
    unsafe fn below(&self, at: u32, cells: *const T) -> u32 {
        // SAFETY: the caller's word; every slot of a node that is no OTHER is the place of a slot.
        unsafe {
            let step = self.nodes.get_unchecked(at as usize);
            step.left + u32::from(!(*cells.add(step.slot as usize) < step.cut))
        }
    }

    #[cold]
    fn other(&self, place: u32, row: &[f64]) -> bool {
        let Some(split) = self.others.get(place as usize) else { return false };
        let x = row.get(split.feature as usize).copied().unwrap_or(f64::NAN);
        split.goes_left(T::of(x).wide(), &self.sets)
    }
}

fn small(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// A row's leaf in one tree, by definition. None only in a tree that was never checked.
#[must_use]
pub fn naive<'a>(forest: &'a Forest, tree: usize, row: &[f64]) -> Option<&'a Leaf> {
    let tree = forest.trees.get(tree)?;
    let mut node = tree.nodes.first()?;
    for _ in 0..=tree.nodes.len() {
        match node {
            Node::Leaf(leaf) => return Some(leaf),
            Node::Split(split) => {
                let x = *row.get(split.feature as usize)?;
                let x = forest.precision.cut(x);
                let next = if split.holds(x, &forest.sets) { split.yes } else { split.no };
                node = tree.nodes.get(next as usize)?;
            }
        }
    }
    None
}
