//! From a score to a decision: the highest threshold reached wins.

use super::scoring::cut;
use crate::features::{Problems, Reader};

/// Longest name of a decision.
const NAME_BYTES_MAX: usize = 64;
/// Most decisions with a threshold.
const THRESHOLDS_MAX: usize = 64;
/// Most reasons a verdict can be given.
pub const REASONS_MAX: usize = 8;
/// Reasons a verdict is given unless the manifest says otherwise.
pub(super) const REASONS_DEFAULT: usize = 3;

/// `[decision]` of a manifest. Its keys are decisions with their thresholds, but for `otherwise`,
/// `fallback` and `reasons`.
#[derive(Clone, Debug)]
pub struct Decisions {
    /// Highest threshold first.
    thresholds: Vec<(f64, String)>,
    otherwise: String,
    fallback: String,
    reasons: usize,
}

impl Decisions {
    /// What a model gets that comes without: for a probability the usual thresholds, for another score none.
    #[must_use]
    pub fn usual(probability: bool) -> Self {
        let thresholds =
            if probability { vec![(0.9, "block".to_owned()), (0.5, "review".to_owned())] } else { Vec::new() };
        Self { thresholds, otherwise: "allow".to_owned(), fallback: "review".to_owned(), reasons: REASONS_DEFAULT }
    }

    /// The decision for a finite score; a NaN reaches nothing and gets the fallback.
    #[must_use]
    pub fn decide(&self, score: f64) -> &str {
        if score.is_nan() {
            return &self.fallback;
        }
        let reached = self.thresholds.iter().find(|(threshold, _)| score >= *threshold);
        reached.map_or(&self.otherwise, |(_, name)| name)
    }

    /// For scores that are f32: one that prints as 0.9 has reached a threshold of 0.9.
    pub fn narrow(&mut self) {
        for (threshold, _) in &mut self.thresholds {
            *threshold = cut(*threshold);
        }
    }

    /// Highest threshold first.
    pub fn thresholds(&self) -> impl Iterator<Item = (&str, f64)> {
        self.thresholds.iter().map(|(threshold, name)| (name.as_str(), *threshold))
    }

    #[must_use]
    pub fn otherwise(&self) -> &str {
        &self.otherwise
    }

    #[must_use]
    pub fn fallback(&self) -> &str {
        &self.fallback
    }

    /// How many reasons a verdict that is not `otherwise` is given at most.
    #[must_use]
    pub fn reasons(&self) -> usize {
        self.reasons
    }

    pub(super) fn read(mut reader: Reader<'_>, problems: &mut Problems) -> Self {
        let mut name = |reader: &mut Reader<'_>, key| {
            let text = reader.required_text(key, problems)?;
            if text.is_empty() || text.len() > NAME_BYTES_MAX {
                problems.add(reader.key(key), format!("expected 1 to {NAME_BYTES_MAX} bytes, found {}", text.len()));
            }
            Some(text.to_owned())
        };
        let otherwise = name(&mut reader, "otherwise").unwrap_or_default();
        let fallback = name(&mut reader, "fallback").unwrap_or_default();
        let reasons = reader.whole("reasons", 0..=REASONS_MAX, problems).unwrap_or(REASONS_DEFAULT);
        let mut thresholds = Vec::new();
        for (name, value) in reader.rest() {
            let Some(threshold) = crate::features::as_number(value).filter(|n| n.is_finite()) else {
                problems.add(reader.key(name), "expected a threshold: a finite number");
                continue;
            };
            if name.is_empty() || name.len() > NAME_BYTES_MAX {
                problems.add(reader.key(name), format!("expected a name of 1 to {NAME_BYTES_MAX} bytes"));
            }
            // Equal is what is meant.
            #[allow(clippy::float_cmp)]
            if let Some((_, other)) = thresholds.iter().find(|(other, _): &&(f64, String)| *other == threshold) {
                problems.add(reader.key(name), format!("the same threshold as {other:?}; expected another"));
            }
            thresholds.push((threshold, name.to_owned()));
        }
        if thresholds.len() > THRESHOLDS_MAX {
            problems.add(reader.key(""), format!("expected at most {THRESHOLDS_MAX} thresholds"));
        }
        thresholds.sort_by(|a, b| b.0.total_cmp(&a.0));
        Self { thresholds, otherwise, fallback, reasons }
    }
}
