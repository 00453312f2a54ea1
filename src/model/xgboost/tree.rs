//! One tree of a file into the neutral form.

use super::super::trees::forest::CATEGORIES_MAX;
use super::super::trees::{Forest, Leaf, Nan, Node, Set, Split, Test, Tree, Weight};
use super::file::TreeFile;

/// What a tree's leaves feed.
#[derive(Clone, Copy, Debug)]
pub struct Feeds {
    /// Of a tree with one number a leaf.
    pub target: u32,
    /// dart: each leaf times this.
    pub scale: Option<f32>,
}

impl TreeFile {
    /// Adds the tree to the forest: the nodes that are reached from the root (pruned ones stay in the file).
    pub fn add(&self, forest: &mut Forest, feeds: Feeds) -> Result<(), String> {
        self.check()?;
        let sets = self.sets(forest)?;
        let mut nodes = Vec::with_capacity(self.left_children.len());
        let mut seen = vec![false; self.left_children.len()];
        // The node in the file, and where its parent names it.
        let mut stack = vec![(0_usize, None)];
        while let Some((at, parent)) = stack.pop() {
            match seen.get_mut(at) {
                None => return Err(format!("node {at} of {}", self.left_children.len())),
                Some(seen) if *seen => return Err(format!("node {at} is reached twice")),
                Some(seen) => *seen = true,
            }
            let place = nodes.len();
            link(&mut nodes, parent, place);
            let cover = self.sum_hessian.get(at).map_or(0.0, |cover| f64::from(cover.0));
            if self.left_children[at] == -1 {
                let weights = self.weights(at, forest, feeds)?;
                nodes.push(Node::Leaf(Leaf { weights, id: small(at), cover }));
                continue;
            }
            let set = sets.get(at).copied().unwrap_or(u32::MAX);
            // A set's members go right, numbers below the threshold left.
            let (test, left_is_yes) = if set == u32::MAX {
                (Test::Lt(f64::from(self.split_conditions[at].0)), true)
            } else {
                (Test::In(set), false)
            };
            let nan = if self.default_left[at].0 == left_is_yes { Nan::Yes } else { Nan::No };
            nodes.push(Node::Split(Split {
                feature: self.split_indices[at],
                test,
                nan,
                zero_is_missing: false,
                yes: u32::MAX,
                no: u32::MAX,
                cover,
            }));
            for (child, is_yes) in [(self.right_children[at], !left_is_yes), (self.left_children[at], left_is_yes)] {
                let child = usize::try_from(child).map_err(|_| format!("node {at} has the child {child}"))?;
                stack.push((child, Some((place, is_yes))));
            }
        }
        forest.trees.push(Tree { nodes });
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        let nodes = self.left_children.len();
        if nodes == 0 {
            return Err("it has no nodes".to_owned());
        }
        let lists = [
            ("right_children", self.right_children.len()),
            ("split_indices", self.split_indices.len()),
            ("split_conditions", self.split_conditions.len()),
            ("default_left", self.default_left.len()),
        ];
        for (what, found) in lists {
            if found != nodes {
                return Err(format!("{what} has {found} entries, left_children {nodes}"));
            }
        }
        Ok(())
    }

    /// By node: the place of its set; `u32::MAX` for a node without one. Empty if no node has one.
    fn sets(&self, forest: &mut Forest) -> Result<Vec<u32>, String> {
        let types = self.split_type.iter().any(|split| split.0);
        if self.categories_nodes.is_empty() && !types {
            return Ok(Vec::new());
        }
        let mut places = vec![u32::MAX; self.left_children.len()];
        let parts = self.categories_nodes.iter().zip(self.categories_segments.iter().zip(&self.categories_sizes));
        for (node, (from, size)) in parts {
            let part = from.checked_add(*size).and_then(|to| self.categories.get(*from..to));
            let part = part.ok_or_else(|| format!("node {node}: its categories are not there"))?;
            let place = places.get_mut(*node as usize).ok_or_else(|| format!("categories of node {node}"))?;
            *place = small(forest.sets.len());
            forest.sets.push(set(part)?);
        }
        for (at, split) in self.split_type.iter().enumerate() {
            let is_split = self.left_children.get(at).is_some_and(|left| *left != -1);
            if is_split && split.0 != places.get(at).is_some_and(|place| *place != u32::MAX) {
                return Err(format!("node {at}: split_type and categories_nodes do not agree"));
            }
        }
        Ok(places)
    }

    /// Adds what a leaf gives.
    fn weights(&self, at: usize, forest: &mut Forest, feeds: Feeds) -> Result<(u32, u32), String> {
        let from = small(forest.weights.len());
        let scaled = |value: f32| f64::from(feeds.scale.map_or(value, |scale| value * scale));
        let size = self.tree_param.size_leaf_vector.0;
        if size <= 1 {
            forest.weights.push(Weight { target: feeds.target, value: scaled(self.split_conditions[at].0) });
        } else {
            if size != forest.targets {
                return Err(format!("leaves of {size} numbers, the model has {} targets", forest.targets));
            }
            // Since 3.1 leaves have a list of their own, and a leaf's right child is its place there.
            let (list, place) = if self.leaf_weights.is_empty() {
                (&self.base_weights, Some(at))
            } else {
                (&self.leaf_weights, usize::try_from(self.right_children[at]).ok())
            };
            let place = place.and_then(|place| place.checked_mul(size));
            let part = place.and_then(|place| list.get(place..place.checked_add(size)?));
            let part = part.ok_or_else(|| format!("node {at}: its {size} numbers are not there"))?;
            forest.weights.extend((0..).zip(part).map(|(target, value)| Weight { target, value: scaled(value.0) }));
        }
        Ok((from, small(forest.weights.len())))
    }
}

fn link(nodes: &mut [Node], parent: Option<(usize, bool)>, place: usize) {
    if let Some((parent, is_yes)) = parent
        && let Some(Node::Split(split)) = nodes.get_mut(parent)
    {
        *(if is_yes { &mut split.yes } else { &mut split.no }) = small(place);
    }
}

/// Bits where they are dense, else a list: so that one large category costs no more than it takes in the file.
fn set(categories: &[u32]) -> Result<Set, String> {
    let Some(most) = categories.iter().max() else {
        return Ok(Set::Listed(Vec::new()));
    };
    if *most as usize >= CATEGORIES_MAX {
        return Err(format!("category {most}, they lie below {CATEGORIES_MAX}"));
    }
    let words = *most as usize / 32 + 1;
    if words > categories.len().saturating_add(8) {
        let mut listed = categories.to_vec();
        listed.sort_unstable();
        return Ok(Set::Listed(listed));
    }
    let mut bits = vec![0; words];
    for category in categories {
        if let Some(word) = bits.get_mut(*category as usize / 32) {
            *word |= 1 << (category % 32);
        }
    }
    Ok(Set::Categories { words: bits, fractions: false })
}

fn small(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
