//! The lines before the first tree.

use super::super::trees::Objective;
use super::super::trees::forest::{TARGETS_MAX, WIDTH_MAX};
use super::{Lines, objective};
use std::collections::BTreeSet;

/// What they tell.
pub struct Header {
    pub width: usize,
    /// Trees of an iteration, one a raw sum.
    pub targets: usize,
    /// The sums are divided by the number of iterations: a random forest.
    pub average: bool,
    pub objective: Objective,
    pub objective_name: String,
    pub names: Vec<String>,
    /// By column: what its values were in training; a category's are separated by colons.
    pub infos: Vec<String>,
    /// From `tree_sizes`.
    pub trees: Option<usize>,
}

/// Lines that count, each at most once.
const ONCE: [&str; 8] = [
    "version",
    "num_class",
    "num_tree_per_iteration",
    "max_feature_idx",
    "objective",
    "feature_names",
    "feature_infos",
    "tree_sizes",
];

impl Header {
    /// Reads up to the first tree, leaving `lines` before it.
    pub fn read(lines: &mut Lines<'_>) -> Result<Self, String> {
        if lines.next() != Some("tree") {
            return Err("expected a LightGBM model, which begins with a line \"tree\"".to_owned());
        }
        let mut header = Self {
            width: 0,
            targets: 0,
            average: false,
            objective: Objective::Identity,
            objective_name: "none".to_owned(),
            names: Vec::new(),
            infos: Vec::new(),
            trees: None,
        };
        let mut version = None;
        let mut classes = 1;
        let mut seen = BTreeSet::new();
        loop {
            if lines.rest.starts_with("Tree=") || lines.rest.starts_with("end of trees") {
                break;
            }
            let Some(line) = lines.next() else {
                return Err(format!("line {}: the file ends before its trees", lines.line));
            };
            let (key, value) = line.split_once('=').unwrap_or((line, ""));
            let at = |what: String| format!("line {}: {key}: {what}", lines.line);
            if ONCE.contains(&key) && !seen.insert(key) {
                return Err(at("it is there twice".to_owned()));
            }
            match key {
                "version" => version = Some(value),
                "num_class" => classes = count(value, TARGETS_MAX).map_err(at)?,
                "num_tree_per_iteration" => header.targets = count(value, TARGETS_MAX).map_err(at)?,
                "max_feature_idx" => header.width = count(value, WIDTH_MAX - 1).map_err(at)? + 1,
                "average_output" => header.average = true,
                "objective" => {
                    header.objective = objective::parse(value).map_err(at)?;
                    value.clone_into(&mut header.objective_name);
                }
                "feature_names" => header.names = words(value),
                "feature_infos" => header.infos = words(value),
                "tree_sizes" => header.trees = Some(value.split_ascii_whitespace().count()),
                "linear_tree" if value == "1" => return Err(at("linear trees are not supported".to_owned())),
                _ => {}
            }
        }
        match version {
            Some("v3" | "v4") => {}
            Some(other) => return Err(format!("version {other:?}, expected v3 or v4 (LightGBM 3.3 to 4.x)")),
            None => return Err("no line version=v3 or version=v4".to_owned()),
        }
        if header.targets == 0 {
            header.targets = classes;
        }
        for (what, found) in [("max_feature_idx", header.width), ("num_tree_per_iteration", header.targets)] {
            if found == 0 {
                return Err(format!("the header lacks {what}"));
            }
        }
        for (what, found) in [("feature_names", header.names.len()), ("feature_infos", header.infos.len())] {
            if found != 0 && found != header.width {
                return Err(format!("{what} has {found} entries, max_feature_idx tells of {} columns", header.width));
            }
        }
        Ok(header)
    }
}

fn words(value: &str) -> Vec<String> {
    // One more than fits is enough to be refused.
    value.split(' ').filter(|word| !word.is_empty()).take(WIDTH_MAX + 1).map(str::to_owned).collect()
}

fn count(value: &str, most: usize) -> Result<usize, String> {
    let count: usize = value.trim().parse().map_err(|_| format!("expected a number, found {value:?}"))?;
    if count > most { Err(format!("{count}, at most {most} is taken")) } else { Ok(count) }
}
