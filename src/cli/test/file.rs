//! A file of cases, read and checked.
//!
//! ```toml
//! event = { id = "/TRANSACTION_ID", key = "/CUSTOMER_ID", time = "/TX_DATETIME", source = "pos" }   # as of a source
//!
//! [[case]]
//! name = "the second purchase of a day counts"
//!
//! [[case.step]]
//! event = { TRANSACTION_ID = "1", CUSTOMER_ID = "7", TX_AMOUNT = 20, TX_DATETIME = 2026-05-01T10:00:00Z }
//!
//! [[case.step]]
//! label = { id = "1", label = 1 }
//!
//! [[case.step]]
//! event = '{"TRANSACTION_ID":"2","CUSTOMER_ID":"7","TX_AMOUNT":30,"TX_DATETIME":"2026-05-01T11:00:00Z"}'
//! expect = { decision = "review", score = { value = 0.61, tolerance = 0.01 }, reasons = ["TX_AMOUNT"] }
//! expect.features = { TX_AMOUNT = 30, CUSTOMER_ID_NB_TX_1DAY_WINDOW = 2 }
//! ```
//!
//! An event is a table, or a text that is its JSON. Where it has no id, the step's number in its case is one. An
//! expected number is a number, or `{ value, tolerance }`; without a tolerance it is [`TOLERANCE`] of what is expected,
//! and of 1 below that. `nan` expects that there is none.

use super::json;
use crate::{
    cli::offline::{pointer, rules},
    event::{IdentityRules, LABEL_TYPE, Pointer},
    features::{FeatureSet, Problems, Reader, found},
};
use toml::{Table, Value};

/// As of parity vectors.
pub(super) const TOLERANCE: f64 = 1e-6;
/// Longest file.
const BYTES_MAX: usize = 16 << 20;

/// What a file holds.
pub(super) struct Cases {
    pub rules: IdentityRules,
    pub cases: Vec<Case>,
}

pub(super) struct Case {
    pub name: String,
    pub steps: Vec<Step>,
}

pub(super) struct Step {
    /// One line of NDJSON.
    pub line: Vec<u8>,
    pub expect: Expect,
}

/// What is not said is not looked at.
#[derive(Debug, Default)]
pub(super) struct Expect {
    pub decision: Option<String>,
    pub score: Option<Near>,
    /// All of them, in order.
    pub reasons: Option<Vec<String>>,
    pub features: Vec<(String, Wanted)>,
    /// A part of the problem's text: the record is no event.
    pub problem: Option<String>,
}

/// A number and how far from it is near enough.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    pub value: f64,
    pub tolerance: f64,
}

/// What a feature is to be.
#[derive(Clone, Debug)]
pub(super) enum Wanted {
    Number(Near),
    Text(String),
}

impl Near {
    fn of(value: f64) -> Self {
        Self { value, tolerance: TOLERANCE * value.abs().max(1.0) }
    }

    pub fn holds(self, found: f64) -> bool {
        if self.value.is_nan() { found.is_nan() } else { (found - self.value).abs() <= self.tolerance }
    }
}

/// Reads a file's bytes.
///
/// # Errors
/// Every fault at once, each with its key and what was expected.
pub(super) fn read(bytes: &[u8], features: &FeatureSet) -> Result<Cases, Vec<String>> {
    if bytes.len() > BYTES_MAX {
        return Err(vec![format!("expected at most {BYTES_MAX} bytes, found {}", bytes.len())]);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| vec!["expected a text of UTF-8".to_owned()])?;
    let table: Table = text
        .parse()
        .map_err(|error: toml::de::Error| vec![format!("expected TOML: {}", error.to_string().trim_end())])?;
    let mut problems = Problems::default();
    let cases = read_file(&table, features, &mut problems);
    match cases {
        Some(cases) if problems.0.is_empty() => Ok(cases),
        _ => Err(problems.0.iter().map(ToString::to_string).collect()),
    }
}

fn read_file(table: &Table, features: &FeatureSet, problems: &mut Problems) -> Option<Cases> {
    let mut reader = Reader::new(table, "");
    let rules = read_rules(reader.table("event", problems), problems);
    let list = reader.array("case", problems).unwrap_or_default();
    if list.is_empty() {
        problems.add("case", "expected at least one [[case]]");
    }
    reader.finish(problems);
    let rules = rules?;
    let mut cases: Vec<Case> = Vec::new();
    for (n, value) in list.iter().enumerate() {
        let at = format!("case[{n}]");
        let Value::Table(table) = value else {
            problems.add(at, format!("expected a table, found {}", found(value)));
            continue;
        };
        let case = read_case(Reader::new(table, at.clone()), &rules.id, features, problems);
        if cases.iter().any(|other| other.name == case.name) {
            problems.add(format!("{at}.name"), format!("a second case named {:?}", case.name));
        }
        cases.push(case);
    }
    Some(Cases { rules, cases })
}

fn read_rules(reader: Option<Reader<'_>>, problems: &mut Problems) -> Option<IdentityRules> {
    let none = Table::new();
    let mut reader = reader.unwrap_or_else(|| Reader::new(&none, "event"));
    let id = read_pointer(&mut reader, "id", "/id", problems);
    let time = read_pointer(&mut reader, "time", "/time", problems);
    let keys = match reader.value("key") {
        None => vec!["/key".to_owned()],
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(list)) if list.iter().all(Value::is_str) => {
            list.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect()
        }
        Some(other) => {
            problems.add("event.key", format!("expected a pointer or a list of pointers, found {}", found(other)));
            return None;
        }
    };
    let mut key = Vec::new();
    for text in &keys {
        match pointer(text) {
            Ok(pointer) => key.push(pointer),
            Err(error) => problems.add("event.key", error.to_string()),
        }
    }
    let source = reader.text("source", problems).unwrap_or("test");
    let made = rules(&id?, &key, &time?, source, "test").map_err(|failure| problems.add("event", failure.message));
    reader.finish(problems);
    made.ok()
}

fn read_pointer(reader: &mut Reader<'_>, key: &'static str, default: &str, problems: &mut Problems) -> Option<Pointer> {
    let text = reader.text(key, problems).unwrap_or(default);
    pointer(text).map_err(|error| problems.add(reader.key(key), error.to_string())).ok()
}

fn read_case(mut reader: Reader<'_>, id: &Pointer, features: &FeatureSet, problems: &mut Problems) -> Case {
    let name = reader.required_text("name", problems).unwrap_or_default().to_owned();
    let at = reader.key("step");
    let list = reader.array("step", problems).unwrap_or_default();
    if list.is_empty() {
        problems.add(at.as_str(), "expected at least one [[case.step]]");
    }
    reader.finish(problems);
    let mut steps = Vec::new();
    for (n, value) in list.iter().enumerate() {
        let at = format!("{at}[{n}]");
        match value {
            Value::Table(table) => {
                steps.extend(read_step(Reader::new(table, at), n + 1, id, features, problems));
            }
            other => problems.add(at, format!("expected a table, found {}", found(other))),
        }
    }
    Case { name, steps }
}

fn read_step(
    mut reader: Reader<'_>,
    number: usize,
    id: &Pointer,
    features: &FeatureSet,
    problems: &mut Problems,
) -> Option<Step> {
    let (event, label) = (reader.value("event"), reader.value("label"));
    let expect = reader.table("expect", problems).map(|reader| read_expect(reader, features, problems));
    let key = reader.key("event");
    let line = match (event, label) {
        (Some(Value::Table(table)), None) => Some(event_line(table, number, id)),
        (Some(Value::String(text)), None) => Some(text.replace('\n', " ").into_bytes()),
        (None, Some(Value::Table(table))) => Some(label_line(table)),
        (None, None) => {
            problems.add(key, "expected an event or a label");
            None
        }
        (Some(_), Some(_)) => {
            problems.add(key, "expected an event or a label, found both");
            None
        }
        (Some(other), None) => {
            problems.add(key, format!("expected a table, or a text that is JSON, found {}", found(other)));
            None
        }
        (None, Some(other)) => {
            problems.add(reader.key("label"), format!("expected a table, found {}", found(other)));
            None
        }
    };
    reader.finish(problems);
    Some(Step { line: line?, expect: expect.unwrap_or_default() })
}

/// The event as JSON, with an id if it has none.
fn event_line(table: &Table, number: usize, id: &Pointer) -> Vec<u8> {
    let mut table = table.clone();
    if let [name] = id.parts()
        && !table.contains_key(name)
    {
        table.insert(name.clone(), Value::String(number.to_string()));
    }
    let mut line = Vec::new();
    json::write(&Value::Table(table), &mut line);
    line
}

fn label_line(table: &Table) -> Vec<u8> {
    let mut table = table.clone();
    table.entry("type").or_insert_with(|| Value::String(LABEL_TYPE.to_owned()));
    let mut line = Vec::new();
    json::write(&Value::Table(table), &mut line);
    line
}

fn read_expect(mut reader: Reader<'_>, features: &FeatureSet, problems: &mut Problems) -> Expect {
    let mut expect = Expect {
        decision: reader.text("decision", problems).map(str::to_owned),
        problem: reader.text("problem", problems).map(str::to_owned),
        ..Expect::default()
    };
    let key = reader.key("score");
    expect.score = reader.value("score").and_then(|value| read_near(value, &key, problems));
    let key = reader.key("reasons");
    if let Some(list) = reader.array("reasons", problems) {
        let texts: Vec<String> = list.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect();
        if texts.len() != list.len() {
            problems.add(key, "expected a list of texts");
        }
        expect.reasons = Some(texts);
    }
    if let Some(table) = reader.table("features", problems) {
        for (name, value) in table.rest() {
            let key = table.key(name);
            if !features.names().iter().any(|known| known == name) {
                let known = features.names().join(", ");
                problems.add(key, format!("unknown feature; expected one of: {known}"));
                continue;
            }
            let wanted = match value {
                Value::String(text) => Some(Wanted::Text(text.clone())),
                other => read_near(other, &key, problems).map(Wanted::Number),
            };
            expect.features.extend(wanted.map(|wanted| (name.to_owned(), wanted)));
        }
    }
    reader.finish(problems);
    expect
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Boolean(value) => Some(f64::from(u8::from(*value))),
        other => crate::features::as_number(other),
    }
}

fn read_near(value: &Value, key: &str, problems: &mut Problems) -> Option<Near> {
    if let Some(number) = number(value) {
        return Some(Near::of(number));
    }
    let Value::Table(table) = value else {
        problems.add(key, format!("expected a number or {{ value, tolerance }}, found {}", found(value)));
        return None;
    };
    let mut reader = Reader::new(table, key);
    let wanted = reader.required_number("value", problems);
    let tolerance = reader.number("tolerance", problems);
    if tolerance.is_some_and(|tolerance| tolerance < 0.0) {
        problems.add(reader.key("tolerance"), "expected a number from 0 on");
    }
    reader.finish(problems);
    let near = Near::of(wanted?);
    Some(Near { tolerance: tolerance.unwrap_or(near.tolerance), ..near })
}
