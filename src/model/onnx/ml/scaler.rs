//! `Scaler`: (x - offset) * scale, one of each a column or one for all.
//!
//! Reckoned in the wider of f32 and the input's kind; the answer is f32.

use super::super::op::{Built, Context, Fact, Flow, Inputs, Node, Op, OpError, need};
use super::super::tensor::{Data, Kind, TensorType, View};
use super::rows::single;
use std::any::Any;
use std::sync::Arc;

#[derive(Debug)]
struct Scaler {
    outputs: [TensorType; 1],
    tables: Arc<Tables>,
}

/// As many as there are columns, or one each.
#[derive(Debug)]
struct Tables {
    offset: Vec<f32>,
    scale: Vec<f32>,
}

pub(super) fn build(node: &Node, inputs: &[Option<Fact>], context: &mut Context) -> Result<Built, OpError> {
    let x = need(inputs, 0)?;
    if !x.of.kind.is_number() || x.of.shape.is_empty() {
        return Err(OpError(format!("expected rows of numbers as input 0, found {}", x.of)));
    }
    let columns = columns(&x.of);
    let tables = context.shared(|context| {
        let offset = node.floats("offset")?.unwrap_or_default();
        let scale = node.floats("scale")?.unwrap_or_default();
        if offset.len() != scale.len() || scale.is_empty() {
            return Err(OpError(format!(
                "expected as many offsets as scales, found {} and {}",
                offset.len(),
                scale.len()
            )));
        }
        context.take(size_of_val(offset) + size_of_val(scale), "the table")?;
        Ok(Tables { offset: offset.to_vec(), scale: scale.to_vec() })
    })?;
    if tables.scale.len() != 1 && (Some(tables.scale.len()) != columns || x.of.rank() > 2) {
        return Err(OpError(format!("expected 1 scale or one a column of {}, found {}", x.of, tables.scale.len())));
    }
    Ok(Built::op(Scaler { outputs: [TensorType::new(Kind::F32, x.of.shape.clone())], tables }))
}

/// Columns of rows; None of no dimensions.
pub(super) fn columns(of: &TensorType) -> Option<usize> {
    of.shape.get(1).or(of.shape.first()).copied()
}

impl Tables {
    fn map<T: Copy>(&self, x: &[T], out: &mut [f32], scaled: impl Fn(T, f32, f32) -> f32) {
        if let ([offset], [scale]) = (self.offset.as_slice(), self.scale.as_slice()) {
            out.iter_mut().zip(x).for_each(|(out, x)| *out = scaled(*x, *offset, *scale));
            return;
        }
        let width = self.scale.len();
        for (out, x) in out.chunks_exact_mut(width).zip(x.chunks_exact(width)) {
            let tables = self.offset.iter().zip(&self.scale);
            out.iter_mut().zip(x).zip(tables).for_each(|((out, x), (o, s))| *out = scaled(*x, *o, *s));
        }
    }
}

impl Op for Scaler {
    fn outputs(&self) -> &[TensorType] {
        &self.outputs
    }

    fn bytes(&self) -> usize {
        2 * size_of_val(self.tables.scale.as_slice())
    }

    fn in_place(&self) -> bool {
        true
    }

    fn flow<'a>(&self, _: &dyn Fn(usize) -> Option<View<'a>>) -> Flow {
        Flow::Each { grows: false }
    }

    #[allow(clippy::cast_precision_loss)] // integers count as f32 here
    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        let Some(Data::F32(out)) = outputs.first_mut() else { return };
        match inputs.get(0) {
            View::F32(x) => self.tables.map(x, out, |x, o, s| (x - o) * s),
            View::F64(x) => self.tables.map(x, out, |x, o, s| single((x - f64::from(o)) * f64::from(s))),
            View::I64(x) => self.tables.map(x, out, |x, o, s| (x as f32 - o) * s),
            View::I32(x) => self.tables.map(x, out, |x, o, s| (x as f32 - o) * s),
            View::Bool(_) | View::Text(_) => {}
        }
    }

    fn run_in_place(&self, _: &Inputs<'_>, data: &mut Data, _: &mut dyn Any) {
        let Data::F32(data) = data else { return };
        if let ([offset], [scale]) = (self.tables.offset.as_slice(), self.tables.scale.as_slice()) {
            for x in data {
                *x = (*x - offset) * scale;
            }
            return;
        }
        for row in data.chunks_exact_mut(self.tables.scale.len()) {
            let tables = self.tables.offset.iter().zip(&self.tables.scale);
            row.iter_mut().zip(tables).for_each(|(x, (o, s))| *x = (*x - o) * s);
        }
    }

    fn describe(&self) -> String {
        format!("{} scales", self.tables.scale.len())
    }
}
