//! Why a bundle is refused: always the file, what was expected there and what was found.

use crate::features::Problem;
use std::path::PathBuf;

/// A refused bundle.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error("{}: {what}: {source}", file.display())]
    Io { file: PathBuf, what: &'static str, source: std::io::Error },
    /// A file is there but is not what it has to be.
    #[error("{}: {what}", file.display())]
    Refused { file: PathBuf, what: String },
    /// Everything wrong with `model.toml`, at once.
    #[error("{}: {}", file.display(), join(problems))]
    Manifest { file: PathBuf, problems: Vec<Problem> },
    /// Everything wrong with the weights, at once; the keys are tensor names.
    #[error("{}: {}", file.display(), join(problems))]
    Weights { file: PathBuf, problems: Vec<Problem> },
}

fn join(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl ModelError {
    /// The file that is at fault.
    #[must_use]
    pub fn file(&self) -> &std::path::Path {
        match self {
            Self::Io { file, .. }
            | Self::Refused { file, .. }
            | Self::Manifest { file, .. }
            | Self::Weights { file, .. } => file,
        }
    }

    /// Each single problem, for reports that print one a line: key (empty where the whole file is meant)
    /// and what was expected.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        match self {
            Self::Io { what, source, .. } => vec![Problem { key: String::new(), what: format!("{what}: {source}") }],
            Self::Refused { what, .. } => vec![Problem { key: String::new(), what: what.clone() }],
            Self::Manifest { problems, .. } | Self::Weights { problems, .. } => problems.clone(),
        }
    }
}
