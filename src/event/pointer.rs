//! JSON pointers (RFC 6901), parsed once from the config or a bundle.

use std::fmt;

/// A parsed JSON pointer: `/a/b` is `["a", "b"]`, the empty text the whole document.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pointer(Vec<String>);

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PointerError {
    #[error("a JSON pointer starts with \"/\", as in \"/TX_AMOUNT\" (RFC 6901), not {0:?}")]
    NoSlash(String),
    #[error("in a JSON pointer \"~\" stands only in \"~0\" (for ~) and \"~1\" (for /), not as in {0:?}")]
    BadEscape(String),
    #[error("a JSON pointer has at most {limit} parts, not {parts}")]
    TooDeep { parts: usize, limit: usize },
}

/// Longest pointer taken; events nest no deeper either.
pub const POINTER_PARTS_MAX: usize = 64;

impl Pointer {
    /// # Errors
    /// When `text` is no RFC 6901 pointer or has more than [`POINTER_PARTS_MAX`] parts.
    pub fn parse(text: &str) -> Result<Self, PointerError> {
        if text.is_empty() {
            return Ok(Self(Vec::new()));
        }
        let Some(rest) = text.strip_prefix('/') else {
            return Err(PointerError::NoSlash(text.to_owned()));
        };
        let parts = rest.split('/').map(|part| unescape(part, text)).collect::<Result<Vec<_>, _>>()?;
        if parts.len() > POINTER_PARTS_MAX {
            return Err(PointerError::TooDeep { parts: parts.len(), limit: POINTER_PARTS_MAX });
        }
        Ok(Self(parts))
    }

    /// Its parts, unescaped.
    #[must_use]
    pub fn parts(&self) -> &[String] {
        &self.0
    }
}

fn unescape(part: &str, whole: &str) -> Result<String, PointerError> {
    let mut out = String::with_capacity(part.len());
    let mut chars = part.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '~' { chars.next() } else { None }) {
            ('~', Some('0')) => out.push('~'),
            ('~', Some('1')) => out.push('/'),
            ('~', _) => return Err(PointerError::BadEscape(whole.to_owned())),
            _ => out.push(c),
        }
    }
    Ok(out)
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| write!(f, "/{}", part.replace('~', "~0").replace('/', "~1")))
    }
}
