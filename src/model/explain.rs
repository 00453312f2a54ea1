//! Which features drove a score: the rules that a manifest gives, and which method a model gets by them.
//!
//! ```toml
//! [reasons]
//! method = "auto"          # shapley where it is exact (trees, linear models), else baseline
//! limit-us = 2000          # the most that the reasons of one row may cost, in microseconds, measured at load
//! ```
//!
//! How many a verdict gets is `[decision] reasons`. *shapley*: exact Shapley values of the raw sum behind the score; of
//! LightGBM's and XGBoost's trees against the rows that they were trained on, see [`super::trees`], of an ONNX graph's
//! trees against the baseline, see `onnx::drivers`; of a linear model weight times distance from the baseline. *baseline*: by how much the margin falls
//! when the feature alone is put to its baseline.
//!
//! What the reasons of a row cost is measured on made-up rows when the model is loaded. Where a method takes longer than
//! the limit the next one is tried, and where none is left there are no reasons: the model is told of it, never refused.

use super::Bundle;
use super::load::LoadOptions;
use super::timing::probe_rows;
use crate::features::{Problems, Reader};
use std::time::{Duration, Instant};

/// What the reasons of a row may cost unless the manifest says otherwise.
const LIMIT_US_DEFAULT: usize = 2_000;
/// The most that a manifest can allow.
const LIMIT_US_MAX: usize = 1_000_000;

/// How reasons are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    #[default]
    Auto,
    Shapley,
    Baseline,
    /// There are none.
    Off,
}

/// `[reasons]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReasonRules {
    pub method: Method,
    pub limit_us: usize,
}

impl Default for ReasonRules {
    fn default() -> Self {
        Self { method: Method::Auto, limit_us: LIMIT_US_DEFAULT }
    }
}

impl Method {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Shapley => "shapley",
            Self::Baseline => "baseline",
            Self::Off => "none",
        }
    }
}

/// The method that a model gets, and why it is not the one that was wanted.
pub(super) fn choose(bundle: &Bundle, options: &LoadOptions) -> (Method, Option<String>) {
    let (rules, most) = (bundle.manifest.reasons, bundle.manifest.decisions.reasons());
    if most == 0 || !bundle.scoring.is_decided() {
        return (Method::Off, None);
    }
    let exact = bundle.program.explains(bundle.scoring.at());
    let methods: &[Method] = match rules.method {
        Method::Baseline => &[Method::Baseline],
        Method::Shapley if !exact => {
            return choose_among(bundle, options, &[Method::Baseline], vec![NOT_EXACT.to_owned()]);
        }
        _ if exact => &[Method::Shapley, Method::Baseline],
        _ => &[Method::Baseline],
    };
    choose_among(bundle, options, methods, Vec::new())
}

const NOT_EXACT: &str =
    "shapley values can be had of trees and linear models only, in ONNX with steps around them that keep columns apart";

fn choose_among(
    bundle: &Bundle,
    options: &LoadOptions,
    methods: &[Method],
    mut notes: Vec<String>,
) -> (Method, Option<String>) {
    let limit_us = bundle.manifest.reasons.limit_us;
    for method in methods {
        let buffers = bundle.scratch_bytes_by(options.max_batch, *method);
        if let Err(what) = options.fits(bundle.weights_bytes(), buffers) {
            notes.push(format!("{} {what}", method.name()));
            continue;
        }
        let cost_us = cost_us(bundle, *method, limit_us);
        // Both are far below 2^52.
        #[allow(clippy::cast_precision_loss)]
        if cost_us <= limit_us as f64 {
            return (*method, told(&notes));
        }
        notes.push(format!("{} takes {cost_us:.0} us a row, expected at most {limit_us}", method.name()));
    }
    (Method::Off, told(&notes))
}

fn told(notes: &[String]) -> Option<String> {
    (!notes.is_empty()).then(|| format!("reasons: {}", notes.join("; ")))
}

/// The least of several runs: what it costs where nothing else runs.
fn cost_us(bundle: &Bundle, method: Method, limit_us: usize) -> f64 {
    const RUNS: usize = 5;
    /// One run of so many times the limit tells enough.
    const FAR: usize = 5;
    let width = bundle.program.width();
    let rows = probe_rows(RUNS * width);
    let mut scorer = bundle.scorer_by(1, method);
    let mut least = Duration::MAX;
    for row in rows.chunks_exact(width.max(1)) {
        let begin = Instant::now();
        std::hint::black_box(scorer.reasons(row));
        let took = begin.elapsed();
        least = least.min(took);
        if took.as_micros() > (FAR * limit_us) as u128 {
            break;
        }
    }
    least.as_secs_f64() * 1e6
}

impl ReasonRules {
    pub(super) fn read(mut reader: Reader<'_>, problems: &mut Problems) -> Self {
        let method = match reader.text("method", problems) {
            None | Some("auto") => Method::Auto,
            Some("shapley") => Method::Shapley,
            Some("baseline") => Method::Baseline,
            Some(other) => {
                let what = format!("expected \"auto\", \"shapley\" or \"baseline\", found {other:?}");
                problems.add(reader.key("method"), what);
                Method::Auto
            }
        };
        let limit_us = reader.whole("limit-us", 1..=LIMIT_US_MAX, problems).unwrap_or(LIMIT_US_DEFAULT);
        reader.finish(problems);
        Self { method, limit_us }
    }
}
