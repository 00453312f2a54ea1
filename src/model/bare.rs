//! A model file without a bundle: what `score --model`, `model inspect FILE` and `model pack` start from.
//!
//! Its manifest is made up: a feature for each input, found in the event under the input's own name; a score of at
//! least 0.5 is *review*, 0.9 *block*, where it is a probability.

use super::compile::{Compiled, Recipe, compile};
use super::decision::{Decisions, REASONS_DEFAULT};
use super::format::Format;
use super::load::{LoadOptions, assemble, read_start};
use super::manifest::Manifest;
use super::matching::Column;
use super::scoring::Scoring;
use super::{Bundle, Calibration, Choice, ModelError, ReasonRules};
use crate::features::{ColumnKind, FeatureSet, Problems, read_features};
use crate::rules::RuleSet;
use std::path::Path;
use std::sync::Arc;
use toml::{Table, Value};

/// Loads a bare model file.
pub(super) fn load(file: &Path, options: &LoadOptions) -> Result<Bundle, ModelError> {
    let refused = |what: &str| ModelError::Refused { file: file.to_owned(), what: what.to_owned() };
    if options.public_key.is_some() {
        return Err(refused("a bare file has no signature; expected a bundle, because a public key is configured"));
    }
    let format = format_of(file)?;
    if format == Format::Safetensors {
        return Err(refused(
            "a bare safetensors file has names and shapes but no network, features or thresholds; \
             expected a bundle, whose model.toml says them: model pack --manifest makes one",
        ));
    }
    let Compiled { program, sha256, .. } =
        compile(file, format, &Recipe { reasons: REASONS_DEFAULT, exact: true, ..Recipe::default() }, options)?;
    let name = file.file_stem().map_or_else(|| "model".to_owned(), |stem| stem.to_string_lossy().replace('@', "-"));
    let choice = Choice::default();
    let mut problems = Problems::default();
    let scoring =
        Scoring::choose(program.outputs(), &choice, Calibration::None, program.is_f32(), &mut Problems::default());
    let decisions = Decisions::usual(scoring.is_some_and(|scoring| scoring.is_probability()));
    let features = features_of(program.columns(), &mut problems);
    if !problems.0.is_empty() {
        return Err(ModelError::Weights { file: file.to_owned(), problems: problems.0 });
    }
    let manifest = Manifest {
        rules: RuleSet::default(),
        name,
        version: "0".to_owned(),
        serial: None,
        format,
        file: file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        sha256,
        files: Vec::new(),
        decisions,
        features: Arc::new(features),
        network: None,
        choice,
        calibration: Calibration::None,
        reasons: ReasonRules::default(),
        all_iterations: false,
    };
    let folder = file.parent().unwrap_or(file).to_owned();
    assemble(manifest, sha256, program, file, options, true).map(|bundle| Bundle { folder, ..bundle })
}

/// The format by ending and start.
pub(super) fn format_of(file: &Path) -> Result<Format, ModelError> {
    let start = read_start(file)?;
    Format::of_file(file, &start).ok_or_else(|| ModelError::Refused {
        file: file.to_owned(),
        what: "expected a bundle, or a file that ends in .onnx, .txt (LightGBM), .json, .ubj (XGBoost) or .safetensors; a pickle \
               is code and never read: export it (man verdictd-models)".to_owned(),
    })
}

/// A `[[feature]]` table for each input, as a manifest has it.
pub(super) fn feature_tables(columns: &[Column]) -> Vec<Table> {
    let one = |column: &Column| {
        let pointer = format!("/{}", column.name.replace('~', "~0").replace('/', "~1"));
        let missing = if matches!(column.kind, ColumnKind::I64) { "unscorable" } else { "nan" };
        [("name", column.name.clone()), ("from", pointer), ("missing", missing.to_owned())]
            .into_iter()
            .map(|(key, value)| (key.to_owned(), Value::String(value)))
            .collect()
    };
    columns.iter().map(one).collect()
}

fn features_of(columns: &[Column], problems: &mut Problems) -> FeatureSet {
    let tables: Vec<Value> = feature_tables(columns).into_iter().map(Value::Table).collect();
    read_features(&tables, problems)
}
