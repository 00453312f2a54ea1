//! Texts to numbers that steps can go on with: by a table, or by a list that has them or not.

use super::list::List;
use super::spec::category_text;
use super::transform::Missing;
use super::{FeatureSet, Problems, Reader, as_number, found};
use std::sync::Arc;
use toml::Value;

/// Most values of a table.
const VALUES_MAX: usize = 4_096;

/// A number for each value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ordinal {
    /// In the order of the texts.
    values: Arc<[(Box<str>, f64)]>,
    /// What stands for any other.
    pub unknown: Missing,
}

impl Ordinal {
    pub fn number(&self, value: &[u8]) -> Option<f64> {
        let at = self.values.binary_search_by(|(text, _)| text.as_bytes().cmp(value)).ok()?;
        self.values.get(at).map(|(_, number)| *number)
    }
}

/// `{ values = { pos = 0, web = 1 }, unknown = -1 }`; a list of values numbers them from 0.
pub(super) fn read_ordinal(mut reader: Reader<'_>, problems: &mut Problems) -> Option<Ordinal> {
    let at = reader.key("values");
    let mut values: Vec<(Box<str>, f64)> = match reader.value("values") {
        Some(Value::Table(table)) => {
            let pair = |(text, value): (&String, &Value)| {
                let number = as_number(value).filter(|number| number.is_finite());
                if number.is_none() {
                    problems.add(format!("{at}.{text}"), format!("expected a finite number, found {}", found(value)));
                }
                Some((text.as_str().into(), number?))
            };
            table.iter().filter_map(pair).collect()
        }
        Some(Value::Array(list)) => {
            let pair = |(n, value): (usize, &Value)| {
                let text = category_text(value);
                if text.is_none() {
                    let what = format!("expected a text, a whole number or a boolean, found {}", found(value));
                    problems.add(format!("{at}[{n}]"), what);
                }
                // Far below 2^53.
                #[allow(clippy::cast_precision_loss)]
                Some((text?.into(), n as f64))
            };
            list.iter().enumerate().filter_map(pair).collect()
        }
        other => {
            let found = other.map_or("nothing".to_owned(), found);
            problems.add(at.clone(), format!("expected a table as in {{ pos = 0, web = 1 }} or a list, found {found}"));
            return None;
        }
    };
    let unknown = match reader.value("unknown") {
        None => Missing::Unscorable,
        Some(Value::String(text)) if text == "unscorable" => Missing::Unscorable,
        Some(Value::String(text)) if text == "nan" => Missing::Nan,
        Some(value) => {
            let Some(number) = as_number(value).filter(|number| number.is_finite()) else {
                let what = format!("expected \"unscorable\", \"nan\" or a finite number, found {}", found(value));
                problems.add(reader.key("unknown"), what);
                return None;
            };
            Missing::Number(number)
        }
    };
    reader.finish(problems);
    if values.is_empty() || values.len() > VALUES_MAX {
        problems.add(at, format!("expected 1 to {VALUES_MAX} values, found {}", values.len()));
        return None;
    }
    values.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
    for pair in values.windows(2) {
        if let [(text, _), (other, _)] = pair
            && text == other
        {
            problems.add(at.clone(), format!("{text:?} stands there twice"));
        }
    }
    Some(Ordinal { values: values.into(), unknown })
}

/// Whether a list has the value.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    name: Box<str>,
    pub list: Option<Arc<List>>,
}

impl Listed {
    pub fn of(name: &str) -> Self {
        Self { name: name.into(), list: None }
    }
}

impl PartialEq for Listed {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl FeatureSet {
    /// Gives the `in-list` steps their lists. Problems name the feature whose list there is not.
    pub fn use_lists(&mut self, lists: &[Arc<List>], problems: &mut Problems) {
        for feature in &mut self.features {
            let Some(listed) = feature.listed() else { continue };
            listed.list = lists.iter().find(|list| list.name() == &*listed.name).cloned();
            if listed.list.is_none() {
                let known = lists.iter().map(|list| list.name()).collect::<Vec<_>>().join(", ");
                let known = if known.is_empty() { "there is none".to_owned() } else { known };
                let what = format!("in-list: expected the name of a [[list]] ({known}), found {:?}", listed.name);
                problems.add(&feature.name, what);
            }
        }
    }

    /// Whether a feature looks something up in a list.
    #[must_use]
    pub fn uses_lists(&self) -> bool {
        let mut features = self.features.clone();
        features.iter_mut().any(|feature| feature.listed().is_some())
    }
}
