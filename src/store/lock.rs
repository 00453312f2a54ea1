//! One daemon per state-dir.

use super::error::StoreError;
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

/// Held until dropped, or the process ends in whatever way.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Who holds the lock, if anyone does.
    pub fn holder(path: &Path) -> Option<String> {
        let file = File::open(path).ok()?;
        // Shared, and let go of at once: a daemon that starts in this instant tries again.
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Some(said_by(file)),
            _ => None,
        }
    }

    /// # Errors
    /// [`StoreError::Held`], saying by whom, when another process has it.
    pub fn take(path: &Path, instance: &str) -> Result<Self, StoreError> {
        let io = |error: std::io::Error| StoreError::io("lock", path, &error);
        let mut file = File::options().read(true).write(true).create(true).truncate(false).open(path).map_err(io)?;
        for tries in 0.. {
            match file.try_lock() {
                Ok(()) => break,
                // Someone may just be looking who holds it.
                Err(TryLockError::WouldBlock) if tries < 20 => std::thread::sleep(Duration::from_millis(5)),
                Err(TryLockError::WouldBlock) => {
                    return Err(StoreError::Held { path: path.to_owned(), holder: said_by(file) });
                }
                Err(TryLockError::Error(error)) => return Err(io(error)),
            }
        }
        // Only information: on a full disk the lock holds without it.
        let written = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "process {} (instance {instance:?})", std::process::id()));
        match written {
            Err(error) if error.kind() != std::io::ErrorKind::StorageFull => Err(io(error)),
            _ => Ok(Self { _file: file }),
        }
    }
}

fn said_by(file: File) -> String {
    let mut text = String::new();
    let _ = file.take(1024).read_to_string(&mut text);
    text.lines().next().filter(|line| !line.is_empty()).unwrap_or("another process").to_owned()
}
