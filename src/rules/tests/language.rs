//! What an expression means.

use super::{holds, holds_of, rules};
use crate::features::{ColumnKind, Problems, Texts, read_features};
use crate::rules::RuleSet;
use std::path::Path;
use std::sync::Arc;

const EVENT: &str = r#"{"TX_AMOUNT": 250, "merchant": {"category": 5411}, "TX_DATETIME": "2026-01-04T23:30:00Z",
    "channel": "web", "chip": true, "n": 4, "m": "4", "half": 0.5, "nothing": null, "card": {"country": "DE"},
    "3ds": "Y", "a/b": 1, "score": 9, "text": "say \"it's\"", "o": {}, "same": "web"}"#;

fn all_hold(conditions: &[&str]) {
    for condition in conditions {
        assert!(holds(condition, EVENT), "{condition}");
    }
}

fn none_holds(conditions: &[&str]) {
    for condition in conditions {
        assert!(!holds(condition, EVENT), "{condition}");
    }
}

#[test]
fn a_feature_is_its_value_before_the_transforms() {
    all_hold(&[
        "TX_AMOUNT == 250",
        "MCC == \"5411\"",
        "MCC == 5411",
        "MCC in ['5411', '5812']",
        "AT_NIGHT == 0",
        "TRIES == 0",
        "has(TRIES)",
    ]);
    none_holds(&["TX_AMOUNT < 250", "MCC == '5812'", "AT_NIGHT == 1"]);
    assert!(holds("AT_NIGHT == 1 and TRIES == 3", r#"{"TX_DATETIME": 3600, "pin": {"tries": 3}}"#));
}

#[test]
fn any_field_can_be_read() {
    all_hold(&[
        "channel == 'web'",
        "chip",
        "chip == true",
        "field(\"/card/country\") == \"DE\"",
        "`3ds` == 'Y'",
        "`a/b` == 1",
        "`score` == 9",
        "text == 'say \"it''s\"'",
        "text == \"say \"\"it's\"\"\"",
        "source == 'pos'",
        "channel == same",
        "channel != n",
    ]);
    none_holds(&["not chip", "card == 'DE'", "field(\"/card/city\") == 'Bonn'", "channel == n"]);
}

#[test]
fn operators_bind_as_everywhere() {
    all_hold(&[
        "1 + 2 * 3 == 7",
        "(1 + 2) * 3 == 9",
        "10 - 2 - 3 == 5",
        "12 / 2 / 3 == 2",
        "-n * -2 == 8",
        "- -n == 4",
        "true or false and false",
        "not false and true",
        "not n > 5",
        "!(n > 5) && !(n < 1) || false",
        "n * 0.5e1 >= 20",
        "channel < 'x' and channel >= 'web'",
        "n in [1, -2, 4] and n not in [5]",
        "(n > 3) == (n > 2)",
    ]);
    none_holds(&["not (true or false)", "1 == 2", "channel not in ['web']"]);
}

#[test]
fn functions_compute_as_their_names_say() {
    all_hold(&[
        "min(3, n, 5) == 3 and max(3, n) == 4",
        "abs(-n) == 4 and abs(n - 5) == 1",
        "log1p(0) == 0",
        "floor(half) == 0 and ceil(half) == 1 and floor(-half) == -1",
        "default(n, 7) == 4 and default(absent, 7) == 7 and default(1 / 0, 7) == 7",
        "length(channel) == 3 and length(`3ds`) == 1",
        "starts_with(channel, 'we') and ends_with(channel, 'eb') and contains(channel, 'e')",
        "has(channel) and not has(absent) and not has(nothing) and has(o)",
    ]);
}

#[test]
fn what_is_missing_makes_a_comparison_false() {
    for missing in
        ["absent", "nothing", "o", "channel", "1 / 0", "0 / 0", "n / (n - 4)", "1e308 * 10", "log1p(-2)", "score"]
    {
        for operator in ["<", "<=", ">", ">=", "==", "!="] {
            assert!(!holds(&format!("{missing} {operator} 3"), EVENT), "{missing} {operator}");
            assert!(!holds(&format!("3 {operator} 1 + {missing}"), EVENT), "{missing} {operator}");
            assert!(!holds(&format!("min(1, {missing}) {operator} max({missing}, 1)"), EVENT), "{missing}");
        }
        assert!(!holds(&format!("{missing} in [3]"), EVENT), "{missing}");
        assert!(!holds(&format!("{missing} not in [3]"), EVENT), "{missing}");
        assert!(holds(&format!("not ({missing} > 3)"), EVENT), "{missing}");
    }
    none_holds(&[
        "absent",
        "absent == true",
        "absent != true",
        "absent == other",
        "absent != other",
        "absent != 'a'",
        "absent < 'a'",
        "absent in ['a']",
        "absent not in ['a']",
        "starts_with(absent, '')",
        "length(absent) >= 0",
        "key == 'a' or key != 'a'",
        "1 / (1 / 0) == 0",
    ]);
    all_hold(&["not absent", "not starts_with(absent, 'a')"]);
}

#[test]
fn a_text_never_is_a_number_but_a_whole_number_has_digits() {
    all_hold(&["n == '4'", "m == '4'", "n in ['4']", "starts_with(MCC, '54')", "chip + 1 == 2", "chip == 'true'"]);
    none_holds(&["m == 4", "half == '0.5'", "n == true"]);
}

#[test]
fn score_and_key_are_the_events_own() {
    let scored = |case: &mut super::Case| {
        case.score = Some(0.75);
        case.key = Some("3961".to_owned());
    };
    assert!(holds_of("score >= 0.75 and key == '3961'", EVENT, scored));
    assert!(!holds_of("score < 0.75 or key == '3962'", EVENT, scored));
    assert!(rules(&["n > 1", "score > 1"]).0.wants_score());
    assert!(!rules(&["n > 1", "`score` > 1"]).0.wants_score());
}

/// A feature without steps is a text where the model takes one, which is known when the model is.
#[test]
fn what_the_model_takes_settles_what_a_plain_feature_is() {
    let table: toml::Table =
        "[[feature]]\nname = \"A\"\nfrom = \"/a\"\n[[feature]]\nname = \"B\"\nfrom = \"/b\"".parse().unwrap();
    let mut problems = Problems::default();
    let mut features = read_features(table["feature"].as_array().unwrap(), &mut problems);
    let rule = |when: &str| [toml::Value::Table(format!("when = {when:?}\ndecision = \"block\"").parse().unwrap())];
    let read = |when: &str| RuleSet::read(&[], &rule(when), Path::new(""), &features, &mut Problems::default());
    let (right, wrong) = (read("A == 'x' and B > 1 and has(A)"), read("B > 1 or A > 2 or B == 2"));
    let other = read("B in ['x']");
    let texts = ColumnKind::Text(Arc::new(Texts::default()));
    features.bind(&[texts], &mut problems);
    for set in [&right, &wrong, &other] {
        set.check(&features, &mut problems);
    }
    let found: Vec<String> = problems.0.iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "rule[0].when: line 1, column 10: expected a number, found A, where the model takes texts",
            "rule[0].when: line 1, column 1: expected a text, found B, where the model takes numbers",
        ]
    );
}

#[test]
fn a_slip_in_a_features_name_is_noted_though_it_may_be_a_field() {
    let (set, problems) = rules(&["n > 1", "TX_AMUONT > 200 and channel == 'web'"]);
    assert!(problems.is_empty());
    assert_eq!(
        set.notes(),
        ["rule[1].when: TX_AMUONT is no feature, so the event's field of that name is read; did you mean TX_AMOUNT?"]
    );
    assert!(rules(&["field(\"/TX_AMUONT\") > 200"]).0.notes().is_empty());
}
