//! `verdictd test`: cases beside a bundle hold or are shown, and the exit code says which.

use crate::support::daemon::verdictd;
use crate::support::site::Site;
use serde_json::Value;

const HOLDS: &str = r#"
event = { id = "/no", key = "/card" }

[[case]]
name = "a thousand is blocked"
[[case.step]]
event = { no = 1, card = "A", amount = 1000, time = 2026-05-01T10:00:00Z }
expect = { decision = "block", score = { value = 0.9933, tolerance = 0.001 }, reasons = ["amount"], features.amount = 1000 }
[[case.step]]
label = { id = "1", label = 1 }
[[case.step]]
event = '{"no":2,"card":"A","amount":20}'
expect.decision = "allow"
"#;

fn site(cases: &str) -> Site {
    let site = Site::new();
    std::fs::write(site.bundle().join("amounts.test.toml"), cases).unwrap();
    site
}

#[test]
fn cases_that_hold_end_with_0_from_wherever_they_are_asked_for() {
    let site = site(HOLDS);
    let file = site.bundle().join("amounts.test.toml");
    let (bundle, file) = (site.bundle().display().to_string(), file.display().to_string());
    for arguments in [&["test", "--bundle", &bundle][..], &["test", &file], &["test", "--bundle", &bundle, &file]] {
        let done = verdictd(&site, arguments);
        assert_eq!(done.status.code(), Some(0), "{done:?}");
        assert_eq!(done.stdout, format!("{file}\n  ok   a thousand is blocked\n1 of 1 cases hold\n"));
    }
}

#[test]
fn a_case_that_does_not_hold_is_shown_and_ends_with_1() {
    let site = site(&HOLDS.replace("decision = \"allow\"", "decision = \"review\""));
    let bundle = site.bundle().display().to_string();
    let done = verdictd(&site, &["test", "--bundle", &bundle]);
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    // Not a terminal: no colour.
    let shown =
        "  FAIL a thousand is blocked\n       step 3: decision\n       - review\n       + allow\n0 of 1 cases hold\n";
    assert!(done.stdout.ends_with(shown), "{}", done.stdout);
    let done = verdictd(&site, &["test", "--json", "--bundle", &bundle]);
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    let json: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!((&json["ok"], &json["cases"], &json["failed"]), (&false.into(), &1.into(), &1.into()));
    let difference = &json["files"][0]["cases"][0]["differences"][0];
    assert_eq!((&difference["step"], &difference["found"]), (&3.into(), &"allow".into()));
}

#[test]
fn a_file_of_cases_that_cannot_be_read_says_what_is_known_and_ends_with_1() {
    let site = site(&HOLDS.replace("reasons", "reason").replace("features.amount", "features.amuont"));
    let done = verdictd(&site, &["test", "--bundle", &site.bundle().display().to_string()]);
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    for part in ["expect.reason: unknown key; expected one of: decision", "expect.features.amuont: unknown feature"] {
        assert!(done.stderr.contains(part), "{}", done.stderr);
    }
}

#[test]
fn no_cases_and_no_bundle_are_no_success() {
    let site = Site::new();
    let done = verdictd(&site, &["test", "--bundle", &site.bundle().display().to_string()]);
    assert_eq!(done.status.code(), Some(64), "{done:?}");
    assert!(done.stderr.contains("*.test.toml"), "{}", done.stderr);
    let done = verdictd(&site, &["test", "x.test.toml"]);
    assert_eq!(done.status.code(), Some(1), "{done:?}");
}

#[test]
fn a_window_counts_the_steps_of_its_case_and_their_labels() {
    let site = site(
        r#"
[[case]]
name = "the count of a day, and what became known"
[[case.step]]
event = { id = "a", card = "A", amount = 1, time = 2026-05-01T10:00:00Z }
expect.features = { count = 1, risk = 0 }
[[case.step]]
label = { id = "a", label = 1 }
[[case.step]]
event = { id = "b", card = "A", amount = 1, time = 2026-05-01T11:00:00Z }
expect.features = { count = 2, risk = 0.5 }
[[case.step]]
event = { id = "c", card = "B", amount = 1, time = 2026-05-01T11:00:00Z }
expect.features = { count = 1, risk = 0 }
[[case.step]]
event = { id = "d", card = "A", amount = 1, time = 2026-05-02T10:00:00Z }
expect.features = { count = 2, risk = 0 }
"#,
    );
    crate::support::bundle::write_counting(&site.bundle());
    let done = verdictd(&site, &["test", "--bundle", &site.bundle().display().to_string()]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
}
