//! Conditions of rules: each is compiled and judged, or refused with a place; none panics or takes long.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;
use std::sync::LazyLock;
use verdictd::event::Pointer;
use verdictd::features::{FeatureSet, Problems, Value, read_features};
use verdictd::rules::{Facts, RuleSet};

const FEATURES: &str = r#"
[[feature]]
name = "TX_AMOUNT"
from = "/TX_AMOUNT"
transform = [{ log1p = true }]
[[feature]]
name = "MCC"
from = "/MCC"
transform = [{ one-hot = { values = ["5411"] } }]
"#;

static SET: LazyLock<FeatureSet> = LazyLock::new(|| {
    let table: toml::Table = FEATURES.parse().expect("TOML");
    read_features(table["feature"].as_array().expect("a list"), &mut Problems::default())
});

/// An event whose values follow from the names of its fields.
struct Event<'a>(&'a [Pointer], u64);

impl Facts for Event<'_> {
    fn feature(&self, n: usize) -> Value<'_> {
        if n == 0 { Value::Number(199.5) } else { Value::Text("5411") }
    }

    fn field(&self, n: usize) -> Value<'_> {
        let length = self.0.get(n).map_or(0, |pointer| pointer.to_string().len());
        match (length as u64 + self.1) % 7 {
            0 => Value::Missing,
            1 => Value::Bool(true),
            2 => Value::Number(0.0),
            3 => Value::Number(f64::MAX),
            4 => Value::Text("web"),
            5 => Value::Text(""),
            _ => Value::Composite,
        }
    }

    fn score(&self) -> Option<f64> {
        (self.1 % 2 == 0).then_some(0.5)
    }

    fn key(&self) -> Option<&str> {
        (self.1 % 3 == 0).then_some("3961")
    }

    fn source(&self) -> &str {
        "pos"
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut table = toml::Table::new();
    table.insert("when".to_owned(), text.into());
    table.insert("decision".to_owned(), "block".into());
    let mut problems = Problems::default();
    let rules = RuleSet::read(&[], &[table.into()], Path::new(""), &SET, &mut problems);
    for problem in &problems.0 {
        assert!(problem.what.starts_with("line ") && problem.what.contains(", column "), "{problem}");
        assert!(!problem.what.contains("a fault of this program"), "{problem}");
    }
    assert_eq!(rules.counts().1, usize::from(problems.0.is_empty()));
    for n in 0..7 {
        let _ = rules.judge(&Event(rules.pointers(), n));
    }
});
