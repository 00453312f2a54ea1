//! The commands: arguments in, exit code out. One file a command.
//!
//! Rules: results go to stdout, all else to stderr; a command returns a [`Failure`] and does not exit; the
//! codes are in [`failure`].

mod backtest;
pub mod bench;
mod check;
pub mod client;
pub mod demo;
mod failure;
mod help;
mod history;
mod init;
mod model;
mod offline;
mod output;
mod pack;
mod program;
mod quarantine;
mod reload;
mod rollback;
mod run;
mod score;
pub mod send;
mod simulate;
mod sink;
mod status;
mod store;
mod test;
mod uncertain;
mod use_model;

pub use failure::{ExitCode, Failure};

use crate::config::CONFIG_FILE;
use clap::{Args, CommandFactory, Parser, Subcommand};
use output::{Mark, say};
use std::{panic::catch_unwind, path::PathBuf};

/// Scores events at the edge: an event in, one durable verdict out.
#[derive(Debug, Parser)]
#[command(name = "verdictd", version, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 good, 1 the thing checked does not hold, 64 usage, 70 bug, 74 I/O of the \
state directory, 77 permission, 78 config. First steps: verdictd demo; then verdictd init > verdictd.toml, \
verdictd check --config verdictd.toml, verdictd run --config verdictd.toml.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the daemon
    #[command(long_about = help::RUN, after_long_help = help::RUN_EXAMPLES)]
    Run(run::RunArgs),
    /// The main job, whole, on a private directory: with repeats, bad input and a kill, and the proof
    #[command(long_about = help::DEMO, after_long_help = help::DEMO_EXAMPLES)]
    Demo(demo::Demo),
    /// Look for every fault of the config; show the memory plan and the effective config
    #[command(long_about = help::CHECK, after_long_help = help::CHECK_EXAMPLES)]
    Check(check::CheckArgs),
    /// Print a complete commented starter config
    #[command(long_about = help::INIT, after_long_help = help::INIT_EXAMPLES)]
    Init(init::InitArgs),
    /// Post events until each is acked; print their verdicts
    #[command(long_about = help::SEND, after_long_help = help::SEND_EXAMPLES)]
    Send(send::SendArgs),
    /// Measure throughput and latency on this box, beside the floor of the same run
    #[command(long_about = help::BENCH, after_long_help = help::BENCH_EXAMPLES)]
    Bench(bench::BenchArgs),
    /// The smallest server that keeps the same promise, for bench
    #[command(hide = true)]
    BenchFloor(bench::FloorArgs),
    /// Score a file of events offline
    #[command(long_about = help::SCORE, after_long_help = help::SCORE_EXAMPLES)]
    Score(score::ScoreArgs),
    /// Run the cases that lie beside a bundle: events in, and what must come of them
    #[command(long_about = help::TEST, after_long_help = help::TEST_EXAMPLES)]
    Test(test::TestArgs),
    /// Another bundle over events that were decided before: what would change
    #[command(long_about = help::BACKTEST, after_long_help = help::BACKTEST_EXAMPLES)]
    Backtest(backtest::BacktestArgs),
    /// Write simulated card transactions, for trials and for training
    #[command(long_about = help::SIMULATE, after_long_help = help::SIMULATE_EXAMPLES)]
    Simulate(simulate::SimulateArgs),
    /// Show what the running daemon does
    #[command(long_about = help::STATUS, after_long_help = help::STATUS_EXAMPLES)]
    Status(status::StatusArgs),
    /// Have the running daemon read its config and model anew; what is wrong changes nothing
    #[command(long_about = help::RELOAD, after_long_help = help::RELOAD_EXAMPLES)]
    Reload(reload::ReloadArgs),
    /// Look into a store, also of a stopped or damaged one, without changing a byte
    #[command(subcommand, long_about = help::STORE, after_long_help = help::STORE_EXAMPLES)]
    Store(store::StoreCommand),
    /// Look at what was set aside, and why
    #[command(subcommand, long_about = help::QUARANTINE, after_long_help = help::QUARANTINE_EXAMPLES)]
    Quarantine(quarantine::QuarantineCommand),
    /// Calls of guarded sinks whose outcome is not known: list them, settle them
    #[command(subcommand, long_about = help::UNCERTAIN, after_long_help = help::UNCERTAIN_EXAMPLES)]
    Uncertain(uncertain::UncertainCommand),
    /// What a sink needs at its other end
    #[command(subcommand, long_about = help::SINK, after_long_help = help::SINK_EXAMPLES)]
    Sink(sink::SinkCommand),
    /// Look at a model bundle, or have the daemon use another one
    #[command(subcommand, long_about = help::MODEL, after_long_help = help::MODEL_EXAMPLES)]
    Model(model::ModelCommand),
}

/// Where the config is.
#[derive(Args, Clone, Debug)]
struct ConfigArg {
    /// The config; conf.d/*.toml beside it is laid over it
    #[arg(long, value_name = "FILE", default_value = CONFIG_FILE)]
    config: PathBuf,
}

/// The definition of all commands, of which help, man pages and completions are made.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}

/// Parses the arguments and runs the command.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { ExitCode::Usage } else { ExitCode::Good };
        }
    };
    let Ok(result) = catch_unwind(|| dispatch(cli.command)) else {
        say(Mark::Error, "this is a bug of verdictd; the lines above say where");
        return ExitCode::Bug;
    };
    match result {
        Ok(()) => ExitCode::Good,
        Err(failure) => {
            say(Mark::Error, &failure.message);
            failure.code
        }
    }
}

fn dispatch(command: Command) -> Result<(), Failure> {
    match command {
        Command::Run(args) => run::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Init(args) => init::run(&args),
        Command::Demo(args) => demo(&args),
        Command::Send(args) => said(send::run(&args)),
        Command::Bench(args) => said(bench::run(&args)),
        Command::BenchFloor(args) => said(bench::run_floor(&args)),
        Command::Score(args) => score::run(&args),
        Command::Test(args) => test::run(&args),
        Command::Backtest(args) => backtest::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Reload(args) => reload::run(&args),
        Command::Store(command) => store::run(&command),
        Command::Quarantine(command) => quarantine::run(&command),
        Command::Uncertain(command) => uncertain::run(&command),
        Command::Sink(command) => sink::run(&command),
        Command::Model(command) => model::run(&command),
    }
}

/// The end of a command that has said why itself.
fn said(code: u8) -> Result<(), Failure> {
    match ExitCode::from(code) {
        ExitCode::Good => Ok(()),
        code => Err(Failure::said(code)),
    }
}

fn demo(args: &demo::Demo) -> Result<(), Failure> {
    match args.run(&mut std::io::stdout()) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::said(ExitCode::DoesNotHold)),
        Err(error @ demo::DemoError::NotEmpty(_)) => Err(Failure::usage(error.to_string())),
        Err(error @ demo::DemoError::File { .. }) => Err(Failure::new(ExitCode::Io, error.to_string())),
        Err(error) => Err(Failure::does_not_hold(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        command().debug_assert();
    }
}
