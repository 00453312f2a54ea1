//! Which features drove a score: the rules that a manifest gives.
//!
//! ```toml
//! [reasons]
//! method = "auto"          # shapley where it is exact (trees, linear models), else baseline
//! limit-us = 2000          # the most that the reasons of one row may cost, in microseconds, measured at load
//! ```
//!
//! How many a verdict gets is `[decision] reasons`. *shapley*: exact Shapley values of the margin, see
//! [`super::trees`]. *baseline*: by how much the margin falls when the feature alone is put to its baseline.

use crate::features::{Problems, Reader};

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
        }
    }
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
