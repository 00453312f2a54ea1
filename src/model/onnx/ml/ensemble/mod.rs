//! Tree ensembles: `TreeEnsembleClassifier` and `TreeEnsembleRegressor` (versions 1 and 3) and `TreeEnsemble`
//! (version 5), each made a [`Forest`] that a [`TreePlan`] runs.
//!
//! Cells, thresholds and sums are double where the input is, float elsewhere (integers count as f32), as in ONNX
//! Runtime. Sums run in the order of the trees; base values are added last.
//!
//! Two places answer as the specification and the library that trained the model do, and not as ONNX Runtime does:
//! LOGISTIC counts for one target, and for a classifier with one weight column whose weights are all positive.

mod attributes;
mod finish;
mod five;
mod grow;

use super::super::super::trees::{Forest, Precision, TreePlan, TreeScratch};
use super::super::op::{Built, Context, Fact, Inputs, Node, Op, OpError, need};
use super::super::sums::{Body, Sums};
use super::super::tensor::{Data, Kind, TensorType, View};
use super::labels::Labels;
use super::rows::Rows;
use super::transform::Transform;
use attributes::Listed;
use finish::Finish;
use std::any::Any;
use std::sync::Arc;

/// An ensemble for a number of rows.
#[derive(Debug)]
pub struct Ensemble {
    outputs: Vec<TensorType>,
    rows: Rows,
    made: Arc<Made>,
}

/// What all numbers of rows share.
#[derive(Debug)]
struct Made {
    forest: Arc<Forest>,
    plan: TreePlan,
    finish: Finish,
}

struct Space {
    rows: Vec<f64>,
    sums: Vec<f64>,
    /// Scores where only the label is wanted.
    spare: Vec<f32>,
    plan: TreeScratch,
}

pub(super) fn build_classifier(node: &Node, inputs: &[Option<Fact>], context: &mut Context) -> Result<Built, OpError> {
    let rows = Rows::of(need(inputs, 0)?)?;
    let made = context.shared(|context| {
        let labels = Labels::of(node, "classlabels_int64s", "classlabels_strings", context)?;
        let listed = Listed::of(node, "class")?;
        let (finish, used) = finish::classes(&listed, labels, Transform::of(node)?)?;
        let forest = grow::listed(&listed, &used, &shape(rows, &used), context)?;
        made(forest, finish, context)
    })?;
    let (label, classes) = match &made.finish {
        Finish::Classes { labels, .. } => (labels.kind(), labels.len()),
        Finish::Targets { .. } => (Kind::I64, 0),
    };
    if let Finish::Classes { labels, .. } = &made.finish {
        let names = labels.names(context);
        context.label(1, names);
    }
    let mut outputs = vec![TensorType::new(label, [rows.count]), TensorType::new(Kind::F32, [rows.count, classes])];
    outputs.truncate(node.outputs.len());
    Ok(Built::op(Ensemble { outputs, rows, made }))
}

pub(super) fn build_regressor(node: &Node, inputs: &[Option<Fact>], context: &mut Context) -> Result<Built, OpError> {
    let rows = Rows::of(need(inputs, 0)?)?;
    let made = context.shared(|context| {
        let listed = Listed::of(node, "target")?;
        let targets = targets(node)?;
        let used = Used::regression(targets, &listed, node.text("aggregate_function")?.unwrap_or("SUM"))?;
        let forest = grow::listed(&listed, &used, &shape(rows, &used), context)?;
        made(forest, Finish::Targets { transform: Transform::of(node)? }, context)
    })?;
    let outputs = vec![TensorType::new(Kind::F32, [rows.count, made.plan.targets()])];
    Ok(Built::op(Ensemble { outputs, rows, made }))
}

pub(super) fn build_five(node: &Node, inputs: &[Option<Fact>], context: &mut Context) -> Result<Built, OpError> {
    let rows = Rows::of(need(inputs, 0)?)?;
    if !rows.kind.is_float() {
        return Err(OpError(format!("expected floats as input 0, found {}", rows.kind)));
    }
    let made = context.shared(|context| {
        let transform = Transform::numbered(node.int("post_transform")?.unwrap_or(0))?;
        let aggregate = match node.int("aggregate_function")?.unwrap_or(1) {
            0 => "AVERAGE",
            1 => "SUM",
            2 => "MIN",
            3 => "MAX",
            other => return Err(OpError(format!("attribute aggregate_function: expected 0 to 3, found {other}"))),
        };
        let used = Used { aggregate, ..Used::plain(targets(node)?) };
        let forest = five::grow(node, &used, &shape(rows, &used), context)?;
        made(forest, Finish::Targets { transform }, context)
    })?;
    let outputs = vec![TensorType::new(rows.kind, [rows.count, made.plan.targets()])];
    Ok(Built::op(Ensemble { outputs, rows, made }))
}

/// What a forest's sums are made of.
struct Used {
    /// Raw sums of a row.
    targets: usize,
    /// All weights feed target 0, whatever they say.
    single: bool,
    /// One a target, or none.
    base: Vec<f64>,
    aggregate: &'static str,
}

impl Used {
    fn plain(targets: usize) -> Self {
        Self { targets, single: false, base: Vec::new(), aggregate: "SUM" }
    }

    fn regression(targets: usize, listed: &Listed<'_>, aggregate: &str) -> Result<Self, OpError> {
        let known = ["SUM", "AVERAGE", "MIN", "MAX"].into_iter().find(|known| *known == aggregate);
        let aggregate = known.ok_or_else(|| {
            OpError(format!("attribute aggregate_function: expected SUM, AVERAGE, MIN or MAX, found {aggregate:?}"))
        })?;
        let base = listed.base.all();
        if !base.is_empty() && base.len() != targets {
            return Err(OpError(format!("expected a base value of each of {targets} targets, found {}", base.len())));
        }
        Ok(Self { base, aggregate, ..Self::plain(targets) })
    }
}

fn targets(node: &Node) -> Result<usize, OpError> {
    let told = node.int("n_targets")?.unwrap_or(0);
    let most = super::super::super::trees::forest::TARGETS_MAX;
    usize::try_from(told)
        .ok()
        .filter(|targets| (1..=most).contains(targets))
        .ok_or_else(|| OpError(format!("attribute n_targets: expected 1 to {most}, found {told}")))
}

/// A forest of the input's width and precision, without trees.
fn shape(rows: Rows, used: &Used) -> Forest {
    use super::super::super::trees::{Aggregate, Sum};
    let precision = if rows.kind == Kind::F64 { Precision::F64 } else { Precision::F32 };
    Forest {
        width: rows.width,
        targets: used.targets,
        precision,
        sum: Sum { precision, aggregate: Aggregate::Sum, base_first: false },
        base: used.base.clone(),
        trees: Vec::new(),
        weights: Vec::new(),
        sets: Vec::new(),
    }
}

/// Compiles the forest.
fn made(forest: Forest, finish: Finish, context: &mut Context) -> Result<Made, OpError> {
    let shape = forest.check()?;
    let splits = shape.nodes - shape.leaves;
    let most = TreePlan::bytes_of(forest.trees.len(), splits, shape.leaves, forest.weights.len(), forest.width);
    context.take(most, "the plan of the trees")?;
    let plan = TreePlan::new(&forest)?;
    context.give(most.saturating_sub(plan.bytes()));
    Ok(Made { forest: Arc::new(forest), plan, finish })
}

impl Op for Ensemble {
    fn outputs(&self) -> &[TensorType] {
        &self.outputs
    }

    fn bytes(&self) -> usize {
        self.made.plan.bytes() + self.made.forest.bytes()
    }

    fn scratch(&self) -> Box<dyn Any + Send> {
        Box::new(Space {
            rows: vec![0.0; self.rows.len()],
            sums: vec![0.0; self.rows.count * self.made.plan.targets()],
            spare: vec![0.0; self.rows.count * self.made.finish.width(self.made.plan.targets())],
            plan: self.made.plan.scratch(self.rows.count),
        })
    }

    fn scratch_bytes(&self) -> usize {
        let targets = self.made.plan.targets();
        (self.rows.len() + self.rows.count * targets) * size_of::<f64>()
            + self.rows.count * self.made.finish.width(targets) * size_of::<f32>()
            + self.made.plan.scratch_bytes(self.rows.count)
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], scratch: &mut dyn Any) {
        let Some(Space { rows, sums, spare, plan }) = scratch.downcast_mut::<Space>() else { return };
        let rows = as_f64(inputs.get(0), rows);
        self.made.plan.run(rows, sums, plan);
        self.made.finish.rows(sums, self.made.plan.targets(), outputs, spare);
    }

    fn sums(&self) -> Option<Sums> {
        let body = Body::Trees(Arc::clone(&self.made.forest));
        self.made.finish.sums(self.made.plan.targets()).map(|(output, scores, shares)| Sums {
            body,
            output,
            scores,
            shares,
        })
    }

    fn describe(&self) -> String {
        let shape = self.made.plan.shape();
        format!(
            "{} trees, at most {} leaves and {} deep, {} columns, {}",
            self.made.plan.trees(),
            shape.leaves_max,
            shape.depth,
            self.rows.width,
            self.made.finish.transform().name()
        )
    }
}

/// The cells as the plan takes them: integers as the f32 next to them.
#[allow(clippy::cast_precision_loss)] // what is meant
fn as_f64<'a>(view: View<'a>, copy: &'a mut [f64]) -> &'a [f64] {
    match view {
        View::F64(x) => return x,
        View::F32(x) => copy.iter_mut().zip(x).for_each(|(out, x)| *out = f64::from(*x)),
        View::I64(x) => copy.iter_mut().zip(x).for_each(|(out, x)| *out = f64::from(*x as f32)),
        View::I32(x) => copy.iter_mut().zip(x).for_each(|(out, x)| *out = f64::from(*x as f32)),
        View::Bool(_) | View::Text(_) => {}
    }
    copy
}
