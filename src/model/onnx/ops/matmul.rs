//! `MatMul` and Gemm of any kind and shape: what is no dense layer with constant weights ([`super::dense`]).
//!
//! Sums run over the inner dimension in order, so a row's numbers do not depend on its neighbours.

use super::super::op::{Built, Context, Fact, Inputs, Node, Op, OpError, given, need};
use super::super::tensor::{Data, TensorType, View};
use super::walk::{Walk, broadcast};
use std::any::Any;

/// A matrix in a list of numbers: the step to the next row and to the next column.
#[derive(Clone, Copy, Debug)]
struct Steps {
    row: usize,
    column: usize,
}

#[derive(Debug)]
struct Product {
    rows: usize,
    inner: usize,
    columns: usize,
    a: Steps,
    b: Steps,
    /// Where the matrices of each product begin, in matrices.
    batches: Walk<2>,
    sizes: [usize; 2],
    /// Gemm: alpha, beta and where input 2 stands for each element of the output.
    gemm: Option<(f32, f32, Option<Walk<1>>)>,
    of: [TensorType; 1],
}

pub fn build(_: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let (a, b) = (&need(inputs, 0)?.of, &need(inputs, 1)?.of);
    let fail = || OpError(format!("{a} and {b} cannot be multiplied"));
    if a.kind != b.kind || !a.kind.is_number() || a.rank() == 0 || b.rank() == 0 {
        return Err(fail());
    }
    // A vector is a row on the left, a column on the right, and leaves no dimension behind.
    let left = if a.rank() == 1 { vec![1, a.shape[0]] } else { a.shape.clone() };
    let right = if b.rank() == 1 { vec![b.shape[0], 1] } else { b.shape.clone() };
    let ([left_batch @ .., rows, inner], [right_batch @ .., height, columns]) = (&left[..], &right[..]) else {
        return Err(fail());
    };
    if inner != height {
        return Err(fail());
    }
    let mut shape = broadcast(&[left_batch, right_batch])?;
    let batches = Walk::broadcast(&shape, [left_batch, right_batch])?;
    if a.rank() > 1 {
        shape.push(*rows);
    }
    if b.rank() > 1 {
        shape.push(*columns);
    }
    Ok(Built::op(Product {
        rows: *rows,
        inner: *inner,
        columns: *columns,
        a: Steps { row: *inner, column: 1 },
        b: Steps { row: *columns, column: 1 },
        batches,
        sizes: [rows * inner, inner * columns],
        gemm: None,
        of: [TensorType::new(a.kind, shape)],
    }))
}

pub fn build_gemm(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let (a, b) = (&need(inputs, 0)?.of, &need(inputs, 1)?.of);
    let ([a0, a1], [b0, b1]) = (&a.shape[..], &b.shape[..]) else {
        return Err(OpError(format!("expected two matrices, found {a} and {b}")));
    };
    let (turn_a, turn_b) = (node.flag("transA", false)?, node.flag("transB", false)?);
    let (rows, inner) = if turn_a { (*a1, *a0) } else { (*a0, *a1) };
    let (height, columns) = if turn_b { (*b1, *b0) } else { (*b0, *b1) };
    if inner != height || a.kind != b.kind || !a.kind.is_number() {
        return Err(OpError(format!("{a} and {b} cannot be multiplied")));
    }
    let of = TensorType::new(a.kind, [rows, columns]);
    let added = match given(inputs, 2) {
        None => None,
        Some(c) if c.of.kind != a.kind => return Err(OpError(format!("{} cannot be added to {of}", c.of))),
        Some(c) => Some(Walk::broadcast(&of.shape, [&c.of.shape])?),
    };
    let steps = |turned: bool, width: usize| {
        if turned { Steps { row: 1, column: width } } else { Steps { row: width, column: 1 } }
    };
    Ok(Built::op(Product {
        rows,
        inner,
        columns,
        a: steps(turn_a, *a1),
        b: steps(turn_b, *b1),
        batches: Walk::broadcast(&[], [&[], &[]])?,
        sizes: [rows.saturating_mul(inner), inner.saturating_mul(columns)],
        gemm: Some((node.float("alpha")?.unwrap_or(1.0), node.float("beta")?.unwrap_or(1.0), added)),
        of: [of],
    }))
}

trait Number: Copy + Default {
    fn multiply_add(self, a: Self, b: Self) -> Self;
    fn scaled(self, by: f32) -> Self;
    fn plus(self, other: Self) -> Self;
}

macro_rules! number {
    ($type:ty, |$sum:ident, $a:ident, $b:ident| $body:expr, $one:expr) => {
        impl Number for $type {
            fn multiply_add(self, $a: Self, $b: Self) -> Self {
                let $sum = self;
                $body
            }

            fn plus(self, other: Self) -> Self {
                self.multiply_add(other, $one)
            }

            #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_lossless)] // Gemm's alpha is a float
            fn scaled(self, by: f32) -> Self {
                if by.to_bits() == 1f32.to_bits() { self } else { (self as f64 * f64::from(by)) as $type }
            }
        }
    };
}
number!(f32, |sum, a, b| sum + a * b, 1.0);
number!(f64, |sum, a, b| sum + a * b, 1.0);
number!(i64, |sum, a, b| sum.wrapping_add(a.wrapping_mul(b)), 1);
number!(i32, |sum, a, b| sum.wrapping_add(a.wrapping_mul(b)), 1);

impl Product {
    fn each<T: Number>(&self, a: &[T], b: &[T], c: &[T], out: &mut [T]) {
        let size = self.rows * self.columns;
        if size == 0 {
            return;
        }
        let [by_a, by_b] = self.batches.inner();
        self.batches.each(|first, [at_a, at_b], len| {
            for n in 0..len {
                let begin = |at: isize, step: isize, size: usize| {
                    usize::try_from(at + step * n.cast_signed()).unwrap_or(0).saturating_mul(size)
                };
                let a = a.get(begin(at_a, by_a, self.sizes[0])..).unwrap_or_default();
                let b = b.get(begin(at_b, by_b, self.sizes[1])..).unwrap_or_default();
                if let Some(out) = out.get_mut((first + n) * size..(first + n + 1) * size) {
                    self.one(a, b, out);
                }
            }
        });
        let Some((alpha, beta, added)) = &self.gemm else { return };
        for x in out.iter_mut() {
            *x = x.scaled(*alpha);
        }
        if let Some(walk) = added {
            let [step] = walk.inner();
            walk.each(|to, [at], len| {
                for n in 0..len {
                    if let Some(out) = out.get_mut(to + n) {
                        *out = out.plus(super::walk::pick(c, at, step, n).scaled(*beta));
                    }
                }
            });
        }
    }

    fn one<T: Number>(&self, a: &[T], b: &[T], out: &mut [T]) {
        for (row, out) in out.chunks_exact_mut(self.columns).enumerate() {
            out.fill(T::default());
            for k in 0..self.inner {
                let Some(x) = a.get(row * self.a.row + k * self.a.column).copied() else { return };
                if self.b.column == 1 {
                    let Some(b) = b.get(k * self.b.row..) else { return };
                    out.iter_mut().zip(b).for_each(|(out, b)| *out = out.multiply_add(x, *b));
                } else {
                    for (n, out) in out.iter_mut().enumerate() {
                        let Some(b) = b.get(k * self.b.row + n * self.b.column) else { return };
                        *out = out.multiply_add(x, *b);
                    }
                }
            }
        }
    }
}

impl Op for Product {
    fn outputs(&self) -> &[TensorType] {
        &self.of
    }

    fn work(&self) -> u64 {
        (self.of[0].len() as u64).saturating_mul(self.inner as u64)
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        let (Some(out), c) = (outputs.first_mut(), inputs.get(2)) else { return };
        match (inputs.get(0), inputs.get(1), out) {
            (View::F32(a), View::F32(b), Data::F32(out)) => self.each(a, b, c.f32(), out),
            (View::F64(a), View::F64(b), Data::F64(out)) => self.each(a, b, c.f64(), out),
            (View::I64(a), View::I64(b), Data::I64(out)) => self.each(a, b, c.i64(), out),
            (View::I32(a), View::I32(b), Data::I32(out)) => self.each(a, b, c.i32(), out),
            _ => {}
        }
    }

    fn describe(&self) -> String {
        format!("product {}·{}·{}", self.rows, self.inner, self.columns)
    }
}
