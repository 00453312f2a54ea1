//! A bundle's directory to a [`Bundle`], each step checked before the next one costs anything.

use super::kernel::Kernel;
use super::manifest::{MANIFEST_BYTES_MAX, MANIFEST_FILE, Manifest};
use super::reference::Reference;
use super::{Bundle, ModelError, Scorer, dense, hex, parity, plan, signature, weights};
use crate::features::Problems;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a bundle must keep to.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// With a key, a bundle without a good signature is refused.
    pub public_key: Option<PathBuf>,
    /// Bytes that packed weights and one scorer's buffers may take. While loading, the file and its
    /// tensors stand beside them: up to three times the weights more.
    pub memory_bytes_max: u64,
    /// Most rows of one call to [`Scorer::score`].
    pub max_batch: usize,
    /// The code that runs the layers; None takes the fastest that this processor has.
    pub kernel: Option<Kernel>,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self { public_key: None, memory_bytes_max: 16 << 20, max_batch: 1024, kernel: None }
    }
}

/// Loads the bundle in `dir` (or behind the symbolic link `dir`).
///
/// # Errors
/// Names the file, what was expected and what was found; see [`ModelError::problems`].
pub fn load(dir: &Path, options: &LoadOptions) -> Result<Bundle, ModelError> {
    load_with_reference(dir, options).map(|(bundle, _)| bundle)
}

/// The same, with the Candle forward pass of the same tensors.
///
/// # Errors
/// As [`load`].
pub fn load_with_reference(dir: &Path, options: &LoadOptions) -> Result<(Bundle, Reference), ModelError> {
    // Resolved once: a link that is moved meanwhile must not mix two bundles.
    let dir = dir.canonicalize().map_err(|source| ModelError::Io {
        file: dir.to_owned(),
        what: "expected the directory of a bundle",
        source,
    })?;
    if !dir.is_dir() {
        return Err(refuse_bare_file(&dir));
    }
    let manifest_file = dir.join(MANIFEST_FILE);
    let text = read_limited(&manifest_file, MANIFEST_BYTES_MAX, "cannot read the bundle's manifest")?;
    let signed = options
        .public_key
        .as_ref()
        .map(|key| signature::read_public_key(key).and_then(|key| signature::verify(&key, &manifest_file, &text)));
    let signed_at = signed.transpose()?;
    let manifest_sha256: [u8; 32] = Sha256::digest(&text).into();
    let text = String::from_utf8(text)
        .map_err(|_| ModelError::Refused { file: manifest_file.clone(), what: "expected UTF-8".to_owned() })?;
    let manifest = Manifest::parse(&text, &manifest_file)?;
    let seal = signed_at.map(|signed_at| signature::Seal { serial: manifest.serial, signed_at });
    let file = dir.join(&manifest.file);
    let bytes = read_weights(&file, &manifest, options)?;
    let (bundle, reference) =
        build(manifest, manifest_sha256, &bytes, &file, options.kernel.unwrap_or_else(Kernel::best))?;
    drop(bytes);
    let mut scorer = bundle.scorer(1);
    let parity = parity::check(&dir, &mut scorer)?;
    Ok((Bundle { parity, folder: dir, seal, ..bundle }, reference))
}

fn refuse_bare_file(file: &Path) -> ModelError {
    let what = match file.extension().and_then(|e| e.to_str()) {
        Some("safetensors") => {
            "a bare safetensors file has names and shapes but no network, features or thresholds; \
             expected a bundle: a directory with a model.toml that says them"
        }
        Some("onnx" | "txt" | "json" | "ubj") => {
            "ONNX, LightGBM and XGBoost files are not in this version; expected a bundle: a directory with model.toml"
        }
        _ => "expected a bundle: a directory with model.toml",
    };
    ModelError::Refused { file: file.to_owned(), what: what.to_owned() }
}

/// Reads the weights file after its sizes were found to fit, and checks its hash.
fn read_weights(file: &Path, manifest: &Manifest, options: &LoadOptions) -> Result<Vec<u8>, ModelError> {
    let io = |source| ModelError::Io { file: file.to_owned(), what: "cannot read the weights", source };
    let refused = |what: String| ModelError::Refused { file: file.to_owned(), what };
    let mut handle = File::open(file).map_err(io)?;
    let metadata = handle.metadata().map_err(io)?;
    if !metadata.is_file() {
        return Err(refused("expected a regular file".to_owned()));
    }
    let header = weights::Header::read(&mut handle, metadata.len()).map_err(refused)?;
    let widths = header.widths(&manifest.network, manifest.features.width());
    let Some((weights, scratch)) =
        plan::bytes_of(&widths, Scorer::rows(options.max_batch, manifest.decisions.reasons()))
    else {
        return Err(refused("expected shapes whose size can be counted".to_owned()));
    };
    let reasons = Scorer::reasons_bytes(manifest.features.width(), manifest.decisions.reasons());
    let need = weights.saturating_add(scratch).saturating_add(reasons) as u64;
    if need > options.memory_bytes_max {
        return Err(refused(format!(
            "needs {need} bytes of memory ({weights} for weights, {} for buffers at {} rows a batch), \
             expected at most {}",
            scratch.saturating_add(reasons),
            options.max_batch,
            options.memory_bytes_max
        )));
    }
    // Tensors that no layer names are refused later; here they must only not cost memory.
    let length_max = options.memory_bytes_max.saturating_mul(2).saturating_add(weights::HEADER_BYTES_MAX);
    if metadata.len() > length_max {
        return Err(refused(format!("expected a file of at most {length_max} bytes, found {}", metadata.len())));
    }
    let bytes = read_limited(file, length_max, "cannot read the weights")?;
    let found: [u8; 32] = Sha256::digest(&bytes).into();
    if found != manifest.sha256 {
        return Err(refused(format!(
            "expected sha256 {} as model.toml says, found {}",
            hex::encode(&manifest.sha256),
            hex::encode(&found)
        )));
    }
    Ok(bytes)
}

/// The part of loading that touches no file.
pub(super) fn build(
    manifest: Manifest,
    manifest_sha256: [u8; 32],
    bytes: &[u8],
    file: &Path,
    kernel: Kernel,
) -> Result<(Bundle, Reference), ModelError> {
    let mut problems = Problems::default();
    let width = manifest.features.width();
    let (tensors, last) = weights::read(bytes, &manifest.network, width, &mut problems);
    let two_allowed = manifest.network.output != super::Output::Raw;
    if problems.0.is_empty() && last != 1 && !(last == 2 && two_allowed) {
        let expected = if two_allowed { "one output, or two for two classes" } else { "one output" };
        problems.add("network", format!("expected {expected}, found {last}; more are not in this version"));
    }
    let ops = if problems.0.is_empty() { dense::fold(&manifest.network, &tensors, &mut problems) } else { Vec::new() };
    if let Some(bad) = first_not_finite(&ops) {
        problems.add("network", format!("folding the batch norms gives a weight that is no finite f32 ({bad})"));
    }
    if !problems.0.is_empty() {
        return Err(ModelError::Weights { file: file.to_owned(), problems: problems.0 });
    }
    let plan = plan::Plan::compile(&ops, width, manifest.network.output, kernel);
    let label = manifest.label();
    let bundle = Bundle {
        label,
        plan: Arc::new(plan),
        features: Arc::clone(&manifest.features),
        manifest_sha256,
        parity: None,
        folder: PathBuf::new(),
        seal: None,
        manifest: manifest.clone(),
    };
    Ok((bundle, Reference::new(manifest.network, tensors)))
}

fn first_not_finite(ops: &[dense::Op]) -> Option<f32> {
    ops.iter().find_map(|op| match op {
        dense::Op::Dense(dense) => dense.weight.iter().chain(&dense.bias).copied().find(|value| !value.is_finite()),
        dense::Op::Activation(_) => None,
    })
}

/// A whole file, refused by its length before it is read and while it is read.
pub(super) fn read_limited(file: &Path, limit: u64, what: &'static str) -> Result<Vec<u8>, ModelError> {
    let io = |source| ModelError::Io { file: file.to_owned(), what, source };
    let handle = File::open(file).map_err(io)?;
    let length = handle.metadata().map_err(io)?.len();
    let too_long = |found: u64| ModelError::Refused {
        file: file.to_owned(),
        what: format!("expected a file of at most {limit} bytes, found {found}"),
    };
    if length > limit {
        return Err(too_long(length));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    let mut bounded = handle.take(limit + 1);
    bounded.read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > limit {
        return Err(too_long(bytes.len() as u64));
    }
    Ok(bytes)
}
