//! `verdictd bench`: what this box does with the real daemon, beside the floor of the same run.
//!
//! The daemon runs as a child process on a private directory: Unix socket in, file sink out. The *floor* is
//! another child of the same binary, the least that keeps the same promise: it appends each body to a file
//! and answers after a group fdatasync ([`floor`]). One load generator serves both ([`load`]), in turns,
//! for several rounds; each figure is the median over the rounds. Compare figures of one run only.

mod child;
mod engine;
mod events;
mod figures;
pub mod floor;
pub mod load;
mod sync;

#[cfg(test)]
mod tests;

use child::{Child, Process};
use clap::Args;
use figures::{Figures, Round};
use load::{Load, LoadError, Plan};
use std::{io, path::PathBuf, time::Duration};

/// Events a request of the batched load.
pub const BATCH_EVENTS: usize = 100;
/// Connections of the batched load, and requests in flight on each.
const BATCH_CONNECTIONS: usize = 4;
const BATCH_DEPTH: usize = 2;
/// Connections of the loads with one event a request.
const SINGLE_CONNECTIONS: usize = 64;
/// Requests a second of the load that measures latency.
const OPEN_RATE: f64 = 1000.0;

#[derive(Args, Clone, Debug)]
pub struct BenchArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Seconds of each measurement, after a warm-up of a quarter of it
    #[arg(long, default_value_t = 3.0, value_parser = seconds)]
    pub seconds: f64,
    /// Rounds, each of three measurements of the daemon and three of the floor
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=99))]
    pub rounds: u32,
    /// Where the private directories are made; the disk below it is what is measured
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// The model bundle, instead of the shipped one
    #[arg(long, value_name = "DIR")]
    pub bundle: Option<PathBuf>,
}

/// The hidden `bench-floor` command.
#[derive(Args, Clone, Debug)]
pub struct FloorArgs {
    /// Its socket and its file go here
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.1..=600.0).contains(&seconds) => Ok(seconds),
        _ => Err("expected seconds from 0.1 to 600".to_owned()),
    }
}

#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error("{what}: {error}")]
    Io { what: String, error: io::Error },
    #[error("the {name} did not get ready:\n{log}")]
    NotReady { name: &'static str, log: String },
    #[error("load on the {name}: {error}\n{log}")]
    Load { name: &'static str, error: LoadError, log: String },
}

/// Runs the command; its exit code.
#[must_use]
pub fn run(args: &BenchArgs) -> u8 {
    match measure(args) {
        Ok(figures) if args.json => println!("{}", figures.json()),
        Ok(figures) => print!("{}", figures.table()),
        Err(error) => {
            eprintln!("bench: {error}");
            return if matches!(error, BenchError::Io { .. }) { 74 } else { 1 };
        }
    }
    0
}

/// Runs the floor until it is killed; its exit code.
#[must_use]
pub fn run_floor(args: &FloorArgs) -> u8 {
    match floor::run(&args.dir) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("bench-floor: {error}");
            74
        }
    }
}

/// Measures all rounds.
///
/// # Errors
/// When a directory or a child process fails, or an answer is not the expected one.
pub fn measure(args: &BenchArgs) -> Result<Figures, BenchError> {
    let parent = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    let mut rounds = Vec::new();
    for number in 0..args.rounds {
        eprintln!("bench: round {} of {}", number + 1, args.rounds);
        // Neither has always the warmer disk cache or the cooler processor.
        let daemon_first = number % 2 == 0;
        let first = one(args, &parent, daemon_first, number)?;
        let second = one(args, &parent, !daemon_first, number)?;
        let (daemon, floor) = if daemon_first { (first, second) } else { (second, first) };
        rounds.push((daemon, floor));
    }
    let scratch = child::Scratch::new(&parent, "sync")?;
    let sync_ms = sync::p50_ms(&scratch.path).map_err(|error| child::io_error("append and fdatasync", error))?;
    let shipped = child::Scratch::new(&parent, "bundle")?;
    let bundle = child::bundle(args.bundle.as_deref(), &shipped.path)?;
    let engine =
        (0..args.rounds).map(|_| engine::events_per_second(&parent, &bundle)).collect::<Result<Vec<_>, _>>()?;
    let engine = figures::median(engine);
    Ok(Figures { rounds, seconds: args.seconds, sync_ms, engine_events_per_second: Some(engine) })
}

fn one(args: &BenchArgs, parent: &std::path::Path, daemon: bool, number: u32) -> Result<Round, BenchError> {
    let child = if daemon { Child::daemon(parent, args.bundle.as_deref())? } else { Child::floor(parent)? };
    let measured = Duration::from_secs_f64(args.seconds);
    let plan = |per_request, connections, depth, rate| Plan {
        socket: child.socket.clone(),
        per_request,
        connections,
        depth,
        rate,
        warm_up: measured / 4,
        measured,
        verdicts: daemon,
    };
    // Each load has ids of its own.
    let series = u64::from(number) * 3;
    let batch = cpu(&child, &plan(BATCH_EVENTS, BATCH_CONNECTIONS, BATCH_DEPTH, None), series)?;
    let single = cpu(&child, &plan(1, SINGLE_CONNECTIONS, 1, None), series + 1)?;
    let open = cpu(&child, &plan(1, SINGLE_CONNECTIONS, 1, Some(OPEN_RATE)), series + 2)?;
    let peak_rss_bytes = child.process.peak_rss_bytes().map_err(|error| child::io_error("/proc", error))?;
    Ok(Round { batch, single, open, peak_rss_bytes })
}

/// One load, and the child's CPU time in it.
fn cpu(child: &Child, plan: &Plan, series: u64) -> Result<(Load, Duration), BenchError> {
    let mut at_start = Ok(Duration::ZERO);
    let process: Process = child.process;
    let mut source = events::Requests::new(plan.per_request, series);
    let load = load::run(plan, &mut source, || at_start = process.cpu());
    let load = load.map_err(|error| BenchError::Load { name: child.name, error, log: child.log() })?;
    let used = at_start.and_then(|start| Ok(process.cpu()?.saturating_sub(start)));
    Ok((load, used.map_err(|error| child::io_error("/proc", error))?))
}
