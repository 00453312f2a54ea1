//! An ONNX graph's plan as a program: its columns, texts and outputs in the terms of a bundle.

use super::matching::Column;
use super::onnx::op::Dictionary;
use super::onnx::tensor::Kind;
use super::onnx::{OutputKind, Plan};
use super::outputs::{Means, OutputSpec};
use super::timing::probe_rows;
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
    let probable = probable(plan);
    let means = |kind: OutputKind, probable: bool| match kind {
        OutputKind::Number | OutputKind::Probability if probable => Means::Probability,
        OutputKind::Number | OutputKind::Probability => Means::Number,
        OutputKind::Label | OutputKind::Text => Means::Label,
    };
    let one = |(output, probable): (&super::onnx::OutputSpec, bool)| OutputSpec {
        name: output.name.clone(),
        width: output.width,
        labels: output.labels.clone(),
        means: means(output.kind, probable),
        texts: (output.kind == OutputKind::Text).then(|| Arc::clone(&texts)),
        aside: false,
    };
    plan.outputs().iter().zip(probable).map(one).collect()
}

/// Rows that are tried.
const TRIED: usize = 32;
/// How far probabilities may be from summing to 1.
const SUM_TOLERANCE: f64 = 1e-4;

/// Which outputs are the classes' probabilities: those that lie from 0 to 1 on every row that is tried, and, where the
/// graph does not name the classes but gives a class beside several numbers, sum to 1. Files call decision values
/// "probabilities" as well.
fn probable(plan: &Plan) -> Vec<bool> {
    let classifies = plan.outputs().iter().any(|o| matches!(o.kind, OutputKind::Label | OutputKind::Text));
    let may_be = |output: &super::onnx::OutputSpec| match output.kind {
        OutputKind::Probability => true,
        OutputKind::Number => classifies && output.width > 1,
        OutputKind::Label | OutputKind::Text => false,
    };
    let mut probable: Vec<bool> = plan.outputs().iter().map(may_be).collect();
    if !probable.contains(&true) {
        return probable;
    }
    let rows = probe_rows(TRIED * plan.columns().len());
    let mut numbers = vec![f64::NAN; TRIED * plan.out_width()];
    plan.run(&rows, &mut numbers, &mut plan.scratch(TRIED));
    for row in numbers.chunks_exact(plan.out_width().max(1)) {
        let mut start = 0;
        for (output, probable) in plan.outputs().iter().zip(&mut probable) {
            let of = row.get(start..start + output.width).unwrap_or_default();
            start += output.width;
            // A row that the model has no answer to says nothing.
            if of.iter().all(|number| number.is_finite()) {
                let sums =
                    output.kind == OutputKind::Probability || (of.iter().sum::<f64>() - 1.0).abs() <= SUM_TOLERANCE;
                *probable &= sums && of.iter().all(|p| (0.0..=1.0).contains(p));
            }
        }
    }
    probable
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
