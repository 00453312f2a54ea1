//! `status --json`: one object, a member a part.

use super::admin::View;
use super::beside;
use super::reload::Report;
use super::sources::{SourceView, Way};
use crate::forward::SinkStatus;
use crate::forward::http::{Desk, Hold};
use crate::link::{LinkState, Trouble};
use crate::model;
use crate::store::{Room, Stats, Store, WindowCut};
use serde_json::{Map, Value, json};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{SystemTime, UNIX_EPOCH};

/// How far a sink is behind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lag {
    pub events: u64,
    /// Since the oldest waiting verdict was decided.
    pub seconds: f64,
}

/// A sink's lag now.
pub fn lag(store: &Store, sink: &str) -> Lag {
    let cursor = store.cursor(sink).unwrap_or_default();
    let events = store.committed().saturating_sub(cursor);
    if events == 0 {
        return Lag::default();
    }
    let oldest = store.next_chunk(cursor).ok().flatten();
    let decided_ms = oldest.and_then(|chunk| chunk.get(cursor.max(chunk.first())).map(|r| r.verdict.decided_ms));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ms = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
    #[allow(clippy::cast_precision_loss)] // milliseconds far below 2^52
    let seconds = decided_ms.map_or(0.0, |ms| now_ms.saturating_sub(ms).max(0) as f64 / 1e3);
    Lag { events, seconds }
}

/// The whole status.
pub fn status(view: &View) -> Value {
    let (stats, now) = (view.store.stats(), view.now());
    let (bundle, shadow) = (now.lineup.bundle(), now.lineup.shadow());
    let manifest = bundle.manifest();
    json!({
        "name": "verdictd",
        "version": env!("CARGO_PKG_VERSION"),
        "instance": now.config.instance,
        "pid": std::process::id(),
        "uptime-seconds": view.started.elapsed().as_secs(),
        "ready": crate::ingest::Admin::ready(view).well,
        "sources": view.sources.iter().map(source).collect::<Vec<_>>(),
        "sinks": now.sinks.iter().map(|status| sink(&view.store, status)).collect::<Vec<_>>(),
        "dedup": {
            "window-seconds": now.config.dedup.window.as_milliseconds() / 1000,
            "window-in-force-seconds": window_in_force_ms(view, &stats) / 1000,
            "cut-by": stats.window_cut_by.map(cut_by),
            "events": stats.committed.saturating_sub(stats.window_floor),
            "index-bytes": stats.index_bytes,
        },
        "memory": {
            "budget": now.memory.budget,
            "resident": resident_bytes(),
            "requests-in-flight": view.budget.used(),
            "plan": now.memory.json(),
        },
        "disk": {
            "budget": stats.disk_budget_bytes,
            "used": stats.disk_bytes,
            "free": stats.disk_free_bytes,
            "plan": view.disk.json(),
        },
        "store": {
            "next-sequence": stats.committed,
            "oldest-sequence": stats.log_floor,
            "labels": stats.labels,
            "live-bytes": stats.live_bytes,
            "set-aside": stats.set_aside,
            "lost": stats.lost,
        },
        "replay": {
            "events": stats.kept_events,
            "bytes": stats.kept_bytes,
            "passed-over": stats.kept_passed_over,
        },
        "quarantine": {
            "events": stats.quarantine_entries,
            "bytes": stats.quarantine_bytes,
            "evicted": stats.quarantine_evicted,
        },
        "model": {
            "name": manifest.name,
            "version": manifest.version,
            "sha256": model::hex_text(bundle.sha256()),
            "serial": manifest.serial,
            "history": now.past.json(),
            "before": now.past.before_json(),
        },
        "windows": view.engine.counters().windows().as_ref().map(super::windows::status),
        "shadow": shadow.map(|shadow| beside::status(shadow)),
        "reloading": view.reloading.load(Relaxed),
        "reload": now.reload.as_ref().map(Report::json),
        "warnings": warnings(view, &stats),
    })
}

fn source(source: &SourceView) -> Value {
    let origin = &source.origin;
    let mut shown = json!({
        "name": origin.name,
        "type": source.kind,
        "from": source.place,
        "accepted": origin.accepted.load(Relaxed),
        "duplicate": origin.duplicate.load(Relaxed),
        "conflict": origin.conflict.load(Relaxed),
        "labels": origin.labels.load(Relaxed),
        "quarantined": origin.quarantined.load(Relaxed),
        "refused": origin.refused.load(Relaxed),
    });
    let of_way = match &source.way {
        Way::Listener(connections) => json!({
            "up": true,
            "state": "up",
            "connections": connections.open.load(Relaxed),
        }),
        Way::Reader(status) => json!({
            "up": status.link.is_up(),
            "state": status.link.name(),
            "errors": errors(&status.link),
            "last-error": last_error(&status.link),
            "reconnects": status.reconnects.load(Relaxed),
            "counts": status.counts().into_iter().map(|(name, n)| (name.to_owned(), n.into())).collect::<Map<_, _>>(),
        }),
    };
    if let Value::Object(members) = &mut shown {
        for more in [&source.facts, &of_way] {
            members.extend(more.as_object().cloned().unwrap_or_default());
        }
    }
    shown
}

fn sink(store: &Store, sink: &SinkStatus) -> Value {
    let lag = lag(store, &sink.name);
    json!({
        "name": sink.name,
        "type": sink.kind,
        "target": sink.target,
        "up": sink.link.is_up(),
        "state": sink.link.name(),
        "cursor": store.cursor(&sink.name).ok(),
        "delivered": sink.delivered.load(Relaxed),
        "lag-events": lag.events,
        "lag-seconds": lag.seconds,
        "errors": errors(&sink.link),
        "last-error": last_error(&sink.link),
        "guarded": sink.desk.as_deref().map(guarded),
    })
}

/// The calls of a guarded sink.
fn guarded(desk: &Desk) -> Value {
    let shown = desk.shown();
    json!({
        "uncertain": shown.uncertain,
        "oldest": shown.oldest_ms.map(|ms| jiff::Timestamp::from_millisecond(ms).map(|at| format!("{at:.0}")).ok()),
        "to-resend": shown.again,
        "calls-today": shown.calls,
        "held-by": shown.hold.map(Hold::name),
    })
}

/// Errors of a link since the start, by kind.
fn errors(link: &LinkState) -> Value {
    let counts = Trouble::ALL.map(|trouble| (trouble.name().to_owned(), link.errors(trouble).into()));
    Value::Object(counts.into_iter().collect())
}

/// The last error of a link, if there was one, also after a recovery.
fn last_error(link: &LinkState) -> Value {
    let Some(error) = link.last_error() else { return Value::Null };
    let at = jiff::Timestamp::try_from(error.at).map(|at| format!("{at:.0}")).unwrap_or_default();
    json!({ "text": error.text, "kind": error.trouble.name(), "at": at })
}

/// The dedup window: as configured, unless a budget has cut it to the age of the oldest event still known. (The
/// store knows that age alone, which in a young store says nothing of the window.)
pub fn window_in_force_ms(view: &View, stats: &Stats) -> u64 {
    let configured = view.now().config.dedup.window.as_milliseconds();
    if stats.window_cut_by.is_some() { stats.window_ms.min(configured) } else { configured }
}

fn cut_by(cut: WindowCut) -> &'static str {
    match cut {
        WindowCut::Memory => "limits.memory",
        WindowCut::Disk => "limits.disk",
    }
}

/// Whatever shortens a promise just now, a line each.
pub fn warnings(view: &View, stats: &Stats) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(cut) = stats.window_cut_by {
        let seconds = window_in_force_ms(view, stats) / 1000;
        lines.push(format!("the dedup window is cut to {seconds} s by {}", cut_by(cut)));
    }
    let room = view.store.room();
    if room != Room::Yes {
        lines.push(format!("nothing new is taken: {room}"));
    }
    for source in &view.sources {
        let Way::Reader(shown) = &source.way else { continue };
        if !shown.link.is_up() {
            let why = shown.link.last_error().map(|error| error.text).unwrap_or_default();
            lines.push(format!("source {} is down: {why}", shown.name));
        }
        lines.extend(shown.warnings().into_iter().map(|line| format!("source {}: {line}", shown.name)));
    }
    let now = view.now();
    for sink in now.sinks.iter().filter(|sink| !sink.link.is_up()) {
        let why = sink.link.last_error().map(|error| error.text).unwrap_or_default();
        lines.push(format!("sink {} is down: {why}", sink.name));
    }
    let mut shown = 0;
    for (sink, desk) in now.sinks.iter().filter_map(|sink| Some((sink, sink.desk.as_ref()?))) {
        let desk = desk.shown();
        shown += u64::try_from(desk.uncertain + desk.again).unwrap_or(0);
        if desk.uncertain > 0 {
            lines.push(format!("sink {}: {} calls are uncertain; see `verdictd uncertain`", sink.name, desk.uncertain));
        }
    }
    // One may be under way just now.
    let guarded = u64::try_from(now.sinks.iter().filter(|sink| sink.desk.is_some()).count()).unwrap_or(0);
    if stats.cases > shown + guarded {
        lines.push("calls of sinks that are not guarded any more are open; see `verdictd uncertain`".to_owned());
    }
    lines.extend(now.left_out.iter().map(|why| format!("the shadow model is left out until a reload: {why}")));
    lines.extend(now.lineup.shadow().and_then(|shadow| beside::warning(shadow)));
    lines.extend(view.engine.counters().windows().iter().flat_map(super::windows::warnings));
    lines.extend(now.reload.iter().flat_map(Report::warnings));
    lines.extend(now.lineup.bundle().notes().map(|note| format!("model {}: {note}", now.lineup.bundle().label())));
    lines.extend(super::lists::warnings(now.lineup.bundle()));
    lines.extend(super::clock::warnings());
    lines.extend(view.tight.clone());
    if stats.set_aside > 0 {
        lines.push(format!("{} damaged stores are set aside, in damaged-… in state-dir", stats.set_aside));
    }
    if stats.observations_cut > 0 {
        let cut = stats.observations_cut;
        lines.push(format!(
            "window features: {cut} events went from the log for limits.disk: a restart does not find them"
        ));
    }
    if stats.lost > 0 {
        lines.push(format!("{} verdicts that were durable are missing from the log", stats.lost));
    }
    if stats.quarantine_evicted > 0 {
        lines.push(format!("{} quarantined events went over quarantine.limit", stats.quarantine_evicted));
    }
    for (name, next) in &stats.orphan_cursors {
        lines.push(format!("sink {name} is no longer configured; its cursor stands at {next}"));
    }
    if stats.blobs {
        lines.push("the store holds values outside its log, which no sync covers: this is a bug".to_owned());
    }
    let panics = view.engine.counters().panics.load(Relaxed);
    if panics > 0 {
        lines.push(format!("{panics} events made the code panic; they are in quarantine: this is a bug"));
    }
    lines
}

/// Memory in use, as the kernel counts it; 0 where it does not say.
pub fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}
