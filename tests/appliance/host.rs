//! What this machine can do, and saying so where it cannot.

use crate::support::child::{self, Finished};
use std::io::Write;
use std::process::Command;

/// Says past libtest's capture that a test tests nothing, and why.
///
/// # Panics
/// With `VERDICTD_TEST_NSPAWN=required`.
pub fn skip(why: &str) {
    let required = std::env::var("VERDICTD_TEST_NSPAWN").is_ok_and(|value| value == "required");
    assert!(!required, "required here, but {why}");
    note(why);
}

/// The same where nobody has asked for it.
pub fn note(why: &str) {
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = std::io::stderr().write_all(format!("\n*** NOT TESTED: {name}: {why} ***\n").as_bytes());
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether the command is on the PATH, or where only root's PATH has it.
pub fn has(command: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default();
    path.split(':').chain(["/usr/sbin", "/sbin"]).any(|folder| std::path::Path::new(folder).join(command).exists())
}

/// The first of these that is missing, said as a skip.
pub fn lacks(commands: &[&str]) -> bool {
    let missing = commands.iter().find(|command| !has(command));
    if let Some(missing) = missing {
        skip(&format!("{missing} is not installed"));
    }
    missing.is_some()
}

/// Runs to the end, which must come.
pub fn run(command: &mut Command) -> Finished {
    child::run(command).unwrap_or_else(|| panic!("{command:?} does not end"))
}

/// Runs to an end that must be good; its stdout.
pub fn run_well(command: &mut Command) -> String {
    let finished = run(command);
    assert!(finished.status.success(), "{command:?}: {finished:#?}");
    finished.stdout
}
