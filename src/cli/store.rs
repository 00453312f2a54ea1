use super::Failure;
use clap::Subcommand;
#[derive(Debug, Subcommand)]
pub(super) enum StoreCommand {
    Info,
}
pub(super) fn run(_: &StoreCommand) -> Result<(), Failure> {
    Ok(())
}
