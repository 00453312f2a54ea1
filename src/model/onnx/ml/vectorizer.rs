//! `FeatureVectorizer`: several inputs side by side, as f32. `DictVectorizer`: a map by the names of its vocabulary.
//!
//! A map does not occur in rows of columns: where a `DictVectorizer` takes the model's input, the names of its
//! vocabulary are the columns ([`dictionary_columns`]), and a missing cell is a key that the map lacks: 0.

use super::super::op::{Built, Context, Fact, Inputs, Node, Op, OpError, need};
use super::super::tensor::{Data, Kind, TensorType, View};
use super::rows::single;
use std::any::Any;

#[derive(Debug)]
struct Features {
    outputs: [TensorType; 1],
    /// Of each input: columns it has, and columns it fills.
    parts: Vec<(usize, usize)>,
}

pub(super) fn build_features(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let told = node.ints("inputdimensions")?.unwrap_or_default();
    if told.len() != inputs.len() || told.is_empty() {
        return Err(OpError(format!(
            "attribute inputdimensions: expected one a input of {}, found {}",
            inputs.len(),
            told.len()
        )));
    }
    let mut parts = Vec::new();
    let mut total = 0usize;
    let mut count = None;
    for (n, told) in told.iter().enumerate() {
        let of = &need(inputs, n)?.of;
        let (rows, width) = match of.shape.as_slice() {
            [width] => (1, *width),
            [rows, ..] => (*rows, of.row_len()),
            [] => return Err(OpError(format!("expected rows as input {n}, found {of}"))),
        };
        if !of.kind.is_number() || *count.get_or_insert(rows) != rows {
            return Err(OpError(format!("expected as many rows of numbers as in input 0 as input {n}, found {of}")));
        }
        let filled = usize::try_from(*told).ok().filter(|filled| *filled <= 1 << 24);
        let filled =
            filled.ok_or_else(|| OpError(format!("expected at most 2^24 columns of input {n}, found {told}")))?;
        parts.push((width, filled));
        total += filled;
    }
    let outputs = [TensorType::new(Kind::F32, [count.unwrap_or(1), total])];
    Ok(Built::op(Features { outputs, parts }))
}

#[allow(clippy::cast_precision_loss)] // a cast to f32 is what is meant
fn copy(view: View<'_>, from: usize, out: &mut [f32]) {
    match view {
        View::F32(x) => out.iter_mut().zip(x.iter().skip(from)).for_each(|(out, x)| *out = *x),
        View::F64(x) => out.iter_mut().zip(x.iter().skip(from)).for_each(|(out, x)| *out = single(*x)),
        View::I64(x) => out.iter_mut().zip(x.iter().skip(from)).for_each(|(out, x)| *out = *x as f32),
        View::I32(x) => out.iter_mut().zip(x.iter().skip(from)).for_each(|(out, x)| *out = *x as f32),
        View::Bool(_) | View::Text(_) => {}
    }
}

impl Op for Features {
    fn outputs(&self) -> &[TensorType] {
        &self.outputs
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        let Some(Data::F32(out)) = outputs.first_mut() else { return };
        let total = self.outputs[0].row_len().max(1);
        for (row, cells) in out.chunks_exact_mut(total).enumerate() {
            let mut rest = cells;
            for (n, (width, filled)) in self.parts.iter().enumerate() {
                let (part, behind) = rest.split_at_mut((*filled).min(rest.len()));
                let (used, padding) = part.split_at_mut((*width).min(part.len()));
                copy(inputs.get(n), row * width, used);
                padding.fill(0.0);
                rest = behind;
            }
        }
    }

    fn describe(&self) -> String {
        format!("{} inputs", self.parts.len())
    }
}

/// The columns that a map's keys become.
///
/// # Errors
/// No vocabulary.
pub fn dictionary_columns(node: &Node) -> Result<Vec<String>, OpError> {
    let texts = node.texts("string_vocabulary")?.unwrap_or_default();
    let numbers = node.ints("int64_vocabulary")?.unwrap_or_default();
    match (texts, numbers) {
        ([], []) => Err(OpError::new("expected a vocabulary, found none")),
        (texts, []) => Ok(texts.to_vec()),
        ([], numbers) => Ok(numbers.iter().map(ToString::to_string).collect()),
        _ => Err(OpError::new("expected one vocabulary, found two")),
    }
}

#[derive(Debug)]
struct Columns {
    outputs: [TensorType; 1],
}

pub(super) fn build_dictionary(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let columns = dictionary_columns(node)?.len();
    let x = &need(inputs, 0)?.of;
    if !x.kind.is_number() || x.rank() != 2 || x.row_len() != columns {
        return Err(OpError(format!(
            "expected a map of numbers that comes as the model's input, in {columns} columns, found {x}"
        )));
    }
    Ok(Built::op(Columns { outputs: [x.clone()] }))
}

impl Op for Columns {
    fn outputs(&self) -> &[TensorType] {
        &self.outputs
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        match (inputs.get(0), outputs.first_mut()) {
            (View::F32(x), Some(Data::F32(out))) => {
                out.iter_mut().zip(x).for_each(|(out, x)| *out = if x.is_nan() { 0.0 } else { *x });
            }
            (View::F64(x), Some(Data::F64(out))) => {
                out.iter_mut().zip(x).for_each(|(out, x)| *out = if x.is_nan() { 0.0 } else { *x });
            }
            (View::I64(x), Some(Data::I64(out))) => out.iter_mut().zip(x).for_each(|(out, x)| *out = *x),
            (View::I32(x), Some(Data::I32(out))) => out.iter_mut().zip(x).for_each(|(out, x)| *out = *x),
            _ => {}
        }
    }
}
