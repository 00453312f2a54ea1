//! Every config that is shipped passes `verdictd check`.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // helpers stop at the first surprise, as tests do

mod support;

use std::path::{Path, PathBuf};
use support::daemon::{configured, verdictd};
use support::site::Site;
use verdictd::config::{SINK_TYPES, SOURCE_TYPES};

/// The config of a shipped file, with the folders of an installed system moved into a private one and the
/// bundle it names taken from this project.
fn moved(text: &str, site: &Site) -> String {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    text.replace("/var/lib/verdictd/models", &project.join("models").display().to_string())
        .replace("/var/lib/verdictd", &site.state().display().to_string())
        .replace("/run/verdictd", &site.path().display().to_string())
}

fn configs_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder of the project") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(configs_below(&path));
        } else if path.extension().is_some_and(|e| e == "toml") {
            found.push(path);
        }
    }
    found
}

#[test]
fn every_shipped_config_is_one() {
    let configs = configs_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging"));
    assert!(!configs.is_empty(), "packaging/ holds a config");
    for config in configs {
        let site = Site::new();
        std::fs::create_dir_all(site.state()).expect("a folder");
        let text = std::fs::read_to_string(&config).expect("a config that is UTF-8");
        std::fs::write(site.path().join("shipped.toml"), moved(&text, &site)).expect("a private copy");
        let done = verdictd(&site, &["check", "--config", "shipped.toml"]);
        assert_eq!(done.status.code(), Some(0), "{}: {done:?}", config.display());
    }
}

/// Its files are all there: what it names beside them stands in comments.
#[test]
fn every_starter_that_init_prints_passes_check() {
    let mut pairs = Vec::new();
    for source in SOURCE_TYPES {
        pairs.extend(SINK_TYPES.iter().map(|sink| vec!["init", "--source", source, "--sink", sink]));
    }
    let all = |option: &'static str, types: &[&'static str]| types.iter().flat_map(|t| [option, t]).collect::<Vec<_>>();
    pairs.push([vec!["init"], all("--source", SOURCE_TYPES), all("--sink", SINK_TYPES)].concat());
    for arguments in pairs {
        let site = Site::new();
        std::fs::create_dir_all(site.state()).expect("a folder");
        let printed = verdictd(&site, &arguments);
        assert_eq!(printed.status.code(), Some(0), "{arguments:?}: {printed:?}");
        std::fs::write(site.path().join("starter.toml"), moved(&printed.stdout, &site)).expect("a private copy");
        let done = verdictd(&site, &["check", "--config", "starter.toml"]);
        assert_eq!((done.status.code(), done.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn the_shipped_bundle_is_taken() {
    let mut site = Site::new();
    let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/card-fraud");
    site.set("model.bundle", &format!("{:?}", bundle.display().to_string()));
    let done = configured(&site, &["check"]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
}
