//! `verdictd model pack`: a bundle made of a bare model file.

use super::{Failure, model::failure, output::Output};
use crate::model::{Choice, Inspection, LoadOptions, Packing, ScoreAs, pack};
use clap::Args;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(super) struct PackArgs {
    /// The model file: ONNX, LightGBM's text, XGBoost's JSON or UBJSON; safetensors with --manifest
    file: PathBuf,
    /// The model's name
    #[arg(long)]
    name: String,
    /// Its version
    #[arg(long)]
    version: String,
    /// The bundle to make: a new folder, or an empty one
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// A whole number that grows with each version of the name: with a signature, an older one is then told from a newer
    #[arg(long, value_name = "N")]
    serial: Option<u64>,
    /// The rest of model.toml: features, thresholds, calibration; for safetensors the network
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
    /// Which of the model's outputs is the score
    #[arg(long, value_name = "NAME")]
    output: Option<String>,
    /// Which number of it: a label, or a place from 0
    #[arg(long, value_name = "LABEL")]
    class: Option<String>,
    /// What the score is: raw, probability, margin or logit
    #[arg(long, value_name = "WHAT", value_parser = score_as)]
    score: Option<ScoreAs>,
    /// Rows with the scores that they must get, as NDJSON of {"row":[…],"score":…}
    #[arg(long, value_name = "FILE")]
    parity: Option<PathBuf>,
}

fn score_as(text: &str) -> Result<ScoreAs, String> {
    ScoreAs::parse(text).ok_or_else(|| format!("expected raw, probability, margin or logit, found {text:?}"))
}

pub(super) fn run(args: &PackArgs) -> Result<(), Failure> {
    let packing = Packing {
        file: args.file.clone(),
        name: args.name.clone(),
        version: args.version.clone(),
        serial: args.serial,
        template: args.manifest.clone(),
        parity: args.parity.clone(),
        out: args.out.clone(),
        choice: Choice { output: args.output.clone(), class: args.class.clone(), score: args.score },
    };
    // As for a look at a model: `check` says whether it fits an appliance.
    let options = LoadOptions { memory_bytes_max: 1 << 32, ..LoadOptions::default() };
    let packed = pack(&packing, &options).map_err(|error| failure(&error))?;
    for warning in &packed.warnings {
        eprintln!("warning: {warning}");
    }
    let mut out = Output::new();
    out.text(&format!("{}\n", Inspection::of(&packed.bundle, options.max_batch)))?;
    out.line(&format!("made       {}", args.out.display()))?;
    out.finish()
}
