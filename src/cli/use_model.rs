//! `verdictd model use`: points `model.bundle` to another bundle and has the daemon take it.

use super::{ConfigArg, Failure, model, output::Output, reload};
use crate::{
    config::{Config, load},
    model::{LoadOptions, verify},
};
use clap::Args;
use serde_json::Value;
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
    let found = verify(&args.bundle, &options(&config)).map_err(|error| model::failure(&error))?;
    let target = fs::canonicalize(&args.bundle).map_err(|error| at(&args.bundle, &error))?;
    let link = Link::of(&config)?;
    if args.no_reload {
        link.point(&target)?;
        let mut out = Output::new();
        let label = format!("{}@{}", found.inspection.name, found.inspection.version);
        out.line(&format!("{} now leads to {} ({label})", config.model.bundle.display(), target.display()))?;
        return out.finish();
    }
    link.lead_to(&target, || reload::ask(&args.config.config, None))
}

/// What a bundle must keep to so that the daemon of this config takes it.
pub(super) fn options(config: &Config) -> LoadOptions {
    LoadOptions {
        public_key: config.model.public_key.clone(),
        memory_bytes_max: config.limits.memory.bytes() / 4,
        ..LoadOptions::default()
    }
}

/// `model.bundle` as a symbolic link.
pub(super) struct Link {
    link: PathBuf,
    /// Where it leads; none where there is none yet.
    before: Option<PathBuf>,
}

impl Link {
    /// # Errors
    /// When it is no link.
    pub fn of(config: &Config) -> Result<Self, Failure> {
        let link = config.model.bundle.clone();
        let before = match fs::read_link(&link) {
            Ok(before) => Some(before),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(_) => {
                return Err(Failure::config(format!(
                    "model.bundle: expected a symbolic link, which can be pointed elsewhere; {} is none: move the \
                     bundle there to a folder of its own, and link to that",
                    link.display()
                )));
            }
        };
        Ok(Self { link, before })
    }

    /// Points it there and asks for a reload; puts it back where that was not taken. Says what came of it.
    pub fn lead_to(&self, target: &Path, ask: impl FnOnce() -> Result<Value, Failure>) -> Result<(), Failure> {
        self.point(target)?;
        let report = ask();
        let taken = report.as_ref().is_ok_and(|report| report["ok"] == true);
        if !taken {
            // What the daemon refused must not be what its next start finds.
            match &self.before {
                Some(before) => self.point(before)?,
                None => fs::remove_file(&self.link).map_err(|error| at(&self.link, &error))?,
            }
        }
        let report = report?;
        let mut out = Output::new();
        reload::show(&report, &mut out)?;
        out.finish()?;
        let link = self.link.display();
        if taken { Ok(()) } else { Err(Failure::does_not_hold(format!("{link} leads where it led before"))) }
    }

    /// Replaces the link in one step, durably.
    pub fn point(&self, target: &Path) -> Result<(), Failure> {
        let link = &self.link;
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
}

fn at(path: &Path, error: &io::Error) -> Failure {
    Failure::input(&path.display().to_string(), error)
}
