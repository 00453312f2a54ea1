//! A feature's value before its steps: what rules compare.
//!
//! Of a time step it is the hour, day or flag, of `in-list` the flag, of `one-hot`, `hash` and `ordinal` the text as the
//! event has it. Where `missing` is a number, that number stands here too.

use super::FeatureSet;
use super::encode::Listed;
use super::transform::{Clock, Feature, Head, Missing, Source, Tail, WHOLE_BYTES_MAX, number_of, whole_text};
use super::window::{Answer, View};
use crate::event::Field;

/// A value of an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Not there, or null.
    Missing,
    Bool(bool),
    Number(f64),
    Text(&'a str),
    /// An object or a list: there, but nothing that could be compared.
    Composite,
}

/// Room for the digits of a whole number.
pub type Digits = [u8; WHOLE_BYTES_MAX];

impl<'a> Value<'a> {
    /// What a pointer found; `text` is the buffer of the fields' texts.
    #[must_use]
    pub fn of(field: Field, text: &'a str) -> Self {
        match field {
            Field::Missing | Field::Null => Self::Missing,
            Field::Bool(value) => Self::Bool(value),
            Field::Number(number) => Self::Number(number),
            Field::Text(span) => Self::Text(span.in_text(text)),
            Field::Composite => Self::Composite,
        }
    }

    /// As a finite number; `true` and `false` are 1 and 0, a text never is one.
    #[must_use]
    pub fn number(self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(number).filter(|number| number.is_finite()),
            Self::Bool(value) => Some(f64::from(u8::from(value))),
            _ => None,
        }
    }

    /// As a text; a whole number is its decimal digits, `true` and `false` are words.
    #[must_use]
    pub fn text(self, digits: &'a mut Digits) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Bool(true) => Some("true"),
            Self::Bool(false) => Some("false"),
            Self::Number(number) => std::str::from_utf8(whole_text(number, digits)?).ok(),
            Self::Missing | Self::Composite => None,
        }
    }

    /// Whether both are of one type and value; None where one is missing or cannot be compared.
    #[must_use]
    pub fn is(self, other: Value<'_>) -> Option<bool> {
        let comparable = |value: Value<'_>| match value {
            Value::Number(number) => number.is_finite(),
            Value::Missing | Value::Composite => false,
            Value::Bool(_) | Value::Text(_) => true,
        };
        (comparable(self) && comparable(other)).then(|| self == other)
    }
}

impl FeatureSet {
    /// The value of feature `n` before its steps. `fields[i]` is what `pointers()[i]` found, `text` the buffer of their
    /// texts, `view` what the windows hold for the event. What cannot be read as the feature wants it is missing.
    /// Allocates nothing.
    #[must_use]
    pub fn raw<'a>(&self, n: usize, fields: &[Field], text: &'a str, view: Option<&View<'_>>) -> Value<'a> {
        let Some(feature) = self.features.get(n) else { return Value::Missing };
        match &feature.source {
            Source::Field { pointer, head } => {
                let field = fields.get(*pointer).copied().unwrap_or(Field::Missing);
                feature.raw(field, text, *pointer, head)
            }
            Source::Window { query, empty } => match view.map_or(Answer::Unknown, |view| view.answer(query)) {
                Answer::Number(number) => Value::Number(number),
                Answer::Empty => instead(*empty),
                Answer::NoKey => instead(feature.missing),
                Answer::OutOfRange | Answer::Unknown => Value::Missing,
            },
        }
    }

    /// Appends what the windows hold for the event, a number a window feature before its steps, NaN where it is missing:
    /// for [`Self::raw_at`], when the windows have gone on.
    pub fn freeze(&self, view: Option<&View<'_>>, out: &mut Vec<f64>) {
        let windows = (0..self.features.len()).filter(|n| self.window_place(*n).is_some());
        out.extend(windows.map(|n| self.raw(n, &[], "", view).number().unwrap_or(f64::NAN)));
    }

    /// How many numbers [`Self::freeze`] appends.
    #[must_use]
    pub fn frozen(&self) -> usize {
        self.queries().count()
    }

    /// [`Self::raw`] of an event whose windows were frozen.
    #[must_use]
    pub fn raw_at<'a>(&self, n: usize, fields: &[Field], text: &'a str, frozen: &[f64]) -> Value<'a> {
        let Some(place) = self.window_place(n) else { return self.raw(n, fields, text, None) };
        frozen.get(place).filter(|number| !number.is_nan()).map_or(Value::Missing, |number| Value::Number(*number))
    }

    /// Which of the window features it is, if it is one.
    fn window_place(&self, n: usize) -> Option<usize> {
        let is_window = |feature: &Feature| matches!(feature.source, Source::Window { .. });
        self.features.get(n).filter(|feature| is_window(feature))?;
        Some(self.features.get(..n)?.iter().filter(|feature| is_window(feature)).count())
    }

    /// Whether [`Self::raw`] of feature `n` is a number or missing, never anything else, whatever model it is bound to: a
    /// feature without steps is what the model takes there, a number or a text.
    #[must_use]
    pub fn raw_is_number(&self, n: usize) -> bool {
        self.features.get(n).is_some_and(|feature| match &feature.source {
            Source::Field { head: Head::Category | Head::Ordinal(_), .. } => false,
            Source::Field { head: Head::Number, .. } => {
                !feature.steps.is_empty()
                    || !matches!(feature.tail, Tail::Cut)
                    || matches!(feature.missing, Missing::Number(_))
            }
            _ => true,
        })
    }

    /// Whether [`Self::raw`] of feature `n` is what the event has, a text mostly, and not a number: once the set is bound
    /// to its model.
    #[must_use]
    pub fn raw_is_text(&self, n: usize) -> bool {
        let text = |source: &Source| matches!(source, Source::Field { head: Head::Category | Head::Ordinal(_), .. });
        self.features.get(n).is_some_and(|feature| text(&feature.source))
    }
}

/// What stands for a value that is not there.
fn instead<'a>(missing: Missing) -> Value<'a> {
    match missing {
        Missing::Number(number) => Value::Number(number),
        _ => Value::Missing,
    }
}

impl Feature {
    fn raw<'a>(&self, field: Field, text: &'a str, pointer: usize, head: &Head) -> Value<'a> {
        // A table's stand-in is a number of the table, not a text.
        if let Head::Ordinal(_) = head {
            return Value::of(field, text);
        }
        if matches!(field, Field::Missing | Field::Null) {
            return instead(self.missing);
        }
        let number = match head {
            Head::Number => number_of(field),
            Head::Time { part, zone } => {
                let time_us = Clock::default().read(pointer, field, text);
                time_us.map(|time_us| part.of(zone.local_us(time_us)))
            }
            Head::Listed(Listed { list, .. }) => {
                let listed = list.as_ref().and_then(|list| list.holds(Value::of(field, text)));
                return listed.map_or(Value::Missing, |listed| Value::Number(f64::from(u8::from(listed))));
            }
            Head::Category | Head::Ordinal(_) => return Value::of(field, text),
        };
        number.map_or(Value::Missing, Value::Number)
    }
}
