//! How windows are declared, and what several bundles share.

use super::*;

fn problems(window: &str) -> Vec<String> {
    let (_, problems) = read(&declare(&[window]));
    problems.into_iter().map(|problem| problem.replace("feature[0].", "")).collect()
}

#[test]
fn every_problem_names_its_key_what_was_expected_and_what_was_found() {
    let expected = [
        "window.count: expected exactly one of count, sum, mean, min, max, std, distinct, since-last, ratio, first-seen, \
         label-sum, label-mean; found count, sum",
        "window.key[1]: expected a JSON pointer, as in \"/TX_AMOUNT\", found 5",
        "window.over: expected 1 s to 400 d, found \"401 d\"",
        "window.delay: expected a duration with its unit, as in \"7 d\" or \"90 s\" (ms, s, min, h, d), found 7",
        "window.equals: expected feature[0].window.where = \"/FIELD\" beside it, found none",
        "window.until: unknown key; expected one of: count, sum, mean, min, max, std, distinct, since-last, ratio, \
         first-seen, label-sum, label-mean, key, over, delay, where, equals, in, resolution",
    ];
    let found = problems(
        "{ count = true, sum = \"/a\", key = [\"/a\", 5], over = \"401 d\", delay = 7, equals = 1, until = \"x\" }",
    );
    for (found, expected) in found.iter().zip(expected) {
        assert!(found == expected || found == &expected.replace("feature[0].", ""), "{found}");
    }
    assert_eq!(found.len(), expected.len(), "{found:?}");
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = [
        ("{ key = \"/a\", over = \"1 d\" }", "window.count: expected exactly one of"),
        ("{ count = false, key = \"/a\", over = \"1 d\" }", "window.count: expected true, found false"),
        ("{ count = true, over = \"1 d\" }", "window.key: expected a JSON pointer or a list of 1 to 4, found nothing"),
        (
            "{ count = true, key = [], over = \"1 d\" }",
            "window.key: expected a JSON pointer or a list of 1 to 4, found a list of 0",
        ),
        (
            "{ count = true, key = [\"/a\", \"/a\"], over = \"1 d\" }",
            "window.key: expected each field once, found /a twice",
        ),
        ("{ count = true, key = \"/a\", over = \"1 days\" }", "window.over: expected a duration"),
        ("{ count = true, key = \"/a\" }", "window.over: expected a duration"),
        (
            "{ count = true, key = \"/a\", over = \"1 d\", where = \"/b\" }",
            "window.where: expected equals = VALUE or in = [VALUE, …] beside it, found neither",
        ),
        (
            "{ count = true, key = \"/a\", over = \"1 d\", where = \"/b\", in = [] }",
            "window.in: expected a list of 1 to 256 values, found a list of 0",
        ),
        (
            "{ count = true, key = \"/a\", over = \"1 d\", where = \"/b\", equals = 1.5 }",
            "window.equals: expected a text, a whole number or a boolean, found 1.5",
        ),
        (
            "{ count = true, key = \"/a\", over = \"1 h\", resolution = \"30 min\" }",
            "window.resolution: expected at most a quarter of over = 1 h, found 30 min",
        ),
        (
            "{ distinct = \"/b\", key = \"/a\", over = \"1 d\", resolution = \"1 h\" }",
            "window.resolution: distinct is exact: expected no resolution beside it",
        ),
    ];
    for (window, expected) in refused {
        let found = problems(window);
        assert!(found.len() == 1 && found[0].starts_with(expected), "{window}: {found:?}");
    }
    let one_hot = "{ count = true, key = \"/a\", over = \"1 d\" }\ntransform = [{ one-hot = { values = [1] } }]";
    assert!(problems(one_hot)[0].starts_with("transform: a window gives a number: expected number steps only"));
    let both = "{ count = true, key = \"/a\", over = \"1 d\" }\nfrom = \"/x\"";
    assert_eq!(problems(both), ["from: expected either from or window, found both"]);
    let many: Vec<String> = (0..65).map(|n| format!("{{ count = true, key = \"/k{n}\", over = \"1 d\" }}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let (_, found) = read(&declare(&many));
    assert!(found.len() == 1 && found[0].ends_with("found 65"), "{found:?}");
    assert!(read(&declare(&many[..64])).1.is_empty());
}

#[test]
fn windows_of_one_key_share_their_entries_and_bundles_share_their_columns() {
    let (first, _) = read(&declare(&[
        "{ count = true, key = \"/card\", over = \"1 d\" }",
        "{ mean = \"/amount\", key = \"/card\", over = \"30 d\", delay = \"2 d\" }",
        "{ label-mean = true, key = [\"/card\", \"/a+b\"], over = \"7 d\" }",
    ]));
    let (second, _) = read(&declare(&[
        "{ distinct = \"/shop\", key = \"/card\", over = \"7 d\" }",
        "{ count = true, key = \"/card\", over = \"7 d\", where = \"/kind\", in = [\"b\", \"a\"] }",
    ]));
    let plan = Plan::of(&[&first, &second]).unwrap();
    let columns: Vec<(CellKind, &str)> = plan.columns().iter().map(|c| (c.kind, c.name.as_str())).collect();
    let expected = [
        (CellKind::Hash, "text /card"),
        (CellKind::Number, "number /amount"),
        (CellKind::Hash, "text /shop"),
        (CellKind::Hash, "key /card + /a~2b"),
        (CellKind::Hash, "value /kind"),
    ];
    assert_eq!(columns, expected);
    assert_eq!((plan.streams().len(), plan.longest_us(), plan.label_columns()), (3, 32 * DAY, vec![3]));
    // Cells that another plan stored are found again by name.
    let alone = Plan::of(&[&second]).unwrap();
    let stored: Vec<(CellKind, String)> = plan.columns().iter().map(|c| (c.kind, c.name.clone())).collect();
    assert_eq!(alone.mapping(&stored), [Some(0), Some(2), Some(4)]);
    assert_eq!(plan.mapping(&[(CellKind::Hash, "number /amount".to_owned())]), [None; 5], "of another kind");
    let (none, _) = read("[[feature]]\nname = \"X\"\nfrom = \"/x\"");
    assert!(Plan::of(&[&none]).is_none() && !none.windows());
}
