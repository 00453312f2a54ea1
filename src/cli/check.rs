//! `verdictd check`: every fault at once; then how the budgets divide, and what is in effect and why.

use super::{
    ConfigArg, Failure,
    failure::code_of,
    output::{Mark, Output, say},
};
use crate::{
    config::{Config, DiskPlan, Loaded, MemoryPlan, ModelCost, Origin, Problem, Problems, load_with},
    engine::WAVE_EVENTS_MAX,
    model::{Bundle, Inspection, LoadOptions, ModelError},
};
use clap::Args;
use serde_json::{Map, Value, json};

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
    let result = examine(args);
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

fn examine(args: &CheckArgs) -> Result<Report, Problems> {
    let mut found = None;
    let loaded = load_with(&args.config.config, &mut |config, origin| match look_at_model(config, origin) {
        Ok(good) => {
            found = Some(good);
            Vec::new()
        }
        Err(problems) => problems,
    })?;
    // A good config has both: what is missing has been reported.
    let whole = found.and_then(|(memory, model)| Some((memory?, model, DiskPlan::divide(&loaded.config).ok()?)));
    match whole {
        Some((memory, model, disk)) => Ok(Report { loaded, memory, disk, model }),
        None => Err(Problems(vec![Problem::of_file(&args.config.config, "the budgets could not be divided")])),
    }
}

/// Loads the bundle and divides the memory with it; the plan is None where the budget alone is at fault.
fn look_at_model(
    config: &Config,
    origin: &dyn Fn(&str) -> Origin,
) -> Result<(Option<MemoryPlan>, Inspection), Vec<Problem>> {
    let bundle = load_bundle(config).map_err(|error| model_problems(&error))?;
    let inspection = Inspection::of(&bundle, WAVE_EVENTS_MAX);
    if MemoryPlan::divide(config, ModelCost::default()).is_err() {
        return Ok((None, inspection));
    }
    match MemoryPlan::divide(config, model_cost(&bundle)) {
        Ok(plan) => Ok((Some(plan), inspection)),
        Err(error) => {
            let problem =
                Problem::at(&origin("limits.memory"), "limits.memory", format!("limits.memory: with this model, {error}"))
                    .with(format!("at least \"{}\"", error.needed), config.limits.memory.to_string());
            Err(vec![problem])
        }
    }
}

fn load_bundle(config: &Config) -> Result<Bundle, ModelError> {
    // What the model may take at most, were there no index; the plan then judges more closely.
    let free = MemoryPlan::divide(config, ModelCost::default()).map_or(config.limits.memory.bytes(), |plan| plan.index);
    let options = LoadOptions {
        public_key: config.model.public_key.clone(),
        memory_bytes_max: free,
        max_batch: WAVE_EVENTS_MAX,
    };
    crate::model::load(&config.model.bundle, &options)
}

fn model_cost(bundle: &Bundle) -> ModelCost {
    let bytes = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    ModelCost {
        weights_bytes: bytes(bundle.weights_bytes()),
        scratch_bytes: bytes(bundle.scratch_bytes(WAVE_EVENTS_MAX)),
    }
}

fn model_problems(error: &ModelError) -> Vec<Problem> {
    let permission = matches!(error, ModelError::Io { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied);
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

fn as_json(result: &Result<Report, Problems>) -> Value {
    match result {
        Err(problems) => json!({ "ok": false, "errors": problems.0, "warnings": [] }),
        Ok(report) => {
            let setting = |s: &crate::config::Setting| {
                (s.key.clone(), json!({ "value": s.value, "origin": s.origin.to_string() }))
            };
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
    let rate = events as f64 / window.duration().as_secs_f64().max(1.0);
    let mut out = format!("{}: good\n\nMemory\n{memory}", files.join(", "));
    out += &format!("  The dedup window of {window} fits while fewer than {rate:.1} events a second come in on average;\n");
    out += &format!("  beyond that it holds the newest {events} events.\n\nDisk\n{disk}\nModel\n");
    for line in model.to_string().lines() {
        out += &format!("  {line}\n");
    }
    out += "\nConfig in effect\n";
    let width = loaded.settings.iter().map(|s| s.key.len()).max().unwrap_or(0);
    let value = |s: &crate::config::Setting| s.value.clone().unwrap_or_else(|| "(not set)".to_owned());
    let value_width = loaded.settings.iter().map(|s| value(s).chars().count().min(40)).max().unwrap_or(0);
    for setting in &loaded.settings {
        out += &format!("  {:width$}  {:value_width$}  {}\n", setting.key, value(setting), setting.origin);
    }
    out
}
