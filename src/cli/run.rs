//! `verdictd run`: the daemon.

use super::{ConfigArg, Failure};
use clap::Args;

#[derive(Args, Debug)]
pub(super) struct RunArgs {
    #[command(flatten)]
    config: ConfigArg,
}

pub(super) fn run(args: &RunArgs) -> Result<(), Failure> {
    let loaded = crate::config::load(&args.config.config)?;
    let _ = loaded;
    Err(Failure::new(super::ExitCode::Bug, "run is not wired up"))
}
