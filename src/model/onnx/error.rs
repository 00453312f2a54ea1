//! Why a model is refused.

use super::op::OpError;

/// One sentence, with the node's or the tensor's name where there is one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(pub String);

impl Error {
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }

    /// With the place in front.
    #[must_use]
    pub fn at(self, place: &str) -> Self {
        Self(format!("{place}: {}", self.0))
    }
}

impl From<OpError> for Error {
    fn from(error: OpError) -> Self {
        Self(error.0)
    }
}

/// A name of the file, as it may be shown: short, no control characters.
#[must_use]
pub fn shown(name: &str) -> String {
    const CHARS_MAX: usize = 80;
    let mut text: String = name.chars().take(CHARS_MAX).flat_map(char::escape_debug).collect();
    if name.chars().nth(CHARS_MAX).is_some() {
        text.push('…');
    }
    text
}
