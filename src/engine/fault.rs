//! Faults that the engine cannot be brought to from outside. Only in builds for tests.

use std::path::Path;
use std::time::Duration;

/// Hangs while the file that `VERDICTD_FAULT_HANG` names exists: a commit that does not come back.
pub fn hang() {
    let Some(file) = std::env::var_os("VERDICTD_FAULT_HANG") else { return };
    while Path::new(&file).exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
}
