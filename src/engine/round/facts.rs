//! An event of the wave as rules see it.

use crate::event::{Event, EventBatch, Field};
use crate::features::{FeatureSet, Value};
use crate::rules::Facts;

pub(super) struct EventFacts<'a> {
    pub batch: &'a EventBatch,
    pub event: &'a Event,
    pub features: &'a FeatureSet,
    pub fields: &'a [Field],
    /// What the windows held at its place.
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
