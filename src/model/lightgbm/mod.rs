//! LightGBM's text model, as versions 3.3 to 4.x write it.
//!
//! ```text
//! tree                                  lines `key=value`, up to a blank line
//! version=v4
//! num_class=1 …
//!
//! Tree=0                                a block a tree, lists of numbers separated by blanks
//! num_leaves=31 …
//!
//! end of trees
//! …                                     importances, parameters
//! pandas_categorical:null               the last line: JSON
//! ```
//!
//! **Meaning** (`include/LightGBM/tree.h`, `src/io/tree.cpp`, `src/boosting/gbdt_prediction.cpp` of the project).
//! A split sends left what is at most its threshold, in f64. Bits of `decision_type`: 0 a category split, 1 missing
//! goes left, 2 and 3 what is missing (nothing, zeros, NaN); where it is not NaN, a NaN counts as 0. Cells of at most
//! 1e-35 in magnitude count as 0 (`src/c_api.cpp`: rows are made sparse before they are scored). The threshold
//! of a category split is its place among `cat_boundaries`; members go left, NaN, negative and unknown ones right.
//! Children of at least 0 are splits, others leaves (`-1 - child`). Leaf values are final (`shrinkage` is in them).
//!
//! **Limits.** Those of [`Forest`]; and [`survey()`] counts what a file holds without keeping
//! it, so that its memory is known before it is read.

mod categories;
mod header;
mod objective;
mod survey;
mod tree;

#[cfg(test)]
mod tests;

pub use survey::{Survey, survey};

use super::trees::{Aggregate, Body, Forest, Native, Precision, Sum};
use header::Header;

/// Reads a model.
///
/// # Errors
/// What was expected, and the line where it was not found.
pub fn load(bytes: &[u8]) -> Result<Native, String> {
    let text =
        std::str::from_utf8(bytes).map_err(|e| format!("expected UTF-8 text, byte {} is not", e.valid_up_to()))?;
    let mut lines = Lines { rest: text, line: 0 };
    let header = Header::read(&mut lines)?;
    let mut forest = Forest {
        width: header.width,
        targets: header.targets,
        precision: Precision::F64,
        sum: Sum { precision: Precision::F64, aggregate: Aggregate::Sum, base_first: false },
        base: Vec::new(),
        trees: Vec::new(),
        weights: Vec::new(),
        sets: Vec::new(),
    };
    tree::read_all(&mut lines, &mut forest)?;
    if header.trees.is_some_and(|trees| trees != forest.trees.len()) {
        let told = header.trees.unwrap_or_default();
        return Err(format!("tree_sizes tells of {told} trees, the file has {}", forest.trees.len()));
    }
    if !forest.trees.len().is_multiple_of(forest.targets) {
        return Err(format!("{} trees, {} an iteration", forest.trees.len(), forest.targets));
    }
    if header.average {
        let iterations = u32::try_from(forest.trees.len() / forest.targets).unwrap_or(u32::MAX);
        forest.sum.aggregate = Aggregate::Average(f64::from(iterations.max(1)));
    }
    let tail = categories::Tail::read(&mut lines);
    let columns = tail.columns(&header)?;
    forest.check()?;
    Ok(Native {
        body: Body::Forest(forest),
        objective: header.objective,
        objective_name: header.objective_name,
        generic_names: super::trees::are_generic(&header.names, "Column_"),
        feature_names: header.names,
        columns,
        notes: Vec::new(),
    })
}

/// Lines with their numbers, from 1.
struct Lines<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        self.line += 1;
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        Some(line.trim_end_matches('\r'))
    }
}
