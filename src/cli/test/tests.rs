//! Promises of `verdictd test`, on a bundle of one layer: score = 1/(1+exp(-(2a - b))).

use super::{file, report::Report, run};
use crate::cli::score::tests::bundle;
use std::path::Path;

/// A file of one case with these steps.
fn case(steps: &str) -> String {
    format!("[[case]]\nname = \"one\"\n{steps}")
}

fn report(text: &str) -> Report {
    let (_dir, bundle) = bundle();
    let cases = file::read(text.as_bytes(), bundle.features()).map_err(|faults| faults.join("\n")).unwrap();
    let mut report = Report::default();
    report.add(Path::new("x.test.toml"), run::run(&bundle, &cases).unwrap());
    report
}

/// What differs in the only case: the step, what, what was expected and what came.
fn differences(steps: &str) -> Vec<(u64, String, String, String)> {
    let json = report(&case(steps)).json();
    let list = json["files"][0]["cases"][0]["differences"].as_array().unwrap().clone();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    list.iter()
        .map(|one| (one["step"].as_u64().unwrap(), text(&one["what"]), text(&one["expected"]), text(&one["found"])))
        .collect()
}

fn faults(text: &str) -> Vec<String> {
    let (_dir, bundle) = bundle();
    file::read(text.as_bytes(), bundle.features()).err().unwrap_or_default()
}

#[test]
fn what_is_as_expected_holds() {
    let report = report(&case(
        "[[case.step]]\nevent = { a = 2, b = 1.0, time = 2026-05-01T10:00:00Z }\n\
         expect = { decision = \"block\", score = 0.9525741, reasons = [\"a\"], features = { a = 2, b = 1 } }\n\
         [[case.step]]\nevent = '{\"id\":7,\"a\":0}'\nexpect = { decision = \"allow\", reasons = [] }\n\
         [[case.step]]\nlabel = { id = \"1\", label = true }\n\
         [[case.step]]\nevent = { b = 1 }\nexpect = { decision = \"review\", score = nan, reasons = [\"a: missing\"] }\n\
         [[case.step]]\nevent = \"{\"\nexpect.problem = \"JSON\"\n",
    ));
    assert!(report.holds(), "{}", report.text(false));
    assert!(report.text(false).ends_with("  ok   one\n1 of 1 cases hold\n"), "{}", report.text(false));
}

#[test]
fn each_thing_that_differs_is_shown_with_its_step() {
    let found = differences(
        "[[case.step]]\nevent = { a = 2, b = 1 }\n\
         [[case.step]]\nevent = { a = 2, b = 1 }\n\
         expect = { decision = \"allow\", score = { value = 0.95, tolerance = 0.001 }, reasons = [], features = { a = 3, b = nan } }\n",
    );
    let expected = [
        ("decision", "allow", "block"),
        ("score", "0.95 ± 0.001", "0.95257413"),
        ("reasons", "[]", "[a]"),
        ("features.a", "3 ± 3e-6", "2"),
        ("features.b", "nan", "1"),
    ];
    let expected = expected.map(|(what, expected, found)| (2, what.to_owned(), expected.to_owned(), found.to_owned()));
    assert_eq!(found, expected);
}

#[test]
fn a_tolerance_is_as_wide_as_it_says() {
    let step = |tolerance: &str| {
        format!(
            "[[case.step]]\nevent = {{ a = 2, b = 1 }}\nexpect.score = {{ value = 0.95, tolerance = {tolerance} }}\n"
        )
    };
    assert_eq!(differences(&step("0.0026")), []);
    assert_eq!(differences(&step("0.0025")).len(), 1);
}

#[test]
fn a_record_that_is_no_event_fails_unless_that_was_expected() {
    assert_eq!(differences("[[case.step]]\nevent = \"{\"\n")[0].1, "problem");
    assert_eq!(differences("[[case.step]]\nevent = { a = 1 }\nexpect.problem = \"JSON\"\n")[0].3, "a verdict");
    assert_eq!(differences("[[case.step]]\nevent = \"\"\n")[0].1, "event");
}

#[test]
fn every_fault_is_said_with_what_is_known() {
    let found = faults(
        "events = 1\n[event]\nid = \"id\"\n[[case]]\nname = \"x\"\nstop = []\n[[case.step]]\nevnt = {}\n\
         [[case.step]]\nevent = {}\nexpect = { decisoin = \"allow\", score = \"high\", features = { c = 1 } }\n",
    );
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("event.id:") && found[1].contains("expected one of: event, case"), "{found:?}");
    let found = faults(
        "[[case]]\nname = \"x\"\nstop = []\n[[case.step]]\nevnt = {}\n\
         [[case.step]]\nevent = {}\nexpect = { decisoin = \"allow\", score = \"high\", features = { c = 1 } }\n\
         [[case]]\nname = \"x\"\n",
    );
    let known = [
        "case[0].stop: unknown key; expected one of: name, step",
        "case[0].step[0].event: expected an event or a label",
        "case[0].step[0].evnt: unknown key; expected one of: event, label, expect",
        "case[0].step[1].expect.score: expected a number or { value, tolerance }, found the text \"high\"",
        "case[0].step[1].expect.features.c: unknown feature; expected one of: a, b",
        "case[0].step[1].expect.decisoin: unknown key; expected one of: decision, problem, score, reasons, features",
        "case[1].step: expected at least one [[case.step]]",
        "case[1].name: a second case named \"x\"",
    ];
    assert_eq!(found, known);
    assert!(faults("[[case]").first().is_some_and(|fault| fault.starts_with("expected TOML")));
    assert_eq!(faults(""), ["case: expected at least one [[case]]"]);
}

#[test]
fn each_case_begins_with_nothing_seen_and_its_ids_are_its_own() {
    let text = "[[case]]\nname = \"one\"\n[[case.step]]\nevent = { a = 2 }\nexpect.decision = \"block\"\n\
                [[case]]\nname = \"two\"\n[[case.step]]\nevent = { a = 0 }\nexpect.decision = \"allow\"\n";
    let report = report(text);
    assert!(report.holds() && report.json()["cases"] == 2, "{}", report.text(false));
}

#[test]
fn colour_is_only_where_it_is_asked_for() {
    let report = report(&case("[[case.step]]\nevent = { a = 2 }\nexpect.decision = \"allow\"\n"));
    assert!(!report.holds());
    assert!(
        report.text(true).contains("\x1b[31m- allow\x1b[0m") && report.text(true).contains("\x1b[32m+ block\x1b[0m")
    );
    assert!(!report.text(false).contains('\x1b') && report.text(false).contains("- allow"));
}
