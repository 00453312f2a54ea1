//! An ONNX graph's plan as a program: its columns, texts and outputs in the terms of a bundle.

use super::matching::Column;
use super::onnx::op::Dictionary;
use super::onnx::tensor::Kind;
use super::onnx::{OutputKind, Plan};
use super::outputs::{Means, OutputSpec};
use crate::features::{ColumnKind, Texts};
use std::sync::Arc;

/// What goes in, in order.
pub fn columns(plan: &Plan) -> Vec<Column> {
    let texts = Arc::new(texts(plan.dictionary()));
    let kind = |kind| match kind {
        Kind::F64 => ColumnKind::F64,
        Kind::F32 => ColumnKind::F32,
        Kind::Text => ColumnKind::Text(Arc::clone(&texts)),
        _ => ColumnKind::I64,
    };
    plan.columns().iter().map(|column| Column { name: column.name.clone(), kind: kind(column.kind) }).collect()
}

/// What comes out, in order.
pub fn outputs(plan: &Plan) -> Vec<OutputSpec> {
    let texts = Arc::new(texts(plan.dictionary()));
    // Beside a class the numbers are those of the classes.
    let classifies = plan.outputs().iter().any(|o| matches!(o.kind, OutputKind::Label | OutputKind::Text));
    let one = |output: &super::onnx::OutputSpec| OutputSpec {
        name: output.name.clone(),
        width: output.width,
        labels: output.labels.clone(),
        means: match output.kind {
            OutputKind::Number if classifies && output.width > 1 => Means::Probability,
            OutputKind::Number => Means::Number,
            OutputKind::Probability => Means::Probability,
            OutputKind::Label | OutputKind::Text => Means::Label,
        },
        texts: (output.kind == OutputKind::Text).then(|| Arc::clone(&texts)),
        aside: false,
    };
    plan.outputs().iter().map(one).collect()
}

/// Whether every number that comes out, labels aside, is an f32.
pub fn is_f32(plan: &Plan) -> bool {
    let numbers = |output: &&super::onnx::OutputSpec| !matches!(output.kind, OutputKind::Label | OutputKind::Text);
    plan.outputs().iter().filter(numbers).all(|output| output.of == Kind::F32)
}

/// The model's texts with their codes; a text that is not there is the empty one.
fn texts(dictionary: &Dictionary) -> Texts {
    let known = (0u32..).map_while(|code| dictionary.text(code).map(|text| (text.into(), f64::from(code))));
    Texts::new(known, f64::from(Dictionary::UNSEEN), f64::from(dictionary.code("")))
}
