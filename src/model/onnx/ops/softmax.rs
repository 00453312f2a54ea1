//! Softmax, `LogSoftmax`, Hardmax, `LpNormalization`: numbers along an axis made comparable to each other.
//!
//! Up to opset 12 the axis means all dimensions from it on together, and is 1 by default; from 13 on it is one, the
//! last by default.

use super::super::op::{Built, Context, Fact, Inputs, Node, Op, OpError, need};
use super::super::tensor::{Data, TensorType};
use super::args::{self, around};
use std::any::Any;

#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Softmax,
    Log,
    Hard,
    L1,
    L2,
}

pub fn build(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let of = need(inputs, 0)?.of.clone();
    if !of.kind.is_float() {
        return Err(OpError(format!("{} does not take {}", node.op, of.kind)));
    }
    let how = match (node.op.as_str(), node.int("p")?.unwrap_or(2)) {
        ("Softmax", _) => How::Softmax,
        ("LogSoftmax", _) => How::Log,
        ("Hardmax", _) => How::Hard,
        (_, 1) => How::L1,
        (_, 2) => How::L2,
        (_, p) => return Err(OpError(format!("a norm with p = {p}"))),
    };
    let old = node.version < 13 && !matches!(how, How::L1 | How::L2);
    let axis = node.int("axis")?.unwrap_or(if old { 1 } else { -1 });
    let (before, dim, behind) = if old {
        let at = if usize::try_from(axis) == Ok(of.rank()) { of.rank() } else { args::axis(axis, of.rank())? };
        (of.shape[..at].iter().product(), of.shape[at..].iter().product(), 1)
    } else {
        around(&of.shape, args::axis(axis, of.rank())?)
    };
    Ok(Built::op(Along { how, before, dim, behind, of: [of] }))
}

#[derive(Debug)]
struct Along {
    how: How,
    before: usize,
    dim: usize,
    behind: usize,
    of: [TensorType; 1],
}

macro_rules! along {
    ($self:expr, $v:expr, $type:ty) => {{
        let step = $self.behind.max(1);
        for front in 0..$self.before {
            for back in 0..$self.behind {
                let from = front * $self.dim * step + back;
                let Some(row) = $v.get_mut(from..from + ($self.dim.max(1) - 1) * step + 1) else { continue };
                let each = row.iter().step_by(step).copied();
                let most = each.clone().fold(<$type>::NEG_INFINITY, <$type>::max);
                match $self.how {
                    How::Softmax => {
                        let mut sum = 0.0;
                        for x in row.iter_mut().step_by(step) {
                            *x = (*x - most).exp();
                            sum += *x;
                        }
                        row.iter_mut().step_by(step).for_each(|x| *x /= sum);
                    }
                    How::Log => {
                        let sum = each.fold(0.0, |sum, x| sum + (x - most).exp());
                        let log = sum.ln();
                        row.iter_mut().step_by(step).for_each(|x| *x = *x - most - log);
                    }
                    How::Hard => {
                        let first = each.clone().position(|x| x >= most).unwrap_or(0);
                        let places = row.iter_mut().step_by(step).enumerate();
                        places.for_each(|(n, x)| *x = if n == first { 1.0 } else { 0.0 });
                    }
                    How::L1 | How::L2 => {
                        let norm = if $self.how == How::L1 {
                            each.fold(0.0, |sum, x| sum + x.abs())
                        } else {
                            each.fold(0.0, |sum, x| sum + x * x).sqrt()
                        };
                        // Zeros have no direction: they stay.
                        if norm != 0.0 {
                            row.iter_mut().step_by(step).for_each(|x| *x /= norm);
                        }
                    }
                }
            }
        }
    }};
}

impl Op for Along {
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

    fn run_in_place(&self, _: &Inputs<'_>, data: &mut Data, _: &mut dyn Any) {
        match data {
            Data::F32(v) => along!(self, v, f32),
            Data::F64(v) => along!(self, v, f64),
            _ => {}
        }
    }

    fn describe(&self) -> String {
        format!("{:?} along {}", self.how, self.dim)
    }
}
