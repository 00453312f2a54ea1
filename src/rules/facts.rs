//! What rules ask of an event.

use crate::features::Value;

/// An event as rules see it. What it has not is missing ([`Value::Missing`], None).
pub trait Facts {
    /// The value of a feature before its transforms; `n` counts the features of the set that the rules were read with.
    fn feature(&self, n: usize) -> Value<'_>;
    /// What the pointer `n` of [`super::RuleSet::pointers`] found.
    fn field(&self, n: usize) -> Value<'_>;
    /// The model's score; None where the event could not be scored.
    fn score(&self) -> Option<f64>;
    fn key(&self) -> Option<&str>;
    fn source(&self) -> &str;
}
