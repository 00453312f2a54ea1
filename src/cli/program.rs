//! Where this program lies, for a command that starts it a second time.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The kernel's word where `/proc` is mounted. In a bare folder that is a system's root it is not: then the path it was
/// called by, if that is one.
pub(super) fn this_program() -> io::Result<PathBuf> {
    std::env::current_exe().or_else(|error| {
        let called = std::env::args_os().next().map(PathBuf::from);
        called.filter(|path| path.components().count() > 1).ok_or(error)
    })
}

/// No input and no output, also where there is no `/dev/null`: then a pipe on which nothing comes.
pub(super) fn nothing() -> Stdio {
    if Path::new("/dev/null").exists() { Stdio::null() } else { Stdio::piped() }
}
