//! The blocks of the trees.

use super::super::trees::forest::{NODES_MAX, TREES_MAX, ZERO};
use super::super::trees::{Forest, Leaf, Nan, Node, Set, Split, Test, Tree, Weight};
use super::Lines;
use std::str::FromStr;

/// Bits of `decision_type`.
const CATEGORY: u8 = 1;
const MISSING_LEFT: u8 = 2;

/// The lines of one block that count.
#[derive(Default)]
struct Block<'a> {
    num_leaves: &'a str,
    num_cat: &'a str,
    split_feature: &'a str,
    threshold: &'a str,
    decision_type: &'a str,
    left_child: &'a str,
    right_child: &'a str,
    leaf_value: &'a str,
    leaf_count: &'a str,
    internal_count: &'a str,
    cat_boundaries: &'a str,
    cat_threshold: &'a str,
    is_linear: &'a str,
}

/// Reads every tree up to and with the line `end of trees`.
pub fn read_all(lines: &mut Lines<'_>, forest: &mut Forest) -> Result<(), String> {
    loop {
        let Some(line) = lines.next() else {
            return Err(format!(
                "line {}: the file ends after {} trees without \"end of trees\": it was cut off",
                lines.line,
                forest.trees.len()
            ));
        };
        if line == "end of trees" {
            return Ok(());
        }
        if line.trim().is_empty() {
            continue;
        }
        let number = forest.trees.len();
        if line.strip_prefix("Tree=").and_then(|n| n.parse().ok()) != Some(number) {
            return Err(format!("line {}: expected Tree={number} or end of trees, found {:?}", lines.line, head(line)));
        }
        if number >= TREES_MAX {
            return Err(format!("line {}: more than {TREES_MAX} trees", lines.line));
        }
        let from = lines.line;
        let block = Block::read(lines)?;
        block.add(forest).map_err(|what| format!("line {from}: Tree={number}: {what}"))?;
    }
}

impl<'a> Block<'a> {
    /// Up to the blank line that ends it.
    fn read(lines: &mut Lines<'a>) -> Result<Self, String> {
        let mut block = Self::default();
        while !lines.rest.starts_with("Tree=") && !lines.rest.starts_with("end of trees") {
            let Some(line) = lines.next() else { break };
            if line.is_empty() {
                break;
            }
            let Some((key, value)) = line.split_once('=') else {
                return Err(format!("line {}: expected key=value, found {:?}", lines.line, head(line)));
            };
            let slot = match key {
                "num_leaves" => &mut block.num_leaves,
                "num_cat" => &mut block.num_cat,
                "split_feature" => &mut block.split_feature,
                "threshold" => &mut block.threshold,
                "decision_type" => &mut block.decision_type,
                "left_child" => &mut block.left_child,
                "right_child" => &mut block.right_child,
                "leaf_value" => &mut block.leaf_value,
                "leaf_count" => &mut block.leaf_count,
                "internal_count" => &mut block.internal_count,
                "cat_boundaries" => &mut block.cat_boundaries,
                "cat_threshold" => &mut block.cat_threshold,
                "is_linear" => &mut block.is_linear,
                _ => continue,
            };
            if !slot.is_empty() {
                return Err(format!("line {}: {key} is there twice", lines.line));
            }
            *slot = value;
        }
        Ok(block)
    }

    fn add(&self, forest: &mut Forest) -> Result<(), String> {
        if self.is_linear.trim() == "1" {
            return Err("linear trees (linear_tree) are not supported".to_owned());
        }
        let leaves: usize = one("num_leaves", self.num_leaves)?;
        if leaves == 0 || leaves > NODES_MAX {
            return Err(format!("num_leaves={leaves}, expected 1 to {NODES_MAX}"));
        }
        let splits = leaves - 1;
        let values: Vec<f64> = list("leaf_value", self.leaf_value, leaves)?;
        let leaf_counts = counts("leaf_count", self.leaf_count, leaves)?;
        let split_counts = counts("internal_count", self.internal_count, splits)?;
        let features: Vec<u32> = list("split_feature", self.split_feature, splits)?;
        let thresholds: Vec<f64> = list("threshold", self.threshold, splits)?;
        let types: Vec<u8> = if self.decision_type.is_empty() {
            vec![0; splits]
        } else {
            list("decision_type", self.decision_type, splits)?
        };
        let left: Vec<i64> = list("left_child", self.left_child, splits)?;
        let right: Vec<i64> = list("right_child", self.right_child, splits)?;
        let sets = self.sets(forest)?;
        let target = u32::try_from(forest.trees.len() % forest.targets).unwrap_or(u32::MAX);
        let mut nodes = Vec::with_capacity(splits + leaves);
        for at in 0..splits {
            let child = |child: i64| child_of(child, splits, leaves).map_err(|what| format!("split {at}: {what}"));
            let (left_side, missing) = (types[at] & MISSING_LEFT != 0, types[at] >> 2 & 3);
            let side = if left_side { Nan::Yes } else { Nan::No };
            let (test, nan) = if types[at] & CATEGORY != 0 {
                (Test::In(member(thresholds[at], &sets).map_err(|what| format!("split {at}: {what}"))?), Nan::No)
            } else {
                (Test::Le(flushed(thresholds[at])), if missing == 0 { Nan::Zero } else { side })
            };
            nodes.push(Node::Split(Split {
                feature: features[at],
                test,
                nan,
                zero_is_missing: missing == 1 && types[at] & CATEGORY == 0,
                yes: child(left[at])?,
                no: child(right[at])?,
                cover: split_counts.get(at).copied().unwrap_or(0.0),
            }));
            if missing == 3 {
                return Err(format!("split {at}: decision_type {} is not known", types[at]));
            }
        }
        for (at, value) in (0_u32..).zip(&values) {
            let from = u32::try_from(forest.weights.len()).map_err(|_| "too many leaves".to_owned())?;
            forest.weights.push(Weight { target, value: *value });
            let cover = leaf_counts.get(at as usize).copied().unwrap_or(0.0);
            nodes.push(Node::Leaf(Leaf { weights: (from, from + 1), id: at, cover }));
        }
        forest.trees.push(Tree { nodes });
        Ok(())
    }

    /// Adds the tree's category sets to the forest: where they are there.
    fn sets(&self, forest: &mut Forest) -> Result<std::ops::Range<usize>, String> {
        let first = forest.sets.len();
        let count: usize = if self.num_cat.is_empty() { 0 } else { one("num_cat", self.num_cat)? };
        if count > 0 {
            let words: Vec<u32> = open("cat_threshold", self.cat_threshold)?;
            let bounds: Vec<usize> = list("cat_boundaries", self.cat_boundaries, count.saturating_add(1))?;
            for pair in bounds.windows(2) {
                let words = words.get(pair[0]..pair[1]).ok_or_else(|| {
                    format!("cat_boundaries {}..{} of {} words in cat_threshold", pair[0], pair[1], words.len())
                })?;
                forest.sets.push(Set::Categories { words: words.to_vec(), fractions: true });
            }
        }
        Ok(first..forest.sets.len())
    }
}

/// The library takes every cell of at most [`ZERO`] in magnitude for 0 before a tree sees it: so a threshold among
/// these moves to the side of them that keeps them together.
fn flushed(threshold: f64) -> f64 {
    match threshold {
        t if t.abs() > ZERO || t.is_nan() => t,
        t if t < 0.0 => (-ZERO).next_down(),
        _ => ZERO,
    }
}

/// The place of a child among a tree's nodes: splits first, then leaves.
fn child_of(child: i64, splits: usize, leaves: usize) -> Result<u32, String> {
    let place = if child >= 0 {
        usize::try_from(child).ok().filter(|at| *at < splits)
    } else {
        usize::try_from(-1 - child).ok().filter(|at| *at < leaves).map(|at| splits + at)
    };
    let place = place.and_then(|place| u32::try_from(place).ok());
    place.ok_or_else(|| format!("child {child} of {splits} splits and {leaves} leaves"))
}

/// The set that a category split's threshold names.
fn member(threshold: f64, sets: &std::ops::Range<usize>) -> Result<u32, String> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a whole number, or refused
    let at = (threshold >= 0.0 && threshold.fract() == 0.0 && threshold < 1e9).then_some(threshold as usize);
    let place = at.and_then(|at| sets.start.checked_add(at)).filter(|at| *at < sets.end);
    place.and_then(|at| u32::try_from(at).ok()).ok_or_else(|| format!("category set {threshold} of {}", sets.len()))
}

fn counts(key: &str, value: &str, count: usize) -> Result<Vec<f64>, String> {
    // Left out where nothing was counted, as in trees that were made by hand.
    if value.trim().is_empty() { Ok(Vec::new()) } else { list(key, value, count) }
}

fn list<T: FromStr>(key: &str, value: &str, count: usize) -> Result<Vec<T>, String> {
    let found: Vec<T> = open(key, value)?;
    if found.len() == count { Ok(found) } else { Err(format!("{key} has {} entries, expected {count}", found.len())) }
}

fn open<T: FromStr>(key: &str, value: &str) -> Result<Vec<T>, String> {
    let words = value.split_ascii_whitespace();
    words.map(|word| word.parse().map_err(|_| format!("{key}: expected a number, found {:?}", head(word)))).collect()
}

fn one<T: FromStr>(key: &str, value: &str) -> Result<T, String> {
    value.trim().parse().map_err(|_| format!("{key}: expected a number, found {:?}", head(value)))
}

/// As much of a text as an error needs.
fn head(text: &str) -> &str {
    text.char_indices().nth(40).map_or(text, |(at, _)| &text[..at])
}
