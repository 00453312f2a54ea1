//! Scores of rows, and the features that raised one: what the engine calls.

use super::decision::REASONS_MAX;
use super::explain::Method;
use super::program::{BLOCK_ROWS, Program, Scratch, Shapley};
use super::scoring::Scoring;
use crate::features::FeatureSet;
use std::sync::Arc;

/// A feature is a reason only if it raised the margin (the log odds, where there are any) by more.
const REASON_MARGIN_MIN: f64 = 1e-3;

/// One thread's way to the model, with its buffers. No call allocates.
#[derive(Debug)]
pub struct Scorer {
    program: Arc<Program>,
    scoring: Arc<Scoring>,
    features: Arc<FeatureSet>,
    scratch: Scratch,
    method: Method,
    /// Baseline method: rows with one feature each at its baseline. Shapley: the baseline, and a value a column.
    variants: Vec<f64>,
    shapley: Option<Shapley>,
    limit: usize,
}

/// The features that raised a score, the strongest first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reasons {
    count: usize,
    /// Feature number and by how much it raised the margin.
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

    fn offer(&mut self, feature: usize, raised: f64, limit: usize) {
        // A NaN raises nothing.
        if !matches!(raised.partial_cmp(&REASON_MARGIN_MIN), Some(std::cmp::Ordering::Greater)) {
            return;
        }
        let at = self.found.iter().take(self.count).position(|(_, other)| raised > *other).unwrap_or(self.count);
        if at >= limit {
            return;
        }
        self.count = (self.count + 1).min(limit);
        self.found[at..self.count].rotate_right(1);
        self.found[at] = (u16::try_from(feature).unwrap_or(u16::MAX), raised);
    }
}

impl Scorer {
    pub(super) fn new(
        program: Arc<Program>,
        scoring: Arc<Scoring>,
        features: Arc<FeatureSet>,
        max_batch: usize,
        reasons: usize,
        method: Method,
    ) -> Self {
        Self {
            scratch: program.scratch(Self::rows(max_batch, reasons)),
            variants: vec![0.0; Self::variants(reasons) * program.width()],
            shapley: (method == Method::Shapley).then(|| program.shapley()),
            method,
            limit: reasons.min(REASONS_MAX),
            program,
            scoring,
            features,
        }
    }

    /// Columns of a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.program.width()
    }

    /// Scores rows of [`Self::width`] numbers, row after row, into as many places of `out`. A row that has
    /// no score (a NaN came in where the model takes none, or its numbers went out of range) gets NaN: it is
    /// unscorable. A row's score does not depend on the rows beside it. Allocates nothing.
    pub fn score(&mut self, rows: &[f64], out: &mut [f64]) {
        let width = self.program.width().max(1);
        let block = self.program.block(&self.scratch);
        let (out, rest) = out.split_at_mut((rows.len() / width).min(out.len()));
        rest.fill(f64::NAN);
        for (rows, out) in rows.chunks(block * width).zip(out.chunks_mut(block)) {
            let numbers = self.program.run(rows, &mut self.scratch);
            for (numbers, score) in numbers.chunks_exact(self.program.numbers().max(1)).zip(out) {
                *score = self.scoring.score(numbers);
            }
        }
    }

    /// The score of a row, and the numbers of all the model's outputs.
    pub fn outputs(&mut self, row: &[f64]) -> (f64, &[f64]) {
        let numbers = self.program.run(row, &mut self.scratch);
        (self.scoring.score(numbers), numbers)
    }

    /// The leaf that a row reaches in each tree, as its library numbers them; none where the model has no trees.
    pub fn leaves(&mut self, row: &[f64], ids: &mut Vec<u32>) {
        self.program.leaves(row, ids, &mut self.scratch);
    }

    /// Finds which features raised the score of `row` the most. Allocates nothing.
    pub fn reasons(&mut self, row: &[f64]) -> Reasons {
        if self.limit == 0 || row.len() != self.program.width() {
            return Reasons::default();
        }
        match self.method {
            Method::Shapley => self.by_shapley(row),
            Method::Baseline | Method::Auto => self.against_baseline(row),
            Method::Off => Reasons::default(),
        }
    }

    /// What each column of a row adds to the raw sum behind the score: exact Shapley values. None where the model's
    /// reasons are found otherwise. Allocates nothing.
    pub fn contributions(&mut self, row: &[f64]) -> Option<&[f64]> {
        let width = self.program.width();
        let shapley = self.shapley.as_mut().filter(|_| row.len() == width)?;
        let (baseline, values) = self.variants.split_at_mut_checked(width)?;
        for feature in 0..self.features.len() {
            let (columns, value) = self.features.baseline(feature);
            if let Some(columns) = baseline.get_mut(columns) {
                columns.fill(value);
            }
        }
        let values = values.get_mut(..width)?;
        self.program.contributions(self.scoring.at(), row, baseline, values, shapley).then_some(&*values)
    }

    /// By what each feature adds, its columns together.
    fn by_shapley(&mut self, row: &[f64]) -> Reasons {
        let mut reasons = Reasons::default();
        if self.contributions(row).is_none() {
            return reasons;
        }
        let values = self.variants.get(self.program.width()..).unwrap_or_default();
        for feature in 0..self.features.len() {
            let (columns, _) = self.features.baseline(feature);
            let added: f64 = values.get(columns).unwrap_or_default().iter().sum();
            reasons.offer(feature, self.scoring.direction() * added, self.limit);
        }
        reasons
    }

    /// By how much the margin falls when one feature alone is put to its baseline. Costs about as much as scoring a row
    /// a feature.
    fn against_baseline(&mut self, row: &[f64]) -> Reasons {
        let mut reasons = Reasons::default();
        let (width, features) = (self.program.width().max(1), self.features.len());
        let block = self.program.block(&self.scratch);
        let whole = self.scoring.margin(self.program.run(row, &mut self.scratch));
        let mut first = 0;
        while first < features {
            let count = (features - first).min(block);
            for (n, variant) in self.variants.chunks_exact_mut(width).take(count).enumerate() {
                variant.copy_from_slice(row);
                let (columns, baseline) = self.features.baseline(first + n);
                if let Some(columns) = variant.get_mut(columns) {
                    columns.fill(baseline);
                }
            }
            let variants = self.variants.get(..count * width).unwrap_or_default();
            let numbers = self.program.run(variants, &mut self.scratch);
            for (n, numbers) in numbers.chunks_exact(self.program.numbers().max(1)).enumerate() {
                reasons.offer(first + n, whole - self.scoring.margin(numbers), self.limit);
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
        Self::variants(reasons) * width * size_of::<f64>()
    }

    fn variants(reasons: usize) -> usize {
        if reasons == 0 { 0 } else { BLOCK_ROWS }
    }
}
