//! Gather, `GatherElements`, `GatherND`: elements by index. An embedding is a Gather from its table.
//!
//! A negative index counts from the end. An index that is out of range must not stop a daemon: constant ones are
//! refused at load; one of a row gives NaN (floats), 0, false or an unseen text.

use super::super::op::{Built, Context, Dictionary, Fact, Flow, Inputs, Node, Op, OpError, need};
use super::super::tensor::{Data, Kind, TensorType, View, count};
use super::args::{self, around};
use super::walk::strides;
use std::any::Any;

/// What an index out of range gives.
pub trait Lost: Copy {
    const LOST: Self;
}

impl Lost for f32 {
    const LOST: Self = Self::NAN;
}

impl Lost for f64 {
    const LOST: Self = Self::NAN;
}

impl Lost for i64 {
    const LOST: Self = 0;
}

impl Lost for i32 {
    const LOST: Self = 0;
}

impl Lost for u8 {
    const LOST: Self = 0;
}

impl Lost for u32 {
    const LOST: Self = Dictionary::UNSEEN;
}

/// Index `n` of a view as a place below `dim`.
#[inline]
#[must_use]
pub fn place(indices: View<'_>, n: usize, dim: usize) -> Option<usize> {
    let index = match indices {
        View::I64(v) => v.get(n).copied()?,
        View::I32(v) => i64::from(*v.get(n)?),
        _ => return None,
    };
    let index = if index < 0 { index.checked_add(i64::try_from(dim).ok()?)? } else { index };
    usize::try_from(index).ok().filter(|index| *index < dim)
}

/// Indices are integers, and constant ones lie in the range.
pub fn check_indices(fact: &Fact, dim: usize) -> Result<(), OpError> {
    if !matches!(fact.of.kind, Kind::I64 | Kind::I32) {
        return Err(OpError(format!("expected integers as indices, found {}", fact.of)));
    }
    if let Some(tensor) = &fact.constant {
        let view = tensor.view();
        if let Some(n) = (0..view.len()).find(|n| place(view, *n, dim).is_none()) {
            return Err(OpError(format!("index {} of a dimension of {dim}", view.number(n))));
        }
    }
    Ok(())
}

pub fn build(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let (data, indices) = (need(inputs, 0)?, need(inputs, 1)?);
    let of = &data.of;
    let axis = args::axis(node.int("axis")?.unwrap_or(0), of.rank())?;
    let (before, dim, behind) = around(&of.shape, axis);
    check_indices(indices, dim)?;
    let mut shape = of.shape[..axis].to_vec();
    shape.extend(&indices.of.shape);
    shape.extend(&of.shape[axis + 1..]);
    let out = TensorType::new(of.kind, shape);
    Ok(Built::op(Gather { before, dim, behind, count: indices.of.len(), of: [out] }))
}

#[derive(Debug)]
struct Gather {
    before: usize,
    dim: usize,
    behind: usize,
    count: usize,
    of: [TensorType; 1],
}

impl Gather {
    fn each<T: Lost>(&self, data: &[T], indices: View<'_>, out: &mut [T]) {
        if self.behind == 0 {
            return;
        }
        let mut out = out.chunks_exact_mut(self.behind);
        for front in 0..self.before {
            for n in 0..self.count {
                let Some(out) = out.next() else { return };
                let from = place(indices, n, self.dim).map(|at| (front * self.dim + at) * self.behind);
                match from.and_then(|from| data.get(from..from + self.behind)) {
                    Some([one]) => out[0] = *one,
                    Some(row) => out.copy_from_slice(row),
                    None => out.fill(T::LOST),
                }
            }
        }
    }
}

impl Op for Gather {
    fn outputs(&self) -> &[TensorType] {
        &self.of
    }

    fn flow<'a>(&self, constant: &dyn Fn(usize) -> Option<View<'a>>) -> Flow {
        let Some(indices) = constant(1).filter(|_| self.before == 1 && self.behind == 1) else { return Flow::Mixed };
        let places = (0..self.count).map(|n| place(indices, n, self.dim)).collect::<Option<_>>();
        places.map_or(Flow::Mixed, Flow::Picked)
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        let (Some(out), indices) = (outputs.first_mut(), inputs.get(1)) else { return };
        match (inputs.get(0), out) {
            (View::F32(x), Data::F32(out)) => self.each(x, indices, out),
            (View::F64(x), Data::F64(out)) => self.each(x, indices, out),
            (View::I64(x), Data::I64(out)) => self.each(x, indices, out),
            (View::I32(x), Data::I32(out)) => self.each(x, indices, out),
            (View::Bool(x), Data::Bool(out)) => self.each(x, indices, out),
            (View::Text(x), Data::Text(out)) => self.each(x, indices, out),
            _ => {}
        }
    }

    fn describe(&self) -> String {
        format!("Gather of {} from {}", self.count, self.dim)
    }
}

/// `GatherElements`: each output element has its own index along an axis.
pub fn build_elements(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let (data, indices) = (need(inputs, 0)?, need(inputs, 1)?);
    let of = &data.of;
    let axis = args::axis(node.int("axis")?.unwrap_or(0), of.rank())?;
    check_indices(indices, of.shape[axis])?;
    let shape = indices.of.shape.clone();
    let fits = shape.iter().zip(&of.shape).enumerate().all(|(n, (a, b))| n == axis || a <= b);
    if shape.len() != of.rank() || !fits {
        return Err(OpError(format!("indices {} of {of}", indices.of)));
    }
    let own = strides(&of.shape).iter().map(|n| n.unsigned_abs()).collect();
    Ok(Built::op(Elements { axis, dim: of.shape[axis], own, of: [TensorType::new(of.kind, shape)] }))
}

#[derive(Debug)]
struct Elements {
    axis: usize,
    dim: usize,
    own: Vec<usize>,
    of: [TensorType; 1],
}

impl Elements {
    fn each<T: Lost>(&self, data: &[T], indices: View<'_>, out: &mut [T]) {
        let shape = &self.of[0].shape;
        for (n, out) in out.iter_mut().enumerate() {
            let found = place(indices, n, self.dim).and_then(|index| {
                let mut rest = n;
                let mut at = index * self.own.get(self.axis)?;
                for (axis, (dim, own)) in shape.iter().zip(&self.own).enumerate().rev() {
                    if axis != self.axis {
                        at += rest % dim * own;
                    }
                    rest /= dim;
                }
                data.get(at).copied()
            });
            *out = found.unwrap_or(T::LOST);
        }
    }
}

impl Op for Elements {
    fn outputs(&self) -> &[TensorType] {
        &self.of
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        let (Some(out), indices) = (outputs.first_mut(), inputs.get(1)) else { return };
        match (inputs.get(0), out) {
            (View::F32(x), Data::F32(out)) => self.each(x, indices, out),
            (View::F64(x), Data::F64(out)) => self.each(x, indices, out),
            (View::I64(x), Data::I64(out)) => self.each(x, indices, out),
            (View::I32(x), Data::I32(out)) => self.each(x, indices, out),
            (View::Bool(x), Data::Bool(out)) => self.each(x, indices, out),
            (View::Text(x), Data::Text(out)) => self.each(x, indices, out),
            _ => {}
        }
    }

    fn describe(&self) -> String {
        "GatherElements".to_owned()
    }
}

/// `GatherND`: the last dimension of the indices is a place in the data's first dimensions.
pub fn build_nd(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let (data, indices) = (need(inputs, 0)?, need(inputs, 1)?);
    let (of, by) = (&data.of, &indices.of);
    let batch = usize::try_from(node.int("batch_dims")?.unwrap_or(0)).unwrap_or(usize::MAX);
    let fail = || OpError(format!("indices {by} of {of} with {batch} batch dimensions"));
    let depth = *by.shape.last().ok_or_else(fail)?;
    let end = batch.checked_add(depth).filter(|end| *end <= of.rank()).ok_or_else(fail)?;
    if batch >= by.rank()
        || by.shape.get(..batch) != of.shape.get(..batch)
        || !by.kind.is_number()
        || by.kind.is_float()
    {
        return Err(fail());
    }
    let mut shape = by.shape[..by.rank() - 1].to_vec();
    shape.extend(&of.shape[end..]);
    let product = |dims: &[usize]| count(dims).ok_or_else(fail);
    let slice = product(&of.shape[end..])?;
    let groups = product(&by.shape[..batch])?;
    let dims = of.shape[batch..end].to_vec();
    let out = TensorType::new(of.kind, shape);
    Ok(Built::op(Places { groups, dims, slice, of: [out] }))
}

#[derive(Debug)]
struct Places {
    groups: usize,
    dims: Vec<usize>,
    slice: usize,
    of: [TensorType; 1],
}

impl Places {
    fn each<T: Lost>(&self, data: &[T], indices: View<'_>, out: &mut [T]) {
        if self.slice == 0 {
            return;
        }
        let total = out.len() / self.slice / self.groups.max(1);
        for (n, out) in out.chunks_exact_mut(self.slice).enumerate() {
            let mut at = Some(n / total.max(1));
            for (k, dim) in self.dims.iter().enumerate() {
                let index = place(indices, n * self.dims.len() + k, *dim);
                at = at.zip(index).map(|(at, index)| at * dim + index);
            }
            match at.map(|at| at * self.slice).and_then(|at| data.get(at..at + self.slice)) {
                Some(row) => out.copy_from_slice(row),
                None => out.fill(T::LOST),
            }
        }
    }
}

impl Op for Places {
    fn outputs(&self) -> &[TensorType] {
        &self.of
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        let (Some(out), indices) = (outputs.first_mut(), inputs.get(1)) else { return };
        match (inputs.get(0), out) {
            (View::F32(x), Data::F32(out)) => self.each(x, indices, out),
            (View::F64(x), Data::F64(out)) => self.each(x, indices, out),
            (View::I64(x), Data::I64(out)) => self.each(x, indices, out),
            (View::I32(x), Data::I32(out)) => self.each(x, indices, out),
            (View::Bool(x), Data::Bool(out)) => self.each(x, indices, out),
            (View::Text(x), Data::Text(out)) => self.each(x, indices, out),
            _ => {}
        }
    }

    fn describe(&self) -> String {
        "GatherND".to_owned()
    }
}
