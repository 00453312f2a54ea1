//! Every fault of a config at once, those of its model and budgets among them.

use super::build::{BuildError, Built, build};
use crate::config::{Config, Loaded, MemoryPlan, ModelCost, Origin, Problem, Problems, load_with};
use crate::model::ModelError;
use std::io;
use std::path::Path;

/// Reads the config and loads what it names.
///
/// # Errors
/// Every fault that could be found, each with its place.
pub fn examine(file: &Path) -> Result<(Loaded, Built), Problems> {
    let mut built = None;
    let loaded = load_with(file, &mut |config, origin| match build(config) {
        Ok(good) => {
            built = Some(good);
            Vec::new()
        }
        Err(errors) => errors.iter().flat_map(|error| problems(config, origin, error)).collect(),
    })?;
    match built {
        Some(built) => Ok((loaded, built)),
        // What kept it from being built has been reported.
        None => Err(Problems(vec![Problem::of_file(file, "the model could not be looked at")])),
    }
}

/// What is wrong with the parts; a budget that is too small by itself has been reported with the keys.
fn problems(config: &Config, origin: &dyn Fn(&str) -> Origin, error: &BuildError) -> Vec<Problem> {
    match error {
        // Not a bundle that is at fault, but where it should be.
        BuildError::Model(ModelError::Io { file, source, .. }) if *file == config.model.bundle => {
            let found = format!("{} ({source})", file.display());
            let problem = Problem::value(&origin("model.bundle"), "model.bundle", "the folder of a bundle", &found);
            vec![Problem { permission: source.kind() == io::ErrorKind::PermissionDenied, ..problem }]
        }
        BuildError::Model(error) => model_problems(error),
        BuildError::Memory(error) if MemoryPlan::divide(config, ModelCost::default()).is_ok() => {
            let message = format!("limits.memory: with this model, {error}");
            let problem = Problem::at(&origin("limits.memory"), "limits.memory", message);
            vec![problem.with(format!("at least \"{}\"", error.needed), config.limits.memory.to_string())]
        }
        BuildError::Memory(_) | BuildError::Disk(_) => Vec::new(),
    }
}

fn model_problems(error: &ModelError) -> Vec<Problem> {
    let permission = matches!(error, ModelError::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied);
    let single = |problem: crate::features::Problem| {
        let place = if problem.key.is_empty() { String::new() } else { format!("{}: ", problem.key) };
        Problem {
            key: "model.bundle".to_owned(),
            permission,
            ..Problem::of_file(error.file(), format!("model.bundle: {place}{}", problem.what))
        }
    };
    error.problems().into_iter().map(single).collect()
}
