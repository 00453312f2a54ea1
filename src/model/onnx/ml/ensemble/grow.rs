//! Trees from the lists of versions 1 and 3.
//!
//! A node is named by its tree's and its own number; the first node of a tree is its root. Trees stand in the order
//! of their roots. A chain of equalities (one a category, as LightGBM's are exported) becomes one split with a set. Nodes that no way leads to are left out, as are weights of nodes that are no leaves; a node that
//! two ways lead to is an error. What is looked up is sorted first, so that no file makes it slow, and nothing
//! recurses.

use super::super::super::super::trees::forest::{NODES_MAX, TREES_MAX};
use super::super::super::super::trees::{
    Aggregate, Forest, Leaf, Nan, Node as Grown, Precision, Set, Split, Test, Tree, Weight,
};
use super::super::super::op::{Context, OpError};
use super::super::rows::single;
use super::Used;
use super::attributes::Listed;

/// Bytes a node takes while a forest is made, beside itself.
const INDEX_BYTES: usize = 48;

/// The forest that the lists describe. `shape` is what it is made from: without trees.
pub(super) fn listed(
    listed: &Listed<'_>,
    used: &Used,
    shape: &Forest,
    context: &mut Context,
) -> Result<Forest, OpError> {
    let (nodes, weights) = (listed.nodes.len(), listed.leaf_nodes.len());
    if nodes > NODES_MAX || weights > NODES_MAX {
        return Err(OpError(format!("expected at most {NODES_MAX} nodes and weights, found {nodes} and {weights}")));
    }
    let held = nodes * size_of::<Grown>() + weights * size_of::<Weight>();
    let passing = (nodes + weights) * INDEX_BYTES;
    context.take(held + passing, "the trees")?;
    let index = Index::new(listed)?;
    let mut forest = shape.clone();
    forest.sum.aggregate = Aggregate::Sum;
    forest.weights.reserve_exact(weights);
    let mut seen = vec![false; nodes];
    let roots = roots(listed)?;
    let trees = roots.len();
    forest.trees.reserve_exact(trees);
    for root in roots {
        let tree = tree(listed, &index, used, root, &mut seen, &mut forest)
            .map_err(|(at, what)| OpError(format!("node {} of tree {}: {what}", listed.nodes[at], listed.trees[at])))?;
        forest.trees.push(tree);
    }
    forest.sum.aggregate = aggregate(used.aggregate, trees);
    super::five::settle_covers(&mut forest);
    context.give(passing);
    Ok(forest)
}

#[allow(clippy::cast_precision_loss)] // at most 2^20 trees
pub(super) fn aggregate(name: &str, trees: usize) -> Aggregate {
    match name {
        "AVERAGE" => Aggregate::Average(trees as f64),
        "MIN" => Aggregate::Min,
        "MAX" => Aggregate::Max,
        _ => Aggregate::Sum,
    }
}

/// Places of nodes by name, and of weights by node.
struct Index {
    nodes: Vec<(i64, i64, u32)>,
    /// The node's place and the weight's.
    weights: Vec<(u32, u32)>,
}

impl Index {
    fn new(listed: &Listed<'_>) -> Result<Self, OpError> {
        let names = listed.trees.iter().zip(listed.nodes).zip(0u32..);
        let mut nodes: Vec<_> = names.map(|((tree, node), at)| (*tree, *node, at)).collect();
        nodes.sort_unstable();
        if let Some(twice) = nodes.windows(2).find(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1)) {
            return Err(OpError(format!("node {} of tree {} is there twice", twice[0].1, twice[0].0)));
        }
        let mut index = Self { nodes, weights: Vec::with_capacity(listed.leaf_nodes.len()) };
        for ((tree, node), at) in listed.leaf_trees.iter().zip(listed.leaf_nodes).zip(0u32..) {
            let place = index
                .find(*tree, *node)
                .ok_or_else(|| OpError(format!("weight {at}: node {node} of tree {tree} does not exist")))?;
            index.weights.push((place, at));
        }
        index.weights.sort_unstable();
        Ok(index)
    }

    fn find(&self, tree: i64, node: i64) -> Option<u32> {
        let found = self.nodes.binary_search_by(|(t, n, _)| (*t, *n).cmp(&(tree, node))).ok()?;
        Some(self.nodes[found].2)
    }

    /// The weights of a node, in the order of the file.
    fn weights(&self, node: u32) -> impl Iterator<Item = usize> + '_ {
        let from = self.weights.partition_point(|(place, _)| *place < node);
        self.weights[from..].iter().take_while(move |(place, _)| *place == node).map(|(_, at)| *at as usize)
    }
}

/// The first node of each tree.
fn roots(listed: &Listed<'_>) -> Result<Vec<usize>, OpError> {
    let mut seen = std::collections::BTreeSet::new();
    let mut roots = Vec::new();
    let mut last = None;
    for (at, tree) in listed.trees.iter().enumerate() {
        if last != Some(*tree) && seen.insert(*tree) {
            roots.push(at);
            if roots.len() > TREES_MAX {
                return Err(OpError(format!("expected at most {TREES_MAX} trees")));
            }
        }
        last = Some(*tree);
    }
    Ok(roots)
}

/// Grows one tree from its root; an error names the node's place in the lists.
fn tree(
    listed: &Listed<'_>,
    index: &Index,
    used: &Used,
    root: usize,
    seen: &mut [bool],
    forest: &mut Forest,
) -> Result<Tree, (usize, String)> {
    let number = listed.trees[root];
    let mut nodes: Vec<Grown> = Vec::new();
    // The node's place in the lists, the place of the split above, and whether it is that one's `yes`.
    let mut stack = vec![(root, None::<(usize, bool)>)];
    while let Some((at, above)) = stack.pop() {
        if std::mem::replace(&mut seen[at], true) {
            return Err((at, "two ways lead to it, or a circle".to_owned()));
        }
        let place = nodes.len();
        let small = u32::try_from(place).map_err(|_| (at, "too many nodes".to_owned()))?;
        if let Some(Grown::Split(split)) = above.and_then(|(above, _)| nodes.get_mut(above)) {
            if above.is_some_and(|(_, yes)| yes) { split.yes = small } else { split.no = small }
        }
        if listed.modes[at] == "LEAF" {
            let leaf = leaf(listed, index, used, at, forest).map_err(|what| (at, what))?;
            nodes.push(Grown::Leaf(leaf));
            continue;
        }
        let mut split = split(listed, at, forest.precision).map_err(|what| (at, what))?;
        let mut no = listed.no[at];
        if listed.modes[at] == "BRANCH_EQ" {
            no = chain(listed, index, at, seen, forest, &mut split).map_err(|what| (at, what))?;
        }
        nodes.push(Grown::Split(split));
        for (child, yes) in [(no, false), (listed.yes[at], true)] {
            let child = index
                .find(number, child)
                .ok_or_else(|| (at, format!("expected a node {child} of its tree below it, found none")))?;
            stack.push((child as usize, Some((place, yes))));
        }
    }
    Ok(Tree { nodes })
}

/// Makes one split of a chain of them: a category of several is exported as a node a value, all of the same column
/// and with the same node on their true side. Gives the node on the false side of the last.
fn chain(
    listed: &Listed<'_>,
    index: &Index,
    first: usize,
    seen: &mut [bool],
    forest: &mut Forest,
    split: &mut Split,
) -> Result<i64, String> {
    let value = |at: usize| rounded(listed.values.get(at).unwrap_or_default(), forest.precision);
    let mut values = vec![value(first)];
    let mut no = listed.no[first];
    while let Some(next) = index.find(listed.trees[first], no).map(|next| next as usize) {
        let alike = listed.modes[next] == "BRANCH_EQ"
            && listed.features[next] == listed.features[first]
            && listed.yes[next] == listed.yes[first];
        if !alike || std::mem::replace(&mut seen[next], true) {
            break;
        }
        values.push(value(next));
        if listed.missing.get(next).is_some_and(|tracks| *tracks == 1) {
            split.nan = Nan::Yes;
        }
        no = listed.no[next];
    }
    values.retain(|value| !value.is_nan());
    if values.len() > 1 {
        values.sort_unstable_by(f64::total_cmp);
        let set = u32::try_from(forest.sets.len()).map_err(|_| "too many sets".to_owned())?;
        forest.sets.push(Set::Values(values));
        split.test = Test::In(set);
    }
    Ok(no)
}

fn leaf(listed: &Listed<'_>, index: &Index, used: &Used, at: usize, forest: &mut Forest) -> Result<Leaf, String> {
    let small = |n: usize| u32::try_from(n).map_err(|_| "too many weights".to_owned());
    let from = small(forest.weights.len())?;
    for weight in index.weights(small(at)?) {
        let target = listed.leaf_targets[weight];
        let known = usize::try_from(target).ok().filter(|target| used.single || *target < used.targets);
        let known = known.ok_or_else(|| format!("expected a target below {}, found {target}", used.targets))?;
        let target = if used.single { 0 } else { small(known)? };
        let value = rounded(listed.leaf_weights.get(weight).unwrap_or_default(), forest.sum.precision);
        forest.weights.push(Weight { target, value });
    }
    let id = u32::try_from(listed.nodes[at]).unwrap_or(u32::MAX);
    let cover = listed.hits.get(at).unwrap_or_default();
    Ok(Leaf { weights: (from, small(forest.weights.len())?), id, cover })
}

fn split(listed: &Listed<'_>, at: usize, precision: Precision) -> Result<Split, String> {
    let feature = listed.features[at];
    let feature = u32::try_from(feature).map_err(|_| format!("expected a column, found {feature}"))?;
    let value = rounded(listed.values.get(at).unwrap_or_default(), precision);
    let test = match listed.modes[at].as_str() {
        "BRANCH_LEQ" => Test::Le(value),
        "BRANCH_LT" => Test::Lt(value),
        "BRANCH_GTE" => Test::Ge(value),
        "BRANCH_GT" => Test::Gt(value),
        "BRANCH_EQ" => Test::Eq(value),
        "BRANCH_NEQ" => Test::Ne(value),
        other => return Err(format!("expected a mode BRANCH_LEQ, LT, GTE, GT, EQ, NEQ or LEAF, found {other:?}")),
    };
    let tracks = listed.missing.get(at).is_some_and(|tracks| *tracks == 1);
    let cover = listed.hits.get(at).unwrap_or_default();
    Ok(Split { feature, test, nan: nan(tracks, test), zero_is_missing: false, yes: 0, no: 0, cover })
}

/// Where a NaN goes: to the true side if the file says so, else where a comparison with it leads.
pub(super) fn nan(tracks: bool, test: Test) -> Nan {
    if tracks || matches!(test, Test::Ne(_)) { Nan::Yes } else { Nan::No }
}

pub(super) fn rounded(value: f64, precision: Precision) -> f64 {
    if precision == Precision::F32 { f64::from(single(value)) } else { value }
}
