//! `verdictd simulate`: simulated card transactions, NDJSON on stdout, for trials and for training.

use super::{Failure, output::Output};
use crate::simulate::{DAYS_MAX, Options, SimulateError, SimulateOptions, simulate};
use clap::{Args, value_parser};

#[derive(Args, Debug)]
pub(super) struct SimulateArgs {
    /// Whole days to write, about 10,000 events each; with the days skipped at most 3650
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=i64::from(DAYS_MAX)))]
    days: u32,
    /// The same seed gives the same events, byte for byte
    #[arg(long, value_name = "S")]
    seed: u64,
    /// Days to leave out first: what a model was trained on, say
    #[arg(long, value_name = "K", default_value_t = 0, value_parser = value_parser!(u32).range(0..=i64::from(DAYS_MAX)))]
    skip_days: u32,
    // A doc comment would want code marks, which the help would show.
    #[arg(long, help = "Add TX_FRAUD (0 or 1) and TX_FRAUD_SCENARIO (0 to 3) to each event")]
    labels: bool,
}

pub(super) fn run(args: &SimulateArgs) -> Result<(), Failure> {
    let asked = SimulateOptions {
        seed: args.seed,
        days: args.days,
        skip_days: args.skip_days,
        labels: args.labels,
        options: Options::default(),
    };
    let mut out = Output::new();
    match simulate(&asked, out.writer()) {
        Ok(_) => out.finish(),
        Err(error @ SimulateError::Days(_)) => Err(Failure::usage(error.to_string())),
        Err(SimulateError::Write(error)) => Err(Failure::output(&error)),
    }
}
