//! `Binarizer`: 1 where a number is above the threshold, else 0. A NaN stays NaN.

use super::super::op::{Built, Context, Fact, Flow, Inputs, Node, Op, OpError, need};
use super::super::tensor::{Data, TensorType, View};
use std::any::Any;

#[derive(Debug)]
struct Binarizer {
    outputs: [TensorType; 1],
    threshold: f32,
}

pub(super) fn build(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let x = need(inputs, 0)?;
    if !x.of.kind.is_number() {
        return Err(OpError(format!("expected numbers as input 0, found {}", x.of)));
    }
    Ok(Built::op(Binarizer { outputs: [x.of.clone()], threshold: node.float("threshold")?.unwrap_or_default() }))
}

impl Op for Binarizer {
    fn outputs(&self) -> &[TensorType] {
        &self.outputs
    }

    fn flow<'a>(&self, _: &dyn Fn(usize) -> Option<View<'a>>) -> Flow {
        Flow::Each { grows: false }
    }

    #[allow(clippy::cast_precision_loss)] // an i64 is compared as the f64 next to it
    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        let wide = f64::from(self.threshold);
        match (inputs.get(0), outputs.first_mut()) {
            (View::F32(x), Some(Data::F32(out))) => {
                let cell = |x: f32| if x.is_nan() { x } else { f32::from(u8::from(x > self.threshold)) };
                out.iter_mut().zip(x).for_each(|(out, x)| *out = cell(*x));
            }
            (View::F64(x), Some(Data::F64(out))) => {
                let cell = |x: f64| if x.is_nan() { x } else { f64::from(u8::from(x > wide)) };
                out.iter_mut().zip(x).for_each(|(out, x)| *out = cell(*x));
            }
            (View::I64(x), Some(Data::I64(out))) => {
                out.iter_mut().zip(x).for_each(|(out, x)| *out = i64::from(*x as f64 > wide));
            }
            (View::I32(x), Some(Data::I32(out))) => {
                out.iter_mut().zip(x).for_each(|(out, x)| *out = i32::from(f64::from(*x) > wide));
            }
            _ => {}
        }
    }
}
