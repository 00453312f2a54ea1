//! The figures of a bench run: medians over its rounds, as JSON and as a table.

use super::load::Load;
use serde::Serialize;
use std::{fmt::Write, time::Duration};

/// One round of the daemon or of the floor: the loads, each with the CPU time it took.
#[derive(Clone, Debug)]
pub struct Round {
    pub batch: (Load, Duration),
    pub single: (Load, Duration),
    pub open: (Load, Duration),
    pub peak_rss_bytes: u64,
}

#[derive(Clone, Debug)]
pub struct Figures {
    /// Daemon and floor.
    pub rounds: Vec<(Round, Round)>,
    pub seconds: f64,
    pub sync_ms: f64,
    pub engine_events_per_second: Option<f64>,
}

/// The members of `--json`.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Members {
    events_per_second: f64,
    single_events_per_second: f64,
    floor_events_per_second: f64,
    floor_single_events_per_second: f64,
    answer_p50_ms: f64,
    answer_p99_ms: f64,
    floor_answer_p50_ms: f64,
    floor_answer_p99_ms: f64,
    cpu_us_per_event: f64,
    floor_cpu_us_per_event: f64,
    batch_cpu_us_per_event: f64,
    floor_batch_cpu_us_per_event: f64,
    peak_rss_mib: f64,
    sync_p50_ms: f64,
    engine_events_per_second: Option<f64>,
    busy_answers: u64,
    rounds: usize,
    seconds: f64,
}

#[allow(clippy::cast_precision_loss)] // counts far below 2^52
fn cpu_us_per_event((load, cpu): &(Load, Duration)) -> f64 {
    cpu.as_secs_f64() * 1e6 / load.events.max(1) as f64
}

pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = values.get(middle).copied().unwrap_or_default();
    if values.len() % 2 == 1 {
        return upper;
    }
    middle.checked_sub(1).and_then(|lower| values.get(lower)).map_or(upper, |lower| f64::midpoint(*lower, upper))
}

impl Figures {
    fn members(&self) -> Members {
        let daemon = |of: &dyn Fn(&Round) -> f64| median(self.rounds.iter().map(|(daemon, _)| of(daemon)).collect());
        let floor = |of: &dyn Fn(&Round) -> f64| median(self.rounds.iter().map(|(_, floor)| of(floor)).collect());
        let peak = self.rounds.iter().map(|(daemon, _)| daemon.peak_rss_bytes).max().unwrap_or_default();
        let busy = |round: &Round| round.batch.0.busy + round.single.0.busy + round.open.0.busy;
        #[allow(clippy::cast_precision_loss)] // bytes far below 2^52
        let peak_rss_mib = round(peak as f64 / f64::from(1 << 20), 1);
        Members {
            events_per_second: round(daemon(&|r| r.batch.0.events_per_second()), 0),
            single_events_per_second: round(daemon(&|r| r.single.0.events_per_second()), 0),
            floor_events_per_second: round(floor(&|r| r.batch.0.events_per_second()), 0),
            floor_single_events_per_second: round(floor(&|r| r.single.0.events_per_second()), 0),
            answer_p50_ms: round(daemon(&|r| r.open.0.latency_ms(0.5)), 3),
            answer_p99_ms: round(daemon(&|r| r.open.0.latency_ms(0.99)), 3),
            floor_answer_p50_ms: round(floor(&|r| r.open.0.latency_ms(0.5)), 3),
            floor_answer_p99_ms: round(floor(&|r| r.open.0.latency_ms(0.99)), 3),
            cpu_us_per_event: round(daemon(&|r| cpu_us_per_event(&r.single)), 2),
            floor_cpu_us_per_event: round(floor(&|r| cpu_us_per_event(&r.single)), 2),
            batch_cpu_us_per_event: round(daemon(&|r| cpu_us_per_event(&r.batch)), 3),
            floor_batch_cpu_us_per_event: round(floor(&|r| cpu_us_per_event(&r.batch)), 3),
            peak_rss_mib,
            sync_p50_ms: round(self.sync_ms, 3),
            engine_events_per_second: self.engine_events_per_second.map(|figure| round(figure, 0)),
            busy_answers: self.rounds.iter().map(|(daemon, _)| busy(daemon)).sum(),
            rounds: self.rounds.len(),
            seconds: self.seconds,
        }
    }

    /// One JSON object, the members of INTERFACE and a few more.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(&self.members()).unwrap_or_default()
    }

    /// A table for people.
    #[must_use]
    pub fn table(&self) -> String {
        let m = self.members();
        let mut out = String::new();
        let _ = writeln!(out, "{:<44}{:>12}{:>12}{:>10}", "", "verdictd", "floor", "ratio");
        let mut row = |name: &str, daemon: f64, floor: f64, places: usize| {
            let ratio = if floor > 0.0 { format!("{:.2}", daemon / floor) } else { "-".to_owned() };
            let _ = writeln!(out, "{name:<44}{daemon:>12.places$}{floor:>12.places$}{ratio:>10}");
        };
        row("events/s, 100 a request", m.events_per_second, m.floor_events_per_second, 0);
        row("events/s, 1 a request, 64 connections", m.single_events_per_second, m.floor_single_events_per_second, 0);
        row("answer at 1,000/s, p50, ms", m.answer_p50_ms, m.floor_answer_p50_ms, 3);
        row("answer at 1,000/s, p99, ms", m.answer_p99_ms, m.floor_answer_p99_ms, 3);
        row("CPU an event, 1 a request, µs", m.cpu_us_per_event, m.floor_cpu_us_per_event, 2);
        row("CPU an event, 100 a request, µs", m.batch_cpu_us_per_event, m.floor_batch_cpu_us_per_event, 2);
        let _ = writeln!(out, "{:<44}{:>12.1}", "peak memory, MiB", m.peak_rss_mib);
        let _ = writeln!(out, "{:<44}{:>12.3}", "append and fdatasync, p50, ms", m.sync_p50_ms);
        if let Some(engine) = m.engine_events_per_second {
            let _ = writeln!(out, "{:<44}{engine:>12.0}", "events/s of the engine, no socket");
        }
        if m.busy_answers > 0 {
            let _ = writeln!(out, "{:<44}{:>12}", "answers 503, not counted above", m.busy_answers);
        }
        let _ = writeln!(out, "medians of {} rounds of {} s", m.rounds, m.seconds);
        out
    }
}

fn round(value: f64, places: i32) -> f64 {
    let scale = 10_f64.powi(places);
    (value * scale).round() / scale
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // figures made of whole numbers
mod tests {
    use super::*;

    #[test]
    fn medians_are_of_odd_and_even_counts() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(vec![]), 0.0);
    }

    #[test]
    fn json_has_the_members_that_scripts_read() {
        let load = |events| (Load { events, seconds: 2.0, ..Load::default() }, Duration::from_millis(1));
        let one = |events| Round { batch: load(events), single: load(events), open: load(1), peak_rss_bytes: 3 << 20 };
        let figures =
            Figures { rounds: vec![(one(10), one(40))], seconds: 2.0, sync_ms: 0.2, engine_events_per_second: None };
        let json: serde_json::Value = serde_json::from_str(&figures.json()).unwrap();
        for name in [
            "events-per-second",
            "single-events-per-second",
            "floor-events-per-second",
            "floor-single-events-per-second",
            "answer-p50-ms",
            "answer-p99-ms",
            "floor-answer-p50-ms",
            "floor-answer-p99-ms",
            "cpu-us-per-event",
            "peak-rss-mib",
            "sync-p50-ms",
            "engine-events-per-second",
        ] {
            assert!(json.get(name).is_some(), "{name}");
        }
        assert_eq!((json["events-per-second"].as_f64(), json["cpu-us-per-event"].as_f64()), (Some(5.0), Some(100.0)));
        assert!(figures.table().contains("0.25"));
    }
}
