//! What kind of number the model takes in a column, and how texts become numbers.
//!
//! A row is f64 throughout. A column of texts holds the number that the model has for a text ([`Texts`]): all that a
//! model ever does to a text is to compare it with those it knows, so one number for all others is enough.

use std::collections::HashMap;
use std::sync::Arc;

/// What a column of the model's input takes.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ColumnKind {
    /// The model works on f32: a value is cut to it once, at the end.
    #[default]
    F32,
    F64,
    /// Whole numbers. There is none for what is missing.
    I64,
    Text(Arc<Texts>),
}

/// The texts that a model knows in a column, each with its number there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Texts {
    known: HashMap<Box<str>, f64>,
    unseen: f64,
    missing: f64,
}

impl Texts {
    /// `unseen` stands for every other text, `missing` for none.
    #[must_use]
    pub fn new(known: impl IntoIterator<Item = (Box<str>, f64)>, unseen: f64, missing: f64) -> Self {
        Self { known: known.into_iter().collect(), unseen, missing }
    }

    /// The number that stands for `text`.
    #[must_use]
    pub fn number(&self, text: &str) -> f64 {
        self.known.get(text).copied().unwrap_or(self.unseen)
    }

    /// The number that stands for a text that the model does not know.
    #[must_use]
    pub fn unseen(&self) -> f64 {
        self.unseen
    }

    /// Whether the model knows it.
    #[must_use]
    pub fn knows(&self, text: &str) -> bool {
        self.known.contains_key(text)
    }

    /// The number that stands for no text.
    #[must_use]
    pub fn missing(&self) -> f64 {
        self.missing
    }

    /// The text that a number stands for; None for those that the model does not know.
    #[must_use]
    pub fn text(&self, number: f64) -> Option<&str> {
        // Numbers of this table are copied, never computed with.
        #[allow(clippy::float_cmp)]
        self.known.iter().find(|(_, known)| **known == number).map(|(text, _)| &**text)
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.known.keys().map(|text| text.len() + size_of::<(Box<str>, f64)>() * 2).sum()
    }
}

impl ColumnKind {
    /// As a person reads it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::I64 => "i64",
            Self::Text(_) => "text",
        }
    }

    /// The value as the model gets it; None where it is no number of this kind.
    #[must_use]
    pub fn cut(&self, value: f64) -> Option<f64> {
        match self {
            Self::F32 => {
                // The cut is the point.
                #[allow(clippy::cast_possible_truncation)]
                let cut = value as f32;
                cut.is_finite().then_some(f64::from(cut))
            }
            Self::F64 | Self::Text(_) => value.is_finite().then_some(value),
            // A fraction is not cut off in silence.
            Self::I64 => (value.abs() <= I64_MAX && value.fract() == 0.0).then_some(value),
        }
    }
}

/// 2^63 rounded down to what an f64 below it can be.
const I64_MAX: f64 = 9_223_372_036_854_774_784.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_the_model_does_not_know_is_unseen_and_none_is_missing() {
        let texts = Texts::new([("pos".into(), 0.0), ("web".into(), 1.0)], -1.0, f64::NAN);
        assert_eq!((texts.number("web"), texts.number("moto")), (1.0, -1.0));
        assert!(texts.missing().is_nan());
        assert_eq!((texts.text(0.0), texts.text(-1.0)), (Some("pos"), None));
    }

    #[test]
    fn a_value_is_cut_to_what_the_model_takes() {
        assert_eq!(ColumnKind::F32.cut(0.1), Some(f64::from(0.1_f32)));
        assert_eq!(ColumnKind::F32.cut(1e39), None);
        assert_eq!(ColumnKind::F64.cut(0.1), Some(0.1));
        assert_eq!((ColumnKind::I64.cut(-2.0), ColumnKind::I64.cut(-2.7)), (Some(-2.0), None));
        assert_eq!(ColumnKind::I64.cut(f64::NAN), None);
        assert_eq!(ColumnKind::I64.cut(1e19), None);
        assert_eq!(ColumnKind::F64.cut(f64::INFINITY), None);
    }
}
