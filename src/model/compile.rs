//! A model file to a [`Program`]: sizes first, then the file, then the plan.

use super::explain::Method;
use super::format::Format;
use super::graph;
use super::kernel::Kernel;
use super::lightgbm;
use super::load::{LoadOptions, open_regular, read_limited, wrong_hash};
use super::manifest::Manifest;
use super::matching::Column;
use super::native::NativePlan;
use super::network::{self, Network, Reference, weights};
use super::onnx::{self, External};
use super::outputs::{Means, OutputSpec};
use super::program::{Core, Program};
use super::trees::Native;
use super::xgboost::{self, Iterations};
use super::{ModelError, Scorer};
use crate::features::{ColumnKind, Problems};
use bytes::Bytes;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// What is known of a file before it is read.
#[derive(Clone, Debug, Default)]
pub struct Recipe<'a> {
    /// None of a format that says it itself.
    pub network: Option<&'a Network>,
    /// Columns of a row, for a network, whose file does not name them.
    pub width: usize,
    /// What it must be.
    pub sha256: Option<[u8; 32]>,
    /// Of a bundle: its other files, whose bytes have been checked. None of a bare file, which may read what is beside it.
    pub files: Option<&'a BTreeMap<String, Bytes>>,
    /// Reasons that a verdict is given at most.
    pub reasons: usize,
    /// Whether they are to be exact where they can be.
    pub exact: bool,
    /// See [`Manifest::all_iterations`].
    pub all_iterations: bool,
}

impl<'a> Recipe<'a> {
    pub fn of(manifest: &'a Manifest, files: &'a BTreeMap<String, Bytes>) -> Self {
        Self {
            files: Some(files),
            network: manifest.network.as_ref(),
            width: manifest.features.width(),
            sha256: Some(manifest.sha256),
            reasons: manifest.decisions.reasons(),
            exact: manifest.decisions.reasons() > 0 && manifest.reasons.method != Method::Baseline,
            all_iterations: manifest.all_iterations,
        }
    }
}

/// What became of a file.
pub struct Compiled {
    pub program: Program,
    /// Of a network of tensors.
    pub reference: Option<Reference>,
    /// Of the file.
    pub sha256: [u8; 32],
}

/// Compiles `file`.
pub fn compile(
    file: &Path,
    format: Format,
    recipe: &Recipe<'_>,
    options: &LoadOptions,
) -> Result<Compiled, ModelError> {
    let refused = |what: String| ModelError::Refused { file: file.to_owned(), what };
    let (mut handle, length) = open(file)?;
    // Before a survey walks through all of it: a file of holes may be a terabyte long.
    options.fits_as_file(length).map_err(refused)?;
    if let (Format::Safetensors, Some(network)) = (format, recipe.network) {
        let header = weights::Header::read(&mut handle, length).map_err(refused)?;
        let widths = header.widths(network, recipe.width);
        let rows = Scorer::rows(options.max_batch, recipe.reasons);
        let (weights, scratch) = network::bytes_of(&widths, rows)
            .ok_or_else(|| refused("expected shapes whose size can be counted".to_owned()))?;
        options
            .fits(weights, scratch.saturating_add(Scorer::reasons_bytes(recipe.width, recipe.reasons)))
            .map_err(refused)?;
        let (bytes, sha256) = read(file, recipe, options)?;
        let kernel = options.kernel.unwrap_or_else(Kernel::best);
        let (program, reference) = of_network(network, &bytes, recipe.width, file, kernel)?;
        return Ok(Compiled { program, reference: Some(reference), sha256 });
    }
    match format {
        Format::LightGbm => {
            let found = lightgbm::survey(&mut handle).map_err(|source| unreadable(file, source))?;
            options.fits_while_loading(found.memory()).map_err(refused)?;
            let (bytes, sha256) = read(file, recipe, options)?;
            let native = lightgbm::load(&bytes).map_err(refused)?;
            drop(bytes);
            of_native(native, recipe, sha256).map_err(refused)
        }
        Format::Xgboost => {
            let found = xgboost::survey(&mut handle).map_err(|source| unreadable(file, source))?;
            options.fits_while_loading(found.memory()).map_err(refused)?;
            let (bytes, sha256) = read(file, recipe, options)?;
            let iterations = if recipe.all_iterations { Iterations::All } else { Iterations::Best };
            let native = xgboost::load(&bytes, iterations).map_err(refused)?;
            drop(bytes);
            of_native(native, recipe, sha256).map_err(refused)
        }
        Format::Onnx => {
            let faulty = |error: onnx::Error| refused(error.to_string());
            let found = onnx::survey(BufReader::new(handle), length).map_err(faulty)?;
            options.fits_while_loading(usize::try_from(found.estimate()).unwrap_or(usize::MAX)).map_err(refused)?;
            let (bytes, sha256) = read(file, recipe, options)?;
            let most = usize::try_from(options.loading_bytes_max()).unwrap_or(usize::MAX);
            let wanted = onnx::Options {
                bytes: most,
                width: Some(recipe.width).filter(|width| *width > 0),
                outputs: Vec::new(),
            };
            let beside = match recipe.files {
                Some(held) => External::Held(held),
                None => file.parent().map_or(External::Nowhere, External::Folder),
            };
            let plan = onnx::load(bytes.into(), beside, &wanted).map_err(faulty)?;
            let (columns, outputs) = (graph::columns(&plan), graph::outputs(&plan));
            let drivers = recipe.exact.then(|| onnx::Drivers::of(&plan)).flatten().map(Box::new);
            let program = Program::new(Core::Graph(Box::new(plan), drivers), columns, outputs);
            Ok(Compiled { program, reference: None, sha256 })
        }
        Format::Safetensors => {
            Err(refused("expected the layers of the network, which only a manifest can say".to_owned()))
        }
    }
}

/// A tree library's model.
fn of_native(native: Native, recipe: &Recipe<'_>, sha256: [u8; 32]) -> Result<Compiled, String> {
    let (plan, columns, outputs) = NativePlan::compile(native, recipe.exact)?;
    Ok(Compiled { program: Program::new(Core::Native(Box::new(plan)), columns, outputs), reference: None, sha256 })
}

fn unreadable(file: &Path, source: std::io::Error) -> ModelError {
    ModelError::Io { file: file.to_owned(), what: "cannot read the model", source }
}

/// The whole file and its hash, which must be what is expected before anything is read out of it.
fn read(file: &Path, recipe: &Recipe<'_>, options: &LoadOptions) -> Result<(Vec<u8>, [u8; 32]), ModelError> {
    let bytes = read_limited(file, options.file_bytes_max(), "cannot read the model")?;
    let sha256: [u8; 32] = Sha256::digest(&bytes).into();
    match recipe.sha256 {
        Some(expected) if expected != sha256 => {
            Err(ModelError::Refused { file: file.to_owned(), what: wrong_hash(&expected, &sha256) })
        }
        _ => Ok((bytes, sha256)),
    }
}

/// The file and its length, if it is a regular one.
fn open(file: &Path) -> Result<(File, u64), ModelError> {
    open_regular(file, "cannot read the model")
}

/// A dense network from the bytes of its safetensors file. `width`: columns of a row.
pub(super) fn of_network(
    network: &Network,
    bytes: &[u8],
    width: usize,
    file: &Path,
    kernel: Kernel,
) -> Result<(Program, Reference), ModelError> {
    let mut problems = Problems::default();
    let (tensors, last) = weights::read(bytes, network, width, &mut problems);
    let ops = if problems.0.is_empty() { network::fold(network, &tensors, &mut problems) } else { Vec::new() };
    if let Some(bad) = first_not_finite(&ops) {
        problems.add("network", format!("folding the batch norms gives a weight that is no finite f32 ({bad})"));
    }
    if !problems.0.is_empty() {
        return Err(ModelError::Weights { file: file.to_owned(), problems: problems.0 });
    }
    let plan = network::Plan::compile(&ops, width, kernel);
    let columns = (0..width).map(|n| Column { name: format!("f{n}"), kind: ColumnKind::F32 }).collect();
    let means = match network.output {
        network::Output::Logit => Means::Logit,
        network::Output::Probability => Means::Probability,
        network::Output::Raw => Means::Number,
    };
    let outputs = vec![OutputSpec::new("output", last, means)];
    Ok((Program::new(Core::Network(plan), columns, outputs), Reference::new(network.clone(), tensors)))
}

fn first_not_finite(ops: &[network::Op]) -> Option<f32> {
    ops.iter().find_map(|op| match op {
        network::Op::Dense(dense) => dense.weight.iter().chain(&dense.bias).copied().find(|value| !value.is_finite()),
        network::Op::Activation(_) => None,
    })
}
