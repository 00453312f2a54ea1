//! An event as rules see it, with what the windows held at its place.

use super::Facts;
use crate::event::{Event, EventBatch, Field};
use crate::features::{FeatureSet, Value};

/// An event of a batch.
pub struct EventFacts<'a> {
    pub batch: &'a EventBatch,
    pub event: &'a Event,
    pub features: &'a FeatureSet,
    /// Its fields, those of the rules' own among them.
    pub fields: &'a [Field],
    /// What [`FeatureSet::freeze`] gave at its place.
    pub frozen: &'a [f64],
    /// Where the fields of the rules' own stand.
    pub places: &'a [usize],
    pub score: Option<f64>,
}

impl Facts for EventFacts<'_> {
    fn feature(&self, n: usize) -> Value<'_> {
        self.features.raw_at(n, self.fields, &self.batch.text, self.frozen)
    }

    fn field(&self, n: usize) -> Value<'_> {
        let field = self.places.get(n).and_then(|place| self.fields.get(*place)).copied();
        Value::of(field.unwrap_or(Field::Missing), &self.batch.text)
    }

    fn score(&self) -> Option<f64> {
        self.score
    }

    fn key(&self) -> Option<&str> {
        self.event.key.map(|key| self.batch.str(key))
    }

    fn source(&self) -> &str {
        self.batch.str(self.event.source)
    }
}
