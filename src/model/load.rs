//! A bundle's directory to a [`Bundle`], each step checked before the next one costs anything.

use super::compile::{Compiled, Recipe, compile};
use super::explain::{self, Method};
use super::kernel::Kernel;
use super::manifest::{MANIFEST_BYTES_MAX, MANIFEST_FILE, Manifest};
use super::matching::match_columns;
use super::network::Reference;
use super::parity::PARITY_FILE;
use super::program::Program;
use super::scoring::Scoring;
use super::{Bundle, ModelError, bare, hex, parity, signature};
use crate::features::{ColumnKind, FeatureSet, Problems};
use bytes::Bytes;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What loading a model may take beyond three times its budget: the fixed tables of its readers.
const LOADING_BYTES: u64 = 16 << 20;
/// Bytes that tell one format from another.
const START_BYTES: usize = 16;

/// What a bundle must keep to.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// With a key, a bundle without a good signature is refused.
    pub public_key: Option<PathBuf>,
    /// Bytes that the plan (weights and tables) and one scorer's buffers may take. While loading, the file and what is
    /// read of it stand beside them: up to three times that more.
    pub memory_bytes_max: u64,
    /// Most rows of one call to [`super::Scorer::score`].
    pub max_batch: usize,
    /// The code that runs dense layers; None takes the fastest that this processor has.
    pub kernel: Option<Kernel>,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self { public_key: None, memory_bytes_max: 16 << 20, max_batch: 1024, kernel: None }
    }
}

impl LoadOptions {
    /// Whether a plan and the buffers of one scorer fit, before they are made.
    pub(super) fn fits(&self, plan: usize, buffers: usize) -> Result<(), String> {
        let need = plan.saturating_add(buffers) as u64;
        if need > self.memory_bytes_max {
            return Err(format!(
                "needs {need} bytes of memory ({plan} for weights and tables, {buffers} for buffers at {} rows a batch), \
                 expected at most {}",
                self.max_batch, self.memory_bytes_max
            ));
        }
        Ok(())
    }

    /// What may be held at the largest moment while a model is loaded.
    pub(super) fn loading_bytes_max(&self) -> u64 {
        self.memory_bytes_max.saturating_mul(3).saturating_add(LOADING_BYTES)
    }

    /// Whether a file, what is read of it and the plan fit beside each other while it is loaded.
    pub(super) fn fits_while_loading(&self, need: usize) -> Result<(), String> {
        let most = self.loading_bytes_max();
        if need as u64 > most {
            return Err(format!("needs up to {need} bytes of memory while it is loaded, expected at most {most}"));
        }
        Ok(())
    }

    /// Whether a model file is short enough to be read.
    pub(super) fn fits_as_file(&self, length: u64) -> Result<(), String> {
        let most = self.file_bytes_max();
        if length > most { Err(format!("expected a file of at most {most} bytes, found {length}")) } else { Ok(()) }
    }

    /// The longest model file that is read: what is in it and is not of the model must not cost memory either.
    pub(super) fn file_bytes_max(&self) -> u64 {
        self.memory_bytes_max.saturating_mul(2).saturating_add(1 << 20)
    }
}

/// Loads the bundle in `dir` (or behind the symbolic link `dir`), or a bare model file that says its inputs itself.
///
/// # Errors
/// Names the file, what was expected and what was found; see [`ModelError::problems`].
pub fn load(dir: &Path, options: &LoadOptions) -> Result<Bundle, ModelError> {
    load_with_reference(dir, options).map(|(bundle, _)| bundle)
}

/// The same, with the Candle forward pass of the same tensors where the model is a network of tensors.
///
/// # Errors
/// As [`load`].
pub fn load_with_reference(dir: &Path, options: &LoadOptions) -> Result<(Bundle, Option<Reference>), ModelError> {
    // Resolved once: a link that is moved meanwhile must not mix two bundles.
    let dir = dir.canonicalize().map_err(|source| ModelError::Io {
        file: dir.to_owned(),
        what: "expected the directory of a bundle, or a model file",
        source,
    })?;
    if !dir.is_dir() {
        return bare::load(&dir, options).map(|bundle| (bundle, None));
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
    // Read once: what is used is what was hashed.
    let mut files = BTreeMap::new();
    for (name, sha256) in &manifest.files {
        files.insert(name.clone(), read_hashed(&dir.join(name), sha256, options)?);
    }
    let recipe = Recipe::of(&manifest, &files);
    let Compiled { program, reference, .. } = compile(&file, manifest.format, &recipe, options)?;
    let vectors = match files.remove(PARITY_FILE) {
        Some(vectors) => Some(vectors),
        None => parity::read(&dir)?.map(Bytes::from),
    };
    drop(files);
    let bundle = assemble(manifest, manifest_sha256, program, &file, options, false)?;
    let parity = match vectors {
        Some(vectors) => Some(parity::check(&dir, &vectors, bundle.features(), &mut bundle.scorer(1))?),
        None => None,
    };
    Ok((Bundle { parity, folder: dir, seal, ..bundle }, reference))
}

/// Puts manifest and program together: which feature goes where, and which number is the score. A `bare` file may leave
/// the score open.
pub(super) fn assemble(
    manifest: Manifest,
    manifest_sha256: [u8; 32],
    program: Program,
    file: &Path,
    options: &LoadOptions,
    bare: bool,
) -> Result<Bundle, ModelError> {
    let mut problems = Problems::default();
    let mut features = FeatureSet::clone(&manifest.features);
    let order = match_columns(features.names(), program.columns(), &mut problems);
    let (choice, calibration) = (&manifest.choice, manifest.calibration.clone());
    let mut unclear = Problems::default();
    let mut scoring = Scoring::choose(program.outputs(), choice, calibration, program.is_f32(), &mut unclear);
    if scoring.is_none() && bare {
        scoring = Some(Scoring::undecided());
    } else {
        problems.0.append(&mut unclear.0);
    }
    if problems.0.is_empty() {
        let mut kinds = vec![ColumnKind::F32; features.width()];
        for (n, column) in program.columns().iter().enumerate() {
            let at = order.as_ref().map_or(Some(n), |order| order.get(n).and_then(|at| usize::try_from(*at).ok()));
            if let Some(kind) = at.and_then(|at| kinds.get_mut(at)) {
                *kind = column.kind.clone();
            }
        }
        features.bind(&kinds, &mut problems);
        manifest.rules.check(&features, &mut problems);
    }
    let Some(scoring) = scoring.filter(|_| problems.0.is_empty()) else {
        return Err(ModelError::Weights { file: file.to_owned(), problems: problems.0 });
    };
    let mut manifest = manifest;
    if scoring.narrow() {
        manifest.decisions.narrow();
    }
    manifest.features = Arc::new(features);
    let bundle = Bundle {
        label: manifest.label(),
        features: Arc::clone(&manifest.features),
        manifest_sha256,
        parity: None,
        program: Arc::new(program.ordered(order)),
        scoring: Arc::new(scoring),
        method: Method::Off,
        notes: Vec::new(),
        folder: PathBuf::new(),
        seal: None,
        manifest,
    };
    let rule_notes = bundle.rules().notes().to_vec();
    let (method, note) = explain::choose(&bundle, options);
    let mut bundle = Bundle { method, notes: note.into_iter().chain(rule_notes).collect(), ..bundle };
    if method != Method::Shapley
        && let Some(program) = Arc::get_mut(&mut bundle.program)
    {
        program.forget_contributions();
    }
    let buffers = bundle.scratch_bytes(options.max_batch);
    options
        .fits(bundle.weights_bytes(), buffers)
        .map_err(|what| ModelError::Refused { file: file.to_owned(), what })?;
    // Lists may grow as far as the bundle as a whole may.
    let taken = bundle.weights_bytes().saturating_add(buffers).saturating_sub(bundle.rules().bytes());
    let left = options.memory_bytes_max.saturating_sub(taken as u64);
    bundle.rules().keep_within(usize::try_from(left).unwrap_or(usize::MAX));
    Ok(bundle)
}

fn read_hashed(file: &Path, expected: &[u8; 32], options: &LoadOptions) -> Result<Bytes, ModelError> {
    let bytes = read_limited(file, options.file_bytes_max(), "cannot read a file of the bundle")?;
    let found: [u8; 32] = Sha256::digest(&bytes).into();
    if found == *expected {
        return Ok(bytes.into());
    }
    Err(ModelError::Refused { file: file.to_owned(), what: wrong_hash(expected, &found) })
}

pub(super) fn wrong_hash(expected: &[u8; 32], found: &[u8; 32]) -> String {
    format!("expected sha256 {} as model.toml says, found {}", hex::encode(expected), hex::encode(found))
}

/// The first bytes of a file, to tell what it is.
pub(super) fn read_start(file: &Path) -> Result<Vec<u8>, ModelError> {
    const WHAT: &str = "cannot read the model";
    let mut start = Vec::with_capacity(START_BYTES);
    let read = open_regular(file, WHAT)?.0.take(START_BYTES as u64).read_to_end(&mut start);
    read.map_err(|source| ModelError::Io { file: file.to_owned(), what: WHAT, source })?;
    Ok(start)
}

/// A regular file and its length; a pipe, which would be waited for for ever, is refused.
pub fn open_regular(file: &Path, what: &'static str) -> Result<(File, u64), ModelError> {
    let io = |source| ModelError::Io { file: file.to_owned(), what, source };
    let handle = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(file).map_err(io)?;
    let metadata = handle.metadata().map_err(io)?;
    if !metadata.is_file() {
        return Err(ModelError::Refused { file: file.to_owned(), what: "expected a regular file".to_owned() });
    }
    Ok((handle, metadata.len()))
}

/// A whole file, refused by its length before it is read and while it is read.
pub(super) fn read_limited(file: &Path, limit: u64, what: &'static str) -> Result<Vec<u8>, ModelError> {
    let io = |source| ModelError::Io { file: file.to_owned(), what, source };
    let (handle, length) = open_regular(file, what)?;
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
