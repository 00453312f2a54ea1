//! `verdictd uncertain`: the calls of guarded sinks whose outcome is not known, and settling them.
//!
//! The running daemon is asked on its admin socket. Where none runs, the store is looked at, or changed, itself.

use super::{
    ConfigArg, Failure,
    client::{Answered, Client, ClientError},
    output::Output,
    status,
};
use crate::{
    config::{Config, load},
    service::{case_json, only_sink},
    store::{StoreError, inspect::Inspector, settle_case},
};
use bytes::Bytes;
use clap::{ArgGroup, Args, Subcommand};
use serde_json::Value;
use std::{
    io,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// How long the daemon has for one commit, or for the list.
const ANSWER_WAIT_MAX: Duration = Duration::from_secs(30);

#[derive(Debug, Subcommand)]
pub(super) enum UncertainCommand {
    /// One line a call, by sink and sequence
    List(ListArgs),
    /// Say what came of a call, or have it made again
    Resolve(ResolveArgs),
}

#[derive(Args, Debug)]
pub(super) struct ListArgs {
    #[command(flatten)]
    config: ConfigArg,
    /// Print JSON for scripts, a line each
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
#[command(group = ArgGroup::new("how").required(true))]
pub(super) struct ResolveArgs {
    #[command(flatten)]
    config: ConfigArg,
    /// The verdict's sequence, as listed
    #[arg(value_name = "SEQ")]
    sequence: u64,
    /// It was done: it is not made again
    #[arg(long, group = "how")]
    delivered: bool,
    /// It was not done: it is made again, before any later one
    #[arg(long, group = "how")]
    resend: bool,
    /// The sink, where several have a call of this verdict
    #[arg(long, value_name = "NAME")]
    sink: Option<String>,
}

pub(super) fn run(command: &UncertainCommand) -> Result<(), Failure> {
    match command {
        UncertainCommand::List(args) => list(args),
        UncertainCommand::Resolve(args) => resolve(args),
    }
}

fn list(args: &ListArgs) -> Result<(), Failure> {
    let config = load(&args.config.config)?.config;
    let calls = match ask(&config, "/v1/uncertain", false)? {
        Some(answered) => read(&answered)?["calls"].as_array().cloned().unwrap_or_default(),
        None => match Inspector::open(&config.state_dir) {
            Ok(inspector) => inspector.cases()?.iter().map(case_json).collect(),
            Err(StoreError::Io { kind: io::ErrorKind::NotFound, .. }) => Vec::new(),
            Err(error) => return Err(error.into()),
        },
    };
    let mut out = Output::new();
    for call in &calls {
        out.line(&if args.json { call.to_string() } else { as_text(call) })?;
    }
    out.finish()
}

fn resolve(args: &ResolveArgs) -> Result<(), Failure> {
    let config = load(&args.config.config)?.config;
    let (sequence, how) = (args.sequence, if args.resend { "resend" } else { "delivered" });
    let sink = args.sink.as_ref().map(|sink| format!("&sink={sink}")).unwrap_or_default();
    let path = format!("/v1/uncertain/resolve?sequence={sequence}&as={how}{sink}");
    let sink = match ask(&config, &path, true)? {
        Some(answered) => read(&answered)?["sink"].as_str().unwrap_or_default().to_owned(),
        None => settle(&config, args)?,
    };
    let mut out = Output::new();
    let what = if args.resend { "it is made again" } else { "it counts as made" };
    out.line(&format!("sink {sink}, verdict {sequence}: {what}"))?;
    out.finish()
}

/// In the store of a daemon that does not run.
fn settle(config: &Config, args: &ResolveArgs) -> Result<String, Failure> {
    let dir = &config.state_dir;
    let sink = match &args.sink {
        Some(sink) => sink.clone(),
        None => only_sink(&Inspector::open(dir)?.cases()?, args.sequence).map_err(Failure::does_not_hold)?,
    };
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let at_ms = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    match settle_case(dir, &sink, args.sequence, args.resend, at_ms) {
        Ok(case) => Ok(case.sink),
        Err(error @ StoreError::NoSuchCase { .. }) => Err(Failure::does_not_hold(error.to_string())),
        Err(error) => Err(error.into()),
    }
}

/// Asks the daemon; None where nobody answers at its address.
fn ask(config: &Config, path: &str, post: bool) -> Result<Option<Answered>, Failure> {
    let mut options = status::options(config)?;
    options.answer_timeout = ANSWER_WAIT_MAX;
    let failed = |error: &dyn std::fmt::Display| Failure::does_not_hold(error.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| failed(&error))?;
    let answered = runtime.block_on(async {
        let mut client = Client::new(options)?;
        if post { client.post(path, "application/json", Bytes::new()).await } else { client.get(path).await }
    });
    match answered {
        Ok(answered) => Ok(Some(answered)),
        Err(ClientError::Connect { error, .. })
            if [io::ErrorKind::NotFound, io::ErrorKind::ConnectionRefused].contains(&error.kind()) =>
        {
            Ok(None)
        }
        Err(error) => Err(failed(&error)),
    }
}

/// The object in an answer; a problem's detail is why there is none.
fn read(answered: &Answered) -> Result<Value, Failure> {
    let value = serde_json::from_slice::<Value>(&answered.body).unwrap_or_default();
    if let Some(error) = value["error"].as_str().filter(|_| answered.status == 200) {
        return Err(Failure::does_not_hold(error));
    }
    if answered.status == 200 && value.is_object() {
        return Ok(value);
    }
    let detail = value["detail"].as_str().map(str::to_owned);
    let text = detail.unwrap_or_else(|| format!("the daemon answered with status {}", answered.status));
    Err(Failure::does_not_hold(text))
}

fn as_text(call: &Value) -> String {
    // Ids and reasons hold what others wrote: no control character of theirs reaches the terminal.
    let text = |name: &str| call[name].as_str().unwrap_or("-").escape_debug().to_string();
    let calls = match call["calls"].as_u64() {
        Some(calls) if calls > 1 => format!(", begun {calls} times"),
        _ => String::new(),
    };
    let reason = call["reason"].as_str().filter(|reason| !reason.is_empty());
    let reason = reason.map(|reason| format!(": {}", reason.escape_debug())).unwrap_or_default();
    format!(
        "{}  {}  {}  {}  {}  {}{calls}{reason}",
        call["sequence"],
        text("since"),
        text("sink"),
        text("state"),
        text("source"),
        text("id"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_is_a_line_without_control_characters() {
        let call = json!({ "sequence": 7, "since": "2026-01-01T00:00:00.000Z", "sink": "letters", "state": "uncertain",
                           "source": "pos", "id": "a\u{1b}b", "calls": 2, "reason": "no answer within 10 s" });
        let line =
            "7  2026-01-01T00:00:00.000Z  letters  uncertain  pos  a\\u{1b}b, begun 2 times: no answer within 10 s";
        assert_eq!(as_text(&call), line);
    }
}
