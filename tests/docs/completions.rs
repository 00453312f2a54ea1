//! Shell completions, made of the definitions of the commands.

use super::{are_all, is_current};
use clap_complete::{Shell, generate};
use std::process::{Command, Stdio};

const FOLDER: &str = "packaging/completions";
/// A file a shell, under the name that the shell looks for.
const FILES: [(Shell, &str); 3] =
    [(Shell::Bash, "verdictd"), (Shell::Zsh, "_verdictd"), (Shell::Fish, "verdictd.fish")];

/// The command without hidden commands, which the generators would offer all the same.
fn visible(command: &clap::Command) -> clap::Command {
    let about = command.get_about().cloned().unwrap_or_default();
    let args = command.get_arguments().cloned();
    let subs = command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(visible);
    // Names live as long as the test's process: clap takes no shorter ones.
    let shown = clap::Command::new(&*command.get_name().to_owned().leak()).about(about).args(args).subcommands(subs);
    match command.get_version() {
        Some(version) => shown.version(&*version.to_owned().leak()),
        None => shown,
    }
}

#[test]
fn the_completions_are_those_of_the_commands() {
    for (shell, name) in FILES {
        let mut bytes = Vec::new();
        generate(shell, &mut visible(&verdictd::cli::command()), "verdictd", &mut bytes);
        is_current(&format!("{FOLDER}/{name}"), &String::from_utf8(bytes).expect("UTF-8"));
    }
    are_all(FOLDER, &FILES.map(|(_, name)| name.to_owned()));
}

/// What bash offers at the end of a line, in a folder with `site.toml` and `events.ndjson`.
fn offered(line: &str) -> Vec<String> {
    const SCRIPT: &str = r#"
source "$1"
read -ra COMP_WORDS <<<"$2"
[[ "$2" == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
COMP_LINE=$2
COMP_POINT=${#COMP_LINE}
compopt() { :; }
_verdictd verdictd "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["site.toml", "events.ndjson"] {
        std::fs::write(folder.path().join(name), "").expect("a file");
    }
    let file = super::in_tree(FOLDER).join("verdictd");
    let done = Command::new("bash")
        .args(["--norc", "--noprofile", "-c", SCRIPT, "bash"])
        .arg(file)
        .arg(line)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .expect("bash");
    assert!(done.status.success() && done.stderr.is_empty(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8(done.stdout).expect("UTF-8");
    text.lines().filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_values_and_files() {
    let has = |line: &str, words: &[&str]| {
        let offered = offered(line);
        for word in words {
            assert!(offered.iter().any(|offer| offer == word), "{line:?}: {word} is not in {offered:?}");
        }
    };
    assert_eq!(offered("verdictd qu"), ["quarantine"]);
    assert_eq!(offered("verdictd quarantine sh"), ["show"]);
    has("verdictd ", &["run", "check", "init", "status", "store", "model"]);
    has("verdictd check --", &["--config", "--json"]);
    has("verdictd check --config ", &["site.toml", "events.ndjson"]);
    assert_eq!(offered("verdictd check --config si"), ["site.toml"]);
    has("verdictd init --source ", verdictd::config::SOURCE_TYPES);
    assert_eq!(offered("verdictd init --sink ka"), ["kafka"]);
    assert!(!offered("verdictd ").iter().any(|word| word == "bench-floor"), "what is hidden is not offered");
}
