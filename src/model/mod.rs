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

mod decision;
mod dense;
mod error;
mod hex;
mod inspect;
mod kernel;
pub mod lightgbm;
mod load;
mod manifest;
mod network;
mod output;
mod parity;
mod plan;
mod reference;
mod scorer;
pub mod shipped;
mod signature;
mod threads;
pub mod trees;
mod weights;
pub mod xgboost;

#[cfg(test)]
mod tests;

pub use decision::{Decisions, REASONS_MAX};
pub use error::ModelError;
pub use hex::encode as hex_text;
pub use inspect::{Inspection, Verification, inspect, verify};
pub use kernel::Kernel;
pub use load::{LoadOptions, load, load_with_reference};
pub use manifest::{MANIFEST_FILE, Manifest};
pub use network::{Activation, Layer, Network};
pub use output::Output;
pub use parity::{PARITY_FILE, PARITY_TOLERANCE, Parity};
pub use reference::Reference;
pub use scorer::{Reasons, Scorer};
pub use signature::{SIGNATURE_FILE, read_public_key};
pub use threads::keep_candle_single_threaded;

use crate::features::FeatureSet;
use plan::Plan;
use std::sync::Arc;

/// A loaded model with all that a verdict needs of it. Immutable; swapped as a whole.
#[derive(Debug)]
pub struct Bundle {
    label: String,
    manifest: Manifest,
    manifest_sha256: [u8; 32],
    features: Arc<FeatureSet>,
    plan: Arc<Plan>,
    parity: Option<Parity>,
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
        self.manifest.decisions.reasons() > 0 && decision != self.otherwise()
    }

    /// Bytes of the packed weights.
    #[must_use]
    pub fn weights_bytes(&self) -> usize {
        self.plan.bytes()
    }

    /// Bytes of one [`Scorer`]'s buffers.
    #[must_use]
    pub fn scratch_bytes(&self, max_batch: usize) -> usize {
        self.plan.scratch_bytes(Scorer::rows(max_batch, self.manifest.decisions.reasons()))
            + Scorer::reasons_bytes(self.plan.width(), self.manifest.decisions.reasons())
    }

    /// What its parity vectors showed at load; None where it has none.
    #[must_use]
    pub fn parity(&self) -> Option<Parity> {
        self.parity
    }

    #[must_use]
    pub fn kernel(&self) -> Kernel {
        self.plan.kernel()
    }

    /// A scorer for batches of up to `max_batch` rows (more are taken too, in blocks).
    #[must_use]
    pub fn scorer(&self, max_batch: usize) -> Scorer {
        Scorer::new(self.plan.clone(), self.features.clone(), max_batch, self.manifest.decisions.reasons())
    }
}
