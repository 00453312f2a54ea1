//! A feature at work: head (field to number or text), steps (number to number), tail (to columns).

use super::encode::{Listed, Ordinal};
use super::raw::Value;
use super::window::{Answer, Query, View};
use super::zone::Zone;
use super::{ColumnKind, Problems, Why};
use crate::event::{Field, Timestamp};
use std::io::Write;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// One declared feature, compiled.
#[derive(Clone, Debug)]
pub(super) struct Feature {
    pub name: String,
    pub source: Source,
    pub steps: Vec<Step>,
    pub tail: Tail,
    pub missing: Missing,
    /// What each of its columns has where the feature says nothing, for reasons.
    pub baseline: f64,
    /// What the model takes in its columns.
    pub kind: ColumnKind,
    pub first_column: usize,
}

/// Where its number comes from.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Source {
    /// The field that this one of the set's pointers finds.
    Field { pointer: usize, head: Head },
    /// The windows. `empty`: what stands for a window that holds nothing; the feature's `missing` is for an event
    /// without the key.
    Window { query: Box<Query>, empty: Missing },
}

/// How a field becomes the value that the steps work on.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Head {
    Number,
    Time {
        part: Part,
        zone: Zone,
    },
    /// Text, whole number or boolean, for a lone one-hot or hash.
    Category,
    /// The same, as the number that a table has for it.
    Ordinal(Ordinal),
    /// The same, as 1 where a list has it and 0 where not.
    Listed(Listed),
}

/// A part of the time of day or week.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Hour,
    Weekday,
    /// From one time of day to another, in microseconds since midnight, over midnight where it ends before it begins.
    Night {
        from_us: i64,
        to_us: i64,
    },
    Weekend,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Log1p,
    /// The bounds, ascending: how many of them are reached.
    Bucketise(Box<[f64]>),
    Standardise {
        mean: f64,
        std: f64,
    },
    MinMax {
        min: f64,
        max: f64,
    },
    Clip {
        min: f64,
        max: f64,
    },
    Sin {
        period: f64,
    },
    Cos {
        period: f64,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tail {
    /// The number itself, cut to what the model takes.
    Cut,
    OneHot {
        values: Vec<String>,
        unknown_is_zeros: bool,
    },
    Hash {
        buckets: usize,
    },
    /// No column: the feature is for rules alone.
    Apart,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Missing {
    Unscorable,
    Nan,
    Zeros,
    Number(f64),
}

/// What a row is made of.
pub(super) struct From<'a, 'v> {
    pub fields: &'a [Field],
    pub text: &'a str,
    pub view: Option<&'a View<'v>>,
}

/// The last time read in a row, so that several features of one time read it once.
#[derive(Default)]
pub(super) struct Clock(Option<(usize, i64)>);

/// Longest decimal text of a whole number in f64's exact range: sign and 16 digits.
pub(super) const WHOLE_BYTES_MAX: usize = 24;
/// 2^53: whole numbers up to here are exact.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
const HOUR_US: i64 = 3_600_000_000;
const DAY_US: i64 = 24 * HOUR_US;
/// The first hour that is no longer night, where nothing else is said.
pub(super) const NIGHT_ENDS_US: i64 = 7 * HOUR_US;

impl Feature {
    pub fn columns(&self) -> Range<usize> {
        self.first_column..self.first_column + self.tail.width()
    }

    /// Writes the feature's columns.
    pub fn fill(&self, from: &From<'_, '_>, clock: &mut Clock, columns: &mut [f64]) -> Result<(), Why> {
        let (pointer, head) = match &self.source {
            Source::Field { pointer, head } => (*pointer, head),
            Source::Window { query, empty } => {
                return match from.view.map_or(Answer::Unknown, |view| view.answer(query)) {
                    Answer::Number(number) => self.finish(number, columns),
                    Answer::Empty => self.fill_missing(*empty, columns),
                    Answer::NoKey => self.fill_missing(self.missing, columns),
                    Answer::OutOfRange => Err(Why::NotFinite),
                    Answer::Unknown => Err(Why::NoWindows),
                };
            }
        };
        let (field, text) = (from.fields.get(pointer).copied().unwrap_or(Field::Missing), from.text);
        if matches!(field, Field::Missing | Field::Null) {
            return self.fill_missing(self.missing, columns);
        }
        match head {
            Head::Number => self.finish(number_of(field)?, columns),
            Head::Time { part, zone } => {
                let time_us = clock.read(pointer, field, text)?;
                self.finish(part.of(zone.local_us(time_us)), columns)
            }
            Head::Ordinal(table) => {
                let mut digits = [0; WHOLE_BYTES_MAX];
                match table.number(category_of(field, text.as_bytes(), &mut digits)?) {
                    Some(number) => self.finish(number, columns),
                    None if table.unknown == Missing::Unscorable => Err(Why::NotInTable),
                    None => self.fill_missing(table.unknown, columns),
                }
            }
            Head::Listed(Listed { list, .. }) => {
                let list = list.as_ref().ok_or(Why::NoList)?;
                let listed = list.holds(Value::of(field, text)).ok_or(Why::NotCategory(kind_of(field)))?;
                self.finish(f64::from(u8::from(listed)), columns)
            }
            Head::Category => {
                let mut digits = [0; WHOLE_BYTES_MAX];
                let category = category_of(field, text.as_bytes(), &mut digits)?;
                if let ColumnKind::Text(texts) = &self.kind {
                    // It came as a text, or as ASCII.
                    columns.fill(texts.number(std::str::from_utf8(category).unwrap_or_default()));
                    return Ok(());
                }
                self.tail.place(category, columns)
            }
        }
    }

    fn fill_missing(&self, missing: Missing, columns: &mut [f64]) -> Result<(), Why> {
        match missing {
            Missing::Unscorable => return Err(Why::Missing),
            Missing::Nan => {
                columns.fill(if let ColumnKind::Text(texts) = &self.kind { texts.missing() } else { f64::NAN });
            }
            Missing::Zeros => columns.fill(0.0),
            Missing::Number(number) => return self.finish(number, columns),
        }
        Ok(())
    }

    /// Takes over what the model takes in its columns.
    pub fn bind(&mut self, kinds: &[ColumnKind], problems: &mut Problems) {
        let Some((first, rest)) = kinds.split_first() else { return };
        let texts = kinds.iter().find(|kind| matches!(kind, ColumnKind::Text(_)));
        let is_number = matches!(self.source, Source::Field { head: Head::Number, .. });
        if texts.is_some() && (!is_number || self.tail != Tail::Cut || !self.steps.is_empty()) {
            problems.add(&self.name, "the model takes a text here: expected the field as it is, without a transform");
        } else if texts.is_some() && matches!(self.missing, Missing::Number(_)) {
            problems
                .add(&self.name, "the model takes a text here: expected missing = \"unscorable\" or \"nan\" (no text)");
        } else if kinds.contains(&ColumnKind::I64) && self.may_be_nan() {
            problems.add(
                &self.name,
                "the model takes a whole number here, and has none for what is missing: expected missing = \"unscorable\" \
                 or a number",
            );
        } else if let Some(texts) = texts {
            if let Source::Field { head, .. } = &mut self.source {
                *head = Head::Category;
            }
            // What says nothing is a text that the model does not know.
            if let ColumnKind::Text(texts) = texts {
                self.baseline = texts.unseen();
            }
            self.kind = texts.clone();
        } else {
            // Of one feature's columns the widest kind decides; there is more than one only of zeros and ones.
            self.kind = rest.iter().fold(first, |a, b| if *a == ColumnKind::F32 { b } else { a }).clone();
        }
    }

    /// Whether something puts a NaN in its columns.
    fn may_be_nan(&self) -> bool {
        let unknown = match &self.source {
            Source::Field { head: Head::Ordinal(table), .. } => table.unknown,
            _ => Missing::Unscorable,
        };
        self.missing == Missing::Nan || unknown == Missing::Nan
    }

    /// Its list, where it looks something up in one.
    pub fn listed(&mut self) -> Option<&mut Listed> {
        match &mut self.source {
            Source::Field { head: Head::Listed(listed), .. } => Some(listed),
            _ => None,
        }
    }

    fn finish(&self, mut value: f64, columns: &mut [f64]) -> Result<(), Why> {
        for step in &self.steps {
            value = step.apply(value);
        }
        if self.tail == Tail::Cut {
            columns.fill(self.kind.cut(value).ok_or(Why::NotFinite)?);
            return Ok(());
        }
        let mut digits = [0; WHOLE_BYTES_MAX];
        let whole = whole_text(value, &mut digits).ok_or(Why::NotCategory("a number with decimals"))?;
        self.tail.place(whole, columns)
    }
}

impl Step {
    fn apply(&self, x: f64) -> f64 {
        match self {
            Self::Log1p => x.ln_1p(),
            Self::Bucketise(_) if x.is_nan() => x,
            // There are few bounds.
            #[allow(clippy::cast_precision_loss)]
            Self::Bucketise(bounds) => bounds.partition_point(|bound| *bound <= x) as f64,
            Self::Standardise { mean, std } => (x - mean) / std,
            Self::MinMax { min, max } => (x - min) / (max - min),
            Self::Clip { min, max } => x.clamp(*min, *max),
            Self::Sin { period } => (x / period * std::f64::consts::TAU).sin(),
            Self::Cos { period } => (x / period * std::f64::consts::TAU).cos(),
        }
    }
}

impl Tail {
    pub fn width(&self) -> usize {
        match self {
            Self::Cut => 1,
            Self::OneHot { values, .. } => values.len(),
            Self::Hash { buckets } => *buckets,
            Self::Apart => 0,
        }
    }

    fn place(&self, category: &[u8], columns: &mut [f64]) -> Result<(), Why> {
        columns.fill(0.0);
        let at = match self {
            Self::Cut | Self::Apart => None,
            Self::OneHot { values, unknown_is_zeros } => {
                let at = values.iter().position(|value| value.as_bytes() == category);
                if at.is_none() && !unknown_is_zeros {
                    return Err(Why::UnknownValue);
                }
                at
            }
            Self::Hash { buckets } => usize::try_from(xxh3_64(category) % (*buckets).max(1) as u64).ok(),
        };
        if let Some(column) = at.and_then(|at| columns.get_mut(at)) {
            *column = 1.0;
        }
        Ok(())
    }
}

impl Part {
    pub fn of(self, local_us: i64) -> f64 {
        let in_day = local_us.rem_euclid(DAY_US);
        // 1970-01-01 was a Thursday, 3 counted from Monday.
        let weekday = (local_us.div_euclid(DAY_US) + 3).rem_euclid(7);
        let flag = |yes: bool| if yes { 1.0 } else { 0.0 };
        // Both are below 2^53.
        #[allow(clippy::cast_precision_loss)]
        match self {
            Self::Hour => in_day as f64 / HOUR_US as f64,
            Self::Weekday => weekday as f64,
            Self::Night { from_us, to_us } if from_us < to_us => flag((from_us..to_us).contains(&in_day)),
            Self::Night { from_us, to_us } => flag(in_day >= from_us || in_day < to_us),
            Self::Weekend => flag(weekday >= 5),
        }
    }
}

impl Clock {
    pub fn read(&mut self, pointer: usize, field: Field, text: &str) -> Result<i64, Why> {
        if let Some((last, time_us)) = self.0
            && last == pointer
        {
            return Ok(time_us);
        }
        let time = match field {
            Field::Number(number) => Timestamp::from_number(number).map_err(|_| Why::NotTime("another number"))?,
            Field::Text(span) => Timestamp::parse(span.in_text(text)).map_err(|_| Why::NotTime("another text"))?,
            other => return Err(Why::NotTime(kind_of(other))),
        };
        self.0 = Some((pointer, time.0));
        Ok(time.0)
    }
}

pub(super) fn number_of(field: Field) -> Result<f64, Why> {
    match field {
        Field::Number(number) => Ok(number),
        Field::Bool(value) => Ok(f64::from(u8::from(value))),
        other => Err(Why::NotNumber(kind_of(other))),
    }
}

fn category_of<'a>(field: Field, text: &'a [u8], digits: &'a mut [u8; WHOLE_BYTES_MAX]) -> Result<&'a [u8], Why> {
    match field {
        Field::Text(span) => Ok(span.of(text)),
        Field::Bool(true) => Ok(b"true"),
        Field::Bool(false) => Ok(b"false"),
        Field::Number(number) => whole_text(number, digits).ok_or(Why::NotCategory("a number with decimals")),
        other => Err(Why::NotCategory(kind_of(other))),
    }
}

/// The decimal digits of a whole number; None for any other.
pub(super) fn whole_text(number: f64, digits: &mut [u8; WHOLE_BYTES_MAX]) -> Option<&[u8]> {
    if number.fract() != 0.0 || number.abs() > WHOLE_MAX {
        return None;
    }
    let mut rest = digits.as_mut_slice();
    // Whole and within 2^53: exact. Minus zero becomes 0.
    #[allow(clippy::cast_possible_truncation)]
    write!(rest, "{}", number as i64).ok()?;
    let left = rest.len();
    digits.get(..WHOLE_BYTES_MAX - left)
}

fn kind_of(field: Field) -> &'static str {
    match field {
        Field::Missing | Field::Null => "nothing",
        Field::Bool(_) => "true or false",
        Field::Number(_) => "a number",
        Field::Text(_) => "a text",
        Field::Composite => "an object or list",
    }
}
