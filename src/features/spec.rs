//! `[[feature]]` tables, read and checked, to a [`FeatureSet`].

use super::encode::{Listed, read_ordinal};
use super::read::{as_number, found};
use super::transform::{Feature, Head, Missing, NIGHT_ENDS_US, Part, Source, Step, Tail, whole_text};
use super::window::{Query, STREAMS_MAX, read_query};
use super::zone::{read_night, read_zone};
use super::{ColumnKind, FeatureSet, Problems, Reader};
use crate::event::Pointer;
use std::sync::Arc;
use toml::{Table, Value};

/// Most features a bundle may declare.
pub const FEATURES_MAX: usize = 4_096;
/// Most columns of a row.
pub const COLUMNS_MAX: usize = 65_536;
/// Most steps of one feature's transform.
const STEPS_MAX: usize = 16;
/// Most values of a one-hot, buckets of a hash.
const WIDTH_MAX: usize = 4_096;
/// Longest name of a feature.
const NAME_BYTES_MAX: usize = 256;
/// Most bounds of `bucketise`.
const BOUNDS_MAX: usize = 256;

/// Reads the list of features. Problems are added to `problems`; the set is complete only if there are none.
pub fn read_features(list: &[Value], problems: &mut Problems) -> FeatureSet {
    let mut pointers = Vec::new();
    let set = read_list(list, &mut pointers, problems);
    FeatureSet { pointers: pointers.into(), ..set }
}

fn read_list(list: &[Value], pointers: &mut Vec<Pointer>, problems: &mut Problems) -> FeatureSet {
    let mut set = FeatureSet { pointers: Arc::new([]), names: Vec::new(), features: Vec::new() };
    if list.is_empty() || list.len() > FEATURES_MAX {
        problems.add("feature", format!("expected 1 to {FEATURES_MAX} features, found {}", list.len()));
        return set;
    }
    for (n, value) in list.iter().enumerate() {
        let at = format!("feature[{n}]");
        let Value::Table(table) = value else {
            problems.add(at, format!("expected a table, found {}", found(value)));
            continue;
        };
        if let Some(feature) = read_feature(table, at.clone(), pointers, set.names.len(), problems) {
            if set.features.iter().any(|other| other.name == feature.name) {
                problems.add(format!("{at}.name"), format!("a second feature named {:?}", feature.name));
            }
            name_columns(&feature, &mut set.names);
            set.features.push(feature);
        }
        if set.names.len() > COLUMNS_MAX {
            problems.add(at, format!("the features have more than {COLUMNS_MAX} columns"));
            return set;
        }
    }
    let mut streams: Vec<&Query> = Vec::new();
    for query in set.queries() {
        if !streams.iter().any(|other| other.shares_entries(query)) {
            streams.push(query);
        }
    }
    if streams.len() > STREAMS_MAX {
        let what =
            format!("expected windows of at most {STREAMS_MAX} keys, each filter and resolution of one being another");
        problems.add("feature", format!("{what}; found {}", streams.len()));
    }
    set
}

fn read_feature(
    table: &Table,
    at: String,
    pointers: &mut Vec<Pointer>,
    first_column: usize,
    problems: &mut Problems,
) -> Option<Feature> {
    let before = problems.0.len();
    let mut reader = Reader::new(table, at);
    let name = reader.required_text("name", problems).unwrap_or_default();
    if table.contains_key("name") && (name.is_empty() || name.len() > NAME_BYTES_MAX) {
        problems.add(reader.key("name"), format!("expected 1 to {NAME_BYTES_MAX} bytes, found {}", name.len()));
    }
    let query = match reader.value("window") {
        Some(Value::Table(window)) => Some(read_query(Reader::new(window, reader.key("window")), problems)),
        Some(other) => {
            let what = format!(
                "expected a table, as in {{ count = true, key = \"/K\", over = \"7 d\" }}, found {}",
                found(other)
            );
            problems.add(reader.key("window"), what);
            return None;
        }
        None => None,
    };
    let is_window = query.is_some();
    let pointer = if is_window {
        if reader.value("from").is_some() {
            problems.add(reader.key("from"), "expected either from or window, found both");
        }
        None
    } else {
        reader.required_text("from", problems).and_then(|text| match Pointer::parse(text) {
            Ok(pointer) => Some(pointer),
            Err(error) => {
                problems.add(reader.key("from"), error.to_string());
                None
            }
        })
    };
    let steps_at = reader.key("transform");
    let (head, steps, tail) = match reader.array("transform", problems) {
        Some(list) => read_chain(list, &steps_at, problems),
        None => (Head::Number, Vec::new(), Tail::Cut),
    };
    let tail = match reader.boolean("input", problems) {
        Some(false) if tail != Tail::Cut => {
            problems
                .add(steps_at.clone(), "expected no one-hot or hash beside input = false: a rule sees the text itself");
            tail
        }
        Some(false) => Tail::Apart,
        _ => tail,
    };
    if is_window && (head != Head::Number || !matches!(tail, Tail::Cut | Tail::Apart)) {
        problems.add(steps_at, "a window gives a number: expected number steps only, as in { log1p = true }");
    }
    // Of a window that holds nothing the number is 0, unless something else is said.
    let empty = if table.contains_key("missing") { None } else { Some(Missing::Number(0.0)) };
    let missing = read_missing(&mut reader, &head, problems);
    let baseline = reader.number("baseline", problems).unwrap_or(0.0);
    reader.finish(problems);
    let source = if let Some(query) = query {
        let query = Box::new(query?);
        query.pointers().for_each(|pointer| _ = place(pointer, pointers));
        Source::Window { query, empty: empty.unwrap_or(missing) }
    } else {
        Source::Field { pointer: place(&pointer?, pointers), head }
    };
    (problems.0.len() == before).then(|| Feature {
        name: name.to_owned(),
        source,
        steps,
        tail,
        missing,
        baseline,
        kind: ColumnKind::default(),
        first_column,
    })
}

/// The pointer's place among those to look for.
fn place(pointer: &Pointer, pointers: &mut Vec<Pointer>) -> usize {
    pointers.iter().position(|there| there == pointer).unwrap_or_else(|| {
        pointers.push(pointer.clone());
        pointers.len() - 1
    })
}

fn name_columns(feature: &Feature, names: &mut Vec<String>) {
    match &feature.tail {
        Tail::Cut => names.push(feature.name.clone()),
        Tail::OneHot { values, .. } => names.extend(values.iter().map(|value| format!("{}={value}", feature.name))),
        Tail::Apart => {}
        Tail::Hash { buckets } => names.extend((0..*buckets).map(|n| format!("{}#{n}", feature.name))),
    }
}

fn read_missing(reader: &mut Reader<'_>, head: &Head, problems: &mut Problems) -> Missing {
    const EXPECTED: &str = "expected \"unscorable\", \"nan\" or a finite number";
    let Some(value) = reader.value("missing") else { return Missing::Unscorable };
    match value {
        Value::String(text) if text == "unscorable" => Missing::Unscorable,
        Value::String(text) if text == "nan" => Missing::Nan,
        Value::String(text) if text == "zeros" && *head == Head::Category => Missing::Zeros,
        other => {
            if let Some(number) = as_number(other).filter(|n| n.is_finite()) {
                return Missing::Number(number);
            }
            let or = if *head == Head::Category { " or \"zeros\"" } else { "" };
            problems.add(reader.key("missing"), format!("{EXPECTED}{or}, found {}", found(other)));
            Missing::Unscorable
        }
    }
}

/// Reads the chain: a time step first, number steps, then one-hot or hash.
fn read_chain(list: &[Value], at: &str, problems: &mut Problems) -> (Head, Vec<Step>, Tail) {
    let mut chain = (Head::Number, Vec::new(), Tail::Cut);
    if list.len() > STEPS_MAX {
        problems.add(at, format!("expected at most {STEPS_MAX} steps, found {}", list.len()));
        return chain;
    }
    for (n, value) in list.iter().enumerate() {
        let at = format!("{at}[{n}]");
        let Some((table, (name, _))) =
            value.as_table().filter(|t| t.len() == 1).and_then(|t| t.iter().next().map(|first| (t, first)))
        else {
            problems.add(at, "expected a table of one step, as in { log1p = true }");
            continue;
        };
        if chain.2 != Tail::Cut {
            problems.add(at, "one-hot and hash stand last in a transform");
            continue;
        }
        let mut reader = Reader::new(table, at.clone());
        match name.as_str() {
            "hour-of-day" | "day-of-week" | "night" | "weekend" | "ordinal" | "in-list" if n > 0 => {
                let how = if ["ordinal", "in-list"].contains(&name.as_str()) { "as it is" } else { "as a time" };
                problems.add(at, format!("{name} stands first in a transform: it reads the field {how}"));
                continue;
            }
            "hour-of-day" => read_time("hour-of-day", Part::Hour, &mut reader, &mut chain.0, problems),
            "day-of-week" => read_time("day-of-week", Part::Weekday, &mut reader, &mut chain.0, problems),
            "night" => read_time("night", NIGHT, &mut reader, &mut chain.0, problems),
            "weekend" => read_time("weekend", Part::Weekend, &mut reader, &mut chain.0, problems),
            "ordinal" => {
                let table = reader.table("ordinal", problems).and_then(|table| read_ordinal(table, problems));
                chain.0 = table.map_or(Head::Category, Head::Ordinal);
            }
            "in-list" => {
                let list = reader.text("in-list", problems);
                chain.0 = list.map_or(Head::Category, |name| Head::Listed(Listed::of(name)));
            }
            "one-hot" | "hash" => {
                chain.2 = read_tail(&mut reader, problems).unwrap_or(Tail::Cut);
                // Alone, it takes the field's text; after other steps, their number.
                if n == 0 {
                    chain.0 = Head::Category;
                }
            }
            _ => chain.1.extend(read_step(&mut reader, problems)),
        }
        reader.finish(problems);
    }
    chain
}

/// The night where only a zone is said.
const NIGHT: Part = Part::Night { from_us: 0, to_us: NIGHT_ENDS_US };

fn read_time(key: &'static str, part: Part, reader: &mut Reader<'_>, head: &mut Head, problems: &mut Problems) {
    let read = match reader.value(key) {
        Some(Value::Table(table)) if part == NIGHT => {
            let night = read_night(Reader::new(table, reader.key(key)), problems);
            night.map(|(zone, from_us, to_us)| (zone, Part::Night { from_us, to_us }))
        }
        value => value.and_then(|value| read_zone(reader, key, value, problems)).map(|zone| (zone, part)),
    };
    if let Some((zone, part)) = read {
        *head = Head::Time { part, zone };
    }
}

/// `bucketise = [10, 50, 200]`: ascending bounds.
fn read_bounds(reader: &mut Reader<'_>, problems: &mut Problems) -> Option<Step> {
    let list = reader.array("bucketise", problems)?;
    let bounds: Option<Vec<f64>> = list.iter().map(|value| as_number(value).filter(|x| x.is_finite())).collect();
    let ascending = |bounds: &Vec<f64>| bounds.is_sorted_by(|a, b| a < b) && (1..=BOUNDS_MAX).contains(&bounds.len());
    let bounds = bounds.filter(ascending);
    if bounds.is_none() {
        let what = format!("expected 1 to {BOUNDS_MAX} finite numbers, each above the one before it");
        problems.add(reader.key("bucketise"), what);
    }
    bounds.map(|bounds| Step::Bucketise(bounds.into()))
}

fn read_step(reader: &mut Reader<'_>, problems: &mut Problems) -> Option<Step> {
    let present: Vec<String> = reader.rest().map(|(key, _)| key.to_owned()).collect();
    match present.first().map(String::as_str) {
        Some("log1p") => {
            if !reader.boolean("log1p", problems)? {
                problems.add(reader.key("log1p"), "expected true; leave the step out instead");
            }
            Some(Step::Log1p)
        }
        Some("standardise") => read_standardise(reader, problems),
        Some("min-max") => {
            let mut inner = reader.table("min-max", problems)?;
            let (min, max) = (inner.required_number("min", problems), inner.required_number("max", problems));
            let step = ordered(&inner, min?, max?, false, problems);
            inner.finish(problems);
            step.map(|(min, max)| Step::MinMax { min, max })
        }
        Some("clip") => {
            let mut inner = reader.table("clip", problems)?;
            let (min, max) = (inner.number("min", problems), inner.number("max", problems));
            if min.is_none() && max.is_none() {
                problems.add(inner.key("min"), "expected a min, a max or both");
            }
            let step = ordered(&inner, min.unwrap_or(f64::NEG_INFINITY), max.unwrap_or(f64::INFINITY), true, problems);
            inner.finish(problems);
            step.map(|(min, max)| Step::Clip { min, max })
        }
        Some("bucketise") => read_bounds(reader, problems),
        Some("sin") => read_period("sin", reader, problems).map(|period| Step::Sin { period }),
        Some("cos") => read_period("cos", reader, problems).map(|period| Step::Cos { period }),
        _ => {
            for key in [
                "log1p",
                "standardise",
                "min-max",
                "clip",
                "bucketise",
                "sin",
                "cos",
                "hour-of-day",
                "day-of-week",
                "night",
                "weekend",
                "ordinal",
                "in-list",
                "one-hot",
                "hash",
            ] {
                let _ = reader.value(key);
            }
            None // `finish` names the unknown step and those there are
        }
    }
}

fn read_standardise(reader: &mut Reader<'_>, problems: &mut Problems) -> Option<Step> {
    let mut inner = reader.table("standardise", problems)?;
    let (mean, std) = (inner.required_number("mean", problems), inner.required_number("std", problems));
    if let Some(std) = std
        && std <= 0.0
    {
        problems.add(inner.key("std"), format!("expected a number above 0, found {std}"));
    }
    inner.finish(problems);
    Some(Step::Standardise { mean: mean?, std: std? })
}

fn read_period(key: &'static str, reader: &mut Reader<'_>, problems: &mut Problems) -> Option<f64> {
    let mut inner = reader.table(key, problems)?;
    let period = inner.required_number("period", problems);
    if let Some(period) = period
        && period <= 0.0
    {
        problems.add(inner.key("period"), format!("expected a number above 0, found {period}"));
    }
    inner.finish(problems);
    period
}

fn ordered(at: &Reader<'_>, min: f64, max: f64, equal: bool, problems: &mut Problems) -> Option<(f64, f64)> {
    if min < max || (equal && min <= max) {
        return Some((min, max));
    }
    problems.add(at.key("max"), format!("expected more than min = {min}, found {max}"));
    None
}

fn read_tail(reader: &mut Reader<'_>, problems: &mut Problems) -> Option<Tail> {
    if reader.rest().any(|(key, _)| key == "hash") {
        let mut inner = reader.table("hash", problems)?;
        let buckets = inner.whole("buckets", 1..=WIDTH_MAX, problems);
        if buckets.is_none() && inner.rest().next().is_none() {
            problems.add(inner.key("buckets"), format!("expected a whole number from 1 to {WIDTH_MAX}"));
        }
        inner.finish(problems);
        return buckets.map(|buckets| Tail::Hash { buckets });
    }
    let mut inner = reader.table("one-hot", problems)?;
    let list = inner.array("values", problems).unwrap_or_default();
    if list.is_empty() || list.len() > WIDTH_MAX {
        problems.add(inner.key("values"), format!("expected 1 to {WIDTH_MAX} values, found {}", list.len()));
    }
    let mut values = Vec::with_capacity(list.len().min(WIDTH_MAX));
    for (n, value) in list.iter().take(WIDTH_MAX).enumerate() {
        let at = format!("{}[{n}]", inner.key("values"));
        match category_text(value) {
            Some(text) if values.contains(&text) => problems.add(at, format!("{text:?} stands there twice")),
            Some(text) => values.push(text),
            None => problems.add(at, format!("expected a text, a whole number or a boolean, found {}", found(value))),
        }
    }
    let unknown_is_zeros = match inner.text("unknown", problems) {
        None | Some("zeros") => true,
        Some("unscorable") => false,
        Some(other) => {
            problems.add(inner.key("unknown"), format!("expected \"zeros\" or \"unscorable\", found {other:?}"));
            true
        }
    };
    inner.finish(problems);
    Some(Tail::OneHot { values, unknown_is_zeros })
}

pub(super) fn category_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Boolean(value) => Some(value.to_string()),
        other => {
            let mut digits = [0; 24];
            let text = whole_text(as_number(other)?, &mut digits)?;
            String::from_utf8(text.to_vec()).ok()
        }
    }
}
