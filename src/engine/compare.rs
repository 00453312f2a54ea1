//! A shadow beside the model: how often they decide alike, and how far their scores are apart.
//!
//! **Drift** is the population stability index of the shadow's scores against the model's, over the same events:
//!
//! ```text
//! PSI = Σ (qᵢ - pᵢ) · ln(qᵢ / pᵢ)      i over 20 bins of equal width from 0 to 1
//! ```
//!
//! where pᵢ and qᵢ are the model's and the shadow's shares in bin i. Half an event is added to each bin so that an
//! empty one has a logarithm; scores outside 0 to 1 count in the outer bins. It is symmetric, and the same as the sum
//! of both Kullback-Leibler divergences (S. Kullback, R. A. Leibler, "On Information and Sufficiency", 1951). Rule of
//! thumb (N. Siddiqi, "Credit Risk Scorecards", 2006): below 0.1 alike, above 0.25 another distribution.

use std::collections::BTreeMap;
use std::time::Duration;

/// Bins of scores.
pub const BINS: usize = 20;
/// Pairs of decisions counted; the rest, which no pair of manifests that fit has, is left out.
const PAIRS_MAX: usize = 8_192;

/// What was seen since the two stand beside one another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Events that both gave a score.
    pub events: u64,
    /// Events that the model gave a score and the shadow did not.
    pub unscored: u64,
    /// Of `events`, those with the same decision.
    pub agreed: u64,
    /// The others by decision: the model's, the shadow's.
    pub changed: BTreeMap<(String, String), u64>,
    /// Sum of |shadow's score - model's score|.
    difference: f64,
    first: [u64; BINS],
    shadow: [u64; BINS],
    /// Rows that the shadow was asked for, and what that took of the processor.
    pub rows: u64,
    pub spent: Duration,
}

impl Comparison {
    /// An event that the model gave this score, and what the shadow said of it.
    pub fn note(&mut self, first: (&str, f64), shadow: (&str, Option<f64>)) {
        let Some(score) = shadow.1 else {
            self.unscored += 1;
            return;
        };
        self.events += 1;
        self.difference += (score - first.1).abs();
        self.first[bin(first.1)] += 1;
        self.shadow[bin(score)] += 1;
        if first.0 == shadow.0 {
            self.agreed += 1;
            return;
        }
        let is_room = self.changed.len() < PAIRS_MAX;
        let known = self.changed.iter_mut().find(|((from, to), _)| (from.as_str(), to.as_str()) == (first.0, shadow.0));
        if let Some((_, count)) = known {
            *count += 1;
        } else if is_room {
            self.changed.insert((first.0.to_owned(), shadow.0.to_owned()), 1);
        }
    }

    /// Mean of |shadow's score - model's score|; None before there is one.
    #[must_use]
    pub fn mean_difference(&self) -> Option<f64> {
        (self.events > 0).then(|| self.difference / number(self.events))
    }

    /// The population stability index; None before there is a score of both.
    #[must_use]
    pub fn drift(&self) -> Option<f64> {
        let share = |count: u64| (number(count) + 0.5) / (number(self.events) + 0.5 * number(BINS as u64));
        let term = |(p, q): (f64, f64)| (q - p) * (q / p).ln();
        let pairs = self.first.iter().zip(&self.shadow).map(|(p, q)| (share(*p), share(*q)));
        (self.events > 0).then(|| pairs.map(term).sum())
    }

    /// Seconds of the processor a row; None before there was one.
    #[must_use]
    pub fn row_seconds(&self) -> Option<f64> {
        (self.rows > 0).then(|| self.spent.as_secs_f64() / number(self.rows))
    }
}

#[allow(clippy::cast_precision_loss)] // counts, shown as shares
fn number(count: u64) -> f64 {
    count as f64
}

// The share of the unit interval, held within it; NaN, which is no score, in the first bin.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
fn bin(score: f64) -> usize {
    ((score.clamp(0.0, 1.0) * BINS as f64) as usize).min(BINS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(pairs: &[(f64, f64)]) -> Comparison {
        let mut comparison = Comparison::default();
        for (first, shadow) in pairs {
            comparison.note(("allow", *first), ("allow", Some(*shadow)));
        }
        comparison
    }

    #[test]
    fn the_drift_is_the_population_stability_index_of_the_bins() {
        assert_eq!(compared(&[]).drift(), None);
        assert_eq!(compared(&[(0.1, 0.1), (0.9, 0.9)]).drift(), Some(0.0));
        // By hand: 3 and 1 of 4 against 1 and 3, with a half added to each of 20 bins.
        let four = compared(&[(0.0, 0.0), (0.0, 1.0), (0.0, 1.0), (1.0, 1.0)]);
        let (high, low) = (3.5 / 14.0, 1.5 / 14.0);
        let expected = 2.0 * (high - low) * f64::ln(high / low);
        assert!((four.drift().unwrap() - expected).abs() < 1e-12);
        assert_eq!(four.mean_difference(), Some(0.5));
        // Out of range counts in the outer bins.
        assert_eq!(compared(&[(-3.0, 0.01), (7.0, 0.99)]).drift(), Some(0.0));
    }

    #[test]
    fn decisions_that_differ_are_counted_by_pair_and_an_event_without_a_score_by_itself() {
        let mut comparison = Comparison::default();
        comparison.note(("allow", 0.1), ("block", Some(0.9)));
        comparison.note(("allow", 0.1), ("block", Some(0.8)));
        comparison.note(("block", 0.9), ("block", Some(0.9)));
        comparison.note(("block", 0.9), ("review", None));
        let pair = ("allow".to_owned(), "block".to_owned());
        assert_eq!(comparison.changed, BTreeMap::from([(pair, 2)]));
        assert_eq!((comparison.events, comparison.agreed, comparison.unscored), (3, 1, 1));
    }
}
