//! Inputs as rows of numbers.

use super::super::op::{Fact, OpError};
use super::super::tensor::{Kind, View};

/// An input of one or two dimensions, seen as rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub kind: Kind,
    pub count: usize,
    pub width: usize,
}

impl Rows {
    /// # Errors
    /// No numbers, or another number of dimensions.
    pub(super) fn of(fact: &Fact) -> Result<Self, OpError> {
        let kind = fact.of.kind;
        if !kind.is_number() {
            return Err(OpError(format!("expected numbers as input 0, found {}", fact.of)));
        }
        let (count, width) = match fact.of.shape.as_slice() {
            [width] => (1, *width),
            [count, width] => (*count, *width),
            _ => return Err(OpError(format!("expected one or two dimensions of input 0, found {}", fact.of))),
        };
        Ok(Self { kind, count, width })
    }

    pub(super) fn len(self) -> usize {
        self.count * self.width
    }

    /// Bytes of the copy that [`as_f32`] makes.
    pub(super) fn copied(self) -> usize {
        if self.kind == Kind::F32 { 0 } else { self.len() * size_of::<f32>() }
    }

    /// What [`as_f32`] works in.
    pub(super) fn copy(self) -> Vec<f32> {
        vec![0.0; self.copied() / size_of::<f32>()]
    }
}

/// The numbers as f32: those of the view itself, or cast into `copy`, which is long enough.
pub(super) fn as_f32<'a>(view: View<'a>, copy: &'a mut [f32]) -> &'a [f32] {
    if let View::F32(numbers) = view {
        return numbers;
    }
    cast(view, copy);
    copy
}

/// Each number as f32, as far as both reach.
pub(super) fn cast(view: View<'_>, out: &mut [f32]) {
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // a cast to f32 is what is meant
    match view {
        View::F32(v) => out.iter_mut().zip(v).for_each(|(out, v)| *out = *v),
        View::F64(v) => out.iter_mut().zip(v).for_each(|(out, v)| *out = *v as f32),
        View::I64(v) => out.iter_mut().zip(v).for_each(|(out, v)| *out = *v as f32),
        View::I32(v) => out.iter_mut().zip(v).for_each(|(out, v)| *out = *v as f32),
        View::Bool(v) => out.iter_mut().zip(v).for_each(|(out, v)| *out = f32::from(*v)),
        View::Text(_) => {}
    }
}

/// The nearest f32.
#[allow(clippy::cast_possible_truncation)] // what is wanted
pub(super) fn single(value: f64) -> f32 {
    value as f32
}
