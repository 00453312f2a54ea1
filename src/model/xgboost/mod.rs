//! XGBoost's models, JSON and UBJ, as versions 1.7 to 3.x write them.
//!
//! **Meaning** (`doc/model.schema`, `src/learner.cc`, `src/tree/tree_model.cc`, `src/predictor` and `src/objective`
//! of the project). Cells, thresholds, leaves and sums are f32. A split sends left what is below its threshold; NaN
//! goes where `default_left` says. Members of a category split's set go right, all else left: below 0 too, and what
//! lies past the last category. A cell counts as its whole part. The margin starts with the base score, which some
//! objectives store as a probability or a positive number, and adds tree by tree; dart multiplies each leaf by its
//! tree's `weight_drop` first. `best_iteration`, where the file has one, ends the trees that count.
//!
//! **Limits.** Those of [`Forest`]; UBJ's own are in [`ubj`].

mod categories;
mod file;
mod json;
mod objective;
mod survey;
mod tree;
pub mod ubj;

#[cfg(test)]
mod tests;

pub use survey::{Survey, survey};

use super::trees::forest::{TARGETS_MAX, WIDTH_MAX};
use super::trees::{Aggregate, Body, Forest, Linear, Native, Precision, Sum, are_generic};
use file::{Booster, File, Learner, Model};
use tree::Feeds;

/// Which trees count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Iterations {
    /// Up to `best_iteration`, all where the file has none.
    #[default]
    Best,
    All,
}

/// Reads a model: JSON if it begins with a brace and a quotation mark, white space aside, else UBJ.
///
/// # Errors
/// What was expected, and where.
pub fn load(bytes: &[u8], iterations: Iterations) -> Result<Native, String> {
    let mut head = bytes.iter().filter(|byte| !byte.is_ascii_whitespace());
    let file: File = match (head.next(), head.next()) {
        (Some(b'{'), Some(b'"')) => serde_json::from_slice(&json::quoted(bytes)).map_err(|e| e.to_string())?,
        (Some(b'{'), _) => ubj::from_bytes(bytes).map_err(|e| e.to_string())?,
        _ => return Err("expected an XGBoost model, JSON or UBJ, which begins with {".to_owned()),
    };
    native(&file.learner, &file.version, iterations)
}

fn native(learner: &Learner, version: &[u32], iterations: Iterations) -> Result<Native, String> {
    if !version.is_empty() && !(1..=3).contains(&version[0]) {
        return Err(format!("version {version:?}, expected 1.7 to 3.x"));
    }
    let parameters = &learner.learner_model_param;
    let (width, targets) = (parameters.num_feature.0, parameters.num_class.0.max(parameters.num_target.0).max(1));
    for (what, found, most) in [("columns", width, WIDTH_MAX), ("targets", targets, TARGETS_MAX)] {
        if found > most {
            return Err(format!("{found} {what}, at most {most} are taken"));
        }
    }
    for (what, found) in
        [("feature_names", learner.feature_names.len()), ("feature_types", learner.feature_types.len())]
    {
        if found != 0 && found != width {
            return Err(format!("{what} has {found} entries, num_feature is {width}"));
        }
    }
    let (objective, base) = objective::parse(&learner.objective.name)?;
    let scores = &parameters.base_score.0;
    let base: Vec<f64> = match scores.as_slice() {
        [score] => vec![f64::from(base.margin(*score)); targets],
        scores if scores.len() == targets => scores.iter().map(|score| f64::from(base.margin(*score))).collect(),
        scores => return Err(format!("base_score has {} numbers for {targets} targets", scores.len())),
    };
    if let Some(score) = base.iter().find(|score| !score.is_finite()) {
        return Err(format!("base_score {scores:?} of {} gives {score}", learner.objective.name));
    }
    let booster = &learner.gradient_booster;
    let mut notes = Vec::new();
    let (body, model) = match (booster.name.as_str(), &booster.model, &booster.gbtree) {
        ("gbtree", Some(model), _) => {
            (Body::Forest(forest(learner, model, width, base, iterations, &mut notes)?), model)
        }
        ("dart", _, Some(inner)) => {
            (Body::Forest(forest(learner, &inner.model, width, base, iterations, &mut notes)?), &inner.model)
        }
        ("gblinear", Some(model), _) => (Body::Linear(linear(model, width, &base)?), model),
        ("gbtree" | "dart" | "gblinear", ..) => return Err(format!("the booster {} lacks its model", booster.name)),
        (other, ..) => return Err(format!("the booster {other:?} is not known, expected gbtree, dart or gblinear")),
    };
    let columns = categories::columns(learner, model, width)?;
    Ok(Native {
        body,
        objective,
        objective_name: learner.objective.name.clone(),
        generic_names: are_generic(&learner.feature_names, "f"),
        feature_names: learner.feature_names.clone(),
        columns,
        notes,
    })
}

fn forest(
    learner: &Learner,
    model: &Model,
    width: usize,
    base: Vec<f64>,
    iterations: Iterations,
    notes: &mut Vec<String>,
) -> Result<Forest, String> {
    let booster: &Booster = &learner.gradient_booster;
    let count = model.trees.len();
    if model.tree_info.len() != count {
        return Err(format!("tree_info has {} entries for {count} trees", model.tree_info.len()));
    }
    let told = model.gbtree_model_param.as_ref().map_or(0, |parameters| parameters.num_trees.0);
    if told != 0 && told != count {
        return Err(format!("num_trees tells of {told} trees, there are {count}"));
    }
    if booster.name == "dart" && booster.weight_drop.len() != count {
        return Err(format!("weight_drop has {} entries for {count} trees", booster.weight_drop.len()));
    }
    let mut forest = Forest {
        width,
        targets: base.len(),
        precision: Precision::F32,
        sum: Sum { precision: Precision::F32, aggregate: Aggregate::Sum, base_first: true },
        base,
        trees: Vec::new(),
        weights: Vec::new(),
        sets: Vec::new(),
    };
    let used = match (iterations, learner.attributes.best_iteration) {
        (Iterations::Best, Some(best)) => trees_to(model, best.0, forest.targets)?,
        _ => count,
    };
    if used < count {
        notes.push(format!("best_iteration: {used} of the {count} trees count"));
    }
    let parts = model.trees.iter().zip(&model.tree_info).take(used).enumerate();
    for (at, (tree, target)) in parts {
        if *target as usize >= forest.targets {
            return Err(format!("tree {at}: tree_info names target {target} of {}", forest.targets));
        }
        let scale = (booster.name == "dart").then(|| booster.weight_drop.get(at).copied().unwrap_or(1.0));
        tree.add(&mut forest, Feeds { target: *target, scale }).map_err(|what| format!("tree {at}: {what}"))?;
    }
    forest.check()?;
    Ok(forest)
}

/// Trees of the iterations up to and with `best`.
fn trees_to(model: &Model, best: usize, targets: usize) -> Result<usize, String> {
    let count = model.trees.len();
    let parallel = model.gbtree_model_param.as_ref().map_or(1, |parameters| parameters.num_parallel_tree.0.max(1));
    let multi = model.trees.iter().any(|tree| tree.tree_param.size_leaf_vector.0 > 1);
    let each = parallel.saturating_mul(if multi { 1 } else { targets });
    let told = best.checked_add(1).and_then(|end| model.iteration_indptr.get(end)).copied();
    let used = told.unwrap_or_else(|| best.saturating_add(1).saturating_mul(each));
    if used > count { Err(format!("best_iteration {best} needs {used} trees, there are {count}")) } else { Ok(used) }
}

fn linear(model: &Model, width: usize, base: &[f64]) -> Result<Linear, String> {
    let targets = base.len();
    if width.checked_add(1).and_then(|rows| rows.checked_mul(targets)) != Some(model.weights.len()) {
        return Err(format!("{} weights for {width} columns, {targets} targets and their biases", model.weights.len()));
    }
    let at = |column: usize, target: usize| f64::from(model.weights[column * targets + target]);
    let weights = (0..targets).flat_map(|target| (0..width).map(move |column| (column, target)));
    // The library adds the first target's base score to every target's sum, also where each has one of its own.
    let base = base.first().copied().unwrap_or(0.0);
    let bias = (0..targets).map(|target| Precision::F32.cut(at(width, target) + base));
    let linear = Linear {
        width,
        targets,
        weights: weights.map(|(column, target)| at(column, target)).collect(),
        bias: bias.collect(),
        precision: Precision::F32,
        skips_nan: true,
    };
    linear.check()?;
    Ok(linear)
}
