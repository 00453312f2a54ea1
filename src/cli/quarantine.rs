//! `verdictd quarantine`: what was set aside, and why.

use super::{
    Failure,
    output::Output,
    store::{Place, StoreArgs},
};
use crate::{event::Timestamp, store::QuarantineInfo};
use clap::{Args, Subcommand};
use serde_json::json;

#[derive(Debug, Subcommand)]
pub(super) enum QuarantineCommand {
    /// One line an entry, the oldest first
    List(StoreArgs),
    /// The bytes of one entry as they came, on stdout; what is known of it, on stderr
    Show(ShowArgs),
}

#[derive(Args, Debug)]
pub(super) struct ShowArgs {
    #[command(flatten)]
    place: Place,
    /// Its number in the list
    #[arg(value_name = "SEQ")]
    sequence: u64,
}

pub(super) fn run(command: &QuarantineCommand) -> Result<(), Failure> {
    match command {
        QuarantineCommand::List(args) => list(args),
        QuarantineCommand::Show(args) => show(args),
    }
}

fn list(args: &StoreArgs) -> Result<(), Failure> {
    let mut out = Output::new();
    for info in args.place.open()?.quarantine()? {
        out.line(&if args.json { as_json(&info) } else { as_text(&info) })?;
    }
    out.finish()
}

fn show(args: &ShowArgs) -> Result<(), Failure> {
    let found = args.place.open()?.quarantine_get(args.sequence)?;
    let (info, entry) = found
        .ok_or_else(|| Failure::does_not_hold(format!("there is no entry {} in the quarantine", args.sequence)))?;
    eprintln!("{}", as_text(&info));
    let mut out = Output::new();
    out.bytes(&entry.bytes)?;
    out.finish()
}

fn at(info: &QuarantineInfo) -> String {
    let mut text = Vec::new();
    Timestamp(info.at_ms.saturating_mul(1000)).write(&mut text);
    String::from_utf8(text).unwrap_or_default()
}

fn as_json(info: &QuarantineInfo) -> String {
    json!({
        "sequence": info.sequence,
        "kind": info.kind,
        "source": info.source,
        "id": info.id,
        "reason": info.reason,
        "bytes": info.bytes,
        "at": at(info),
    })
    .to_string()
}

fn as_text(info: &QuarantineInfo) -> String {
    // Ids and reasons hold what senders wrote: no control character of theirs reaches the terminal.
    let id = info.id.as_deref().unwrap_or("-").escape_debug().to_string();
    let reason = info.reason.escape_debug().to_string();
    format!("{}  {}  {}  {}  {id}  {} bytes: {reason}", info.sequence, at(info), info.kind, info.source, info.bytes)
}
