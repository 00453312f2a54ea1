//! Trees from the lists of version 5: nodes by their places, leaves apart, sets of values for `BRANCH_MEMBER`.

use super::super::super::super::trees::forest::{NODES_MAX, TREES_MAX};
use super::super::super::super::trees::{Forest, Leaf, Node as Grown, Set, Split, Test, Tree, Weight};
use super::super::super::op::{Context, Node, OpError};
use super::super::super::tensor::Data;
use super::Used;
use super::attributes::{Numbers, tensor};
use super::grow::{aggregate, nan, rounded};

/// The lists of version 5.
struct Lists<'a> {
    features: &'a [i64],
    modes: Vec<i64>,
    splits: Numbers<'a>,
    yes: &'a [i64],
    yes_is_leaf: &'a [i64],
    no: &'a [i64],
    no_is_leaf: &'a [i64],
    /// May be empty.
    missing: &'a [i64],
    /// May be empty.
    hits: Numbers<'a>,
    leaf_targets: &'a [i64],
    leaf_weights: Numbers<'a>,
    roots: &'a [i64],
}

impl<'a> Lists<'a> {
    fn of(node: &'a Node) -> Result<Self, OpError> {
        let ints = |name: &str| node.ints(name).map(Option::unwrap_or_default);
        let lists = Self {
            features: ints("nodes_featureids")?,
            modes: modes(node)?,
            splits: tensor(node, "nodes_splits")?,
            yes: ints("nodes_truenodeids")?,
            yes_is_leaf: ints("nodes_trueleafs")?,
            no: ints("nodes_falsenodeids")?,
            no_is_leaf: ints("nodes_falseleafs")?,
            missing: ints("nodes_missing_value_tracks_true")?,
            hits: tensor(node, "nodes_hitrates")?,
            leaf_targets: ints("leaf_targetids")?,
            leaf_weights: tensor(node, "leaf_weights")?,
            roots: ints("tree_roots")?,
        };
        let count = lists.features.len();
        let found = [
            ("nodes_modes", lists.modes.len(), count),
            ("nodes_splits", lists.splits.len(), count),
            ("nodes_truenodeids", lists.yes.len(), count),
            ("nodes_trueleafs", lists.yes_is_leaf.len(), count),
            ("nodes_falsenodeids", lists.no.len(), count),
            ("nodes_falseleafs", lists.no_is_leaf.len(), count),
            ("leaf_targetids", lists.leaf_targets.len(), lists.leaf_weights.len()),
        ];
        for (name, found, expected) in found {
            if found != expected {
                return Err(OpError(format!("attribute {name}: expected {expected} entries, found {found}")));
            }
        }
        if count == 0 || lists.roots.is_empty() || count > NODES_MAX || lists.roots.len() > TREES_MAX {
            return Err(OpError(format!(
                "expected 1 to {NODES_MAX} nodes and 1 to {TREES_MAX} trees, found {count} and {}",
                lists.roots.len()
            )));
        }
        Ok(lists)
    }
}

/// The modes, whatever kind of number the tensor's bytes became.
fn modes(node: &Node) -> Result<Vec<i64>, OpError> {
    let Some(tensor) = node.tensor("nodes_modes")? else { return Ok(Vec::new()) };
    match &tensor.data {
        Data::Bool(v) => Ok(v.iter().copied().map(i64::from).collect()),
        _ => tensor.integers().ok_or_else(|| OpError(format!("attribute nodes_modes: found {}", tensor.of()))),
    }
}

/// The set of each node with mode 6, in the order of the nodes; a NaN ends one.
fn sets(node: &Node, lists: &Lists<'_>, forest: &mut Forest) -> Result<Vec<Option<u32>>, OpError> {
    let values = tensor(node, "membership_values")?;
    let mut at = 0;
    let mut of_nodes = vec![None; lists.modes.len()];
    for (mode, of_node) in lists.modes.iter().zip(&mut of_nodes) {
        if *mode != 6 {
            continue;
        }
        let mut set = Vec::new();
        while let Some(value) = values.get(at).filter(|value| !value.is_nan()) {
            set.push(rounded(value, forest.precision));
            at += 1;
        }
        at += 1;
        set.sort_unstable_by(f64::total_cmp);
        *of_node = u32::try_from(forest.sets.len()).ok();
        forest.sets.push(Set::Values(set));
    }
    if at < values.len() {
        return Err(OpError(format!("attribute membership_values: {} values belong to no node", values.len() - at)));
    }
    Ok(of_nodes)
}

pub(super) fn grow(node: &Node, used: &Used, shape: &Forest, context: &mut Context) -> Result<Forest, OpError> {
    let lists = Lists::of(node)?;
    // Every split has two children, so there are at most as many leaves as splits and trees.
    let most = lists.features.len().saturating_mul(2).saturating_add(lists.roots.len());
    let held = most.saturating_mul(size_of::<Grown>() + size_of::<Weight>());
    let members = tensor(node, "membership_values")?.len().saturating_mul(40);
    context.take(held.saturating_add(members), "the trees")?;
    let mut forest = shape.clone();
    let of_nodes = sets(node, &lists, &mut forest)?;
    let mut seen = vec![false; lists.features.len()];
    for (number, root) in lists.roots.iter().enumerate() {
        let tree = tree(&lists, &of_nodes, used, *root, &mut seen, &mut forest)
            .map_err(|what| OpError(format!("tree {number}: {what}")))?;
        forest.trees.push(tree);
    }
    forest.sum.aggregate = aggregate(used.aggregate, lists.roots.len());
    settle_covers(&mut forest);
    Ok(forest)
}

fn tree(
    lists: &Lists<'_>,
    sets: &[Option<u32>],
    used: &Used,
    root: i64,
    seen: &mut [bool],
    forest: &mut Forest,
) -> Result<Tree, String> {
    let mut nodes: Vec<Grown> = Vec::new();
    // The child's number, whether it is a leaf, the place of the split above, and whether it is that one's `yes`.
    let mut stack = vec![(root, false, None::<(usize, bool)>)];
    while let Some((number, is_leaf, above)) = stack.pop() {
        let place = nodes.len();
        let small = u32::try_from(place).map_err(|_| "too many nodes".to_owned())?;
        if let Some(Grown::Split(split)) = above.and_then(|(above, _)| nodes.get_mut(above)) {
            if above.is_some_and(|(_, yes)| yes) { split.yes = small } else { split.no = small }
        }
        if is_leaf {
            nodes.push(Grown::Leaf(leaf(lists, used, number, forest)?));
            continue;
        }
        let at = usize::try_from(number).ok().filter(|at| *at < seen.len());
        let at = at.ok_or_else(|| format!("expected a node below {}, found {number}", seen.len()))?;
        if std::mem::replace(&mut seen[at], true) {
            return Err(format!("two ways lead to node {at}, or a circle"));
        }
        let (yes, no) = (lists.yes[at], lists.no[at]);
        let (yes_leaf, no_leaf) = (lists.yes_is_leaf[at] != 0, lists.no_is_leaf[at] != 0);
        // A tree of one leaf is written as a split with that leaf on both sides.
        if yes_leaf && no_leaf && yes == no && above.is_none() {
            nodes.push(Grown::Leaf(leaf(lists, used, yes, forest)?));
            continue;
        }
        nodes.push(Grown::Split(split(lists, sets, at, forest).map_err(|what| format!("node {at}: {what}"))?));
        stack.push((no, no_leaf, Some((place, false))));
        stack.push((yes, yes_leaf, Some((place, true))));
    }
    Ok(Tree { nodes })
}

fn leaf(lists: &Lists<'_>, used: &Used, number: i64, forest: &mut Forest) -> Result<Leaf, String> {
    let at = usize::try_from(number).ok().filter(|at| *at < lists.leaf_targets.len());
    let at = at.ok_or_else(|| format!("expected a leaf below {}, found {number}", lists.leaf_targets.len()))?;
    let target = lists.leaf_targets[at];
    let known = usize::try_from(target).ok().filter(|target| *target < used.targets);
    known.ok_or_else(|| format!("leaf {at}: expected a target below {}, found {target}", used.targets))?;
    let small = |n: usize| u32::try_from(n).map_err(|_| "too many leaves".to_owned());
    let from = small(forest.weights.len())?;
    let value = rounded(lists.leaf_weights.get(at).unwrap_or_default(), forest.sum.precision);
    forest.weights.push(Weight { target: u32::try_from(target).unwrap_or_default(), value });
    Ok(Leaf { weights: (from, from + 1), id: small(at)?, cover: 0.0 })
}

fn split(lists: &Lists<'_>, sets: &[Option<u32>], at: usize, forest: &Forest) -> Result<Split, String> {
    let feature = lists.features[at];
    let feature = u32::try_from(feature).map_err(|_| format!("expected a column, found {feature}"))?;
    let value = rounded(lists.splits.get(at).unwrap_or_default(), forest.precision);
    let test = match (lists.modes[at], sets[at]) {
        (0, _) => Test::Le(value),
        (1, _) => Test::Lt(value),
        (2, _) => Test::Ge(value),
        (3, _) => Test::Gt(value),
        (4, _) => Test::Eq(value),
        (5, _) => Test::Ne(value),
        (6, Some(set)) => Test::In(set),
        (mode, _) => return Err(format!("expected a mode of 0 to 6, found {mode}")),
    };
    let tracks = lists.missing.get(at).is_some_and(|tracks| *tracks == 1);
    let cover = lists.hits.get(at).unwrap_or_default();
    Ok(Split { feature, test, nan: nan(tracks, test), zero_is_missing: false, yes: 0, no: 0, cover })
}

/// Takes hit rates for covers only where each split's are those of its children together; else there are none.
pub(super) fn settle_covers(forest: &mut Forest) {
    const SLACK: f64 = 1e-3;
    let cover = |node: Option<&Grown>| match node {
        Some(Grown::Split(split)) => split.cover,
        Some(Grown::Leaf(leaf)) => leaf.cover,
        None => 0.0,
    };
    let sound = forest.trees.iter().all(|tree| {
        tree.nodes.iter().all(|node| match node {
            Grown::Leaf(leaf) => leaf.cover > 0.0,
            Grown::Split(split) => {
                let children = cover(tree.nodes.get(split.yes as usize)) + cover(tree.nodes.get(split.no as usize));
                split.cover > 0.0 && (children - split.cover).abs() <= SLACK * split.cover
            }
        })
    });
    if sound {
        return;
    }
    for node in forest.trees.iter_mut().flat_map(|tree| &mut tree.nodes) {
        match node {
            Grown::Split(split) => split.cover = 0.0,
            Grown::Leaf(leaf) => leaf.cover = 0.0,
        }
    }
}
