//! One daemon per state-dir.

use super::error::StoreError;
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

/// Held until dropped, or the process ends in whatever way.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// # Errors
    /// [`StoreError::Held`], saying by whom, when another process has it.
    pub fn take(path: &Path, instance: &str) -> Result<Self, StoreError> {
        let io = |error: std::io::Error| StoreError::io("lock", path, &error);
        let mut file = File::options().read(true).write(true).create(true).truncate(false).open(path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let _ = file.take(1024).read_to_string(&mut text);
                let holder = text.lines().next().filter(|line| !line.is_empty()).unwrap_or("another process");
                return Err(StoreError::Held { path: path.to_owned(), holder: holder.to_owned() });
            }
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        // Only information: on a full disk the lock holds without it.
        let _ = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "process {} (instance {instance:?})", std::process::id()));
        Ok(Self { _file: file })
    }
}
