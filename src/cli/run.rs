//! `verdictd run`: the daemon.

use super::{ConfigArg, Failure};
use crate::{config::load, service};
use clap::Args;

#[derive(Args, Debug)]
pub(super) struct RunArgs {
    #[command(flatten)]
    config: ConfigArg,
}

pub(super) fn run(args: &RunArgs) -> Result<(), Failure> {
    let loaded = load(&args.config.config)?;
    service::log::start(&loaded.config.log);
    for warning in &loaded.warnings {
        tracing::warn!(key = warning.key, "{warning}");
    }
    Ok(service::run(loaded.config)?)
}
