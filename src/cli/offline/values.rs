//! A row of features as people read it: by name, a text where the model takes one.

use crate::features::{ColumnKind, FeatureSet};

/// One column's value.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cli) enum Value {
    /// NaN where it is missing.
    Number(f64),
    /// None for a text that the model does not know, or none.
    Text(Option<String>),
}

/// The columns of a row with their names, in order.
pub(in crate::cli) fn values<'a>(features: &'a FeatureSet, row: &'a [f64]) -> impl Iterator<Item = (&'a str, Value)> {
    features.names().iter().zip(features.kinds()).zip(row).map(|((name, kind), value)| {
        let value = match kind {
            ColumnKind::Text(texts) => Value::Text(texts.text(*value).map(str::to_owned)),
            // Before it is cut to what the model takes.
            ColumnKind::F32 | ColumnKind::F64 | ColumnKind::I64 => Value::Number(*value),
        };
        (name.as_str(), value)
    })
}
