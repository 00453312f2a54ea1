//! An event's fields to a row of numbers: what a bundle's `[[feature]]` tables declare.
//!
//! ```toml
//! [[feature]]
//! name = "TX_AMOUNT"
//! from = "/TX_AMOUNT"                                     # JSON pointer into the event
//! transform = [{ log1p = true }, { standardise = { mean = 3.1, std = 1.2 } }]
//! missing = "unscorable"                                  # the default
//! baseline = 0.0                                          # the default, after the transforms
//! input = true                                            # the default; false: for rules alone, not of the model
//! ```
//!
//! **Values.** A number is itself, `true` and `false` are 1 and 0, `null` counts as missing. A text is
//! never read as a number, whatever it looks like: the event is then unscorable and says so.
//!
//! **Transforms**, applied in order, in f64:
//!
//! | step | gives |
//! |---|---|
//! | `log1p = true` | ln(1 + x) |
//! | `standardise = { mean, std }` | (x - mean) / std |
//! | `min-max = { min, max }` | (x - min) / (max - min), not clipped |
//! | `bucketise = [b1, b2, …]` | how many of the ascending bounds are reached (x >= b), so 0 to their number |
//! | `clip = { min, max }` | x held within them; one of the two may be left out |
//! | `sin = { period }`, `cos = { period }` | sin or cos of 2πx / period |
//! | `hour-of-day = ZONE` | hours since midnight, 0 to below 24, minutes as a fraction |
//! | `day-of-week = ZONE` | 0 Monday to 6 Sunday |
//! | `night = ZONE` | 1 from 00:00 to 06:59:59, else 0; `{ zone, from = "22:00", to = "06:00" }` for other hours, `to` not among them |
//! | `weekend = ZONE` | 1 on Saturday and Sunday, else 0 |
//! | `ordinal = { values = { pos = 0, web = 1 } }` | the text's number; a list of values counts from 0; `unknown`: a number, `"nan"` or `"unscorable"` (the default) |
//! | `in-list = "NAME"` | 1 where the `[[list]]` of that name has the text, else 0 |
//! | `one-hot = { values = […] }` | a column a value, named `FEATURE=value`; `unknown = "zeros"` or `"unscorable"` |
//! | `hash = { buckets = N }` | N columns `FEATURE#0` …, a 1 at xxh3-64(text) mod N |
//!
//! `ZONE` is `"UTC"`, a fixed offset as in `"+03:00"` or an IANA name as in `"Europe/Berlin"`, with its summer time. The
//! time steps stand first and read RFC 3339 or a number since 1970 (seconds, milliseconds or microseconds by its size).
//! `ordinal` and `in-list` stand first, `one-hot` and `hash` last; those that read a field take texts, whole numbers (as
//! their decimal digits) and `true`/`false`.
//!
//! **Missing** is one of `"unscorable"`, `"nan"`, a number that stands for the field before the steps
//! after a first one that reads a time or a text (so an hour, not a time), and for a lone `one-hot` or `hash` `"zeros"`.
//!
//! All is computed in f64; a row is f64 too, and cut to f32 where the model's input is f32 ([`ColumnKind`]). A value that
//! is no finite number of that kind makes the event unscorable; only `missing = "nan"` puts a NaN in a row.
//!
//! `window = { … }` instead of `from` asks for what a key did before: `window`.

mod column;
mod encode;
mod join;
mod keys;
mod list;
mod raw;
mod read;
mod spec;
mod transform;
mod window;
mod zone;

#[cfg(test)]
mod steps_tests;
#[cfg(test)]
mod tests;

pub use column::{ColumnKind, Texts};
pub use join::union;
pub use list::{LIST_BYTES_MAX, LIST_KEYS_MAX, List, Looked};
pub use raw::{Digits, Value};
pub use read::{Problem, Problems, Reader, as_number, found};
pub use spec::{COLUMNS_MAX, FEATURES_MAX, read_features};

use crate::event::{Field, Pointer};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use transform::{Clock, Feature, From, Source, Tail};
use window::Query;
pub use window::{
    Ahead, CellKind, CellReader, Column, Limits, Plan, Stats, TOO_LATE, View, WAITING_MAX, Waiting, Windows,
};

/// Why an event has no row. Its text is a reason of the verdict: short and free of the event's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unscorable<'a> {
    pub feature: &'a str,
    pub why: Why,
}

/// What was wrong with a feature's field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    Missing,
    /// A number was expected, this kind of value was found.
    NotNumber(&'static str),
    /// A time was expected, this kind of value was found.
    NotTime(&'static str),
    /// A text, whole number or boolean was expected, this kind of value was found.
    NotCategory(&'static str),
    /// A value that `one-hot` does not list, under `unknown = "unscorable"`.
    UnknownValue,
    /// A value that `ordinal` does not list, under `unknown = "unscorable"`.
    NotInTable,
    /// `in-list` names a list that is not there.
    NoList,
    /// It asks a window, and none are kept here.
    NoWindows,
    /// The transforms give no finite number of the column's kind.
    NotFinite,
}

impl fmt::Display for Unscorable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.feature, self.why)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("missing"),
            Self::NotNumber(found) => write!(f, "expected a number, found {found}"),
            Self::NotTime(found) => write!(f, "expected a time, found {found}"),
            Self::NotCategory(found) => write!(f, "expected a text or whole number, found {found}"),
            Self::UnknownValue => f.write_str("value not listed in one-hot"),
            Self::NotInTable => f.write_str("value not listed in ordinal"),
            Self::NoList => f.write_str("its list is not there"),
            Self::NoWindows => f.write_str("no windows are kept here"),
            Self::NotFinite => f.write_str("out of range"),
        }
    }
}

/// A bundle's features, compiled: which fields to look for, and how a row is made of them.
#[derive(Clone, Debug)]
pub struct FeatureSet {
    pointers: Arc<[Pointer]>,
    /// A name a column.
    names: Vec<String>,
    features: Vec<Feature>,
}

impl FeatureSet {
    /// The fields to look for in each event, each once, in the order that [`Self::fill`] expects.
    #[must_use]
    pub fn pointers(&self) -> &Arc<[Pointer]> {
        &self.pointers
    }

    /// The columns' names, in the order of the model's inputs.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Columns of a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.names.len()
    }

    /// Number of features; one may have several columns.
    #[must_use]
    pub fn len(&self) -> usize {
        self.features.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.features.is_empty()
    }

    /// The kinds of number that the model takes, a column each; f32 as long as no model has said otherwise.
    #[must_use]
    pub fn kinds(&self) -> Vec<ColumnKind> {
        let kinds = |feature: &Feature| vec![feature.kind.clone(); feature.columns().len()];
        self.features.iter().flat_map(kinds).collect()
    }

    /// Has each column be of the kind that the model takes there. `kinds`: one a column, in the order of a row.
    /// Problems name the feature that cannot give that.
    pub fn bind(&mut self, kinds: &[ColumnKind], problems: &mut Problems) {
        for feature in &mut self.features {
            let columns = kinds.get(feature.columns()).unwrap_or_default();
            feature.bind(columns, problems);
        }
    }

    /// The name of feature `n` as declared; empty where there is no such feature.
    #[must_use]
    pub fn feature(&self, n: usize) -> &str {
        self.features.get(n).map_or("", |feature| &feature.name)
    }

    /// The columns of feature `n` and the value each has at its baseline.
    #[must_use]
    pub fn baseline(&self, n: usize) -> (Range<usize>, f64) {
        self.features.get(n).map_or((0..0, 0.0), |feature| (feature.columns(), feature.baseline))
    }

    /// Whether some feature asks a window.
    #[must_use]
    pub fn windows(&self) -> bool {
        self.queries().next().is_some()
    }

    /// What its features ask of windows.
    pub(crate) fn queries(&self) -> impl Iterator<Item = &Query> {
        self.features.iter().filter_map(|feature| match &feature.source {
            Source::Window { query, .. } => Some(&**query),
            Source::Field { .. } => None,
        })
    }

    /// Makes an event's row. `fields[i]` is what `pointers()[i]` found, `text` the buffer of their texts, `view` what
    /// the windows hold for the event (of the plan that the set is bound to), `row` has [`Self::width`] places (what is
    /// past either's end is left alone or counts as missing).
    ///
    /// # Errors
    /// The first feature, in declared order, whose field cannot be used. The row then means nothing.
    pub fn fill(
        &self,
        fields: &[Field],
        text: &str,
        view: Option<&View<'_>>,
        row: &mut [f64],
    ) -> Result<(), Unscorable<'_>> {
        let (mut clock, from) = (Clock::default(), From { fields, text, view });
        for feature in self.features.iter().filter(|feature| feature.tail != Tail::Apart) {
            let Some(columns) = row.get_mut(feature.columns()) else { continue };
            feature.fill(&from, &mut clock, columns).map_err(|why| Unscorable { feature: &feature.name, why })?;
        }
        Ok(())
    }

    /// The same features before they are cut to f32: for [`Self::cut`], and for people.
    #[must_use]
    pub fn uncut(&self) -> Self {
        let mut set = self.clone();
        for feature in set.features.iter_mut().filter(|feature| feature.kind == ColumnKind::F32) {
            feature.kind = ColumnKind::F64;
        }
        set
    }

    /// Cuts a row that [`Self::uncut`] made to what the model takes: it is then the row that [`Self::fill`] makes.
    ///
    /// # Errors
    /// The first feature whose number is too great for its kind.
    pub fn cut(&self, row: &mut [f64]) -> Result<(), Unscorable<'_>> {
        for feature in self.features.iter().filter(|feature| feature.tail != Tail::Apart) {
            for cell in row.get_mut(feature.columns()).unwrap_or_default().iter_mut().filter(|cell| !cell.is_nan()) {
                let unscorable = Unscorable { feature: &feature.name, why: Why::NotFinite };
                *cell = feature.kind.cut(*cell).ok_or(unscorable)?;
            }
        }
        Ok(())
    }
}
