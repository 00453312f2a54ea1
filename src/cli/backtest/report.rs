//! The figures for people and for scripts.

use super::figures::{Figures, Judged, QUANTILES, Scores, share};
use serde_json::{Map, Value, json};
use std::fmt::Write;

pub(super) fn text(figures: &Figures) -> String {
    let mut text = String::new();
    let Figures { events, compared, bad, repeats, unmet, .. } = figures;
    let without = events - compared;
    let _ = writeln!(text, "events     {events}, of them {compared} compared and {without} without an earlier verdict");
    let _ = writeln!(
        text,
        "           {repeats} repeats, {bad} records that are no event, {unmet} verdicts without an event"
    );
    if *compared == 0 {
        return text;
    }
    let changed = compared - figures.agreed;
    let _ = writeln!(text, "alike      {}, {changed} decisions changed", percent(share(figures.agreed, *compared)));
    matrix(figures, &mut text);
    if let Some(scores) = &figures.scores {
        scores_text(scores, &mut text);
    }
    labels(figures, &mut text);
    text
}

fn matrix(figures: &Figures, text: &mut String) {
    let width = figures.decisions.iter().map(String::len).max().unwrap_or(0).max(8);
    let _ = write!(text, "           {:width$}", "was \\ is");
    for name in &figures.decisions {
        let _ = write!(text, "  {name:>width$}");
    }
    text.push('\n');
    for (name, row) in figures.decisions.iter().zip(&figures.matrix) {
        let _ = write!(text, "           {name:width$}");
        for count in row {
            let _ = write!(text, "  {count:>width$}");
        }
        text.push('\n');
    }
}

fn scores_text(scores: &Scores, text: &mut String) {
    let _ = writeln!(
        text,
        "scores     mean {:.6} was, {:.6} is; mean distance {:.6}",
        scores.was_mean, scores.is_mean, scores.distance
    );
    let quantiles: Vec<String> = QUANTILES
        .iter()
        .zip(scores.quantiles)
        .map(|(share, value)| {
            format!("{} {value:+.6}", percent(Some(*share)).trim_end_matches(".00 %").to_owned() + " %")
        })
        .collect();
    let _ = writeln!(text, "           is less was, by share of events: {}", quantiles.join(", "));
    if let Some(stability) = scores.stability {
        let _ = writeln!(
            text,
            "           population stability index {stability:.4} (below 0.1 alike, above 0.25 another distribution)"
        );
    }
}

fn labels(figures: &Figures, text: &mut String) {
    let Figures { labelled, positive, no_labels, .. } = figures;
    if *no_labels > 0 {
        let _ = writeln!(text, "labels     {no_labels} values are no label: expected numbers, true or false");
    }
    if *labelled == 0 {
        let _ = writeln!(text, "labels     none is known, so neither precision nor recall");
        return;
    }
    let _ = writeln!(text, "labels     of {labelled} events, {positive} of them above 0");
    let width = figures.decisions.iter().map(String::len).max().unwrap_or(0).max(8);
    let _ = writeln!(
        text,
        "           {:width$}  {:>10}  {:>10}  {:>10}  {:>10}  {:>10}  {:>10}",
        "", "was", "precision", "recall", "is", "precision", "recall"
    );
    for (name, (was, is)) in figures.decisions.iter().zip(&figures.judged) {
        let _ = write!(text, "           {name:width$}");
        for judged in [was, is] {
            let precision = percent(judged.precision());
            let recall = percent(judged.recall(*positive));
            let _ = write!(text, "  {:>10}  {precision:>10}  {recall:>10}", judged.events);
        }
        text.push('\n');
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.2} %", share * 100.0))
}

pub(super) fn json(figures: &Figures) -> Value {
    let named = |row: &Vec<u64>| -> Map<String, Value> {
        figures.decisions.iter().cloned().zip(row.iter().map(|count| (*count).into())).collect()
    };
    let matrix: Map<String, Value> =
        figures.decisions.iter().cloned().zip(figures.matrix.iter().map(|row| named(row).into())).collect();
    let judged = |judged: &Judged| {
        json!({
            "events": judged.events,
            "labelled": judged.labelled,
            "positive": judged.positive,
            "precision": judged.precision(),
            "recall": judged.recall(figures.positive),
        })
    };
    let decisions: Map<String, Value> = figures
        .decisions
        .iter()
        .cloned()
        .zip(figures.judged.iter().map(|(was, is)| json!({ "was": judged(was), "is": judged(is) })))
        .collect();
    let scores = figures.scores.as_ref().map(|scores| {
        let quantiles: Map<String, Value> =
            QUANTILES.iter().map(ToString::to_string).zip(scores.quantiles.map(Value::from)).collect();
        json!({
            "events": scores.events,
            "was-mean": scores.was_mean,
            "is-mean": scores.is_mean,
            "mean-distance": scores.distance,
            "difference-quantiles": quantiles,
            "population-stability-index": scores.stability,
        })
    });
    json!({
        "events": figures.events,
        "compared": figures.compared,
        "repeats": figures.repeats,
        "not-events": figures.bad,
        "verdicts-without-event": figures.unmet,
        "agreed": figures.agreed,
        "agreement": share(figures.agreed, figures.compared),
        "matrix": matrix,
        "scores": scores,
        "labelled": figures.labelled,
        "positive": figures.positive,
        "not-labels": figures.no_labels,
        "decisions": decisions,
    })
}
