//! Path-dependent TreeSHAP (Lundberg, Erion, Lee: "Consistent individualized feature attribution for tree ensembles",
//! 2018), computed in time linear in the nodes as in Linear TreeSHAP (Yu, Bifet, Read, Xu, 2022), with the
//! polynomials held as their values at quadrature points.
//!
//! For a leaf of value v whose path asks d columns, let `z_j` be the part of the training rows that the splits of
//! column j let through (the product of the covers' ratios), and `o_j` 1 where the row itself passes all of them, else
//! 0. Shapley's weights k!(d-1-k)!/d! are the integrals of t^k (1-t)^(d-1-k), so that column i gets
//!
//! ```text
//! v · (o_i - z_i) · ∫ Π_{j≠i} (z_j (1-t) + o_j t) dt        t from 0 to 1
//! ```
//!
//! a polynomial of degree d - 1, which d / 2 points of Gauss–Legendre integrate exactly. All factors are positive
//! inside the interval, so nothing cancels. Going down, each node has the product at each point; going up, the
//! leaves' values times their products are summed, and each edge adds its column's part for all leaves below at
//! once. Where a column was asked before on the path, the earlier edge's part for these leaves is taken back.

use super::super::forest::{Forest, Node, Precision, Set, Split};
use super::quadrature::Quadrature;
use super::{only_target, value, weights};

/// Points that are worked on together: the count is rounded up to it.
const LANES: usize = 4;
/// Most points: paths that ask more than twice as many columns are refused.
const POINTS_MAX: usize = 64;
const NONE: u32 = u32::MAX;

/// The tables for path-dependent values. Shared.
#[derive(Clone, Debug)]
pub struct PathShap {
    width: usize,
    precision: Precision,
    trees: Vec<Part>,
    nodes: Vec<Step>,
    splits: Vec<Split>,
    sets: Vec<Set>,
    weights: Vec<(u32, f64)>,
    /// By number of points / LANES: points and weights.
    quadratures: Vec<Vec<Point>>,
    expected: Vec<f64>,
    nodes_max: usize,
    points_max: usize,
    cost: u64,
}

/// LANES points.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    at: [f64; LANES],
    weight: [f64; LANES],
}

/// A tree's nodes, the root first, parents before children.
#[derive(Clone, Debug)]
struct Part {
    from: usize,
    to: usize,
    /// Groups of LANES points.
    groups: usize,
    /// The only target that it feeds.
    only: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    /// In the tree.
    parent: u32,
    /// The last node above (in the tree) that the same column leads to.
    before: u32,
    column: u32,
    /// Of the parent: it leads here if the answer is this.
    yes: bool,
    /// The split's place, or NONE for a leaf.
    split: u32,
    leaf: (u32, u32),
    /// z of the column, with this edge.
    share: f64,
}

/// The buffers of one scorer.
#[derive(Clone, Debug)]
pub struct PathScratch {
    passes: Vec<bool>,
    answers: Vec<bool>,
    products: Vec<[f64; LANES]>,
    sums: Vec<[f64; LANES]>,
}

impl PathShap {
    /// Prepares a checked forest.
    ///
    /// # Errors
    /// For forests without covers, that do not sum, or whose paths ask too many columns.
    pub fn new(forest: &Forest) -> Result<Self, String> {
        if !forest.check()?.covers {
            return Err("the file does not tell how many rows came to each node".to_owned());
        }
        let mut shap = Self {
            width: forest.width,
            precision: forest.precision,
            trees: Vec::new(),
            nodes: Vec::new(),
            splits: Vec::new(),
            sets: forest.sets.clone(),
            weights: weights(forest)?,
            quadratures: Vec::new(),
            expected: (0..forest.targets).map(|at| forest.base.get(at).copied().unwrap_or(0.0)).collect(),
            nodes_max: 0,
            points_max: 0,
            cost: 0,
        };
        for (at, tree) in forest.trees.iter().enumerate() {
            let from = shap.nodes.len();
            let columns = shap.add(&tree.nodes)?;
            let groups = columns.div_ceil(2).div_ceil(LANES).max(1);
            if groups * LANES > POINTS_MAX {
                return Err(format!("tree {at}: a path asks {columns} columns, at most {} are taken", 2 * POINTS_MAX));
            }
            while shap.quadratures.len() <= groups {
                shap.quadratures.push(points(shap.quadratures.len()));
            }
            let leaves = tree.nodes.iter().filter_map(|node| match node {
                Node::Leaf(leaf) => Some(leaf),
                Node::Split(_) => None,
            });
            let only = only_target(&shap.weights, leaves);
            let to = shap.nodes.len();
            shap.trees.push(Part { from, to, groups, only });
            shap.nodes_max = shap.nodes_max.max(to - from);
            shap.points_max = shap.points_max.max(groups);
            shap.cost += ((to - from) * groups * LANES) as u64 * 12;
        }
        Ok(shap)
    }

    /// Adds a tree's nodes; the most columns that one path asks.
    fn add(&mut self, nodes: &[Node]) -> Result<usize, String> {
        let from = self.nodes.len();
        let root = Step { parent: NONE, before: NONE, column: 0, yes: false, split: NONE, leaf: (0, 0), share: 1.0 };
        // A node's place, its step, how many columns the path asks, and the part of all rows that comes here.
        let mut stack = vec![(0_u32, root, 0_usize, 1.0)];
        let mut most = 0;
        while let Some((place, mut step, columns, part)) = stack.pop() {
            most = most.max(columns);
            let here = small(self.nodes.len() - from);
            match nodes.get(place as usize) {
                Some(Node::Split(split)) => {
                    step.split = small(self.splits.len());
                    self.splits.push(*split);
                    self.nodes.push(step);
                    let before = self.last(from, here, split.feature);
                    let passed = before.map_or(1.0, |at| self.nodes[from + at as usize].share);
                    for (child, yes) in [(split.no, false), (split.yes, true)] {
                        let ratio = nodes.get(child as usize).map_or(0.0, cover) / split.cover;
                        let next = Step {
                            parent: here,
                            before: before.unwrap_or(NONE),
                            column: split.feature,
                            yes,
                            share: passed * ratio,
                            ..root
                        };
                        stack.push((child, next, columns + usize::from(before.is_none()), part * ratio));
                    }
                }
                Some(Node::Leaf(leaf)) => {
                    step.leaf = leaf.weights;
                    self.nodes.push(step);
                    let gives = self.weights.get(leaf.weights.0 as usize..leaf.weights.1 as usize);
                    for (target, value) in gives.unwrap_or_default() {
                        if let Some(expected) = self.expected.get_mut(*target as usize) {
                            *expected += value * part;
                        }
                    }
                }
                None => return Err(format!("node {place} is not there")),
            }
        }
        Ok(most)
    }

    /// The nearest node from `here` up that a split of this column leads to.
    fn last(&self, from: usize, here: u32, column: u32) -> Option<u32> {
        let mut at = here;
        loop {
            let step = self.nodes.get(from + at as usize)?;
            if step.parent == NONE {
                return None;
            }
            if step.column == column {
                return Some(at);
            }
            at = step.parent;
        }
    }

    /// What a row with no known cell would get, by target: the mean over the training rows.
    #[must_use]
    pub fn expected(&self, target: usize) -> f64 {
        self.expected.get(target).copied().unwrap_or(0.0)
    }

    /// Operations on numbers that one row and target take, about.
    #[must_use]
    pub fn cost(&self) -> u64 {
        self.cost
    }

    /// Bytes of the tables.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.nodes.len() * size_of::<Step>()
            + self.splits.len() * size_of::<Split>()
            + self.weights.len() * size_of::<(u32, f64)>()
            + self.trees.len() * size_of::<Part>()
            + self.expected.len() * size_of::<f64>()
    }

    /// Bytes of one scratch.
    #[must_use]
    pub fn scratch_bytes(&self) -> usize {
        self.nodes_max * (2 + self.points_max * 2 * size_of::<[f64; LANES]>())
    }

    /// Every buffer that a run needs.
    #[must_use]
    pub fn scratch(&self) -> PathScratch {
        PathScratch {
            passes: vec![false; self.nodes_max],
            answers: vec![false; self.nodes_max],
            products: vec![[0.0; LANES]; self.nodes_max * self.points_max],
            sums: vec![[0.0; LANES]; self.nodes_max * self.points_max],
        }
    }

    /// What each column's cell adds to a target's raw sum, beside [`expected`](Self::expected): `out` takes a number
    /// a column. With a row or scratch of another shape nothing is written.
    pub fn run(&self, row: &[f64], target: usize, out: &mut [f64], scratch: &mut PathScratch) {
        let fits = scratch.passes.len() >= self.nodes_max && scratch.sums.len() >= self.nodes_max * self.points_max;
        if row.len() != self.width || out.len() != self.width || !fits {
            return;
        }
        out.fill(0.0);
        let target = small(target);
        for tree in &self.trees {
            if tree.only.is_none_or(|only| only == target) {
                self.tree(tree, row, target, out, scratch);
            }
        }
    }

    fn tree(&self, tree: &Part, row: &[f64], target: u32, out: &mut [f64], scratch: &mut PathScratch) {
        let PathScratch { passes, answers, products, sums } = scratch;
        let nodes = &self.nodes[tree.from..tree.to];
        let Some(points) = self.quadratures.get(tree.groups) else { return };
        let groups = tree.groups;
        for (at, step) in nodes.iter().enumerate() {
            let here = at * groups;
            if step.parent == NONE {
                products[here..here + groups].fill([1.0; LANES]);
            } else {
                let parent = step.parent as usize;
                let before = nodes.get(step.before as usize).map(|before| (before.share, passes[step.before as usize]));
                passes[at] = answers[parent] == step.yes && before.is_none_or(|(_, passes)| passes);
                for (group, point) in points.iter().enumerate() {
                    let above = products[parent * groups + group];
                    let now = factor(step.share, passes[at], point);
                    let then = before.map_or([1.0; LANES], |(share, passes)| factor(share, passes, point));
                    products[here + group] = std::array::from_fn(|n| above[n] * now[n] / then[n]);
                }
            }
            if let Some(split) = self.splits.get(step.split as usize) {
                let cell = row.get(split.feature as usize).map_or(f64::NAN, |x| self.precision.cut(*x));
                answers[at] = split.holds(cell, &self.sets);
                sums[here..here + groups].fill([0.0; LANES]);
            } else {
                let value = value(&self.weights, step.leaf, target);
                for group in here..here + groups {
                    sums[group] = products[group].map(|product| product * value);
                }
            }
        }
        for (at, step) in nodes.iter().enumerate().skip(1).rev() {
            let below = &sums[at * groups..(at + 1) * groups];
            let column = &mut out[step.column as usize];
            *column += part(step.share, passes[at], points, below);
            if let Some(before) = nodes.get(step.before as usize) {
                *column -= part(before.share, passes[step.before as usize], points, below);
            }
            let (above, below) = sums.split_at_mut(at * groups);
            let above = &mut above[step.parent as usize * groups..][..groups];
            for (above, below) in above.iter_mut().zip(below) {
                for (above, below) in above.iter_mut().zip(below) {
                    *above += *below;
                }
            }
        }
    }
}

/// z (1-t) + o t
fn factor(share: f64, passes: bool, point: &Point) -> [f64; LANES] {
    let own = if passes { 1.0 } else { 0.0 };
    point.at.map(|t| share * (1.0 - t) + own * t)
}

/// What an edge gives its column for the leaves below.
fn part(share: f64, passes: bool, points: &[Point], below: &[[f64; LANES]]) -> f64 {
    let mut sums = [0.0; LANES];
    for (point, below) in points.iter().zip(below) {
        let factor = factor(share, passes, point);
        for n in 0..LANES {
            sums[n] += point.weight[n] * below[n] / factor[n];
        }
    }
    let own = if passes { 1.0 } else { 0.0 };
    (own - share) * sums.iter().sum::<f64>()
}

fn cover(node: &Node) -> f64 {
    match node {
        Node::Split(split) => split.cover,
        Node::Leaf(leaf) => leaf.cover,
    }
}

/// The points in so many groups.
fn points(groups: usize) -> Vec<Point> {
    let all = Quadrature::new(groups * LANES);
    let lanes =
        |values: &[f64], group: usize| std::array::from_fn(|n| values.get(group * LANES + n).copied().unwrap_or(0.0));
    (0..groups).map(|group| Point { at: lanes(&all.points, group), weight: lanes(&all.weights, group) }).collect()
}

fn small(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
