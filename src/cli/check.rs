//! `verdictd check`: every fault at once; then how the budgets divide, and what is in effect and why.

use super::{
    ConfigArg, Failure,
    failure::code_of,
    output::{Mark, Output, say},
};
use crate::{
    config::{DiskPlan, Loaded, MemoryPlan, Problem, Problems, Setting},
    engine::WAVE_EVENTS_MAX,
    model::Inspection,
    service::{Built, examine, judge_at},
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
    shadow: Option<Inspection>,
}

pub(super) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let mut out = Output::new();
    let result = report(&args.config.config);
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
    examined(file).err()
}

/// All that a start would look at: also whether the bundle is older than one that was in use.
fn examined(file: &Path) -> Result<(Loaded, Built), Problems> {
    let (mut loaded, built) = examine(file)?;
    let key = "model.bundle";
    let (place, told) = (loaded.origin(key), judge_at(&loaded.config.state_dir, &built.bundle));
    let problem = |why: String| Problem::at(&place, key, format!("{key}: {why}"));
    loaded.warnings.extend(told.map_err(|why| Problems(vec![problem(why)]))?.map(problem));
    Ok((loaded, built))
}

fn report(file: &Path) -> Result<Report, Problems> {
    let (loaded, Built { bundle, shadow, memory, disk, .. }) = examined(file)?;
    let shadow = shadow.map(|shadow| Inspection::of(&shadow, WAVE_EVENTS_MAX));
    Ok(Report { loaded, memory, disk, model: Inspection::of(&bundle, WAVE_EVENTS_MAX), shadow })
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
                "shadow": report.shadow,
                "config": report.loaded.settings.iter().map(setting).collect::<Map<_, _>>(),
            })
        }
    }
}

fn as_text(report: &Report) -> String {
    let Report { loaded, memory, disk, model, shadow } = report;
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
    if let Some(shadow) = shadow {
        lines.push("\nShadow\n".to_owned());
        lines.extend(shadow.to_string().lines().map(|line| format!("  {line}\n")));
    }
    lines.push("\nConfig in effect\n".to_owned());
    lines.extend(
        loaded.settings.iter().map(|s| format!("  {:width$}  {:value_width$}  {}\n", s.key, value(s), s.origin)),
    );
    lines.concat()
}
