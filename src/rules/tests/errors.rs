//! What an error says: where, what was expected, what was found.

use super::{read_in, rules, rules_in};
use std::fs;
use std::path::Path;

fn error(condition: &str) -> String {
    let (set, problems) = rules(&[condition]);
    assert_eq!(problems.len(), 1, "{condition}: {problems:?}");
    assert!(set.is_empty(), "what is wrong is not in force");
    problems[0].strip_prefix("rule[0].when: ").unwrap().to_owned()
}

fn refused(all: &[(&str, &str)]) {
    for (condition, expected) in all {
        let found = error(condition);
        assert!(found.starts_with(expected), "{condition}\n expected: {expected}\n found:    {found}");
    }
}

#[test]
fn a_slip_is_told_with_its_place() {
    refused(&[
        ("", "line 1, column 1: expected a value: a number, a text, a name or (, found the end"),
        ("n > ", "line 1, column 5: expected a value"),
        ("n >\n  > 5", "line 2, column 3: expected a value: a number, a text, a name or (, found \">\""),
        ("n = 5", "line 1, column 3: expected ==, found a single ="),
        ("n & m", "line 1, column 3: expected and (or &&), found a single &"),
        ("a | b", "line 1, column 3: expected or (or ||), found a single |"),
        (
            "a.b > 1",
            "line 1, column 2: expected a value, found \".\"; a number begins with a digit, and a field that lies",
        ),
        ("n > 5 AND m", "line 1, column 7: expected an operator or the end, found AND; did you mean and?"),
        ("n > 5 m", "line 1, column 7: expected an operator or the end, found m"),
        ("(n > 5", "line 1, column 7: expected an operator or \")\", found the end"),
        ("n > 5)", "line 1, column 6: expected an operator or the end, found \")\""),
        ("1 < n < 5", "line 1, column 7: expected one comparison (a < b < c is written a < b and b < c), found \"<\""),
        ("n is 5", "line 1, column 3: expected an operator or the end, found is; did you mean in?"),
        ("n not 5", "line 1, column 7: expected in after not, found 5.0"),
        ("n > 3ds", "line 1, column 6: expected the end of the number 3, found 'd'; a name that begins with a digit"),
        ("n > 1.2.3", "line 1, column 8: expected the end of the number 1.2, found '.'"),
        ("n > 1e999", "line 1, column 5: expected a number up to 1.8e308, found 1e999"),
        ("n == 'web", "line 1, column 6: expected a closing ' for the one that opens here, found the end"),
        ("n % 2 == 0", "line 1, column 3: expected a value or an operator, found '%'"),
        ("n in [1, ]", "line 1, column 10: expected a number, a text, true or false, found \"]\""),
        ("n in [1 2]", "line 1, column 9: expected \",\" or \"]\", found 2.0"),
        ("n in [m]", "line 1, column 7: expected a number, a text, true or false, found m"),
        ("n in [-'a']", "line 1, column 8: expected a number after -, found the text \"a\""),
        (
            "n in 5",
            "line 1, column 6: expected the name of a list, or values in brackets as in [\"a\", \"b\"], found 5.0",
        ),
        (
            "n in known-good",
            "line 1, column 11: expected the name of a list, and then and, or or the end, found \"-\"; other names stand in back-quotes",
        ),
        ("`` > 5", "line 1, column 1: expected a value: a number, a text, a name or (, found ``"),
        ("and", "line 1, column 1: expected a value"),
        ("field == 1", "line 1, column 1: expected a JSON pointer after field, as in field(\"/card/country\")"),
        (
            "field(a) == 1",
            "line 1, column 7: expected a JSON pointer in quotes, as in field(\"/card/country\"), found a",
        ),
        ("field('a') == 1", "line 1, column 7: a JSON pointer starts with \"/\""),
    ]);
}

#[test]
fn a_call_that_cannot_be_is_told_with_what_there_is() {
    refused(&[
        (
            "mni(n, 1) > 1",
            "line 1, column 1: expected a function (field, has, default, min, max, abs, log1p, floor, ceil, length, starts_with, ends_with, contains), found mni; did you mean min?",
        ),
        ("min(n) > 1", "line 1, column 1: expected 2 to 16 values in min(…), found 1"),
        ("abs() > 1", "line 1, column 1: expected 1 value in abs(…), found 0"),
        ("abs(1, 2) > 1", "line 1, column 1: expected 1 value in abs(…), found 2"),
        ("default(1) > 1", "line 1, column 1: expected 2 values in default(…), found 1"),
        ("abs(n > 1", "line 1, column 10: expected \",\" or \")\", found the end"),
        ("has(n + 1)", "line 1, column 5: expected a name or field(\"/…\") in has(…), found n + 1"),
    ]);
}

#[test]
fn a_conflict_of_types_is_told_with_both_places() {
    refused(&[
        ("n + 1", "line 1, column 1: expected true or false, found a number"),
        ("'a'", "line 1, column 1: expected true or false, found the text \"a\""),
        (
            "TX_AMOUNT",
            "line 1, column 1: expected true or false, found TX_AMOUNT, which is a number; a flag of 0 and 1 is compared, as in FLAG == 1",
        ),
        ("TX_AMOUNT == '5'", "line 1, column 14: expected a number, found the text \"5\"; a number has no quotes"),
        ("n > 5 and\n  n == 'web'", "line 2, column 8: expected a number, found the text \"web\""),
        ("n == 'web' or n > 5", "line 1, column 19: expected a text, found 5"),
        (
            "n == 'web' or n + 1 > 5",
            "line 1, column 15: expected a number, found n, which is a text by its use at line 1, column 1",
        ),
        ("n and n > 5", "line 1, column 11: expected true or false, found 5"),
        ("n > m and m == 'a'", "line 1, column 16: expected a number, found the text \"a\""),
        ("n == m and m == 'a' and n > 3", "line 1, column 29: expected a text, found 3"),
        ("1 + (n > 1) > 2", "line 1, column 6: expected a number, found true or false"),
        ("-'a' > 1", "line 1, column 2: expected a number, found the text \"a\""),
        ("not n > 1 + key", "line 1, column 13: expected a number, found key, which is a text"),
        (
            "(n > 1) > (m > 2)",
            "line 1, column 2: expected a number or a text before >, found true or false, which has no order",
        ),
        ("score in ['a']", "line 1, column 11: expected a number, found the text \"a\""),
        ("n in [1, 'a']", "line 1, column 10: expected a number, found the text \"a\""),
        ("n in [true]", "line 1, column 7: expected a number or a text, found true"),
        ("starts_with(n, 5)", "line 1, column 16: expected a text, found 5"),
        ("length(TX_AMOUNT) > 5", "line 1, column 8: expected a text, found TX_AMOUNT, which is a number"),
        ("n in stolen", "line 1, column 6: expected the name of a [[list]] (there is none), found stolen"),
    ]);
}

#[test]
fn a_rule_and_a_list_say_what_they_lack() {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in [("a.txt", "1\n"), ("bad.txt", "a\nb\0\n"), ("long.txt", &"x".repeat(2_000))] {
        fs::write(dir.path().join(name), text).unwrap();
    }
    let (set, problems) = read_in(
        dir.path(),
        r#"
list = [
    { name = "a", file = "a.txt" },
    { name = "a", file = "a.txt", decision = "block" },
    { file = "a.txt", extra = 1 },
    { name = "b", file = "none.txt" },
    { name = "c", file = "bad.txt" },
    { name = "d", file = "long.txt" },
    { name = "e", file = "a.txt", key = "/k" },
    { name = "f", file = "a.txt", key = "k", decision = "" },
    { name = "g", file = "." },
    5,
]
rule = [
    { when = "n in aa", decision = "block" },
    { decision = "block" },
    { when = "n > 1" },
    { when = "n > 1", decision = "block", reason = "r", then = 1 },
    { when = "n > 2", decision = "block", reason = "r" },
    { when = "n > 3", decision = "block", reason = "rule-7" },
    { when = "n > 4", decision = "block" },
    "n > 5",
]"#,
    );
    let shown = |name: &str| dir.path().join(name).display().to_string();
    let expected = [
        "list[9]: expected a table, found 5".to_owned(),
        "list[1].name: a second list named \"a\"".to_owned(),
        "list[2].name: expected a text, found nothing".to_owned(),
        "list[2].extra: unknown key; expected one of: name, file, key, decision, reason".to_owned(),
        format!("list[3].file: {}: No such file or directory (os error 2)", shown("none.txt")),
        format!("list[4].file: {}: line 2: expected a key, found a control character", shown("bad.txt")),
        format!("list[5].file: {}: line 1: expected a key of at most 1024 bytes", shown("long.txt")),
        "list[6].key: expected a decision beside it: without one a list is for rules and features".to_owned(),
        "list[7].key: a JSON pointer starts with".to_owned(),
        "list[7].decision: expected 1 to 64 bytes without control characters, found 0".to_owned(),
        format!("list[8].file: {}: expected a regular file", shown(".")),
        "rule[7]: expected a table, found the text".to_owned(),
        "rule[0].when: line 1, column 6: expected the name of a [[list]] (a, a, e, f), found aa; did you mean a?"
            .to_owned(),
        "rule[1].when: expected a text, found nothing".to_owned(),
        "rule[2].decision: expected a text, found nothing".to_owned(),
        "rule[3].then: unknown key; expected one of: when, decision, reason".to_owned(),
        "rule[4].reason: a second rule with the reason \"r\"".to_owned(),
        "rule[6].reason: a second rule with the reason \"rule-7\"".to_owned(),
    ];
    for (problem, expected) in problems.iter().zip(&expected) {
        assert!(problem.starts_with(expected), "expected: {expected}\n found:    {problem}");
    }
    assert_eq!(problems.len(), expected.len(), "{problems:#?}");
    assert_eq!(set.counts().1, 4);
}

#[test]
fn what_is_too_much_is_refused() {
    let long = format!("n == '{}'", "x".repeat(4_096));
    assert_eq!(error(&long), "line 1, column 4097: expected at most 4096 bytes, found 4103");
    for (open, close) in [("(", ")"), ("not (", ")"), ("- (", ")"), ("not ", ""), ("abs(", ")"), ("--", "")] {
        let (before, after) = (open.repeat(200), close.repeat(200));
        let deep = format!("{before}n{after}");
        assert!(error(&deep).contains("expected at most 32 levels, found one more"), "{open}: {}", error(&deep));
    }
    // A chain is no nesting.
    assert!(rules(&[&format!("n > 1{}", " and n > 1".repeat(400))]).1.is_empty());
    assert!(rules(&[&format!("1{} > 1", " + n".repeat(1_000))]).1.is_empty());
    // Nesting does not multiply the work.
    let nested = format!("{}n{}", "(m == ".repeat(31), ")".repeat(31));
    let (_, problems) = rules(&[&nested]);
    assert!(problems.len() <= 1, "{problems:?}");
    let many: Vec<&str> = vec!["n > 1"; 257];
    assert_eq!(rules_in(Path::new(""), "", &many).1, ["rule: expected at most 256, found 257"]);
}
