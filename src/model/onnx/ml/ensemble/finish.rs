//! From a row's sums to scores and a label.
//!
//! **Two classes, one weight column.** All weights may stand on class 0 or on class 1: either way their sum `s` is
//! the second class's. Without a transform the scores are 1 - s and s where no weight is negative (probabilities; the
//! second class has it above 0.5), else -s and s (margins; above 0), as in ONNX Runtime. LOGISTIC makes them the
//! sigmoids of -s and s, also where no weight is negative: the trees' library means it so, ONNX Runtime leaves it out
//! there (its issue 27533).
//!
//! **Several columns.** Each class has its own sum; the label is the first of the greatest, among the classes that
//! have weights or base values. (ONNX Runtime takes the second of two where its sum is above 0.)

use super::super::super::op::OpError;
use super::super::super::sums::{self, Combination};
use super::super::super::tensor::Data;
use super::super::labels::Labels;
use super::super::rows::single;
use super::super::transform::{Transform, probit};
use super::Used;
use super::attributes::Listed;

#[derive(Debug)]
pub(super) enum Finish {
    Classes { labels: Labels, column: Column, transform: Transform },
    Targets { transform: Transform },
}

/// Which sums a classifier has.
#[derive(Debug)]
pub(super) enum Column {
    /// That of the second of two classes; whether no weight is negative.
    One { positive: bool },
    /// One a class; whether the class can have the label.
    Each(Vec<bool>),
}

/// How a classifier with these weights ends, and what its sums are made of.
pub(super) fn classes(listed: &Listed<'_>, labels: Labels, transform: Transform) -> Result<(Finish, Used), OpError> {
    let count = labels.len();
    if count > super::super::super::super::trees::forest::TARGETS_MAX {
        return Err(OpError(format!("found {count} classes, too many")));
    }
    let base = listed.base.all();
    let mut fed = vec![false; count];
    for id in listed.leaf_targets {
        let class = usize::try_from(*id).ok().and_then(|id| fed.get_mut(id));
        *class.ok_or_else(|| OpError(format!("expected class ids below {count}, found {id}")))? = true;
    }
    let one = count == 2 && fed.iter().filter(|fed| **fed).count() == 1;
    if !base.is_empty() && base.len() != count && !(count == 2 && base.len() == 1) {
        return Err(OpError(format!("expected a base value of each of {count} classes, found {}", base.len())));
    }
    if one {
        let positive = (0..listed.leaf_weights.len()).all(|at| listed.leaf_weights.get(at) >= Some(0.0));
        let base = base.last().map(|last| vec![*last]).unwrap_or_default();
        let used = Used { single: true, base, ..Used::plain(1) };
        return Ok((Finish::Classes { labels, column: Column::One { positive }, transform }, used));
    }
    let mut base = base;
    if base.len() == 1 && count == 2 {
        base.push(0.0);
    }
    if !base.is_empty() {
        fed.fill(true);
    }
    let used = Used { base, ..Used::plain(count) };
    Ok((Finish::Classes { labels, column: Column::Each(fed), transform }, used))
}

impl Finish {
    pub(super) fn transform(&self) -> Transform {
        match self {
            Self::Classes { transform, .. } | Self::Targets { transform } => *transform,
        }
    }

    /// Which output the scores are, what each of them grows with, and whether they are shares.
    pub(super) fn sums(&self, targets: usize) -> Option<(usize, Vec<Option<Combination>>, bool)> {
        let softmax = self.transform() == Transform::Softmax;
        let scores = match self {
            _ if self.transform() == Transform::SoftmaxZero => return None,
            Self::Classes { column: Column::One { .. }, .. } => sums::one_sum(),
            _ if softmax => sums::softmax(targets),
            _ => sums::each(targets),
        };
        match self {
            Self::Classes { column: Column::One { .. }, transform, .. } => {
                // Scores of one sum are not put through a softmax.
                Some((1, scores, *transform == Transform::Logistic))
            }
            Self::Classes { .. } => Some((1, scores, softmax && targets > 1)),
            Self::Targets { .. } => Some((0, scores, false)),
        }
    }

    fn classes(&self) -> Option<usize> {
        if let Self::Classes { labels, .. } = self { Some(labels.len()) } else { None }
    }

    /// Scores of a row.
    pub(super) fn width(&self, targets: usize) -> usize {
        self.classes().unwrap_or(targets)
    }

    /// All rows. `spare` takes the scores where the graph does not want them.
    pub(super) fn rows(&self, sums: &[f64], targets: usize, outputs: &mut [Data], spare: &mut [f32]) {
        let sums = sums.chunks_exact(targets.max(1));
        match self {
            Self::Targets { transform } => targets_of(*transform, sums, outputs, spare),
            Self::Classes { labels, column, transform } => {
                let (label, scores) = outputs.split_at_mut(outputs.len().min(1));
                let scores = match scores.first_mut() {
                    Some(Data::F32(scores)) => scores.as_mut_slice(),
                    _ => spare,
                };
                for (row, (sums, scores)) in sums.zip(scores.chunks_exact_mut(labels.len())).enumerate() {
                    let class = column.row(sums, *transform, scores);
                    if let Some(label) = label.first_mut() {
                        labels.write(class, row, label);
                    }
                }
            }
        }
    }
}

fn targets_of<'a>(
    transform: Transform,
    sums: impl Iterator<Item = &'a [f64]>,
    outputs: &mut [Data],
    spare: &mut [f32],
) {
    match outputs.first_mut() {
        Some(Data::F32(out)) => {
            let mut at = 0;
            for sums in sums {
                let Some(scores) = out.get_mut(at..at + sums.len()) else { return };
                scores.iter_mut().zip(sums).for_each(|(score, sum)| *score = single(*sum));
                transform.apply(scores);
                at += sums.len();
            }
        }
        // Version 5 answers in the kind of its input. Transforms are f32's all the same.
        Some(Data::F64(out)) => {
            let mut at = 0;
            for sums in sums {
                let (Some(out), Some(scores)) = (out.get_mut(at..at + sums.len()), spare.get_mut(..sums.len())) else {
                    return;
                };
                out.copy_from_slice(sums);
                if transform != Transform::None {
                    scores.iter_mut().zip(sums).for_each(|(score, sum)| *score = single(*sum));
                    transform.apply(scores);
                    out.iter_mut().zip(scores).for_each(|(out, score)| *out = f64::from(*score));
                }
                at += sums.len();
            }
        }
        _ => {}
    }
}

impl Column {
    /// The scores of a row, and the class that has the label.
    fn row(&self, sums: &[f64], transform: Transform, scores: &mut [f32]) -> usize {
        match (self, sums) {
            (Self::One { positive }, [sum]) => {
                let as_probability = *positive && transform != Transform::Logistic;
                let rest = if as_probability { 1.0 - sum } else { -sum };
                scores.copy_from_slice(&[single(rest), single(*sum)]);
                match transform {
                    Transform::Logistic => transform.apply(scores),
                    Transform::Probit => {
                        let second = probit(single(*sum));
                        scores.copy_from_slice(&[-second, second]);
                    }
                    _ => {}
                }
                usize::from(*sum > if as_probability { 0.5 } else { 0.0 })
            }
            (Self::Each(fed), sums) => {
                scores.iter_mut().zip(sums).for_each(|(score, sum)| *score = single(*sum));
                transform.apply(scores);
                first_of_greatest(sums, fed)
            }
            _ => 0,
        }
    }
}

fn first_of_greatest(sums: &[f64], fed: &[bool]) -> usize {
    let mut best: Option<(usize, f64)> = None;
    for (at, (sum, _)) in sums.iter().zip(fed).enumerate().filter(|(_, (_, fed))| **fed) {
        if best.is_none_or(|(_, most)| *sum > most) {
            best = Some((at, *sum));
        }
    }
    best.map_or(0, |(at, _)| at)
}
