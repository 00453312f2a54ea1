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

/// What is wrong with the shadow model: the content of the file that `VERDICTD_FAULT_SHADOW` names, if there is one.
/// "slow" takes a while of the processor, "panic" panics.
pub fn shadow() {
    let Some(file) = std::env::var_os("VERDICTD_FAULT_SHADOW") else { return };
    match std::fs::read_to_string(file).unwrap_or_default().trim() {
        "slow" => {
            let begun = super::shadow::cpu_time();
            while super::shadow::cpu_time().saturating_sub(begun) < Duration::from_millis(100) {
                std::hint::spin_loop();
            }
        }
        "panic" => std::panic::resume_unwind(Box::new("asked for by a test")),
        _ => {}
    }
}
