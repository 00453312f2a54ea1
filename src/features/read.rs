//! Reading a TOML table so that every problem is found at once, each with its key and what was expected.

use std::fmt;
use toml::{Table, Value};

/// Something wrong in a manifest: where, and what was expected there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The path of the key: `feature[2].transform[0].clip.min`.
    pub key: String,
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.what)
    }
}

/// Problems as they are found. Empty means that all was read.
#[derive(Clone, Debug, Default)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    pub fn add(&mut self, key: impl Into<String>, what: impl Into<String>) {
        self.0.push(Problem { key: key.into(), what: what.into() });
    }
}

/// One table being read. [`Reader::finish`] reports the keys that nothing asked for.
pub struct Reader<'a> {
    table: &'a Table,
    at: String,
    known: Vec<&'static str>,
}

impl<'a> Reader<'a> {
    /// `at` is the table's own path, empty for the file.
    pub fn new(table: &'a Table, at: impl Into<String>) -> Self {
        Self { table, at: at.into(), known: Vec::new() }
    }

    /// The path of one of its keys.
    #[must_use]
    pub fn key(&self, key: &str) -> String {
        if self.at.is_empty() { key.to_owned() } else { format!("{}.{key}", self.at) }
    }

    /// A value of any type.
    pub fn value(&mut self, key: &'static str) -> Option<&'a Value> {
        self.known.push(key);
        self.table.get(key)
    }

    pub fn text(&mut self, key: &'static str, problems: &mut Problems) -> Option<&'a str> {
        match self.value(key)? {
            Value::String(text) => Some(text),
            other => {
                problems.add(self.key(key), format!("expected a text, found {}", found(other)));
                None
            }
        }
    }

    pub fn required_text(&mut self, key: &'static str, problems: &mut Problems) -> Option<&'a str> {
        if !self.table.contains_key(key) {
            self.known.push(key);
            problems.add(self.key(key), "expected a text, found nothing");
            return None;
        }
        self.text(key, problems)
    }

    /// A finite number, whole or not.
    pub fn number(&mut self, key: &'static str, problems: &mut Problems) -> Option<f64> {
        let value = self.value(key)?;
        let number = as_number(value).filter(|n| n.is_finite());
        if number.is_none() {
            problems.add(self.key(key), format!("expected a finite number, found {}", found(value)));
        }
        number
    }

    pub fn required_number(&mut self, key: &'static str, problems: &mut Problems) -> Option<f64> {
        if !self.table.contains_key(key) {
            self.known.push(key);
            problems.add(self.key(key), "expected a number, found nothing");
            return None;
        }
        self.number(key, problems)
    }

    /// A whole number within `range`.
    pub fn whole(
        &mut self,
        key: &'static str,
        range: std::ops::RangeInclusive<usize>,
        problems: &mut Problems,
    ) -> Option<usize> {
        let value = self.value(key)?;
        let whole = value.as_integer().and_then(|n| usize::try_from(n).ok()).filter(|n| range.contains(n));
        if whole.is_none() {
            let (low, high) = range.into_inner();
            problems
                .add(self.key(key), format!("expected a whole number from {low} to {high}, found {}", found(value)));
        }
        whole
    }

    pub fn boolean(&mut self, key: &'static str, problems: &mut Problems) -> Option<bool> {
        match self.value(key)? {
            Value::Boolean(value) => Some(*value),
            other => {
                problems.add(self.key(key), format!("expected true or false, found {}", found(other)));
                None
            }
        }
    }

    pub fn table(&mut self, key: &'static str, problems: &mut Problems) -> Option<Reader<'a>> {
        match self.value(key)? {
            Value::Table(table) => Some(Reader::new(table, self.key(key))),
            other => {
                problems.add(self.key(key), format!("expected a table, found {}", found(other)));
                None
            }
        }
    }

    pub fn array(&mut self, key: &'static str, problems: &mut Problems) -> Option<&'a [Value]> {
        match self.value(key)? {
            Value::Array(values) => Some(values),
            other => {
                problems.add(self.key(key), format!("expected a list, found {}", found(other)));
                None
            }
        }
    }

    /// The keys that were not asked for so far, with their values.
    pub fn rest(&self) -> impl Iterator<Item = (&'a str, &'a Value)> + '_ {
        self.table.iter().map(|(key, value)| (key.as_str(), value)).filter(|(key, _)| !self.known.contains(key))
    }

    /// Reports every key that was not asked for.
    pub fn finish(self, problems: &mut Problems) {
        for (key, _) in self.rest() {
            let known = self.known.join(", ");
            problems.add(self.key(key), format!("unknown key; expected one of: {known}"));
        }
    }
}

/// An integer or float as f64.
#[must_use]
pub fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) => Some(*number),
        // A manifest's whole numbers are means, limits and thresholds: far below 2^53.
        #[allow(clippy::cast_precision_loss)]
        Value::Integer(number) => Some(*number as f64),
        _ => None,
    }
}

/// A value as an error message shows it.
#[must_use]
pub fn found(value: &Value) -> String {
    match value {
        Value::String(text) => format!("the text {:?}", text.chars().take(64).collect::<String>()),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(value) => value.to_string(),
        Value::Datetime(_) => "a date".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Table(_) => "a table".to_owned(),
    }
}
