//! Environment variables: those that the code reads are in the README and the man pages.

use super::{manual::VARIABLES, read};
use std::path::Path;

/// Set by the program for a library of its own; nobody else is to.
const INTERNAL: &[&str] = &["RAYON_NUM_THREADS"];

fn sources(folder: &Path, out: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the project") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        if name == "tests" || name.ends_with("_tests") {
            continue;
        }
        if path.is_dir() {
            sources(&path, out);
        } else {
            out.push(std::fs::read_to_string(&path).expect("a source file"));
        }
    }
}

#[test]
fn every_variable_that_the_code_reads_is_documented() {
    let mut files = Vec::new();
    sources(&super::in_tree("src"), &mut files);
    let readme = read("README.md");
    let mut seen = 0;
    for text in &files {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for call in ["env::var(\"", "env::var_os(\""] {
            for name in code.split(call).skip(1).filter_map(|rest| rest.split('"').next()) {
                // Of a feature that no package has.
                if name.starts_with("VERDICTD_FAULT") || INTERNAL.contains(&name) {
                    continue;
                }
                assert!(VARIABLES.iter().any(|(known, ..)| *known == name), "{name} is not in the man pages");
                seen += 1;
            }
        }
    }
    assert!(seen > 2, "{seen}");
    for (name, ..) in VARIABLES {
        assert!(readme.contains(&format!("`{name}`")), "{name} is not in the README");
    }
}

#[test]
fn every_route_is_in_the_readme() {
    let readme = read("README.md");
    let mut seen = 0;
    for file in ["src/ingest/http.rs", "src/ingest/admin.rs"] {
        let source = read(file);
        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
        for path in code.split("\"/").skip(1).filter_map(|rest| rest.split('"').next()) {
            let path = format!("/{path}");
            let is_there = ["GET", "POST"].iter().any(|method| readme.contains(&format!("| `{method} {path}")));
            assert!(is_there, "{path} of {file} is no row of the README");
            seen += 1;
        }
    }
    assert!(seen > 7, "{seen}");
}
