//! `verdictd run`: the daemon.

use super::{ConfigArg, Failure, check};
use crate::{
    config::load,
    notice,
    service::{self, DaemonError},
};
use clap::Args;

#[derive(Args, Debug)]
pub(super) struct RunArgs {
    #[command(flatten)]
    config: ConfigArg,
}

pub(super) fn run(args: &RunArgs) -> Result<(), Failure> {
    let file = &args.config.config;
    // The bundle is looked at only once where all is well; where it is not, all that is wrong is said at once.
    let loaded = load(file).map_err(|problems| check::faults(file).unwrap_or(problems))?;
    service::log::start(&loaded.config.log);
    for warning in &loaded.warnings {
        tracing::warn!(kind = notice::CONFIG_WARNING.kind, key = warning.key, "{warning}");
    }
    let outcome = service::run(loaded.config, file);
    service::log::flush();
    outcome.map_err(|error| match &error {
        DaemonError::Build(_) => check::faults(file).map_or_else(|| error.into(), Failure::from),
        _ => error.into(),
    })
}
