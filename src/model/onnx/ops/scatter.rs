//! `ScatterElements`, `ScatterND`: a copy of the data with some elements replaced or added to.
//!
//! An index out of range is left out (constant ones are refused at load).

use super::super::op::{Built, Context, Fact, Inputs, Node, Op, OpError, need};
use super::super::tensor::{Data, Kind, TensorType, View, count};
use super::args;
use super::gather::{check_indices, place};
use super::walk::strides;
use std::any::Any;

#[derive(Clone, Copy, Debug)]
enum Reduction {
    None,
    Add,
    Mul,
    Max,
    Min,
}

fn reduction(node: &Node) -> Result<Reduction, OpError> {
    Ok(match node.text("reduction")?.unwrap_or("none") {
        "none" => Reduction::None,
        "add" => Reduction::Add,
        "mul" => Reduction::Mul,
        "max" => Reduction::Max,
        "min" => Reduction::Min,
        other => return Err(OpError(format!("reduction {other} is not supported"))),
    })
}

#[derive(Debug)]
struct Scatter {
    by: Reduction,
    /// Axis and its length: elements; none: ND.
    axis: Option<(usize, usize)>,
    own: Vec<usize>,
    /// ND: the dimensions that a place goes through, and elements that each place moves.
    dims: Vec<usize>,
    slice: usize,
    updates: Vec<usize>,
    of: [TensorType; 1],
}

fn checked(inputs: &[Option<Fact>]) -> Result<(&Fact, &Fact, &Fact), OpError> {
    let (data, indices, updates) = (need(inputs, 0)?, need(inputs, 1)?, need(inputs, 2)?);
    if data.of.kind != updates.of.kind || !data.of.kind.is_number() || !matches!(indices.of.kind, Kind::I64 | Kind::I32)
    {
        return Err(OpError(format!("{}, {} and {} do not go together", data.of, indices.of, updates.of)));
    }
    Ok((data, indices, updates))
}

pub fn build_elements(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let (data, indices, updates) = checked(inputs)?;
    let of = data.of.clone();
    let axis = args::axis(node.int("axis")?.unwrap_or(0), of.rank())?;
    check_indices(indices, of.shape[axis])?;
    let fits = updates.of.shape.iter().zip(&of.shape).enumerate().all(|(n, (a, b))| n == axis || a <= b);
    if indices.of.shape != updates.of.shape || updates.of.rank() != of.rank() || !fits {
        return Err(OpError(format!("{}, {} and {} do not go together", data.of, indices.of, updates.of)));
    }
    let own = strides(&of.shape).iter().map(|n| n.unsigned_abs()).collect();
    Ok(Built::op(Scatter {
        by: reduction(node)?,
        axis: Some((axis, of.shape[axis])),
        own,
        dims: Vec::new(),
        slice: 1,
        updates: updates.of.shape.clone(),
        of: [of],
    }))
}

pub fn build_nd(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let (data, indices, updates) = checked(inputs)?;
    let of = data.of.clone();
    let fail = || OpError(format!("{}, {} and {} do not go together", data.of, indices.of, updates.of));
    let (depth, front) = indices.of.shape.split_last().ok_or_else(fail)?;
    let (dims, rest) = of.shape.split_at_checked(*depth).ok_or_else(fail)?;
    let mut expected = front.to_vec();
    expected.extend(rest);
    if updates.of.shape != expected {
        return Err(fail());
    }
    let slice = count(rest).ok_or_else(fail)?;
    let dims = dims.to_vec();
    let updates = updates.of.shape.clone();
    Ok(Built::op(Scatter { by: reduction(node)?, axis: None, own: Vec::new(), dims, slice, updates, of: [of] }))
}

impl Scatter {
    fn each<T: Copy + PartialOrd>(
        &self,
        data: &mut [T],
        indices: View<'_>,
        updates: &[T],
        add: fn(T, T) -> T,
        mul: fn(T, T) -> T,
    ) {
        let put = |old: T, new: T| match self.by {
            Reduction::None => new,
            Reduction::Add => add(old, new),
            Reduction::Mul => mul(old, new),
            Reduction::Max => {
                if new > old {
                    new
                } else {
                    old
                }
            }
            Reduction::Min => {
                if new < old {
                    new
                } else {
                    old
                }
            }
        };
        if self.slice == 0 {
            return;
        }
        for (n, updates) in updates.chunks_exact(self.slice).enumerate() {
            let at =
                match self.axis {
                    Some((axis, dim)) => self.element(n, axis, place(indices, n, dim)),
                    None => self.dims.iter().enumerate().try_fold(0usize, |at, (k, dim)| {
                        Some(at * dim + place(indices, n * self.dims.len() + k, *dim)?)
                    }),
                };
            let row = at.map(|at| at * self.slice).and_then(|at| data.get_mut(at..at + self.slice));
            for (old, new) in row.unwrap_or_default().iter_mut().zip(updates) {
                *old = put(*old, *new);
            }
        }
    }

    fn element(&self, n: usize, axis: usize, index: Option<usize>) -> Option<usize> {
        let mut rest = n;
        let mut at = index? * self.own.get(axis)?;
        for (k, (dim, own)) in self.updates.iter().zip(&self.own).enumerate().rev() {
            if k != axis {
                at += rest % dim * own;
            }
            rest /= dim;
        }
        Some(at)
    }
}

impl Op for Scatter {
    fn outputs(&self) -> &[TensorType] {
        &self.of
    }

    fn in_place(&self) -> bool {
        true
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], scratch: &mut dyn Any) {
        let Some(out) = outputs.first_mut() else { return };
        super::unary::copy(inputs.get(0), out);
        self.run_in_place(inputs, out, scratch);
    }

    fn run_in_place(&self, inputs: &Inputs<'_>, data: &mut Data, _: &mut dyn Any) {
        let indices = inputs.get(1);
        match (data, inputs.get(2)) {
            (Data::F32(x), View::F32(u)) => self.each(x, indices, u, |a, b| a + b, |a, b| a * b),
            (Data::F64(x), View::F64(u)) => self.each(x, indices, u, |a, b| a + b, |a, b| a * b),
            (Data::I64(x), View::I64(u)) => self.each(x, indices, u, i64::wrapping_add, i64::wrapping_mul),
            (Data::I32(x), View::I32(u)) => self.each(x, indices, u, i32::wrapping_add, i32::wrapping_mul),
            _ => {}
        }
    }

    fn describe(&self) -> String {
        "Scatter".to_owned()
    }
}
