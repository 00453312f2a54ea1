//! `verdictd sink ddl`: the table that a sink needs.

use super::{Failure, output::Output};
use crate::config::{CONFIG_FILE, Config, Sink, SinkKind, TableName, default_columns, load};
use crate::forward::postgres::{Layout, OnConflict, ddl};
use crate::service::postgres_layout;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(super) enum SinkCommand {
    /// Print the SQL that makes the table a sink needs
    Ddl(DdlArgs),
}

#[derive(Args, Debug)]
pub(super) struct DdlArgs {
    /// The type of the sink
    #[arg(value_name = "TYPE")]
    kind: DdlKind,
    /// Print it for the sinks of this config, with their table and columns, not for the default ones
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Only for the sink of this name, of the config given or else of the usual one
    #[arg(long, value_name = "NAME")]
    sink: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DdlKind {
    Postgres,
}

pub(super) fn run(command: &SinkCommand) -> Result<(), Failure> {
    let SinkCommand::Ddl(args) = command;
    let DdlKind::Postgres = args.kind;
    let mut out = Output::new();
    out.text(&text(args)?)?;
    out.finish()
}

fn text(args: &DdlArgs) -> Result<String, Failure> {
    if args.config.is_none() && args.sink.is_none() {
        return default_text();
    }
    let file = args.config.clone().unwrap_or_else(|| CONFIG_FILE.into());
    let config = load(&file)?.config;
    let sinks = chosen(&config, args.sink.as_deref())?;
    let mut parts = Vec::with_capacity(sinks.len());
    for sink in sinks {
        let SinkKind::Postgres(to) = &sink.kind else { continue };
        let layout = postgres_layout(sink, to)?;
        parts.push(format!("-- Sink {}: {}\n{}", sink.name, to.address, ddl(&layout, &to.address.user)));
    }
    Ok(parts.join("\n"))
}

fn default_text() -> Result<String, Failure> {
    let table = TableName { schema: None, name: "verdicts".to_owned() };
    let layout = Layout::new(table, default_columns(), OnConflict::Nothing);
    let layout = layout.map_err(|error| Failure::new(super::ExitCode::Bug, error.to_string()))?;
    Ok(format!("-- The default table and columns, for the user verdictd\n{}", ddl(&layout, "verdictd")))
}

/// The sinks of the type, or the one of a name.
fn chosen<'a>(config: &'a Config, name: Option<&str>) -> Result<Vec<&'a Sink>, Failure> {
    let is_one = |sink: &&Sink| matches!(sink.kind, SinkKind::Postgres(_));
    let all: Vec<&Sink> = config.sinks.iter().filter(is_one).collect();
    let names = all.iter().map(|sink| sink.name.as_str()).collect::<Vec<_>>().join(", ");
    let there_is = if names.is_empty() { "there is none".to_owned() } else { format!("there is {names}") };
    let found: Vec<&Sink> = all.into_iter().filter(|sink| name.is_none_or(|name| name == sink.name)).collect();
    match (found.is_empty(), name) {
        (false, _) => Ok(found),
        (true, Some(name)) => Err(Failure::usage(format!("no sink {name} of type postgres; {there_is}"))),
        (true, None) => Err(Failure::usage("the config has no sink of type postgres".to_owned())),
    }
}
