//! A tree booted as a machine.
//!
//! `systemd-nspawn --register=no --keep-unit` needs no machine manager. Two such machines in one control group would
//! count, and end, each other's processes, so that each gets groups of its own. Commands enter through the namespaces
//! of its first process; its `/run` is reached through `/proc`.

use super::host::{self, run};
use super::tree::Tree;
use crate::support::child::{Finished, Guarded, WATCHDOG, poll};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

pub struct Machine {
    nspawn: Guarded,
    init: u32,
    groups: Vec<PathBuf>,
    tree: Tree,
}

impl Machine {
    /// Boots a release; None, and said so, where this machine cannot.
    pub fn boot(release: &str) -> Option<Self> {
        if host::lacks(&["systemd-nspawn", "nsenter"]) {
            return None;
        }
        Self::boot_tree(Tree::new(release)?)
    }

    /// The same with a tree that was worked on.
    pub fn boot_tree(tree: Tree) -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("verdictd-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let groups = groups(&name);
        let console = fs::File::create(tree.root().with_file_name("console")).expect("a file for the console");
        let mut command = Command::new("sh");
        command.args([
            "-c",
            r#"for group; do [ "$group" = -- ] && break; shift; echo $$ >"$group/cgroup.procs"; done
            shift; exec systemd-nspawn "$@""#,
            "sh",
        ]);
        command.args(&groups).arg("--");
        command.args(["--quiet", "--boot", "--register=no", "--keep-unit", "--private-network", "--link-journal=no"]);
        command.arg(format!("--machine={name}")).arg(format!("--directory={}", tree.root().display()));
        command.stdin(Stdio::null()).stderr(console.try_clone().expect("a second handle")).stdout(console);
        let mut nspawn = Guarded::spawn(&mut command);
        let pid = nspawn.0.id();
        let mut last = String::new();
        let init = poll(WATCHDOG, || {
            if let Some(status) = nspawn.0.try_wait().expect("a child that can be waited for") {
                return Some(Err(format!("systemd-nspawn ended: {status}")));
            }
            let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
            let init = children.split_whitespace().next()?.parse::<u32>().ok()?;
            // Before it is up there is nothing to enter, or nobody to ask.
            let asked = enter(init).args(["systemctl", "is-system-running"]).stderr(Stdio::null()).output();
            String::from_utf8_lossy(&asked.ok()?.stdout).trim().clone_into(&mut last);
            ["running", "degraded"].contains(&last.as_str()).then_some(Ok(init))
        });
        let outcome = init.unwrap_or_else(|| Err(format!("it does not come up, and is {last:?}")));
        match outcome {
            Ok(init) => Some(Self { nspawn, init, groups, tree }),
            Err(why) => {
                let console = fs::read_to_string(tree.root().with_file_name("console")).unwrap_or_default();
                remove(&groups);
                host::skip(&format!("no machine can be booted here: {why}\n{console}"));
                None
            }
        }
    }

    /// With the package installed and the daemon ready.
    pub fn with_package(release: &str) -> Option<Self> {
        let package = super::packages::own()?;
        let machine = Self::boot(release)?;
        machine.install(&package);
        machine.wait_active();
        Some(machine)
    }

    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    pub fn install(&self, package: &Path) {
        let inside = self.tree.bring(package, "verdictd.deb");
        self.well(&format!("dpkg --install {inside}"));
    }

    /// A path in it, as the outside sees it; also below `/run`.
    pub fn path(&self, inside: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{inside}", self.init))
    }

    pub fn read(&self, inside: &str) -> String {
        fs::read_to_string(self.path(inside)).unwrap_or_else(|e| panic!("{inside}: {e}"))
    }

    pub fn write(&self, inside: &str, text: &str) {
        fs::write(self.path(inside), text).unwrap_or_else(|e| panic!("{inside}: {e}"));
    }

    pub fn sh(&self, script: &str) -> Finished {
        run(enter(self.init).args(["sh", "-c", script]))
    }

    /// Runs a script that must end well; its stdout.
    pub fn well(&self, script: &str) -> String {
        let finished = self.sh(script);
        assert!(finished.status.success(), "{script}: {finished:#?}\n{}", self.journal());
        finished.stdout
    }

    /// A property of the service.
    pub fn show(&self, property: &str) -> String {
        self.well(&format!("systemctl show --property {property} --value verdictd.service")).trim().to_owned()
    }

    /// Waits until the script ends well.
    pub fn wait_for(&self, what: &str, mut ask: impl FnMut(&Self) -> bool) {
        let seen = poll(WATCHDOG, || ask(self).then_some(()));
        assert!(seen.is_some(), "{what} does not happen:\n{}", self.journal());
    }

    /// Waits until the service has said that it is ready.
    pub fn wait_active(&self) {
        self.wait_for("the service being active", |machine| machine.show("ActiveState") == "active");
    }

    /// Everything that was logged, for people.
    pub fn journal(&self) -> String {
        let text = self.sh(
            "journalctl --no-pager --output short-precise | tail -n 60; systemctl status --no-pager verdictd.service",
        );
        text.stdout
    }

    /// Journal entries as JSON objects, oldest first.
    pub fn entries(&self, matches: &str) -> Vec<Value> {
        let text = self.well(&format!("journalctl --no-pager --output json --all {matches}"));
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Its first process takes the others with it, and systemd-nspawn ends; that alone would leave them all.
        if let Some(init) = i32::try_from(self.init).ok().and_then(Pid::from_raw) {
            let _ = kill_process(init, Signal::KILL);
        }
        let _ = poll(WATCHDOG, || self.nspawn.0.try_wait().ok().flatten());
        let _ = poll(WATCHDOG, || remove(&self.groups).then_some(()));
    }
}

/// A command in a machine, by its first process.
fn enter(init: u32) -> Command {
    let mut command = Command::new("nsenter");
    command.args(["--target", &init.to_string(), "--all", "--", "/usr/bin/env", "--ignore-environment"]);
    command.args(["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/root"]);
    command
}

/// New control groups below this process's own, one in each hierarchy that systemd uses.
fn groups(name: &str) -> Vec<PathBuf> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut made = Vec::new();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(kind), Some(path)) = (parts.next(), parts.next()) else { continue };
        let mounts: &[&str] = match kind {
            "" => &["/sys/fs/cgroup/unified", "/sys/fs/cgroup"],
            "name=systemd" => &["/sys/fs/cgroup/systemd"],
            _ => continue,
        };
        let folders = mounts.iter().map(|mount| Path::new(mount).join(path.trim_start_matches('/')));
        if let Some(folder) = folders.into_iter().find(|folder| folder.join("cgroup.procs").exists()) {
            let group = folder.join(name);
            if fs::create_dir(&group).is_ok() {
                made.push(group);
            }
        }
    }
    made
}

/// Removes control groups that no process is in any more; whether all are gone.
fn remove(groups: &[PathBuf]) -> bool {
    fn all_below(folder: &Path) -> bool {
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        folders.for_each(|entry| {
            all_below(&entry.path());
        });
        fs::remove_dir(folder).is_ok() || !folder.exists()
    }
    groups.iter().filter(|group| !all_below(group)).count() == 0
}
