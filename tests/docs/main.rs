//! What the documents say is what the program does, and the generated ones are those of the code.
//!
//! The README is held against the code; the reference, the man pages and the completions are made of it and compared
//! with what is in the tree. After a change of the code, `VERDICTD_BLESS=1 cargo test --test docs` writes them anew.
//!
//! One file a document: `readme`, `reference`, `manual` (man pages of the commands), `config_page` (verdictd.toml.5),
//! `guides` (packaging/doc, and the man pages of section 7 made of it), `completions`, `status`, `variables`. `commands`
//! tries every command line in them. `roff` and `markdown` write and
//! convert; `rendering` shows that the pages render.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // helpers stop at the first surprise, as tests do

#[path = "../support/mod.rs"]
mod support;

mod commands;
mod completions;
mod config_page;
mod guides;
mod manual;
mod markdown;
mod readme;
mod reference;
mod rendering;
mod roff;
mod status;
mod variables;

use std::path::{Path, PathBuf};

fn in_tree(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(in_tree(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Compares a generated file with the one in the tree, or writes it there where `VERDICTD_BLESS` is set.
fn is_current(path: &str, made: &str) {
    if std::env::var_os("VERDICTD_BLESS").is_some() {
        // At once, because other tests read it meanwhile.
        let new = in_tree(&format!("target/blessed-{}", path.replace('/', "-")));
        std::fs::write(&new, made).unwrap_or_else(|error| panic!("{path}: {error}"));
        std::fs::rename(&new, in_tree(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        return;
    }
    let there = std::fs::read_to_string(in_tree(path)).unwrap_or_default();
    let differ = there.lines().zip(made.lines()).position(|(a, b)| a != b);
    let line = differ.unwrap_or_else(|| there.lines().count().min(made.lines().count()));
    assert!(
        there == made,
        "{path} is not that of the code, from line {}: write it anew with VERDICTD_BLESS=1 cargo test --test docs\n\
         there: {:?}\nmade:  {:?}",
        line + 1,
        there.lines().nth(line),
        made.lines().nth(line),
    );
}

/// The names of the generated files below a folder must be these, so that none is left over.
fn are_all(folder: &str, made: &[String]) {
    let mut there: Vec<String> = std::fs::read_dir(in_tree(folder))
        .expect("a folder of the project")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    there.sort();
    let mut made = made.to_vec();
    made.sort();
    assert_eq!(there, made, "files in {folder}");
}

/// The anchor of a heading, as the usual viewers of Markdown make it.
fn anchor(heading: &str) -> String {
    let title = heading.trim_start_matches(['#', ' ']).to_lowercase();
    let kept: String = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-')).collect();
    format!("#{}", kept.replace(' ', "-"))
}
