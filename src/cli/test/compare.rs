//! What was expected of a step beside what came.

use super::file::{Expect, Near, Wanted};
use crate::{
    cli::offline::{Scored, Value, values},
    features::FeatureSet,
    verdict::write_number,
};

/// One thing that is not as expected.
#[derive(Debug, PartialEq)]
pub(super) struct Difference {
    /// `decision`, `score`, `reasons`, `features.NAME`, `problem`.
    pub what: String,
    pub expected: String,
    pub found: String,
}

impl Difference {
    pub fn new(what: impl Into<String>, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self { what: what.into(), expected: expected.into(), found: found.into() }
    }
}

/// The differences of an event that was scored.
pub(super) fn scored(expect: &Expect, scored: &Scored<'_>, features: &FeatureSet) -> Vec<Difference> {
    let mut differences = Vec::new();
    let verdict = &scored.verdict;
    if let Some(problem) = &expect.problem {
        differences.push(Difference::new("problem", format!("{problem:?}"), "a verdict"));
    }
    if let Some(decision) = expect.decision.as_deref().filter(|decision| *decision != verdict.decision) {
        differences.push(Difference::new("decision", decision, verdict.decision));
    }
    if let Some(near) = expect.score {
        let found = verdict.score.unwrap_or(f64::NAN);
        if !near.holds(found) {
            differences.push(Difference::new("score", shown(near), number(found)));
        }
    }
    if let Some(reasons) = expect.reasons.as_ref().filter(|reasons| **reasons != verdict.reasons) {
        let list = |texts: &[String]| format!("[{}]", texts.join(", "));
        let found: Vec<String> = verdict.reasons.iter().map(|reason| (*reason).to_owned()).collect();
        differences.push(Difference::new("reasons", list(reasons), list(&found)));
    }
    for (name, wanted) in &expect.features {
        let found = scored.row.and_then(|row| values(features, row).find(|(other, _)| other == name));
        let holds = match (wanted, &found) {
            (Wanted::Number(near), Some((_, Value::Number(found)))) => near.holds(*found),
            (Wanted::Text(text), Some((_, Value::Text(found)))) => found.as_deref() == Some(text),
            _ => false,
        };
        if !holds {
            let expected = match wanted {
                Wanted::Number(near) => shown(*near),
                Wanted::Text(text) => format!("{text:?}"),
            };
            let found = match found {
                Some((_, Value::Number(found))) => number(found),
                Some((_, Value::Text(Some(text)))) => format!("{text:?}"),
                Some((_, Value::Text(None))) => "a text that the model does not know".to_owned(),
                None => "no row".to_owned(),
            };
            differences.push(Difference::new(format!("features.{name}"), expected, found));
        }
    }
    differences
}

/// The differences of a record that is no event.
pub(super) fn refused(expect: &Expect, reason: &str) -> Vec<Difference> {
    match &expect.problem {
        Some(problem) if reason.contains(problem.as_str()) => Vec::new(),
        Some(problem) => vec![Difference::new("problem", format!("{problem:?}"), reason)],
        None => vec![Difference::new("problem", "a verdict", reason)],
    }
}

fn number(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    let mut text = Vec::new();
    write_number(number, &mut text);
    String::from_utf8(text).unwrap_or_default()
}

fn shown(near: Near) -> String {
    let value = number(near.value);
    if near.value.is_nan() { value } else { format!("{value} ± {}", number(near.tolerance)) }
}
