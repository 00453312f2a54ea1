//! `Imputer`: cells that equal one value (NaN included) become another, one for all columns or one a column.
//!
//! As many values as columns are one a column; otherwise the first is everyone's, as ONNX Runtime takes it.

use super::super::op::{Built, Context, Fact, Flow, Inputs, Node, Op, OpError, need};
use super::super::tensor::{Data, Kind, TensorType, View};
use super::scaler::columns;
use std::any::Any;

/// `T` is the kind of the cells.
#[derive(Debug)]
struct Imputer<T> {
    outputs: [TensorType; 1],
    replaced: T,
    /// One, or one a column.
    values: Vec<T>,
}

trait Cell: Copy + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    fn is_nan(self) -> bool;
    fn view(view: View<'_>) -> &[Self];
    fn data(data: &mut Data) -> &mut [Self];
}

macro_rules! cell {
    ($type:ty, $nan:expr, $view:ident, $data:ident) => {
        impl Cell for $type {
            fn is_nan(self) -> bool {
                $nan(self)
            }

            fn view(view: View<'_>) -> &[Self] {
                view.$view()
            }

            fn data(data: &mut Data) -> &mut [Self] {
                data.$data()
            }
        }
    };
}

cell!(f32, f32::is_nan, f32, f32_mut);
cell!(f64, f64::is_nan, f64, f64_mut);
cell!(i64, |_| false, i64, i64_mut);
cell!(i32, |_| false, i32, i32_mut);

pub(super) fn build(node: &Node, inputs: &[Option<Fact>], context: &mut Context) -> Result<Built, OpError> {
    let x = need(inputs, 0)?;
    let columns = columns(&x.of).ok_or_else(|| OpError(format!("expected rows as input 0, found {}", x.of)))?;
    let floats = node.floats("imputed_value_floats")?.unwrap_or_default();
    let integers = node.ints("imputed_value_int64s")?.unwrap_or_default();
    let (found, expected) = match x.of.kind {
        Kind::F32 | Kind::F64 => (floats.len(), "imputed_value_floats"),
        Kind::I64 | Kind::I32 => (integers.len(), "imputed_value_int64s"),
        Kind::Bool | Kind::Text => return Err(OpError(format!("expected numbers as input 0, found {}", x.of))),
    };
    if found == 0 {
        return Err(OpError(format!("expected {expected} for {}, found none", x.of)));
    }
    let used = if found == columns && x.of.rank() <= 2 { found } else { 1 };
    context.take(used * x.of.kind.bytes(), "the table")?;
    let float = node.float("replaced_value_float")?.unwrap_or_default();
    let integer = node.int("replaced_value_int64")?.unwrap_or_default();
    let outputs = [x.of.clone()];
    let floats = floats.iter().take(used);
    let integers = integers.iter().take(used);
    let wide = |v: &i64| i32::try_from(*v).map_err(|_| OpError(format!("expected an int32 to impute, found {v}")));
    Ok(match x.of.kind {
        Kind::F32 => Built::op(Imputer { outputs, replaced: float, values: floats.copied().collect() }),
        Kind::F64 => {
            let values = floats.copied().map(f64::from).collect();
            Built::op(Imputer { outputs, replaced: f64::from(float), values })
        }
        Kind::I32 => {
            let values = integers.map(wide).collect::<Result<_, _>>()?;
            Built::op(Imputer { outputs, replaced: wide(&integer)?, values })
        }
        _ => Built::op(Imputer { outputs, replaced: integer, values: integers.copied().collect() }),
    })
}

impl<T: Cell> Imputer<T> {
    fn imputed(&self, x: T, value: T) -> T {
        // Equality of numbers is what the operator means.
        if x == self.replaced || (x.is_nan() && self.replaced.is_nan()) { value } else { x }
    }
}

impl<T: Cell> Op for Imputer<T> {
    fn outputs(&self) -> &[TensorType] {
        &self.outputs
    }

    fn bytes(&self) -> usize {
        size_of_val(self.values.as_slice())
    }

    fn in_place(&self) -> bool {
        true
    }

    fn flow<'a>(&self, _: &dyn Fn(usize) -> Option<View<'a>>) -> Flow {
        Flow::Each { grows: false }
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], scratch: &mut dyn Any) {
        let Some(out) = outputs.first_mut() else { return };
        let x = T::view(inputs.get(0));
        T::data(out).iter_mut().zip(x).for_each(|(out, x)| *out = *x);
        self.run_in_place(inputs, out, scratch);
    }

    fn run_in_place(&self, _: &Inputs<'_>, data: &mut Data, _: &mut dyn Any) {
        let data = T::data(data);
        if let [value] = self.values.as_slice() {
            for x in data {
                *x = self.imputed(*x, *value);
            }
            return;
        }
        for row in data.chunks_exact_mut(self.values.len()) {
            row.iter_mut().zip(&self.values).for_each(|(x, value)| *x = self.imputed(*x, *value));
        }
    }

    fn describe(&self) -> String {
        format!("{} values", self.values.len())
    }
}
