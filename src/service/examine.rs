//! Every fault of a config at once, those of its model and budgets among them.

use super::build::{BuildError, Built, build};
use super::windows;
use crate::config::{Config, KeyPlaces, Loaded, MemoryPlan, ModelCost, Origin, Problem, Problems, load_with};
use crate::features::Plan;
use crate::model::{MANIFEST_FILE, ModelError};
use std::io;
use std::path::Path;

/// Reads the config and loads what it names.
///
/// # Errors
/// Every fault that could be found, each with its place.
pub fn examine(file: &Path) -> Result<(Loaded, Built), Problems> {
    let mut built = None;
    let mut loaded = load_with(file, &mut |config, origin| match build(config) {
        Ok(good) => {
            built = Some(good);
            Vec::new()
        }
        Err(errors) => errors.iter().flat_map(|error| problems(config, origin, error)).collect(),
    })?;
    match built {
        Some(built) => {
            if let Some(plan) = plan_of(&built) {
                let warnings = windows::key_warnings(&loaded.config, &plan, &|key| loaded.origin(key));
                loaded.warnings.extend(warnings);
            }
            Ok((loaded, built))
        }
        // What kept it from being built has been reported.
        None => Err(Problems(vec![Problem::of_file(file, "the model could not be looked at")])),
    }
}

/// What the window features of the models need.
fn plan_of(built: &Built) -> Option<Plan> {
    let models = std::iter::once(&built.bundle).chain(&built.shadow);
    Plan::of(&models.map(|model| model.features()).collect::<Vec<_>>())
}

/// Loads what a config names that was read before.
///
/// # Errors
/// Every fault that could be found.
pub fn anew(config: Config) -> Result<(Loaded, Built), Problems> {
    let built = build(&config).map_err(|errors| {
        Problems(errors.iter().flat_map(|error| problems(&config, &|_| Origin::Default, error)).collect())
    })?;
    Ok((Loaded { config, settings: Vec::new(), files: Vec::new(), warnings: Vec::new() }, built))
}

/// What is wrong with the parts; a budget that is too small by itself has been reported with the keys.
fn problems(config: &Config, origin: &dyn Fn(&str) -> Origin, error: &BuildError) -> Vec<Problem> {
    match error {
        BuildError::Model(error) => of_bundle(error, "model.bundle", Some(&config.model.bundle), origin),
        BuildError::Shadow(error) => of_bundle(error, "model.shadow", config.model.shadow.as_deref(), origin),
        BuildError::Windows(_) => vec![Problem::at(&origin("model.bundle"), "model.bundle", error.to_string())],
        BuildError::Older(why) => {
            vec![Problem::at(&origin("model.bundle"), "model.bundle", format!("model.bundle: {why}"))]
        }
        BuildError::Memory(error) if MemoryPlan::divide(config, ModelCost::default()).is_ok() => {
            let models = if config.model.shadow.is_some() { "this model and its shadow" } else { "this model" };
            let message = format!("limits.memory: with {models}, {error}");
            let problem = Problem::at(&origin("limits.memory"), "limits.memory", message);
            vec![problem.with(format!("at least \"{}\"", error.needed), config.limits.memory.to_string())]
        }
        BuildError::Memory(_) | BuildError::Disk(_) => Vec::new(),
    }
}

/// What is wrong with the bundle that this key names.
fn of_bundle(error: &ModelError, key: &str, named: Option<&Path>, origin: &dyn Fn(&str) -> Origin) -> Vec<Problem> {
    match error {
        // Not a bundle that is at fault, but where it should be.
        ModelError::Io { file, source, .. } if Some(file.as_path()) == named => {
            let found = format!("{} ({source})", file.display());
            let problem = Problem::value(&origin(key), key, "the folder of a bundle", &found);
            vec![Problem { permission: source.kind() == io::ErrorKind::PermissionDenied, ..problem }]
        }
        error => model_problems(error, key, &origin(key)),
    }
}

/// Every fault of a bundle: at its place in model.toml, or where the config names the bundle.
fn model_problems(error: &ModelError, key: &str, bundle: &Origin) -> Vec<Problem> {
    let permission = matches!(error, ModelError::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied);
    let faults = manifest_faults(error).unwrap_or_else(|| {
        let single = |problem: crate::features::Problem| {
            let key = if problem.key.is_empty() { String::new() } else { format!("{}: ", problem.key) };
            Problem::at(bundle, "", format!("{}: {key}{}", error.file().display(), problem.what))
        };
        error.problems().into_iter().map(single).collect()
    });
    let of_bundle = |problem: Problem| Problem {
        key: key.to_owned(),
        message: format!("{key}: {}", problem.message),
        permission,
        ..problem
    };
    faults.into_iter().map(of_bundle).collect()
}

/// The faults of a manifest, each with its place in it; None where another file is at fault.
#[must_use]
pub fn manifest_faults(error: &ModelError) -> Option<Vec<Problem>> {
    let problems = match error {
        ModelError::Manifest { problems, .. } => problems,
        // One that is no TOML, where its parser says where.
        ModelError::Refused { file, .. } if file.ends_with(MANIFEST_FILE) => {
            let syntax = KeyPlaces::of_file(file).syntax;
            return (!syntax.is_empty()).then_some(syntax);
        }
        _ => return None,
    };
    let places = KeyPlaces::of_file(error.file());
    let located = problems.iter().map(|problem| {
        let origin = places.at(&problem.key, problem.what.starts_with("unknown key"));
        Problem::at(&origin, &problem.key, problem.to_string())
    });
    Some(located.collect())
}
