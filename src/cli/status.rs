//! `verdictd status`: what the running daemon says of itself.

use super::{ConfigArg, Failure, output::Output};
use clap::Args;

#[derive(Args, Debug)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    config: ConfigArg,
    /// Print JSON for scripts
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &StatusArgs) -> Result<(), Failure> {
    let _ = (args.json, &args.config, Output::new());
    Ok(())
}
