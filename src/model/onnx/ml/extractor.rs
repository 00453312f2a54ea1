//! `ArrayFeatureExtractor`: columns by their places.
//!
//! Places may depend on the rows (a label by its class). One that is out of range is then NaN, 0, or an unseen text:
//! the specification has no answer.

use super::super::op::{Built, Context, Dictionary, Fact, Flow, Inputs, Node, Op, OpError, need};
use super::super::tensor::{Data, Kind, TensorType, View};
use std::any::Any;

#[derive(Debug)]
struct Extractor {
    outputs: [TensorType; 1],
    width: usize,
}

pub(super) fn build(_: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let (x, places) = (need(inputs, 0)?, need(inputs, 1)?);
    let Some(width) = x.of.shape.last().copied() else {
        return Err(OpError(format!("expected a dimension of input 0 at least, found {}", x.of)));
    };
    if places.of.kind != Kind::I64 || places.of.is_empty() {
        return Err(OpError(format!("expected int64 places as input 1, found {}", places.of)));
    }
    if let Some(constant) = &places.constant {
        let outside = constant.view().i64().iter().find(|place| usize::try_from(**place).map_or(true, |p| p >= width));
        if let Some(place) = outside {
            return Err(OpError(format!("expected places below {width} as input 1, found {place}")));
        }
    }
    let count = places.of.len();
    let mut shape = x.of.shape.clone();
    if let Some(last) = shape.last_mut() {
        *last = count;
    }
    if shape.len() == 1 {
        shape.insert(0, 1);
    }
    Ok(Built::op(Extractor { outputs: [TensorType::new(x.of.kind, shape)], width: width.max(1) }))
}

impl Extractor {
    fn pick<T: Copy>(&self, x: &[T], places: &[i64], nothing: T, out: &mut [T]) {
        for (out, row) in out.chunks_exact_mut(places.len().max(1)).zip(x.chunks_exact(self.width)) {
            for (out, place) in out.iter_mut().zip(places) {
                *out = usize::try_from(*place).ok().and_then(|place| row.get(place)).copied().unwrap_or(nothing);
            }
        }
    }
}

impl Op for Extractor {
    fn outputs(&self) -> &[TensorType] {
        &self.outputs
    }

    fn flow<'a>(&self, constant: &dyn Fn(usize) -> Option<View<'a>>) -> Flow {
        let Some(places) = constant(1) else { return Flow::Mixed };
        let place = |place: &i64| usize::try_from(*place).ok().filter(|place| *place < self.width);
        places.i64().iter().map(place).collect::<Option<_>>().map_or(Flow::Mixed, Flow::Picked)
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        let places = inputs.get(1).i64();
        match (inputs.get(0), outputs.first_mut()) {
            (View::F32(x), Some(Data::F32(out))) => self.pick(x, places, f32::NAN, out),
            (View::F64(x), Some(Data::F64(out))) => self.pick(x, places, f64::NAN, out),
            (View::I64(x), Some(Data::I64(out))) => self.pick(x, places, 0, out),
            (View::I32(x), Some(Data::I32(out))) => self.pick(x, places, 0, out),
            (View::Bool(x), Some(Data::Bool(out))) => self.pick(x, places, 0, out),
            (View::Text(x), Some(Data::Text(out))) => self.pick(x, places, Dictionary::UNSEEN, out),
            _ => {}
        }
    }

    fn describe(&self) -> String {
        format!("{} of {} columns", self.outputs[0].shape.last().copied().unwrap_or_default(), self.width)
    }
}
