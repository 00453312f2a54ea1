//! What the service manager allows of memory: the least `memory.max` of the process's control group and those above it
//! (cgroup v2, `Documentation/admin-guide/cgroup-v2.rst` of the kernel).
//!
//! Page cache counts there too, but is given back under pressure: only what the process itself holds has to fit.

use crate::config::Size;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the tree of control groups is mounted.
const ROOT: &str = "/sys/fs/cgroup";
/// What the process needs beside its budget: pages of its code and of sockets that are charged to it.
const BESIDE_BYTES: u64 = 8 << 20;

/// Bytes that this process may have; None where there is no bound, or none that can be seen.
#[must_use]
pub fn memory_max() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    least(Path::new(ROOT), &own(&text)?)
}

/// The process's own group: the line of the unified hierarchy.
fn own(text: &str) -> Option<PathBuf> {
    let path = text.lines().find_map(|line| line.strip_prefix("0::/"))?;
    // A path out of the tree as it is mounted here says nothing.
    let path = PathBuf::from(path);
    (!path.components().any(|part| part.as_os_str() == "..")).then_some(path)
}

fn least(root: &Path, group: &Path) -> Option<u64> {
    let bounds = group.ancestors().map(|group| root.join(group).join("memory.max"));
    bounds.filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok()).min()
}

/// A line where a budget of so many bytes does not fit what is allowed.
#[must_use]
pub fn warning(budget: u64, allowed: Option<u64>) -> Option<String> {
    let allowed = allowed.filter(|allowed| *allowed < budget.saturating_add(BESIDE_BYTES))?;
    Some(format!(
        "limits.memory is {} and the service manager allows {}: under load the kernel would end the daemon; raise \
         MemoryMax= of the unit to {} or more, or lower limits.memory",
        Size(budget).rounded(),
        Size(allowed).rounded(),
        Size((budget + budget / 4).max(budget + BESIDE_BYTES)).rounded()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_bound_on_the_way_up_counts() {
        let dir = tempfile::tempdir().unwrap();
        let service = dir.path().join("system.slice/verdictd.service");
        fs::create_dir_all(&service).unwrap();
        fs::write(service.join("memory.max"), "83886080\n").unwrap();
        fs::write(dir.path().join("system.slice/memory.max"), "max\n").unwrap();
        let own = own("1:name=x:/a\n0::/system.slice/verdictd.service\n").unwrap();
        assert_eq!(least(dir.path(), &own), Some(80 << 20));
        fs::write(dir.path().join("system.slice/memory.max"), "1048576\n").unwrap();
        assert_eq!(least(dir.path(), &own), Some(1 << 20));
        assert_eq!(super::own("0::/../outside\n"), None);
        assert_eq!(super::own("1:memory:/x\n"), None);
    }

    #[test]
    fn a_budget_that_the_unit_does_not_allow_is_told_with_what_would_do() {
        assert_eq!(warning(64 << 20, None), None);
        assert_eq!(warning(64 << 20, Some(80 << 20)), None);
        let told = warning(128 << 20, Some(80 << 20)).unwrap();
        assert!(told.contains("MemoryMax=") && told.contains("160 MiB") && told.contains("80 MiB"), "{told}");
    }
}
