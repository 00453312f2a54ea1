//! What is wrong with a config: every fault, each with its place.

use super::Origin;
use std::{fmt, path::PathBuf};

/// One fault (or one warning), for people by [`fmt::Display`], for scripts by its members.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    pub file: Option<PathBuf>,
    /// From 1; None where the fault has no one place.
    pub line: Option<u32>,
    /// From 1, in characters.
    pub column: Option<u32>,
    /// The key's whole path, as in `sources.pos.listen`; empty for the file as a whole.
    pub key: String,
    pub expected: String,
    pub found: String,
    /// The whole in one sentence, without the place.
    pub message: String,
    /// Whether the file could not be read for lack of permission, which has an exit code of its own.
    #[serde(skip)]
    pub permission: bool,
}

impl Problem {
    /// A value that is not what its key takes.
    #[must_use]
    pub fn value(origin: &Origin, key: &str, expected: &str, found: &str) -> Self {
        let message = format!("{key}: expected {expected}, found {found}");
        Self::at(origin, key, message).with(expected, found)
    }

    /// A fault said in one sentence.
    #[must_use]
    pub fn at(origin: &Origin, key: &str, message: impl Into<String>) -> Self {
        let (file, line, column) = match origin {
            Origin::Default => (None, None, None),
            Origin::File { file, line, column } => (Some(file.to_path_buf()), Some(*line), Some(*column)),
        };
        Self {
            file,
            line,
            column,
            key: key.to_owned(),
            expected: String::new(),
            found: String::new(),
            message: message.into(),
            permission: false,
        }
    }

    /// A fault of a whole file.
    #[must_use]
    pub fn of_file(file: impl Into<PathBuf>, message: impl Into<String>) -> Self {
        Self { file: Some(file.into()), ..Self::at(&Origin::Default, "", message) }
    }

    #[must_use]
    pub fn with(mut self, expected: impl Into<String>, found: impl Into<String>) -> Self {
        self.expected = expected.into();
        self.found = found.into();
        self
    }
}

/// `FILE:LINE:COLUMN: message`.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}:", file.display())?;
            if let (Some(line), Some(column)) = (self.line, self.column) {
                write!(f, "{line}:{column}:")?;
            }
            f.write_str(" ")?;
        }
        f.write_str(&self.message)
    }
}

/// Every fault of a config, in the order of files and lines; never empty as an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// Sorts by place and drops what was found twice.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.0.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
        self.0.dedup();
        self
    }
}

/// One line a fault.
impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, problem) in self.0.iter().enumerate() {
            if n > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}
