//! The packages under test.

use super::host::{self, run_well};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The package of an architecture; None, and said so, where it is not built.
pub fn package(arch: &str) -> Option<PathBuf> {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("target/packages");
    let folder = std::env::var_os("VERDICTD_TEST_PACKAGES").map_or_else(default, PathBuf::from);
    let ending = format!("_{arch}.deb");
    let entries = std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
    let found = entries.map(|entry| entry.path()).find(|path| path.display().to_string().ends_with(&ending));
    if found.is_none() {
        let why = format!("{} has no package for {arch}: packaging/build {arch} makes it", folder.display());
        let wanted = std::env::var("VERDICTD_TEST_PACKAGES_OF").is_ok_and(|of| of == "all");
        if wanted || arch == host_arch() { host::skip(&why) } else { host::note(&why) }
    }
    found
}

/// The architecture of this machine, as Debian calls it.
pub fn host_arch() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" }
}

/// The package for this machine.
pub fn own() -> Option<PathBuf> {
    package(host_arch())
}

/// What is in a package, in a temporary folder.
pub struct Unpacked(TempDir);

impl Unpacked {
    pub fn new(package: &Path) -> Self {
        let folder = tempfile::Builder::new().prefix("verdictd-package-").tempdir().expect("a temporary folder");
        run_well(Command::new("dpkg-deb").arg("--raw-extract").arg(package).arg(folder.path().join("package")));
        Self(folder)
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.0.path().join("package").join(path)
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    /// The same package under another version, as an earlier or a later one would be.
    pub fn repack(&self, version: &str) -> PathBuf {
        let control = self.read("DEBIAN/control");
        let lines = control.lines().map(|line| {
            if line.starts_with("Version: ") { format!("Version: {version}\n") } else { format!("{line}\n") }
        });
        std::fs::write(self.path("DEBIAN/control"), lines.collect::<String>()).expect("the control file");
        let made = self.0.path().join(format!("verdictd_{version}.deb"));
        let mut build = Command::new("dpkg-deb");
        build.args(["--root-owner-group", "-Zgzip", "-z1", "--build"]).arg(self.path("")).arg(&made);
        run_well(&mut build);
        made
    }
}
