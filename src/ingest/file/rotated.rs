//! What a rotation has made of a file: `NAME.1`, `NAME.2` (the higher, the older) or `NAME-20261129`, `NAME.2026-11-29`
//! (the later, the younger).

use std::{
    cmp::Ordering,
    ffi::OsStr,
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// Suffixes of numbers are counts up to this many digits, and dates beyond.
const COUNT_DIGITS_MAX: usize = 4;
/// Endings of what is compressed, and so not read.
const COMPRESSED: [&str; 5] = [".gz", ".xz", ".zst", ".bz2", ".lz4"];

/// A file that a rotation has renamed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rotated {
    pub path: PathBuf,
    /// What stands behind the name, its first mark among it: `.1`, `-20261129`.
    suffix: String,
}

impl Rotated {
    fn count(&self) -> Option<u32> {
        let digits = self.suffix.strip_prefix('.')?;
        (digits.len() <= COUNT_DIGITS_MAX).then(|| digits.parse().ok())?
    }

    pub fn is_compressed(&self) -> bool {
        COMPRESSED.iter().any(|ending| self.suffix.ends_with(ending))
    }

    /// Oldest first.
    fn by_age(&self, other: &Self) -> Ordering {
        match (self.plain().count(), other.plain().count()) {
            (Some(a), Some(b)) => b.cmp(&a),
            // Dates are older than counts: nobody has both for long.
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (None, None) => self.suffix.cmp(&other.suffix),
        }
    }

    /// The same without the ending of a compression.
    fn plain(&self) -> Self {
        let ending = COMPRESSED.iter().find_map(|ending| self.suffix.strip_suffix(ending));
        Self { path: self.path.clone(), suffix: ending.unwrap_or(&self.suffix).to_owned() }
    }
}

/// What rotations have left of `path`, oldest first.
///
/// # Errors
/// When its folder cannot be read.
pub(super) fn list(path: &Path) -> io::Result<Vec<Rotated>> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let other = entry.file_name();
        let Some(suffix) = suffix(&other, name) else { continue };
        if entry.file_type()?.is_file() {
            found.push(Rotated { path: entry.path(), suffix: suffix.to_owned() });
        }
    }
    found.sort_by(Rotated::by_age);
    Ok(found)
}

fn suffix<'a>(other: &'a OsStr, name: &[u8]) -> Option<&'a str> {
    let suffix = std::str::from_utf8(other.as_encoded_bytes().strip_prefix(name)?).ok()?;
    let mut letters = suffix.chars();
    (matches!(letters.next(), Some('.' | '-')) && letters.next().is_some_and(|c| c.is_ascii_digit())).then_some(suffix)
}

/// The rotated file for which `is` holds, the youngest first.
///
/// # Errors
/// When the folder cannot be read.
pub(super) fn find(path: &Path, is: impl Fn(&File, &fs::Metadata) -> bool) -> io::Result<Option<(Rotated, File)>> {
    for rotated in list(path)?.into_iter().rev().filter(|rotated| !rotated.is_compressed()) {
        // One that is gone again, or may not be read, is not it.
        let Ok(file) = File::open(&rotated.path) else { continue };
        if file.metadata().is_ok_and(|metadata| metadata.is_file() && is(&file, &metadata)) {
            return Ok(Some((rotated, file)));
        }
    }
    Ok(None)
}

/// What came after the file with this inode, oldest first, before `path` itself: what was written to later, because
/// there are programs whose higher numbers are the younger ones. Nothing where the file is gone: then nothing tells
/// which ones came after it.
///
/// # Errors
/// When the folder cannot be read.
pub(super) fn after(path: &Path, inode: u64) -> io::Result<Vec<Rotated>> {
    let mut known = Vec::new();
    for (n, rotated) in list(path)?.into_iter().enumerate() {
        // One that is gone again has another name by now.
        let Ok(metadata) = fs::metadata(&rotated.path) else { continue };
        // Of two that were written to in the same moment the names tell.
        let age = (metadata.mtime(), metadata.mtime_nsec(), n);
        known.push((age, metadata.ino(), rotated));
    }
    let Some(age) = known.iter().find(|(_, other, _)| *other == inode).map(|(age, ..)| *age) else {
        return Ok(Vec::new());
    };
    known.retain(|(other, ..)| *other > age);
    known.sort_by_key(|(age, ..)| *age);
    Ok(known.into_iter().map(|(.., rotated)| rotated).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(rotated: &[Rotated]) -> Vec<&str> {
        rotated.iter().map(|rotated| rotated.path.file_name().unwrap().to_str().unwrap()).collect()
    }

    #[test]
    fn counts_fall_and_dates_rise_with_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.log");
        let names_by_age =
            ["a.log.1x", "a.log.10", "a.log.2.gz", "a.log.1", "a.log", "a.log.bak", "b.log.1", "a.log-x"];
        for (seconds, name) in (1..).zip(names_by_age) {
            write_at(&dir.path().join(name), seconds);
        }
        fs::create_dir(dir.path().join("a.log.7")).unwrap();
        let found = list(&path).unwrap();
        assert_eq!(names(&found), ["a.log.1x", "a.log.10", "a.log.2.gz", "a.log.1"]);
        let inode = |name: &str| fs::metadata(dir.path().join(name)).unwrap().ino();
        let next = after(&path, inode("a.log.10")).unwrap();
        assert_eq!(names(&next), ["a.log.2.gz", "a.log.1"]);
        assert!(next[0].is_compressed());
        assert_eq!(after(&path, inode("a.log.1")).unwrap(), []);
        assert_eq!(after(&path, 0).unwrap(), []);
    }

    fn write_at(path: &Path, seconds: u64) {
        let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        File::create(path).unwrap().set_modified(time).unwrap();
    }

    #[test]
    fn numbers_may_rise_with_time_too() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        for (seconds, name) in [(1, "a.1"), (2, "a.2"), (3, "a.3"), (4, "a")] {
            write_at(&dir.path().join(name), seconds);
        }
        let inode = |name: &str| fs::metadata(dir.path().join(name)).unwrap().ino();
        assert_eq!(names(&after(&path, inode("a.3")).unwrap()), [""; 0]);
        assert_eq!(names(&after(&path, inode("a.1")).unwrap()), ["a.2", "a.3"]);
    }

    #[test]
    fn dates_are_in_their_order() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a-20261130", "a-20261129", "a.2025-01-01"] {
            fs::write(dir.path().join(name), name).unwrap();
        }
        assert_eq!(names(&list(&dir.path().join("a")).unwrap()), ["a-20261129", "a-20261130", "a.2025-01-01"]);
    }
}
