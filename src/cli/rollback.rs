//! `verdictd model rollback`: points `model.bundle` back to the bundle that was in use before, as the store's history
//! has it, and has the daemon take it, also where it is the older one.

use super::{
    ConfigArg, Failure, model,
    output::Output,
    reload, status,
    use_model::{Link, options},
};
use crate::{
    config::{Config, load},
    listen::Listen,
    model::{MANIFEST_FILE, hex_text, verify},
    store::{ModelId, StoreError, inspect::Inspector, model_before, permit_model},
};
use clap::Args;
use sha2::{Digest, Sha256};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

#[derive(Args, Debug)]
pub(super) struct RollbackArgs {
    #[command(flatten)]
    config: ConfigArg,
}

/// What to go back to.
struct Target {
    label: String,
    folder: PathBuf,
    manifest_sha256: String,
    /// What the store is to permit; none where a daemon runs, which is asked for a reload.
    permit: Option<[u8; 32]>,
}

pub(super) fn run(args: &RollbackArgs) -> Result<(), Failure> {
    let file = &args.config.config;
    let config = load(file)?.config;
    let link = Link::of(&config)?;
    let target = find(&config)?;
    check(&config, &target)?;
    let label = &target.label;
    let Some(permit) = target.permit else {
        return link.lead_to(&config, &target.folder, || reload::ask(file, Some(&target.manifest_sha256)));
    };
    // First the permission: a start in between finds the newer bundle, which needs none.
    permit_model(&config.state_dir, &permit)?;
    link.point(&target.folder)?;
    let mut out = Output::new();
    let (link, folder) = (config.model.bundle.display(), target.folder.display());
    out.line(&format!("{link} now leads to {folder} ({label}); no daemon runs: the next start takes it"))?;
    out.finish()
}

/// The bundle that was in use before, as the running daemon has it, or the store where none runs.
fn find(config: &Config) -> Result<Target, Failure> {
    let nothing = || Failure::does_not_hold("no other model was in use before: there is nothing to go back to");
    if let Ok(status) = status::ask(config) {
        if !matches!(config.admin.listen, Listen::Unix(_)) {
            return Err(Failure::config(
                "admin.listen is an address, on which no rollback can be asked for: use a Unix socket, or stop the daemon",
            ));
        }
        let before = &status["model"]["before"];
        let text = |name: &str| before[name].as_str().map(str::to_owned);
        let (Some(label), Some(folder), Some(manifest_sha256)) =
            (text("label"), text("folder"), text("manifest-sha256"))
        else {
            return Err(nothing());
        };
        return Ok(Target { label, folder: folder.into(), manifest_sha256, permit: None });
    }
    let dir = &config.state_dir;
    let inspector = Inspector::open(dir).map_err(|error| match error {
        StoreError::Io { kind: io::ErrorKind::NotFound, .. } => {
            Failure::usage(format!("{}: there is no store, and no daemon answers", dir.display()))
        }
        error => error.into(),
    })?;
    if let Some(holder) = &inspector.report().held_by {
        let dir = dir.display();
        return Err(Failure::does_not_hold(format!("{dir} is held by {holder}, which does not answer; try again")));
    }
    let uses = inspector.models()?;
    let ModelId { label, folder, manifest_sha256, .. } = model_before(&uses).cloned().ok_or_else(nothing)?;
    Ok(Target { label, folder, manifest_sha256: hex_text(&manifest_sha256), permit: Some(manifest_sha256) })
}

/// Whether it is still there, as it was.
fn check(config: &Config, target: &Target) -> Result<(), Failure> {
    let Target { label, folder, manifest_sha256, .. } = target;
    let refused = |why: String| Failure::does_not_hold(format!("{label} was in use before, and {why}"));
    if folder.as_os_str().is_empty() {
        return Err(refused("where it was loaded from is not known".to_owned()));
    }
    let manifest = folder.join(MANIFEST_FILE);
    let text = read(&manifest).map_err(|error| refused(format!("is gone: {}: {error}", manifest.display())))?;
    let found = hex_text(&Sha256::digest(text).into());
    if found != *manifest_sha256 {
        let place = manifest.display();
        return Err(refused(format!(
            "was altered since: {place}: expected sha256 {manifest_sha256}, as it was then, found {found}"
        )));
    }
    verify(folder, &options(config)).map(drop).map_err(|error| model::failure(&error))
}

/// No manifest is greater than this; one that is was altered.
const MANIFEST_BYTES_MAX: u64 = 1 << 20;

fn read(file: &Path) -> io::Result<Vec<u8>> {
    // A pipe would be waited for for ever.
    if !fs::metadata(file)?.is_file() {
        return Err(io::Error::other("expected a regular file"));
    }
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(fs::File::open(file)?, MANIFEST_BYTES_MAX), &mut bytes)?;
    Ok(bytes)
}
