//! Interventional values against one row, the baseline: exact, from the definition.
//!
//! The game's worth of a set S of columns is the margin of a row whose cells are the row's own in S and the
//! baseline's elsewhere. In one tree only those leaves count whose path lets each column's cell through, the row's or
//! the baseline's. Where p columns need the row's cell and n the baseline's, the leaf is reached by the sets that
//! hold the p and none of the n; Shapley's weights give each of the p columns v (p-1)! n! / (p+n)! and take
//! v p! (n-1)! / (p+n)! from each of the n (Lundberg et al.: "From local explanations to global understanding with
//! explainable AI for trees", Nature Machine Intelligence 2020, "Independent TreeSHAP").

use super::super::forest::{Forest, Leaf, Node, Precision, Set, Tree};
use super::{only_target, value, weights};

/// Most columns that one path may ask.
const COLUMNS_MAX: usize = 512;

/// The tables for values against a baseline. Shared.
#[derive(Clone, Debug)]
pub struct BaselineShap {
    width: usize,
    precision: Precision,
    trees: Vec<(Tree, Option<u32>)>,
    sets: Vec<Set>,
    weights: Vec<(u32, f64)>,
    baseline: Vec<f64>,
    /// `[p][n]`: (p-1)! n! / (p+n)!, for p of at least 1.
    shares: Vec<f64>,
    columns: usize,
    depth: usize,
    cost: u64,
}

/// Whose cell lets a path through.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Needs {
    Either,
    Row,
    Baseline,
}

/// A node that is yet to be seen, or a column to be put back.
#[derive(Clone, Copy, Debug)]
enum Todo {
    Visit(u32),
    /// The column's need, and then the node.
    Enter {
        column: u32,
        needs: Needs,
        node: u32,
    },
    Leave {
        column: u32,
    },
}

/// The buffers of one scorer.
#[derive(Clone, Debug)]
pub struct BaselineScratch {
    todo: Vec<Todo>,
    needs: Vec<Needs>,
    /// Columns that need one of the two, in the order of the path.
    path: Vec<u32>,
}

impl BaselineScratch {
    /// How many things each buffer has room for.
    #[must_use]
    pub fn room(&self) -> [usize; 3] {
        [self.todo.capacity(), self.needs.capacity(), self.path.capacity()]
    }
}

impl BaselineShap {
    /// Prepares a checked forest; `baseline` is a row.
    ///
    /// # Errors
    /// For forests that do not sum, a baseline of another width, or paths that ask too many columns.
    pub fn new(forest: &Forest, baseline: &[f64]) -> Result<Self, String> {
        let shape = forest.check()?;
        if baseline.len() != forest.width {
            return Err(format!("a baseline of {} cells, rows have {}", baseline.len(), forest.width));
        }
        let columns = shape.depth.min(forest.width);
        if columns > COLUMNS_MAX {
            return Err(format!("a path may ask {columns} columns, at most {COLUMNS_MAX} are taken"));
        }
        let weights = weights(forest)?;
        let leaves = |tree: &Tree| {
            let leaf = |node: &Node| match node {
                Node::Leaf(leaf) => Some(*leaf),
                Node::Split(_) => None,
            };
            tree.nodes.iter().filter_map(leaf).collect::<Vec<Leaf>>()
        };
        let trees = forest.trees.iter().map(|tree| (tree.clone(), only_target(&weights, leaves(tree).iter())));
        Ok(Self {
            width: forest.width,
            precision: forest.precision,
            trees: trees.collect(),
            sets: forest.sets.clone(),
            weights,
            baseline: baseline.iter().map(|cell| forest.precision.cut(*cell)).collect(),
            shares: shares(columns),
            columns,
            depth: shape.depth,
            cost: (shape.nodes + shape.leaves * columns) as u64 * 4,
        })
    }

    /// Operations that one row and target take at most, about.
    #[must_use]
    pub fn cost(&self) -> u64 {
        self.cost
    }

    /// Bytes of the tables.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let nodes: usize = self.trees.iter().map(|(tree, _)| tree.nodes.len()).sum();
        nodes * size_of::<Node>() + (self.shares.len() + self.width + 2 * self.weights.len()) * size_of::<f64>()
    }

    /// Bytes of one scratch.
    #[must_use]
    pub fn scratch_bytes(&self) -> usize {
        (3 * self.depth + 4) * size_of::<Todo>() + self.width * size_of::<Needs>() + self.columns * size_of::<u32>()
    }

    /// Every buffer that a run needs.
    #[must_use]
    pub fn scratch(&self) -> BaselineScratch {
        BaselineScratch {
            // A level leaves at most the other child's Enter and its own Leave behind.
            todo: Vec::with_capacity(3 * self.depth + 4),
            needs: vec![Needs::Either; self.width],
            path: Vec::with_capacity(self.columns),
        }
    }

    /// What each column's cell adds to a target's raw sum beside the baseline's: `out` takes a number a column. With
    /// a row or scratch of another shape nothing is written.
    pub fn run(&self, row: &[f64], target: usize, out: &mut [f64], scratch: &mut BaselineScratch) {
        if row.len() != self.width || out.len() != self.width || scratch.needs.len() != self.width {
            return;
        }
        out.fill(0.0);
        scratch.needs.fill(Needs::Either);
        let target = u32::try_from(target).unwrap_or(u32::MAX);
        for (tree, only) in &self.trees {
            if only.is_none_or(|only| only == target) {
                self.tree(tree, row, target, out, scratch);
            }
        }
    }

    fn tree(&self, tree: &Tree, row: &[f64], target: u32, out: &mut [f64], scratch: &mut BaselineScratch) {
        let BaselineScratch { todo, needs, path } = scratch;
        todo.clear();
        path.clear();
        let (mut rows, mut baselines) = (0, 0);
        todo.push(Todo::Visit(0));
        while let Some(next) = todo.pop() {
            let place = match next {
                Todo::Visit(place) => place,
                Todo::Enter { column, needs: new, node } => {
                    needs[column as usize] = new;
                    path.push(column);
                    *(if new == Needs::Row { &mut rows } else { &mut baselines }) += 1;
                    todo.push(Todo::Leave { column });
                    node
                }
                Todo::Leave { column } => {
                    let old = std::mem::replace(&mut needs[column as usize], Needs::Either);
                    path.pop();
                    *(if old == Needs::Row { &mut rows } else { &mut baselines }) -= 1;
                    continue;
                }
            };
            match tree.nodes.get(place as usize) {
                Some(Node::Split(split)) => {
                    let column = split.feature as usize;
                    let own = split.holds(self.precision.cut(row[column]), &self.sets);
                    let other = split.holds(self.baseline[column], &self.sets);
                    let to = |answer: bool| if answer { split.yes } else { split.no };
                    match needs[column] {
                        Needs::Row => todo.push(Todo::Visit(to(own))),
                        Needs::Baseline => todo.push(Todo::Visit(to(other))),
                        Needs::Either if own == other => todo.push(Todo::Visit(to(own))),
                        Needs::Either => {
                            let column = split.feature;
                            todo.push(Todo::Enter { column, needs: Needs::Baseline, node: to(other) });
                            todo.push(Todo::Enter { column, needs: Needs::Row, node: to(own) });
                        }
                    }
                }
                Some(Node::Leaf(leaf)) => {
                    let value = value(&self.weights, leaf.weights, target);
                    let (for_row, for_baseline) =
                        (value * self.share(rows, baselines), value * self.share(baselines, rows));
                    for column in path.iter() {
                        let column = *column as usize;
                        out[column] += if needs[column] == Needs::Row { for_row } else { -for_baseline };
                    }
                }
                None => {}
            }
        }
    }

    /// (p-1)! n! / (p+n)!
    fn share(&self, p: usize, n: usize) -> f64 {
        self.shares.get(p * (self.columns + 1) + n).copied().unwrap_or(0.0)
    }
}

/// By the recurrence of the beta function B(p, n+1): B(p, n+2) = B(p, n+1) (n+1) / (p+n+1), B(p, 1) = 1/p.
#[allow(clippy::cast_precision_loss)] // small numbers
fn shares(columns: usize) -> Vec<f64> {
    let mut shares = vec![0.0; (columns + 1) * (columns + 1)];
    for p in 1..=columns {
        let mut share = 1.0 / p as f64;
        for n in 0..=columns {
            shares[p * (columns + 1) + n] = share;
            share *= (n + 1) as f64 / (p + n + 1) as f64;
        }
    }
    shares
}
