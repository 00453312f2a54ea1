//! Scores of rows, and the features that raised one: what the engine calls.

use super::decision::REASONS_MAX;
use super::plan::{BLOCK_ROWS, Plan, Scratch};
use crate::features::FeatureSet;
use std::sync::Arc;

/// A feature is a reason only if replacing it lowers the margin (the logit, where there is one) by more.
const REASON_MARGIN_MIN: f64 = 1e-3;

/// One thread's way to the model, with its buffers. No call allocates.
#[derive(Debug)]
pub struct Scorer {
    plan: Arc<Plan>,
    features: Arc<FeatureSet>,
    scratch: Scratch,
    /// Rows with one feature each at its baseline.
    variants: Vec<f64>,
    margins: Vec<f64>,
    limit: usize,
}

/// The features that raised a score, the strongest first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reasons {
    count: usize,
    /// Feature number and by how much the margin falls without it.
    found: [(u16, f64); REASONS_MAX],
}

impl Reasons {
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Numbers for [`FeatureSet::feature`], the strongest first.
    pub fn features(&self) -> impl Iterator<Item = usize> + '_ {
        self.found.iter().take(self.count).map(|(feature, _)| usize::from(*feature))
    }

    /// Their names, the strongest first.
    pub fn names<'a>(&'a self, features: &'a FeatureSet) -> impl Iterator<Item = &'a str> + 'a {
        self.features().map(|n| features.feature(n))
    }

    fn offer(&mut self, feature: u16, drop: f64, limit: usize) {
        let at = self.found.iter().take(self.count).position(|(_, other)| drop > *other).unwrap_or(self.count);
        if at >= limit {
            return;
        }
        self.count = (self.count + 1).min(limit);
        self.found[at..self.count].rotate_right(1);
        self.found[at] = (feature, drop);
    }
}

impl Scorer {
    pub(super) fn new(plan: Arc<Plan>, features: Arc<FeatureSet>, max_batch: usize, reasons: usize) -> Self {
        let variants = if reasons == 0 { 0 } else { BLOCK_ROWS };
        Self {
            scratch: plan.scratch(Self::rows(max_batch, reasons)),
            variants: vec![0.0; variants * plan.width()],
            margins: vec![0.0; BLOCK_ROWS],
            limit: reasons.min(REASONS_MAX),
            plan,
            features,
        }
    }

    /// Columns of a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.plan.width()
    }

    /// Scores rows of [`Self::width`] numbers, row after row, into as many places of `out`. A row that has
    /// no score (a NaN came in, or the network went out of range) gets NaN: it is unscorable. A row's score
    /// does not depend on the rows beside it. Allocates nothing.
    pub fn score(&mut self, rows: &[f64], out: &mut [f64]) {
        let count = rows.len() / self.plan.width().max(1);
        let (out, rest) = out.split_at_mut(count.min(out.len()));
        rest.fill(f64::NAN);
        self.plan.run(rows, out, &mut self.scratch);
        let output = self.plan.output();
        for margin in out {
            *margin = output.score(*margin);
        }
    }

    /// Finds which features raised the score of `row`: those whose replacement by their baseline lowers it
    /// the most. Costs about as much as scoring a row a feature; allocates nothing.
    pub fn reasons(&mut self, row: &[f64]) -> Reasons {
        let mut reasons = Reasons::default();
        let width = self.plan.width();
        let features = self.features.len();
        if self.limit == 0 || row.len() != width {
            return reasons;
        }
        let mut whole = [0.0];
        self.plan.run(row, &mut whole, &mut self.scratch);
        let mut first = 0;
        while first < features {
            let count = (features - first).min(BLOCK_ROWS);
            for (n, variant) in self.variants.chunks_exact_mut(width).take(count).enumerate() {
                variant.copy_from_slice(row);
                let (columns, baseline) = self.features.baseline(first + n);
                if let Some(columns) = variant.get_mut(columns) {
                    columns.fill(baseline);
                }
            }
            let margins = &mut self.margins[..count];
            self.plan.run(&self.variants[..count * width], margins, &mut self.scratch);
            for (n, margin) in margins.iter().enumerate() {
                let drop = whole[0] - margin;
                if drop > REASON_MARGIN_MIN {
                    let feature = u16::try_from(first + n).unwrap_or(u16::MAX);
                    reasons.offer(feature, drop, self.limit);
                }
            }
            first += count;
        }
        reasons
    }

    /// Rows its scratch is made for.
    pub(super) fn rows(max_batch: usize, reasons: usize) -> usize {
        if reasons == 0 { max_batch } else { max_batch.max(BLOCK_ROWS) }
    }

    /// Bytes of its buffers beside the scratch.
    pub(super) fn reasons_bytes(width: usize, reasons: usize) -> usize {
        let variants = if reasons == 0 { 0 } else { BLOCK_ROWS };
        variants * width * size_of::<f64>() + BLOCK_ROWS * size_of::<f64>()
    }
}
