//! When and how the current file is put aside.

use super::FileError;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// When a file is full.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rotation {
    /// Bytes; none: never by size.
    pub size: Option<u64>,
    /// Since its first line; none: never by age.
    pub age: Option<Duration>,
    /// Rotated files kept; none: all. The oldest go first.
    pub keep: Option<usize>,
}

impl Rotation {
    /// Whether a file of `size` bytes that was begun at `begun` is to be put aside.
    #[must_use]
    pub fn is_due(&self, size: u64, begun: SystemTime, now: SystemTime) -> bool {
        let aged = || self.age.is_some_and(|age| now.duration_since(begun).is_ok_and(|since| since >= age));
        size > 0 && (self.size.is_some_and(|limit| size >= limit) || aged())
    }
}

/// The name a file gets when it is put aside at `now` with `sequence` as its last.
#[must_use]
pub fn rotated_name(path: &Path, now: SystemTime, sequence: u64) -> PathBuf {
    let at = jiff::Timestamp::try_from(now).unwrap_or_default();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().map(|e| format!(".{}", e.to_string_lossy())).unwrap_or_default();
    path.with_file_name(format!("{stem}-{}-{sequence}{extension}", at.strftime("%Y%m%dT%H%M%SZ")))
}

/// The first such name from `now` on that is free: a rename would replace a file.
#[must_use]
pub fn free_name(path: &Path, now: SystemTime, sequence: u64) -> PathBuf {
    let names = (0..).map(|seconds| rotated_name(path, now + Duration::from_secs(seconds), sequence));
    let mut free = names.skip_while(|name| name.symlink_metadata().is_ok());
    free.next().unwrap_or_else(|| rotated_name(path, now, sequence))
}

/// The rotated files of `path`, oldest first.
///
/// # Errors
/// When the folder cannot be listed.
pub fn rotated(path: &Path) -> Result<Vec<PathBuf>, FileError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let fail = |source| FileError::Io { what: "cannot list", path: folder.to_owned(), source };
    let stem = format!("{}-", path.file_stem().unwrap_or_default().to_string_lossy());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let candidate = entry.map_err(fail)?.path();
        let name = candidate.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let sequence = name
            .strip_prefix(&stem)
            .filter(|_| candidate.extension() == path.extension())
            .and_then(|rest| rest.split('.').next())
            .and_then(|rest| rest.split_once('-'))
            .filter(|(time, _)| time.len() == "20261129T162000Z".len() && time.ends_with('Z'))
            .and_then(|(_, sequence)| sequence.parse::<u64>().ok());
        if let Some(sequence) = sequence {
            found.push((sequence, candidate));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// Makes a folder's entries durable.
///
/// # Errors
/// When the folder cannot be opened or synced.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}
