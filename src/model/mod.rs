//! A bundle: a directory with `model.toml` and weights, loaded into a plan that scores rows.
//!
//! ```text
//! model.toml ─(signature)─> manifest ─┐
//! model.safetensors ─(sizes, sha256)─> Candle tensors ─> fold ─> plan ─(parity.ndjson)─> Bundle ─> Scorer
//!                                                   └─> reference (Candle forward pass)
//! ```
//!
//! Limits: manifest 1 MiB, safetensors header 1 MiB, 64 layers of up to 65,536 outputs, parity vectors
//! 16 MiB, weights and buffers by [`LoadOptions::memory_bytes_max`]. Sizes are checked from the files'
//! lengths and headers before anything of that size is allocated.
//!
//! `[decision]` takes `reasons = N` (0 to 8, default 3) beside the thresholds, `otherwise` and `fallback`:
//! up to N features are named as reasons of a verdict that is not `otherwise`. A linear layer may say
//! `bias = false`, a batch norm `eps` (default 1e-5), a leaky-relu `slope` (default 0.01).

mod bare;
mod calibration;
mod compile;
mod decision;
mod error;
mod explain;
mod format;
mod graph;
mod hex;
mod inspect;
mod kernel;
pub mod lightgbm;
mod load;
mod manifest;
mod matching;
mod native;
mod network;
pub mod onnx;
mod outputs;
mod pack;
mod parity;
mod program;
mod scorer;
mod scoring;
pub mod shipped;
mod signature;
mod threads;
mod timing;
pub mod trees;
pub mod xgboost;

#[cfg(test)]
mod tests;

pub use calibration::Calibration;
pub use decision::{Decisions, REASONS_MAX};
pub use error::ModelError;
pub use explain::{Method, ReasonRules};
pub use format::Format;
pub use hex::encode as hex_text;
pub use inspect::{Inspection, Verification, inspect, verify};
pub use kernel::Kernel;
pub use load::{LoadOptions, load, load_with_reference};
pub use manifest::{MANIFEST_FILE, Manifest};
pub use matching::{Column, is_generic};
pub use network::{Activation, Layer, Network, Output, Reference};
pub use outputs::{Means, OutputSpec};
pub use pack::{Packed, Packing, pack};
pub use parity::{PARITY_FILE, PARITY_TOLERANCE, Parity};
pub use scorer::{Reasons, Scorer};
pub use scoring::{Choice, ScoreAs, Scoring};
pub use signature::{SIGNATURE_FILE, Seal, read_public_key};
pub use threads::keep_candle_single_threaded;
pub use timing::Timing;

use crate::features::FeatureSet;
use crate::rules::RuleSet;
use program::Program;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A loaded model with all that a verdict needs of it. Immutable; swapped as a whole.
#[derive(Debug)]
pub struct Bundle {
    label: String,
    manifest: Manifest,
    manifest_sha256: [u8; 32],
    features: Arc<FeatureSet>,
    program: Arc<Program>,
    scoring: Arc<Scoring>,
    method: Method,
    notes: Vec<String>,
    parity: Option<Parity>,
    /// Where it was loaded from, links resolved.
    folder: PathBuf,
    seal: Option<Seal>,
}

impl Bundle {
    /// `name@version`.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// SHA-256 of the weights file, as `model.toml` has it.
    #[must_use]
    pub fn sha256(&self) -> &[u8; 32] {
        &self.manifest.sha256
    }

    /// SHA-256 of `model.toml`, which fixes thresholds, features and weights together.
    #[must_use]
    pub fn manifest_sha256(&self) -> &[u8; 32] {
        &self.manifest_sha256
    }

    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    #[must_use]
    pub fn features(&self) -> &FeatureSet {
        &self.features
    }

    /// What decides before a threshold does.
    #[must_use]
    pub fn rules(&self) -> &RuleSet {
        &self.manifest.rules
    }

    /// The decision for a score; the fallback for NaN.
    #[must_use]
    pub fn decide(&self, score: f64) -> &str {
        self.manifest.decisions.decide(score)
    }

    /// The decision for what cannot be scored.
    #[must_use]
    pub fn fallback(&self) -> &str {
        self.manifest.decisions.fallback()
    }

    /// The decision below all thresholds.
    #[must_use]
    pub fn otherwise(&self) -> &str {
        self.manifest.decisions.otherwise()
    }

    /// True where a verdict with this decision is to name reasons.
    #[must_use]
    pub fn wants_reasons(&self, decision: &str) -> bool {
        self.method != Method::Off && decision != self.otherwise()
    }

    /// Bytes of the packed weights, and of lists and rules.
    #[must_use]
    pub fn weights_bytes(&self) -> usize {
        self.program.bytes() + self.manifest.rules.bytes()
    }

    /// Bytes of one [`Scorer`]'s buffers.
    #[must_use]
    pub fn scratch_bytes(&self, max_batch: usize) -> usize {
        self.scratch_bytes_by(max_batch, self.method)
    }

    fn scratch_bytes_by(&self, max_batch: usize, method: Method) -> usize {
        self.program.scratch_bytes(Scorer::rows(max_batch, self.manifest.decisions.reasons()))
            + Scorer::reasons_bytes(self.program.width(), self.manifest.decisions.reasons())
            + if method == Method::Shapley { self.program.shapley_bytes() } else { 0 }
    }

    /// What its parity vectors showed at load; None where it has none.
    #[must_use]
    pub fn parity(&self) -> Option<Parity> {
        self.parity
    }

    /// The folder it was loaded from, links resolved; empty where it was not loaded from one.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What its signature vouches for; None where none was asked for.
    #[must_use]
    pub fn seal(&self) -> Option<Seal> {
        self.seal
    }

    /// What goes into the model, in its order.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        self.program.columns()
    }

    /// What comes out of it: the numbers that [`Scorer::outputs`] gives, in order.
    #[must_use]
    pub fn outputs(&self) -> &[OutputSpec] {
        self.program.outputs()
    }

    /// How reasons are found.
    #[must_use]
    pub fn reasons_method(&self) -> Method {
        self.method
    }

    /// What could not be done as the manifest wants it, or looks like a slip, a line each.
    pub fn notes(&self) -> impl Iterator<Item = &String> {
        self.notes.iter().chain(self.manifest.rules.notes())
    }

    /// How the score is made of them.
    #[must_use]
    pub fn scoring(&self) -> &Scoring {
        &self.scoring
    }

    /// The instructions that its plan runs on.
    #[must_use]
    pub fn kernel(&self) -> &'static str {
        self.program.kernel()
    }

    /// A scorer for batches of up to `max_batch` rows (more are taken too, in blocks).
    #[must_use]
    pub fn scorer(&self, max_batch: usize) -> Scorer {
        self.scorer_by(max_batch, self.method)
    }

    fn scorer_by(&self, max_batch: usize, method: Method) -> Scorer {
        let reasons = if method == Method::Off { 0 } else { self.manifest.decisions.reasons() };
        Scorer::new(self.program.clone(), self.scoring.clone(), self.features.clone(), max_batch, reasons, method)
    }
}
