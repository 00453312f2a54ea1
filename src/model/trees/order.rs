//! The leaves of a tree from left to right, where left is where small cells go.

use super::forest::{Leaf, Node, Split, Test, Tree};

/// A tree's nodes as the plan numbers them.
pub struct Order {
    /// Places of the nodes, each parent before its children, the left child's part before the right's.
    pub nodes: Vec<u32>,
    /// By place: the number of the first leaf below, and how many there are.
    pub leaves: Vec<(u32, u32)>,
}

impl Order {
    /// Of a tree out of a checked forest.
    #[must_use]
    pub fn of(tree: &Tree) -> Self {
        let mut nodes = Vec::with_capacity(tree.nodes.len());
        let mut stack = vec![0];
        while let Some(place) = stack.pop() {
            let Some(node) = tree.nodes.get(place as usize) else { continue };
            nodes.push(place);
            if let Node::Split(split) = node {
                stack.push(split.right());
                stack.push(split.left());
            }
        }
        let mut leaves = vec![(0, 0); tree.nodes.len()];
        for place in nodes.iter().rev() {
            leaves[*place as usize].1 = match &tree.nodes[*place as usize] {
                Node::Split(split) => leaves[split.left() as usize].1 + leaves[split.right() as usize].1,
                Node::Leaf(_) => 1,
            };
        }
        for place in &nodes {
            if let Node::Split(split) = &tree.nodes[*place as usize] {
                let (first, _) = leaves[*place as usize];
                leaves[split.left() as usize].0 = first;
                leaves[split.right() as usize].0 = first + leaves[split.left() as usize].1;
            }
        }
        Self { nodes, leaves }
    }

    /// The leaves in their order.
    pub fn in_order<'a>(&'a self, tree: &'a Tree) -> impl Iterator<Item = &'a Leaf> {
        self.nodes.iter().filter_map(|place| match tree.nodes.get(*place as usize) {
            Some(Node::Leaf(leaf)) => Some(leaf),
            _ => None,
        })
    }
}

impl Split {
    fn swapped(&self) -> bool {
        matches!(self.test, Test::Gt(_) | Test::Ge(_))
    }

    /// Where small cells go.
    pub(super) fn left(&self) -> u32 {
        if self.swapped() { self.no } else { self.yes }
    }

    pub(super) fn right(&self) -> u32 {
        if self.swapped() { self.yes } else { self.no }
    }

    /// True if a row with this cell goes left.
    pub(super) fn goes_left(&self, cell: f64, sets: &[super::forest::Set]) -> bool {
        self.holds(cell, sets) != self.swapped()
    }

    /// True if there is a number below which all go left and from which on all go right, NaN and zeros aside.
    pub(super) fn is_threshold(&self) -> bool {
        matches!(self.test, Test::Lt(_) | Test::Le(_) | Test::Gt(_) | Test::Ge(_))
    }
}
