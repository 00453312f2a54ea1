//! Debian trees: made once a release, and a layer above for each test.

use super::host::{self, run_well};
use crate::support::child::Finished;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

fn cache() -> PathBuf {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("target/appliance");
    std::env::var_os("VERDICTD_TEST_CACHE").map_or_else(default, PathBuf::from)
}

/// The release's tree; never written to after it is made.
fn base(release: &str) -> PathBuf {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/appliance/make-tree");
    // Not within `host::run`: its watchdog is for tests, this downloads a Debian.
    let status = Command::new(script).arg(cache()).arg(release).status();
    assert!(status.is_ok_and(|status| status.success()), "no tree of {release} can be made");
    cache().join(format!("{release}.tree"))
}

/// A tree of a test's own; gone when dropped.
pub struct Tree {
    folder: TempDir,
    mounted: bool,
}

impl Tree {
    /// None, and said so, where this machine cannot have one.
    pub fn new(release: &str) -> Option<Self> {
        if !host::is_root() {
            host::skip("it needs root");
            return None;
        }
        if host::lacks(&["debootstrap"]) {
            return None;
        }
        let base = base(release);
        let folder = tempfile::Builder::new().prefix("verdictd-tree-").tempdir().expect("a temporary folder");
        for name in ["root", "upper", "work"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let path = |name: &str| folder.path().join(name).display().to_string();
        let options = format!("lowerdir={},upperdir={},workdir={}", base.display(), path("upper"), path("work"));
        let mut mount = Command::new("mount");
        mount.args(["-t", "overlay", "overlay", "-o", &options, &path("root")]);
        let mounted = host::run(&mut mount).status.success();
        if !mounted {
            run_well(Command::new("cp").args(["-a", "--reflink=auto"]).arg(base.join(".")).arg(path("root")));
        }
        Some(Self { folder, mounted })
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// Copies a file to `/srv/NAME` of the tree; the path there.
    pub fn bring(&self, file: &Path, name: &str) -> String {
        fs::copy(file, self.root().join("srv").join(name)).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        format!("/srv/{name}")
    }

    /// Runs a script in the tree, which is not booted.
    pub fn sh(&self, script: &str) -> Finished {
        let mut command = Command::new("chroot");
        command.arg(self.root()).args(["/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8"]);
        host::run(command.args(["/bin/sh", "-c", script]))
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if self.mounted {
            // Lazily: a process that just died may still be leaving.
            let _ = Command::new("umount").arg("--lazy").arg(self.root()).status();
        }
    }
}
