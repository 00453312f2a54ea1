//! `Normalizer`: each row divided by its greatest number, the sum of its magnitudes, or its length.
//!
//! As ONNX Runtime has it: MAX takes the greatest number, not the greatest magnitude, and a row whose norm is 0 stays
//! as it is. Sums run in f32 from the first column to the last.

use super::super::op::{Built, Context, Fact, Flow, Inputs, Node, Op, OpError, need};
use super::super::tensor::{Data, Kind, TensorType, View};
use super::rows::{Rows, single};
use std::any::Any;

#[derive(Clone, Copy, Debug)]
enum Norm {
    Max,
    L1,
    L2,
}

#[derive(Debug)]
struct Normalizer {
    outputs: [TensorType; 1],
    norm: Norm,
    width: usize,
}

pub(super) fn build(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let x = need(inputs, 0)?;
    let rows = Rows::of(x)?;
    let norm = match node.text("norm")?.unwrap_or("MAX") {
        "MAX" => Norm::Max,
        "L1" => Norm::L1,
        "L2" => Norm::L2,
        other => return Err(OpError(format!("attribute norm: expected MAX, L1 or L2, found {other:?}"))),
    };
    let outputs = [TensorType::new(Kind::F32, x.of.shape.clone())];
    Ok(Built::op(Normalizer { outputs, norm, width: rows.width.max(1) }))
}

impl Normalizer {
    /// `square` reckons in the kind of the numbers, as does the cut to f32 behind it.
    fn map<T: Copy>(&self, x: &[T], out: &mut [f32], cut: impl Fn(T) -> f32, square: impl Fn(T) -> f32) {
        for (out, x) in out.chunks_exact_mut(self.width).zip(x.chunks_exact(self.width)) {
            let norm = match self.norm {
                Norm::Max => x.iter().fold(f32::MIN, |max, x| if cut(*x) > max { cut(*x) } else { max }),
                Norm::L1 => x.iter().map(|x| cut(*x).abs()).sum(),
                Norm::L2 => x.iter().map(|x| square(*x)).sum(),
            };
            let pairs = out.iter_mut().zip(x);
            if norm == 0.0 {
                pairs.for_each(|(out, x)| *out = cut(*x));
            } else if matches!(self.norm, Norm::L2) {
                pairs.for_each(|(out, x)| {
                    let share = (square(*x) / norm).sqrt();
                    *out = if cut(*x) < 0.0 { -share } else { share };
                });
            } else {
                pairs.for_each(|(out, x)| *out = cut(*x) / norm);
            }
        }
    }
}

impl Op for Normalizer {
    fn outputs(&self) -> &[TensorType] {
        &self.outputs
    }

    fn flow<'a>(&self, _: &dyn Fn(usize) -> Option<View<'a>>) -> Flow {
        if matches!(self.norm, Norm::L1) { Flow::Shares } else { Flow::Mixed }
    }

    #[allow(clippy::cast_precision_loss)] // integers count as f32 here
    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        let Some(Data::F32(out)) = outputs.first_mut() else { return };
        match inputs.get(0) {
            View::F32(x) => self.map(x, out, |x| x, |x| x * x),
            View::F64(x) => self.map(x, out, single, |x| single(x * x)),
            View::I64(x) => self.map(x, out, |x| x as f32, |x| x.wrapping_mul(x) as f32),
            View::I32(x) => self.map(x, out, |x| x as f32, |x| x.wrapping_mul(x) as f32),
            View::Bool(_) | View::Text(_) => {}
        }
    }

    fn describe(&self) -> String {
        format!("{:?} of {}", self.norm, self.width)
    }
}
