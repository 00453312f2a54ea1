//! `verdictd score`: a file of events to verdicts, offline, in input order.
//!
//! The decoder, the features and the model are the daemon's, so the answer is the daemon's, less what only a
//! commit gives (`sequence`, `decided`). A bad line gives a problem line in its place. Memory is bounded:
//! events are read in slices of [`SLICE_BYTES_MAX`], and one event has at most [`EVENT_BYTES_MAX`].

mod events;
mod input;
mod rows;

#[cfg(test)]
mod tests;

use super::{Failure, model::failure, output::Output};
use crate::{
    event::{IdentityRules, KeyRule, Pointer, PointerError, SourceRule},
    model::{LoadOptions, load},
};
use clap::{Args, ValueEnum};
use input::Input;
use std::path::PathBuf;

/// Bytes of events that are scored in one go.
pub const SLICE_BYTES_MAX: usize = 256 << 10;
/// One event, as the daemon's default has it.
pub const EVENT_BYTES_MAX: usize = 256 << 10;

#[derive(Args, Debug)]
pub(super) struct ScoreArgs {
    /// The bundle that scores
    #[arg(long, value_name = "DIR", required_unless_present = "model")]
    bundle: Option<PathBuf>,
    /// A bare model file instead: ONNX, LightGBM's text, XGBoost's JSON or UBJSON
    #[arg(long, value_name = "FILE", conflicts_with = "bundle")]
    model: Option<PathBuf>,
    /// The CSV's columns are the model's inputs themselves
    #[arg(long)]
    rows: bool,
    /// Add the row of features, by name
    #[arg(long)]
    features: bool,
    /// With --rows: add the leaf that the row reaches in each tree, as the model's library numbers them
    #[arg(long, requires = "rows")]
    leaves: bool,
    /// Where neither the name nor the first byte of FILE says it
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Where an event's id stands; of a CSV without such a column the number of the record is taken
    #[arg(long, value_name = "POINTER", default_value = "/id", value_parser = pointer)]
    id: Pointer,
    /// Where its key stands; several times for a key of several
    #[arg(long, value_name = "POINTER", default_value = "/key", value_parser = pointer)]
    key: Vec<Pointer>,
    /// Where its time stands
    #[arg(long, value_name = "POINTER", default_value = "/time", value_parser = pointer)]
    time: Pointer,
    /// The source of events that do not say: a text, or a pointer (it begins with /)
    #[arg(long, value_name = "NAME", default_value = "score")]
    source: String,
    /// A minisign public key that must have signed the bundle
    #[arg(long, value_name = "FILE")]
    public_key: Option<PathBuf>,
    /// CSV with a header, or NDJSON; standard input where not given or "-"
    file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Ndjson,
    Csv,
}

fn pointer(text: &str) -> Result<Pointer, PointerError> {
    Pointer::parse(text)
}

impl ScoreArgs {
    fn rules(&self) -> Result<IdentityRules, Failure> {
        let source = if self.source.starts_with('/') {
            let pointer = pointer(&self.source).map_err(|error| Failure::usage(format!("--source: {error}")))?;
            SourceRule::Pointer { pointer, otherwise: "score".to_owned() }
        } else {
            SourceRule::Fixed(self.source.clone())
        };
        let key = KeyRule { pointers: self.key.clone(), hmac_key: None, ..KeyRule::default() };
        Ok(IdentityRules {
            id: self.id.clone(),
            time: self.time.clone(),
            time_form: crate::event::TimeForm::Any,
            source,
            key,
        })
    }
}

pub(super) fn run(args: &ScoreArgs) -> Result<(), Failure> {
    // Clap has seen to it that there is one.
    let path = args.bundle.as_ref().or(args.model.as_ref()).ok_or_else(|| Failure::usage("expected --bundle DIR"))?;
    // Offline there is no index and no queue beside the model.
    let options = LoadOptions {
        kernel: None,
        public_key: args.public_key.clone(),
        memory_bytes_max: 1 << 32,
        max_batch: events::BATCH_EVENTS_MAX,
    };
    let bundle = load(path, &options).map_err(|error| failure(&error))?;
    let input = Input::open(args.file.as_deref(), args.format)?;
    let mut out = Output::new();
    if args.rows {
        rows::score(&bundle, input, rows::Along { features: args.features, leaves: args.leaves }, &mut out)?;
    } else if !bundle.scoring().is_decided() {
        let outputs = bundle.outputs().iter().map(|output| format!("{} ({})", output.name, output.width));
        let outputs = outputs.collect::<Vec<_>>().join(", ");
        let message = format!(
            "{}: which of its outputs is the score? Expected a bundle whose model.toml says output or class, or --rows; \
             found a bare file with {outputs}",
            path.display()
        );
        return Err(Failure::does_not_hold(message));
    } else {
        events::score(&bundle, input, args.rules()?, args.features, &mut out)?;
    }
    out.finish()
}
