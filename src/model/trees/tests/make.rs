//! Forests and rows out of a seed, with all that can be awkward about them.

use super::super::*;

/// A small generator: the same numbers on every machine.
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// What a forest may hold.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    pub trees: usize,
    pub leaves: usize,
    pub width: usize,
    pub targets: usize,
    pub precision: Precision,
    pub sum: Precision,
    pub aggregate: Aggregate,
    /// Tests other than thresholds one way.
    pub mixed: bool,
    pub zeros: bool,
    /// Leaves that feed several targets or none.
    pub many: bool,
}

/// Numbers that tests and cells are drawn from: so that cells fall exactly on thresholds.
const NUMBERS: [f64; 22] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    3.0,
    3.7,
    -0.5,
    0.1,
    1e-35,
    -1e-35,
    1e-36,
    1e-40,
    5e-324,
    -5e-324,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MAX,
    3.4e38,
    16_777_216.0,
    1e300,
    31.0,
];

pub fn number(dice: &mut Dice) -> f64 {
    if dice.one_in(3) {
        return NUMBERS[dice.below(NUMBERS.len())];
    }
    #[allow(clippy::cast_precision_loss)]
    let grid = (dice.below(400) as f64 - 200.0) / 8.0;
    grid
}

pub fn forest(dice: &mut Dice, recipe: &Recipe) -> Forest {
    let mut forest = Forest {
        width: recipe.width,
        targets: recipe.targets,
        precision: recipe.precision,
        sum: Sum { precision: recipe.sum, aggregate: recipe.aggregate, base_first: dice.one_in(2) },
        base: (0..recipe.targets).map(|_| number(dice).clamp(-9.0, 9.0)).collect(),
        trees: Vec::new(),
        weights: Vec::new(),
        sets: Vec::new(),
    };
    for _ in 0..4 {
        let words = (0..=dice.below(3)).map(|_| (dice.next() & dice.next()) as u32).collect();
        forest.sets.push(Set::Categories { words, fractions: dice.one_in(2) });
        let mut values: Vec<f64> = (0..dice.below(9)).map(|_| recipe.precision.cut(number(dice))).collect();
        values.sort_by(f64::total_cmp);
        forest.sets.push(Set::Values(values));
    }
    for tree in 0..recipe.trees {
        let grown = grow(dice, recipe, tree, &mut forest.weights);
        forest.trees.push(grown);
    }
    forest
}

fn grow(dice: &mut Dice, recipe: &Recipe, tree: usize, weights: &mut Vec<Weight>) -> Tree {
    let mut nodes = vec![None];
    let mut open = vec![0];
    let mut leaves = 1;
    let most = if dice.one_in(9) { 1 } else { 1 + dice.below(recipe.leaves) };
    while leaves < most {
        let at = open.swap_remove(dice.below(open.len()));
        let (yes, no) = (nodes.len(), nodes.len() + 1);
        nodes.extend([None, None]);
        open.extend([yes, no]);
        leaves += 1;
        let t = recipe.precision.cut(if dice.one_in(40) { f64::NAN } else { number(dice) });
        let test = match dice.below(if recipe.mixed { 10 } else { 1 }) {
            0 | 1 => Test::Le(t),
            2 => Test::Lt(t),
            3 => Test::Gt(t),
            4 => Test::Ge(t),
            5 => Test::Eq(t),
            6 => Test::Ne(t),
            _ => Test::In(dice.below(8) as u32),
        };
        let nan = [Nan::Yes, Nan::No, Nan::Zero][dice.below(3)];
        let zero_is_missing = recipe.zeros && dice.one_in(2);
        let feature = dice.below(recipe.width) as u32;
        nodes[at] = Some(Node::Split(Split {
            feature,
            test,
            nan,
            zero_is_missing,
            yes: yes as u32,
            no: no as u32,
            cover: 0.0,
        }));
    }
    let place = |(at, node): (usize, Option<Node>)| {
        node.unwrap_or_else(|| {
            let from = weights.len() as u32;
            let count = if recipe.many { dice.below(4) } else { 1 };
            for _ in 0..count {
                let target = if recipe.many { dice.below(recipe.targets) } else { tree % recipe.targets };
                let value = number(dice).clamp(-1e6, 1e6) * 0.37;
                weights.push(Weight { target: target as u32, value });
            }
            Node::Leaf(Leaf { weights: (from, weights.len() as u32), id: at as u32 * 7, cover: 0.0 })
        })
    };
    Tree { nodes: nodes.into_iter().enumerate().map(place).collect() }
}

pub fn rows(dice: &mut Dice, width: usize, count: usize) -> Vec<f64> {
    (0..width * count).map(|_| if dice.one_in(6) { f64::NAN } else { number(dice) }).collect()
}

/// Gives every node a cover: some rows a leaf, and what lies below a split.
pub fn covered(dice: &mut Dice, forest: &mut Forest) {
    for tree in &mut forest.trees {
        // Children lie behind their parents.
        for at in (0..tree.nodes.len()).rev() {
            let cover_of = |place: u32| match &tree.nodes[place as usize] {
                Node::Split(split) => split.cover,
                Node::Leaf(leaf) => leaf.cover,
            };
            match tree.nodes[at] {
                Node::Split(mut split) => {
                    split.cover = cover_of(split.yes) + cover_of(split.no);
                    tree.nodes[at] = Node::Split(split);
                }
                Node::Leaf(mut leaf) => {
                    leaf.cover = 1.0 + dice.below(50) as f64;
                    tree.nodes[at] = Node::Leaf(leaf);
                }
            }
        }
    }
}
