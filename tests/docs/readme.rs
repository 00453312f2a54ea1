//! What the README says is what the program does.

use super::read;
use super::support::bundle;
use super::support::daemon::{Daemon, verdictd};
use super::support::site::Site;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use verdictd::model::Manifest;

/// The contents of every fenced block of a language, `toml`, say.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let begin = format!("```{language}\n");
    let blocks = text.split(&begin).skip(1).map(|rest| rest.split("```").next().unwrap_or_default().to_owned());
    blocks.collect()
}

/// The cells of the table rows that begin with `name` as code.
fn row<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find(|line| line.starts_with(&format!("| `{name}` |")))
}

#[test]
fn every_metric_and_label_is_in_the_readme_and_none_else() {
    let readme = read("README.md");
    let mut site = Site::new();
    let bundle = format!("{:?}", site.bundle().display().to_string());
    site.set("model.shadow", &bundle);
    bundle::add_window(&site.bundle());
    let daemon = Daemon::start(&site);
    let event = r#"{"id":"1","amount":5}"#;
    assert_eq!(daemon.client().post("application/json", event).expect("an answer").status, 200);
    let page = daemon.admin("/metrics").text();
    let mut exposed = BTreeSet::new();
    for line in page.lines() {
        let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) else { continue };
        let suffix = match kind {
            "counter" => "_total",
            "info" => "_info",
            _ => "",
        };
        let name = format!("{name}{suffix}");
        let row = row(&readme, &name).unwrap_or_else(|| panic!("{name} is not in the README"));
        for sample in page.lines().filter(|line| line.starts_with(&format!("{name}{{"))) {
            let labels = &sample[name.len() + 1..sample.rfind('}').expect("the labels' end")];
            for label in labels.split("\",").filter_map(|pair| pair.split_once('=')) {
                assert!(row.contains(&format!("`{}`", label.0)), "{name}: the label {} is not there", label.0);
            }
        }
        exposed.insert(name);
    }
    for line in readme.lines() {
        if let Some(rest) = line.strip_prefix("| `verdictd_") {
            let name = format!("verdictd_{}", rest.split('`').next().unwrap_or_default());
            assert!(exposed.contains(&name), "{name} is in the README and not exposed");
        }
    }
    assert!(daemon.stop().success());
}

#[test]
fn every_command_is_in_the_readme() {
    let readme = read("README.md");
    let site = Site::new();
    let names = |arguments: &[&str]| -> Vec<String> {
        let help = verdictd(&site, arguments).stdout;
        let listed = help.split("Commands:\n").nth(1).unwrap_or_default().split("\n\n").next().unwrap_or_default();
        let first = listed.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        first.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).filter(|n| n != "help").collect()
    };
    let commands = names(&["--help"]);
    assert!(commands.len() > 9, "{commands:?}");
    for command in commands {
        let row = row(&readme, &format!("verdictd {command}"));
        let row = row.unwrap_or_else(|| panic!("verdictd {command} is not in the README"));
        for sub in names(&[&command, "--help"]) {
            assert!(row.contains(&format!("`{sub}")), "verdictd {command} {sub} is not in the README");
        }
    }
}

#[test]
fn every_exit_code_is_in_the_readme() {
    let readme = read("README.md");
    let source = read("src/cli/failure.rs");
    let body = source.split("pub enum ExitCode {").nth(1).and_then(|rest| rest.split('}').next()).expect("the enum");
    let codes: Vec<&str> =
        body.lines().filter_map(|line| line.split(" = ").nth(1)).map(|code| code.trim_end_matches(',')).collect();
    assert_eq!(codes.len(), 7);
    for code in codes {
        assert!(readme.contains(&format!("\n| {code} |")), "the exit code {code} is not in the README");
    }
}

#[test]
fn every_problem_is_in_the_readme() {
    let readme = read("README.md");
    let source = read("src/ingest/problem.rs");
    let body = |name: &str| {
        source.split(name).nth(1).and_then(|rest| rest.split("    }\n").next()).expect("the function").to_owned()
    };
    let pairs = |text: String| -> Vec<(String, String)> {
        let pairs = text.lines().filter_map(|line| {
            line.trim()
                .strip_prefix("Self::")?
                .split_once(" => ")
                .map(|(a, b)| (a.to_owned(), b.trim_end_matches(',').trim_matches('"').to_owned()))
        });
        pairs.collect()
    };
    let names = pairs(body("pub fn name("));
    let statuses = pairs(body("pub fn status("));
    assert!(names.len() > 9);
    for (kind, name) in names {
        let status = &statuses.iter().find(|(other, _)| *other == kind).expect("a status").1;
        assert!(readme.contains(&format!("\n| {status} | `{name}` |")), "{status} {name} is not in the README");
    }
}

#[test]
fn every_whole_config_of_the_readme_checks_clean() {
    let mut checked = 0;
    for block in blocks(&read("README.md"), "toml").iter().filter(|block| block.contains("state-dir")) {
        let site = Site::new();
        let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/card-fraud");
        let text = block
            .replace("/tmp/tour", &site.path().display().to_string())
            .replace("bundle = \"card-fraud\"", &format!("bundle = {:?}", models.display().to_string()));
        std::fs::write(site.path().join("readme.toml"), text).expect("a private copy");
        let done = verdictd(&site, &["check", "--config", "readme.toml"]);
        assert_eq!((done.status.code(), done.stderr.as_str()), (Some(0), ""), "{block}");
        checked += 1;
    }
    assert!(checked > 0);
}

#[test]
fn every_manifest_of_the_readme_is_one() {
    let manifests = blocks(&read("README.md"), "toml").into_iter().filter(|block| block.contains("[decision]"));
    let parsed = manifests.map(|text| Manifest::parse(&text, Path::new("README.md")).map(|manifest| manifest.label()));
    assert_eq!(parsed.collect::<Result<Vec<_>, _>>().expect("a manifest"), ["card-fraud@2026.1"]);
}

#[test]
fn every_transform_is_in_the_readme() {
    let readme = read("README.md");
    let head = read("src/features/mod.rs");
    let steps = head.lines().filter_map(|line| line.strip_prefix("//! | `")).filter_map(|line| line.split(' ').next());
    let steps: Vec<&str> = steps.collect();
    assert!(steps.len() > 8, "{steps:?}");
    for step in steps {
        assert!(readme.contains(&format!("`{{ {step} =")), "{step} is not in the README");
    }
}

#[test]
fn every_verdict_of_the_readme_has_the_members_that_it_lists() {
    let readme = read("README.md");
    let shown = blocks(&readme, "json");
    assert!(!shown.is_empty());
    let lines = readme.lines().filter(|line| line.starts_with("{\"source\""));
    for line in shown.iter().map(String::as_str).chain(lines) {
        let verdict: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let members = verdict.as_object().expect("an object");
        for name in ["source", "id", "time", "decision", "score", "reasons", "model", "model-sha256"] {
            assert!(members.contains_key(name), "{name} is missing: {line}");
        }
        for name in members.keys() {
            let listed = readme.lines().any(|row| {
                row.strip_prefix("| ")
                    .and_then(|row| row.split(" | ").next())
                    .is_some_and(|cell| cell.split(", ").any(|part| part == format!("`{name}`")))
            });
            assert!(listed, "the member {name} is not in the README");
        }
    }
}

#[test]
fn the_verdict_of_the_tour_is_that_of_the_shipped_model() {
    let readme = read("README.md");
    let event = readme.lines().find(|line| line.starts_with("{\"TRANSACTION_ID\":\"288063\"")).expect("the event");
    let shown =
        readme.lines().find(|line| line.starts_with("{\"source\":\"pos\",\"id\":\"288063\"")).expect("its verdict");
    let shown: Value = serde_json::from_str(shown).expect("JSON");
    let site = Site::new();
    std::fs::write(site.path().join("event.ndjson"), event).expect("a file");
    let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/card-fraud").display().to_string();
    let done = verdictd(
        &site,
        &[
            "score",
            "--bundle",
            &bundle,
            "--id",
            "/TRANSACTION_ID",
            "--key",
            "/CUSTOMER_ID",
            "--time",
            "/TX_DATETIME",
            "event.ndjson",
        ],
    );
    let scored: Value = serde_json::from_str(&done.stdout).expect("one verdict");
    for member in ["id", "key", "time", "decision", "reasons", "model", "model-sha256"] {
        assert_eq!(scored[member], shown[member], "{member}");
    }
    let difference = scored["score"].as_f64().unwrap() - shown["score"].as_f64().unwrap();
    assert!(difference.abs() < 1e-6, "{} is not {}", scored["score"], shown["score"]);
}

#[test]
fn every_file_that_the_readme_links_to_is_there() {
    let readme = read("README.md");
    let targets = readme.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    for target in targets.filter(|target| !target.starts_with('#') && !target.contains("://")) {
        let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
        assert!(super::in_tree(file).exists(), "{target} is not there");
        let heads = || read(file).lines().filter(|line| line.starts_with('#')).map(super::anchor).collect::<Vec<_>>();
        assert!(anchor.is_empty() || heads().contains(&format!("#{anchor}")), "{target} is no section");
    }
    let anchors: BTreeSet<String> = readme.lines().filter(|line| line.starts_with("##")).map(super::anchor).collect();
    for target in readme.split("](#").skip(1).filter_map(|rest| rest.split(')').next()) {
        assert!(anchors.contains(&format!("#{target}")), "#{target} is no section");
    }
}

#[test]
fn simulated_days_are_the_same_each_time_and_can_be_skipped() {
    let site = Site::new();
    let run = |arguments: &[&str]| {
        let done = verdictd(&site, &[&["simulate", "--seed", "3"], arguments].concat());
        assert_eq!(done.status.code(), Some(0), "{done:?}");
        done.stdout
    };
    let two = run(&["--days", "2"]);
    let second = run(&["--days", "1", "--skip-days", "1"]);
    assert!(!second.is_empty() && two.ends_with(&second) && two.len() > second.len());
    assert!(run(&["--days", "1", "--labels"]).contains("\"TX_FRAUD_SCENARIO\":"));
    let wrong = verdictd(&site, &["simulate", "--seed", "3", "--days", "2", "--skip-days", "3650"]);
    assert_eq!(wrong.status.code(), Some(64));
}
