//! What operators are told beside their numbers: axes, shapes, indices.

use super::super::op::{Fact, Node, OpError, given};
use super::super::tensor::Tensor;
use std::sync::Arc;

/// An axis counted from the front, or with a minus from the back.
///
/// # Errors
/// There is none such.
pub fn axis(axis: i64, rank: usize) -> Result<usize, OpError> {
    let fail = || OpError(format!("axis {axis} of a tensor of {rank} dimensions"));
    let from_front = if axis < 0 { axis.checked_add(i64::try_from(rank).unwrap_or(i64::MAX)) } else { Some(axis) };
    from_front.and_then(|axis| usize::try_from(axis).ok()).filter(|axis| *axis < rank).ok_or_else(fail)
}

/// Axes, each once.
///
/// # Errors
/// One that is none, or twice.
pub fn axes(list: &[i64], rank: usize) -> Result<Vec<usize>, OpError> {
    let found = list.iter().map(|n| axis(*n, rank)).collect::<Result<Vec<_>, _>>()?;
    let mut sorted = found.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() == found.len() { Ok(found) } else { Err(OpError(format!("axes {list:?}: one is there twice"))) }
}

/// Input `n` where it is there: it has to be a constant.
///
/// # Errors
/// It depends on the rows.
pub fn constant(inputs: &[Option<Fact>], n: usize, what: &str) -> Result<Option<Arc<Tensor>>, OpError> {
    match given(inputs, n) {
        None => Ok(None),
        Some(Fact { constant: Some(tensor), .. }) => Ok(Some(Arc::clone(tensor))),
        Some(_) => Err(OpError(format!("{what} must not depend on the rows"))),
    }
}

/// Constant integers of input `n` where it is there.
///
/// # Errors
/// They depend on the rows or are no integers.
pub fn integers(inputs: &[Option<Fact>], n: usize, what: &str) -> Result<Option<Vec<i64>>, OpError> {
    let Some(tensor) = constant(inputs, n, what)? else { return Ok(None) };
    tensor.integers().map(Some).ok_or_else(|| OpError(format!("{what}: expected integers")))
}

/// Integers of an attribute, as older opsets have them, or else of input `n`.
///
/// # Errors
/// As [`integers`].
pub fn either(node: &Node, name: &str, inputs: &[Option<Fact>], n: usize) -> Result<Option<Vec<i64>>, OpError> {
    match node.ints(name)? {
        Some(list) => Ok(Some(list.to_vec())),
        None => integers(inputs, n, name),
    }
}

/// Sizes of a shape.
///
/// # Errors
/// One is negative.
pub fn sizes(list: &[i64]) -> Result<Vec<usize>, OpError> {
    let one = |n: &i64| usize::try_from(*n).map_err(|_| OpError(format!("{n} in {list:?} is no size")));
    list.iter().map(one).collect()
}

/// A shape cut at an axis: elements before, along and behind it.
#[must_use]
pub fn around(shape: &[usize], axis: usize) -> (usize, usize, usize) {
    let product = |dims: Option<&[usize]>| dims.unwrap_or_default().iter().product();
    (product(shape.get(..axis)), shape.get(axis).copied().unwrap_or(1), product(shape.get(axis + 1..)))
}
