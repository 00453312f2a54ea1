//! Promises of `verdictd backtest`: the figures, by hand.

use super::{
    figures::Figures,
    past::Past,
    report,
    tally::{Side, Tally},
};
use serde_json::json;

/// Decisions and scores, was and is, and the label.
type Row = ((&'static str, f64), (&'static str, f64), Option<f64>);

fn tally(rows: &[Row]) -> Tally {
    let mut tally = Tally::default();
    for name in ["allow", "review", "block"] {
        tally.names.number(name);
    }
    for (identity, (was, is, label)) in (0..).zip(rows) {
        let side =
            |(decision, score): (&str, f64), tally: &mut Tally| Side::new(tally.names.number(decision), Some(score));
        let (was, is) = (side(*was, &mut tally), side(*is, &mut tally));
        assert!(tally.add(identity, Some(was), is));
        if let Some(label) = label {
            tally.label(identity, *label);
        }
    }
    tally
}

#[test]
fn agreement_matrix_precision_and_recall_are_those_by_hand() {
    let mut tally = tally(&[
        (("allow", 0.1), ("allow", 0.2), Some(0.0)),
        (("allow", 0.1), ("block", 0.9), Some(1.0)),
        (("block", 0.9), ("block", 0.9), Some(1.0)),
        (("block", 0.9), ("allow", 0.1), Some(0.0)),
        (("block", 0.8), ("allow", 0.1), None),
    ]);
    // Without an earlier verdict: counted, not compared.
    tally.add(99, None, Side::new(0, None));
    let figures = Figures::of(&tally);
    let json = report::json(&figures);
    assert_eq!((&json["events"], &json["compared"], &json["agreed"]), (&6.into(), &5.into(), &2.into()));
    assert_eq!(json["agreement"], 0.4);
    // What neither decided is left out.
    let matrix = json!({ "allow": { "allow": 1, "block": 1 }, "block": { "allow": 2, "block": 1 } });
    assert_eq!(json["matrix"], matrix);
    assert_eq!((&json["labelled"], &json["positive"]), (&4.into(), &2.into()));
    let block = &json["decisions"]["block"];
    assert_eq!((&block["was"]["precision"], &block["was"]["recall"]), (&0.5.into(), &0.5.into()));
    assert_eq!((&block["is"]["precision"], &block["is"]["recall"]), (&1.0.into(), &1.0.into()));
    assert_eq!(json["decisions"]["allow"]["is"]["precision"], 0.0);
    let text = report::text(&figures);
    assert!(text.contains("alike      40.00 %, 3 decisions changed"), "{text}");
}

#[test]
fn the_scores_drift_by_their_mean_and_quantiles() {
    let rows: Vec<Row> = (1..=100).map(|n| (("allow", 0.0), ("allow", f64::from(n) / 1000.0), None)).collect();
    let json = report::json(&Figures::of(&tally(&rows)));
    let scores = &json["scores"];
    assert_eq!((&scores["events"], &scores["was-mean"]), (&100.into(), &0.0.into()));
    assert!((scores["is-mean"].as_f64().unwrap() - 0.0505).abs() < 1e-12);
    for (share, value) in [("0", 0.001), ("0.05", 0.005), ("0.5", 0.05), ("0.99", 0.099), ("1", 0.1)] {
        assert_eq!(scores["difference-quantiles"][share], value, "{share}");
    }
    assert!(json["decisions"]["allow"]["was"]["precision"].is_null());
}

#[test]
fn what_has_no_score_is_compared_by_its_decision_alone() {
    let mut tally = tally(&[]);
    tally.add(1, Some(Side::new(1, None)), Side::new(1, Some(0.4)));
    let json = report::json(&Figures::of(&tally));
    assert_eq!((&json["agreed"], &json["scores"]), (&1.into(), &serde_json::Value::Null));
}

#[test]
fn a_repeat_counts_once() {
    let mut tally = tally(&[(("allow", 0.1), ("allow", 0.1), None)]);
    assert!(!tally.add(0, None, Side::new(2, None)));
    assert_eq!((tally.events(), tally.repeats, tally.met()), (1, 1, 1));
}

#[test]
fn verdicts_are_read_by_line_and_what_is_none_is_refused_with_its_line() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let line = |source: &str, id: u32| {
        format!("{{\"source\":\"{source}\",\"id\":\"{id}\",\"decision\":\"block\",\"score\":null,\"sequence\":{id}}}\n")
    };
    std::fs::write(file.path(), line("pos", 1) + "\n" + &line("pos", 2)).unwrap();
    let past = Past::from_file(file.path()).unwrap();
    assert_eq!((past.len(), past.only_source()), (2, Some("pos")));
    std::fs::write(file.path(), line("pos", 1) + &line("web", 2)).unwrap();
    assert_eq!(Past::from_file(file.path()).unwrap().only_source(), None);
    std::fs::write(file.path(), line("pos", 1) + "{\"id\":\"2\"}\n").unwrap();
    let failure = Past::from_file(file.path()).unwrap_err();
    assert!(failure.message.contains("line 2: expected a verdict"), "{}", failure.message);
}
