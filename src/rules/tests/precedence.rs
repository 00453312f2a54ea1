//! Which of several lists and rules wins.

use super::{Case, read_in};
use std::fs;

const LISTS: &str = r#"
[[list]]
name = "good"
file = "good.txt"
key = "/customer"
decision = "allow"
[[list]]
name = "stolen"
file = "stolen.txt"
decision = "block"
reason = "stolen-card"
[[list]]
name = "abroad"
file = "abroad.txt"
[[rule]]
when = "country in abroad and amount > 100"
decision = "review"
[[rule]]
when = "amount > 200"
decision = "block"
reason = "large"
[[rule]]
when = "score > 0.9 and amount < 1"
decision = "review"
"#;

#[test]
fn lists_come_before_rules_and_the_first_that_holds_wins() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("good.txt"), "7\n8\n").unwrap();
    fs::write(dir.path().join("stolen.txt"), "# of this week\nk1\n k2 \n\n").unwrap();
    fs::write(dir.path().join("abroad.txt"), "FR\nNL").unwrap();
    let (set, problems) = read_in(dir.path(), LISTS);
    assert_eq!(problems, [""; 0]);
    assert_eq!((set.counts(), set.lists().len(), set.is_empty()), ((2, 3), 3, false));
    let judged = |event: &str, key: Option<&str>, score: Option<f64>| {
        let mut case = Case::new(event, &set);
        case.key = key.map(str::to_owned);
        case.score = score;
        set.judge(&case).map(|ruled| (ruled.decision, ruled.reason))
    };
    let event = r#"{"customer": 7, "amount": 500, "country": "FR"}"#;
    assert_eq!(judged(event, Some("k1"), None), Some(("allow", "good")), "the first list, by its field");
    let event = r#"{"customer": 9, "amount": 500, "country": "FR"}"#;
    assert_eq!(judged(event, Some("k2"), None), Some(("block", "stolen-card")), "the next, by the event's key");
    assert_eq!(judged(event, Some("k3"), None), Some(("review", "rule-1")), "no list has it");
    assert_eq!(judged(event, None, None), Some(("review", "rule-1")), "no key, and no score either");
    let event = r#"{"customer": 9, "amount": 500, "country": "DE"}"#;
    assert_eq!(judged(event, None, None), Some(("block", "large")));
    let event = r#"{"amount": 0.5}"#;
    assert_eq!(judged(event, None, Some(0.95)), Some(("review", "rule-3")));
    assert_eq!(judged(event, None, None), None, "the thresholds or the fallback decide");
    let outcomes: Vec<_> = set.outcomes().map(|ruled| ruled.reason).collect();
    assert_eq!(outcomes, ["good", "stolen-card", "rule-1", "large", "rule-3"]);
}
