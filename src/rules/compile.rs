//! The tree of an expression, its types known, to what is evaluated.

use super::fault::Fault;
use super::parse::parse;
use super::program::{Listable, Number, Position, Step, Text, Truth};
use super::syntax::{Comparison, Expr, Function, Node, Set};
use super::types::{Scope, Type, Types};

/// Reads, checks and compiles a condition.
pub(super) fn compile(text: &str, scope: &mut Scope<'_>) -> Result<Truth, Fault> {
    let expr = parse(text)?;
    let mut compiler = Compiler(Types::of(&expr, text, scope)?);
    let truth = compiler.truth(&expr)?;
    compiler.0.settle();
    Ok(truth)
}

struct Compiler<'s, 't>(Types<'s, 't>);

/// What the types have ruled out; said all the same rather than left to a panic.
fn odd(expr: &Expr) -> Fault {
    Fault::new(expr.at, "expected something else here (a fault of this program; please report the expression)")
}

fn pair<T>(sides: &[Expr], mut of: impl FnMut(&Expr) -> Result<T, Fault>) -> Result<Box<[T; 2]>, Fault> {
    match sides {
        [left, right] => Ok(Box::new([of(left)?, of(right)?])),
        _ => Err(Fault::new(0, "expected two values")),
    }
}

impl Compiler<'_, '_> {
    fn truths(&mut self, parts: &[Expr]) -> Result<Box<[Truth]>, Fault> {
        parts.iter().map(|part| self.truth(part)).collect()
    }

    fn numbers(&mut self, parts: &[Expr]) -> Result<Box<[Number]>, Fault> {
        parts.iter().map(|part| self.number(part)).collect()
    }

    fn truth(&mut self, expr: &Expr) -> Result<Truth, Fault> {
        match &expr.node {
            Node::Bool(value) => Ok(Truth::Always(*value)),
            Node::Name(_) | Node::Field(_) | Node::Own(_) => {
                self.0.scope.origin(expr).map(Truth::Load).ok_or_else(|| odd(expr))
            }
            Node::Or(parts) => Ok(Truth::Any(self.truths(parts)?)),
            Node::And(parts) => Ok(Truth::All(self.truths(parts)?)),
            Node::Not(part) => Ok(Truth::Not(Box::new(self.truth(part)?))),
            Node::Compare(comparison, sides) => self.compare(*comparison, sides),
            Node::In { value, not, set } => self.member(value, *not, set),
            Node::Call(Function::Has, values) => {
                let origin = values.first().and_then(|value| self.0.scope.origin(value));
                origin.map(Truth::Has).ok_or_else(|| odd(expr))
            }
            Node::Call(function, values) => {
                let position = match function {
                    Function::StartsWith => Position::Start,
                    Function::EndsWith => Position::End,
                    Function::Contains => Position::Anywhere,
                    _ => return Err(odd(expr)),
                };
                Ok(Truth::Part(position, pair(values, |value| self.text(value))?))
            }
            _ => Err(odd(expr)),
        }
    }

    fn compare(&mut self, comparison: Comparison, sides: &[Expr; 2]) -> Result<Truth, Fault> {
        let [left, right] = sides;
        match self.0.get(left).or_else(|| self.0.get(right)) {
            Some(Type::Number) => Ok(Truth::Numbers(comparison, pair(sides, |side| self.number(side))?)),
            Some(Type::Text) => Ok(Truth::Texts(comparison, pair(sides, |side| self.text(side))?)),
            Some(Type::Bool) => Ok(Truth::Truths(comparison, pair(sides, |side| self.truth(side))?)),
            None => {
                let origins = self.0.scope.origin(left).zip(self.0.scope.origin(right));
                let (left, right) = origins.ok_or_else(|| odd(left))?;
                Ok(Truth::Alike(comparison, [left, right]))
            }
        }
    }

    fn member(&mut self, value: &Expr, not: bool, set: &Set) -> Result<Truth, Fault> {
        match set {
            Set::List(name) => {
                let Node::Name(spelled) = &name.node else { return Err(odd(name)) };
                let list = self.0.scope.list(spelled).cloned().ok_or_else(|| odd(name))?;
                let value = match (self.0.scope.origin(value), self.0.get(value)) {
                    (Some(origin), _) => Listable::Load(origin),
                    (None, Some(Type::Number)) => Listable::Number(self.number(value)?),
                    (None, _) => Listable::Text(self.text(value)?),
                };
                Ok(Truth::Listed(not, value, list))
            }
            Set::Values(values) if self.0.get(value) == Some(Type::Number) => {
                let number = |value: &Expr| match &value.node {
                    Node::Number(number) => Ok(*number),
                    _ => Err(odd(value)),
                };
                let among = values.iter().map(number).collect::<Result<_, _>>()?;
                Ok(Truth::AmongNumbers(not, self.number(value)?, among))
            }
            Set::Values(values) => {
                let text = |value: &Expr| match &value.node {
                    Node::Text(text) => Ok(text.as_str().into()),
                    _ => Err(odd(value)),
                };
                let among = values.iter().map(text).collect::<Result<_, _>>()?;
                Ok(Truth::AmongTexts(not, self.text(value)?, among))
            }
        }
    }

    fn number(&mut self, expr: &Expr) -> Result<Number, Fault> {
        let mut chain = |first: &Expr, rest: &[(bool, Expr)]| -> Result<_, Fault> {
            let first = Box::new(self.number(first)?);
            let rest = rest.iter().map(|(mark, part)| Ok((*mark, self.number(part)?)));
            Ok((first, rest.collect::<Result<Box<[_]>, Fault>>()?))
        };
        match &expr.node {
            Node::Number(number) => Ok(Number::Is(*number)),
            Node::Name(_) | Node::Field(_) | Node::Own(_) => {
                self.0.scope.origin(expr).map(Number::Load).ok_or_else(|| odd(expr))
            }
            Node::Sum(first, rest) => chain(first, rest).map(|(first, rest)| Number::Sum(first, rest)),
            Node::Product(first, rest) => chain(first, rest).map(|(first, rest)| Number::Product(first, rest)),
            Node::Negate(part) => Ok(Number::Of(Step::Negate, Box::new(self.number(part)?))),
            Node::Call(function, values) => self.call(*function, values, expr),
            _ => Err(odd(expr)),
        }
    }

    fn call(&mut self, function: Function, values: &[Expr], expr: &Expr) -> Result<Number, Fault> {
        let step = match function {
            Function::Default => return Ok(Number::Default(pair(values, |value| self.number(value))?)),
            Function::Min => return Ok(Number::Least(self.numbers(values)?)),
            Function::Max => return Ok(Number::Greatest(self.numbers(values)?)),
            Function::Length => {
                let text = values.first().ok_or_else(|| odd(expr))?;
                return Ok(Number::Length(self.text(text)?));
            }
            Function::Abs => Step::Abs,
            Function::Log1p => Step::Log1p,
            Function::Floor => Step::Floor,
            Function::Ceil => Step::Ceil,
            _ => return Err(odd(expr)),
        };
        let value = values.first().ok_or_else(|| odd(expr))?;
        Ok(Number::Of(step, Box::new(self.number(value)?)))
    }

    fn text(&mut self, expr: &Expr) -> Result<Text, Fault> {
        if let Node::Text(text) = &expr.node {
            return Ok(Text::Is(text.as_str().into()));
        }
        self.0.scope.origin(expr).map(Text::Load).ok_or_else(|| odd(expr))
    }
}
