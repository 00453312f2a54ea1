//! What is in the package, and what Debian's checker says of it.

use super::host::{self, run};
use super::packages::{self, Unpacked};
use std::process::Command;

#[test]
fn lintian_finds_nothing_without_a_stated_reason() {
    if host::lacks(&["lintian"]) {
        return;
    }
    for arch in ["amd64", "arm64"] {
        let Some(package) = packages::package(arch) else { continue };
        let mut lintian = Command::new("lintian");
        lintian
            .args(["--allow-root", "--no-cfg", "--tag-display-limit", "0", "--fail-on", "error,warning"])
            .arg(&package);
        let finished = run(&mut lintian);
        assert!(finished.status.success(), "{arch}: {finished:#?}");
    }
}

#[test]
fn each_override_of_lintian_has_its_reason_above_it() {
    let text = include_str!("../../packaging/debian/lintian-overrides");
    let mut previous = "";
    for line in text.lines() {
        let is_tag = !line.is_empty() && !line.starts_with('#');
        let has_reason = previous.starts_with('#') || previous.starts_with("verdictd:");
        assert!(!is_tag || has_reason, "no reason above {line:?}");
        previous = line;
    }
}

#[test]
fn debians_changelog_begins_with_this_version() {
    let first = include_str!("../../packaging/debian/changelog").lines().next().unwrap_or_default();
    let expected = format!("verdictd ({}-1) ", env!("CARGO_PKG_VERSION"));
    assert!(first.starts_with(&expected), "{first:?} is not of version {}", env!("CARGO_PKG_VERSION"));
}

#[test]
fn the_package_lists_what_the_binary_is_made_of() {
    let Some(package) = packages::own() else { return };
    let unpacked = Unpacked::new(&package);
    let components = unpacked.read("usr/share/doc/verdictd/components.txt");
    for part in ["openssl-src v", "rdkafka-sys v", "tokio v", "sled v0.34.7"] {
        assert!(components.contains(part), "{part} is not among the components");
    }
    assert!(!components.contains("(/"), "a path of the building machine is among the components");
    // The same list for machines, as `cargo audit bin` reads it.
    let binary = std::fs::read(unpacked.path("usr/bin/verdictd")).expect("the binary");
    assert!(binary.windows(8).any(|bytes| bytes == b".dep-v0\0"), "no auditable section in the binary");
}

/// What was added to the project's folders and forgotten in the list of the package's files.
#[test]
fn the_package_has_every_page_and_example() {
    let Some(package) = packages::own() else { return };
    let unpacked = Unpacked::new(&package);
    let project = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let names = |folder: &str| {
        let entries = std::fs::read_dir(project.join(folder)).unwrap_or_else(|e| panic!("{folder}: {e}"));
        let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
        let mut names: Vec<_> = names.collect();
        names.sort();
        assert!(!names.is_empty(), "nothing in {folder}");
        names
    };
    let mut expected = vec![
        "usr/bin/verdictd".to_owned(),
        "usr/lib/systemd/system/verdictd.service".to_owned(),
        "usr/lib/systemd/system/verdictd.socket".to_owned(),
        "usr/lib/sysusers.d/verdictd.conf".to_owned(),
        "usr/lib/tmpfiles.d/verdictd.conf".to_owned(),
        "usr/lib/systemd/catalog/verdictd.catalog".to_owned(),
        "usr/share/bash-completion/completions/verdictd".to_owned(),
        "usr/share/zsh/vendor-completions/_verdictd".to_owned(),
        "usr/share/fish/vendor_completions.d/verdictd.fish".to_owned(),
        "usr/share/doc/verdictd/copyright".to_owned(),
        "usr/share/doc/verdictd/changelog.gz".to_owned(),
        "usr/share/doc/verdictd/changelog.Debian.gz".to_owned(),
    ];
    for page in names("packaging/man") {
        let section = page.rsplit('.').next().unwrap_or_default().to_owned();
        expected.push(format!("usr/share/man/man{section}/{page}.gz"));
    }
    for (folder, inside) in [
        ("packaging/doc", "usr/share/doc/verdictd/doc"),
        ("packaging/reference", "usr/share/doc/verdictd/reference"),
        ("packaging/examples", "usr/share/doc/verdictd/examples"),
        ("systemd/examples", "usr/share/doc/verdictd/examples"),
        ("models/card-fraud", "usr/share/verdictd/models/card-fraud"),
    ] {
        expected.extend(names(folder).into_iter().map(|name| format!("{inside}/{name}")));
    }
    let missing: Vec<_> = expected.iter().filter(|path| !unpacked.path(path).exists()).collect();
    assert!(missing.is_empty(), "not in the package: {missing:#?}");
    assert_eq!(unpacked.read("DEBIAN/conffiles").trim(), "/etc/verdictd/verdictd.toml");
}
