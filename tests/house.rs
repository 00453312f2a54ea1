//! The rules of the house that no compiler checks.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // helpers stop at the first surprise, as tests do

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// No file is longer; most have 100 to 250 lines.
const LINES_MAX: usize = 500;

/// Which module may use which: each those on lower steps, and those named with it.
///
/// `cli -> service -> ingest, engine, forward -> config -> features, model, store -> event, verdict -> nothing`
const STEPS: [(&str, u32, &[&str]); 17] = [
    ("cli", 5, &[]),
    ("service", 4, &[]),
    // They know nothing of each other; service joins them.
    ("ingest", 3, &[]),
    ("engine", 3, &[]),
    ("forward", 3, &[]),
    // What an operator may say is checked against the limits of what it is said to.
    ("config", 2, &[]),
    // A bundle holds the features that fill its rows and the rules beside the model.
    ("model", 1, &["features", "rules"]),
    // Rules compare features.
    ("rules", 1, &["features"]),
    ("features", 1, &[]),
    ("store", 1, &[]),
    ("simulate", 1, &[]),
    // A verdict writes the event's time.
    ("verdict", 0, &["event"]),
    ("event", 0, &[]),
    ("listen", 0, &[]),
    ("names", 0, &[]),
    // What sources and sinks share of a way to somewhere else.
    ("link", 0, &["notice"]),
    // The kinds of log messages: everyone logs.
    ("notice", 0, &[]),
];

struct Source {
    path: PathBuf,
    text: String,
}

impl Source {
    /// Its module: `store` for src/store/chunk.rs.
    fn module(&self) -> Option<&str> {
        let name = self.path.strip_prefix("src").ok()?.components().next()?.as_os_str().to_str()?;
        Some(name.strip_suffix(".rs").unwrap_or(name))
    }

    /// The lines that run in the daemon, numbered from 1: no tests, no comments.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let is_test = self.path.components().any(|part| {
            let name = part.as_os_str().to_str().unwrap_or_default();
            name == "tests" || name == "tests.rs" || name.ends_with("_tests.rs")
        });
        let lines = self.text.lines().take_while(move |line| !is_test && line.trim() != "#[cfg(test)]");
        let numbered = lines.enumerate().map(|(n, line)| (n + 1, line));
        numbered.filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

/// Every text file of the project, by its path from the root.
fn all() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the project") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default().to_owned();
            // In a linked work tree `.git` is a file.
            if ["target", ".git"].contains(&name.as_str()) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                let path = path.strip_prefix(root).expect("a path below the root").to_owned();
                found.push(Source { path, text });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn rust_below(folder: &str) -> Vec<Source> {
    let is_rust = |source: &Source| source.path.extension().is_some_and(|e| e == "rs");
    all().into_iter().filter(|source| source.path.starts_with(folder) && is_rust(source)).collect()
}

/// Fails with every fault at once.
fn none(faults: &[String]) {
    let mut report = String::new();
    for fault in faults {
        let _ = write!(report, "\n  {fault}");
    }
    assert!(faults.is_empty(), "{report}");
}

#[test]
fn no_file_is_too_long_to_read() {
    let code = ["src", "tests", "benches", ".ci", "packaging"];
    let long = all().into_iter().filter(|source| code.iter().any(|folder| source.path.starts_with(folder)));
    let faults = long.filter_map(|source| {
        let lines = source.text.lines().count();
        let is_data = source
            .path
            .extension()
            .is_some_and(|e| ["csv", "ndjson", "json", "catalog"].into_iter().any(|data| e == data));
        // Made of the code; nobody reads them as they stand.
        let made = ["packaging/man", "packaging/completions", "packaging/reference"];
        let is_data = is_data || made.iter().any(|folder| source.path.starts_with(folder));
        (lines > LINES_MAX && !is_data)
            .then(|| format!("{}: {lines} lines, at most {LINES_MAX}", source.path.display()))
    });
    none(&faults.collect::<Vec<_>>());
}

#[test]
fn arrows_between_modules_point_one_way() {
    let steps: BTreeMap<&str, (u32, &[&str])> =
        STEPS.iter().map(|(name, step, also)| (*name, (*step, *also))).collect();
    let mut faults = Vec::new();
    for source in rust_below("src") {
        let Some(module) = source.module().filter(|name| !["main", "lib"].contains(name)) else { continue };
        let Some((step, also)) = steps.get(module) else {
            faults.push(format!("{}: the module {module} has no step here", source.path.display()));
            continue;
        };
        for (number, line) in source.code() {
            for used in line.split("crate::").skip(1) {
                let end = used.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(used.len());
                let used = &used[..end];
                let Some((used_step, _)) = steps.get(used) else { continue };
                if used != module && used_step >= step && !also.contains(&used) {
                    faults.push(format!("{}:{number}: {module} uses {used}", source.path.display()));
                }
            }
        }
    }
    none(&faults);
}

#[test]
fn only_the_store_names_its_engine() {
    let mut faults = Vec::new();
    for source in rust_below("src").iter().filter(|source| source.module() != Some("store")) {
        for (number, _) in source.code().filter(|(_, line)| line.contains("sled::")) {
            faults.push(format!("{}:{number}", source.path.display()));
        }
    }
    none(&faults);
}

#[test]
fn nothing_in_the_daemon_panics_by_intent() {
    let calls = [".unwrap()", ".expect(", "panic!(", "unreachable!(", "todo!(", "unimplemented!("];
    let mut faults = Vec::new();
    for source in rust_below("src") {
        for (number, line) in source.code() {
            if calls.iter().any(|call| line.contains(call)) {
                faults.push(format!("{}:{number}: {}", source.path.display(), line.trim()));
            }
        }
    }
    none(&faults);
}

#[test]
fn every_source_file_opens_with_what_it_is() {
    let faults = ["src", "tests", "benches"].into_iter().flat_map(rust_below).filter_map(|source| {
        let opens = source.text.starts_with("//! ");
        (!opens).then(|| format!("{}: expected a //! head", source.path.display()))
    });
    none(&faults.collect::<Vec<_>>());
}

#[test]
fn no_path_of_someones_machine_is_written_down() {
    // Put together here, so that this file is not its own fault.
    let roots = ["home", "root", "Users", "mnt"].map(|name| format!("/{name}/"));
    let mut faults = Vec::new();
    for source in all() {
        for (number, line) in source.text.lines().enumerate() {
            let starts = |root: &String| {
                // A path, not the middle of one such as https://host/home/.
                let before = line.find(root).and_then(|at| line[..at].chars().next_back());
                line.contains(root) && before.is_none_or(|c| !c.is_alphanumeric() && !"._-/~".contains(c))
            };
            if roots.iter().any(starts) {
                faults.push(format!("{}:{}: {}", source.path.display(), number + 1, line.trim()));
            }
        }
    }
    none(&faults);
}
