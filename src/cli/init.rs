//! `verdictd init`: a complete commented starter config.

use super::{Failure, output::Output};
use crate::config::{SINK_TYPES, SOURCE_TYPES, reference, starter};
use clap::{Args, builder::PossibleValuesParser};

#[derive(Args, Debug)]
pub(super) struct InitArgs {
    /// A source of this type; may be given several times
    #[arg(long, value_name = "TYPE", default_value = "http", value_parser = PossibleValuesParser::new(SOURCE_TYPES))]
    source: Vec<String>,
    /// A sink of this type; may be given several times
    #[arg(long, value_name = "TYPE", default_value = "file", value_parser = PossibleValuesParser::new(SINK_TYPES))]
    sink: Vec<String>,
    /// Print a page of all keys in Markdown instead
    #[arg(long, hide = true)]
    reference: bool,
}

pub(super) fn run(args: &InitArgs) -> Result<(), Failure> {
    let sources: Vec<&str> = args.source.iter().map(String::as_str).collect();
    let sinks: Vec<&str> = args.sink.iter().map(String::as_str).collect();
    let text = if args.reference { reference() } else { starter(&sources, &sinks).map_err(Failure::usage)? };
    let mut out = Output::new();
    out.text(&text)?;
    out.finish()
}
