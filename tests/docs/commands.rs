//! Every command line of verdictd in the documents, the help and the examples is one that verdictd understands.

use super::{guides, in_tree, read};
use clap::error::ErrorKind;

/// The words of a command line up to where the shell takes over, without quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for letter in line.chars() {
        match (quote, letter) {
            (Some(end), letter) if letter == end => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, '|' | '>' | '<' | '&' | ';' | '#' | ')') => break,
            (None, ' ') => words.push(String::new()),
            (_, letter) => words.last_mut().expect("a word").push(letter),
        }
    }
    // A descriptor before `>`.
    words.retain(|word| !word.is_empty() && word != "2");
    words
}

/// The command lines of verdictd in a line of shell.
fn lines(shell: &str) -> Vec<Vec<String>> {
    let starts = shell.match_indices("verdictd ").filter(|(at, _)| {
        let before = shell[..*at].trim_end();
        let alone = shell[..*at].is_empty() || shell[..*at].ends_with(' ');
        alone
            && (before.is_empty()
                || before.ends_with(['|', '&', ';', '$'])
                || before.ends_with("sudo")
                || before.ends_with("sudo -u verdictd"))
    });
    starts.map(|(at, _)| words(&shell[at..])).collect()
}

/// Tries each; a mention within a sentence may leave out what a command must have.
fn check(place: &str, shell: &str, is_mention: bool) -> usize {
    let lines = lines(shell);
    for words in &lines {
        // What stands for something: COMMAND, SEQ.
        if words.get(1).is_some_and(|word| word.chars().all(|c| c.is_ascii_uppercase())) {
            continue;
        }
        let words = words.iter().map(|word| match word.as_str() {
            "SEQ" => "1",
            "TYPE" => "mqtt",
            word => word,
        });
        if let Err(error) = verdictd::cli::command().try_get_matches_from(words) {
            let is_short = [ErrorKind::MissingRequiredArgument, ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand];
            let is_part = is_mention && is_short.contains(&error.kind());
            assert!(is_part || !error.use_stderr(), "{place}: {shell}\n{error}");
        }
    }
    lines.len()
}

#[test]
fn every_command_line_of_the_documents_is_understood() {
    let mut files: Vec<String> = guides::names().iter().map(|name| format!("packaging/doc/{name}.md")).collect();
    files.extend(["README.md", "models/README.md", "packaging/serial-protocol.md"].map(str::to_owned));
    let mut seen = 0;
    for file in files {
        let mut in_block = false;
        for line in read(&file).lines() {
            if line.trim_start().starts_with("```") {
                let language = line.trim_start().trim_start_matches('`');
                in_block = !in_block && ["sh", "console"].contains(&language);
                continue;
            }
            if in_block {
                seen += check(&file, line.trim_start().trim_start_matches("$ "), false);
            } else {
                let code = line.split('`').skip(1).step_by(2);
                seen += code.map(|code| check(&file, code, true)).sum::<usize>();
            }
        }
    }
    assert!(seen > 40, "{seen}");
}

#[test]
fn every_example_of_the_help_is_understood() {
    let mut seen = 0;
    for line in std::fs::read_to_string(in_tree("src/cli/help.rs")).expect("the texts").lines() {
        if let Some(example) = line.strip_prefix("  ").filter(|line| !line.starts_with('#')) {
            seen += check("help", example.trim_end_matches("\";"), false);
        }
    }
    assert!(seen > 25, "{seen}");
}

#[test]
fn a_wrong_line_would_be_noticed() {
    let result = std::panic::catch_unwind(|| check("x", "a | sudo -u verdictd verdictd simulate --events 3 > b", true));
    assert!(result.is_err());
}
