//! What `verdictd model inspect` and `verify` and `verdictd check` tell of a bundle.

use super::load::{LoadOptions, load_with_reference};
use super::timing::{Timing, probe_rows};
use super::{Bundle, Means, ModelError, Parity, hex};
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
    /// What the model takes, in its order.
    pub inputs: Vec<Input>,
    /// Columns of a row, in the order of the features.
    pub columns: Vec<String>,
    /// JSON pointers looked for in each event.
    pub fields: Vec<String>,
    /// What runs, a line a step.
    pub plan: Vec<String>,
    pub outputs: Vec<Given>,
    /// How the score is made of them.
    pub score: String,
    pub decisions: Vec<Threshold>,
    pub otherwise: String,
    pub fallback: String,
    pub reasons: usize,
    /// How they are found.
    pub reasons_method: &'static str,
    /// What could not be done as the manifest wants it.
    pub notes: Vec<String>,
    pub weights_bytes: usize,
    /// One scorer's buffers at `max_batch` rows.
    pub scratch_bytes: usize,
    pub max_batch: usize,
    pub kernel: &'static str,
    /// Measured on this machine; not by `check`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
    pub parity_rows: usize,
    pub parity_worst: f64,
}

/// One column of the model's input.
#[derive(Clone, Debug, Serialize)]
pub struct Input {
    pub name: String,
    pub kind: &'static str,
}

/// One output.
#[derive(Clone, Debug, Serialize)]
pub struct Given {
    pub name: String,
    pub numbers: usize,
    pub means: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Threshold {
    pub decision: String,
    pub threshold: f64,
}

/// What [`verify`] checked beyond loading.
#[derive(Debug)]
pub struct Verification {
    pub bundle: Bundle,
    pub signed: bool,
    pub parity: Option<Parity>,
    /// Largest difference between the compiled plan and Candle's forward pass, for a network of tensors.
    pub plan_worst: Option<f64>,
    pub inspection: Inspection,
}

/// Rows made up to compare the plan with Candle.
const PROBE_ROWS: usize = 64;
/// How far the plan may lie from Candle, relative to scores above 1.
const PLAN_TOLERANCE: f64 = 1e-6;

/// Loads a bundle, measures it and describes it.
///
/// # Errors
/// As [`super::load()`].
pub fn inspect(dir: &Path, options: &LoadOptions) -> Result<Inspection, ModelError> {
    let bundle = super::load(dir, options)?;
    let timing = Some(Timing::measure(&bundle));
    Ok(Inspection { timing, ..Inspection::of(&bundle, options.max_batch) })
}

/// Loads a bundle (hash, signature if a key is given, shapes, memory, parity vectors) and compares the
/// plan of a network, as this processor runs it, with the Candle forward pass.
///
/// # Errors
/// As [`super::load()`], and when plan and Candle differ.
pub fn verify(dir: &Path, options: &LoadOptions) -> Result<Verification, ModelError> {
    let (bundle, reference) = load_with_reference(dir, options)?;
    let refused = |what: String| ModelError::Refused { file: dir.join(&bundle.manifest.file), what };
    let mut plan_worst = None;
    if let Some(reference) = reference {
        let width = bundle.features().width();
        let rows = probe_rows(PROBE_ROWS * width);
        let mut scores = vec![0.0; PROBE_ROWS];
        bundle.scorer(PROBE_ROWS).score(&rows, &mut scores);
        let expected =
            reference.run(&rows, width).map_err(|error| refused(format!("Candle cannot run it: {error}")))?;
        let mut worst = 0.0f64;
        for (found, numbers) in scores.iter().zip(expected.chunks(bundle.program.numbers().max(1))) {
            let expected = bundle.scoring.score(numbers);
            let difference = (found - expected).abs() / expected.abs().max(1.0);
            if difference > PLAN_TOLERANCE || found.is_nan() != expected.is_nan() {
                return Err(refused(format!(
                    "the compiled plan ({}) gives {found} where Candle gives {expected}",
                    bundle.kernel()
                )));
            }
            worst = worst.max(difference);
        }
        plan_worst = Some(worst);
    }
    Ok(Verification {
        signed: options.public_key.is_some(),
        parity: bundle.parity(),
        plan_worst,
        inspection: Inspection::of(&bundle, options.max_batch),
        bundle,
    })
}

impl Inspection {
    /// Describes a loaded bundle.
    #[must_use]
    pub fn of(bundle: &Bundle, max_batch: usize) -> Self {
        let manifest = &bundle.manifest;
        let input = |column: &super::Column| Input { name: column.name.clone(), kind: column.kind.name() };
        let given = |output: &super::OutputSpec| Given {
            name: output.name.clone(),
            numbers: output.width,
            means: match output.means {
                Means::Probability => "probability",
                Means::Logit => "logit",
                Means::Label => "label",
                Means::Number => "number",
            },
            labels: output.labels.clone(),
        };
        Self {
            name: manifest.name.clone(),
            version: manifest.version.clone(),
            format: manifest.format.name(),
            file: manifest.file.clone(),
            sha256: hex::encode(&manifest.sha256),
            manifest_sha256: hex::encode(&bundle.manifest_sha256),
            inputs: bundle.columns().iter().map(input).collect(),
            columns: bundle.features().names().to_vec(),
            fields: bundle.features().pointers().iter().map(ToString::to_string).collect(),
            plan: bundle.program.explain(),
            outputs: bundle.outputs().iter().map(given).collect(),
            score: bundle.scoring.explain(),
            decisions: manifest
                .decisions
                .thresholds()
                .map(|(decision, threshold)| Threshold { decision: decision.to_owned(), threshold })
                .collect(),
            otherwise: manifest.decisions.otherwise().to_owned(),
            fallback: manifest.decisions.fallback().to_owned(),
            reasons: manifest.decisions.reasons(),
            reasons_method: bundle.reasons_method().name(),
            notes: bundle.notes().cloned().collect(),
            weights_bytes: bundle.weights_bytes(),
            scratch_bytes: bundle.scratch_bytes(max_batch),
            max_batch,
            kernel: bundle.kernel(),
            timing: None,
            parity_rows: bundle.parity.map_or(0, |parity| parity.rows),
            parity_worst: bundle.parity.map_or(0.0, |parity| parity.worst),
        }
    }
}

/// Steps of a plan that are printed for a person; all are in the JSON form.
const STEPS_SHOWN: usize = 24;

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "model      {}@{}", self.name, self.version)?;
        writeln!(f, "file       {}, {} (sha256 {})", self.file, self.format, self.sha256)?;
        let inputs: Vec<String> = self.inputs.iter().map(|input| format!("{} {}", input.name, input.kind)).collect();
        writeln!(f, "inputs     {}: {}", self.inputs.len(), inputs.join(", "))?;
        if self.columns.iter().ne(self.inputs.iter().map(|input| &input.name)) {
            writeln!(f, "columns    {}: {}", self.columns.len(), self.columns.join(", "))?;
        }
        writeln!(f, "fields     {}", self.fields.join(", "))?;
        for (n, step) in self.plan.iter().take(STEPS_SHOWN).enumerate() {
            writeln!(f, "{}  {step}", if n == 0 { "plan     " } else { "         " })?;
        }
        if let Some(more) = self.plan.len().checked_sub(STEPS_SHOWN).filter(|more| *more > 0) {
            writeln!(f, "           and {more} more; --json lists all")?;
        }
        for output in &self.outputs {
            let labels =
                if output.labels.is_empty() { String::new() } else { format!(": {}", output.labels.join(", ")) };
            writeln!(f, "output     {}, {} {}{labels}", output.name, output.numbers, output.means)?;
        }
        writeln!(f, "score      {}", self.score)?;
        for Threshold { decision, threshold } in &self.decisions {
            // As an f32 it is written as it stands in the manifest.
            #[allow(clippy::cast_possible_truncation)]
            let short = *threshold as f32;
            #[allow(clippy::float_cmp)]
            let is_short = f64::from(short) == *threshold;
            let threshold = if is_short { short.to_string() } else { threshold.to_string() };
            writeln!(f, "decision   {decision} from {threshold}")?;
        }
        writeln!(f, "otherwise  {}; what cannot be scored: {}", self.otherwise, self.fallback)?;
        writeln!(f, "reasons    at most {}, by {}", self.reasons, self.reasons_method)?;
        writeln!(
            f,
            "memory     {} bytes of weights and tables, {} of buffers at {} rows a batch",
            self.weights_bytes, self.scratch_bytes, self.max_batch
        )?;
        writeln!(f, "kernel     {}", self.kernel)?;
        for note in &self.notes {
            writeln!(f, "note       {note}")?;
        }
        if let Some(timing) = &self.timing {
            writeln!(f, "time       {timing}")?;
        }
        write!(f, "parity     {} rows, worst difference {:.1e}", self.parity_rows, self.parity_worst)
    }
}
