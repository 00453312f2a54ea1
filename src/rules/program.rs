//! A compiled expression: three kinds of node, one for each type, so that nothing is looked up or decided twice.
//!
//! A number that is missing is NaN, which no comparison holds of; each operation that gives no finite number gives NaN.
//! Evaluating allocates nothing, calls itself no deeper than the expression nests, and always ends.

use super::facts::Facts;
use super::syntax::{Comparison, Own};
use super::types::Origin;
use crate::features::{Digits, List, Value};
use std::sync::Arc;

/// A condition.
#[derive(Debug)]
pub(super) enum Truth {
    Always(bool),
    /// A boolean by its origin.
    Load(Origin),
    Not(Box<Truth>),
    All(Box<[Truth]>),
    Any(Box<[Truth]>),
    Numbers(Comparison, Box<[Number; 2]>),
    Texts(Comparison, Box<[Text; 2]>),
    Truths(Comparison, Box<[Truth; 2]>),
    /// Two fields whose types nothing says: equal if both are of one type and value.
    Alike(Comparison, [Origin; 2]),
    /// Whether the value is (or is not, but there) among these.
    AmongNumbers(bool, Number, Box<[f64]>),
    AmongTexts(bool, Text, Box<[Box<str>]>),
    Listed(bool, Listable, Arc<List>),
    Has(Origin),
    Part(Position, Box<[Text; 2]>),
}

#[derive(Debug)]
pub(super) enum Number {
    Is(f64),
    Load(Origin),
    /// The first, then each with its operator (true: minus).
    Sum(Box<Number>, Box<[(bool, Number)]>),
    /// The same (true: divided by).
    Product(Box<Number>, Box<[(bool, Number)]>),
    Default(Box<[Number; 2]>),
    Least(Box<[Number]>),
    Greatest(Box<[Number]>),
    Of(Step, Box<Number>),
    Length(Text),
}

/// What is done with one number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Negate,
    Abs,
    Log1p,
    Floor,
    Ceil,
}

#[derive(Debug)]
pub(super) enum Text {
    Is(Box<str>),
    Load(Origin),
}

/// What can be looked up in a list.
#[derive(Debug)]
pub(super) enum Listable {
    /// As it comes: a text, a number or a boolean.
    Load(Origin),
    Number(Number),
    Text(Text),
}

/// Where a text is looked for in another.
#[derive(Clone, Copy, Debug)]
pub(super) enum Position {
    Start,
    End,
    Anywhere,
}

impl Origin {
    pub fn load(self, facts: &dyn Facts) -> Value<'_> {
        match self {
            Self::Feature(n) => facts.feature(n),
            Self::Field(n) => facts.field(n),
            Self::Own(Own::Score) => facts.score().map_or(Value::Missing, Value::Number),
            Self::Own(Own::Key) => facts.key().map_or(Value::Missing, Value::Text),
            Self::Own(Own::Source) => Value::Text(facts.source()),
        }
    }
}

impl Truth {
    pub fn holds(&self, facts: &dyn Facts) -> bool {
        match self {
            Self::Always(value) => *value,
            Self::Load(_) => self.known(facts) == Some(true),
            Self::Not(part) => !part.holds(facts),
            Self::All(parts) => parts.iter().all(|part| part.holds(facts)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(facts)),
            Self::Numbers(comparison, sides) => {
                let [left, right] = &**sides;
                comparison.holds(left.value(facts).partial_cmp(&right.value(facts)))
            }
            Self::Texts(comparison, sides) => {
                let (mut a, mut b) = (Digits::default(), Digits::default());
                let [left, right] = &**sides;
                let (left, right) = (left.value(facts, &mut a), right.value(facts, &mut b));
                left.zip(right).is_some_and(|(left, right)| comparison.holds(Some(left.cmp(right))))
            }
            Self::Truths(comparison, sides) => {
                let [left, right] = &**sides;
                let both = left.known(facts).zip(right.known(facts));
                both.is_some_and(|(left, right)| comparison.holds(Some(left.cmp(&right))))
            }
            Self::Alike(comparison, [left, right]) => {
                let alike = left.load(facts).is(right.load(facts));
                alike.is_some_and(|alike| alike == (*comparison == Comparison::Equal))
            }
            Self::AmongNumbers(not, number, among) => {
                let number = number.value(facts);
                number.is_finite() && among.contains(&number) != *not
            }
            Self::AmongTexts(not, text, among) => {
                let mut digits = Digits::default();
                let text = text.value(facts, &mut digits);
                text.is_some_and(|text| among.iter().any(|other| **other == *text) != *not)
            }
            Self::Listed(not, value, list) => {
                let listed = match value {
                    Listable::Load(origin) => list.holds(origin.load(facts)),
                    Listable::Number(number) => list.holds(Value::Number(number.value(facts))),
                    Listable::Text(text) => {
                        let mut digits = Digits::default();
                        list.holds(text.value(facts, &mut digits).map_or(Value::Missing, Value::Text))
                    }
                };
                listed.is_some_and(|listed| listed != *not)
            }
            Self::Has(origin) => !matches!(origin.load(facts), Value::Missing),
            Self::Part(position, sides) => {
                let (mut a, mut b) = (Digits::default(), Digits::default());
                let [whole, part] = &**sides;
                let both = whole.value(facts, &mut a).zip(part.value(facts, &mut b));
                both.is_some_and(|(whole, part)| match position {
                    Position::Start => whole.starts_with(part),
                    Position::End => whole.ends_with(part),
                    Position::Anywhere => whole.contains(part),
                })
            }
        }
    }

    /// A field may be missing; all else is true or false.
    fn known(&self, facts: &dyn Facts) -> Option<bool> {
        match self {
            Self::Load(origin) => match origin.load(facts) {
                Value::Bool(value) => Some(value),
                _ => None,
            },
            other => Some(other.holds(facts)),
        }
    }
}

/// NaN for what is no finite number.
fn finite(x: f64) -> f64 {
    if x.is_finite() { x } else { f64::NAN }
}

impl Number {
    pub fn value(&self, facts: &dyn Facts) -> f64 {
        match self {
            Self::Is(number) => *number,
            Self::Load(origin) => origin.load(facts).number().unwrap_or(f64::NAN),
            Self::Sum(first, rest) => rest.iter().fold(first.value(facts), |sum, (minus, part)| {
                let part = part.value(facts);
                finite(if *minus { sum - part } else { sum + part })
            }),
            Self::Product(first, rest) => rest.iter().fold(first.value(facts), |product, (over, part)| {
                let part = part.value(facts);
                finite(if *over { product / part } else { product * part })
            }),
            Self::Default(both) => {
                let [value, otherwise] = &**both;
                let value = value.value(facts);
                if value.is_nan() { otherwise.value(facts) } else { value }
            }
            Self::Least(parts) => extreme(parts, facts, |x, least| x < least),
            Self::Greatest(parts) => extreme(parts, facts, |x, greatest| x > greatest),
            Self::Of(step, part) => step.of(part.value(facts)),
            Self::Length(text) => {
                let mut digits = Digits::default();
                // Texts are far shorter than 2^53.
                #[allow(clippy::cast_precision_loss)]
                text.value(facts, &mut digits).map_or(f64::NAN, |text| text.chars().count() as f64)
            }
        }
    }
}

/// NaN where any part is.
fn extreme(parts: &[Number], facts: &dyn Facts, wins: fn(f64, f64) -> bool) -> f64 {
    let mut values = parts.iter().map(|part| part.value(facts));
    let first = values.next().unwrap_or(f64::NAN);
    values.fold(first, |so_far, x| if x.is_nan() || wins(x, so_far) { x } else { so_far })
}

impl Step {
    pub fn of(self, x: f64) -> f64 {
        match self {
            Self::Negate => -x,
            Self::Abs => x.abs(),
            Self::Log1p => finite(x.ln_1p()),
            Self::Floor => x.floor(),
            Self::Ceil => x.ceil(),
        }
    }
}

impl Text {
    pub fn value<'f>(&'f self, facts: &'f dyn Facts, digits: &'f mut Digits) -> Option<&'f str> {
        match self {
            Self::Is(text) => Some(text),
            Self::Load(origin) => origin.load(facts).text(digits),
        }
    }
}
