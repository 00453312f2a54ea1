//! Every log message is of a kind, and the catalog and the reference of kinds are those of the code.
//!
//! After a change of src/notice, `VERDICTD_BLESS=1 cargo test --test log` writes both anew.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use verdictd::notice::{self, Notice};

const CATALOG: &str = "packaging/verdictd.catalog";
const REFERENCE: &str = "packaging/reference/messages.md";

/// Lines above a message in which a kind bound to a name is looked for.
const BINDING_LINES: usize = 8;

/// A message's place in the code, as written there.
struct Site {
    place: String,
    level: &'static str,
    /// What stands between the parentheses.
    text: String,
    /// The constants of kinds named in it, or, where it takes `kind` from a binding, in the nearest line above.
    kinds: Vec<String>,
}

fn in_tree(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the project") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
}

/// The text up to the parenthesis that closes it; parentheses in strings count as they come in pairs.
fn until_closed(text: &str) -> &str {
    let mut depth = 1;
    let end = text.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    });
    &text[..end.unwrap_or(text.len())]
}

fn kinds_in(text: &str) -> Vec<String> {
    let names = text.split("notice::").skip(1).filter_map(|rest| rest.split_once(".kind"));
    names.map(|(name, _)| name.to_owned()).filter(|name| !name.contains(char::is_whitespace)).collect()
}

fn sites() -> Vec<Site> {
    let mut files = Vec::new();
    rust_files(&in_tree("src"), &mut files);
    let mut sites = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a source file");
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for level in ["error", "warn", "info"] {
            for (at, call) in code.match_indices(&format!("tracing::{level}!(")) {
                let inside = until_closed(&code[at + call.len()..]);
                let mut kinds = kinds_in(inside);
                if kinds.is_empty() && words(inside).contains("kind") {
                    let above: Vec<&str> = code[..at].lines().rev().take(BINDING_LINES).collect();
                    kinds = above.iter().map(|line| kinds_in(line)).find(|kinds| !kinds.is_empty()).unwrap_or_default();
                }
                let place = format!("{}:{}", path.display(), code[..at].lines().count());
                sites.push(Site { place, level, text: inside.to_owned(), kinds });
            }
        }
    }
    sites
}

/// The names in a message outside its text.
fn words(inside: &str) -> BTreeSet<&str> {
    let code = inside.split('"').step_by(2);
    code.flat_map(|part| part.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')).collect()
}

/// The constants by name.
fn constants() -> BTreeMap<String, &'static Notice> {
    Notice::all().map(|notice| (notice.kind.replace('-', "_").to_ascii_uppercase(), notice)).collect()
}

#[test]
fn every_message_for_operators_is_of_a_kind_and_has_its_level_and_fields() {
    let constants = constants();
    let mut faults = Vec::new();
    let sites = sites();
    assert!(sites.len() > 30, "{} messages found", sites.len());
    for Site { place, level, text, kinds } in sites {
        let [kind] = kinds.as_slice() else {
            faults.push(format!("{place}: expected kind = notice::…, found {kinds:?} in {text:?}"));
            continue;
        };
        let Some(notice) = constants.get(kind.as_str()) else {
            faults.push(format!("{place}: {kind} is no kind: a constant is named as its kind is"));
            continue;
        };
        if notice.level.name() != level {
            faults.push(format!("{place}: {kind} is {}, not {level}", notice.level.name()));
        }
        let words = words(&text);
        for field in notice.fields.iter().filter(|field| !words.contains(**field)) {
            faults.push(format!("{place}: {kind} has the field {field}"));
        }
    }
    assert!(faults.is_empty(), "\n  {}", faults.join("\n  "));
}

#[test]
fn every_kind_is_logged_somewhere() {
    let used: BTreeSet<String> = sites().into_iter().flat_map(|site| site.kinds).collect();
    let unused: Vec<String> = constants().into_keys().filter(|name| !used.contains(name)).collect();
    assert!(unused.is_empty(), "{unused:?}");
}

/// Compares with the tree, or writes it there where `VERDICTD_BLESS` is set.
fn is_current(path: &str, made: &str) {
    if std::env::var_os("VERDICTD_BLESS").is_some() {
        std::fs::write(in_tree(path), made).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    let there = std::fs::read_to_string(in_tree(path)).unwrap_or_default();
    assert!(there == made, "{path}: write it anew with VERDICTD_BLESS=1 cargo test --test log");
}

#[test]
fn the_catalog_and_the_reference_are_those_of_the_kinds() {
    is_current(CATALOG, &notice::catalog());
    is_current(REFERENCE, &notice::reference());
}

#[test]
fn the_journal_reads_every_kind_from_the_catalog() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("usr/lib/systemd/catalog");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("verdictd.catalog"), notice::catalog()).unwrap();
    let root_arg = format!("--root={}", root.path().display());
    let run = |arguments: &[&str]| {
        let mut command = Command::new("journalctl");
        command.arg(&root_arg).args(arguments).env("LC_ALL", "C.UTF-8").stdin(Stdio::null()).output()
    };
    let Ok(updated) = run(&["--update-catalog"]) else {
        eprintln!("*** NOT TESTED: that the journal reads the catalog, which needs journalctl ***");
        return;
    };
    assert!(updated.status.success() && updated.stderr.is_empty(), "{updated:?}");
    let listed = run(&["--list-catalog"]).unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    for notice in Notice::all() {
        let line = format!("{} verdictd: {}", notice.id, notice.title);
        assert!(listed.lines().any(|there| there == line), "{line} is not in\n{listed}");
    }
}
