//! `verdictd score`: a file of events to verdicts, offline, in input order.
//!
//! The decoder, the features and the model are the daemon's, so the answer is the daemon's, less what only a
//! commit gives (`sequence`, `decided`). A bad line gives a problem line in its place.

mod events;
mod rows;

#[cfg(test)]
pub(super) mod tests;

use super::{
    Failure,
    offline::{self, EventArgs, Input, load_bundle},
    output::Output,
};
use crate::event::IdentityRules;
use clap::Args;
use std::path::PathBuf;

#[allow(clippy::struct_excessive_bools)] // independent switches
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
    /// With --rows: add what each column adds to the raw sum behind the score, where that is exact
    #[arg(long, requires = "rows")]
    contributions: bool,
    #[command(flatten)]
    events: EventArgs,
    /// The source of events that do not say: a text, or a pointer (it begins with /)
    #[arg(long, value_name = "NAME", default_value = "score")]
    source: String,
    /// A minisign public key that must have signed the bundle
    #[arg(long, value_name = "FILE")]
    public_key: Option<PathBuf>,
    /// CSV with a header, or NDJSON; standard input where not given or "-"
    file: Option<PathBuf>,
}

impl ScoreArgs {
    fn rules(&self) -> Result<IdentityRules, Failure> {
        self.events.rules(&self.source, "score")
    }
}

pub(super) fn run(args: &ScoreArgs) -> Result<(), Failure> {
    // Clap has seen to it that there is one.
    let path = args.bundle.as_ref().or(args.model.as_ref()).ok_or_else(|| Failure::usage("expected --bundle DIR"))?;
    let bundle = load_bundle(path, args.public_key.as_ref())?;
    let input = Input::open(args.file.as_deref(), args.events.format)?;
    let mut out = Output::new();
    if args.rows {
        let ScoreArgs { features, leaves, contributions, .. } = *args;
        rows::score(&bundle, input, rows::Along { features, leaves, contributions }, &mut out)?;
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
