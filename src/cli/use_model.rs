//! `verdictd model use`: points `model.bundle` to another bundle and has the daemon take it.

use super::{
    ConfigArg, Failure, model,
    output::{Mark, Output, say},
    reload, status,
};
use crate::{
    config::{Config, load},
    model::{LoadOptions, verify},
    service::judge_at,
    store::KnownModels,
};
use clap::Args;
use serde_json::Value;
use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

#[derive(Args, Debug)]
pub(super) struct UseArgs {
    /// The bundle to use from now on
    #[arg(value_name = "DIR")]
    bundle: PathBuf,
    #[command(flatten)]
    config: ConfigArg,
    /// Change the link alone: a running daemon sees that within seconds, and is not waited for
    #[arg(long)]
    no_reload: bool,
}

pub(super) fn run(args: &UseArgs) -> Result<(), Failure> {
    let config = load(&args.config.config)?.config;
    let found = verify(&args.bundle, &options(&config)).map_err(|error| model::failure(&error))?;
    let target = fs::canonicalize(&args.bundle).map_err(|error| at(&args.bundle, &error))?;
    let link = Link::of(&config)?;
    if args.no_reload {
        // Who asks the daemon is told by it.
        if let Some(untold) = judge_at(&config.state_dir, &found.bundle).map_err(Failure::does_not_hold)? {
            say(Mark::Warning, &untold);
        }
        link.point(&target)?;
        let mut out = Output::new();
        let label = format!("{}@{}", found.inspection.name, found.inspection.version);
        out.line(&format!("{} now leads to {} ({label})", config.model.bundle.display(), target.display()))?;
        return out.finish();
    }
    link.lead_to(&config, &target, || reload::ask(&args.config.config, None))
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
    pub fn lead_to(
        &self,
        config: &Config,
        target: &Path,
        ask: impl FnOnce() -> Result<Value, Failure>,
    ) -> Result<(), Failure> {
        let asked_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        self.point(target)?;
        let report = ask();
        if let Err(silent) = &report
            && runs(config, target, asked_ms)
        {
            say(Mark::Warning, &silent.message);
            let mut out = Output::new();
            out.line(&format!("the daemon runs {} all the same", target.display()))?;
            return out.finish();
        }
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

/// How long a reload that gave no answer may go on before the link is put back.
const GOES_ON_MAX: Duration = Duration::from_mins(2);
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Whether the daemon runs the bundle in this folder, though it gave no answer when it was asked to: it may still have
/// taken it, and then the link must not lead to an older one. Where it answers nothing at all the store tells.
fn runs(config: &Config, folder: &Path, asked_ms: u128) -> bool {
    let begun = Instant::now();
    while let Ok(status) = status::ask(config) {
        if status["model"]["history"][0]["to"]["folder"].as_str().map(Path::new) == Some(folder) {
            return true;
        }
        if status["reloading"] != true || begun.elapsed() > GOES_ON_MAX {
            return false;
        }
        thread::sleep(LOOK_EVERY);
    }
    let newest = KnownModels::look(&config.state_dir).ok().and_then(|known| known.newest);
    newest.is_some_and(|used| used.to.folder == folder && u128::try_from(used.at_ms).unwrap_or(0) >= asked_ms)
}

fn at(path: &Path, error: &io::Error) -> Failure {
    Failure::input(&path.display().to_string(), error)
}
