//! From a config to the parts that a daemon is made of. No I/O but reading the bundles.

use crate::config::{Config, DiskPlan, DoesNotFitDisk, DoesNotFitMemory, MemoryPlan, ModelCost};
use crate::engine::{Lineup, Shares, WAVE_EVENTS_MAX, check_windows};
use crate::features::{Limits, Plan};
use crate::model::{self, Bundle, LoadOptions, ModelError};
use crate::store::StoreError;
use std::path::Path;
use std::sync::Arc;

/// The models and how memory and disk divide.
pub struct Built {
    pub bundle: Arc<Bundle>,
    /// The second model, if there is to be one.
    pub shadow: Option<Arc<Bundle>>,
    pub memory: MemoryPlan,
    pub disk: DiskPlan,
    /// Why the daemon starts without the shadow that its config names.
    pub left_out: Option<String>,
}

/// What does not fit. All of them are errors of the config.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("model.bundle: {0}")]
    Model(#[from] ModelError),
    #[error("model.shadow: {0}")]
    Shadow(ModelError),
    #[error("limits.memory: {0}")]
    Memory(#[from] DoesNotFitMemory),
    #[error("limits.disk: {0}")]
    Disk(#[from] DoesNotFitDisk),
    #[error("model.bundle: window features: {0}; expected fewer keys, fields or filters")]
    Windows(StoreError),
    /// The model is older than one that was in use.
    #[error("model.bundle: {0}")]
    Older(String),
}

/// Loads the bundles and divides the budgets; every error there is, not the first alone.
///
/// # Errors
/// When a bundle is refused or the parts do not fit.
pub fn build(config: &Config) -> Result<Built, Vec<BuildError>> {
    let mut errors: Vec<BuildError> = Vec::new();
    let bundle = load_bundle(config, &config.model.bundle).map_err(|error| errors.push(error.into())).ok();
    let shadow = config
        .model
        .shadow
        .as_deref()
        .map(|shadow| load_bundle(config, shadow).map_err(|error| errors.push(BuildError::Shadow(error))).ok());
    if let Some(bundle) = &bundle {
        let sets = std::iter::once(bundle.features()).chain(shadow.iter().flatten().map(Bundle::features));
        let plan = Plan::of(&sets.collect::<Vec<_>>());
        errors.extend(plan.and_then(|plan| check_windows(&plan).err()).map(BuildError::Windows));
    }
    let cost = bundle.as_ref().map_or(ModelCost::default(), |bundle| cost(bundle, shadow.iter().flatten().next()));
    let memory = MemoryPlan::divide(config, cost).map_err(|error| errors.push(error.into())).ok();
    let disk = DiskPlan::divide(config).map_err(|error| errors.push(error.into())).ok();
    match (bundle, memory, disk) {
        (Some(bundle), Some(memory), Some(disk)) if errors.is_empty() => {
            Ok(Built { bundle: Arc::new(bundle), shadow: shadow.flatten().map(Arc::new), memory, disk, left_out: None })
        }
        _ => Err(errors),
    }
}

/// The same for a start: a shadow that is at fault, or does not fit, is left out.
///
/// # Errors
/// As [`build`], where that is not the shadow's fault.
pub fn build_to_start(config: &Config) -> Result<Built, Vec<BuildError>> {
    let errors = match build(config) {
        Err(errors) if config.model.shadow.is_some() => errors,
        built => return built,
    };
    let mut without = config.clone();
    without.model.shadow = None;
    let built = build(&without)?;
    let why: Vec<String> = errors.iter().map(ToString::to_string).collect();
    Ok(Built { left_out: Some(why.join("; ")), ..built })
}

fn load_bundle(config: &Config, folder: &Path) -> Result<Bundle, ModelError> {
    let options = LoadOptions {
        public_key: config.model.public_key.clone(),
        // A quarter at most: queues and the index need the rest.
        memory_bytes_max: config.limits.memory.bytes() / 4,
        max_batch: WAVE_EVENTS_MAX,
        ..LoadOptions::default()
    };
    model::load(folder, &options)
}

/// What the models need of the memory plan.
pub fn cost(bundle: &Bundle, shadow: Option<&Bundle>) -> ModelCost {
    let bytes = |bytes: usize| u64::try_from(bytes).unwrap_or(u64::MAX);
    let all = |bundle: &Bundle| bytes(bundle.weights_bytes().saturating_add(bundle.scratch_bytes(WAVE_EVENTS_MAX)));
    ModelCost {
        weights_bytes: bytes(bundle.weights_bytes()),
        scratch_bytes: bytes(bundle.scratch_bytes(WAVE_EVENTS_MAX)),
        shadow_bytes: shadow.map_or(0, all),
        windows: bundle.features().windows() || shadow.is_some_and(|shadow| shadow.features().windows()),
    }
}

/// What the windows' state is bounded by.
pub fn window_limits(config: &Config, memory: &MemoryPlan) -> Limits {
    let lateness_us = config.windows.lateness.map(|lateness| i64::try_from(lateness.duration().as_micros()));
    Limits {
        bytes: usize::try_from(memory.windows).unwrap_or(usize::MAX),
        lateness_us: lateness_us.map(|us| us.unwrap_or(i64::MAX)),
    }
}

/// The budgets that the engine keeps to.
pub fn shares(memory: &MemoryPlan) -> Shares {
    Shares { index: memory.index, windows: memory.windows }
}

/// The models in their places, with the shadow's limit.
pub fn lineup(config: &Config, bundle: Arc<Bundle>, shadow: Option<Arc<Bundle>>) -> Arc<Lineup> {
    let shadow = shadow.map(|shadow| (shadow, config.model.shadow_limit.duration()));
    let more = config.replay.keep.map_or(&[][..], |_| &config.replay.fields);
    Lineup::reading(bundle, shadow, more)
}
