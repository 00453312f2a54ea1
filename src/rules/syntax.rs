//! An expression as it was written: the tree that is read, printed and checked.
//!
//! Chains (`a and b and c`, `a + b - c`) are one node with many parts, so that the depth of the tree is what was nested
//! by hand, which is bounded, and not the length of the text.

use super::token::{is_bare, quote};
use crate::event::Pointer;
use std::fmt;

/// A part of an expression and where it begins. Two are equal if they say the same, wherever they stand.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub at: usize,
    pub node: Node,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Number(f64),
    Text(String),
    Bool(bool),
    /// A feature, or else a top-level field.
    Name(String),
    Field(Pointer),
    Own(Own),
    Or(Vec<Expr>),
    And(Vec<Expr>),
    Not(Box<Expr>),
    Compare(Comparison, Box<[Expr; 2]>),
    In {
        value: Box<Expr>,
        not: bool,
        set: Set,
    },
    /// The first, then each with its sign (true: minus).
    Sum(Box<Expr>, Vec<(bool, Expr)>),
    /// The first, then each with its operator (true: divided by).
    Product(Box<Expr>, Vec<(bool, Expr)>),
    Negate(Box<Expr>),
    Call(Function, Vec<Expr>),
}

/// What an event has besides its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Own {
    Score,
    Key,
    Source,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Set {
    /// A `[[list]]` by its name, a [`Node::Name`].
    List(Box<Expr>),
    /// Literals.
    Values(Vec<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Has,
    Default,
    Min,
    Max,
    Abs,
    Log1p,
    Floor,
    Ceil,
    Length,
    StartsWith,
    EndsWith,
    Contains,
}

/// Words that are no bare names.
pub(super) const WORDS: [&str; 10] = ["and", "or", "not", "in", "true", "false", "score", "key", "source", "field"];

impl Own {
    pub const ALL: [Self; 3] = [Self::Score, Self::Key, Self::Source];

    pub fn name(self) -> &'static str {
        match self {
            Self::Score => "score",
            Self::Key => "key",
            Self::Source => "source",
        }
    }
}

impl Comparison {
    pub const ALL: [Self; 6] =
        [Self::Less, Self::LessEqual, Self::Greater, Self::GreaterEqual, Self::Equal, Self::NotEqual];

    pub fn symbol(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::Equal => "==",
            Self::NotEqual => "!=",
        }
    }

    /// Whether it holds of two values, of which None are not comparable.
    pub fn holds(self, order: Option<std::cmp::Ordering>) -> bool {
        let Some(order) = order else { return false };
        match self {
            Self::Less => order.is_lt(),
            Self::LessEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterEqual => order.is_ge(),
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
        }
    }
}

impl Function {
    pub const ALL: [Self; 12] = [
        Self::Has,
        Self::Default,
        Self::Min,
        Self::Max,
        Self::Abs,
        Self::Log1p,
        Self::Floor,
        Self::Ceil,
        Self::Length,
        Self::StartsWith,
        Self::EndsWith,
        Self::Contains,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Has => "has",
            Self::Default => "default",
            Self::Min => "min",
            Self::Max => "max",
            Self::Abs => "abs",
            Self::Log1p => "log1p",
            Self::Floor => "floor",
            Self::Ceil => "ceil",
            Self::Length => "length",
            Self::StartsWith => "starts_with",
            Self::EndsWith => "ends_with",
            Self::Contains => "contains",
        }
    }

    /// Fewest and most values that it takes.
    pub fn takes(self) -> (usize, usize) {
        match self {
            Self::Has | Self::Abs | Self::Log1p | Self::Floor | Self::Ceil | Self::Length => (1, 1),
            Self::Default | Self::StartsWith | Self::EndsWith | Self::Contains => (2, 2),
            Self::Min | Self::Max => (2, 16),
        }
    }
}

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

impl Node {
    /// How strongly it holds together; a part that holds less is put in parentheses.
    fn strength(&self) -> u8 {
        match self {
            Self::Or(_) => 0,
            Self::And(_) => 1,
            Self::Not(_) => 2,
            Self::Compare(..) | Self::In { .. } => 3,
            Self::Sum(..) => 4,
            Self::Product(..) => 5,
            Self::Negate(_) => 6,
            _ => 7,
        }
    }
}

struct Part<'a>(&'a Expr, u8);

impl fmt::Display for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(expr, least) = self;
        if expr.node.strength() < *least { write!(f, "({expr})") } else { write!(f, "{expr}") }
    }
}

impl fmt::Display for Expr {
    /// The same expression in the one spelling that the printer knows.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separated = |parts: &[Self], between: &str, least: u8, f: &mut fmt::Formatter<'_>| {
            parts.iter().enumerate().try_for_each(|(n, part)| {
                f.write_str(if n == 0 { "" } else { between })?;
                Part(part, least).fmt(f)
            })
        };
        match &self.node {
            Node::Number(number) => {
                let spelled = format!("{number:?}");
                f.write_str(spelled.strip_suffix(".0").unwrap_or(&spelled))
            }
            Node::Text(text) => quote(text, '"', f),
            Node::Bool(value) => value.fmt(f),
            Node::Name(name) => print_name(name, f),
            Node::Field(pointer) => {
                f.write_str("field(")?;
                quote(&pointer.to_string(), '"', f)?;
                f.write_str(")")
            }
            Node::Own(own) => f.write_str(own.name()),
            Node::Or(parts) => separated(parts, " or ", 1, f),
            Node::And(parts) => separated(parts, " and ", 2, f),
            Node::Not(part) => write!(f, "not {}", Part(part, 2)),
            Node::Compare(comparison, sides) => {
                let [left, right] = &**sides;
                write!(f, "{} {} {}", Part(left, 4), comparison.symbol(), Part(right, 4))
            }
            Node::In { value, not, set } => {
                write!(f, "{} {}", Part(value, 4), if *not { "not in " } else { "in " })?;
                match set {
                    Set::List(name) => name.fmt(f),
                    Set::Values(values) => {
                        f.write_str("[")?;
                        separated(values, ", ", 0, f)?;
                        f.write_str("]")
                    }
                }
            }
            Node::Sum(first, rest) => {
                Part(first, 5).fmt(f)?;
                rest.iter()
                    .try_for_each(|(minus, part)| write!(f, " {} {}", if *minus { '-' } else { '+' }, Part(part, 5)))
            }
            Node::Product(first, rest) => {
                Part(first, 6).fmt(f)?;
                rest.iter()
                    .try_for_each(|(over, part)| write!(f, " {} {}", if *over { '/' } else { '*' }, Part(part, 6)))
            }
            // Without parentheses it would be read as a number below zero.
            Node::Negate(part) if matches!(part.node, Node::Number(_)) => write!(f, "-({part})"),
            Node::Negate(part) => write!(f, "-{}", Part(part, 6)),
            Node::Call(function, values) => {
                write!(f, "{}(", function.name())?;
                separated(values, ", ", 0, f)?;
                f.write_str(")")
            }
        }
    }
}

fn print_name(name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if is_bare(name) && !WORDS.contains(&name) { f.write_str(name) } else { quote(name, '`', f) }
}
