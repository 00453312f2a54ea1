//! The plainest evaluator there is: over the tree as it was read, by the words of the module head, values owned.

use super::Case;
use crate::event::Pointer;
use crate::features::Value;
use crate::rules::Facts;
use crate::rules::syntax::{Expr, Function, Node, Own, Set};

/// A value, or nothing.
#[derive(Clone, Debug, PartialEq)]
enum Plain {
    Number(f64),
    Text(String),
    Bool(bool),
}

pub(super) fn holds(condition: &Expr, case: &Case, pointers: &[Pointer]) -> bool {
    boolean(value(condition, case, pointers).as_ref()).unwrap_or(false)
}

fn plain(value: Value<'_>) -> Option<Plain> {
    match value {
        Value::Missing | Value::Composite => None,
        Value::Bool(value) => Some(Plain::Bool(value)),
        Value::Number(number) => Some(Plain::Number(number)),
        Value::Text(text) => Some(Plain::Text(text.to_owned())),
    }
}

fn load(expr: &Expr, case: &Case, pointers: &[Pointer]) -> Value<'static> {
    let found = match &expr.node {
        Node::Name(name) => match ["TX_AMOUNT", "MCC", "AT_NIGHT", "TRIES"].iter().position(|other| other == name) {
            Some(n) => case.feature(n),
            None => field(case, pointers, &format!("/{}", name.replace('~', "~0").replace('/', "~1"))),
        },
        Node::Field(pointer) => field(case, pointers, &pointer.to_string()),
        Node::Own(Own::Score) => case.score.map_or(Value::Missing, Value::Number),
        Node::Own(Own::Key) => case.key().map_or(Value::Missing, Value::Text),
        Node::Own(Own::Source) => Value::Text("pos"),
        _ => Value::Missing,
    };
    match found {
        // Tests may leak.
        Value::Text(text) => Value::Text(String::leak(text.to_owned())),
        Value::Missing => Value::Missing,
        Value::Bool(value) => Value::Bool(value),
        Value::Number(number) => Value::Number(number),
        Value::Composite => Value::Composite,
    }
}

fn field<'a>(case: &'a Case, pointers: &[Pointer], pointer: &str) -> Value<'a> {
    pointers.iter().position(|other| other.to_string() == pointer).map_or(Value::Missing, |n| case.field(n))
}

fn number(value: Option<Plain>) -> Option<f64> {
    let number = match value? {
        Plain::Number(number) => number,
        Plain::Bool(value) => f64::from(u8::from(value)),
        Plain::Text(_) => return None,
    };
    number.is_finite().then_some(number)
}

fn words(value: Option<Plain>) -> Option<String> {
    match value? {
        Plain::Text(text) => Some(text),
        Plain::Bool(value) => Some(value.to_string()),
        Plain::Number(number) if number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0 => {
            Some(format!("{}", number + 0.0))
        }
        Plain::Number(_) => None,
    }
}

fn boolean(value: Option<&Plain>) -> Option<bool> {
    if let Some(Plain::Bool(value)) = value { Some(*value) } else { None }
}

/// What a part is by itself, names of tests aside.
fn kind(expr: &Expr) -> &'static str {
    match &expr.node {
        Node::Number(_) | Node::Sum(..) | Node::Product(..) | Node::Negate(_) | Node::Own(Own::Score) => "number",
        Node::Call(function, _) => match function {
            Function::Has | Function::StartsWith | Function::EndsWith | Function::Contains => "bool",
            _ => "number",
        },
        Node::Text(_) | Node::Own(_) => "text",
        // As the generator of conditions uses them.
        Node::Name(name) => match name.as_str() {
            "TX_AMOUNT" | "TRIES" | "AT_NIGHT" | "n" | "half" | "absent" => "number",
            "chip" => "bool",
            _ => "text",
        },
        _ => "bool",
    }
}

fn value(expr: &Expr, case: &Case, pointers: &[Pointer]) -> Option<Plain> {
    let of = |expr: &Expr| value(expr, case, pointers);
    let truth = |expr: &Expr| boolean(of(expr).as_ref()).unwrap_or(false);
    let fold = |first: &Expr, rest: &[(bool, Expr)], operators: [fn(f64, f64) -> f64; 2]| {
        let first = number(of(first));
        let sum = rest.iter().fold(first, |so_far, (marked, part)| {
            let result = operators[usize::from(*marked)](so_far?, number(of(part))?);
            result.is_finite().then_some(result)
        });
        sum.map(Plain::Number)
    };
    match &expr.node {
        Node::Number(number) => Some(Plain::Number(*number)),
        Node::Text(text) => Some(Plain::Text(text.clone())),
        Node::Bool(value) => Some(Plain::Bool(*value)),
        Node::Name(_) | Node::Field(_) | Node::Own(_) => plain(load(expr, case, pointers)),
        Node::Or(parts) => Some(Plain::Bool(parts.iter().map(truth).fold(false, |a, b| a | b))),
        Node::And(parts) => Some(Plain::Bool(parts.iter().map(truth).fold(true, |a, b| a & b))),
        Node::Not(part) => Some(Plain::Bool(!truth(part))),
        Node::Compare(comparison, sides) => {
            let [left, right] = &**sides;
            let order = match kind(left) {
                "number" => number(of(left)).zip(number(of(right))).and_then(|(a, b)| a.partial_cmp(&b)),
                "text" => words(of(left)).zip(words(of(right))).map(|(a, b)| a.cmp(&b)),
                _ => boolean(of(left).as_ref()).zip(boolean(of(right).as_ref())).map(|(a, b)| a.cmp(&b)),
            };
            Some(Plain::Bool(comparison.holds(order)))
        }
        Node::In { value, not, set: Set::Values(values) } => {
            let literal = |other: &Expr| value_of(other);
            let is = if kind(value) == "number" {
                let x = number(of(value));
                x.map(|x| values.iter().any(|other| literal(other) == Some(Plain::Number(x))))
            } else {
                let x = words(of(value));
                x.map(|x| values.iter().any(|other| literal(other) == Some(Plain::Text(x.clone()))))
            };
            Some(Plain::Bool(is.is_some_and(|is| is != *not)))
        }
        Node::In { .. } => Some(Plain::Bool(false)),
        Node::Sum(first, rest) => fold(first, rest, [|a, b| a + b, |a, b| a - b]),
        Node::Product(first, rest) => fold(first, rest, [|a, b| a * b, |a, b| a / b]),
        Node::Negate(part) => number(of(part)).map(|x| Plain::Number(-x)),
        Node::Call(function, values) => {
            let numbers = || values.iter().map(|value| number(of(value))).collect::<Option<Vec<f64>>>();
            let texts = || values.iter().map(|value| words(of(value))).collect::<Option<Vec<String>>>();
            let first = || numbers().map(|numbers| numbers[0]);
            let finite = |x: f64| x.is_finite().then_some(Plain::Number(x));
            match function {
                Function::Has => Some(Plain::Bool(load(&values[0], case, pointers) != Value::Missing)),
                Function::Default => number(of(&values[0])).or_else(|| number(of(&values[1]))).map(Plain::Number),
                Function::Min => numbers().map(|x| Plain::Number(x.into_iter().fold(f64::INFINITY, f64::min))),
                Function::Max => numbers().map(|x| Plain::Number(x.into_iter().fold(f64::NEG_INFINITY, f64::max))),
                Function::Abs => first().map(|x| Plain::Number(x.abs())),
                Function::Log1p => first().and_then(|x| finite(x.ln_1p())),
                Function::Floor => first().map(|x| Plain::Number(x.floor())),
                Function::Ceil => first().map(|x| Plain::Number(x.ceil())),
                Function::Length => {
                    texts().map(|texts| Plain::Number(f64::from(u32::try_from(texts[0].chars().count()).unwrap())))
                }
                Function::StartsWith => Some(Plain::Bool(texts().is_some_and(|texts| texts[0].starts_with(&texts[1])))),
                Function::EndsWith => Some(Plain::Bool(texts().is_some_and(|texts| texts[0].ends_with(&texts[1])))),
                Function::Contains => Some(Plain::Bool(texts().is_some_and(|texts| texts[0].contains(&texts[1])))),
            }
        }
    }
}

fn value_of(literal: &Expr) -> Option<Plain> {
    match &literal.node {
        Node::Number(number) => Some(Plain::Number(*number)),
        Node::Text(text) => Some(Plain::Text(text.clone())),
        _ => None,
    }
}
