//! Tokens to the tree of an expression, by recursive descent. Every text is an expression or a [`Fault`].
//!
//! ```text
//! or      = and { ("or" | "||") and }
//! and     = not { ("and" | "&&") not }
//! not     = ("not" | "!") not | test
//! test    = sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum | ["not"] "in" (NAME | "[" literal { "," literal } "]") ]
//! sum     = product { ("+" | "-") product }
//! product = minus { ("*" | "/") minus }
//! minus   = "-" minus | value
//! value   = NUMBER | TEXT | "true" | "false" | "score" | "key" | "source" | "field" "(" TEXT ")"
//!         | FUNCTION "(" or { "," or } ")" | NAME | "(" or ")"
//! ```

use super::fault::{Fault, hint};
use super::syntax::{Comparison, Expr, Function, Node, Own, Set, WORDS};
use super::token::{Lexer, Token, shorten};
use crate::event::Pointer;

/// Longest expression, bytes.
pub const EXPRESSION_BYTES_MAX: usize = 4_096;
/// How deep parentheses, functions, `not` and signs may be nested.
pub const NESTING_MAX: usize = 32;

/// Reads an expression.
pub(super) fn parse(text: &str) -> Result<Expr, Fault> {
    if text.len() > EXPRESSION_BYTES_MAX {
        let what = format!("expected at most {EXPRESSION_BYTES_MAX} bytes, found {}", text.len());
        return Err(Fault::new(EXPRESSION_BYTES_MAX, what));
    }
    let mut lexer = Lexer::new(text);
    let (at, token) = lexer.next()?;
    let mut parser = Parser { lexer, at, token, depth: 0 };
    let expr = parser.or()?;
    match parser.token {
        Token::End => Ok(expr),
        _ => Err(parser.expected("an operator or the end")),
    }
}

struct Parser<'t> {
    lexer: Lexer<'t>,
    /// Where `token`, the next one, begins.
    at: usize,
    token: Token<'t>,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn expected(&self, what: &str) -> Fault {
        let why = match &self.token {
            Token::Name(word) if what.starts_with("an operator") => hint(word, ["and", "or", "not", "in"]),
            Token::Symbol("-") if what.starts_with("the name") => "; other names stand in back-quotes".to_owned(),
            _ => String::new(),
        };
        Fault::new(self.at, format!("expected {what}, found {}{why}", self.token))
    }

    /// Takes the next token.
    fn take(&mut self) -> Result<Token<'t>, Fault> {
        let (at, token) = self.lexer.next()?;
        self.at = at;
        Ok(std::mem::replace(&mut self.token, token))
    }

    /// Takes the next token if it is one of these symbols or words.
    fn took(&mut self, any: &[&'static str]) -> Result<bool, Fault> {
        let is = match &self.token {
            Token::Symbol(symbol) => any.contains(symbol),
            Token::Name(word) => any.contains(word),
            _ => false,
        };
        if is {
            self.take()?;
        }
        Ok(is)
    }

    fn require(&mut self, symbol: &'static str, what: &str) -> Result<(), Fault> {
        if self.took(&[symbol])? { Ok(()) } else { Err(self.expected(what)) }
    }

    /// One level deeper.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        if self.depth >= NESTING_MAX {
            return Err(Fault::new(self.at, format!("expected at most {NESTING_MAX} levels, found one more")));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn or(&mut self) -> Result<Expr, Fault> {
        self.chain(&["or", "||"], Self::and, Node::Or)
    }

    fn and(&mut self) -> Result<Expr, Fault> {
        self.chain(&["and", "&&"], Self::not, Node::And)
    }

    fn chain(
        &mut self,
        between: &[&'static str],
        part: fn(&mut Self) -> Result<Expr, Fault>,
        join: fn(Vec<Expr>) -> Node,
    ) -> Result<Expr, Fault> {
        let at = self.at;
        let first = part(self)?;
        if !self.took(between)? {
            return Ok(first);
        }
        let mut parts = vec![first, part(self)?];
        while self.took(between)? {
            parts.push(part(self)?);
        }
        Ok(Expr { at, node: join(parts) })
    }

    fn not(&mut self) -> Result<Expr, Fault> {
        let at = self.at;
        if self.took(&["not", "!"])? {
            let part = self.nested(Self::not)?;
            return Ok(Expr { at, node: Node::Not(Box::new(part)) });
        }
        self.test()
    }

    fn comparison(&self) -> Option<Comparison> {
        let Token::Symbol(symbol) = self.token else { return None };
        Comparison::ALL.into_iter().find(|comparison| comparison.symbol() == symbol)
    }

    fn test(&mut self) -> Result<Expr, Fault> {
        let left = self.sum()?;
        let at = left.at;
        let node = if let Some(comparison) = self.comparison() {
            self.take()?;
            Node::Compare(comparison, Box::new([left, self.sum()?]))
        } else if self.took(&["in"])? {
            Node::In { value: Box::new(left), not: false, set: self.set()? }
        } else if self.token == Token::Name("not") {
            self.take()?;
            self.require("in", "in after not")?;
            Node::In { value: Box::new(left), not: true, set: self.set()? }
        } else {
            return Ok(left);
        };
        if self.comparison().is_some() {
            return Err(self.expected("one comparison (a < b < c is written a < b and b < c)"));
        }
        Ok(Expr { at, node })
    }

    fn set(&mut self) -> Result<Set, Fault> {
        let at = self.at;
        let list = |name: String| Set::List(Box::new(Expr { at, node: Node::Name(name) }));
        match &self.token {
            Token::Name(name) if !WORDS.contains(name) => {
                let name = (*name).to_owned();
                self.take()?;
                if self.token == Token::Symbol("-") {
                    return Err(self.expected("the name of a list, and then and, or or the end"));
                }
                Ok(list(name))
            }
            Token::Quoted(name) => {
                let name = name.clone();
                self.take()?;
                Ok(list(name))
            }
            Token::Symbol("[") => {
                self.take()?;
                let mut values = Vec::new();
                loop {
                    values.push(self.literal()?);
                    if self.took(&["]"])? {
                        return Ok(Set::Values(values));
                    }
                    self.require(",", "\",\" or \"]\"")?;
                }
            }
            _ => Err(self.expected("the name of a list, or values in brackets as in [\"a\", \"b\"]")),
        }
    }

    fn literal(&mut self) -> Result<Expr, Fault> {
        let at = self.at;
        let negative = self.took(&["-"])?;
        let node = match &self.token {
            Token::Number(number) => Node::Number(if negative { -number } else { *number }),
            Token::Text(text) if !negative => Node::Text(text.clone()),
            Token::Name(word @ ("true" | "false")) if !negative => Node::Bool(*word == "true"),
            _ if negative => return Err(self.expected("a number after -")),
            _ => return Err(self.expected("a number, a text, true or false")),
        };
        self.take()?;
        Ok(Expr { at, node })
    }

    fn sum(&mut self) -> Result<Expr, Fault> {
        self.signed(["+", "-"], Self::product, Node::Sum)
    }

    fn product(&mut self) -> Result<Expr, Fault> {
        self.signed(["*", "/"], Self::minus, Node::Product)
    }

    /// A chain of two operators; the second's parts are marked.
    fn signed(
        &mut self,
        [plain, marked]: [&'static str; 2],
        part: fn(&mut Self) -> Result<Expr, Fault>,
        join: fn(Box<Expr>, Vec<(bool, Expr)>) -> Node,
    ) -> Result<Expr, Fault> {
        let at = self.at;
        let first = part(self)?;
        let mut rest = Vec::new();
        loop {
            let mark = self.token == Token::Symbol(marked);
            if !self.took(&[plain, marked])? {
                break;
            }
            rest.push((mark, part(self)?));
        }
        Ok(if rest.is_empty() { first } else { Expr { at, node: join(Box::new(first), rest) } })
    }

    fn minus(&mut self) -> Result<Expr, Fault> {
        let at = self.at;
        if !self.took(&["-"])? {
            return self.value();
        }
        if let Token::Number(number) = self.token {
            self.take()?;
            return Ok(Expr { at, node: Node::Number(-number) });
        }
        let part = self.nested(Self::minus)?;
        Ok(Expr { at, node: Node::Negate(Box::new(part)) })
    }

    fn value(&mut self) -> Result<Expr, Fault> {
        const VALUE: &str = "a value: a number, a text, a name or (";
        let at = self.at;
        match &self.token {
            Token::Number(_) | Token::Text(_) | Token::Name("true" | "false") => self.literal(),
            Token::Quoted(name) if !name.is_empty() => {
                let node = Node::Name(name.clone());
                self.take()?;
                Ok(Expr { at, node })
            }
            Token::Name("and" | "or" | "not" | "in") => Err(self.expected(VALUE)),
            Token::Name(word) => {
                let word = *word;
                self.take()?;
                let node = if self.token == Token::Symbol("(") { self.call(at, word)? } else { bare(at, word)? };
                Ok(Expr { at, node })
            }
            Token::Symbol("(") => {
                self.take()?;
                let inner = self.nested(Self::or)?;
                self.require(")", "an operator or \")\"")?;
                Ok(inner)
            }
            _ => Err(self.expected(VALUE)),
        }
    }

    fn call(&mut self, at: usize, word: &str) -> Result<Node, Fault> {
        self.take()?;
        if word == "field" {
            return self.field();
        }
        let Some(function) = Function::ALL.into_iter().find(|function| function.name() == word) else {
            let names = || Function::ALL.map(Function::name);
            let known = names().join(", ");
            let hint = hint(word, names());
            let what = format!("expected a function (field, {known}), found {}{hint}", shorten(word));
            return Err(Fault::new(at, what));
        };
        let mut values = Vec::new();
        if self.token != Token::Symbol(")") {
            values.push(self.nested(Self::or)?);
            while self.took(&[","])? {
                values.push(self.nested(Self::or)?);
            }
        }
        self.require(")", "\",\" or \")\"")?;
        let (least, most) = function.takes();
        if (least..=most).contains(&values.len()) {
            return Ok(Node::Call(function, values));
        }
        let count = if least == most { least.to_string() } else { format!("{least} to {most}") };
        let plural = if most == 1 { "" } else { "s" };
        let what = format!("expected {count} value{plural} in {word}(…), found {}", values.len());
        Err(Fault::new(at, what))
    }

    fn field(&mut self) -> Result<Node, Fault> {
        let Token::Text(text) = &self.token else {
            return Err(self.expected("a JSON pointer in quotes, as in field(\"/card/country\")"));
        };
        let pointer = Pointer::parse(text).map_err(|error| Fault::new(self.at, error.to_string()))?;
        self.take()?;
        self.require(")", "\")\"")?;
        Ok(Node::Field(pointer))
    }
}

/// A word that stands for a value.
fn bare(at: usize, word: &str) -> Result<Node, Fault> {
    if let Some(own) = Own::ALL.into_iter().find(|own| own.name() == word) {
        return Ok(Node::Own(own));
    }
    if word == "field" {
        return Err(Fault::new(at, "expected a JSON pointer after field, as in field(\"/card/country\")"));
    }
    Ok(Node::Name(word.to_owned()))
}
