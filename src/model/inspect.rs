//! What `verdictd model inspect` and `verify` and `verdictd check` tell of a bundle.

use super::load::{LoadOptions, load_with_reference};
use super::network::Layer;
use super::{Bundle, ModelError, Parity, hex};
use serde::Serialize;
use std::fmt;
use std::path::Path;

/// A bundle as a person or a script reads it. `Display` is text, `Serialize` the JSON form.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Inspection {
    pub name: String,
    pub version: String,
    pub format: &'static str,
    pub file: String,
    pub sha256: String,
    pub manifest_sha256: String,
    /// Columns in the model's order.
    pub columns: Vec<String>,
    /// JSON pointers looked for in each event.
    pub fields: Vec<String>,
    pub layers: Vec<String>,
    pub output: &'static str,
    pub decisions: Vec<Threshold>,
    pub otherwise: String,
    pub fallback: String,
    pub reasons: usize,
    pub weights_bytes: usize,
    /// One scorer's buffers at `max_batch` rows.
    pub scratch_bytes: usize,
    pub max_batch: usize,
    pub kernel: &'static str,
    pub parity_rows: usize,
    pub parity_worst: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Threshold {
    pub decision: String,
    pub threshold: f64,
}

/// What [`verify`] checked beyond loading.
#[derive(Clone, Debug)]
pub struct Verification {
    pub signed: bool,
    pub parity: Option<Parity>,
    /// Largest difference between the compiled plan and Candle's forward pass.
    pub plan_worst: f64,
    pub inspection: Inspection,
}

/// Rows made up to compare the plan with Candle.
const PROBE_ROWS: u16 = 64;
/// How far the plan may lie from Candle, relative to scores above 1.
const PLAN_TOLERANCE: f64 = 1e-6;

/// Loads a bundle and describes it.
///
/// # Errors
/// As [`super::load()`].
pub fn inspect(dir: &Path, options: &LoadOptions) -> Result<Inspection, ModelError> {
    super::load(dir, options).map(|bundle| Inspection::of(&bundle, options.max_batch))
}

/// Loads a bundle (hash, signature if a key is given, shapes, memory, parity vectors) and compares the
/// plan that this processor runs with the Candle forward pass.
///
/// # Errors
/// As [`super::load()`], and when plan and Candle differ.
pub fn verify(dir: &Path, options: &LoadOptions) -> Result<Verification, ModelError> {
    let (bundle, reference) = load_with_reference(dir, options)?;
    let refused = |what: String| ModelError::Refused { file: dir.join(&bundle.manifest.file), what };
    let width = bundle.features().width();
    // A fixed spread over -2 to 2: what inputs look like after standardising.
    let rows: Vec<f64> = (0..usize::from(PROBE_ROWS) * width)
        .map(|n| f64::from(u16::try_from(n.wrapping_mul(2_654_435_761) >> 7 & 0xfff).unwrap_or(0)) / 1024.0 - 2.0)
        .collect();
    let mut scores = vec![0.0; usize::from(PROBE_ROWS)];
    bundle.scorer(usize::from(PROBE_ROWS)).score(&rows, &mut scores);
    let expected = reference.score(&rows, width).map_err(|error| refused(format!("Candle cannot run it: {error}")))?;
    let mut worst = 0.0f64;
    for (found, expected) in scores.iter().zip(&expected) {
        let difference = (found - expected).abs() / expected.abs().max(1.0);
        if difference > PLAN_TOLERANCE || found.is_nan() != expected.is_nan() {
            return Err(refused(format!(
                "the compiled plan ({}) gives {found} where Candle gives {expected}",
                bundle.kernel().name()
            )));
        }
        worst = worst.max(difference);
    }
    Ok(Verification {
        signed: options.public_key.is_some(),
        parity: bundle.parity(),
        plan_worst: worst,
        inspection: Inspection::of(&bundle, options.max_batch),
    })
}

impl Inspection {
    /// Describes a loaded bundle.
    #[must_use]
    pub fn of(bundle: &Bundle, max_batch: usize) -> Self {
        let manifest = &bundle.manifest;
        Self {
            name: manifest.name.clone(),
            version: manifest.version.clone(),
            format: "safetensors",
            file: manifest.file.clone(),
            sha256: hex::encode(&manifest.sha256),
            manifest_sha256: hex::encode(&bundle.manifest_sha256),
            columns: bundle.features().names().to_vec(),
            fields: bundle.features().pointers().iter().map(ToString::to_string).collect(),
            layers: manifest.network.layers.iter().map(layer_name).collect(),
            output: manifest.network.output.name(),
            decisions: manifest
                .decisions
                .thresholds()
                .map(|(decision, threshold)| Threshold { decision: decision.to_owned(), threshold })
                .collect(),
            otherwise: manifest.decisions.otherwise().to_owned(),
            fallback: manifest.decisions.fallback().to_owned(),
            reasons: manifest.decisions.reasons(),
            weights_bytes: bundle.weights_bytes(),
            scratch_bytes: bundle.scratch_bytes(max_batch),
            max_batch,
            kernel: bundle.kernel().name(),
            parity_rows: bundle.parity.map_or(0, |parity| parity.rows),
            parity_worst: bundle.parity.map_or(0.0, |parity| parity.worst),
        }
    }
}

fn layer_name(layer: &Layer) -> String {
    match layer {
        Layer::Linear { name, .. } => format!("linear {name}"),
        Layer::BatchNorm { name, .. } => format!("batch-norm {name}"),
        Layer::Activation(activation) => activation.name().to_owned(),
    }
}

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "model      {}@{}", self.name, self.version)?;
        writeln!(f, "weights    {} (sha256 {})", self.file, self.sha256)?;
        writeln!(f, "columns    {}: {}", self.columns.len(), self.columns.join(", "))?;
        writeln!(f, "fields     {}", self.fields.join(", "))?;
        writeln!(f, "layers     {} -> {}", self.layers.join(", "), self.output)?;
        for Threshold { decision, threshold } in &self.decisions {
            // As an f32 it is written as it stands in the manifest.
            #[allow(clippy::cast_possible_truncation)]
            let threshold = *threshold as f32;
            writeln!(f, "decision   {decision} from {threshold}")?;
        }
        writeln!(f, "otherwise  {}; what cannot be scored: {}", self.otherwise, self.fallback)?;
        writeln!(
            f,
            "memory     {} bytes of weights, {} of buffers at {} rows a batch",
            self.weights_bytes, self.scratch_bytes, self.max_batch
        )?;
        writeln!(f, "kernel     {}", self.kernel)?;
        write!(f, "parity     {} rows, worst difference {:.1e}", self.parity_rows, self.parity_worst)
    }
}
