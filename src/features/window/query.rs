//! What one feature asks of a window, as it is declared, and where a plan keeps the answer.

use super::layout::Reads;
use crate::event::Pointer;

/// Microseconds of a second.
pub const SECOND_US: i64 = 1_000_000;
/// Microseconds of a day.
pub const DAY_US: i64 = 86_400 * SECOND_US;

/// A window feature's question.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    pub aggregate: Aggregate,
    /// Fields that name the key, 1 to [`super::KEYS_MAX`].
    pub keys: Vec<Pointer>,
    pub over_us: i64,
    pub delay_us: i64,
    pub filter: Option<Filter>,
    /// Width of a pane; 0: exact.
    pub resolution_us: i64,
    /// Set by [`crate::features::FeatureSet::bound_to`].
    pub place: Option<Place>,
}

/// What is asked of the events in the window.
#[derive(Clone, Debug, PartialEq)]
pub enum Aggregate {
    Count,
    Sum(Pointer),
    Mean(Pointer),
    Min(Pointer),
    Max(Pointer),
    /// Of the sample: divided by n - 1.
    Std(Pointer),
    Distinct(Pointer),
    SinceLast,
    /// This event's value by the window's mean.
    Ratio(Pointer),
    FirstSeen,
    LabelSum,
    LabelMean,
}

/// Only events whose field has one of these values are entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    pub pointer: Pointer,
    /// Canonical texts, sorted, each once.
    pub values: Vec<String>,
}

/// Where a plan keeps what a query asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Number of the stream in the plan.
    pub stream: usize,
    pub reads: Reads,
}

impl Aggregate {
    /// The field whose numbers it works on.
    pub fn number(&self) -> Option<&Pointer> {
        match self {
            Self::Sum(p) | Self::Mean(p) | Self::Min(p) | Self::Max(p) | Self::Std(p) | Self::Ratio(p) => Some(p),
            _ => None,
        }
    }

    /// The field whose values it tells apart.
    pub fn category(&self) -> Option<&Pointer> {
        match self {
            Self::Distinct(pointer) => Some(pointer),
            _ => None,
        }
    }

    /// Whether it needs labels.
    pub fn is_of_labels(&self) -> bool {
        matches!(self, Self::LabelSum | Self::LabelMean)
    }
}

impl Query {
    /// Every field that it needs of an event.
    pub fn pointers(&self) -> impl Iterator<Item = &Pointer> {
        let filter = self.filter.iter().map(|filter| &filter.pointer);
        self.keys.iter().chain(self.aggregate.number()).chain(self.aggregate.category()).chain(filter)
    }

    /// How far before an event its window begins.
    pub fn span_us(&self) -> i64 {
        self.over_us.saturating_add(self.delay_us)
    }

    /// Whether both look at the same entries: a stream holds them once.
    pub fn shares_entries(&self, other: &Self) -> bool {
        self.keys == other.keys && self.filter == other.filter && self.resolution_us == other.resolution_us
    }
}
