//! `SVMClassifier`: a vote of one machine a pair of classes, with probabilities by Platt's sigmoids where the file has
//! them; or, without support vectors, weights of each class.
//!
//! **Scores** are the classes' probabilities, or without them the pairs' margins (of two classes: the margin's
//! negative and the margin, or 1 - s and s where something is done to them at the end). **Labels** are those of the
//! vote. All as in ONNX Runtime.

use super::super::super::op::{Built, Context, Fact, Inputs, Node, Op, OpError, need};
use super::super::super::tensor::{Data, Kind, TensorType};
use super::super::labels::{Labels, argmax};
use super::super::linear::dot;
use super::super::rows::{Rows, as_f32, single};
use super::super::transform::{Transform, logistic, probit};
use super::coupling::Room;
use super::kernel::{Kernel, Support};
use std::any::Any;
use std::sync::Arc;

#[derive(Debug)]
struct Classifier {
    outputs: [TensorType; 2],
    rows: Rows,
    machine: Arc<Machine>,
    labels: Arc<Labels>,
    transform: Transform,
}

#[derive(Debug)]
struct Machine {
    /// None: the coefficients are weights of the columns, class after class.
    support: Option<Support>,
    /// From and to of each class among the support vectors.
    spans: Vec<(usize, usize)>,
    coefficients: Vec<f32>,
    rho: Vec<f32>,
    /// Of each pair's sigmoid; empty where there are no probabilities.
    platt: Vec<(f32, f32)>,
    all_positive: bool,
}

/// Working space of one row.
struct Space {
    copy: Vec<f32>,
    kernels: Vec<f32>,
    margins: Vec<f32>,
    votes: Vec<f32>,
    coupling: Room,
    /// Scores where only the label is wanted.
    spare: Vec<f32>,
}

pub(in super::super) fn build(node: &Node, inputs: &[Option<Fact>], context: &mut Context) -> Result<Built, OpError> {
    let rows = Rows::of(need(inputs, 0)?)?;
    let labels = context.shared(|context| Labels::of(node, "classlabels_ints", "classlabels_strings", context))?;
    let classes = labels.len();
    let machine = context.shared(|context| machine(node, rows.width, classes, context))?;
    let scores = if machine.support.is_none() || !machine.platt.is_empty() { classes } else { pairs(classes).max(2) };
    if scores == classes {
        let names = labels.names(context);
        context.label(1, names);
    }
    let outputs = [TensorType::new(labels.kind(), [rows.count]), TensorType::new(Kind::F32, [rows.count, scores])];
    Ok(Built::op(Classifier { outputs, rows, machine, labels, transform: Transform::of(node)? }))
}

fn pairs(classes: usize) -> usize {
    classes * classes.saturating_sub(1) / 2
}

fn machine(node: &Node, width: usize, classes: usize, context: &mut Context) -> Result<Machine, OpError> {
    const CLASSES_MAX: usize = 1 << 12;
    if classes > CLASSES_MAX {
        return Err(OpError(format!("expected at most {CLASSES_MAX} classes, found {classes}")));
    }
    let coefficients = node.floats("coefficients")?.unwrap_or_default();
    let rho = node.floats("rho")?.unwrap_or_default();
    let platt = (node.floats("prob_a")?.unwrap_or_default(), node.floats("prob_b")?.unwrap_or_default());
    let counts = node.ints("vectors_per_class")?.unwrap_or_default();
    let mut spans = Vec::new();
    let mut total = 0usize;
    for count in counts {
        let end = usize::try_from(*count).ok().and_then(|count| total.checked_add(count));
        let end = end.ok_or_else(|| OpError(format!("attribute vectors_per_class: found {count}")))?;
        spans.push((total, end));
        total = end;
    }
    let (expected, rhos) = if total == 0 {
        (classes.checked_mul(width), 1)
    } else {
        if spans.len() != classes || classes < 2 {
            return Err(OpError(format!(
                "expected vectors_per_class of at least two classes, found {} for {classes}",
                spans.len()
            )));
        }
        (total.checked_mul(classes - 1), pairs(classes))
    };
    if Some(coefficients.len()) != expected || coefficients.is_empty() || rho.len() < rhos {
        return Err(OpError(format!(
            "expected {expected:?} coefficients and {rhos} rho, found {} and {}",
            coefficients.len(),
            rho.len()
        )));
    }
    let platt = match (platt, total) {
        ((a, b), 1..) if !a.is_empty() || !b.is_empty() => {
            if a.len() != pairs(classes) || b.len() != a.len() {
                return Err(OpError(format!(
                    "expected prob_a and prob_b of {} pairs, found {} and {}",
                    pairs(classes),
                    a.len(),
                    b.len()
                )));
            }
            a.iter().copied().zip(b.iter().copied()).collect()
        }
        _ => Vec::new(),
    };
    let support = match total {
        0 => None,
        total => {
            let vectors = node.floats("support_vectors")?.unwrap_or_default();
            Some(Support::new(Kernel::of(node)?, vectors, total, width, context)?)
        }
    };
    context.take(size_of_val(coefficients) + Room::bytes(classes), "the coefficients")?;
    let all_positive = coefficients.iter().all(|coefficient| *coefficient >= 0.0);
    Ok(Machine { support, spans, coefficients: coefficients.to_vec(), rho: rho.to_vec(), platt, all_positive })
}

impl Machine {
    /// The margin of each pair from the kernels, and a vote for its winner.
    fn margins(&self, kernels: &[f32], margins: &mut [f32], votes: &mut [f32]) {
        votes.fill(0.0);
        let total = kernels.len();
        let mut pair = 0;
        for (i, (from_i, to_i)) in self.spans.iter().copied().enumerate() {
            for (j, (from_j, to_j)) in self.spans.iter().copied().enumerate().skip(i + 1) {
                // Coefficients against class j stand in row j - 1 for i's vectors, in row i for j's.
                let of_i = &self.coefficients[(j - 1) * total + from_i..(j - 1) * total + to_i];
                let of_j = &self.coefficients[i * total + from_j..i * total + to_j];
                let sum = sum(of_i, &kernels[from_i..to_i]) + sum(of_j, &kernels[from_j..to_j]);
                let sum = sum + f64::from(self.rho[pair]);
                margins[pair] = single(sum);
                votes[if sum > 0.0 { i } else { j }] += 1.0;
                pair += 1;
            }
        }
    }

    /// Each pair's probability, then each class's.
    fn probabilities(&self, margins: &[f32], coupling: &mut Room, scores: &mut [f32]) {
        const LEAST: f32 = 1.0e-7;
        let classes = scores.len();
        let mut pair = 0;
        for i in 0..classes {
            for j in i + 1..classes {
                let (a, b) = self.platt[pair];
                let p = (1.0 - logistic(margins[pair] * a + b)).clamp(LEAST, 1.0 - LEAST);
                coupling.pairs[i * classes + j] = p;
                coupling.pairs[j * classes + i] = 1.0 - p;
                pair += 1;
            }
        }
        coupling.couple(scores);
    }

    /// The class by weights of the columns.
    fn linear(&self, x: &[f32], scores: &mut [f32]) -> usize {
        for (score, weights) in scores.iter_mut().zip(self.coefficients.chunks_exact(x.len().max(1))) {
            *score = single(dot(x, weights) + f64::from(self.rho[0]));
        }
        let best = argmax(scores);
        let most = scores.get(best).copied().unwrap_or_default();
        let second = if self.all_positive { most >= 0.5 } else { most > 0.0 };
        if scores.len() == 2 && second && self.platt.is_empty() { 1 } else { best }
    }
}

fn sum(coefficients: &[f32], kernels: &[f32]) -> f64 {
    coefficients.iter().zip(kernels).map(|(coefficient, kernel)| f64::from(coefficient * kernel)).sum()
}

impl Classifier {
    fn row(&self, x: &[f32], space: &mut Space, scores: &mut [f32]) -> usize {
        let Some(support) = &self.machine.support else {
            let class = self.machine.linear(x, scores);
            self.transform.apply(scores);
            return class;
        };
        support.row(x, &mut space.kernels);
        self.machine.margins(&space.kernels, &mut space.margins, &mut space.votes);
        if !self.machine.platt.is_empty() {
            self.machine.probabilities(&space.margins, &mut space.coupling, scores);
            self.transform.apply(scores);
        } else if let [margin] = space.margins.as_slice() {
            let (first, second) = match self.transform {
                Transform::None => (-margin, *margin),
                Transform::Probit => (probit(1.0 - margin), probit(*margin)),
                Transform::Logistic => (logistic(-margin), logistic(*margin)),
                _ => (1.0 - margin, *margin),
            };
            scores.copy_from_slice(&[first, second]);
        } else {
            scores.copy_from_slice(&space.margins);
            self.transform.apply(scores);
        }
        argmax(&space.votes)
    }
}

impl Op for Classifier {
    fn outputs(&self) -> &[TensorType] {
        &self.outputs
    }

    fn bytes(&self) -> usize {
        size_of_val(self.machine.coefficients.as_slice()) + self.machine.support.as_ref().map_or(0, Support::bytes)
    }

    fn scratch(&self) -> Box<dyn Any + Send> {
        let classes = self.labels.len();
        Box::new(Space {
            copy: self.rows.copy(),
            kernels: vec![0.0; self.machine.support.as_ref().map_or(0, |support| support.count)],
            margins: vec![0.0; pairs(classes)],
            votes: vec![0.0; classes],
            coupling: if self.machine.platt.is_empty() { Room::default() } else { Room::new(classes) },
            spare: vec![0.0; self.outputs[1].len()],
        })
    }

    fn scratch_bytes(&self) -> usize {
        let classes = self.labels.len();
        let coupling = if self.machine.platt.is_empty() { 0 } else { Room::bytes(classes) };
        let kernels = self.machine.support.as_ref().map_or(0, |support| support.count);
        let floats = kernels + pairs(classes) + classes + self.outputs[1].len();
        self.rows.copied() + coupling + floats * size_of::<f32>()
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], scratch: &mut dyn Any) {
        let Some(space) = scratch.downcast_mut::<Space>() else { return };
        let mut cast = std::mem::take(&mut space.copy);
        let mut unwanted = std::mem::take(&mut space.spare);
        let x = as_f32(inputs.get(0), &mut cast);
        let (label, scores) = outputs.split_at_mut(outputs.len().min(1));
        let scores = match scores.first_mut() {
            Some(Data::F32(scores)) => scores.as_mut_slice(),
            _ => unwanted.as_mut_slice(),
        };
        for (row, scores) in scores.chunks_exact_mut(self.outputs[1].row_len().max(1)).enumerate() {
            let x = x.get(row * self.rows.width..(row + 1) * self.rows.width).unwrap_or_default();
            let class = self.row(x, space, scores);
            if let Some(label) = label.first_mut() {
                self.labels.write(class, row, label);
            }
        }
        space.copy = cast;
        space.spare = unwanted;
    }

    fn describe(&self) -> String {
        let vectors = self.machine.support.as_ref().map_or(0, |support| support.count);
        format!("{vectors} support vectors of {}, {} classes", self.rows.width, self.labels.len())
    }
}
