//! `verdictd model`: what a bundle is, what it needs, and whether it is whole.

use super::{ExitCode, Failure, history, output::Output, pack, rollback, store::StoreArgs, use_model};
use crate::config::Problems;
use crate::model::{LoadOptions, ModelError, inspect, verify};
use crate::service::manifest_faults;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(super) enum ModelCommand {
    /// Which model was in use when
    History(StoreArgs),
    /// What it needs and costs
    Inspect(ModelArgs),
    /// Make a bundle of a bare model file
    Pack(pack::PackArgs),
    /// Go back to the bundle that was in use before, also where it is the older one
    Rollback(rollback::RollbackArgs),
    /// Point model.bundle to another bundle, and have the running daemon take it
    Use(use_model::UseArgs),
    /// Check hash, signature, parity vectors, memory, and the plan against the reference
    Verify(ModelArgs),
}

#[derive(Args, Debug)]
pub(super) struct ModelArgs {
    /// The bundle, or a bare model file
    #[arg(value_name = "DIR|FILE")]
    bundle: PathBuf,
    /// A minisign public key that must have signed it
    #[arg(long, value_name = "FILE")]
    public_key: Option<PathBuf>,
    /// Print JSON for scripts
    #[arg(long)]
    json: bool,
}

impl ModelArgs {
    fn options(&self) -> LoadOptions {
        // A look at a model is no promise that it fits an appliance: `check` is.
        LoadOptions { public_key: self.public_key.clone(), memory_bytes_max: 1 << 32, ..LoadOptions::default() }
    }
}

pub(super) fn run(command: &ModelCommand) -> Result<(), Failure> {
    let mut out = Output::new();
    match command {
        ModelCommand::History(args) => return history::run(args),
        ModelCommand::Pack(args) => return pack::run(args),
        ModelCommand::Rollback(args) => return rollback::run(args),
        ModelCommand::Use(args) => return use_model::run(args),
        ModelCommand::Inspect(args) => {
            let inspection = inspect(&args.bundle, &args.options()).map_err(|error| failure(&error))?;
            if args.json { out.json(&inspection)? } else { out.text(&ended(inspection.to_string()))? }
        }
        ModelCommand::Verify(args) => {
            let found = verify(&args.bundle, &args.options()).map_err(|error| failure(&error))?;
            if args.json {
                out.json(&serde_json::json!({
                    "ok": true,
                    "signed": found.signed,
                    "plan-worst": found.plan_worst,
                    "parity-rows": found.inspection.parity_rows,
                    "parity-worst": found.inspection.parity_worst,
                    "model": found.inspection,
                }))?;
            } else {
                let parity = match found.inspection.parity_rows {
                    0 => "no parity vectors".to_owned(),
                    rows => format!("{rows} parity vectors within {:.1e}", found.inspection.parity_worst),
                };
                let plan = found
                    .plan_worst
                    .map_or_else(String::new, |worst| format!("; plan and reference within {worst:.1e}"));
                let signed = if found.signed { "signature good" } else { "signature not asked for" };
                out.line(&format!(
                    "{}@{}: good: hash, shapes and values; {signed}; {parity}{plan}",
                    found.inspection.name, found.inspection.version
                ))?;
            }
        }
    }
    out.finish()
}

fn ended(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// A bundle that is refused is what was checked and does not hold; one a line.
pub(super) fn failure(error: &ModelError) -> Failure {
    let code = match error {
        ModelError::Io { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => ExitCode::Permission,
        _ => ExitCode::DoesNotHold,
    };
    if let Some(faults) = manifest_faults(error) {
        return Failure::new(code, Problems(faults).sorted().to_string());
    }
    let lines = error.problems().into_iter().map(|problem| {
        let place = if problem.key.is_empty() { String::new() } else { format!("{}: ", problem.key) };
        format!("{}: {place}{}", error.file().display(), problem.what)
    });
    Failure::new(code, lines.collect::<Vec<_>>().join("\n"))
}
