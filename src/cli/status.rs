//! `verdictd status`: what the running daemon says of itself, by its admin listener.

use super::{
    ConfigArg, Failure,
    client::{Address, Client, ClientOptions},
    output::{Mark, Output, say},
};
use crate::{
    config::{Config, Size, files, load},
    listen::Listen,
};
use clap::Args;
use jiff::Timestamp;
use serde_json::Value;
use std::time::Duration;

/// How long the daemon may take to answer.
const ANSWER_WAIT_MAX: Duration = Duration::from_secs(5);

#[derive(Args, Debug)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    config: ConfigArg,
    /// The admin listener, instead of the config's: unix:PATH or HOST:PORT
    #[arg(long, value_name = "ADDR", conflicts_with = "config")]
    to: Option<Address>,
    /// Print JSON for scripts
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &StatusArgs) -> Result<(), Failure> {
    let status = match &args.to {
        Some(address) => fetch(ClientOptions::new(address.clone()))?,
        None => ask(&load(&args.config.config)?.config)?,
    };
    let mut out = Output::new();
    if args.json {
        out.json(&status)?;
    } else {
        out.text(&as_text(&status, Timestamp::now()))?;
        for warning in status["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            say(Mark::Warning, warning);
        }
    }
    out.finish()
}

/// What the daemon of this config says of itself.
pub(super) fn ask(config: &Config) -> Result<Value, Failure> {
    fetch(options(config)?)
}

/// The shadow's line, if there is one.
fn shadow(shadow: &Value) -> Option<String> {
    let text = |name: &str| shadow[name].as_str().unwrap_or("-");
    let (events, agreed) = (shadow["events"].as_u64()?, shadow["agreed"].as_u64()?);
    let number = |name: &str| shadow[name].as_f64().map_or_else(|| "-".to_owned(), |number| format!("{number:.4}"));
    let took = shadow["row-seconds"].as_f64().map_or_else(|| "-".to_owned(), |took| format!("{:.1}", took * 1e6));
    let (difference, drift) = (number("score-difference"), number("score-drift"));
    Some(format!(
        "{}@{} {}: {agreed} of {events} decided alike, scores apart by {difference}, drift {drift}, {took} µs an event",
        text("name"),
        text("version"),
        text("state"),
    ))
}

/// How to reach the admin listener of this config.
pub(super) fn options(config: &Config) -> Result<ClientOptions, Failure> {
    let admin = &config.admin;
    let address = match &admin.listen {
        Listen::Unix(path) => Address::Unix(path.clone()),
        Listen::Tcp(address) => {
            Address::Tcp { host: address.ip().to_string(), port: address.port(), tls: admin.tls.is_some() }
        }
    };
    let mut options = ClientOptions::new(address);
    if let Some(file) = &admin.token_file {
        let token = files::read_token(file).map_err(|error| Failure::input(&file.display().to_string(), &error))?;
        options.token = Some(token);
    }
    Ok(options)
}

fn fetch(mut options: ClientOptions) -> Result<Value, Failure> {
    options.answer_timeout = ANSWER_WAIT_MAX;
    let address = options.address.clone();
    let silent = |error: &dyn std::fmt::Display| Failure::does_not_hold(format!("{error}; is the daemon running?"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| silent(&error))?;
    let answered = runtime.block_on(async { Client::new(options)?.get("/v1/status").await });
    let answered = answered.map_err(|error| silent(&error))?;
    if answered.status != 200 {
        return Err(Failure::does_not_hold(format!("{address} answered with status {}", answered.status)));
    }
    serde_json::from_slice(&answered.body)
        .map_err(|error| Failure::does_not_hold(format!("{address} gave no JSON: {error}")))
}

/// For people: a line a part, with what matters only where there is any. Warnings are said apart. Members that a
/// daemon of another version lacks show as 0 or -.
fn as_text(status: &Value, now: Timestamp) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let size = |value: &Value| Size(count(value)).rounded();
    let list = |name: &str| status[name].as_array().cloned().unwrap_or_default();
    let (dedup, memory, disk) = (&status["dedup"], &status["memory"], &status["disk"]);
    let (store, quarantine, model) = (&status["store"], &status["quarantine"], &status["model"]);

    let ready = if status["ready"] == Value::Bool(true) { "ready" } else { "not ready" };
    let (pid, up) = (count(&status["pid"]), elapsed(count(&status["uptime-seconds"])));
    let (instance, version) = (text(&status["instance"]), text(&status["version"]));
    let mut lines = vec![
        ("daemon", format!("{ready}; {instance}, process {pid}, version {version}, up {up}")),
        ("model", format!("{}@{}, sha256 {}", text(&model["name"]), text(&model["version"]), text(&model["sha256"]))),
    ];
    lines.extend(shadow(&status["shadow"]).map(|line| ("shadow", line)));
    for source in list("sources") {
        let counts = ["accepted", "duplicate", "conflict", "quarantined", "refused"];
        let counts = counts.map(|name| format!("{} {name}", count(&source[name])));
        let (name, from) = (text(&source["name"]), text(&source["from"]));
        // Only what clients connect to counts connections; the others have a link of their own.
        let link = match source["connections"].as_u64() {
            Some(connections) => format!("; {connections} connected"),
            None => last_error(&source, now),
        };
        let state = text(&source["state"]);
        lines.push(("source", format!("{name} {state} at {from}: {}{link}", counts.join(", "))));
    }
    for sink in list("sinks") {
        let state = text(&sink["state"]);
        let (name, delivered, waiting) = (text(&sink["name"]), count(&sink["delivered"]), count(&sink["lag-events"]));
        let age = sink["lag-seconds"].as_f64().filter(|_| waiting > 0);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // whole seconds, at most 2^64
        let age = age.map(|age| format!(", the oldest for {}", elapsed(age.round() as u64))).unwrap_or_default();
        let (target, error) = (text(&sink["target"]), last_error(&sink, now));
        let uncertain = some(count(&sink["guarded"]["uncertain"]), "uncertain");
        let held = sink["guarded"]["held-by"].as_str().map(|key| format!("; held by {key}")).unwrap_or_default();
        lines.push((
            "sink",
            format!(
                "{name} {state} at {target}: {delivered} delivered, {waiting} waiting{age}{uncertain}{held}{error}"
            ),
        ));
    }
    let (configured, force) = (count(&dedup["window-seconds"]), count(&dedup["window-in-force-seconds"]));
    let cut = match dedup["cut-by"].as_str() {
        Some(budget) => format!("cut to {} by {budget}", elapsed(force)),
        None => "whole".to_owned(),
    };
    let (known, index) = (count(&dedup["events"]), size(&dedup["index-bytes"]));
    let next = count(&store["next-sequence"]);
    lines.push(("dedup", format!("window of {}, {cut}; {known} events known, index {index}", elapsed(configured))));
    lines.push(("memory", format!("{} of {}", size(&memory["resident"]), size(&memory["budget"]))));
    let free = size(&disk["free"]);
    lines.push(("disk", format!("{} of {}; {free} free on it", size(&disk["used"]), size(&disk["budget"]))));
    let held = match (count(&store["oldest-sequence"]), next) {
        (oldest, next) if oldest < next => format!("sequences {oldest} to {}", next - 1),
        _ => "empty".to_owned(),
    };
    let aside = some(count(&store["set-aside"]), "damaged stores set aside");
    lines.push(("store", format!("{held}{aside}{}", some(count(&store["lost"]), "verdicts lost"))));
    let entries = match count(&quarantine["events"]) {
        0 => "empty".to_owned(),
        entries => format!("{entries} records, {}", size(&quarantine["bytes"])),
    };
    lines.push(("quarantine", format!("{entries}{}", some(count(&quarantine["evicted"]), "evicted"))));
    let lines: Vec<String> = lines.iter().map(|(name, value)| format!("{name:<12}{value}\n")).collect();
    lines.concat()
}

/// A count that is worth a word only where there is one.
fn some(count: u64, of: &str) -> String {
    if count == 0 { String::new() } else { format!("; {count} {of}") }
}

/// The last error, also after a recovery: so with its age, where the daemon says when it was.
fn last_error(link: &Value, now: Timestamp) -> String {
    let Some(error) = link["last-error"]["text"].as_str() else { return String::new() };
    let at = link["last-error"]["at"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
    let age = at.map(|at| format!(" {} ago", elapsed(now.duration_since(at).as_secs().unsigned_abs())));
    format!("; last error{}: {error}", age.unwrap_or_default())
}

/// A time in its two greatest units: `7 d`, `2 h 5 min`.
fn elapsed(seconds: u64) -> String {
    let units = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let mut rest = seconds;
    let mut parts = Vec::new();
    for (length, unit) in units {
        if rest >= length {
            parts.push(format!("{} {unit}", rest / length));
            rest %= length;
        } else if !parts.is_empty() {
            break;
        }
        if parts.len() == 2 {
            break;
        }
    }
    if parts.is_empty() { "0 s".to_owned() } else { parts.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_form_says_what_is_waiting_and_what_is_cut() {
        let status = serde_json::json!({
            "ready": true,
            "sinks": [{ "name": "audit", "state": "down", "target": "/v.ndjson", "lag-events": 3, "lag-seconds": 7_502.25,
                        "last-error": { "text": "full", "at": "2026-01-01T00:00:00Z" } }],
            "sources": [{ "name": "site", "from": "b:1 t", "state": "down", "accepted": 2, "last-error": { "text": "no" } },
                        { "name": "pos", "from": "unix:/e", "state": "up", "connections": 4 }],
            "dedup": { "window-seconds": 604_800, "window-in-force-seconds": 7_500, "cut-by": "limits.memory" },
            "store": { "oldest-sequence": 1, "next-sequence": 5, "lost": 2 },
            "warnings": ["the window is cut"],
        });
        let text = as_text(&status, "2026-01-01T00:01:30Z".parse().unwrap());
        let sink = "audit down at /v.ndjson: 0 delivered, 3 waiting, the oldest for 2 h 5 min; \
                    last error 1 min 30 s ago: full";
        assert!(text.contains(sink), "{text}");
        assert!(text.contains("store       sequences 1 to 4; 2 verdicts lost\nquarantine  empty\n"), "{text}");
        assert!(text.contains("site down at b:1 t: 2 accepted, 0 duplicate"), "{text}");
        assert!(text.contains("0 refused; last error: no"), "{text}");
        assert!(text.contains("pos up at unix:/e: 0 accepted") && text.contains("0 refused; 4 connected"), "{text}");
        assert!(text.contains("window of 7 d, cut to 2 h 5 min by limits.memory"), "{text}");
    }

    #[test]
    fn a_time_is_shown_in_two_units() {
        for (seconds, text) in [(0, "0 s"), (59, "59 s"), (3_600, "1 h"), (3_659, "1 h"), (93_784, "1 d 2 h")] {
            assert_eq!(elapsed(seconds), text);
        }
    }
}
