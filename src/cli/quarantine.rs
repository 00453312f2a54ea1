use super::Failure;
use clap::Subcommand;
#[derive(Debug, Subcommand)]
pub(super) enum QuarantineCommand {
    Info,
}
pub(super) fn run(_: &QuarantineCommand) -> Result<(), Failure> {
    Ok(())
}
