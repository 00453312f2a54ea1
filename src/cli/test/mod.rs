//! `verdictd test`: cases that lie beside a bundle, events in and what must come of them.
//!
//! ```text
//! *.test.toml ─> file (cases, checked) ─> run (the offline engine, step by step) ─> report (text or JSON)
//! ```
//!
//! Every case begins with nothing seen. All faults of a file are said at once, and none of its cases is run then.

mod compare;
mod file;
mod json;
mod report;
mod run;

#[cfg(test)]
mod tests;

use super::{
    ExitCode, Failure,
    offline::load_bundle,
    output::{Mark, Output, say},
};
use clap::Args;
use report::Report;
use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
};

/// What the name of a file of cases ends with.
const SUFFIX: &str = ".test.toml";

#[derive(Args, Debug)]
pub(super) struct TestArgs {
    /// The bundle that is tested; by default the folder that FILE lies in, else the current one
    #[arg(long, value_name = "DIR")]
    bundle: Option<PathBuf>,
    /// A minisign public key that must have signed the bundle
    #[arg(long, value_name = "FILE")]
    public_key: Option<PathBuf>,
    /// Print JSON for scripts
    #[arg(long)]
    json: bool,
    // A doc comment would want code marks, which the help would show.
    #[arg(value_name = "FILE", help = "Cases; by default every *.test.toml in the bundle's folder")]
    files: Vec<PathBuf>,
}

/// The files to run, each with its bundle; those of one bundle stand together.
fn asked(args: &TestArgs) -> Result<Vec<(PathBuf, Vec<PathBuf>)>, Failure> {
    if args.files.is_empty() {
        let bundle = args.bundle.clone().unwrap_or_else(|| PathBuf::from("."));
        let files = beside(&bundle)?;
        return Ok(vec![(bundle, files)]);
    }
    let mut asked: Vec<(PathBuf, Vec<PathBuf>)> = Vec::new();
    for file in &args.files {
        let folder = || file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let bundle = args.bundle.clone().unwrap_or_else(|| folder().to_owned());
        match asked.iter_mut().find(|(other, _)| *other == bundle) {
            Some((_, files)) => files.push(file.clone()),
            None => asked.push((bundle, vec![file.clone()])),
        }
    }
    Ok(asked)
}

/// The files of cases in a folder, by name.
fn beside(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |error| Failure::input(&folder.display().to_string(), &error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(SUFFIX)) {
            files.push(path);
        }
    }
    if files.is_empty() {
        // A test that tests nothing is not passed.
        return Err(Failure::usage(format!("{}: expected files named *{SUFFIX}, found none", folder.display())));
    }
    files.sort();
    Ok(files)
}

pub(super) fn run(args: &TestArgs) -> Result<(), Failure> {
    let mut report = Report::default();
    for (folder, files) in asked(args)? {
        let bundle = load_bundle(&folder, args.public_key.as_ref())?;
        if !bundle.scoring().is_decided() {
            let message = format!("{}: expected a bundle that says which output is the score", folder.display());
            return Err(Failure::does_not_hold(message));
        }
        for path in files {
            let text = std::fs::read(&path).map_err(|error| Failure::input(&path.display().to_string(), &error))?;
            match file::read(&text, bundle.features()) {
                Ok(cases) => report.add(&path, run::run(&bundle, &cases)?),
                Err(faults) => {
                    for fault in &faults {
                        say(Mark::Error, &format!("{}: {fault}", path.display()));
                    }
                    report.refuse(&path, faults);
                }
            }
        }
    }
    let mut out = Output::new();
    if args.json {
        out.json(&report.json())?;
    } else {
        let coloured =
            std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        out.text(&report.text(coloured))?;
    }
    out.finish()?;
    if report.holds() { Ok(()) } else { Err(Failure::said(ExitCode::DoesNotHold)) }
}
