//! A forest as its library means it, in one neutral form: what the loaders make and the plan is built from.
//!
//! **Layout.** A tree is a list of nodes, the root first; a split names its children by their places in that
//! list. Leaves name a range of [`Forest::weights`], each a target and the number that is added to it.
//!
//! **Rules.** [`Forest::check`] must hold before a plan is made: places inside their lists, every node reached
//! from the root exactly once (so no cycles), numbers of things under the limits below. It does not recurse.
//!
//! **Numbers.** Cells and thresholds are compared in [`Forest::precision`]: with F32 a cell is cut to f32 first,
//! and every threshold is a number that an f32 can hold.

/// Most columns of a row.
pub const WIDTH_MAX: usize = 65_535;
/// Most raw sums of a row.
pub const TARGETS_MAX: usize = 65_536;
/// Most trees.
pub const TREES_MAX: usize = 1 << 20;
/// Most nodes of all trees together.
pub const NODES_MAX: usize = 1 << 28;
/// Most splits on the way from a root to a leaf.
pub const DEPTH_MAX: usize = 4_096;
/// Categories lie below this: the largest integer up to which an f32 counts every one.
pub const CATEGORIES_MAX: usize = 1 << 24;
/// What `zero_is_missing` takes for zero: `1e-35f` of LightGBM, as a double.
pub const ZERO: f64 = 1e-35_f32 as f64;

/// All trees of a model, and how their leaves become raw sums.
#[derive(Clone, Debug, PartialEq)]
pub struct Forest {
    /// Columns of a row.
    pub width: usize,
    /// Raw sums of a row.
    pub targets: usize,
    /// Of cells and thresholds.
    pub precision: Precision,
    /// How leaves are put together.
    pub sum: Sum,
    /// One number a target; empty means zeros.
    pub base: Vec<f64>,
    pub trees: Vec<Tree>,
    /// What leaves give, by [`Leaf::weights`].
    pub weights: Vec<Weight>,
    /// Sets of values that [`Test::In`] names by place.
    pub sets: Vec<Set>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    F32,
    F64,
}

/// How leaves are put together, in the order of the trees, whatever the kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sum {
    /// Of the accumulator: F32 rounds after each addition, `weights` and `base` too.
    pub precision: Precision,
    pub aggregate: Aggregate,
    /// True: the accumulator starts with `base`; false: `base` is added to the aggregate.
    pub base_first: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aggregate {
    Sum,
    /// The sum divided by this number (of trees, of iterations).
    Average(f64),
    /// The least weight of a target; 0 where no leaf feeds it. `base` is added last.
    Min,
    /// The greatest.
    Max,
}

/// What a leaf adds to a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weight {
    pub target: u32,
    pub value: f64,
}

/// Nodes, the root first. Never empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree {
    pub nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Node {
    Split(Split),
    Leaf(Leaf),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    pub feature: u32,
    pub test: Test,
    /// Where a NaN goes.
    pub nan: Nan,
    /// A cell of at most [`ZERO`] in magnitude goes where a NaN goes (LightGBM's `zero_as_missing`).
    pub zero_is_missing: bool,
    /// The child if the test holds.
    pub yes: u32,
    pub no: u32,
    /// Rows (or sum of hessians) that came here in training; 0 where the file does not tell.
    pub cover: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Test {
    /// x < t
    Lt(f64),
    /// x <= t
    Le(f64),
    /// x > t
    Gt(f64),
    /// x >= t
    Ge(f64),
    /// x == t
    Eq(f64),
    /// x != t
    Ne(f64),
    /// x is in this set of [`Forest::sets`].
    In(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nan {
    Yes,
    No,
    /// It counts as the number 0.
    Zero,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leaf {
    /// From and to in [`Forest::weights`]; may be empty.
    pub weights: (u32, u32),
    /// The leaf's number as the library tells it.
    pub id: u32,
    pub cover: f64,
}

/// Values that belong together.
#[derive(Clone, Debug, PartialEq)]
pub enum Set {
    /// Categories, bit n of word n / 32 each. A cell counts as its whole part; one below `-1` (with `fractions`) or
    /// below 0 (without) is in no set, nor is one without a bit.
    Categories { words: Vec<u32>, fractions: bool },
    /// Categories by number, ascending; a cell counts as its whole part, one below 0 is in no set.
    Listed(Vec<u32>),
    /// Exactly these numbers, ascending, no NaN.
    Values(Vec<f64>),
}

/// What [`Forest::check`] found on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    pub nodes: usize,
    pub leaves: usize,
    /// Leaves of the tree that has most.
    pub leaves_max: usize,
    /// Splits above the deepest leaf.
    pub depth: usize,
    /// Every leaf and split has a cover above 0.
    pub covers: bool,
}

impl Forest {
    /// Bytes that it holds.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let nodes: usize = self.trees.iter().map(|tree| tree.nodes.len()).sum();
        let sets: usize = self.sets.iter().map(Set::bytes).sum();
        nodes * size_of::<Node>()
            + self.trees.len() * size_of::<Tree>()
            + self.weights.len() * size_of::<Weight>()
            + self.base.len() * size_of::<f64>()
            + sets
    }

    /// Holds the forest to the rules above.
    ///
    /// # Errors
    /// What is wrong, with the tree's and the node's place.
    pub fn check(&self) -> Result<Shape, String> {
        let limits = [
            ("columns", self.width, WIDTH_MAX),
            ("targets", self.targets, TARGETS_MAX),
            ("trees", self.trees.len(), TREES_MAX),
        ];
        for (what, found, most) in limits {
            if found > most {
                return Err(format!("{found} {what}, at most {most} are taken"));
            }
        }
        if self.targets == 0 {
            return Err("a forest needs a target".to_owned());
        }
        if !self.base.is_empty() && self.base.len() != self.targets {
            return Err(format!("{} base values for {} targets", self.base.len(), self.targets));
        }
        for (at, set) in self.sets.iter().enumerate() {
            set.check().map_err(|what| format!("set {at}: {what}"))?;
        }
        if let Some(at) = self.weights.iter().position(|weight| weight.target as usize >= self.targets) {
            return Err(format!("weight {at} feeds a target that is not among the {}", self.targets));
        }
        let mut shape = Shape { covers: true, ..Shape::default() };
        let mut stack = Vec::new();
        let mut seen = Vec::new();
        for (at, tree) in self.trees.iter().enumerate() {
            self.check_tree(tree, &mut shape, &mut stack, &mut seen).map_err(|what| format!("tree {at}: {what}"))?;
        }
        Ok(shape)
    }

    fn check_tree(
        &self,
        tree: &Tree,
        shape: &mut Shape,
        stack: &mut Vec<(u32, usize)>,
        seen: &mut Vec<bool>,
    ) -> Result<(), String> {
        shape.nodes += tree.nodes.len();
        if shape.nodes > NODES_MAX {
            return Err(format!("more than {NODES_MAX} nodes in all"));
        }
        seen.clear();
        seen.resize(tree.nodes.len(), false);
        stack.clear();
        stack.push((0, 0));
        let mut reached = 0;
        let mut leaves = 0;
        while let Some((place, depth)) = stack.pop() {
            let (Some(node), Some(seen)) = (tree.nodes.get(place as usize), seen.get_mut(place as usize)) else {
                return Err(format!("node {place} does not exist, there are {}", tree.nodes.len()));
            };
            if std::mem::replace(seen, true) {
                return Err(format!("node {place} is reached twice"));
            }
            reached += 1;
            match node {
                Node::Split(split) => {
                    if depth >= DEPTH_MAX {
                        return Err(format!("deeper than {DEPTH_MAX} splits"));
                    }
                    self.check_split(split).map_err(|what| format!("node {place}: {what}"))?;
                    shape.covers &= split.cover > 0.0;
                    stack.push((split.no, depth + 1));
                    stack.push((split.yes, depth + 1));
                }
                Node::Leaf(leaf) => {
                    let (from, to) = (leaf.weights.0 as usize, leaf.weights.1 as usize);
                    if from > to || to > self.weights.len() {
                        return Err(format!("node {place}: its weights {from}..{to} are not there"));
                    }
                    shape.covers &= leaf.cover > 0.0;
                    shape.depth = shape.depth.max(depth);
                    leaves += 1;
                }
            }
        }
        if reached < tree.nodes.len() {
            return Err(format!("{} of its {} nodes are never reached", tree.nodes.len() - reached, tree.nodes.len()));
        }
        shape.leaves += leaves;
        shape.leaves_max = shape.leaves_max.max(leaves);
        Ok(())
    }

    fn check_split(&self, split: &Split) -> Result<(), String> {
        if split.feature as usize >= self.width {
            return Err(format!("column {} of {}", split.feature, self.width));
        }
        match split.test {
            Test::In(set) if set as usize >= self.sets.len() => Err(format!("set {set} does not exist")),
            Test::In(_) => Ok(()),
            Test::Lt(t) | Test::Le(t) | Test::Gt(t) | Test::Ge(t) | Test::Eq(t) | Test::Ne(t) => {
                if self.precision == Precision::F32 && !t.is_nan() && f64::from(cut(t)).to_bits() != t.to_bits() {
                    return Err(format!("threshold {t} is not an f32"));
                }
                Ok(())
            }
        }
    }
}

impl Precision {
    /// A number as cells are compared.
    #[must_use]
    pub fn cut(self, x: f64) -> f64 {
        match self {
            Self::F32 => f64::from(cut(x)),
            Self::F64 => x,
        }
    }
}

/// The nearest f32.
#[allow(clippy::cast_possible_truncation)] // what is wanted
pub(in super::super) fn cut(value: f64) -> f32 {
    value as f32
}

impl Set {
    fn bytes(&self) -> usize {
        let values = match self {
            Self::Categories { words, .. } => words.len() * size_of::<u32>(),
            Self::Listed(categories) => categories.len() * size_of::<u32>(),
            Self::Values(values) => values.len() * size_of::<f64>(),
        };
        size_of::<Self>() + values
    }

    fn check(&self) -> Result<(), String> {
        match self {
            Self::Categories { words, .. } if words.len() * 32 > CATEGORIES_MAX => {
                Err(format!("categories lie below {CATEGORIES_MAX}"))
            }
            Self::Listed(categories) if !categories.is_sorted() => Err("its categories must ascend".to_owned()),
            Self::Listed(categories) if categories.last().is_some_and(|last| *last as usize >= CATEGORIES_MAX) => {
                Err(format!("categories lie below {CATEGORIES_MAX}"))
            }
            Self::Values(values) if !values.is_sorted() || values.iter().any(|v| v.is_nan()) => {
                Err("its values must ascend".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// True if `x`, no NaN, is in it.
    #[must_use]
    pub fn contains(&self, x: f64) -> bool {
        match self {
            Self::Categories { words, fractions } => category(x, *fractions).is_some_and(|category| {
                words.get(category as usize / 32).is_some_and(|w| w >> (category % 32) & 1 == 1)
            }),
            Self::Listed(categories) => {
                category(x, false).is_some_and(|category| categories.binary_search(&category).is_ok())
            }
            Self::Values(values) => {
                values.binary_search_by(|v| v.partial_cmp(&x).unwrap_or(std::cmp::Ordering::Less)).is_ok()
            }
        }
    }
}

/// The whole part of a number, where it is a category.
// Exact below 2^24.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
fn category(x: f64, fractions: bool) -> Option<u32> {
    let least = if fractions { x > -1.0 } else { x >= 0.0 };
    (least && x < CATEGORIES_MAX as f64).then(|| x.trunc() as u32)
}

impl Split {
    /// True if a row with this cell goes to `yes`: the definition that every kernel is held to. `sets` are the
    /// forest's; with F32 the cell has been cut before.
    #[must_use]
    pub fn holds(&self, cell: f64, sets: &[Set]) -> bool {
        let missing = cell.is_nan() || (self.zero_is_missing && cell.abs() <= ZERO);
        let x = match self.nan {
            Nan::Yes if missing => return true,
            Nan::No if missing => return false,
            _ if cell.is_nan() => 0.0,
            _ => cell,
        };
        match self.test {
            Test::Lt(t) => x < t,
            Test::Le(t) => x <= t,
            Test::Gt(t) => x > t,
            Test::Ge(t) => x >= t,
            // Equality of numbers is what the test means.
            #[allow(clippy::float_cmp)]
            Test::Eq(t) => x == t,
            #[allow(clippy::float_cmp)]
            Test::Ne(t) => x != t,
            Test::In(set) => sets.get(set as usize).is_some_and(|set| set.contains(x)),
        }
    }
}
