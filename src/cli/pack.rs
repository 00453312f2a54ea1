//! `verdictd model pack`: a bundle made of a bare model file.

use super::{Failure, model::failure, output::Output};
use crate::model::{Inspection, LoadOptions, Packing, pack};
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
    /// The rest of model.toml: features, thresholds, calibration, and for safetensors the network
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
    /// Rows with the scores that they must get, as NDJSON of {"row":[…],"score":…}
    #[arg(long, value_name = "FILE")]
    parity: Option<PathBuf>,
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
