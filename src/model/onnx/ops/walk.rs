//! Walking over tensors whose shapes are stretched, turned or cut: one position each for K inputs, row by row.
//!
//! Every output element belongs to one element of each input, at an offset that grows by a fixed stride along each
//! dimension: 0 where the input is stretched, negative where it is reversed. Dimensions that run on are joined, so a
//! sum of two equal shapes is one loop.

use super::super::op::OpError;
use super::super::tensor::count;

/// More than a tensor's dimensions doubled would be too many here; a file's have at most 12.
const RANK_MAX: usize = 24;

/// Strides of a contiguous tensor.
#[must_use]
pub fn strides(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![0; shape.len()];
    let mut step = 1isize;
    for (stride, dim) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step = step.saturating_mul(isize::try_from(*dim).unwrap_or(isize::MAX));
    }
    strides
}

/// The shape that all of these are stretched to (ONNX, "Multidirectional Broadcasting").
///
/// # Errors
/// They do not go together.
pub fn broadcast(shapes: &[&[usize]]) -> Result<Vec<usize>, OpError> {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let mut out = vec![1; rank];
    for shape in shapes {
        for (out, dim) in out.iter_mut().rev().zip(shape.iter().rev()) {
            if *out == 1 {
                *out = *dim;
            } else if *dim != 1 && *dim != *out {
                return Err(OpError(format!("shapes {shapes:?} do not go together")));
            }
        }
    }
    Ok(out)
}

/// Strides with which a shape is stretched to `out`.
///
/// # Errors
/// It cannot be.
pub fn stretched(shape: &[usize], out: &[usize]) -> Result<Vec<isize>, OpError> {
    let fail = || OpError(format!("shape {shape:?} cannot be stretched to {out:?}"));
    let missing = out.len().checked_sub(shape.len()).ok_or_else(fail)?;
    let mut found = vec![0; out.len()];
    for ((stride, (dim, own)), out) in
        found.iter_mut().skip(missing).zip(shape.iter().zip(strides(shape))).zip(&out[missing..])
    {
        if dim == out {
            *stride = own;
        } else if *dim != 1 {
            return Err(fail());
        }
    }
    Ok(found)
}

/// Where K inputs stand for each output element.
#[derive(Clone, Debug)]
pub struct Walk<const K: usize> {
    /// The last one is the inner loop.
    dims: Vec<usize>,
    strides: Vec<[isize; K]>,
    base: [isize; K],
}

impl<const K: usize> Walk<K> {
    /// An output of `shape`; inputs that begin at `base` and step by `strides`.
    ///
    /// # Errors
    /// More dimensions than a tensor may have.
    pub fn new(shape: &[usize], strides: &[Vec<isize>; K], base: [isize; K]) -> Result<Self, OpError> {
        let at = |n: usize| std::array::from_fn(|k| strides[k].get(n).copied().unwrap_or(0));
        let mut dims: Vec<usize> = Vec::new();
        let mut joined: Vec<[isize; K]> = Vec::new();
        for (n, dim) in shape.iter().enumerate() {
            if *dim == 1 {
                continue;
            }
            let next: [isize; K] = at(n);
            let whole = isize::try_from(*dim).unwrap_or(isize::MAX);
            let runs_on = |last: &[isize; K]| (0..K).all(|k| last[k] == next[k].saturating_mul(whole));
            match (dims.last_mut(), joined.last_mut()) {
                (Some(size), Some(last)) if runs_on(last) => {
                    *size = size.saturating_mul(*dim);
                    *last = next;
                }
                _ => {
                    dims.push(*dim);
                    joined.push(next);
                }
            }
        }
        if dims.is_empty() {
            dims.push(1);
            joined.push([0; K]);
        }
        if dims.len() > RANK_MAX {
            return Err(OpError(format!("expected at most {RANK_MAX} dimensions")));
        }
        Ok(Self { dims, strides: joined, base })
    }

    /// K inputs of these shapes, stretched to one.
    ///
    /// # Errors
    /// They do not go together.
    pub fn broadcast(out: &[usize], shapes: [&[usize]; K]) -> Result<Self, OpError> {
        let mut all: [Vec<isize>; K] = std::array::from_fn(|_| Vec::new());
        for (strides, shape) in all.iter_mut().zip(shapes) {
            *strides = stretched(shape, out)?;
        }
        Self::new(out, &all, [0; K])
    }

    /// Steps of the inner loop.
    #[must_use]
    pub fn inner(&self) -> [isize; K] {
        self.strides.last().copied().unwrap_or([0; K])
    }

    /// Calls with the output's position, the inputs' offsets and the number of elements of each inner row.
    pub fn each(&self, mut row: impl FnMut(usize, [isize; K], usize)) {
        if count(&self.dims) == Some(0) {
            return;
        }
        let Some((len, outer)) = self.dims.split_last() else { return };
        let mut index = [0usize; RANK_MAX];
        let mut at = self.base;
        let mut out = 0;
        loop {
            row(out, at, *len);
            out += len;
            let mut n = outer.len();
            loop {
                let Some(before) = n.checked_sub(1) else { return };
                n = before;
                index[n] += 1;
                let strides = &self.strides[n];
                if index[n] < outer[n] {
                    (0..K).for_each(|k| at[k] += strides[k]);
                    break;
                }
                index[n] = 0;
                let back = isize::try_from(outer[n] - 1).unwrap_or(0);
                (0..K).for_each(|k| at[k] -= strides[k] * back);
            }
        }
    }
}

/// Element `at + n * step`; a default where that is outside (it is not, in a walk that was built for the tensor).
#[inline]
pub fn pick<T: Copy + Default>(v: &[T], at: isize, step: isize, n: usize) -> T {
    let at = at + step * n.cast_signed();
    usize::try_from(at).ok().and_then(|at| v.get(at)).copied().unwrap_or_default()
}

/// `out[i] = f(a[i], b[i])`, both stretched.
#[inline]
pub fn zip<A: Copy + Default, B: Copy + Default, O>(
    walk: &Walk<2>,
    a: &[A],
    b: &[B],
    out: &mut [O],
    f: impl Fn(A, B) -> O,
) {
    let [sa, sb] = walk.inner();
    walk.each(|to, [at_a, at_b], len| {
        let Some(out) = out.get_mut(to..to + len) else { return };
        let whole = |at: isize| usize::try_from(at).unwrap_or(usize::MAX);
        let row_a = if sa == 1 { a.get(whole(at_a)..).and_then(|a| a.get(..len)) } else { None };
        let row_b = if sb == 1 { b.get(whole(at_b)..).and_then(|b| b.get(..len)) } else { None };
        match (row_a, row_b) {
            (Some(a), Some(b)) => out.iter_mut().zip(a.iter().zip(b)).for_each(|(out, (a, b))| *out = f(*a, *b)),
            (Some(a), None) if sb == 0 => {
                let b = pick(b, at_b, 0, 0);
                out.iter_mut().zip(a).for_each(|(out, a)| *out = f(*a, b));
            }
            (None, Some(b)) if sa == 0 => {
                let a = pick(a, at_a, 0, 0);
                out.iter_mut().zip(b).for_each(|(out, b)| *out = f(a, *b));
            }
            _ => {
                for (n, out) in out.iter_mut().enumerate() {
                    *out = f(pick(a, at_a, sa, n), pick(b, at_b, sb, n));
                }
            }
        }
    });
}

/// `out[i] = a[i]`, walked.
#[inline]
pub fn copy<A: Copy + Default>(walk: &Walk<1>, a: &[A], out: &mut [A]) {
    let [step] = walk.inner();
    walk.each(|to, [at], len| {
        let Some(out) = out.get_mut(to..to + len) else { return };
        let row = usize::try_from(at).ok().and_then(|at| a.get(at..)?.get(..len));
        if step == 1
            && let Some(row) = row
        {
            out.copy_from_slice(row);
            return;
        }
        for (n, out) in out.iter_mut().enumerate() {
            *out = pick(a, at, step, n);
        }
    });
}
