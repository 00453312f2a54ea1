//! Reductions over some dimensions, `ArgMax` and `ArgMin`.
//!
//! Floats are summed in f64, in the order in which they lie, so a row's sum does not depend on its neighbours. NaN
//! wins in Max and Min. Of nothing, a sum is 0, a product 1, a maximum -inf, a minimum +inf, a mean NaN.

use super::super::op::{Built, Context, Fact, Inputs, Node, Op, OpError, need};
use super::super::tensor::{Data, Kind, TensorType, View};
use super::args::{self, around};
use super::walk::{Walk, strides};
use std::any::Any;

/// Elements in groups: those that differ in the reduced dimensions alone are one.
#[derive(Clone, Debug)]
pub struct Groups {
    outer: Walk<1>,
    inner: Walk<1>,
}

impl Groups {
    /// # Errors
    /// Too many dimensions.
    pub fn new(shape: &[usize], reduced: &[usize]) -> Result<Self, OpError> {
        let own = strides(shape);
        let part = |wanted: bool| {
            let axes = (0..shape.len()).filter(|n| reduced.contains(n) == wanted);
            let (dims, strides): (Vec<usize>, Vec<isize>) = axes.map(|n| (shape[n], own[n])).unzip();
            Walk::new(&dims, &[strides], [0])
        };
        Ok(Self { outer: part(false)?, inner: part(true)? })
    }

    /// Calls with a group's number and its first element's place.
    #[inline]
    pub fn each(&self, mut group: impl FnMut(usize, isize)) {
        let [step] = self.outer.inner();
        self.outer.each(|first, [at], len| {
            for n in 0..len {
                group(first + n, at + step * n.cast_signed());
            }
        });
    }

    /// Calls with the place of each element of a group.
    #[inline]
    pub fn within(&self, from: isize, mut element: impl FnMut(usize)) {
        let [step] = self.inner.inner();
        self.inner.each(|_, [at], len| {
            for n in 0..len {
                element(usize::try_from(from + at + step * n.cast_signed()).unwrap_or(usize::MAX));
            }
        });
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    Sum,
    Mean,
    Max,
    Min,
    Prod,
    L1,
    L2,
    LogSum,
    LogSumExp,
    SumSquare,
}

pub fn build(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let of = &need(inputs, 0)?.of;
    let by = match node.op.as_str() {
        "ReduceSum" => By::Sum,
        "ReduceMean" => By::Mean,
        "ReduceMax" => By::Max,
        "ReduceMin" => By::Min,
        "ReduceProd" => By::Prod,
        "ReduceL1" => By::L1,
        "ReduceL2" => By::L2,
        "ReduceLogSum" => By::LogSum,
        "ReduceLogSumExp" => By::LogSumExp,
        _ => By::SumSquare,
    };
    let bits = of.kind == Kind::Bool && matches!(by, By::Max | By::Min);
    if !of.kind.is_number() && !bits {
        return Err(OpError(format!("{} does not take {}", node.op, of.kind)));
    }
    let list = args::either(node, "axes", inputs, 1)?.unwrap_or_default();
    if list.is_empty() && node.flag("noop_with_empty_axes", false)? {
        // What is left is the function of one number, which for most is the number.
        return match by {
            By::Sum | By::Mean | By::Max | By::Min | By::Prod => Ok(Built::Alias(0, of.clone())),
            _ => Err("noop_with_empty_axes is not supported here".into()),
        };
    }
    let axes = if list.is_empty() { (0..of.rank()).collect() } else { args::axes(&list, of.rank())? };
    let shape = kept(&of.shape, &axes, node.flag("keepdims", true)?);
    Ok(Built::op(Reduce {
        by,
        groups: Groups::new(&of.shape, &axes)?,
        work: of.len(),
        of: [TensorType::new(of.kind, shape)],
    }))
}

fn kept(shape: &[usize], axes: &[usize], keep: bool) -> Vec<usize> {
    let dims = shape.iter().enumerate();
    if keep {
        dims.map(|(n, dim)| if axes.contains(&n) { 1 } else { *dim }).collect()
    } else {
        dims.filter(|(n, _)| !axes.contains(n)).map(|(_, dim)| *dim).collect()
    }
}

#[derive(Debug)]
struct Reduce {
    by: By,
    groups: Groups,
    work: usize,
    of: [TensorType; 1],
}

impl Reduce {
    fn float(&self, from: isize, x: impl Fn(usize) -> f64) -> f64 {
        let mut sum = 0.0;
        let mut count = 0u32;
        match self.by {
            By::Sum | By::LogSum => self.groups.within(from, |n| sum += x(n)),
            By::Mean => self.groups.within(from, |n| {
                sum += x(n);
                count += 1;
            }),
            By::Prod => {
                sum = 1.0;
                self.groups.within(from, |n| sum *= x(n));
            }
            By::L1 => self.groups.within(from, |n| sum += x(n).abs()),
            By::L2 | By::SumSquare => self.groups.within(from, |n| sum += x(n) * x(n)),
            By::Max | By::LogSumExp => {
                sum = f64::NEG_INFINITY;
                self.groups.within(from, |n| sum = if x(n) > sum || x(n).is_nan() { x(n) } else { sum });
            }
            By::Min => {
                sum = f64::INFINITY;
                self.groups.within(from, |n| sum = if x(n) < sum || x(n).is_nan() { x(n) } else { sum });
            }
        }
        match self.by {
            By::Mean => sum / f64::from(count),
            By::L2 => sum.sqrt(),
            By::LogSum => sum.ln(),
            By::LogSumExp if sum.is_finite() => {
                let (most, mut total) = (sum, 0.0);
                self.groups.within(from, |n| total += (x(n) - most).exp());
                most + total.ln()
            }
            _ => sum,
        }
    }

    /// Integers stay integers where they can.
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // the rest is a function of reals
    fn whole(&self, from: isize, x: impl Fn(usize) -> i64) -> i64 {
        let (mut sum, mut most, mut least, mut product) = (0i64, i64::MIN, i64::MAX, 1i64);
        match self.by {
            By::Sum => self.groups.within(from, |n| sum = sum.wrapping_add(x(n))),
            By::L1 => self.groups.within(from, |n| sum = sum.wrapping_add(x(n).wrapping_abs())),
            By::SumSquare => self.groups.within(from, |n| sum = sum.wrapping_add(x(n).wrapping_mul(x(n)))),
            By::Max => self.groups.within(from, |n| most = most.max(x(n))),
            By::Min => self.groups.within(from, |n| least = least.min(x(n))),
            By::Prod => self.groups.within(from, |n| product = product.wrapping_mul(x(n))),
            By::Mean | By::L2 | By::LogSum | By::LogSumExp => sum = self.float(from, |n| x(n) as f64) as i64,
        }
        match self.by {
            By::Max => most,
            By::Min => least,
            By::Prod => product,
            _ => sum,
        }
    }
}

fn set<T>(out: &mut [T], n: usize, value: T) {
    if let Some(place) = out.get_mut(n) {
        *place = value;
    }
}

impl Op for Reduce {
    fn outputs(&self) -> &[TensorType] {
        &self.of
    }

    fn work(&self) -> u64 {
        self.work as u64
    }

    #[allow(clippy::cast_possible_truncation)] // back to the input's kind
    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        let Some(out) = outputs.first_mut() else { return };
        match (inputs.get(0), out) {
            (View::F32(x), Data::F32(out)) => {
                let x = |n: usize| x.get(n).copied().map_or(0.0, f64::from);
                self.groups.each(|n, from| set(out, n, self.float(from, x) as f32));
            }
            (View::F64(x), Data::F64(out)) => {
                let x = |n: usize| x.get(n).copied().unwrap_or(0.0);
                self.groups.each(|n, from| set(out, n, self.float(from, x)));
            }
            (View::I64(x), Data::I64(out)) => {
                let x = |n: usize| x.get(n).copied().unwrap_or(0);
                self.groups.each(|n, from| set(out, n, self.whole(from, x)));
            }
            (View::I32(x), Data::I32(out)) => {
                let x = |n: usize| x.get(n).copied().map_or(0, i64::from);
                self.groups.each(|n, from| set(out, n, self.whole(from, x) as i32));
            }
            (View::Bool(x), Data::Bool(out)) => {
                let x = |n: usize| x.get(n).copied().map_or(0, i64::from);
                self.groups.each(|n, from| set(out, n, u8::from(self.whole(from, x) > 0)));
            }
            _ => {}
        }
    }

    fn describe(&self) -> String {
        format!("Reduce {:?}", self.by)
    }
}

pub fn build_arg(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let of = &need(inputs, 0)?.of;
    if !of.kind.is_number() {
        return Err(OpError(format!("{} does not take {}", node.op, of.kind)));
    }
    let axis = args::axis(node.int("axis")?.unwrap_or(0), of.rank())?;
    let shape = kept(&of.shape, &[axis], node.flag("keepdims", true)?);
    let (_, dim, behind) = around(&of.shape, axis);
    let last = node.flag("select_last_index", false)?;
    let sign = if node.op == "ArgMax" { 1.0 } else { -1.0 };
    Ok(Built::op(Arg { sign, last, dim, behind, work: of.len(), of: [TensorType::new(Kind::I64, shape)] }))
}

#[derive(Debug)]
struct Arg {
    sign: f64,
    last: bool,
    dim: usize,
    behind: usize,
    work: usize,
    of: [TensorType; 1],
}

impl Op for Arg {
    fn outputs(&self) -> &[TensorType] {
        &self.of
    }

    fn work(&self) -> u64 {
        self.work as u64
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        let Some(out) = outputs.first_mut().map(Data::i64_mut) else { return };
        let x = inputs.get(0);
        let behind = self.behind.max(1);
        for (n, out) in out.iter_mut().enumerate() {
            let from = n / behind * self.dim * behind + n % behind;
            let mut best = (x.number(from) * self.sign, 0);
            for k in 1..self.dim {
                let value = x.number(from + k * behind) * self.sign;
                if value > best.0 || (self.last && value >= best.0) {
                    best = (value, k);
                }
            }
            *out = i64::try_from(best.1).unwrap_or(0);
        }
    }

    fn describe(&self) -> String {
        if self.sign > 0.0 { "ArgMax".to_owned() } else { "ArgMin".to_owned() }
    }
}
