//! Where, Clip, Trilu: one of two numbers, by a condition, a limit or a place.

use super::super::op::{Built, Context, Fact, Flow, Inputs, Node, Op, OpError, given, need};
use super::super::tensor::{Data, Kind, Tensor, TensorType, View};
use super::args;
use super::walk::{Walk, broadcast, pick};
use std::any::Any;
use std::sync::Arc;

pub fn build_where(_: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let (condition, a, b) = (&need(inputs, 0)?.of, &need(inputs, 1)?.of, &need(inputs, 2)?.of);
    if condition.kind != Kind::Bool || a.kind != b.kind {
        return Err(OpError(format!("expected a condition and two of one kind, found {condition}, {a}, {b}")));
    }
    let shape = broadcast(&[&condition.shape, &a.shape, &b.shape])?;
    let walk = Walk::broadcast(&shape, [&condition.shape, &a.shape, &b.shape])?;
    Ok(Built::op(Where { walk, of: [TensorType::new(a.kind, shape)] }))
}

#[derive(Debug)]
struct Where {
    walk: Walk<3>,
    of: [TensorType; 1],
}

impl Where {
    fn each<T: Copy + Default>(&self, condition: &[u8], a: &[T], b: &[T], out: &mut [T]) {
        let [sc, sa, sb] = self.walk.inner();
        self.walk.each(|to, [at_c, at_a, at_b], len| {
            let Some(out) = out.get_mut(to..to + len) else { return };
            for (n, out) in out.iter_mut().enumerate() {
                *out = if pick(condition, at_c, sc, n) == 0 { pick(b, at_b, sb, n) } else { pick(a, at_a, sa, n) };
            }
        });
    }
}

impl Op for Where {
    fn outputs(&self) -> &[TensorType] {
        &self.of
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        let Some(out) = outputs.first_mut() else { return };
        let condition = inputs.get(0).bool();
        match (inputs.get(1), inputs.get(2), out) {
            (View::F32(a), View::F32(b), Data::F32(out)) => self.each(condition, a, b, out),
            (View::F64(a), View::F64(b), Data::F64(out)) => self.each(condition, a, b, out),
            (View::I64(a), View::I64(b), Data::I64(out)) => self.each(condition, a, b, out),
            (View::I32(a), View::I32(b), Data::I32(out)) => self.each(condition, a, b, out),
            (View::Bool(a), View::Bool(b), Data::Bool(out)) => self.each(condition, a, b, out),
            (View::Text(a), View::Text(b), Data::Text(out)) => self.each(condition, a, b, out),
            _ => {}
        }
    }

    fn describe(&self) -> String {
        "Where".to_owned()
    }
}

/// Clip: limits as attributes (up to opset 10) or as inputs, both optional. A NaN stays; above both limits, where the
/// lower is the higher one, is the upper limit.
pub fn build_clip(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let of = need(inputs, 0)?.of.clone();
    for n in 1..=2 {
        if given(inputs, n).is_some_and(|limit| limit.of.kind != of.kind || limit.of.len() != 1) {
            return Err(OpError(format!("expected limits of one {} each", of.kind)));
        }
    }
    if !of.kind.is_number() {
        return Err(OpError(format!("Clip does not take {}", of.kind)));
    }
    let limits = [node.float("min")?, node.float("max")?];
    Ok(Built::op(Clip { limits, of: [of] }))
}

#[derive(Debug)]
struct Clip {
    limits: [Option<f32>; 2],
    of: [TensorType; 1],
}

macro_rules! clip {
    ($v:expr, $inputs:expr, $view:ident, $limits:expr) => {{
        let limit = |n: usize| $inputs.get(n + 1).$view().first().copied().or($limits[n].map(|v| v as _));
        if let Some(low) = limit(0) {
            for x in $v.iter_mut() {
                *x = if *x < low { low } else { *x };
            }
        }
        if let Some(high) = limit(1) {
            for x in $v.iter_mut() {
                *x = if *x > high { high } else { *x };
            }
        }
    }};
}

impl Op for Clip {
    fn outputs(&self) -> &[TensorType] {
        &self.of
    }

    fn in_place(&self) -> bool {
        true
    }

    fn flow<'a>(&self, _: &dyn Fn(usize) -> Option<View<'a>>) -> Flow {
        Flow::Each { grows: false }
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], scratch: &mut dyn Any) {
        let Some(out) = outputs.first_mut() else { return };
        super::unary::copy(inputs.get(0), out);
        self.run_in_place(inputs, out, scratch);
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_lossless)] // limits of the old form are floats
    fn run_in_place(&self, inputs: &Inputs<'_>, data: &mut Data, _: &mut dyn Any) {
        match data {
            Data::F32(v) => clip!(v, inputs, f32, self.limits),
            Data::F64(v) => clip!(v, inputs, f64, self.limits),
            Data::I64(v) => clip!(v, inputs, i64, self.limits),
            Data::I32(v) => clip!(v, inputs, i32, self.limits),
            Data::Bool(_) | Data::Text(_) => {}
        }
    }

    fn describe(&self) -> String {
        "Clip".to_owned()
    }
}

/// Trilu: the upper or lower triangle of matrices, 0 elsewhere.
pub fn build_trilu(node: &Node, inputs: &[Option<Fact>], context: &mut Context) -> Result<Built, OpError> {
    let of = need(inputs, 0)?.of.clone();
    let shift = args::integers(inputs, 1, "k")?.and_then(|k| k.first().copied()).unwrap_or(0);
    let upper = node.flag("upper", true)?;
    let [.., rows, columns] = of.shape[..] else { return Err(OpError(format!("expected matrices, found {of}"))) };
    context.take(rows.saturating_mul(columns), "a mask")?;
    let mut mask = Vec::with_capacity(rows * columns);
    for row in 0..rows {
        for column in 0..columns {
            let (row, column) = (i64::try_from(row).unwrap_or(0), i64::try_from(column).unwrap_or(0));
            let diagonal = row.saturating_add(shift);
            mask.push(u8::from(if upper { column >= diagonal } else { column <= diagonal }));
        }
    }
    let walk = Walk::broadcast(&of.shape, [&[rows, columns], &of.shape, &[]])?;
    let zero = Tensor { shape: Vec::new(), data: Data::zeros(of.kind, 1) };
    let mask = Tensor { shape: vec![rows, columns], data: Data::Bool(mask) };
    Ok(Built::op(Trilu { chosen: Where { walk, of: [of] }, constants: [Arc::new(mask), Arc::new(zero)] }))
}

#[derive(Debug)]
struct Trilu {
    chosen: Where,
    constants: [Arc<Tensor>; 2],
}

impl Op for Trilu {
    fn outputs(&self) -> &[TensorType] {
        self.chosen.outputs()
    }

    fn bytes(&self) -> usize {
        self.constants[0].bytes()
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        let Some(out) = outputs.first_mut() else { return };
        let [mask, zero] = &self.constants;
        let mask = mask.view().bool();
        match (inputs.get(0), zero.view(), out) {
            (View::F32(a), View::F32(b), Data::F32(out)) => self.chosen.each(mask, a, b, out),
            (View::F64(a), View::F64(b), Data::F64(out)) => self.chosen.each(mask, a, b, out),
            (View::I64(a), View::I64(b), Data::I64(out)) => self.chosen.each(mask, a, b, out),
            (View::I32(a), View::I32(b), Data::I32(out)) => self.chosen.each(mask, a, b, out),
            (View::Bool(a), View::Bool(b), Data::Bool(out)) => self.chosen.each(mask, a, b, out),
            _ => {}
        }
    }

    fn describe(&self) -> String {
        "Trilu".to_owned()
    }
}
