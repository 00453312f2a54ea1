//! Interventional values against one row, the baseline: exact, from the definition.
//!
//! The players are the columns of the row, or whatever the columns are made from: several columns of the forest may
//! belong to one player, as the categories of a field do, and are then the row's or the baseline's together.
//!
//! The game's worth of a set S of columns is the margin of a row whose cells are the row's own in S and the
//! baseline's elsewhere. In one tree only those leaves count whose path lets each column's cell through, the row's or
//! the baseline's. Where p columns need the row's cell and n the baseline's, the leaf is reached by the sets that
//! hold the p and none of the n; Shapley's weights give each of the p columns v (p-1)! n! / (p+n)! and take
//! v p! (n-1)! / (p+n)! from each of the n (Lundberg et al.: "From local explanations to global understanding with
//! explainable AI for trees", Nature Machine Intelligence 2020, "Independent TreeSHAP").

use super::super::forest::{Aggregate, Forest, Leaf, Node, Tree};
use super::{only_target, weights};
use std::sync::Arc;

/// Most players that one path may ask.
const COLUMNS_MAX: usize = 512;

/// The tables for values against a baseline. Shared.
#[derive(Clone, Debug)]
pub struct BaselineShap {
    forest: Arc<Forest>,
    /// The only target of each tree's leaves.
    only: Vec<Option<u32>>,
    /// Of each column.
    players: Vec<u32>,
    count: usize,
    /// What the leaves are divided by.
    over: f64,
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

/// A node that is yet to be seen, or a player to be put back.
#[derive(Clone, Copy, Debug)]
enum Todo {
    Visit(u32),
    /// The player's need, and then the node.
    Enter {
        player: u32,
        needs: Needs,
        node: u32,
    },
    Leave {
        player: u32,
    },
}

/// The buffers of one scorer.
#[derive(Clone, Debug)]
pub struct BaselineScratch {
    todo: Vec<Todo>,
    needs: Vec<Needs>,
    /// Players that need one of the two, in the order of the path.
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
    /// Prepares a checked forest. `players`: which of the `count` players each column belongs to; a number beyond them
    /// for a column that is the same in every row.
    ///
    /// # Errors
    /// For forests that do not sum, players of another number of columns, or paths that ask too many of them.
    pub fn new(forest: Arc<Forest>, players: Vec<u32>, count: usize) -> Result<Self, String> {
        let shape = forest.check()?;
        if players.len() != forest.width {
            return Err(format!("players of {} columns, rows have {}", players.len(), forest.width));
        }
        let columns = shape.depth.min(count);
        if columns > COLUMNS_MAX {
            return Err(format!("a path may ask {columns} columns, at most {COLUMNS_MAX} are taken"));
        }
        let over = if let Aggregate::Average(over) = forest.sum.aggregate { over } else { 1.0 };
        let weights = weights(&forest)?;
        let leaves = |tree: &Tree| {
            let leaf = |node: &Node| match node {
                Node::Leaf(leaf) => Some(*leaf),
                Node::Split(_) => None,
            };
            tree.nodes.iter().filter_map(leaf).collect::<Vec<Leaf>>()
        };
        Ok(Self {
            only: forest.trees.iter().map(|tree| only_target(&weights, leaves(tree).iter())).collect(),
            players,
            count,
            over,
            shares: shares(columns),
            columns,
            depth: shape.depth,
            cost: (shape.nodes + shape.leaves * columns) as u64 * 4,
            forest,
        })
    }

    /// Operations that one row and target take at most, about.
    #[must_use]
    pub fn cost(&self) -> u64 {
        self.cost
    }

    /// Bytes of the tables, the forest apart.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.only.len() * size_of::<Option<u32>>()
            + self.players.len() * size_of::<u32>()
            + self.shares.len() * size_of::<f64>()
    }

    /// Bytes of one scratch.
    #[must_use]
    pub fn scratch_bytes(&self) -> usize {
        (3 * self.depth + 4) * size_of::<Todo>() + self.count * size_of::<Needs>() + self.columns * size_of::<u32>()
    }

    /// Every buffer that a run needs.
    #[must_use]
    pub fn scratch(&self) -> BaselineScratch {
        BaselineScratch {
            // A level leaves at most the other child's Enter and its own Leave behind.
            todo: Vec::with_capacity(3 * self.depth + 4),
            needs: vec![Needs::Either; self.count],
            path: Vec::with_capacity(self.columns),
        }
    }

    /// What each player adds to a target's raw sum beside the baseline's: `row` and `baseline` are the forest's columns,
    /// `out` takes a number a player. With a row or scratch of another shape nothing is written.
    pub fn run(&self, row: &[f64], baseline: &[f64], target: usize, out: &mut [f64], scratch: &mut BaselineScratch) {
        let width = self.players.len();
        let fits = row.len() == width && baseline.len() == width;
        if !fits || out.len() != self.count || scratch.needs.len() != self.count {
            return;
        }
        out.fill(0.0);
        scratch.needs.fill(Needs::Either);
        let target = u32::try_from(target).unwrap_or(u32::MAX);
        for (tree, only) in self.forest.trees.iter().zip(&self.only) {
            if only.is_none_or(|only| only == target) {
                self.tree(tree, [row, baseline], target, out, scratch);
            }
        }
    }

    fn tree(&self, tree: &Tree, rows: [&[f64]; 2], target: u32, out: &mut [f64], scratch: &mut BaselineScratch) {
        let BaselineScratch { todo, needs, path } = scratch;
        todo.clear();
        path.clear();
        let (mut own, mut others) = (0, 0);
        todo.push(Todo::Visit(0));
        while let Some(next) = todo.pop() {
            let place = match next {
                Todo::Visit(place) => place,
                Todo::Enter { player, needs: new, node } => {
                    needs[player as usize] = new;
                    path.push(player);
                    *(if new == Needs::Row { &mut own } else { &mut others }) += 1;
                    todo.push(Todo::Leave { player });
                    node
                }
                Todo::Leave { player } => {
                    let old = std::mem::replace(&mut needs[player as usize], Needs::Either);
                    path.pop();
                    *(if old == Needs::Row { &mut own } else { &mut others }) -= 1;
                    continue;
                }
            };
            match tree.nodes.get(place as usize) {
                Some(Node::Split(split)) => {
                    let column = split.feature as usize;
                    let holds = |row: &[f64]| split.holds(self.forest.precision.cut(row[column]), &self.forest.sets);
                    let (by_row, by_baseline) = (holds(rows[0]), holds(rows[1]));
                    let to = |answer: bool| if answer { split.yes } else { split.no };
                    let player = self.players[column];
                    match needs.get(player as usize) {
                        Some(Needs::Baseline) => todo.push(Todo::Visit(to(by_baseline))),
                        Some(Needs::Either) if by_row != by_baseline => {
                            todo.push(Todo::Enter { player, needs: Needs::Baseline, node: to(by_baseline) });
                            todo.push(Todo::Enter { player, needs: Needs::Row, node: to(by_row) });
                        }
                        _ => todo.push(Todo::Visit(to(by_row))),
                    }
                }
                Some(Node::Leaf(leaf)) => {
                    let value = self.value(leaf, target);
                    let (for_row, for_baseline) = (value * self.share(own, others), value * self.share(others, own));
                    for player in path.iter() {
                        let player = *player as usize;
                        out[player] += if needs[player] == Needs::Row { for_row } else { -for_baseline };
                    }
                }
                None => {}
            }
        }
    }

    /// What a leaf gives a target.
    fn value(&self, leaf: &Leaf, target: u32) -> f64 {
        let weights = self.forest.weights.get(leaf.weights.0 as usize..leaf.weights.1 as usize).unwrap_or_default();
        weights.iter().filter(|weight| weight.target == target).map(|weight| weight.value).sum::<f64>() / self.over
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
