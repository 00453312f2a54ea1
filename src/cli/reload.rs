//! `verdictd reload`: has the running daemon read its config and model anew, and tells what came of it.

use super::{
    ConfigArg, ExitCode, Failure, check,
    client::Client,
    output::{Mark, Output, say},
    status,
};
use crate::{config::load, listen::Listen};
use bytes::Bytes;
use clap::Args;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// How long a reload may take: a model is loaded, and sinks drain.
const RELOAD_WAIT_MAX: Duration = Duration::from_mins(2);

#[derive(Args, Debug)]
pub(super) struct ReloadArgs {
    #[command(flatten)]
    config: ConfigArg,
    /// Print JSON for scripts
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ReloadArgs) -> Result<(), Failure> {
    let mut out = Output::new();
    let report = match (ask(&args.config.config, None), main_process()) {
        (Err(Failure { code: ExitCode::DoesNotHold | ExitCode::Config, message }), Some(daemon)) => {
            return by_signal(&args.config.config, daemon, &message, out);
        }
        (report, _) => report?,
    };
    if args.json {
        out.json(&report)?;
    } else {
        show(&report, &mut out)?;
    }
    out.finish()?;
    if report["ok"] == true { Ok(()) } else { Err(Failure::said(ExitCode::Config)) }
}

/// The daemon, as the service manager names it to its own commands.
fn main_process() -> Option<Pid> {
    Pid::from_raw(std::env::var("MAINPID").ok()?.parse().ok()?)
}

/// Where the daemon cannot be asked (its admin listener is an address, or was another one when it started), the service
/// manager's own command still reloads it: by SIGHUP, once all that can be seen from here is well.
fn by_signal(file: &Path, daemon: Pid, why: &str, mut out: Output<'_>) -> Result<(), Failure> {
    if let Some(problems) = check::faults(file) {
        return Err(problems.into());
    }
    let error = |error: rustix::io::Errno| Failure::does_not_hold(format!("cannot signal process {daemon}: {error}"));
    kill_process(daemon, Signal::HUP).map_err(error)?;
    say(Mark::Warning, why);
    out.line("asked by SIGHUP; what comes of it is in the log and in `verdictd status`")?;
    out.finish()
}

/// Asks the daemon whose config this is, and waits for what comes of it. `back_to`: the SHA-256 of the one manifest that
/// it is to take, also where that is older than what was in use.
///
/// # Errors
/// When the config is at fault (then the daemon is not asked), has no admin socket to ask on, or nobody answers there.
pub(super) fn ask(file: &Path, back_to: Option<&str>) -> Result<Value, Failure> {
    // The bundle is looked at by the daemon; where the config itself is at fault, all faults are said here.
    let config = load(file).map_err(|problems| check::faults(file).unwrap_or(problems))?.config;
    if !matches!(config.admin.listen, Listen::Unix(_)) {
        return Err(Failure::config(
            "admin.listen is an address, on which no reload can be asked for: send SIGHUP to the daemon, and look at \
             `verdictd status`",
        ));
    }
    let mut options = status::options(&config)?;
    options.answer_timeout = RELOAD_WAIT_MAX;
    let silent = |error: &dyn std::fmt::Display| Failure::does_not_hold(format!("{error}; is the daemon running?"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| silent(&error))?;
    let query = back_to.map(|sha256| format!("?back-to={sha256}")).unwrap_or_default();
    let path = format!("/v1/reload{query}");
    let answered =
        runtime.block_on(async { Client::new(options)?.post(&path, "application/json", Bytes::new()).await });
    let answered = answered.map_err(|error| silent(&error))?;
    match serde_json::from_slice::<Value>(&answered.body) {
        Ok(report) if report["ok"].is_boolean() => Ok(report),
        _ => Err(Failure::does_not_hold(format!(
            "the daemon answered {}: {}",
            answered.status,
            String::from_utf8_lossy(&answered.body)
        ))),
    }
}

/// What was swapped on stdout, what is wrong or waits on stderr.
pub(super) fn show(report: &Value, out: &mut Output) -> Result<(), Failure> {
    let lines = |member: &str| report[member].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for problem in lines("problems") {
        let place = match (problem["file"].as_str(), problem["line"].as_u64(), problem["column"].as_u64()) {
            (Some(file), Some(line), Some(column)) => format!("{file}:{line}:{column}: "),
            (Some(file), ..) => format!("{file}: "),
            _ => String::new(),
        };
        say(Mark::Error, &format!("{place}{}", text(&problem["message"])));
    }
    if report["ok"] != true {
        say(Mark::Error, "nothing was changed: what was in force still is");
        return Ok(());
    }
    let changes = lines("changes");
    for change in &changes {
        out.line(&text(change))?;
    }
    if changes.is_empty() {
        out.line("nothing has changed")?;
    }
    for note in lines("notes") {
        say(Mark::Warning, &text(&note));
    }
    let restart: Vec<_> = lines("needs-restart").iter().map(text).collect();
    if !restart.is_empty() {
        say(Mark::Warning, &format!("these changes wait for a restart: {}", restart.join(", ")));
    }
    Ok(())
}
