//! The type of each part of an expression: what a feature is, its set says; what a field is follows from its use.
//!
//! One pass before an expression is compiled. It finds each name's [`Origin`], and each conflict with its place.

use super::fault::{Fault, Place, hint, nearest};
use super::syntax::{Comparison, Expr, Function, Node, Own, Set};
use super::token::shorten;
use crate::event::Pointer;
use crate::features::{FeatureSet, List};
use std::sync::Arc;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Number,
    Text,
    Bool,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The feature of that number.
    Feature(usize),
    /// The field of that number among the pointers of the rules.
    Field(usize),
    Own(Own),
}

/// What the names in expressions can mean, and what they were found to mean so far.
pub(super) struct Scope<'s> {
    pub features: &'s FeatureSet,
    pub lists: &'s [Arc<List>],
    /// The fields that are read beyond those of the features.
    pub pointers: Vec<Pointer>,
    /// Whether one of them is the score.
    pub wants_score: bool,
    /// The features whose type a rule has settled.
    pub uses: Vec<Use>,
    /// What looks like a slip but may be meant.
    pub notes: Vec<String>,
}

/// A feature that a rule uses as something: what the model takes there must be that.
#[derive(Debug)]
pub(super) struct Use {
    pub feature: usize,
    pub used_as: Type,
    /// Where.
    pub at: String,
}

/// An expression's types.
pub(super) struct Types<'s, 't> {
    pub scope: &'t mut Scope<'s>,
    text: &'t str,
    slots: Vec<Slot>,
}

/// The type of a field or of a feature that is not a number.
struct Slot {
    origin: Origin,
    /// Another slot, of which this one has the type.
    same_as: Option<usize>,
    /// The type and the place that made it so.
    found: Option<(Type, usize)>,
}

/// What is known of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Type(Type),
    /// Not yet: the type of this slot.
    Open(usize),
}

impl Type {
    pub fn name(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Text => "a text",
            Self::Bool => "true or false",
        }
    }
}

impl Scope<'_> {
    fn pointer(&mut self, pointer: Pointer) -> usize {
        self.pointers.iter().position(|other| *other == pointer).unwrap_or_else(|| {
            self.pointers.push(pointer);
            self.pointers.len() - 1
        })
    }

    fn feature_names(&self) -> impl Iterator<Item = &str> {
        (0..self.features.len()).map(|n| self.features.feature(n))
    }

    /// What a name stands for: a feature, or else the field of that name.
    fn name(&mut self, name: &str) -> Origin {
        if let Some(n) = self.feature_names().position(|other| other == name) {
            return Origin::Feature(n);
        }
        let Ok(pointer) = Pointer::parse(&format!("/{}", name.replace('~', "~0").replace('/', "~1"))) else {
            return Origin::Field(usize::MAX); // a single part, escaped, always is a pointer
        };
        if !self.pointers.contains(&pointer) && !self.features.pointers().contains(&pointer) {
            let meant = nearest(name, self.feature_names()).map(|other| {
                format!("{name} is no feature, so the event's field of that name is read; did you mean {other}?")
            });
            self.notes.extend(meant);
        }
        Origin::Field(self.pointer(pointer))
    }

    /// Where the value of a name comes from; None of what is no name.
    pub fn origin(&mut self, expr: &Expr) -> Option<Origin> {
        match &expr.node {
            Node::Name(name) => Some(self.name(name)),
            Node::Field(pointer) => Some(Origin::Field(self.pointer(pointer.clone()))),
            Node::Own(own) => {
                self.wants_score |= *own == Own::Score;
                Some(Origin::Own(*own))
            }
            _ => None,
        }
    }

    /// The list of that name.
    pub fn list(&self, name: &str) -> Option<&Arc<List>> {
        self.lists.iter().find(|list| list.name() == name)
    }
}

impl<'s, 't> Types<'s, 't> {
    /// Finds the types of a condition.
    pub fn of(condition: &Expr, text: &'t str, scope: &'t mut Scope<'s>) -> Result<Self, Fault> {
        let mut types = Self { scope, text, slots: Vec::new() };
        types.want(condition, Type::Bool)?;
        Ok(types)
    }

    /// The type of a part that was looked at; None where its use left it open.
    pub fn get(&mut self, expr: &Expr) -> Option<Type> {
        match self.infer(expr) {
            Ok(Known::Type(found)) => Some(found),
            _ => None,
        }
    }

    /// Hands on what the use of each feature has settled.
    pub fn settle(self) {
        for (n, slot) in self.slots.iter().enumerate() {
            if let (Origin::Feature(feature), Some((used_as, at))) = (slot.origin, self.found(n)) {
                let at = Place::of(self.text, at).to_string();
                self.scope.uses.push(Use { feature, used_as, at });
            }
        }
    }

    fn root(&self, slot: usize) -> usize {
        let mut at = slot;
        while let Some(other) = self.slots.get(at).and_then(|slot| slot.same_as) {
            at = other;
        }
        at
    }

    fn found(&self, slot: usize) -> Option<(Type, usize)> {
        self.slots.get(self.root(slot))?.found
    }

    fn bind(&mut self, slot: usize, found: Type, at: usize) {
        let root = self.root(slot);
        if let Some(slot) = self.slots.get_mut(root) {
            slot.found = Some((found, at));
        }
    }

    fn slot(&mut self, origin: Origin) -> usize {
        self.slots.iter().position(|slot| slot.origin == origin).unwrap_or_else(|| {
            self.slots.push(Slot { origin, same_as: None, found: None });
            self.slots.len() - 1
        })
    }

    fn named(&mut self, origin: Origin) -> Known {
        match origin {
            Origin::Own(Own::Score) => Known::Type(Type::Number),
            Origin::Own(_) => Known::Type(Type::Text),
            Origin::Feature(n) if self.scope.features.raw_is_number(n) => Known::Type(Type::Number),
            origin => {
                let slot = self.slot(origin);
                self.found(slot).map_or(Known::Open(slot), |(found, _)| Known::Type(found))
            }
        }
    }

    /// The part must be of this type.
    fn want(&mut self, expr: &Expr, wanted: Type) -> Result<(), Fault> {
        let known = self.infer(expr)?;
        self.agree(expr, known, wanted)
    }

    /// What is known of a part must be this type.
    fn agree(&mut self, expr: &Expr, known: Known, wanted: Type) -> Result<(), Fault> {
        match self.now(known) {
            Known::Type(found) if found == wanted => Ok(()),
            Known::Type(found) => Err(self.conflict(expr, wanted, found)),
            Known::Open(slot) => {
                self.bind(slot, wanted, expr.at);
                Ok(())
            }
        }
    }

    /// What is known by now of what was open.
    fn now(&self, known: Known) -> Known {
        match known {
            Known::Open(slot) => self.found(slot).map_or(known, |(found, _)| Known::Type(found)),
            known @ Known::Type(_) => known,
        }
    }

    fn conflict(&mut self, expr: &Expr, wanted: Type, found: Type) -> Fault {
        let is = |name: &str, why: String| format!("{}, which is {}{why}", shorten(name), found.name());
        let shown = match (&expr.node, self.scope.origin(expr)) {
            (Node::Text(text), _) => format!("the text {:?}", shorten(text)),
            (Node::Number(_) | Node::Bool(_), _) => expr.to_string(),
            (_, Some(Origin::Feature(n))) if self.scope.features.raw_is_number(n) => {
                is(self.scope.features.feature(n), String::new())
            }
            (_, Some(Origin::Own(own))) => is(own.name(), String::new()),
            (_, Some(origin)) => {
                let slot = self.slot(origin);
                let place = self.found(slot).map(|(_, at)| Place::of(self.text, at));
                is(&expr.to_string(), place.map(|place| format!(" by its use at {place}")).unwrap_or_default())
            }
            _ => found.name().to_owned(),
        };
        let hint = match (wanted, found) {
            (Type::Bool, Type::Number) => "; a flag of 0 and 1 is compared, as in FLAG == 1",
            (Type::Number, Type::Text) if matches!(expr.node, Node::Text(_)) => "; a number has no quotes",
            _ => "",
        };
        Fault::new(expr.at, format!("expected {}, found {shown}{hint}", wanted.name()))
    }

    /// Both must be of one type, which is given. Each is looked at once, so that nesting does not multiply the work.
    fn same(&mut self, left: &Expr, right: &Expr) -> Result<Known, Fault> {
        let (of_left, of_right) = (self.infer(left)?, self.infer(right)?);
        match (self.now(of_left), self.now(of_right)) {
            (Known::Type(wanted), known) => self.agree(right, known, wanted)?,
            (known @ Known::Open(_), Known::Type(wanted)) => self.agree(left, known, wanted)?,
            (Known::Open(a), Known::Open(b)) => {
                let (a, b) = (self.root(a), self.root(b));
                if let Some(slot) = self.slots.get_mut(b).filter(|_| a != b) {
                    slot.same_as = Some(a);
                }
            }
        }
        Ok(self.now(of_left))
    }

    fn infer(&mut self, expr: &Expr) -> Result<Known, Fault> {
        let found = match &expr.node {
            Node::Number(_) => Type::Number,
            Node::Text(_) => Type::Text,
            Node::Bool(_) => Type::Bool,
            Node::Name(_) | Node::Field(_) | Node::Own(_) => {
                let origin = self.scope.origin(expr);
                return Ok(origin.map_or(Known::Type(Type::Bool), |origin| self.named(origin)));
            }
            Node::Or(parts) | Node::And(parts) => {
                parts.iter().try_for_each(|part| self.want(part, Type::Bool))?;
                Type::Bool
            }
            Node::Not(part) => {
                self.want(part, Type::Bool)?;
                Type::Bool
            }
            Node::Compare(comparison, sides) => {
                self.compare(*comparison, sides)?;
                Type::Bool
            }
            Node::In { value, set, .. } => {
                self.member(value, set)?;
                Type::Bool
            }
            Node::Sum(first, rest) | Node::Product(first, rest) => {
                self.want(first, Type::Number)?;
                rest.iter().try_for_each(|(_, part)| self.want(part, Type::Number))?;
                Type::Number
            }
            Node::Negate(part) => {
                self.want(part, Type::Number)?;
                Type::Number
            }
            Node::Call(function, values) => self.call(*function, values)?,
        };
        Ok(Known::Type(found))
    }

    fn compare(&mut self, comparison: Comparison, [left, right]: &[Expr; 2]) -> Result<(), Fault> {
        let known = self.same(left, right)?;
        if matches!(comparison, Comparison::Equal | Comparison::NotEqual) {
            return Ok(());
        }
        // Two fields that are only compared in size are numbers.
        match known {
            Known::Open(_) => self.agree(left, known, Type::Number),
            Known::Type(Type::Bool) => {
                let symbol = comparison.symbol();
                let what =
                    format!("expected a number or a text before {symbol}, found true or false, which has no order");
                Err(Fault::new(left.at, what))
            }
            Known::Type(_) => Ok(()),
        }
    }

    fn member(&mut self, value: &Expr, set: &Set) -> Result<(), Fault> {
        match set {
            Set::Values(values) => {
                let known = self.infer(value)?;
                for literal in values {
                    if matches!(literal.node, Node::Bool(_)) {
                        return Err(Fault::new(literal.at, format!("expected a number or a text, found {literal}")));
                    }
                    let wanted = if matches!(literal.node, Node::Number(_)) { Type::Number } else { Type::Text };
                    match self.now(known) {
                        Known::Type(found @ (Type::Number | Type::Text)) => self.want(literal, found)?,
                        _ => self.agree(value, known, wanted)?,
                    }
                }
                Ok(())
            }
            Set::List(name) => {
                let Node::Name(spelled) = &name.node else { return Ok(()) };
                if self.scope.list(spelled).is_none() {
                    let names = || self.scope.lists.iter().map(|list| list.name());
                    let known = names().collect::<Vec<_>>().join(", ");
                    let known = if known.is_empty() { "there is none".to_owned() } else { known };
                    let what = format!(
                        "expected the name of a [[list]] ({known}), found {}{}",
                        shorten(spelled),
                        hint(spelled, names())
                    );
                    return Err(Fault::new(name.at, what));
                }
                match self.infer(value)? {
                    Known::Type(Type::Bool) => {
                        Err(Fault::new(value.at, "expected a text or a number before in, found true or false"))
                    }
                    _ => Ok(()),
                }
            }
        }
    }

    fn call(&mut self, function: Function, values: &[Expr]) -> Result<Type, Fault> {
        let (wanted, gives) = match function {
            Function::Has => {
                let other = values.iter().find(|value| self.scope.origin(value).is_none());
                let fault = |value: &Expr| {
                    Fault::new(value.at, format!("expected a name or field(\"/…\") in has(…), found {value}"))
                };
                return other.map_or(Ok(Type::Bool), |value| Err(fault(value)));
            }
            Function::Length => (Type::Text, Type::Number),
            Function::StartsWith | Function::EndsWith | Function::Contains => (Type::Text, Type::Bool),
            _ => (Type::Number, Type::Number),
        };
        values.iter().try_for_each(|value| self.want(value, wanted))?;
        Ok(gives)
    }
}
