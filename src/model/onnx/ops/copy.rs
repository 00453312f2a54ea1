//! Operators that put the same numbers elsewhere: Transpose, Slice, Expand, Tile, Split.
//!
//! Each is a walk over its input with other strides ([`super::walk`]); where the numbers keep their order and none is
//! left out, it is no step at all.

use super::super::op::{Built, Context, Fact, Inputs, Node, Op, OpError, given, need};
use super::super::tensor::{Data, TensorType, View};
use super::args;
use super::walk::{self, Walk};
use std::any::Any;

/// One walk an output.
#[derive(Debug)]
pub struct Moved {
    name: &'static str,
    walks: Vec<Walk<1>>,
    of: Vec<TensorType>,
}

impl Moved {
    fn one(name: &'static str, of: TensorType, strides: Vec<isize>, base: isize) -> Result<Self, OpError> {
        let walk = Walk::new(&of.shape, &[strides], [base])?;
        Ok(Self { name, walks: vec![walk], of: vec![of] })
    }
}

impl Op for Moved {
    fn outputs(&self) -> &[TensorType] {
        &self.of
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        let input = inputs.get(0);
        for (walk, out) in self.walks.iter().zip(outputs) {
            copy(walk, input, out);
        }
    }

    fn describe(&self) -> String {
        self.name.to_owned()
    }
}

/// A walk over numbers of any kind.
pub fn copy(walk: &Walk<1>, input: View<'_>, out: &mut Data) {
    match (input, out) {
        (View::F32(a), Data::F32(b)) => walk::copy(walk, a, b),
        (View::F64(a), Data::F64(b)) => walk::copy(walk, a, b),
        (View::I64(a), Data::I64(b)) => walk::copy(walk, a, b),
        (View::I32(a), Data::I32(b)) => walk::copy(walk, a, b),
        (View::Bool(a), Data::Bool(b)) => walk::copy(walk, a, b),
        (View::Text(a), Data::Text(b)) => walk::copy(walk, a, b),
        _ => {}
    }
}

pub fn build_transpose(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let of = &need(inputs, 0)?.of;
    let turned = match node.ints("perm")? {
        Some(list) => args::axes(list, of.rank())?,
        None => (0..of.rank()).rev().collect(),
    };
    if turned.len() != of.rank() {
        return Err(OpError(format!("perm {turned:?} of {of}")));
    }
    let own = walk::strides(&of.shape);
    let shape: Vec<usize> = turned.iter().map(|n| of.shape[*n]).collect();
    let strides: Vec<isize> = turned.iter().map(|n| own[*n]).collect();
    let out = TensorType::new(of.kind, shape);
    // Only dimensions of 1 have moved.
    let moved = turned.iter().filter(|n| of.shape[**n] != 1).is_sorted();
    if moved {
        return Ok(Built::Alias(0, out));
    }
    Ok(Built::op(Moved::one("Transpose", out, strides, 0)?))
}

pub fn build_slice(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let of = &need(inputs, 0)?.of;
    let starts = args::either(node, "starts", inputs, 1)?.ok_or("expected starts")?;
    let ends = args::either(node, "ends", inputs, 2)?.ok_or("expected ends")?;
    let axes = match args::either(node, "axes", inputs, 3)? {
        Some(list) => args::axes(&list, of.rank())?,
        None => (0..starts.len()).collect(),
    };
    let steps = args::integers(inputs, 4, "steps")?.unwrap_or_else(|| vec![1; starts.len()]);
    let lengths = [ends.len(), axes.len(), steps.len()];
    if lengths.iter().any(|len| *len != starts.len()) || starts.len() > of.rank() {
        return Err(OpError(format!("starts, ends, axes and steps do not go together with {of}")));
    }
    let mut shape = of.shape.clone();
    let mut strides = walk::strides(&of.shape);
    let mut base = 0isize;
    for (((start, end), axis), step) in starts.iter().zip(&ends).zip(&axes).zip(&steps) {
        let (Some(dim), Some(stride)) = (shape.get_mut(*axis), strides.get_mut(*axis)) else { continue };
        let (first, count) = cut(*start, *end, *step, *dim)?;
        *dim = count;
        base += *stride * isize::try_from(first).unwrap_or(0);
        *stride = stride.saturating_mul(isize::try_from(*step).unwrap_or(isize::MAX));
    }
    let out = TensorType::new(of.kind, shape);
    if out == *of && steps.iter().all(|step| *step > 0) {
        return Ok(Built::Alias(0, out));
    }
    Ok(Built::op(Moved::one("Slice", out, strides, base)?))
}

/// The first index and the number of elements of a cut through a dimension, as Python cuts.
fn cut(start: i64, end: i64, step: i64, dim: usize) -> Result<(i64, usize), OpError> {
    let dim = i64::try_from(dim).map_err(|_| OpError::new("a dimension is too large"))?;
    let place = |value: i64| if value < 0 { value.saturating_add(dim) } else { value };
    let (start, span) = match step {
        0 => return Err("a step of 0".into()),
        1.. => {
            let (start, end) = (place(start).clamp(0, dim), place(end).clamp(0, dim));
            (start, end - start)
        }
        _ => {
            let (start, end) = (place(start).clamp(0, (dim - 1).max(0)), place(end).clamp(-1, dim - 1));
            (start, start - end)
        }
    };
    if dim == 0 || span <= 0 {
        return Ok((0, 0));
    }
    let count = span.unsigned_abs().div_ceil(step.unsigned_abs());
    Ok((start, usize::try_from(count).unwrap_or(0)))
}

pub fn build_expand(_: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let of = &need(inputs, 0)?.of;
    let wanted = args::sizes(&args::integers(inputs, 1, "the shape")?.ok_or("expected a shape")?)?;
    let shape = walk::broadcast(&[&of.shape, &wanted])?;
    let out = TensorType::new(of.kind, shape);
    if out.checked_len().is_none() {
        return Err(OpError(format!("{out} has too many elements")));
    }
    if out.len() == of.len() {
        return Ok(Built::Alias(0, out));
    }
    let strides = walk::stretched(&of.shape, &out.shape)?;
    Ok(Built::op(Moved::one("Expand", out, strides, 0)?))
}

/// Tile: each dimension becomes two, of which the first is stretched.
pub fn build_tile(_: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let of = &need(inputs, 0)?.of;
    let repeats = args::sizes(&args::integers(inputs, 1, "repeats")?.ok_or("expected repeats")?)?;
    if repeats.len() != of.rank() {
        return Err(OpError(format!("repeats {repeats:?} of {of}")));
    }
    let (mut doubled, mut strides) = (Vec::new(), Vec::new());
    let mut shape = Vec::new();
    for ((dim, times), stride) in of.shape.iter().zip(&repeats).zip(walk::strides(&of.shape)) {
        doubled.extend([*times, *dim]);
        strides.extend([0, stride]);
        shape.push(dim.checked_mul(*times).ok_or("too many elements")?);
    }
    let out = TensorType::new(of.kind, shape);
    if out.checked_len().is_none() {
        return Err(OpError(format!("{out} has too many elements")));
    }
    let walk = Walk::new(&doubled, &[strides], [0])?;
    Ok(Built::op(Moved { name: "Tile", walks: vec![walk], of: vec![out] }))
}

pub fn build_split(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let of = &need(inputs, 0)?.of;
    let axis = args::axis(node.int("axis")?.unwrap_or(0), of.rank())?;
    let dim = of.shape[axis];
    let sizes = match args::either(node, "split", inputs, 1)? {
        Some(list) => args::sizes(&list)?,
        None => even(dim, node)?,
    };
    let total = sizes.iter().try_fold(0usize, |n, size| n.checked_add(*size));
    if total != Some(dim) || sizes.len() != node.outputs.len() || given(inputs, 0).is_none() {
        return Err(OpError(format!("{of} cannot be split into {sizes:?} for {} outputs", node.outputs.len())));
    }
    let strides = walk::strides(&of.shape);
    let (mut walks, mut types) = (Vec::new(), Vec::new());
    let mut at = 0isize;
    for size in sizes {
        let mut shape = of.shape.clone();
        shape[axis] = size;
        walks.push(Walk::new(&shape, std::array::from_ref(&strides), [at * strides[axis]])?);
        at += isize::try_from(size).unwrap_or(0);
        types.push(TensorType::new(of.kind, shape));
    }
    Ok(Built::op(Moved { name: "Split", walks, of: types }))
}

/// Equal parts, the last one smaller where it does not go up (from opset 18 on).
fn even(dim: usize, node: &Node) -> Result<Vec<usize>, OpError> {
    let parts = match node.int("num_outputs")? {
        Some(parts) => usize::try_from(parts).unwrap_or(0),
        None => node.outputs.len(),
    };
    if parts == 0 || parts != node.outputs.len() || (node.version < 18 && !dim.is_multiple_of(parts)) {
        return Err(OpError(format!("{dim} cannot be split into {parts} parts")));
    }
    let size = dim.div_ceil(parts);
    Ok((0..parts).map(|n| dim.saturating_sub(n * size).min(size)).collect())
}
