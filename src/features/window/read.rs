//! Reading `window = { … }`, every problem with its key, what was expected and what was found.

use super::query::{Aggregate, DAY_US, Filter, Query, SECOND_US};
use super::{FILTER_VALUES_MAX, KEYS_MAX};
use crate::event::Pointer;
use crate::features::spec::category_text;
use crate::features::{Problems, Reader, found};
use toml::Value;

const AGGREGATES: [&str; 12] = [
    "count",
    "sum",
    "mean",
    "min",
    "max",
    "std",
    "distinct",
    "since-last",
    "ratio",
    "first-seen",
    "label-sum",
    "label-mean",
];
/// Longest window, longest delay.
const LONGEST_US: i64 = 400 * DAY_US;
/// Units in microseconds.
const UNITS: [(&str, f64); 5] = [("ms", 1e3), ("s", 1e6), ("min", 6e7), ("h", 3.6e9), ("d", 8.64e10)];
const DURATION: &str = "expected a duration with its unit, as in \"7 d\" or \"90 s\" (ms, s, min, h, d)";

/// Reads the table. None where there was a problem.
pub fn read_query(mut reader: Reader<'_>, problems: &mut Problems) -> Option<Query> {
    let before = problems.0.len();
    let aggregate = read_aggregate(&mut reader, problems);
    let keys = read_keys(&mut reader, problems);
    let over_us = match reader.value("over") {
        Some(value) => read_span(value, &reader.key("over"), SECOND_US, LONGEST_US, problems),
        None => {
            problems.add(reader.key("over"), format!("{DURATION}, found nothing"));
            None
        }
    };
    let delay_us =
        reader.value("delay").and_then(|value| read_span(value, &reader.key("delay"), 0, LONGEST_US, problems));
    let filter = read_filter(&mut reader, problems);
    let resolution_us = reader
        .value("resolution")
        .and_then(|value| read_span(value, &reader.key("resolution"), SECOND_US, DAY_US, problems));
    if let (Some(over_us), Some(resolution_us)) = (over_us, resolution_us)
        && resolution_us > over_us / 4
    {
        problems.add(
            reader.key("resolution"),
            format!("expected at most a quarter of over = {}, found {}", spelt(over_us), spelt(resolution_us)),
        );
    }
    if resolution_us.is_some() && matches!(aggregate, Some(Aggregate::Distinct(_))) {
        problems.add(reader.key("resolution"), "distinct is exact: expected no resolution beside it");
    }
    reader.finish(problems);
    if problems.0.len() > before {
        return None;
    }
    Some(Query {
        aggregate: aggregate?,
        keys,
        over_us: over_us?,
        delay_us: delay_us.unwrap_or(0),
        filter,
        resolution_us: resolution_us.unwrap_or(0),
        place: None,
    })
}

fn read_aggregate(reader: &mut Reader<'_>, problems: &mut Problems) -> Option<Aggregate> {
    let named: Vec<&'static str> = AGGREGATES.into_iter().filter(|name| reader.value(name).is_some()).collect();
    let [name] = named[..] else {
        let there = if named.is_empty() { "none".to_owned() } else { named.join(", ") };
        problems.add(reader.key("count"), format!("expected exactly one of {}; found {there}", AGGREGATES.join(", ")));
        return None;
    };
    let flag = match name {
        "count" => Some(Aggregate::Count),
        "since-last" => Some(Aggregate::SinceLast),
        "first-seen" => Some(Aggregate::FirstSeen),
        "label-sum" => Some(Aggregate::LabelSum),
        "label-mean" => Some(Aggregate::LabelMean),
        _ => None,
    };
    if let Some(aggregate) = flag {
        if !reader.boolean(name, problems)? {
            problems.add(reader.key(name), "expected true, found false");
        }
        return Some(aggregate);
    }
    let pointer = read_pointer(reader.value(name)?, &reader.key(name), problems)?;
    Some(match name {
        "sum" => Aggregate::Sum(pointer),
        "mean" => Aggregate::Mean(pointer),
        "min" => Aggregate::Min(pointer),
        "max" => Aggregate::Max(pointer),
        "std" => Aggregate::Std(pointer),
        "distinct" => Aggregate::Distinct(pointer),
        _ => Aggregate::Ratio(pointer),
    })
}

fn read_keys(reader: &mut Reader<'_>, problems: &mut Problems) -> Vec<Pointer> {
    let at = reader.key("key");
    let keys: Vec<Pointer> = match reader.value("key") {
        Some(Value::Array(list)) if (1..=KEYS_MAX).contains(&list.len()) => {
            let each = list.iter().enumerate();
            each.filter_map(|(n, value)| read_pointer(value, &format!("{at}[{n}]"), problems)).collect()
        }
        Some(value @ Value::String(_)) => read_pointer(value, &at, problems).into_iter().collect(),
        other => {
            let found = match other {
                Some(Value::Array(list)) => format!("a list of {}", list.len()),
                Some(value) => found(value),
                None => "nothing".to_owned(),
            };
            problems.add(at.clone(), format!("expected a JSON pointer or a list of 1 to {KEYS_MAX}, found {found}"));
            Vec::new()
        }
    };
    if let Some(twice) = keys.iter().enumerate().find(|(n, key)| keys.iter().take(*n).any(|other| other == *key)) {
        problems.add(at, format!("expected each field once, found {} twice", twice.1));
    }
    keys
}

fn read_pointer(value: &Value, at: &str, problems: &mut Problems) -> Option<Pointer> {
    let Value::String(text) = value else {
        problems.add(at, format!("expected a JSON pointer, as in \"/TX_AMOUNT\", found {}", found(value)));
        return None;
    };
    Pointer::parse(text).map_err(|error| problems.add(at, error.to_string())).ok()
}

fn read_filter(reader: &mut Reader<'_>, problems: &mut Problems) -> Option<Filter> {
    let (at, equals_at, in_at) = (reader.key("where"), reader.key("equals"), reader.key("in"));
    let field = reader.value("where");
    let (equals, list) = (reader.value("equals"), reader.value("in"));
    let Some(field) = field else {
        for (key, value) in [(equals_at, equals), (in_at, list)] {
            if value.is_some() {
                problems.add(key, format!("expected {at} = \"/FIELD\" beside it, found none"));
            }
        }
        return None;
    };
    let pointer = read_pointer(field, &at, problems);
    let mut values = Vec::new();
    match (equals, list) {
        (Some(value), None) => values.extend(read_value(value, &equals_at, problems)),
        (None, Some(Value::Array(list))) if (1..=FILTER_VALUES_MAX).contains(&list.len()) => {
            for (n, value) in list.iter().enumerate() {
                values.extend(read_value(value, &format!("{in_at}[{n}]"), problems));
            }
        }
        (None, Some(other)) => {
            let found = other.as_array().map_or_else(|| found(other), |list| format!("a list of {}", list.len()));
            problems.add(in_at, format!("expected a list of 1 to {FILTER_VALUES_MAX} values, found {found}"));
        }
        (None, None) => problems.add(at, "expected equals = VALUE or in = [VALUE, …] beside it, found neither"),
        (Some(_), Some(_)) => problems.add(in_at, "expected equals or in beside where, found both"),
    }
    values.sort_unstable();
    values.dedup();
    Some(Filter { pointer: pointer?, values })
}

fn read_value(value: &Value, at: &str, problems: &mut Problems) -> Option<String> {
    let text = category_text(value);
    if text.is_none() {
        problems.add(at, format!("expected a text, a whole number or a boolean, found {}", found(value)));
    }
    text
}

/// A duration of the table, within the limits.
fn read_span(value: &Value, at: &str, least: i64, most: i64, problems: &mut Problems) -> Option<i64> {
    let Some(micros) = value.as_str().and_then(parse_span) else {
        problems.add(at, format!("{DURATION}, found {}", found(value)));
        return None;
    };
    if (least..=most).contains(&micros) {
        return Some(micros);
    }
    let text = value.as_str().unwrap_or_default();
    problems.add(at, format!("expected {} to {}, found {text:?}", spelt(least), spelt(most)));
    None
}

/// Microseconds of a number, an optional blank and a unit.
pub fn parse_span(text: &str) -> Option<i64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at_checked(end)?;
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit.strip_prefix(' ').unwrap_or(unit))?;
    let micros = number.parse::<f64>().ok()? * factor;
    // Below 2^53, and whole microseconds are all that is kept.
    #[allow(clippy::cast_possible_truncation)]
    (micros < 9e15).then_some(micros.round() as i64)
}

/// The same for people, in the greatest unit that divides it.
fn spelt(micros: i64) -> String {
    let units = [("d", DAY_US), ("h", 3_600 * SECOND_US), ("min", 60 * SECOND_US), ("s", SECOND_US), ("ms", 1_000)];
    let (name, factor) = units.into_iter().find(|(_, factor)| micros % factor == 0).unwrap_or(("µs", 1));
    if micros == 0 { "0 s".to_owned() } else { format!("{} {name}", micros / factor) }
}
