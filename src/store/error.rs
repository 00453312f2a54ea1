//! What can go wrong in the store.

use std::io;
use std::path::{Path, PathBuf};

/// An error of the store. Cloneable, because the first failed write answers every later commit too.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has the directory.
    #[error("{} is in use by {holder}; one daemon per state-dir", path.display())]
    Held { path: PathBuf, holder: String },
    /// The operating system refused a file operation.
    #[error("{what} {}: {message}", path.display())]
    Io { what: &'static str, path: PathBuf, message: String, kind: io::ErrorKind },
    /// The log engine refused an operation, or panicked.
    #[error("{what}: the log engine failed: {message}")]
    Engine { what: &'static str, message: String },
    /// The directory was written by a later release.
    #[error(
        "{} has the store format {found}, this release knows up to {known}; \
         run the release that wrote it, or move the directory away to start anew",
        path.display()
    )]
    NewerFormat { path: PathBuf, found: u32, known: u32 },
    /// A text of a record, an offset or a name is longer than the store takes.
    #[error("{what} has {bytes} bytes, at most {limit} are stored")]
    TooLong { what: &'static str, bytes: usize, limit: usize },
    /// An earlier write or sync failed; nothing is committed any more.
    #[error("nothing is committed after a failed write: {0}")]
    Latched(String),
    /// A commit whose records do not follow on what is committed; nothing of it was written.
    #[error("a commit starts at sequence {found}, the log goes on at {expected}")]
    OutOfOrder { found: u64, expected: u64 },
    /// A commit whose observations or labels have another number of cells than their schema says; nothing was written.
    #[error("{rows} observations of {width} cells came with {found}")]
    Cells { found: usize, rows: usize, width: usize },
    /// A name under which no cursor is stored.
    #[error("there is no cursor of a sink {name:?}; there is {}", listed(there))]
    NoSuchCursor { name: String, there: Vec<String> },
    /// A call that is settled, or never was open.
    #[error("sink {sink:?} has no call of verdict {sequence} whose outcome is not known")]
    NoSuchCase { sink: String, sequence: u64 },
    /// A name that no open sink has.
    #[error("no sink named {0:?} was declared when the store was opened")]
    NoSuchSink(String),
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none at all".to_owned() } else { names.join(", ") }
}

impl StoreError {
    pub(crate) fn io(what: &'static str, path: &Path, error: &io::Error) -> Self {
        Self::Io { what, path: path.to_owned(), message: error.to_string(), kind: error.kind() }
    }

    /// Whether it is space that is missing: no block is free, or a quota is used up.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Io { kind: io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded, .. })
    }

    /// Whether the state directory's medium failed (exit code 74), not a rule of use.
    #[must_use]
    pub fn is_medium(&self) -> bool {
        matches!(self, Self::Io { .. } | Self::Engine { .. } | Self::Latched(_))
    }
}
