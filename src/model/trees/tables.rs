//! The tables of a forest by groups and blocks of trees, and which way each block goes.

use super::bits::{Bits, Mask};
use super::cuts::{Cell, Cuts, Ranks};
use super::forest::{Forest, Node};
use super::isa::Isa;
use super::leaves::{Leaves, Number};
use super::order::Order;
use super::plan::{Options, Way};
use super::walk::Walk;
use std::collections::BTreeSet;
use std::ops::Range;

/// Trees that share their ranks.
pub const GROUP_TREES: usize = 1_024;
/// Trees of a block, at most.
pub const LANES: usize = 64;
/// Trees of a block whose masks have 64 bits.
pub const LANES_WIDE: usize = LANES / 2;
/// Most single masks a column: 32.
const SHIFT_MAX: u32 = 5;

#[derive(Clone, Debug)]
pub struct Tables<T, S> {
    pub groups: Vec<Group<T>>,
    pub leaves: Leaves<S>,
}

#[derive(Clone, Debug)]
pub struct Group<T> {
    pub ranks: Ranks<T>,
    /// Columns of the block that has most.
    pub columns: usize,
    pub walk: Option<Walk<T>>,
    pub blocks: Vec<Block>,
}

#[derive(Clone, Debug)]
pub struct Block {
    pub first: usize,
    pub trees: usize,
    pub table: Table,
}

#[derive(Clone, Debug)]
pub enum Table {
    Narrow(Bits<u32, LANES>),
    Wide(Bits<u64, LANES_WIDE>),
    /// Steps of the group's walk, from this tree of it on.
    Walk(usize),
}

/// What is known of a tree before tables are made.
struct Size {
    leaves: usize,
    /// Splits on the way to each leaf, all together.
    steps: usize,
    splits: usize,
}

impl Size {
    fn of(forest: &Forest, tree: usize) -> Self {
        let mut size = Self { leaves: 0, steps: 0, splits: 0 };
        let Some(tree) = forest.trees.get(tree) else { return size };
        let order = Order::of(tree);
        for (node, (_, below)) in tree.nodes.iter().zip(&order.leaves) {
            match node {
                Node::Leaf(_) => size.leaves += 1,
                Node::Split(_) => {
                    size.splits += 1;
                    size.steps += *below as usize;
                }
            }
        }
        size
    }
}

/// How wide a block's masks are. None: it is walked.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Narrow,
    Wide,
    Walk,
}

impl<T: Cell, S: Number> Tables<T, S> {
    /// Of a checked forest.
    #[must_use]
    pub fn new(forest: &Forest, options: Options) -> Self {
        let sizes: Vec<Size> = (0..forest.trees.len()).map(|tree| Size::of(forest, tree)).collect();
        let parts = |shift| -> Vec<Vec<(Range<usize>, Kind)>> {
            let starts = (0..sizes.len()).step_by(GROUP_TREES);
            starts.map(|at| blocks(forest, &sizes, at..sizes.len().min(at + GROUP_TREES), options, shift)).collect()
        };
        let all = parts(0);
        let (mut shift, mut parts) = match shift(forest, &sizes, &all, options.rows_bytes) {
            0 => (0, all),
            // Fewer blocks may be worth their masks now, and need fewer of them.
            more => (more, parts(more)),
        };
        if shift > 0 {
            shift = self::shift(forest, &sizes, &parts, options.rows_bytes).max(1);
        }
        let parts = std::mem::take(&mut parts);
        let groups = parts.into_iter().map(|blocks| Group::new(forest, &blocks, shift)).collect();
        Self { groups, leaves: Leaves::new(forest) }
    }

    #[must_use]
    pub fn bytes(&self) -> usize {
        self.groups.iter().map(Group::bytes).sum::<usize>() + self.leaves.bytes()
    }
}

/// The trees of a group by blocks.
fn blocks(
    forest: &Forest,
    sizes: &[Size],
    group: Range<usize>,
    options: Options,
    shift: u32,
) -> Vec<(Range<usize>, Kind)> {
    let mut blocks = Vec::new();
    let mut first = group.start;
    while first < group.end {
        let most = group.end.min(first + LANES);
        let fits = |leaves: usize, most: usize| {
            first + sizes[first..most].iter().take_while(|size| size.leaves <= leaves).count()
        };
        let (narrow, wide) = (fits(u32::LEAVES, most), fits(u64::LEAVES, most.min(first + LANES_WIDE)));
        let (end, kind) = if narrow == most || (narrow > first && narrow >= wide) {
            (narrow, Kind::Narrow)
        } else if wide > first {
            (wide, Kind::Wide)
        } else {
            let large = sizes[first..most].iter().take_while(|size| size.leaves > u64::LEAVES).count();
            (first + large.max(1), Kind::Walk)
        };
        let block = first..end;
        let walked = match options.way {
            Way::Bits => false,
            Way::Walk => true,
            Way::Cheapest => bits_cost(forest, &block, shift, options.isa) > walk_cost(&sizes[block.clone()]),
        };
        blocks.push((block, if walked { Kind::Walk } else { kind }));
        first = end;
    }
    blocks
}

/// In tenths of a nanosecond, as measured: a column takes 4 ns (11 ns without wide registers), with single masks 11 ns
/// more (how many there are cannot be guessed ahead), a tree's lowest bit and sum 0.5 ns.
fn bits_cost(forest: &Forest, block: &Range<usize>, shift: u32, isa: Isa) -> usize {
    let column = if isa == Isa::Portable { 110 } else { 43 } + if shift == 0 { 0 } else { 110 };
    columns_of(forest, block).len() * column + block.len() * 5
}

/// A step takes 1 ns, a tree's leaf and sum as long.
fn walk_cost(sizes: &[Size]) -> usize {
    sizes.iter().map(|size| 10 + 10 * size.steps / size.leaves.max(1)).sum()
}

fn columns_of(forest: &Forest, trees: &Range<usize>) -> BTreeSet<u32> {
    let nodes = forest.trees[trees.clone()].iter().flat_map(|tree| &tree.nodes);
    nodes
        .filter_map(|node| match node {
            Node::Split(split) => Some(split.feature),
            Node::Leaf(_) => None,
        })
        .collect()
}

/// The least shift whose rows keep within `rows_bytes`.
fn shift(forest: &Forest, sizes: &[Size], groups: &[Vec<(Range<usize>, Kind)>], rows_bytes: usize) -> u32 {
    let blocks = groups.iter().flatten().filter(|(_, kind)| *kind != Kind::Walk);
    let (mut splits, mut columns) = (0, 0);
    for (block, _) in blocks {
        splits += sizes[block.clone()].iter().map(|size| size.splits).sum::<usize>();
        columns += columns_of(forest, block).len();
    }
    let row = LANES * size_of::<u32>();
    (0..SHIFT_MAX).find(|shift| ((splits >> shift) + 2 * columns) * row <= rows_bytes).unwrap_or(SHIFT_MAX)
}

impl<T: Cell> Group<T> {
    fn new(forest: &Forest, blocks: &[(Range<usize>, Kind)], shift: u32) -> Self {
        let bits: Vec<usize> =
            blocks.iter().filter(|(_, kind)| *kind != Kind::Walk).flat_map(|(block, _)| block.clone()).collect();
        let cuts = Cuts::of(forest, &bits);
        let columns: BTreeSet<u32> = bits.iter().flat_map(|tree| columns_of(forest, &(*tree..tree + 1))).collect();
        let columns: Vec<u32> = columns.into_iter().collect();
        let mut walked = Vec::new();
        let mut group = Self { ranks: Ranks::new(&cuts, &columns), columns: 0, walk: None, blocks: Vec::new() };
        for (block, kind) in blocks {
            let trees: Vec<usize> = block.clone().collect();
            let table = match kind {
                Kind::Narrow => Bits::new(forest, &trees, &cuts, &columns, shift).map(Table::Narrow),
                Kind::Wide => Bits::new(forest, &trees, &cuts, &columns, shift).map(Table::Wide),
                Kind::Walk => None,
            };
            let table = table.unwrap_or(Table::Walk(walked.len()));
            match &table {
                Table::Narrow(bits) => group.columns = group.columns.max(bits.columns.len()),
                Table::Wide(bits) => group.columns = group.columns.max(bits.columns.len()),
                Table::Walk(_) => walked.extend(trees),
            }
            group.blocks.push(Block { first: block.start, trees: block.len(), table });
        }
        group.walk = (!walked.is_empty()).then(|| Walk::new(forest, &walked));
        group
    }

    fn bytes(&self) -> usize {
        let tables = self.blocks.iter().map(|block| match &block.table {
            Table::Narrow(bits) => bits.bytes(),
            Table::Wide(bits) => bits.bytes(),
            Table::Walk(_) => 0,
        });
        let blocks = self.blocks.len() * size_of::<Block>();
        self.ranks.bytes() + self.walk.as_ref().map_or(0, Walk::bytes) + tables.sum::<usize>() + blocks
    }
}
