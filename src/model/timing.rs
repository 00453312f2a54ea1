//! How long a model takes for a row, measured.

use super::Bundle;
use serde::Serialize;
use std::fmt;
use std::time::{Duration, Instant};

/// Runs of each measurement; the median counts.
const RUNS: usize = 7;
/// How long one run goes on at least.
const RUN: Duration = Duration::from_millis(2);
/// Most rows that a batch here has.
const ROWS_MAX: usize = 1024;

/// Microseconds a row, medians.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Timing {
    /// One row a call.
    pub one_us: f64,
    /// A row of 64 a call.
    pub of_64_us: f64,
    /// A row of 1,024 a call.
    pub of_1024_us: f64,
    /// The reasons of one row; 0 where there are none.
    pub reasons_us: f64,
}

impl Timing {
    /// Runs the model on made-up rows.
    #[must_use]
    pub fn measure(bundle: &Bundle) -> Self {
        let width = bundle.features().width();
        let rows = probe_rows(ROWS_MAX * width);
        let mut scorer = bundle.scorer(ROWS_MAX);
        let mut places = vec![0.0; ROWS_MAX];
        let mut of = |count: usize| {
            let mut first = 0;
            median_us(count, || {
                // Another row each time: one alone would have every branch foreseen.
                first = if first + 2 * count > ROWS_MAX { 0 } else { first + count };
                let rows = rows.get(first * width..(first + count) * width).unwrap_or_default();
                scorer.score(rows, places.get_mut(..count).unwrap_or_default());
            })
        };
        let (one_us, of_64_us, of_1024_us) = (of(1), of(64), of(ROWS_MAX));
        let reasons_us = if bundle.manifest().decisions.reasons() == 0 {
            0.0
        } else {
            let mut scorer = bundle.scorer(1);
            let mut rows = rows.chunks_exact(width.max(1)).cycle();
            median_us(1, || {
                std::hint::black_box(rows.next().map(|row| scorer.reasons(row)));
            })
        };
        Self { one_us, of_64_us, of_1024_us, reasons_us }
    }
}

impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { one_us, of_64_us, of_1024_us, reasons_us } = self;
        write!(f, "{one_us:.2} us a row alone, {of_64_us:.2} of 64, {of_1024_us:.2} of 1024")?;
        if *reasons_us > 0.0 { write!(f, "; reasons {reasons_us:.1} us a row") } else { Ok(()) }
    }
}

/// A fixed spread over -2 to 2: what inputs look like after standardising.
#[must_use]
pub fn probe_rows(numbers: usize) -> Vec<f64> {
    let number = |n: usize| f64::from(u16::try_from(n.wrapping_mul(2_654_435_761) >> 7 & 0xfff).unwrap_or(0));
    (0..numbers).map(|n| number(n) / 1024.0 - 2.0).collect()
}

/// The median over runs of what `work` takes, a row.
pub fn median_us(rows: usize, mut work: impl FnMut()) -> f64 {
    let mut runs: Vec<f64> = (0..RUNS)
        .map(|_| {
            let begin = Instant::now();
            let mut calls = 0u32;
            while calls == 0 || begin.elapsed() < RUN {
                work();
                calls += 1;
            }
            let rows = u32::try_from(rows.max(1)).unwrap_or(u32::MAX);
            begin.elapsed().as_secs_f64() * 1e6 / f64::from(calls) / f64::from(rows)
        })
        .collect();
    runs.sort_by(f64::total_cmp);
    runs.get(RUNS / 2).copied().unwrap_or(f64::NAN)
}
