//! From a config to the parts that a daemon is made of. No I/O but reading the bundle.

use crate::config::{Config, DiskPlan, DoesNotFitDisk, DoesNotFitMemory, MemoryPlan, ModelCost};
use crate::engine::WAVE_EVENTS_MAX;
use crate::model::{self, Bundle, LoadOptions, ModelError};
use std::sync::Arc;

/// The model and how memory and disk divide.
pub struct Built {
    pub bundle: Arc<Bundle>,
    pub memory: MemoryPlan,
    pub disk: DiskPlan,
}

/// What does not fit. All of them are errors of the config.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("model.bundle: {0}")]
    Model(#[from] ModelError),
    #[error("limits.memory: {0}")]
    Memory(#[from] DoesNotFitMemory),
    #[error("limits.disk: {0}")]
    Disk(#[from] DoesNotFitDisk),
}

/// Loads the bundle and divides the budgets; every error there is, not the first alone.
///
/// # Errors
/// When the bundle is refused or the parts do not fit.
pub fn build(config: &Config) -> Result<Built, Vec<BuildError>> {
    let mut errors: Vec<BuildError> = Vec::new();
    let bundle = load_bundle(config).map_err(|error| errors.push(error.into())).ok();
    let cost = bundle.as_ref().map_or(ModelCost::default(), cost);
    let memory = MemoryPlan::divide(config, cost).map_err(|error| errors.push(error.into())).ok();
    let disk = DiskPlan::divide(config).map_err(|error| errors.push(error.into())).ok();
    match (bundle, memory, disk) {
        (Some(bundle), Some(memory), Some(disk)) => Ok(Built { bundle: Arc::new(bundle), memory, disk }),
        _ => Err(errors),
    }
}

fn load_bundle(config: &Config) -> Result<Bundle, ModelError> {
    let options = LoadOptions {
        public_key: config.model.public_key.clone(),
        // A quarter at most: queues and the index need the rest.
        memory_bytes_max: config.limits.memory.bytes() / 4,
        max_batch: WAVE_EVENTS_MAX,
        ..LoadOptions::default()
    };
    model::load(&config.model.bundle, &options)
}

/// What a model needs of the memory plan.
pub fn cost(bundle: &Bundle) -> ModelCost {
    let bytes = |bytes: usize| u64::try_from(bytes).unwrap_or(u64::MAX);
    ModelCost {
        weights_bytes: bytes(bundle.weights_bytes()),
        scratch_bytes: bytes(bundle.scratch_bytes(WAVE_EVENTS_MAX)),
    }
}
