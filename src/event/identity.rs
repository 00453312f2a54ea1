//! Who an event is: source, id, key and time, out of its JSON, its CloudEvents attributes or the config.
//!
//! Limits: id 1 to 512 bytes, source 1 to 512, key up to 1,024.

use super::walk::{Found, keep};
use super::{Pointer, Span, TimeForm};
use hmac::{Hmac, Mac};
use sha2::Sha256;

pub const ID_BYTES_MAX: usize = 512;
pub const SOURCE_BYTES_MAX: usize = 512;
pub const KEY_BYTES_MAX: usize = 1024;

/// Where the parts of an event's identity stand.
#[derive(Clone, Debug)]
pub struct IdentityRules {
    pub id: Pointer,
    pub time: Pointer,
    pub time_form: TimeForm,
    pub source: SourceRule,
    pub key: KeyRule,
}

#[derive(Clone, Debug)]
pub enum SourceRule {
    Fixed(String),
    /// The text at the pointer, or the fixed one where the event has none.
    Pointer {
        pointer: Pointer,
        otherwise: String,
    },
}

impl SourceRule {
    /// The source of an event that does not say.
    #[must_use]
    pub fn otherwise(&self) -> &str {
        match self {
            Self::Fixed(text) => text,
            Self::Pointer { otherwise, .. } => otherwise,
        }
    }
}

/// The key: what stands at the pointers, several joined by `|` (a `|` or `\` inside a part is escaped by
/// `\`), and, with a secret, its HMAC-SHA-256 in hex in place of it.
#[derive(Clone, Default)]
pub struct KeyRule {
    pub pointers: Vec<Pointer>,
    /// Where there is no pointer: the key of every event.
    pub fixed: Option<String>,
    pub hmac_key: Option<Vec<u8>>,
}

impl std::fmt::Debug for KeyRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let secret = self.hmac_key.as_ref().map(|_| "…");
        f.debug_struct("KeyRule")
            .field("pointers", &self.pointers)
            .field("fixed", &self.fixed)
            .field("hmac_key", &secret)
            .finish()
    }
}

/// What is wrong with an identity; says what was expected and where.
#[derive(Debug, thiserror::Error)]
pub enum IdentityFault {
    #[error(
        "{what}: expected a string of 1 to {limit} bytes{or} at {place}, found {found}",
        or = if *integer { " or an integer" } else { "" }
    )]
    Text { what: &'static str, limit: usize, integer: bool, place: String, found: String },
    #[error("time at {place}: {reason}")]
    Time { place: String, reason: String },
}

/// The id: a string, or an integer as its decimal digits.
pub fn id(found: Found, place: &dyn Fn() -> String, text: &mut String) -> Result<Span, IdentityFault> {
    let fault =
        |found: String| IdentityFault::Text { what: "id", limit: ID_BYTES_MAX, integer: true, place: place(), found };
    match found {
        Found::Text(span) if (1..=ID_BYTES_MAX).contains(&span.len()) => Ok(span),
        Found::Number(span) if span.len() <= ID_BYTES_MAX && is_integer(span.in_text(text)) => {
            Ok(if span.in_text(text) == "-0" { keep(text, "0") } else { span })
        }
        other => Err(fault(describe(other))),
    }
}

/// The source an event names itself.
pub fn source(found: Found, place: &dyn Fn() -> String) -> Result<Option<Span>, IdentityFault> {
    match found {
        Found::Missing | Found::Null => Ok(None),
        Found::Text(span) if (1..=SOURCE_BYTES_MAX).contains(&span.len()) => Ok(Some(span)),
        other => Err(IdentityFault::Text {
            what: "source",
            limit: SOURCE_BYTES_MAX,
            integer: false,
            place: place(),
            found: describe(other),
        }),
    }
}

impl KeyRule {
    /// The key out of what its pointers found; none where nothing was found.
    ///
    /// # Errors
    /// When a part is neither a string nor a number, or the key too long.
    pub fn key(&self, parts: &[Found], text: &mut String) -> Result<Option<Span>, IdentityFault> {
        if let Some(fixed) = &self.fixed {
            return self.finish(fixed.clone(), text).map(Some);
        }
        if parts.iter().all(|part| matches!(part, Found::Missing | Found::Null)) {
            return Ok(None);
        }
        if let ([part], None) = (parts, &self.hmac_key) {
            return self.part(0, *part).map(Some);
        }
        let mut joined = String::with_capacity(64);
        for (n, part) in parts.iter().enumerate() {
            if n > 0 {
                joined.push('|');
            }
            let span =
                if matches!(part, Found::Missing | Found::Null) { Span::default() } else { self.part(n, *part)? };
            let escape = parts.len() > 1;
            for letter in span.in_text(text).chars() {
                if escape && matches!(letter, '|' | '\\') {
                    joined.push('\\');
                }
                joined.push(letter);
            }
        }
        self.finish(joined, text).map(Some)
    }

    /// The key of an event whose pointers found none: a CloudEvents attribute.
    ///
    /// # Errors
    /// When it is too long.
    pub fn attribute(&self, found: Found, text: &mut String) -> Result<Option<Span>, IdentityFault> {
        match found {
            Found::Text(span) if self.hmac_key.is_some() => {
                let plain = span.in_text(text).to_owned();
                self.finish(plain, text).map(Some)
            }
            Found::Text(span) if span.len() <= KEY_BYTES_MAX => Ok(Some(span)),
            Found::Text(span) => Err(self.fault(0, describe(Found::Text(span)))),
            _ => Ok(None),
        }
    }

    fn part(&self, n: usize, found: Found) -> Result<Span, IdentityFault> {
        match found {
            Found::Text(span) | Found::Number(span) if span.len() <= KEY_BYTES_MAX => Ok(span),
            other => Err(self.fault(n, describe(other))),
        }
    }

    fn finish(&self, mut key: String, text: &mut String) -> Result<Span, IdentityFault> {
        if let Some(secret) = &self.hmac_key
            && let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret)
        {
            mac.update(key.as_bytes());
            key = hex(&mac.finalize().into_bytes());
        }
        if key.len() > KEY_BYTES_MAX {
            return Err(self.fault(0, format!("{} bytes", key.len())));
        }
        Ok(keep(text, &key))
    }

    fn fault(&self, part: usize, found: String) -> IdentityFault {
        let place = self.pointers.get(part).map_or_else(|| "partitionkey or subject".to_owned(), ToString::to_string);
        IdentityFault::Text { what: "key", limit: KEY_BYTES_MAX, integer: true, place, found }
    }
}

/// Event time out of what was found, None where there is none.
pub fn time(
    found: Found,
    form: &TimeForm,
    place: &dyn Fn() -> String,
    text: &str,
) -> Result<Option<i64>, IdentityFault> {
    let fault = |reason: String| IdentityFault::Time { place: place(), reason };
    let utf8 = |span: Span| span.in_text(text);
    let read = match found {
        Found::Missing | Found::Null => return Ok(None),
        Found::Text(span) => form.read_text(utf8(span)),
        Found::Number(span) => form.read_number(utf8(span)),
        Found::Other(kind) => return Err(fault(format!("expected RFC 3339 or a number since 1970, found {kind}"))),
    };
    read.map(|time| Some(time.0)).map_err(|error| fault(error.to_string()))
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn describe(found: Found) -> String {
    match found {
        Found::Missing => "nothing".to_owned(),
        Found::Null => "null".to_owned(),
        Found::Text(span) if span.is_empty() => "an empty string".to_owned(),
        Found::Text(span) => format!("a string of {} bytes", span.len()),
        Found::Number(_) => "a number that is no integer".to_owned(),
        Found::Other(kind) => kind.to_owned(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(u32::from(digit), 16))
        .collect()
}
