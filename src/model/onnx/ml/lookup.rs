//! Keys to values: the table behind `LabelEncoder`, `CategoryMapper` and `OneHotEncoder`.
//!
//! Texts are looked up by code, whole numbers of a narrow range by place, others by halving. Floats are equal as
//! numbers are: -0 is 0. A NaN equals a NaN.

use super::super::op::{Context, OpError};
use super::super::op::{Flow, Inputs, Op};
use super::super::tensor::{Data, Kind, TensorType, View};
use std::any::Any;
use std::sync::Arc;

/// Where a key's value stands.
#[derive(Debug)]
pub(super) enum Lookup {
    /// Keys from `base` on: one more than the place, 0 where there is none.
    Dense { base: i64, places: Vec<u32> },
    /// Ascending keys, and the place of each.
    Sorted { keys: Vec<i64>, places: Vec<u32> },
}

/// Which of two equal keys counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Equal {
    First,
    Last,
}

impl Lookup {
    /// Of whole numbers or codes of texts.
    ///
    /// # Errors
    /// It takes more bytes than are left.
    pub(super) fn new(keys: &[i64], equal: Equal, context: &mut Context) -> Result<Self, OpError> {
        context.take(keys.len().saturating_mul(64), "the table of keys")?;
        let mut sorted: Vec<(i64, u32)> = Vec::with_capacity(keys.len());
        for (place, key) in keys.iter().enumerate() {
            let place = u32::try_from(place).map_err(|_| OpError::new("expected fewer than 2^32 keys"))?;
            sorted.push((*key, place));
        }
        sorted.sort_unstable();
        if equal == Equal::Last {
            // The last of equal keys comes first, and is the one that stays.
            sorted.sort_unstable_by_key(|(key, place)| (*key, std::cmp::Reverse(*place)));
        }
        sorted.dedup_by_key(|(key, _)| *key);
        let first = sorted.first().map_or(0, |(key, _)| *key);
        let last = sorted.last().map_or(0, |(key, _)| *key);
        let span = last.checked_sub(first).and_then(|span| usize::try_from(span).ok());
        match span {
            // At most 32 bytes a key, as taken above.
            Some(span) if span < sorted.len().saturating_mul(8) => {
                let mut places = vec![0; span + 1];
                for (key, place) in sorted {
                    if let Some(slot) = usize::try_from(key - first).ok().and_then(|at| places.get_mut(at)) {
                        *slot = place + 1;
                    }
                }
                Ok(Self::Dense { base: first, places })
            }
            _ => {
                let (keys, places) = sorted.into_iter().unzip();
                Ok(Self::Sorted { keys, places })
            }
        }
    }

    /// The place of a key's value.
    pub(super) fn find(&self, key: i64) -> Option<usize> {
        match self {
            Self::Dense { base, places } => {
                let at = usize::try_from(key.checked_sub(*base)?).ok()?;
                places.get(at)?.checked_sub(1).map(|place| place as usize)
            }
            Self::Sorted { keys, places } => keys.binary_search(&key).ok().map(|at| places[at] as usize),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Dense { places, .. } => size_of_val(places.as_slice()),
            Self::Sorted { keys, places } => size_of_val(keys.as_slice()) + size_of_val(places.as_slice()),
        }
    }
}

/// A float as a key: equal numbers are equal keys.
pub(super) fn float_key(x: f64) -> i64 {
    let x = if x.is_nan() { f64::NAN } else { x + 0.0 };
    x.to_bits().cast_signed()
}

/// Each element of a tensor through a table.
#[derive(Debug)]
pub(super) struct Mapped {
    pub outputs: [TensorType; 1],
    pub table: Arc<Table>,
}

#[derive(Debug)]
pub(super) struct Table {
    pub lookup: Lookup,
    /// By place; behind them all the value of an unknown key.
    pub values: Data,
}

impl Table {
    pub(super) fn kind(&self) -> Kind {
        self.values.kind()
    }

    fn keys(&self, x: View<'_>, mut each: impl FnMut(usize, usize)) {
        let unknown = self.values.len() - 1;
        let mut put = |at: usize, key: i64| each(at, self.lookup.find(key).unwrap_or(unknown));
        match x {
            View::F32(x) => x.iter().enumerate().for_each(|(at, x)| put(at, float_key(f64::from(*x)))),
            View::F64(x) => x.iter().enumerate().for_each(|(at, x)| put(at, float_key(*x))),
            View::I64(x) => x.iter().enumerate().for_each(|(at, x)| put(at, *x)),
            View::I32(x) => x.iter().enumerate().for_each(|(at, x)| put(at, i64::from(*x))),
            View::Text(x) => x.iter().enumerate().for_each(|(at, x)| put(at, i64::from(*x))),
            View::Bool(x) => x.iter().enumerate().for_each(|(at, x)| put(at, i64::from(*x))),
        }
    }

    fn map<T: Copy>(&self, values: &[T], x: View<'_>, out: &mut [T]) {
        self.keys(x, |at, place| {
            if let (Some(out), Some(value)) = (out.get_mut(at), values.get(place)) {
                *out = *value;
            }
        });
    }
}

impl Op for Mapped {
    fn outputs(&self) -> &[TensorType] {
        &self.outputs
    }

    fn bytes(&self) -> usize {
        self.table.lookup.bytes() + self.table.values.len() * self.table.kind().bytes()
    }

    fn flow<'a>(&self, _: &dyn Fn(usize) -> Option<View<'a>>) -> Flow {
        Flow::Each { grows: false }
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        let x = inputs.get(0);
        match (&self.table.values, outputs.first_mut()) {
            (Data::F32(values), Some(Data::F32(out))) => self.table.map(values, x, out),
            (Data::F64(values), Some(Data::F64(out))) => self.table.map(values, x, out),
            (Data::I64(values), Some(Data::I64(out))) => self.table.map(values, x, out),
            (Data::I32(values), Some(Data::I32(out))) => self.table.map(values, x, out),
            (Data::Bool(values), Some(Data::Bool(out))) => self.table.map(values, x, out),
            (Data::Text(values), Some(Data::Text(out))) => self.table.map(values, x, out),
            _ => {}
        }
    }

    fn describe(&self) -> String {
        format!("{} keys", self.table.values.len() - 1)
    }
}
