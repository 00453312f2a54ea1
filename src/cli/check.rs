//! `verdictd check`: every fault at once; then how the budgets divide, and what is in effect and why.

use super::{
    ConfigArg, Failure,
    failure::code_of,
    output::{Mark, Output, say},
};
use crate::{
    config::{
        Config, DiskPlan, KeyPlaces, Loaded, MemoryPlan, ModelCost, Origin, Problem, Problems, Setting, load_with,
    },
    engine::WAVE_EVENTS_MAX,
    model::{Inspection, MANIFEST_FILE, ModelError},
    service::{BuildError, Built, build},
};
use clap::Args;
use serde_json::{Map, Value, json};
use std::path::Path;

#[derive(Args, Debug)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    config: ConfigArg,
    /// Print JSON for scripts
    #[arg(long)]
    json: bool,
}

/// What a good config comes to.
struct Report {
    loaded: Loaded,
    memory: MemoryPlan,
    disk: DiskPlan,
    model: Inspection,
}

pub(super) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let mut out = Output::new();
    let result = examine(&args.config.config);
    if args.json {
        out.json(&as_json(&result))?;
        out.finish()?;
        return result.map(drop).map_err(|problems| Failure::said(code_of(&problems)));
    }
    let report = result?;
    for warning in &report.loaded.warnings {
        say(Mark::Warning, &warning.to_string());
    }
    out.text(&as_text(&report))?;
    out.finish()
}

/// Every fault of a config that has been refused, the bundle's among them, each with its place.
pub(super) fn faults(file: &Path) -> Option<Problems> {
    examine(file).err()
}

fn examine(file: &Path) -> Result<Report, Problems> {
    let mut built = None;
    let loaded = load_with(file, &mut |config, origin| match build(config) {
        Ok(good) => {
            built = Some(good);
            Vec::new()
        }
        Err(errors) => errors.iter().flat_map(|error| problems(config, origin, error)).collect(),
    })?;
    match built {
        Some(Built { bundle, memory, disk }) => {
            Ok(Report { loaded, memory, disk, model: Inspection::of(&bundle, WAVE_EVENTS_MAX) })
        }
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
            vec![Problem { permission: source.kind() == std::io::ErrorKind::PermissionDenied, ..problem }]
        }
        BuildError::Model(error) => model_problems(error, &origin("model.bundle")),
        BuildError::Memory(error) if MemoryPlan::divide(config, ModelCost::default()).is_ok() => {
            let message = format!("limits.memory: with this model, {error}");
            let problem = Problem::at(&origin("limits.memory"), "limits.memory", message);
            vec![problem.with(format!("at least \"{}\"", error.needed), config.limits.memory.to_string())]
        }
        BuildError::Memory(_) | BuildError::Disk(_) => Vec::new(),
    }
}

/// Every fault of a bundle: at its place in model.toml, or where the config names the bundle.
fn model_problems(error: &ModelError, bundle: &Origin) -> Vec<Problem> {
    let permission =
        matches!(error, ModelError::Io { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied);
    let faults = manifest_faults(error).unwrap_or_else(|| {
        let single = |problem: crate::features::Problem| {
            let key = if problem.key.is_empty() { String::new() } else { format!("{}: ", problem.key) };
            Problem::at(bundle, "", format!("{}: {key}{}", error.file().display(), problem.what))
        };
        error.problems().into_iter().map(single).collect()
    });
    let of_bundle = |problem: Problem| Problem {
        key: "model.bundle".to_owned(),
        message: format!("model.bundle: {}", problem.message),
        permission,
        ..problem
    };
    faults.into_iter().map(of_bundle).collect()
}

/// The faults of a manifest, each with its place in it; None where another file is at fault.
pub(super) fn manifest_faults(error: &ModelError) -> Option<Vec<Problem>> {
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
    let placed = problems.iter().map(|problem| {
        let origin = places.at(&problem.key, problem.what.starts_with("unknown key"));
        Problem::at(&origin, &problem.key, problem.to_string())
    });
    Some(placed.collect())
}

fn as_json(result: &Result<Report, Problems>) -> Value {
    match result {
        Err(problems) => json!({ "ok": false, "errors": problems.0, "warnings": [] }),
        Ok(report) => {
            let setting = |s: &Setting| (s.key.clone(), json!({ "value": s.json(), "origin": s.origin.to_string() }));
            json!({
                "ok": true,
                "errors": [],
                "warnings": report.loaded.warnings,
                "files": report.loaded.files,
                "memory": report.memory.json(),
                "disk": report.disk.json(),
                "model": report.model,
                "config": report.loaded.settings.iter().map(setting).collect::<Map<_, _>>(),
            })
        }
    }
}

fn as_text(report: &Report) -> String {
    let Report { loaded, memory, disk, model } = report;
    let files = loaded.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>();
    let window = loaded.config.dedup.window;
    let events = memory.index_events();
    #[allow(clippy::cast_precision_loss)] // a figure of three digits is made of it
    let rate = events as f64 / window.duration().as_secs_f64().max(1.0);
    let width = loaded.settings.iter().map(|s| s.key.len()).max().unwrap_or(0);
    let value = |s: &Setting| s.value.clone().unwrap_or_else(|| "(not set)".to_owned());
    let value_width = loaded.settings.iter().map(|s| value(s).chars().count().min(40)).max().unwrap_or(0);

    let mut lines = vec![format!("{}: good\n\nMemory\n{memory}", files.join(", "))];
    lines.push(format!(
        "  The dedup window of {window} fits while fewer than {rate:.1} events a second come in on average;\n  \
         beyond that it holds the newest {events} events.\n\nDisk\n{disk}\nModel\n"
    ));
    lines.extend(model.to_string().lines().map(|line| format!("  {line}\n")));
    lines.push("\nConfig in effect\n".to_owned());
    lines.extend(
        loaded.settings.iter().map(|s| format!("  {:width$}  {:value_width$}  {}\n", s.key, value(s), s.origin)),
    );
    lines.concat()
}
