//! What rules and lists promise.

mod errors;
mod language;
mod lists;
mod naive;
mod precedence;
mod properties;

use super::{Facts, RuleSet};
use crate::event::{Field, Pointer, Span};
use crate::features::{FeatureSet, Problems, Value, read_features};
use serde_json::Value as Json;
use std::path::Path;

/// Features as a bundle has them: a number, one with steps, one of texts, one of a time, one with a stand-in.
pub(super) const FEATURES: &str = r#"
[[feature]]
name = "TX_AMOUNT"
from = "/TX_AMOUNT"
transform = [{ log1p = true }, { standardise = { mean = 3, std = 2 } }]
[[feature]]
name = "MCC"
from = "/merchant/category"
transform = [{ one-hot = { values = ["5411"] } }]
[[feature]]
name = "AT_NIGHT"
from = "/TX_DATETIME"
transform = [{ night = "UTC" }]
[[feature]]
name = "TRIES"
from = "/pin/tries"
missing = 0
"#;

pub(super) fn features() -> FeatureSet {
    let mut problems = Problems::default();
    let table: toml::Table = FEATURES.parse().unwrap();
    let set = read_features(table["feature"].as_array().unwrap(), &mut problems);
    assert!(problems.0.is_empty(), "{problems:?}");
    set
}

/// The tables of a text, read in a folder.
pub(super) fn read_in(dir: &Path, text: &str) -> (RuleSet, Vec<String>) {
    let table: toml::Table = text.parse().unwrap();
    let tables = |key| table.get(key).and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let mut problems = Problems::default();
    let set = RuleSet::read(&tables("list"), &tables("rule"), dir, &features(), &mut problems);
    (set, problems.0.iter().map(ToString::to_string).collect())
}

/// A set of one rule for each condition, whose reason is its number from 1.
pub(super) fn rules(conditions: &[&str]) -> (RuleSet, Vec<String>) {
    rules_in(Path::new(""), "", conditions)
}

pub(super) fn rules_in(dir: &Path, lists: &str, conditions: &[&str]) -> (RuleSet, Vec<String>) {
    let mut table: toml::Table = lists.parse().unwrap();
    let rule = |when: &&str| {
        let pairs = [("when", *when), ("decision", "block")];
        toml::Value::Table(pairs.into_iter().map(|(key, text)| (key.to_owned(), text.into())).collect())
    };
    table.insert("rule".to_owned(), conditions.iter().map(rule).collect::<Vec<_>>().into());
    read_in(dir, &table.to_string())
}

/// An event, as the decoder would hand it on.
pub(super) struct Case {
    features: FeatureSet,
    text: String,
    of_features: Vec<Field>,
    of_rules: Vec<Field>,
    pub score: Option<f64>,
    pub key: Option<String>,
}

impl Case {
    pub fn new(event: &str, rules: &RuleSet) -> Self {
        let event: Json = serde_json::from_str(event).unwrap();
        let features = features();
        let mut text = String::new();
        let mut find = |pointers: &[Pointer]| {
            let field = |pointer: &Pointer| field(event.pointer(&pointer.to_string()), &mut text);
            pointers.iter().map(field).collect::<Vec<_>>()
        };
        let (of_features, of_rules) = (find(features.pointers()), find(rules.pointers()));
        Self { features, of_features, of_rules, text, score: None, key: None }
    }
}

fn field(found: Option<&Json>, text: &mut String) -> Field {
    match found {
        None => Field::Missing,
        Some(Json::Null) => Field::Null,
        Some(Json::Bool(value)) => Field::Bool(*value),
        Some(Json::Number(number)) => Field::Number(number.as_f64().unwrap()),
        Some(Json::String(string)) => {
            let start = u32::try_from(text.len()).unwrap();
            text.push_str(string);
            Field::Text(Span { start, end: u32::try_from(text.len()).unwrap() })
        }
        Some(_) => Field::Composite,
    }
}

impl Facts for Case {
    fn feature(&self, n: usize) -> Value<'_> {
        self.features.raw(n, &self.of_features, &self.text, None)
    }

    fn field(&self, n: usize) -> Value<'_> {
        self.of_rules.get(n).map_or(Value::Missing, |field| Value::of(*field, &self.text))
    }

    fn score(&self) -> Option<f64> {
        self.score
    }

    fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    fn source(&self) -> &'static str {
        "pos"
    }
}

/// Whether a condition holds of an event.
pub(super) fn holds(condition: &str, event: &str) -> bool {
    holds_of(condition, event, |_| ())
}

pub(super) fn holds_of(condition: &str, event: &str, change: impl FnOnce(&mut Case)) -> bool {
    let (set, problems) = rules(&[condition]);
    assert!(problems.is_empty(), "{condition}: {problems:?}");
    let mut case = Case::new(event, &set);
    change(&mut case);
    set.judge(&case).is_some()
}
