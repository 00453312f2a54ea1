//! The shadow model, for status and metrics.

use crate::engine::Shadow;
use crate::model::hex_text;
use serde_json::{Value, json};

/// The member `shadow` of the status.
pub fn status(shadow: &Shadow) -> Value {
    let (manifest, seen) = (shadow.bundle().manifest(), shadow.comparison());
    let changed = seen
        .changed
        .iter()
        .map(|((model, beside), events)| json!({ "model": model, "shadow": beside, "events": events }));
    json!({
        "name": manifest.name,
        "version": manifest.version,
        "sha256": hex_text(shadow.bundle().sha256()),
        "state": if shadow.dropped().is_some() { "dropped" } else { "scoring" },
        "dropped": shadow.dropped(),
        "events": seen.events,
        "agreed": seen.agreed,
        "changed": changed.collect::<Vec<_>>(),
        "unscored": seen.unscored,
        "score-difference": seen.mean_difference(),
        "score-drift": seen.drift(),
        "row-seconds": seen.row_seconds(),
        "limit-seconds": shadow.limit().as_secs_f64(),
    })
}

/// What of it a person should know.
pub fn warning(shadow: &Shadow) -> Option<String> {
    let why = shadow.dropped()?;
    Some(format!("the shadow model {} is dropped until the next reload: {why}", shadow.bundle().label()))
}

type Label = (&'static str, String);

/// Its metrics: name, help, whether a counter, values.
pub fn families(
    shadow: Option<&Shadow>,
    add: &mut impl FnMut(&'static str, &'static str, bool, Vec<(Vec<Label>, f64)>),
) {
    let Some(shadow) = shadow else { return };
    let seen = shadow.comparison();
    #[allow(clippy::cast_precision_loss)] // shown, not counted with
    let number = |count: u64| count as f64;
    let of = |name: &'static str, value: &str| (name, value.to_owned());
    let model = || of("model", shadow.bundle().label());
    let single = |value: f64| vec![(vec![model()], value)];
    let changed: u64 = seen.events - seen.agreed;
    let outcomes = [("agreed", seen.agreed), ("changed", changed), ("unscored", seen.unscored)];
    let outcomes = outcomes.map(|(outcome, count)| (vec![model(), of("outcome", outcome)], number(count)));
    add("shadow_events", "Events scored by model and shadow, by how the decisions compare", true, outcomes.to_vec());
    let pairs = seen
        .changed
        .iter()
        .map(|((from, to), count)| (vec![model(), of("decision", from), of("shadow", to)], number(*count)));
    add("shadow_changes", "Decisions that the shadow would have changed", true, pairs.collect());
    if let (Some(difference), Some(drift)) = (seen.mean_difference(), seen.drift()) {
        add("shadow_score_difference", "Mean of |shadow's score - model's score|", false, single(difference));
        add("shadow_score_drift", "Population stability index of the shadow's scores", false, single(drift));
    }
    if let Some(seconds) = seen.row_seconds() {
        add("shadow_row_seconds", "Mean processor time of the shadow an event", false, single(seconds));
    }
    let up = if shadow.dropped().is_some() { 0.0 } else { 1.0 };
    add("shadow_up", "1 while the shadow scores, 0 once it is dropped", false, single(up));
}
