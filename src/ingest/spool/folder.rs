//! The folder: what is in it, and where its files go.

use super::super::files::Place;
use super::{After, Options};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Names listed at once: more are listed when these are done.
const NAMES_MAX: usize = 1024;
/// Tries at a name that is free.
const SAME_NAMES_MAX: u32 = 100_000;
/// Endings of what is still being written.
const UNFINISHED: [&str; 2] = [".tmp", ".part"];

pub(super) struct Folder {
    path: PathBuf,
    after: After,
    done: PathBuf,
    failed: PathBuf,
}

impl Folder {
    pub fn new(options: &Options) -> Self {
        let Options { path, after, done, failed, .. } = options.clone();
        Self { path, after, done, failed }
    }

    /// The first names in order, before them the file whose name has the hash `first`, if it is there.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn list(&self, first: Option<u64>) -> io::Result<Vec<OsString>> {
        let mut names = BTreeSet::new();
        let mut ahead = None;
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let name = entry.file_name();
            if is_unfinished(&name) || !entry.file_type()?.is_file() {
                continue;
            }
            if first == Some(Place::name(Path::new(&name))) {
                ahead = Some(name);
                continue;
            }
            names.insert(name);
            if names.len() > NAMES_MAX {
                names.pop_last();
            }
        }
        Ok(ahead.into_iter().chain(names).collect())
    }

    /// Puts a file away whose records are all taken.
    ///
    /// # Errors
    /// When it is still there.
    pub fn done(&self, name: &OsStr) -> io::Result<()> {
        let path = self.path.join(name);
        if self.after == After::Delete {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => return sync(&self.path),
            }
        }
        self.move_to(&self.done, name, &path)
    }

    /// Puts a file away that cannot be taken, and the reason beside it.
    ///
    /// # Errors
    /// When it is still there.
    pub fn failed(&self, name: &OsStr, reason: &str) -> io::Result<()> {
        let path = self.path.join(name);
        self.make(&self.failed)?;
        let free = free(&self.failed, name, |target| {
            let mut with = target.as_os_str().to_owned();
            with.push(".reason");
            // The reason's file holds the name; one of an earlier try that did not get further is taken over.
            let known = fs::read_to_string(&with).is_ok_and(|text| text.trim_end() == reason);
            if !known || target.exists() {
                let mut file = File::options().write(true).create_new(true).open(&with)?;
                writeln!(file, "{reason}")?;
                file.sync_all()?;
            }
            rename(&path, target)
        });
        free?;
        sync(&self.failed)?;
        sync(&self.path)
    }

    fn move_to(&self, folder: &Path, name: &OsStr, path: &Path) -> io::Result<()> {
        self.make(folder)?;
        free(folder, name, |target| rename(path, target))?;
        sync(folder)?;
        sync(&self.path)
    }

    fn make(&self, folder: &Path) -> io::Result<()> {
        match fs::create_dir(folder) {
            Ok(()) => sync(folder.parent().unwrap_or(&self.path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn is_unfinished(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b".") || UNFINISHED.iter().any(|ending| name.ends_with(ending.as_bytes()))
}

/// Calls `put` with `name`, `name.1`, `name.2` … in `folder` until the name is free.
fn free(folder: &Path, name: &OsStr, put: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    for n in 0..SAME_NAMES_MAX {
        let mut name = name.to_owned();
        if n > 0 {
            name.push(format!(".{n}"));
        }
        match put(&folder.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // Somebody took it away.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => return other,
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Renames, but never over another file.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // A file system that does not know the flag: nobody else writes in these folders.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) if to.exists() => {
            Err(io::ErrorKind::AlreadyExists.into())
        }
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => fs::rename(from, to),
        other => Ok(other?),
    }
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
