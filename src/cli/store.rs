//! `verdictd store`: a look into a store, also of a stopped or damaged one, without changing a byte; and the one
//! change to it that is made by hand, `forget-sink`.

use super::{ConfigArg, Failure, offline::Replayed, output::Output};
use crate::{
    config::load,
    event::Timestamp,
    model::hex_text,
    store::{
        Shadowed, StoreError, forget_sink,
        inspect::{Inspector, Report},
    },
    verdict::{write_json, write_json_string, write_score},
};
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};
use std::{
    io::{self, Read},
    ops::ControlFlow,
    path::{Path, PathBuf},
};

#[derive(Debug, Subcommand)]
pub(super) enum StoreCommand {
    /// What is in it
    Info(StoreArgs),
    /// Read and check everything; exit code 1 where it is damaged
    Verify(StoreArgs),
    /// Print the verdicts in it as NDJSON, in the order of their sequence
    Events(EventsArgs),
    /// Print the events kept for a replay as NDJSON, with the labels between them: what score, test and backtest read
    Kept(Place),
    /// Drop the cursor of a sink that is no longer configured; the daemon must be stopped
    ForgetSink(ForgetArgs),
}

#[derive(Args, Debug)]
pub(super) struct ForgetArgs {
    /// The sink's name
    name: String,
    #[command(flatten)]
    place: Place,
}

#[derive(Args, Debug)]
pub(super) struct EventsArgs {
    #[command(flatten)]
    place: Place,
    /// The first sequence to print
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    from: u64,
    /// With what the shadow model said of each: the member shadow, null where there is nothing
    #[arg(long)]
    shadow: bool,
}

/// Which store.
#[derive(Args, Debug)]
pub(super) struct StoreArgs {
    #[command(flatten)]
    pub place: Place,
    /// Print JSON for scripts
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub(super) struct Place {
    /// The state-dir, instead of the config's
    #[arg(long, value_name = "DIR", conflicts_with = "config")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    config: ConfigArg,
}

impl Place {
    /// The store, copied and opened.
    pub fn open(&self) -> Result<Inspector, Failure> {
        open_store(&self.dir()?)
    }

    /// The state-dir.
    fn dir(&self) -> Result<PathBuf, Failure> {
        match &self.dir {
            Some(dir) => Ok(dir.clone()),
            None => Ok(load(&self.config.config)?.config.state_dir),
        }
    }
}

/// A copy of the store in a state-dir, opened.
pub(super) fn open_store(dir: &Path) -> Result<Inspector, Failure> {
    Inspector::open(dir).map_err(|error| match error {
        StoreError::Io { kind: io::ErrorKind::NotFound, .. } => no_store(dir),
        error => error.into(),
    })
}

pub(super) fn run(command: &StoreCommand) -> Result<(), Failure> {
    let mut out = Output::new();
    match command {
        StoreCommand::Info(args) => {
            let inspector = args.place.open()?;
            let report = inspector.report();
            if args.json {
                out.json(&as_json(report))?;
            } else {
                out.text(&as_text(report))?;
            }
            out.finish()
        }
        StoreCommand::Verify(args) => {
            let inspector = args.place.open()?;
            let report = inspector.report();
            let damage = report.damage.len();
            if args.json {
                out.json(&as_json(report))?;
            } else if damage == 0 {
                let windows = match report.observations {
                    0 => String::new(),
                    count => format!(", {count} observations for windows"),
                };
                out.line(&format!("whole: {} verdicts in {} chunks{windows}", report.records, report.chunks))?;
            } else {
                for line in &report.damage {
                    out.line(line)?;
                }
            }
            out.finish()?;
            match damage {
                0 => Ok(()),
                n => Err(Failure::does_not_hold(format!("the store is {}", damaged(n)))),
            }
        }
        StoreCommand::Events(args) => {
            let inspector = args.place.open()?;
            let mut line = Vec::new();
            let mut written = Ok(());
            inspector.events(args.from, |record| {
                line.clear();
                write_json(&record.verdict, &mut line);
                if args.shadow {
                    add_shadow(record.shadow.as_ref(), &mut line);
                }
                line.push(b'\n');
                written = out.bytes(&line);
                if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
            written?;
            out.finish()
        }
        StoreCommand::Kept(place) => {
            let mut replayed = Replayed::new(place.open()?)?;
            let mut block = vec![0; 64 << 10];
            loop {
                let count = replayed.read(&mut block).map_err(|error| Failure::input("the store", &error))?;
                match block.get(..count) {
                    Some(read) if count > 0 => out.bytes(read)?,
                    _ => return out.finish(),
                }
            }
        }
        StoreCommand::ForgetSink(args) => {
            let next = forget(&args.name, &args.place)?;
            out.line(&format!("the cursor of {} is dropped; it stood at {next}", args.name))?;
            out.finish()
        }
    }
}

/// Adds a last member to the object that the line is.
fn add_shadow(shadow: Option<&Shadowed<'_>>, line: &mut Vec<u8>) {
    line.pop();
    line.extend_from_slice(b",\"shadow\":");
    if let Some(shadow) = shadow {
        line.extend_from_slice(b"{\"decision\":");
        write_json_string(shadow.decision, line);
        line.extend_from_slice(b",\"score\":");
        write_score(shadow.score, line);
        line.extend_from_slice(b",\"model\":");
        write_json_string(shadow.model, line);
        line.extend_from_slice(format!(",\"model-sha256\":\"{}\"}}", hex_text(shadow.model_sha256)).as_bytes());
    } else {
        line.extend_from_slice(b"null");
    }
    line.push(b'}');
}

/// Returns where the cursor stood.
fn forget(name: &str, place: &Place) -> Result<u64, Failure> {
    let dir = if let Some(dir) = &place.dir {
        dir.clone()
    } else {
        let config = load(&place.config.config)?.config;
        if config.sinks.iter().any(|sink| sink.name == name) {
            let file = place.config.config.display();
            return Err(Failure::usage(format!(
                "sinks.{name} is still in {file}: verdicts that it has not confirmed are kept for it; take it out \
                     of the config first"
            )));
        }
        config.state_dir
    };
    forget_sink(&dir, name).map_err(|error| match error {
        StoreError::Io { kind: io::ErrorKind::NotFound, .. } => no_store(&dir),
        StoreError::NoSuchCursor { .. } => Failure::usage(error.to_string()),
        StoreError::Held { .. } => Failure::config(format!("{error}; stop it first")),
        error => error.into(),
    })
}

fn no_store(dir: &Path) -> Failure {
    Failure::usage(format!("{}: there is no store", dir.display()))
}

fn damaged(places: usize) -> String {
    match places {
        1 => "damaged in 1 place".to_owned(),
        n => format!("damaged in {n} places"),
    }
}

fn as_json(report: &Report) -> Value {
    let cursors = report.cursors.iter().map(|(sink, next)| (sink.clone(), (*next).into()));
    let offsets = report.offsets.iter().map(|(source, bytes)| (source.clone(), (*bytes).into()));
    json!({
        "whole": report.damage.is_empty(),
        "format": report.format,
        "first-sequence": report.first_sequence,
        "next-sequence": report.next_sequence,
        "chunks": report.chunks,
        "verdicts": report.records,
        "file-bytes": report.file_bytes,
        "live-bytes": report.live_bytes,
        "cursors": cursors.collect::<Map<_, _>>(),
        "offset-bytes": offsets.collect::<Map<_, _>>(),
        "kept-events": report.kept_events,
        "observations": report.observations,
        "observed-from": report.observations_from_us.map(when),
        "labels": report.labels,
        "open-calls": report.cases,
        "labels-pending": report.labels_pending,
        "quarantined": report.quarantine.len(),
        "set-aside": report.set_aside,
        "lost": report.lost,
        "held-by": report.held_by,
        "damage": report.damage,
    })
}

/// An event time, microseconds since 1970, as RFC 3339.
fn when(time_us: i64) -> String {
    let mut out = Vec::new();
    Timestamp(time_us).write(&mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// How far the windows can look back.
fn observed(report: &Report) -> String {
    match report.observations_from_us {
        None => "nothing for windows".to_owned(),
        Some(from_us) => format!("{} events for windows, from {} on", report.observations, when(from_us)),
    }
}

fn as_text(report: &Report) -> String {
    let whole = if report.damage.is_empty() { "whole".to_owned() } else { damaged(report.damage.len()) };
    let size = |bytes: u64| crate::config::Size(bytes).rounded();
    let mut lines = vec![
        ("state", whole),
        ("format", report.format.to_string()),
        ("sequences", format!("{} to before {}", report.first_sequence, report.next_sequence)),
        ("verdicts", format!("{} in {} chunks", report.records, report.chunks)),
        ("on disk", format!("{}, of it live {}", size(report.file_bytes), size(report.live_bytes))),
        ("observed", observed(report)),
        ("kept", format!("{} events for a replay", report.kept_events)),
        ("labels", format!("{}, of them {} of events not known yet", report.labels, report.labels_pending)),
        ("quarantine", format!("{} records", report.quarantine.len())),
        ("open calls", report.cases.to_string()),
        ("set aside", format!("{} damaged stores of earlier starts; {} verdicts lost", report.set_aside, report.lost)),
        ("held by", report.held_by.clone().unwrap_or_else(|| "nobody".to_owned())),
    ];
    lines.extend(report.cursors.iter().map(|(sink, next)| ("cursor", format!("{sink} goes on at {next}"))));
    lines.extend(report.offsets.iter().map(|(source, bytes)| ("offset", format!("{source}, {bytes} bytes"))));
    let lines: Vec<String> = lines.iter().map(|(name, value)| format!("{name:<12}{value}\n")).collect();
    lines.concat()
}
