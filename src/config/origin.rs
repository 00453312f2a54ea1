//! Where an effective value comes from.

use std::{fmt, path::Path, sync::Arc};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// No file says it: the built-in default.
    Default,
    /// A place in a file; line and column count from 1, the column in characters.
    File { file: Arc<Path>, line: u32, column: u32 },
}

impl Origin {
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Default => None,
            Self::File { file, .. } => Some(file),
        }
    }
}

/// `FILE:LINE` or `default`.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { file, line, .. } => write!(f, "{}:{line}", file.display()),
        }
    }
}

/// One effective value, as `check` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The whole path, as in `sources.pos.listen`.
    pub key: String,
    /// As TOML; None where it is optional and not set.
    pub value: Option<String>,
    pub origin: Origin,
}

impl Setting {
    /// The value as JSON; null where it is not set.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        let Some(value) = &self.value else { return serde_json::Value::Null };
        let table = toml::from_str::<serde_json::Map<_, _>>(&format!("value = {value}"));
        table.ok().and_then(|mut table| table.remove("value")).unwrap_or_default()
    }
}
