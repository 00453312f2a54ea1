//! The figures of a tally: agreement, the matrix of decisions, drift of the scores, precision and recall.
//!
//! Of the decision d, over the events whose label is known: precision is the share of those decided d whose label is
//! above 0, recall the share of those whose label is above 0 that were decided d.

use super::tally::{Side, Tally};
use crate::engine::Comparison;

/// The shares at which the differences of scores are shown.
pub(super) const QUANTILES: [f64; 9] = [0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0];

#[derive(Debug, Default)]
pub(super) struct Figures {
    pub events: u64,
    pub bad: u64,
    pub repeats: u64,
    pub no_labels: u64,
    pub unmet: u64,
    /// Events with both verdicts; the figures below are theirs.
    pub compared: u64,
    pub agreed: u64,
    /// Names of the decisions that occur, and `matrix[was][is]`.
    pub decisions: Vec<String>,
    pub matrix: Vec<Vec<u64>>,
    pub scores: Option<Scores>,
    pub labelled: u64,
    pub positive: u64,
    /// A decision each, as `decisions`.
    pub judged: Vec<(Judged, Judged)>,
}

/// How the scores of those events that have both moved.
#[derive(Debug)]
pub(super) struct Scores {
    pub events: u64,
    pub was_mean: f64,
    pub is_mean: f64,
    /// Mean of |is - was|.
    pub distance: f64,
    /// Of is - was, at [`QUANTILES`].
    pub quantiles: [f64; QUANTILES.len()],
    /// The population stability index, as of a shadow.
    pub stability: Option<f64>,
}

/// How good one decision was.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Judged {
    /// Events decided so, whether labelled or not.
    pub events: u64,
    pub labelled: u64,
    pub positive: u64,
}

impl Judged {
    /// None where no labelled event was decided so.
    pub fn precision(self) -> Option<f64> {
        share(self.positive, self.labelled)
    }

    /// `all`: labelled events whose label is above 0. None where there are none.
    pub fn recall(self, all: u64) -> Option<f64> {
        share(self.positive, all)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts, shown as shares")]
pub(super) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl Figures {
    pub fn of(tally: &Tally) -> Self {
        let count = tally.names.all().len();
        let mut figures = Self {
            events: tally.events(),
            bad: tally.bad,
            repeats: tally.repeats,
            no_labels: tally.no_labels,
            unmet: tally.unmet,
            decisions: tally.names.all().to_vec(),
            matrix: vec![vec![0; count]; count],
            judged: vec![Default::default(); count],
            ..Self::default()
        };
        let mut moved = Vec::new();
        let mut comparison = Comparison::default();
        for (was, is, label) in tally.pairs() {
            figures.add(was, is, label);
            if let (Some(before), Some(now)) = (was.score(), is.score()) {
                comparison.note(("", before), ("", Some(now)));
                moved.push((before, now));
            }
        }
        figures.scores = scores(&mut moved, comparison.drift());
        figures.leave_out();
        figures
    }

    fn add(&mut self, was: Side, is: Side, label: Option<f64>) {
        let (before, now) = (usize::from(was.decision), usize::from(is.decision));
        self.compared += 1;
        self.agreed += u64::from(before == now);
        if let Some(count) = self.matrix.get_mut(before).and_then(|row| row.get_mut(now)) {
            *count += 1;
        }
        let positive = label.is_some_and(|label| label > 0.0);
        self.labelled += u64::from(label.is_some());
        self.positive += u64::from(positive);
        let note = |judged: &mut Judged| {
            judged.events += 1;
            judged.labelled += u64::from(label.is_some());
            judged.positive += u64::from(positive);
        };
        if let Some((was, _)) = self.judged.get_mut(before) {
            note(was);
        }
        if let Some((_, is)) = self.judged.get_mut(now) {
            note(is);
        }
    }

    /// Decisions that neither made.
    fn leave_out(&mut self) {
        let used: Vec<bool> = self.judged.iter().map(|(was, is)| was.events + is.events > 0).collect();
        let keep = |n: usize| used.get(n).copied().unwrap_or_default();
        kept(&mut self.decisions, keep);
        kept(&mut self.judged, keep);
        self.matrix.iter_mut().for_each(|row| kept(row, keep));
        kept(&mut self.matrix, keep);
    }
}

/// Leaves in a list the places that are to be kept.
fn kept<T>(list: &mut Vec<T>, keep: impl Fn(usize) -> bool) {
    let mut n = 0;
    list.retain(|_| {
        n += 1;
        keep(n - 1)
    });
}

#[expect(clippy::cast_precision_loss, reason = "counts of events")]
fn scores(moved: &mut [(f64, f64)], stability: Option<f64>) -> Option<Scores> {
    let count = moved.len() as f64;
    if moved.is_empty() {
        return None;
    }
    // Sorted, so that a sum does not depend on the order of a map.
    moved.sort_unstable_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)).then(a.0.total_cmp(&b.0)));
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| moved.iter().map(of).sum::<f64>() / count;
    let (was_mean, is_mean) = (mean(&|pair| pair.0), mean(&|pair| pair.1));
    let distance = mean(&|pair| (pair.1 - pair.0).abs());
    let quantiles = QUANTILES.map(|share| {
        let (was, is) = moved.get(rank(share, moved.len())).copied().unwrap_or_default();
        is - was
    });
    Some(Scores { events: moved.len() as u64, was_mean, is_mean, distance, quantiles, stability })
}

/// The nearest rank, from 0 on.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within it")]
fn rank(share: f64, count: usize) -> usize {
    ((share * count as f64).ceil() as usize).clamp(1, count.max(1)) - 1
}
