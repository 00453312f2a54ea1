//! packaging/doc/*.md, and the man pages of section 7 that are made of them; of the file format, section 5.

use super::{in_tree, is_current, markdown, read};
use std::collections::BTreeSet;

/// Every guide by its name.
pub fn names() -> Vec<String> {
    let entries = std::fs::read_dir(in_tree("packaging/doc")).expect("the guides");
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            entry.expect("an entry").file_name().to_string_lossy().strip_suffix(".md").map(str::to_owned)
        })
        .collect();
    names.sort();
    names
}

/// What becomes a page of section 7: its name, its text, and where that stands.
fn pages() -> Vec<(String, String, String)> {
    let mut pages: Vec<(String, String, String)> = names()
        .into_iter()
        .map(|name| {
            let path = format!("packaging/doc/{name}.md");
            (name, read(&path), path)
        })
        .collect();
    let path = "packaging/reference/messages.md";
    let text =
        read(path).replacen("# Log messages", "# Messages: kinds of log messages of verdictd, and what to do", 1);
    pages.push(("messages".to_owned(), text, path.to_owned()));
    pages
}

/// The names of the man pages' files.
pub fn file_names() -> Vec<String> {
    pages().iter().map(|(name, ..)| page_name(name)).collect()
}

/// The section of a guide's man page.
fn section(guide: &str) -> u8 {
    if guide == "bundle" { 5 } else { 7 }
}

/// The file of a guide's man page.
fn page_name(guide: &str) -> String {
    format!("verdictd-{guide}.{}", section(guide))
}

#[test]
fn the_man_pages_of_sections_5_and_7_are_those_of_the_guides() {
    let all = pages();
    for (name, text, _) in &all {
        let others = all.iter().map(|(other, ..)| other).filter(|other| *other != name);
        let others = others.map(|other| format!("verdictd-{other}({})", section(other)));
        let also: Vec<String> =
            ["verdictd(1)", "verdictd.toml(5)"].map(str::to_owned).into_iter().chain(others).collect();
        let page = markdown::page(&format!("verdictd-{name}"), section(name), text, &also);
        is_current(&format!("packaging/man/{}", page_name(name)), &page);
    }
    assert!(all.len() > 3);
}

#[test]
fn every_link_of_a_guide_leads_somewhere() {
    for name in names() {
        let text = read(&format!("packaging/doc/{name}.md"));
        let anchors: BTreeSet<String> = text.lines().filter(|line| line.starts_with('#')).map(super::anchor).collect();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            if file.contains("://") {
                continue;
            }
            assert!(file.is_empty() || in_tree("packaging/doc").join(file).exists(), "{name}: {target}");
            if file.is_empty() {
                assert!(anchors.contains(&format!("#{anchor}")), "{name}: {target}");
            }
        }
    }
}

/// Every key that a reader of model.toml asks for stands on the page of the bundle.
#[test]
fn every_key_of_a_manifest_is_on_the_page_of_the_bundle() {
    let page = read("packaging/doc/bundle.md");
    let mut seen = 0;
    let files =
        ["manifest", "decision", "calibration", "explain", "network/mod"].map(|name| format!("src/model/{name}.rs"));
    for file in files.iter().map(String::as_str).chain(["src/features/spec.rs"]) {
        let source = read(file);
        for part in source.split("reader.").skip(1) {
            let Some((call, rest)) = part.split_once('(') else { continue };
            let Some(key) = rest.strip_prefix('"').and_then(|rest| rest.split('"').next()) else { continue };
            if call.chars().all(|c| c.is_ascii_lowercase() || c == '_') && call != "key" && !key.is_empty() {
                let stands = page.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').any(|word| word == key);
                assert!(stands, "{file}: {key} is not in packaging/doc/bundle.md");
                seen += 1;
            }
        }
    }
    assert!(seen > 20, "{seen}");
}

/// The rows of the tables of a section.
fn rows(guide: &str, section: &str) -> Vec<String> {
    let text = read(&format!("packaging/doc/{guide}.md"));
    let part = text.split("\n## ").find(|part| part.starts_with(section)).expect("the section").to_owned();
    part.lines().filter(|line| line.starts_with("| ")).map(str::to_owned).collect()
}

#[test]
fn every_warning_of_status_is_in_the_guide_to_alarms() {
    let source = read("src/service/status.rs");
    let body = source.split("pub fn warnings(").nth(1).and_then(|rest| rest.split("\n}\n").next()).expect("it");
    let rows = rows("alarms", "Warnings of status");
    let mut seen = 0;
    for line in body.lines().filter(|line| line.contains("lines.push(") && line.contains('"')) {
        let text = line.split('"').nth(1).expect("a text");
        // What is between the values that are put in.
        let parts: Vec<&str> =
            text.split(['{', '}']).step_by(2).map(|part| part.trim_matches([' ', ':', ';'])).collect();
        let longest =
            parts.iter().max_by_key(|part| part.len()).expect("a part").split([';', ',']).next().expect("one");
        assert!(rows.iter().any(|row| row.contains(longest)), "{longest:?} is not in alarms.md");
        seen += 1;
    }
    assert!(seen > 8, "{seen}");
}

#[test]
fn every_metric_that_a_guide_names_is_one() {
    let readme = read("README.md");
    for name in names() {
        let text = read(&format!("packaging/doc/{name}.md"));
        for word in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|w| w.starts_with("verdictd_"))
        {
            let base = word.strip_suffix("_bucket").unwrap_or(word);
            assert!(readme.contains(&format!("| `{base}` |")), "{name}: {word} is no metric");
        }
    }
}

#[test]
fn every_exit_code_is_in_the_guide_to_operating() {
    let rows = rows("operating", "Where to look first");
    for code in verdictd::cli::ExitCode::ALL.map(|code| code as u8).into_iter().filter(|code| *code != 1) {
        assert!(rows.iter().any(|row| row.starts_with(&format!("| {code} |"))), "{code}");
    }
}
