//! `LinearClassifier`, `LinearRegressor`: weights of each class or target, in f32.
//!
//! Products are summed in f64, in eight lanes, and rounded to f32 at the end: closer to the exact sum than any order
//! of f32 sums, whatever the width.
//!
//! **One row of weights, two classes.** The score is that of the second class. As in ONNX Runtime the scores are
//! 1 - s and s where nothing is done to them; LOGISTIC, SOFTMAX and the others are done to -s and s, as the
//! specification's reference does (ONNX Runtime leaves them out there). The second class has it above a score of 0.

use super::super::op::{Built, Context, Fact, Inputs, Node, Op, OpError, need};
use super::super::sums::{self, Body, Sums};
use super::super::tensor::{Data, Kind, TensorType};
use super::labels::{Labels, argmax};
use super::rows::{Rows, as_f32, single};
use super::transform::Transform;
use std::any::Any;
use std::sync::Arc;

/// Weights, row after row of one target each, and what is added.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    pub targets: usize,
    pub width: usize,
    pub coefficients: Vec<f32>,
    /// One a target.
    pub intercepts: Vec<f32>,
}

impl Weights {
    /// `intercepts` may be empty.
    pub(super) fn new(
        coefficients: &[f32],
        intercepts: &[f32],
        targets: usize,
        width: usize,
        context: &mut Context,
    ) -> Result<Self, OpError> {
        if targets.checked_mul(width) != Some(coefficients.len()) || targets == 0 {
            return Err(OpError(format!(
                "expected {targets} times {width} coefficients, found {}",
                coefficients.len()
            )));
        }
        context.take(size_of_val(coefficients) + targets * size_of::<f32>(), "the weights")?;
        let intercepts = if intercepts.len() == targets { intercepts.to_vec() } else { vec![0.0; targets] };
        Ok(Self { targets, width, coefficients: coefficients.to_vec(), intercepts })
    }

    /// Those of a target.
    #[must_use]
    pub fn of(&self, target: usize) -> &[f32] {
        let start = target.saturating_mul(self.width);
        self.coefficients.get(start..start.saturating_add(self.width)).unwrap_or_default()
    }

    /// Whether the one of two sums is always the other one's negative.
    #[allow(clippy::float_cmp)] // the very same numbers are meant
    fn are_opposite(&self) -> bool {
        let opposite = |one: &[f32], other: &[f32]| one.iter().zip(other).all(|(a, b)| *a == -*b);
        let (first, second) = self.intercepts.split_at(self.intercepts.len() / 2);
        self.targets == 2 && opposite(self.of(0), self.of(1)) && opposite(first, second)
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.coefficients.as_slice()) + size_of_val(self.intercepts.as_slice())
    }

    /// The scores of one row.
    pub(super) fn row(&self, x: &[f32], scores: &mut [f32]) {
        if self.width == 0 {
            scores.copy_from_slice(&self.intercepts);
            return;
        }
        let rows = self.coefficients.chunks_exact(self.width).zip(&self.intercepts);
        for (score, (weights, intercept)) in scores.iter_mut().zip(rows) {
            *score = single(dot(x, weights) + f64::from(*intercept));
        }
    }
}

/// The sum of products, in f64.
pub(super) fn dot(x: &[f32], weights: &[f32]) -> f64 {
    let (x, x_rest) = x.as_chunks::<8>();
    let (weights, weights_rest) = weights.as_chunks::<8>();
    let mut sums = [0.0f64; 8];
    for (x, weights) in x.iter().zip(weights) {
        for lane in 0..8 {
            sums[lane] += f64::from(x[lane]) * f64::from(weights[lane]);
        }
    }
    for (sum, (x, weight)) in sums.iter_mut().zip(x_rest.iter().zip(weights_rest)) {
        *sum += f64::from(*x) * f64::from(*weight);
    }
    sums.iter().sum()
}

#[derive(Debug)]
pub struct LinearClassifier {
    outputs: [TensorType; 2],
    rows: Rows,
    weights: Arc<Weights>,
    labels: Arc<Labels>,
    transform: Transform,
}

pub(super) fn build_classifier(node: &Node, inputs: &[Option<Fact>], context: &mut Context) -> Result<Built, OpError> {
    let rows = Rows::of(need(inputs, 0)?)?;
    let coefficients = node.floats("coefficients")?.unwrap_or_default();
    let intercepts = node.floats("intercepts")?.unwrap_or_default();
    let targets =
        if intercepts.is_empty() { coefficients.len().checked_div(rows.width).unwrap_or(0) } else { intercepts.len() };
    let weights = context.shared(|context| Weights::new(coefficients, intercepts, targets, rows.width, context))?;
    let labels = context.shared(|context| Labels::of(node, "classlabels_ints", "classlabels_strings", context))?;
    if labels.len() != targets.max(2) {
        return Err(OpError(format!(
            "expected {} class labels for {targets} rows of coefficients, found {}",
            targets.max(2),
            labels.len()
        )));
    }
    let names = labels.names(context);
    context.label(1, names);
    let outputs =
        [TensorType::new(labels.kind(), [rows.count]), TensorType::new(Kind::F32, [rows.count, labels.len()])];
    Ok(Built::op(LinearClassifier { outputs, rows, weights, labels, transform: Transform::of(node)? }))
}

impl Op for LinearClassifier {
    fn outputs(&self) -> &[TensorType] {
        &self.outputs
    }

    fn bytes(&self) -> usize {
        self.weights.bytes()
    }

    fn scratch(&self) -> Box<dyn Any + Send> {
        Box::new((self.rows.copy(), vec![0.0f32; self.rows.count * self.labels.len()]))
    }

    fn scratch_bytes(&self) -> usize {
        self.rows.copied() + self.rows.count * self.labels.len() * size_of::<f32>()
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], scratch: &mut dyn Any) {
        let Some((copy, spare)) = scratch.downcast_mut::<(Vec<f32>, Vec<f32>)>() else { return };
        let x = as_f32(inputs.get(0), copy);
        let (label, scores) = outputs.split_at_mut(outputs.len().min(1));
        // Where only the label is wanted, the scores lie in the spare room.
        let scores = match scores.first_mut() {
            Some(Data::F32(scores)) => scores.as_mut_slice(),
            _ => spare.as_mut_slice(),
        };
        let classes = self.labels.len();
        for (row, scores) in scores.chunks_exact_mut(classes).enumerate() {
            let x = x.get(row * self.weights.width..(row + 1) * self.weights.width).unwrap_or_default();
            let class = if self.weights.targets == 1 {
                self.weights.row(x, &mut scores[..1]);
                let score = scores[0];
                scores[0] = if self.transform == Transform::None { 1.0 - score } else { -score };
                scores[1] = score;
                usize::from(score > 0.0)
            } else {
                self.weights.row(x, scores);
                argmax(scores)
            };
            self.transform.apply(scores);
            if let Some(label) = label.first_mut() {
                self.labels.write(class, row, label);
            }
        }
    }

    fn sums(&self) -> Option<Sums> {
        let (one, transform) = (self.weights.targets == 1, self.transform);
        let scores = match transform {
            Transform::SoftmaxZero => return None,
            _ if one => sums::one_sum(),
            Transform::Softmax => sums::softmax(self.weights.targets),
            _ => sums::each(self.weights.targets),
        };
        let logistic = transform == Transform::Logistic && (one || self.weights.are_opposite());
        let shares = transform == Transform::Softmax || logistic;
        Some(Sums { body: Body::Linear(Arc::clone(&self.weights)), output: 1, scores, shares })
    }

    fn describe(&self) -> String {
        format!("{} x {}, {}", self.weights.targets, self.weights.width, self.transform.name())
    }
}

#[derive(Debug)]
pub struct LinearRegressor {
    outputs: [TensorType; 1],
    rows: Rows,
    weights: Arc<Weights>,
    transform: Transform,
}

pub(super) fn build_regressor(node: &Node, inputs: &[Option<Fact>], context: &mut Context) -> Result<Built, OpError> {
    let rows = Rows::of(need(inputs, 0)?)?;
    let targets = node.int("targets")?.unwrap_or(1);
    let targets = usize::try_from(targets).map_err(|_| OpError(format!("expected targets, found {targets}")))?;
    let coefficients = node.floats("coefficients")?.unwrap_or_default();
    let intercepts = node.floats("intercepts")?.unwrap_or_default();
    let weights = context.shared(|context| Weights::new(coefficients, intercepts, targets, rows.width, context))?;
    let outputs = [TensorType::new(Kind::F32, [rows.count, targets])];
    Ok(Built::op(LinearRegressor { outputs, rows, weights, transform: Transform::of(node)? }))
}

impl Op for LinearRegressor {
    fn outputs(&self) -> &[TensorType] {
        &self.outputs
    }

    fn bytes(&self) -> usize {
        self.weights.bytes()
    }

    fn scratch(&self) -> Box<dyn Any + Send> {
        Box::new(self.rows.copy())
    }

    fn scratch_bytes(&self) -> usize {
        self.rows.copied()
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], scratch: &mut dyn Any) {
        let (Some(copy), Some(Data::F32(out))) = (scratch.downcast_mut::<Vec<f32>>(), outputs.first_mut()) else {
            return;
        };
        let x = as_f32(inputs.get(0), copy);
        for (row, scores) in out.chunks_exact_mut(self.weights.targets).enumerate() {
            self.weights
                .row(x.get(row * self.weights.width..(row + 1) * self.weights.width).unwrap_or_default(), scores);
            self.transform.apply(scores);
        }
    }

    fn sums(&self) -> Option<Sums> {
        let targets = self.weights.targets;
        let scores = match self.transform {
            Transform::SoftmaxZero => return None,
            Transform::Softmax => sums::softmax(targets),
            _ => sums::each(targets),
        };
        Some(Sums { body: Body::Linear(Arc::clone(&self.weights)), output: 0, scores, shares: false })
    }

    fn describe(&self) -> String {
        format!("{} x {}, {}", self.weights.targets, self.weights.width, self.transform.name())
    }
}
