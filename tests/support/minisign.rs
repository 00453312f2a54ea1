//! The minisign program of the system, with a key pair of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Where Debian puts it.
const PROGRAM: &str = "/usr/bin/minisign";

/// A key pair without a password.
pub struct Minisign {
    folder: TempDir,
}

impl Minisign {
    /// # Panics
    /// Where the program is missing.
    pub fn new() -> Self {
        assert!(Path::new(PROGRAM).exists(), "the package minisign is missing");
        let made = Self { folder: tempfile::Builder::new().prefix("minisign-").tempdir().expect("a temporary folder") };
        made.run(&["-G", "-W", "-f", "-p", "key.pub", "-s", "key.sec"]);
        made
    }

    pub fn public_key(&self) -> PathBuf {
        self.folder.path().join("key.pub")
    }

    /// Signs the manifest of a bundle as a publisher does; `comment` in the place of the time that minisign writes.
    pub fn sign(&self, bundle: &Path, comment: Option<&str>) {
        let manifest = bundle.join("model.toml").display().to_string();
        let mut arguments = vec!["-S", "-s", "key.sec", "-m", &manifest];
        arguments.extend(comment.into_iter().flat_map(|comment| ["-t", comment]));
        self.run(&arguments);
    }

    fn run(&self, arguments: &[&str]) {
        let done = Command::new(PROGRAM).args(arguments).current_dir(self.folder.path()).output().expect("minisign");
        assert!(done.status.success(), "minisign {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    }
}
