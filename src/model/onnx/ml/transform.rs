//! What is done to scores at the end: the attribute `post_transform`.
//!
//! All in f32, in the order of the classes. `PROBIT` is the inverse normal distribution by Winitzki's approximation
//! of the inverse error function, with its constant 0.147, as ONNX Runtime has it.
//!
//! A single score that is no binary classifier's (a regressor of one target) takes LOGISTIC and PROBIT, which are
//! functions of one number; ONNX Runtime leaves out LOGISTIC there (its issue 26596). SOFTMAX leaves it as it is.

use super::super::op::{Node, OpError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transform {
    None,
    Softmax,
    Logistic,
    SoftmaxZero,
    Probit,
}

impl Transform {
    const ALL: [(&str, Self); 5] = [
        ("NONE", Self::None),
        ("SOFTMAX", Self::Softmax),
        ("LOGISTIC", Self::Logistic),
        ("SOFTMAX_ZERO", Self::SoftmaxZero),
        ("PROBIT", Self::Probit),
    ];

    /// Of the attribute `post_transform`, NONE where it is left out.
    pub(super) fn of(node: &Node) -> Result<Self, OpError> {
        let Some(name) = node.text("post_transform")? else { return Ok(Self::None) };
        let found = Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, transform)| *transform);
        found.ok_or_else(|| {
            OpError(format!(
                "attribute post_transform: expected NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT, found {name:?}"
            ))
        })
    }

    /// By the number that `TreeEnsemble` has.
    pub(super) fn numbered(number: i64) -> Result<Self, OpError> {
        let found = usize::try_from(number).ok().and_then(|at| Self::ALL.get(at));
        found
            .map(|(_, transform)| *transform)
            .ok_or_else(|| OpError(format!("attribute post_transform: expected 0 to 4, found {number}")))
    }

    pub(super) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, transform)| *transform == self).map_or("", |(name, _)| name)
    }

    /// In place, of one row.
    pub(super) fn apply(self, scores: &mut [f32]) {
        match self {
            Self::Logistic => scores.iter_mut().for_each(|score| *score = logistic(*score)),
            Self::Probit => scores.iter_mut().for_each(|score| *score = probit(*score)),
            Self::Softmax if scores.len() > 1 => softmax(scores),
            Self::SoftmaxZero if scores.len() > 1 => softmax_zero(scores),
            Self::None | Self::Softmax | Self::SoftmaxZero => {}
        }
    }
}

pub(super) fn logistic(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

pub(super) fn probit(p: f32) -> f32 {
    std::f32::consts::SQRT_2 * inverse_erf(2.0 * p - 1.0)
}

fn inverse_erf(x: f32) -> f32 {
    const A: f32 = 0.147;
    let sign = if x < 0.0 { -1.0 } else { 1.0 };
    let log = ((1.0 - x) * (1.0 + x)).ln();
    let half = 2.0 / (std::f32::consts::PI * A) + 0.5 * log;
    sign * ((half * half - 1.0 / A * log).sqrt() - half).sqrt()
}

fn greatest(scores: &[f32]) -> f32 {
    scores.iter().fold(f32::MIN, |greatest, score| if *score > greatest { *score } else { greatest })
}

fn softmax(scores: &mut [f32]) {
    let greatest = greatest(scores);
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = (*score - greatest).exp();
        sum += *score;
    }
    for score in scores {
        *score /= sum;
    }
}

/// Scores of zero stay about zero: a class without evidence.
fn softmax_zero(scores: &mut [f32]) {
    const ZERO: f32 = 0.000_000_1;
    let greatest = greatest(scores);
    let small = (-greatest).exp();
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        if *score > ZERO || *score < -ZERO {
            *score = (*score - greatest).exp();
            sum += *score;
        } else {
            *score *= small;
        }
    }
    for score in scores {
        *score /= sum;
    }
}
