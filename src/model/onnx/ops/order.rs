//! `TopK`, `CumSum`, `NonZero`: operators for which order counts.

use super::super::op::{Built, Context, Fact, Inputs, Node, Op, OpError, need};
use super::super::tensor::{Data, Kind, Tensor, TensorType, View};
use super::args::{self, around};
use std::any::Any;
use std::cmp::Ordering;
use std::sync::Arc;

pub fn build_top_k(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let of = &need(inputs, 0)?.of;
    let count = match node.int("k")? {
        Some(count) => count,
        None => args::integers(inputs, 1, "k")?.and_then(|k| k.first().copied()).ok_or("expected k")?,
    };
    let axis = args::axis(node.int("axis")?.unwrap_or(-1), of.rank())?;
    let (before, dim, behind) = around(&of.shape, axis);
    let count = usize::try_from(count).ok().filter(|count| *count <= dim);
    let count = count.ok_or_else(|| OpError(format!("more than the {dim} elements of axis {axis}")))?;
    if !of.kind.is_number() {
        return Err(OpError(format!("TopK does not take {}", of.kind)));
    }
    let mut shape = of.shape.clone();
    shape[axis] = count;
    let types = [TensorType::new(of.kind, shape.clone()), TensorType::new(Kind::I64, shape)];
    Ok(Built::op(TopK { before, dim, behind, count, largest: node.flag("largest", true)?, of: types }))
}

/// The largest (or smallest) elements in order, the first of equal ones first; NaN counts as smaller than all.
#[derive(Debug)]
struct TopK {
    before: usize,
    dim: usize,
    behind: usize,
    count: usize,
    largest: bool,
    of: [TensorType; 2],
}

impl TopK {
    fn each<T: Copy + PartialOrd>(&self, x: &[T], order: &mut [usize], values: &mut [T], places: &mut [i64]) {
        for front in 0..self.before {
            for back in 0..self.behind {
                let from = front * self.dim * self.behind + back;
                let at = |k: usize| x.get(from + k * self.behind);
                order.iter_mut().enumerate().for_each(|(n, place)| *place = n);
                order.sort_unstable_by(|a, b| {
                    let (x, y) = (at(*a), at(*b));
                    let known = |x: Option<&T>| x.is_some_and(|x| x.partial_cmp(x).is_some());
                    let by = x.partial_cmp(&y).unwrap_or(known(x).cmp(&known(y)));
                    (if self.largest { by.reverse() } else { by }).then(a.cmp(b))
                });
                for (n, place) in order.iter().take(self.count).enumerate() {
                    let to = (front * self.count + n) * self.behind + back;
                    if let (Some(value), Some(x)) = (values.get_mut(to), at(*place)) {
                        *value = *x;
                    }
                    if let Some(to) = places.get_mut(to) {
                        *to = i64::try_from(*place).unwrap_or(0);
                    }
                }
            }
        }
    }
}

impl Op for TopK {
    fn outputs(&self) -> &[TensorType] {
        &self.of
    }

    fn scratch(&self) -> Box<dyn Any + Send> {
        Box::new(vec![0usize; self.dim])
    }

    fn scratch_bytes(&self) -> usize {
        self.dim * size_of::<usize>()
    }

    fn work(&self) -> u64 {
        let sorted = (self.dim as u64).saturating_mul(u64::from(usize::BITS - self.dim.leading_zeros()));
        sorted.saturating_mul(self.before as u64).saturating_mul(self.behind as u64)
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], scratch: &mut dyn Any) {
        let (Some(order), [values, places]) = (scratch.downcast_mut::<Vec<usize>>(), outputs) else { return };
        let places = places.i64_mut();
        match (inputs.get(0), values) {
            (View::F32(x), Data::F32(out)) => self.each(x, order, out, places),
            (View::F64(x), Data::F64(out)) => self.each(x, order, out, places),
            (View::I64(x), Data::I64(out)) => self.each(x, order, out, places),
            (View::I32(x), Data::I32(out)) => self.each(x, order, out, places),
            _ => {}
        }
    }

    fn describe(&self) -> String {
        format!("TopK {} of {}", self.count, self.dim)
    }
}

pub fn build_cum_sum(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let of = need(inputs, 0)?.of.clone();
    let axis =
        args::integers(inputs, 1, "the axis")?.and_then(|axis| axis.first().copied()).ok_or("expected an axis")?;
    let (before, dim, behind) = around(&of.shape, args::axis(axis, of.rank())?);
    if !of.kind.is_number() {
        return Err(OpError(format!("CumSum does not take {}", of.kind)));
    }
    let (exclusive, reverse) = (node.flag("exclusive", false)?, node.flag("reverse", false)?);
    Ok(Built::op(CumSum { before, dim, behind, exclusive, reverse, of: [of] }))
}

#[derive(Debug)]
struct CumSum {
    before: usize,
    dim: usize,
    behind: usize,
    /// Without the element itself.
    exclusive: bool,
    reverse: bool,
    of: [TensorType; 1],
}

impl CumSum {
    fn each<T: Copy + Default>(&self, x: &[T], out: &mut [T], add: fn(T, T) -> T) {
        for front in 0..self.before {
            for back in 0..self.behind {
                let mut sum = T::default();
                for k in 0..self.dim {
                    let k = if self.reverse { self.dim - 1 - k } else { k };
                    let at = (front * self.dim + k) * self.behind + back;
                    let (Some(x), Some(out)) = (x.get(at), out.get_mut(at)) else { continue };
                    let with = add(sum, *x);
                    *out = if self.exclusive { sum } else { with };
                    sum = with;
                }
            }
        }
    }
}

impl Op for CumSum {
    fn outputs(&self) -> &[TensorType] {
        &self.of
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        let Some(out) = outputs.first_mut() else { return };
        match (inputs.get(0), out) {
            (View::F32(x), Data::F32(out)) => self.each(x, out, |a, b| a + b),
            (View::F64(x), Data::F64(out)) => self.each(x, out, |a, b| a + b),
            (View::I64(x), Data::I64(out)) => self.each(x, out, i64::wrapping_add),
            (View::I32(x), Data::I32(out)) => self.each(x, out, i32::wrapping_add),
            _ => {}
        }
    }

    fn describe(&self) -> String {
        "CumSum".to_owned()
    }
}

/// `NonZero`: how many there are decides its shape, so only of a constant.
pub fn build_non_zero(_: &Node, inputs: &[Option<Fact>], context: &mut Context) -> Result<Built, OpError> {
    let tensor = args::constant(inputs, 0, "the input of NonZero")?.ok_or("expected an input")?;
    let view = tensor.view();
    let found: Vec<usize> =
        (0..view.len()).filter(|n| view.number(*n).partial_cmp(&0.0) != Some(Ordering::Equal)).collect();
    let rank = tensor.shape.len();
    context.take(found.len().saturating_mul(rank).saturating_mul(8), "a constant")?;
    let mut places = Vec::with_capacity(found.len() * rank);
    for axis in 0..rank {
        let (_, dim, behind) = around(&tensor.shape, axis);
        places.extend(found.iter().map(|n| i64::try_from(n / behind.max(1) % dim.max(1)).unwrap_or(0)));
    }
    let made = Tensor::new([rank, found.len()], Data::I64(places)).ok_or("its numbers do not fill its shape")?;
    Ok(Built::Constants(vec![Arc::new(made)]))
}
