//! A dense network with its weights, batch norms folded away: what a plan is compiled from.
//!
//! A batch norm is y = s·x + t with s = weight / sqrt(var + eps), t = bias - mean·s, a number an output.
//! Behind a linear layer it goes into that layer (W' = s·W, b' = s·b + t), before one into the next
//! (W' = W·s by input, b' = b + W·t). The folding is done in f64 and cut to f32 once.

use super::weights::Tensors;
use super::{Activation, Layer, Network};
use crate::features::Problems;

/// A linear layer with the activation that follows it.
#[derive(Clone, Debug)]
pub struct Dense {
    pub inputs: usize,
    pub outputs: usize,
    /// `[outputs][inputs]`, row after row.
    pub weight: Vec<f32>,
    pub bias: Vec<f32>,
    pub activation: Option<Activation>,
}

/// One thing the plan does to each row.
#[derive(Clone, Debug)]
pub enum Op {
    Dense(Dense),
    /// An activation that no linear layer stands before.
    Activation(Activation),
}

/// A batch norm that waits for the next linear layer.
struct Affine {
    name: String,
    scale: Vec<f64>,
    shift: Vec<f64>,
}

/// Folds a network whose tensors have been checked. Adds to `problems` where a batch norm cannot go.
pub fn fold(network: &Network, tensors: &Tensors, problems: &mut Problems) -> Vec<Op> {
    let mut ops: Vec<Op> = Vec::new();
    let mut pending: Option<Affine> = None;
    for layer in &network.layers {
        match layer {
            Layer::Linear { name, bias } => {
                let Some(dense) = linear(name, *bias, pending.take(), tensors) else {
                    problems.add(name.clone(), "its tensors could not be read");
                    return ops;
                };
                ops.push(Op::Dense(dense));
            }
            Layer::BatchNorm { name, eps } => {
                let Some(affine) = affine(name, *eps, tensors) else {
                    problems.add(name.clone(), "its tensors could not be read");
                    return ops;
                };
                match (ops.last_mut(), pending.take()) {
                    (_, Some(first)) => pending = Some(first.then(affine)),
                    (Some(Op::Dense(dense)), None) if dense.activation.is_none() => affine.into_outputs(dense),
                    _ => pending = Some(affine),
                }
            }
            Layer::Activation(activation) => {
                if let Some(affine) = pending.take() {
                    problems.add(affine.name, "a batch-norm needs a linear layer right before or after it");
                }
                match ops.last_mut() {
                    Some(Op::Dense(dense)) if dense.activation.is_none() => dense.activation = Some(*activation),
                    _ => ops.push(Op::Activation(*activation)),
                }
            }
        }
    }
    if let Some(affine) = pending {
        problems.add(affine.name, "a batch-norm needs a linear layer right before or after it");
    }
    ops
}

fn linear(name: &str, bias: bool, before: Option<Affine>, tensors: &Tensors) -> Option<Dense> {
    let (shape, weight) = tensors.values(&format!("{name}.weight"))?;
    let [outputs, inputs] = shape.as_slice() else { return None };
    let bias = if bias { tensors.values(&format!("{name}.bias"))?.1 } else { vec![0.0; *outputs] };
    let mut dense = Dense { inputs: *inputs, outputs: *outputs, weight, bias, activation: None };
    if let Some(affine) = before {
        affine.into_inputs(&mut dense);
    }
    Some(dense)
}

fn affine(name: &str, eps: f64, tensors: &Tensors) -> Option<Affine> {
    let part = |part: &str| tensors.values(&format!("{name}.{part}")).map(|(_, values)| values);
    let (weight, bias) = (part("weight")?, part("bias")?);
    let (mean, var) = (part("running_mean")?, part("running_var")?);
    let scale: Vec<f64> = weight.iter().zip(&var).map(|(w, v)| f64::from(*w) / (f64::from(*v) + eps).sqrt()).collect();
    let shift = bias.iter().zip(mean.iter().zip(&scale)).map(|(b, (m, s))| f64::from(*b) - f64::from(*m) * s).collect();
    Some(Affine { name: name.to_owned(), scale, shift })
}

// Weights are f32 by definition; each is computed in f64 and cut once.
#[allow(clippy::cast_possible_truncation)]
impl Affine {
    /// This one, and then `next`.
    fn then(self, next: Self) -> Self {
        let shift = self.shift.iter().zip(next.scale.iter().zip(&next.shift)).map(|(t, (s, u))| t * s + u).collect();
        let scale = self.scale.iter().zip(&next.scale).map(|(a, b)| a * b).collect();
        Self { name: next.name, scale, shift }
    }

    fn into_outputs(self, dense: &mut Dense) {
        let rows = dense.weight.chunks_mut(dense.inputs.max(1)).zip(&mut dense.bias);
        for ((row, bias), (scale, shift)) in rows.zip(self.scale.iter().zip(&self.shift)) {
            for weight in row {
                *weight = (f64::from(*weight) * scale) as f32;
            }
            *bias = (f64::from(*bias) * scale + shift) as f32;
        }
    }

    fn into_inputs(self, dense: &mut Dense) {
        for (row, bias) in dense.weight.chunks_mut(dense.inputs.max(1)).zip(&mut dense.bias) {
            let mut sum = f64::from(*bias);
            for (weight, (scale, shift)) in row.iter_mut().zip(self.scale.iter().zip(&self.shift)) {
                sum += f64::from(*weight) * shift;
                *weight = (f64::from(*weight) * scale) as f32;
            }
            *bias = sum as f32;
        }
    }
}
