//! The units, as systemd's own tools judge them.

use super::host::{self, run_well};
use super::on_both;
use super::packages;
use super::tree::Tree;
use std::process::Command;

/// The exposure that `systemd-analyze security` may find: 0 is none, 10 all.
const EXPOSURE_MAX: f64 = 1.5;

const UNITS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/systemd");

on_both!(the_units_are_understood_and_hardened);

/// In the release's own tree, by its own systemd, with each drop-in example as well.
fn the_units_are_understood_and_hardened(release: &str) {
    let Some(package) = packages::own() else { return };
    let Some(tree) = Tree::new(release) else { return };
    let inside = tree.bring(&package, "verdictd.deb");
    let installed = tree.sh(&format!("dpkg --install {inside}"));
    assert!(installed.status.success(), "{installed:#?}");
    let verify = "systemd-analyze verify --man=no verdictd.service verdictd.socket";
    let verified = tree.sh(verify);
    assert!(verified.status.success() && verified.stderr.is_empty(), "{verified:#?}");
    let security = tree.sh("systemd-analyze security --offline=yes --no-pager verdictd.service");
    let exposure = exposure(&security.stdout);
    assert!(exposure <= EXPOSURE_MAX, "exposure {exposure}:\n{}", security.stdout);

    let examples = tree.sh("ls /usr/share/doc/verdictd/examples/*.conf").stdout;
    assert!(examples.lines().count() >= 4, "{examples:?}");
    for example in examples.lines() {
        let folder = "/etc/systemd/system/verdictd.service.d";
        let verified = tree.sh(&format!("mkdir -p {folder} && rm -f {folder}/* && cp {example} {folder} && {verify}"));
        assert!(verified.status.success() && verified.stderr.is_empty(), "{example}: {verified:#?}");
    }
}

/// The number in its last line.
fn exposure(report: &str) -> f64 {
    let line = report.lines().rev().find(|line| line.contains("exposure level")).unwrap_or_default();
    let number = line.split(':').nth(1).and_then(|rest| rest.split_whitespace().next());
    number.and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("no exposure level in {report:?}"))
}

/// Also where no tree can be made: this machine's own systemd, from the files alone.
#[test]
fn the_service_is_hardened_by_this_machines_measure() {
    if host::lacks(&["systemd-analyze"]) {
        return;
    }
    let file = format!("{UNITS}/verdictd.service");
    let mut security = Command::new("systemd-analyze");
    let report = run_well(security.args(["security", "--offline=yes", "--no-pager", &file]));
    let exposure = exposure(&report);
    assert!(exposure <= EXPOSURE_MAX, "exposure {exposure}:\n{report}");
}

/// A serial port must stay reachable: what the example opens is what the service closes.
#[test]
fn the_example_for_a_serial_port_opens_what_the_service_closes() {
    let service = include_str!("../../systemd/verdictd.service");
    let example = include_str!("../../systemd/examples/serial-port.conf");
    for key in ["PrivateDevices", "PrivateUsers"] {
        assert!(service.contains(&format!("{key}=yes\n")) && example.contains(&format!("{key}=no\n")), "{key}");
    }
    assert!(service.contains("DevicePolicy=closed\n") && !example.contains("DevicePolicy"));
    for class in ["ttyUSB", "ttyACM", "ttyS", "ttyAMA"] {
        assert!(example.contains(&format!("DeviceAllow=char-{class} rw\n")), "{class}");
    }
}
