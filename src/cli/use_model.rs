//! `verdictd model use`: points `model.bundle` to another bundle and has the daemon take it.

use super::{ConfigArg, Failure, model, output::Output, reload};
use crate::{
    config::load,
    model::{LoadOptions, verify},
};
use clap::Args;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

#[derive(Args, Debug)]
pub(super) struct UseArgs {
    /// The bundle to use from now on
    #[arg(value_name = "DIR")]
    bundle: PathBuf,
    #[command(flatten)]
    config: ConfigArg,
    /// Change the link alone: the daemon takes it at its next reload or start
    #[arg(long)]
    no_reload: bool,
}

pub(super) fn run(args: &UseArgs) -> Result<(), Failure> {
    let config = load(&args.config.config)?.config;
    let link = &config.model.bundle;
    let options = LoadOptions {
        public_key: config.model.public_key.clone(),
        memory_bytes_max: config.limits.memory.bytes() / 4,
        ..LoadOptions::default()
    };
    let found = verify(&args.bundle, &options).map_err(|error| model::failure(&error))?;
    let target = fs::canonicalize(&args.bundle).map_err(|error| at(&args.bundle, &error))?;
    let before = match fs::read_link(link) {
        Ok(before) => Some(before),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(_) => {
            return Err(Failure::config(format!(
                "model.bundle: expected a symbolic link, which can be pointed elsewhere; {} is none: move the bundle \
                 there to a folder of its own, and link to that",
                link.display()
            )));
        }
    };
    point(link, &target)?;
    let mut out = Output::new();
    let label = format!("{}@{}", found.inspection.name, found.inspection.version);
    if args.no_reload {
        out.line(&format!("{} now leads to {} ({label})", link.display(), target.display()))?;
        return out.finish();
    }
    let report = reload::ask(&args.config.config);
    let taken = report.as_ref().is_ok_and(|report| report["ok"] == true);
    if !taken {
        // What the daemon refused must not be what its next start finds.
        match &before {
            Some(before) => point(link, before)?,
            None => fs::remove_file(link).map_err(|error| at(link, &error))?,
        }
    }
    let report = report?;
    reload::show(&report, &mut out)?;
    out.finish()?;
    if taken { Ok(()) } else { Err(Failure::does_not_hold(format!("{} leads where it led before", link.display()))) }
}

/// Replaces a symbolic link in one step, durably.
fn point(link: &Path, target: &Path) -> Result<(), Failure> {
    let fail = |error: io::Error| at(link, &error);
    let mut name = link.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let beside = link.with_file_name(name);
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fail(error)),
        _ => {}
    }
    std::os::unix::fs::symlink(target, &beside).map_err(fail)?;
    fs::rename(&beside, link).map_err(fail)?;
    let folder = link.parent().unwrap_or(Path::new("/"));
    fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(fail)
}

fn at(path: &Path, error: &io::Error) -> Failure {
    Failure::input(&path.display().to_string(), error)
}
