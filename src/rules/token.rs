//! An expression's text to tokens, one at a time.

use super::fault::Fault;
use std::fmt;

/// A piece of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'t> {
    Number(f64),
    /// `'…'` or `"…"`; a quote inside is doubled. Nothing else is special in it.
    Text(String),
    /// A bare name or word.
    Name(&'t str),
    /// A name in back-quotes; a back-quote inside is doubled.
    Quoted(String),
    Symbol(&'static str),
    End,
}

/// Longest first, so that `<=` is not taken for `<`.
const SYMBOLS: [&str; 18] =
    ["<=", ">=", "==", "!=", "&&", "||", "<", ">", "!", "+", "-", "*", "/", "(", ")", "[", "]", ","];

/// Where the tokens come from.
pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// The next token and the byte at which it begins.
    pub fn next(&mut self) -> Result<(usize, Token<'t>), Fault> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let trimmed = rest.trim_start();
        let at = self.at + (rest.len() - trimmed.len());
        self.at = at;
        let Some(first) = trimmed.chars().next() else { return Ok((at, Token::End)) };
        let token = match first {
            '0'..='9' => self.number(trimmed)?,
            '\'' | '"' | '`' => self.quoted(trimmed, first)?,
            c if c.is_alphabetic() || c == '_' => {
                let end = trimmed.find(|c| !is_in_name(c)).unwrap_or(trimmed.len());
                self.take(end);
                Token::Name(trimmed.get(..end).unwrap_or_default())
            }
            c => {
                let Some(symbol) = SYMBOLS.into_iter().find(|symbol| trimmed.starts_with(symbol)) else {
                    return Err(Fault::new(at, strange(c)));
                };
                self.take(symbol.len());
                Token::Symbol(symbol)
            }
        };
        Ok((at, token))
    }

    fn take(&mut self, bytes: usize) {
        self.at += bytes;
    }

    fn number(&mut self, rest: &str) -> Result<Token<'t>, Fault> {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let after = |end: usize| rest.get(end..).unwrap_or_default();
        let mut end = digits(rest);
        if let Some(decimals) = after(end).strip_prefix('.').map(digits).filter(|count| *count > 0) {
            end += 1 + decimals;
        }
        if let Some(exponent) = after(end).strip_prefix(['e', 'E']) {
            let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if digits(unsigned) > 0 {
                end += 1 + (exponent.len() - unsigned.len()) + digits(unsigned);
            }
        }
        let spelled = rest.get(..end).unwrap_or_default();
        let number = spelled.parse::<f64>().ok().filter(|number| number.is_finite());
        let Some(number) = number else {
            return Err(Fault::new(self.at, format!("expected a number up to 1.8e308, found {}", shorten(spelled))));
        };
        if let Some(c) = after(end).chars().next().filter(|c| is_in_name(*c) || *c == '.') {
            let what = format!("expected the end of the number {}, found {c:?}; ", shorten(spelled));
            return Err(Fault::new(
                self.at + end,
                what + "a name that begins with a digit stands in back-quotes, as in `3ds`",
            ));
        }
        self.take(end);
        Ok(Token::Number(number))
    }

    fn quoted(&mut self, rest: &str, quote: char) -> Result<Token<'t>, Fault> {
        let mut out = String::new();
        let mut chars = rest.char_indices().skip(1).peekable();
        while let Some((at, c)) = chars.next() {
            if c != quote {
                out.push(c);
            } else if chars.next_if(|(_, next)| *next == quote).is_some() {
                out.push(quote);
            } else {
                self.take(at + 1);
                return Ok(if quote == '`' { Token::Quoted(out) } else { Token::Text(out) });
            }
        }
        Err(Fault::new(self.at, format!("expected a closing {quote} for the one that opens here, found the end")))
    }
}

fn is_in_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a name needs no back-quotes, words of the language aside.
pub(super) fn is_bare(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_') && chars.all(is_in_name)
}

/// `text` between quotes, as the lexer reads it.
pub(super) fn quote(text: &str, mark: char, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut doubled = [0; 8];
    let single = mark.encode_utf8(&mut doubled).to_owned();
    write!(f, "{mark}{}{mark}", text.replace(mark, &(single.clone() + &single)))
}

/// As much of a text as a message shows.
pub(super) fn shorten(text: &str) -> String {
    const SHOWN_MAX: usize = 40;
    let mut shown: String = text.chars().take(SHOWN_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

fn strange(c: char) -> String {
    match c {
        '=' => "expected ==, found a single =".to_owned(),
        '&' => "expected and (or &&), found a single &".to_owned(),
        '|' => "expected or (or ||), found a single |".to_owned(),
        '.' => "expected a value, found \".\"; a number begins with a digit, and a field that lies deeper is \
                field(\"/a/b\")"
            .to_owned(),
        c => format!("expected a value or an operator, found {c:?}"),
    }
}

impl fmt::Display for Token<'_> {
    /// As a message names it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number:?}"),
            Self::Text(text) => write!(f, "the text {:?}", shorten(text)),
            Self::Name(name) => f.write_str(&shorten(name)),
            Self::Quoted(name) => write!(f, "`{}`", shorten(name)),
            Self::Symbol(symbol) => write!(f, "{symbol:?}"),
            Self::End => f.write_str("the end"),
        }
    }
}
