//! From a model's outputs to the score: which number, what it means, calibration.
//!
//! | `score` in the manifest | the score is |
//! |---|---|
//! | `"raw"` | the chosen number as the model gives it |
//! | `"probability"` | the probability of the chosen class: the number itself where the model gives one, else the sigmoid (of several: softmax) of its log odds |
//! | `"margin"` | the log odds of that, or what a library's model adds up before its objective's transform |
//! | `"logit"` | the sigmoid of the chosen number, for a model that gives a logit and does not say so |
//!
//! Without `score`, a probability where the model gives one, else the number.

use super::calibration::Calibration;
use super::outputs::{Means, OutputSpec, shown};
use crate::features::Problems;
use std::ops::Range;

/// The nearest f32.
pub(super) fn cut(value: f64) -> f64 {
    #[allow(clippy::cast_possible_truncation)]
    let cut = value as f32;
    f64::from(cut)
}

/// What the manifest asks the score to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoreAs {
    Raw,
    Probability,
    Margin,
    Logit,
}

impl ScoreAs {
    pub const ALL: [(&'static str, Self); 4] =
        [("raw", Self::Raw), ("probability", Self::Probability), ("margin", Self::Margin), ("logit", Self::Logit)];

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(name, _)| *name == text).map(|(_, which)| *which)
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, which)| *which == self).map_or("", |(name, _)| name)
    }
}

/// Which output, which of its numbers, and what of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    /// `output`
    pub output: Option<String>,
    /// `class`: a label, or a number counted from 0.
    pub class: Option<String>,
    /// `score`
    pub score: Option<ScoreAs>,
}

/// How the number is made.
#[derive(Clone, Debug, PartialEq)]
enum Way {
    Number,
    /// The sigmoid of a number.
    Sigmoid,
    /// The log odds of a probability.
    Odds,
    /// Softmax over the range, for the chosen number.
    Softmax,
    /// The log odds of that.
    SoftmaxOdds,
}

/// The way from a row's outputs to its score.
#[derive(Clone, Debug, PartialEq)]
pub struct Scoring {
    output: String,
    /// The output's numbers among a row's.
    range: Range<usize>,
    /// The chosen one among a row's.
    at: usize,
    way: Way,
    means: Means,
    calibration: Calibration,
    /// All of it is f32, and prints as such.
    narrow: bool,
}

impl Scoring {
    /// Chooses among `outputs`. `narrow`: the model works on f32. Problems say what could have been chosen.
    pub fn choose(
        outputs: &[OutputSpec],
        choice: &Choice,
        calibration: Calibration,
        narrow: bool,
        problems: &mut Problems,
    ) -> Option<Self> {
        let found = match &choice.output {
            Some(name) => outputs.iter().position(|output| output.name == *name),
            None if choice.score == Some(ScoreAs::Margin) => {
                outputs.iter().position(|output| output.aside).or_else(|| default_output(outputs))
            }
            None => default_output(outputs),
        };
        let Some(found) = found else {
            let what = match &choice.output {
                Some(name) => format!("the model has no output {name:?}"),
                None => "several outputs could be the score, or none".to_owned(),
            };
            problems.add("output", format!("{what}; expected one of {}", shown(outputs)));
            return None;
        };
        let start = outputs.iter().take(found).map(|output| output.width).sum();
        let output = outputs.get(found)?;
        let range = start..start + output.width;
        let at = start + choose_class(output, choice.class.as_deref(), problems)?;
        let way = way(output, choice.score, problems)?;
        Some(Self { output: output.name.clone(), range, at, way, means: output.means, calibration, narrow })
    }

    /// Of a bare file whose numbers cannot be told apart: no score, only outputs.
    #[must_use]
    pub fn undecided() -> Self {
        Self {
            output: String::new(),
            range: 0..0,
            at: usize::MAX,
            way: Way::Number,
            means: Means::Number,
            calibration: Calibration::None,
            narrow: false,
        }
    }

    /// Whether there is a score at all.
    #[must_use]
    pub fn is_decided(&self) -> bool {
        self.at != usize::MAX
    }

    /// The score of a row, whose outputs are `numbers`. NaN where there is none.
    #[must_use]
    pub fn score(&self, numbers: &[f64]) -> f64 {
        let score = match self.way {
            Way::Number => self.number(numbers),
            // A logit out of range is no certainty.
            Way::Sigmoid => sigmoid(finite(self.number(numbers))),
            Way::Odds => odds(self.number(numbers)),
            Way::Softmax => sigmoid(self.against(numbers)),
            Way::SoftmaxOdds => self.against(numbers),
        };
        // What is no number is not made one.
        let score = self.calibration.apply(finite(score));
        match (score.is_finite(), self.narrow) {
            (true, true) => cut(score),
            (true, false) => score,
            (false, _) => f64::NAN,
        }
    }

    /// What grows with the score and does not saturate, before calibration: log odds, where there are any. Turned round
    /// where the calibration turns the score round, as of an anomaly score whose low values are the anomalies.
    #[must_use]
    pub fn margin(&self, numbers: &[f64]) -> f64 {
        self.direction() * self.plain_margin(numbers)
    }

    /// 1, or -1 where the score falls as the chosen number grows.
    #[must_use]
    pub fn direction(&self) -> f64 {
        if self.calibration.falls() { -1.0 } else { 1.0 }
    }

    fn plain_margin(&self, numbers: &[f64]) -> f64 {
        let margin = match self.way {
            Way::Number | Way::Odds if self.means == Means::Probability => odds(self.number(numbers)),
            Way::Number | Way::Odds | Way::Sigmoid => self.number(numbers),
            Way::Softmax | Way::SoftmaxOdds => self.against(numbers),
        };
        finite(margin)
    }

    /// Where the chosen number stands among a row's.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Whether the score is a probability, before calibration: for what is usual there.
    #[must_use]
    pub fn is_probability(&self) -> bool {
        match self.way {
            Way::Number => self.means == Means::Probability,
            Way::Sigmoid | Way::Softmax => true,
            Way::Odds | Way::SoftmaxOdds => false,
        }
    }

    /// What the output's numbers are.
    #[must_use]
    pub fn means(&self) -> Means {
        self.means
    }

    /// Whether the score is an f32.
    #[must_use]
    pub fn narrow(&self) -> bool {
        self.narrow
    }

    fn number(&self, numbers: &[f64]) -> f64 {
        numbers.get(self.at).copied().unwrap_or(f64::NAN)
    }

    /// The chosen number's log odds against the others of its output; NaN unless all are finite.
    fn against(&self, numbers: &[f64]) -> f64 {
        let all = numbers.get(self.range.clone()).unwrap_or_default();
        if all.iter().any(|number| !number.is_finite()) {
            return f64::NAN;
        }
        let others = || all.iter().enumerate().filter(|(n, _)| self.range.start + n != self.at).map(|(_, x)| *x);
        let most = others().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = others().map(|x| (x - most).exp()).sum();
        self.number(numbers) - most - sum.ln()
    }

    /// One line: output, number, meaning, calibration.
    #[must_use]
    pub fn explain(&self) -> String {
        if !self.is_decided() {
            return "none: several numbers could be it, and a bare file does not say which; a manifest does".to_owned();
        }
        let what = match self.way {
            Way::Number if self.means == Means::Probability => "as it is, a probability",
            Way::Number => "as it is",
            Way::Sigmoid => "its sigmoid",
            Way::Odds => "its log odds",
            Way::Softmax => "its softmax",
            Way::SoftmaxOdds => "the log odds of its softmax",
        };
        let number = match self.range.len() {
            1 => String::new(),
            _ => format!("[{}]", self.at - self.range.start),
        };
        format!("{}{number}, {what}{}", self.output, self.calibration.explain())
    }
}

/// Probabilities first, then the only output that is no label.
fn default_output(outputs: &[OutputSpec]) -> Option<usize> {
    let probable = outputs.iter().position(|output| matches!(output.means, Means::Probability | Means::Logit));
    let only = |taken: &dyn Fn(&OutputSpec) -> bool| {
        let mut found = outputs.iter().enumerate().filter(|(_, output)| !output.aside && taken(output));
        found.next().map(|(n, _)| n).filter(|_| found.next().is_none())
    };
    probable.or_else(|| only(&|output| output.means != Means::Label)).or_else(|| only(&|_| true))
}

/// Which of an output's numbers: by label, by place, else class 1 of classes, else the only one.
fn choose_class(output: &OutputSpec, class: Option<&str>, problems: &mut Problems) -> Option<usize> {
    let classes = matches!(output.means, Means::Probability | Means::Logit);
    let found = match class {
        Some(class) => output
            .labels
            .iter()
            .position(|label| label == class)
            .or_else(|| class.parse().ok().filter(|n| output.labels.is_empty() && *n < output.width)),
        None if output.width == 1 => Some(0),
        // Of two numbers the second is class 1, also where the file does not call them classes.
        None => (output.width == 2 || classes && output.width > 1).then_some(1),
    };
    if found.is_none() {
        let labels = if output.labels.is_empty() {
            format!("a number from 0 to {}", output.width.saturating_sub(1))
        } else {
            format!("one of {}", output.labels.join(", "))
        };
        let was = class.map_or_else(|| "found none".to_owned(), |class| format!("found {class:?}"));
        problems
            .add("class", format!("output {:?} has {} numbers: expected {labels}, {was}", output.name, output.width));
    }
    found
}

fn way(output: &OutputSpec, asked: Option<ScoreAs>, problems: &mut Problems) -> Option<Way> {
    let several = output.width > 1;
    let way = match (output.means, asked) {
        (Means::Logit, None | Some(ScoreAs::Probability)) if several => Way::Softmax,
        (Means::Logit, None | Some(ScoreAs::Probability)) | (_, Some(ScoreAs::Logit)) => Way::Sigmoid,
        (Means::Logit, Some(ScoreAs::Margin)) if several => Way::SoftmaxOdds,
        (Means::Probability, Some(ScoreAs::Margin)) => Way::Odds,
        (Means::Number, Some(ScoreAs::Margin)) if output.aside => Way::Number,
        (Means::Number | Means::Label, Some(ScoreAs::Probability | ScoreAs::Margin)) => {
            problems.add(
                "score",
                format!(
                    "output {:?} is not known to be a probability; expected \"raw\", or \"logit\" where it is one",
                    output.name
                ),
            );
            return None;
        }
        _ => Way::Number,
    };
    Some(way)
}

/// NaN for what is no number.
fn finite(x: f64) -> f64 {
    if x.is_finite() { x } else { f64::NAN }
}

pub(super) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn odds(p: f64) -> f64 {
    // A probability of exactly 0 or 1 stands for one that is closer than its precision can say.
    let p = p.clamp(ODDS_MIN, 1.0 - ODDS_MIN);
    (p / (1.0 - p)).ln()
}

/// The least probability that has finite log odds here.
const ODDS_MIN: f64 = 1e-15;

#[cfg(test)]
mod tests {
    use super::*;

    fn scoring(output: OutputSpec, choice: &Choice) -> Result<Scoring, String> {
        let mut problems = Problems::default();
        let found = Scoring::choose(&[output], choice, Calibration::None, false, &mut problems);
        found.ok_or_else(|| problems.0.iter().map(ToString::to_string).collect())
    }

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }

    #[test]
    fn the_default_is_the_probability_of_class_1_else_the_only_number() {
        let label = OutputSpec::new("label", 1, Means::Label);
        let probabilities = OutputSpec::new("probabilities", 3, Means::Probability);
        let choose = |outputs: &[OutputSpec]| {
            let found =
                Scoring::choose(outputs, &Choice::default(), Calibration::None, false, &mut Problems::default());
            found.map(|scoring| scoring.at())
        };
        assert_eq!(choose(&[label.clone(), probabilities.clone()]), Some(2));
        assert_eq!(choose(&[label.clone(), OutputSpec::new("y", 1, Means::Number)]), Some(1));
        assert_eq!(choose(&[OutputSpec::new("y", 1, Means::Number), OutputSpec::new("z", 1, Means::Number)]), None);
        assert_eq!(choose(&[OutputSpec::new("y", 2, Means::Number)]), Some(1));
        assert_eq!(choose(&[OutputSpec::new("y", 3, Means::Number)]), None);
    }

    #[test]
    fn a_class_is_chosen_by_its_label_or_its_place() {
        let mut output = OutputSpec::new("p", 3, Means::Probability);
        let class = |class: &str| Choice { class: Some(class.to_owned()), ..Choice::default() };
        assert_eq!(scoring(output.clone(), &class("2")).unwrap().at(), 2);
        output.labels = ["ok", "fraud", "abuse"].map(str::to_owned).to_vec();
        assert_eq!(scoring(output.clone(), &class("abuse")).unwrap().at(), 2);
        assert!(scoring(output, &class("theft")).unwrap_err().contains("expected one of ok, fraud, abuse"));
    }

    #[test]
    fn logits_become_probabilities_and_margins_their_log_odds() {
        let logits = OutputSpec::new("z", 2, Means::Logit);
        let found = scoring(logits.clone(), &Choice::default()).unwrap();
        near(found.score(&[0.5, 2.0]), sigmoid(1.5));
        near(found.margin(&[0.5, 2.0]), 1.5);
        let margin = Choice { score: Some(ScoreAs::Margin), ..Choice::default() };
        near(scoring(logits, &margin).unwrap().score(&[0.5, 2.0]), 1.5);
        let three = scoring(OutputSpec::new("z", 3, Means::Logit), &Choice::default()).unwrap();
        let all = [1.0f64, 2.0, 0.0].map(f64::exp);
        near(three.score(&[1.0, 2.0, 0.0]), all[1] / all.iter().sum::<f64>());
        let p = scoring(OutputSpec::new("p", 1, Means::Probability), &margin).unwrap();
        near(p.score(&[0.25]), (1.0f64 / 3.0).ln());
    }

    #[test]
    fn what_is_no_number_is_no_score() {
        let logits = scoring(OutputSpec::new("z", 2, Means::Logit), &Choice::default()).unwrap();
        for numbers in [[f64::NAN, 1.0], [1.0, f64::INFINITY], [f64::NEG_INFINITY, 1.0]] {
            assert!(logits.score(&numbers).is_nan() && logits.margin(&numbers).is_nan());
        }
        assert!(
            scoring(OutputSpec::new("y", 1, Means::Number), &Choice::default())
                .unwrap()
                .score(&[f64::INFINITY])
                .is_nan()
        );
        // At 0 or 1 a probability is a score, and has a margin to reason about.
        let p = scoring(OutputSpec::new("p", 1, Means::Probability), &Choice::default()).unwrap();
        assert!(p.score(&[1.0]) >= 1.0 && p.margin(&[1.0]).is_finite());
    }

    #[test]
    fn a_calibration_makes_no_score_of_an_infinite_number() {
        let output = OutputSpec::new("y", 1, Means::Number);
        for calibration in [Calibration::Platt { a: -1.0, b: 0.0 }, Calibration::Isotonic(vec![(0.0, 0.0), (1.0, 1.0)])]
        {
            let mut problems = Problems::default();
            let scoring =
                Scoring::choose(std::slice::from_ref(&output), &Choice::default(), calibration, false, &mut problems)
                    .unwrap();
            assert!(scoring.score(&[f64::INFINITY]).is_nan() && scoring.score(&[f64::NEG_INFINITY]).is_nan());
            assert!(scoring.score(&[0.5]).is_finite());
        }
    }

    #[test]
    fn a_probability_is_not_read_into_a_number_that_is_none() {
        let asked = Choice { score: Some(ScoreAs::Probability), ..Choice::default() };
        assert!(scoring(OutputSpec::new("y", 1, Means::Number), &asked).unwrap_err().contains("\"logit\""));
        let logit = Choice { score: Some(ScoreAs::Logit), ..Choice::default() };
        near(scoring(OutputSpec::new("y", 1, Means::Number), &logit).unwrap().score(&[0.0]), 0.5);
    }
}
