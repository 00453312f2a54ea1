//! The window features' past, for status, metrics and `check`.

use crate::config::{Config, KeyMapping, Origin, Problem, SourceKind};
use crate::engine::WindowFigures;
use crate::event::Pointer;
use crate::features::Plan;
use serde_json::{Value, json};

/// The member `windows` of the status.
pub fn status(figures: &WindowFigures) -> Value {
    let stats = &figures.stats;
    json!({
        "events": stats.entries,
        "keys": stats.keys,
        "labels": stats.labels,
        "bytes": stats.bytes,
        "budget": stats.bytes_max,
        "newest": figures.newest_us.map(time),
        "whole-since": figures.whole_since_us.map(time),
        "late-seconds": seconds(stats.late_reach_us),
        "too-late": figures.too_late,
        "coarse-keys": stats.coarse_keys,
        "dropped-keys": stats.dropped_keys,
        "labels-waiting": figures.labels_waiting,
        "labels-dropped": figures.labels_dropped,
    })
}

fn time(us: i64) -> String {
    jiff::Timestamp::from_microsecond(us).map(|at| at.to_string()).unwrap_or_default()
}

fn seconds(us: i64) -> i64 {
    us / 1_000_000
}

/// What of them a person should know.
pub fn warnings(figures: &WindowFigures) -> Vec<String> {
    let stats = &figures.stats;
    let mut lines = Vec::new();
    if stats.shortened > 0 {
        let reach = seconds(stats.late_reach_us);
        lines.push(format!(
            "window features: events more than {reach} s late do not see all of the past, for windows.memory"
        ));
    }
    if stats.coarse_keys > 0 {
        lines.push(format!(
            "window features: {} keys are held in coarser steps of time, for windows.memory",
            stats.coarse_keys
        ));
    }
    if stats.dropped_keys > 0 {
        lines.push(format!("window features: {} keys were forgotten, for windows.memory", stats.dropped_keys));
    }
    if figures.labels_dropped > 0 {
        lines.push(format!("{} labels went that waited for events which never came", figures.labels_dropped));
    }
    lines
}

type Label = (&'static str, String);

/// Their metrics: name, help, whether a counter, values.
pub fn families(
    figures: Option<&WindowFigures>,
    add: &mut impl FnMut(&'static str, &'static str, bool, Vec<(Vec<Label>, f64)>),
) {
    let Some(figures) = figures else { return };
    #[allow(clippy::cast_precision_loss)] // shown, not counted with
    let single = |value: u64| vec![(Vec::new(), value as f64)];
    let stats = &figures.stats;
    let bytes = |bytes: usize| single(u64::try_from(bytes).unwrap_or(u64::MAX));
    add("window_events", "Events held for window features, once a key", false, single(stats.entries));
    add("window_keys", "Keys held for window features", false, single(stats.keys));
    add("window_bytes", "Memory of window features", false, bytes(stats.bytes));
    add("window_budget_bytes", "The share of limits.memory for window features", false, bytes(stats.bytes_max));
    let late = u64::try_from(seconds(stats.late_reach_us)).unwrap_or(0);
    add("window_late_seconds", "How late an event may come and see all of its past", false, single(late));
    add("window_too_late_events", "Events older than the longest window, not counted", true, single(figures.too_late));
    add(
        "window_coarse_keys",
        "Keys held in coarser steps of time, for want of memory",
        false,
        single(stats.coarse_keys),
    );
    add("window_dropped_keys", "Keys forgotten for want of memory", true, single(stats.dropped_keys));
    let waiting = u64::try_from(figures.labels_waiting).unwrap_or(u64::MAX);
    add("labels_waiting", "Labels that wait for their events", false, single(waiting));
    add("labels_dropped", "Labels that waited and went for want of room", true, single(figures.labels_dropped));
}

/// Where several appliances share a topic, each counts its own part: a line for each source whose records are not keyed
/// as the windows are.
pub fn key_warnings(config: &Config, plan: &Plan, origin: &dyn Fn(&str) -> Origin) -> Vec<Problem> {
    let mut keys: Vec<&[Pointer]> = plan
        .streams()
        .iter()
        .filter_map(|stream| plan.columns().get(stream.key))
        .map(|column| column.pointers.as_slice())
        .collect();
    keys.dedup();
    let mut warnings = Vec::new();
    for source in &config.sources {
        let SourceKind::Kafka(kafka) = &source.kind else { continue };
        let own: &[Pointer] = match &source.event.key {
            KeyMapping::Pointers { pointers, .. } => pointers,
            KeyMapping::Fixed(_) => &[],
        };
        let others: Vec<String> = keys
            .iter()
            .filter(|key| **key != own)
            .map(|key| key.iter().map(ToString::to_string).collect::<Vec<_>>().join(" + "))
            .collect();
        if others.is_empty() {
            continue;
        }
        let key = format!("sources.{}", source.name);
        let message = format!(
            "{key}: window features are counted on each appliance by itself. Where several share {}, the counts by {} are \
             those of the records that came here: whole only if the records' Kafka key is that field",
            kafka.topics.join(", "),
            others.join(", "),
        );
        warnings.push(Problem::at(&origin(&key), &key, message));
    }
    warnings
}
