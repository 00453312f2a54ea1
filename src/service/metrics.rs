//! OpenMetrics text, made at each scrape from the parts' own counters.

use super::admin::View;
use super::beside;
use super::sources::{SourceView, Way};
use super::status::{lag, resident_bytes, window_in_force_ms};
use crate::link::Trouble;
use crate::model;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Renders all metrics.
pub fn render(view: &View) -> Vec<u8> {
    let mut registry = Registry::with_prefix("verdictd");
    let counters = view.engine.counters();
    let answer = counters.answer_seconds.clone();
    registry.register_with_unit("answer", "From arrival to answer, a request each", Unit::Seconds, answer);
    let commit = counters.commit_seconds.clone();
    registry.register_with_unit("commit", "One commit, sync included", Unit::Seconds, commit);
    registry.register("batch_events", "Events of one commit", counters.batch_events.clone());
    registry.register_collector(Box::new(Snapshot::of(view)));
    let mut text = String::new();
    // Writing to a String does not fail.
    let _ = encode(&mut text, &registry);
    text.into_bytes()
}

type Label = (&'static str, String);

/// One metric with its values by labels.
#[derive(Debug)]
struct Family {
    name: &'static str,
    help: &'static str,
    counter: bool,
    values: Vec<(Vec<Label>, f64)>,
}

/// All values at one moment.
#[derive(Debug)]
struct Snapshot(Vec<Family>);

impl Snapshot {
    fn of(view: &View) -> Self {
        let (stats, now) = (view.store.stats(), view.now());
        let mut families = Vec::new();
        let mut add = |name, help, counter, values| families.push(Family { name, help, counter, values });
        let load = |value: &AtomicU64| number(value.load(Relaxed));

        let mut values = Vec::new();
        for source in &view.sources {
            let origin = &source.origin;
            for (outcome, count) in [
                ("accepted", &origin.accepted),
                ("duplicate", &origin.duplicate),
                ("conflict", &origin.conflict),
                ("quarantined", &origin.quarantined),
                ("refused", &origin.refused),
            ] {
                values.push((vec![("source", origin.name.clone()), ("outcome", outcome.to_owned())], load(count)));
            }
        }
        add("events", "Events by what became of them", true, values);
        let labels = view.sources.iter().map(|source| {
            let origin = &source.origin;
            (vec![("source", origin.name.clone())], load(&origin.labels))
        });
        add("labels", "Labels taken", true, labels.collect());
        add("labels_kept", "Labels in the store", false, vec![(Vec::new(), number(stats.labels))]);
        let decided = view.engine.counters().decided();
        let values = decided
            .into_iter()
            .map(|((decision, model), count)| (vec![("decision", decision), ("model", model)], number(count)));
        add("verdicts", "Verdicts made", true, values.collect());
        source_families(view, &mut add);

        let by_sink = |value: &dyn Fn(&crate::forward::SinkStatus) -> f64| {
            now.sinks.iter().map(|sink| (vec![("sink", sink.name.clone())], value(sink))).collect::<Vec<_>>()
        };
        add("sink_delivered", "Verdicts confirmed by the sink", true, by_sink(&|sink| load(&sink.delivered)));
        let errors = now.sinks.iter().flat_map(|sink| {
            Trouble::ALL.map(|trouble| {
                let labels = vec![("sink", sink.name.clone()), ("kind", trouble.name().to_owned())];
                (labels, number(sink.link.errors(trouble)))
            })
        });
        add("sink_errors", "Errors of the sink", true, errors.collect());
        let lag_of = |sink: &crate::forward::SinkStatus| lag(&view.store, &sink.name);
        let events = by_sink(&|sink| number(lag_of(sink).events));
        add("sink_lag_events", "Verdicts that the sink has not confirmed", false, events);
        let seconds = by_sink(&|sink| lag_of(sink).seconds);
        add("sink_lag_seconds", "Age of the oldest verdict not confirmed", false, seconds);
        add(
            "sink_up",
            "1 while the sink takes verdicts",
            false,
            by_sink(&|sink| f64::from(u8::from(sink.link.is_up()))),
        );

        let guarded = now.sinks.iter().filter_map(|sink| Some((sink, sink.desk.as_ref()?.shown())));
        let of_sink = |name: &str| vec![("sink", name.to_owned())];
        let (mut uncertain, mut calls) = (Vec::new(), Vec::new());
        for (sink, shown) in guarded {
            uncertain.push((of_sink(&sink.name), number(u64::try_from(shown.uncertain).unwrap_or(u64::MAX))));
            calls.push((of_sink(&sink.name), number(shown.calls)));
        }
        add("sink_uncertain", "Calls of a guarded sink whose outcome is not known", false, uncertain);
        add("sink_calls_today", "Calls that a guarded sink began on the UTC day of the last one", false, calls);
        let parts = [
            ("resident", resident_bytes()),
            ("index", stats.index_bytes),
            ("tail", stats.tail_bytes),
            ("queues", u64::try_from(view.budget.used()).unwrap_or(u64::MAX)),
        ];
        let parts = parts.map(|(part, bytes)| (vec![("part", part.to_owned())], number(bytes)));
        add("memory_bytes", "Memory in use: the whole process (resident), and parts of it", false, parts.to_vec());
        let single = |value: f64| vec![(Vec::new(), value)];
        add("memory_budget_bytes", "limits.memory", false, single(number(now.memory.budget)));
        add("kept_events", "Events kept for a replay", false, single(number(stats.kept_events)));
        add("kept_bytes", "Bytes of the events kept for a replay", false, single(number(stats.kept_bytes)));
        let passed_over = single(number(stats.kept_passed_over));
        add("kept_passed_over", "Events too long to be kept for a replay", true, passed_over);
        add("store_bytes", "Bytes in use in state-dir", false, single(number(stats.disk_bytes)));
        add("store_budget_bytes", "limits.disk", false, single(number(stats.disk_budget_bytes)));
        #[allow(clippy::cast_precision_loss)]
        let window = window_in_force_ms(view, &stats) as f64 / 1e3;
        add("dedup_window_seconds", "The dedup window in force", false, single(window));
        add("quarantined_events", "Entries in quarantine", false, single(number(stats.quarantine_entries)));
        let evicted = single(number(stats.quarantine_evicted));
        add("quarantine_evicted_events", "Entries that went over quarantine.limit", true, evicted);
        add("store_set_aside", "Damaged stores set aside", false, single(number(stats.set_aside)));
        let panics = single(load(&view.engine.counters().panics));
        add("panics", "Events that made the code panic", true, panics);
        beside::families(now.lineup.shadow().map(AsRef::as_ref), &mut add);
        super::windows::families(view.engine.counters().windows().as_ref(), &mut add);
        let bundle = now.lineup.bundle();
        let manifest = bundle.manifest();
        let model = vec![
            ("name", manifest.name.clone()),
            ("version", manifest.version.clone()),
            ("sha256", model::hex_text(bundle.sha256())),
        ];
        add("model_info", "The model in force", false, vec![(model, 1.0)]);
        let version = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
        add("build_info", "This build", false, vec![(version, 1.0)]);
        Self(families)
    }
}

/// The links of the sources.
fn source_families(view: &View, add: &mut impl FnMut(&'static str, &'static str, bool, Vec<(Vec<Label>, f64)>)) {
    let of = |source: &SourceView| ("source", source.origin.name.clone());
    let (mut connections, mut up, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    let (mut reconnects, mut incidents) = (Vec::new(), Vec::new());
    for source in &view.sources {
        match &source.way {
            Way::Listener(open) => {
                connections.push((vec![of(source)], number(open.open.load(Relaxed))));
                up.push((vec![of(source)], 1.0));
            }
            Way::Reader(status) => {
                up.push((vec![of(source)], f64::from(u8::from(status.link.is_up()))));
                for trouble in Trouble::ALL {
                    let labels = vec![of(source), ("kind", trouble.name().to_owned())];
                    errors.push((labels, number(status.link.errors(trouble))));
                }
                reconnects.push((vec![of(source)], number(status.reconnects.load(Relaxed))));
                for (what, count) in status.counts() {
                    incidents.push((vec![of(source), ("what", what.to_owned())], number(count)));
                }
            }
        }
    }
    add("connections", "Connections open", false, connections);
    add("source_up", "1 while the source is there to give events", false, up);
    add("source_errors", "Errors of the source", true, errors);
    add("source_reconnects", "Connected or opened again after a failure", true, reconnects);
    add("source_incidents", "What a source came upon, by its own names", true, incidents);
}

fn number(value: u64) -> f64 {
    #[allow(clippy::cast_precision_loss)] // shown, not counted with
    let value = value as f64;
    value
}

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for family in &self.0 {
            let (name, unit) = name_and_unit(family.name);
            let (name, kind) = match name.strip_suffix("_info") {
                Some(name) => (name, MetricType::Info),
                None if family.counter => (name, MetricType::Counter),
                None => (name, MetricType::Gauge),
            };
            let mut metric = encoder.encode_descriptor(name, family.help, unit, kind)?;
            for (labels, value) in &family.values {
                let labels: Vec<Label> = labels.iter().map(|(name, value)| (*name, escaped(value))).collect();
                if matches!(kind, MetricType::Info) {
                    metric.encode_info(&labels)?;
                } else if labels.is_empty() {
                    write(family.counter, *value, &mut metric)?;
                } else {
                    write(family.counter, *value, &mut metric.encode_family(&labels)?)?;
                }
            }
        }
        Ok(())
    }
}

/// The unit is told apart from the name, and is its end all the same.
fn name_and_unit(name: &'static str) -> (&'static str, Option<&'static Unit>) {
    for (suffix, unit) in [("_seconds", &Unit::Seconds), ("_bytes", &Unit::Bytes)] {
        if let Some(stem) = name.strip_suffix(suffix) {
            return (stem, Some(unit));
        }
    }
    (name, None)
}

/// A label's value as it stands between quotes: a model's version or a decision may hold any character.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn write(counter: bool, value: f64, metric: &mut MetricEncoder<'_>) -> Result<(), fmt::Error> {
    if counter { metric.encode_counter::<NoLabelSet, f64, f64>(&value, None) } else { metric.encode_gauge(&value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_info_and_odd_label_values_are_written_by_the_rules() {
        let label = |value: &str| vec![("version", value.to_owned())];
        let families = vec![
            Family { name: "store_bytes", help: "Bytes", counter: false, values: vec![(Vec::new(), 5.0)] },
            Family { name: "events", help: "Events", counter: true, values: vec![(label("a"), 2.0)] },
            Family { name: "model_info", help: "Model", counter: false, values: vec![(label("1\"\\\n2"), 1.0)] },
        ];
        let mut registry = Registry::with_prefix("verdictd");
        registry.register_collector(Box::new(Snapshot(families)));
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let expected = r#"# HELP verdictd_store_bytes Bytes
# TYPE verdictd_store_bytes gauge
# UNIT verdictd_store_bytes bytes
verdictd_store_bytes 5.0
# HELP verdictd_events Events
# TYPE verdictd_events counter
verdictd_events_total{version="a"} 2.0
# HELP verdictd_model Model
# TYPE verdictd_model info
verdictd_model_info{version="1\"\\\n2"} 1
# EOF
"#;
        assert_eq!(text, expected);
    }
}
