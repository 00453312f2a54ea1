//! Installing, removing and purging.

use super::machine::Machine;
use super::on_both;
use super::packages;
use super::tree::Tree;

on_both!(
    an_install_gives_a_running_service_and_no_warning,
    an_install_needs_no_running_systemd,
    what_was_stopped_or_disabled_stays_so_over_an_upgrade,
    a_removal_keeps_the_data_and_a_purge_deletes_it_and_says_so,
);

const MODES: &str =
    "stat -c '%U:%G %a %n' /etc/verdictd /etc/verdictd/verdictd.toml /etc/verdictd/conf.d /var/lib/verdictd";
const MODES_EXPECTED: &str = "root:verdictd 750 /etc/verdictd\n\
    root:verdictd 640 /etc/verdictd/verdictd.toml\n\
    root:verdictd 750 /etc/verdictd/conf.d\n\
    verdictd:verdictd 750 /var/lib/verdictd\n";

fn an_install_gives_a_running_service_and_no_warning(release: &str) {
    let Some(machine) = Machine::with_package(release) else { return };
    assert_eq!(machine.well("systemctl is-enabled verdictd.service verdictd.socket"), "enabled\nenabled\n");
    assert_eq!(machine.well("systemctl is-active verdictd.service verdictd.socket"), "active\nactive\n");
    assert_eq!(machine.well(MODES), MODES_EXPECTED);
    let sockets = machine.well("stat -c '%U:%G %a %n' /run/verdictd /run/verdictd/*.sock");
    assert_eq!(
        sockets,
        "verdictd:verdictd 755 /run/verdictd\n\
         verdictd:verdictd 660 /run/verdictd/admin.sock\n\
         verdictd:verdictd 660 /run/verdictd/events.sock\n"
    );
    // The service can read its configuration, the world cannot.
    assert!(
        !machine
            .sh("setpriv --reuid nobody --regid nogroup --clear-groups cat /etc/verdictd/verdictd.toml")
            .status
            .success()
    );

    let verdict =
        machine.well("printf '{\"id\":\"1\",\"key\":\"k\"}\\n' | verdictd send --to unix:/run/verdictd/events.sock");
    assert!(verdict.contains("\"decision\""), "{verdict}");
    machine.wait_for("the verdict in the file sink", |machine| {
        machine.sh("cat /var/lib/verdictd/verdicts/verdicts.ndjson").stdout == verdict
    });

    let complaints = machine.entries("--priority warning");
    assert!(complaints.is_empty(), "{complaints:#?}");
}

fn an_install_needs_no_running_systemd(release: &str) {
    let (Some(package), Some(tree)) = (packages::own(), Tree::new(release)) else { return };
    let inside = tree.bring(&package, "verdictd.deb");
    let installed = tree.sh(&format!("dpkg --install {inside}"));
    assert!(installed.status.success(), "{installed:#?}");
    assert_eq!(tree.sh(MODES).stdout, MODES_EXPECTED);
    let checked = tree.sh("verdictd check >/dev/null && /usr/bin/verdictd demo --events 1000 >/dev/null");
    assert!(checked.status.success(), "{checked:#?}");
    // And at the first boot it runs.
    let Some(machine) = Machine::boot_tree(tree) else { return };
    machine.wait_active();
}

fn what_was_stopped_or_disabled_stays_so_over_an_upgrade(release: &str) {
    let Some(machine) = Machine::with_package(release) else { return };
    machine.well("systemctl stop verdictd.socket verdictd.service");
    machine.well("systemctl disable --quiet verdictd.socket verdictd.service");
    machine.well("dpkg --install /root/verdictd.deb");
    let state = machine.sh("systemctl is-active verdictd.socket verdictd.service").stdout;
    assert_eq!(state, "inactive\ninactive\n");
    let enabled = machine.sh("systemctl is-enabled verdictd.socket verdictd.service").stdout;
    assert_eq!(enabled, "disabled\ndisabled\n");

    machine.well("systemctl enable --quiet verdictd.service");
    machine.well("dpkg --install /root/verdictd.deb");
    let state = machine.sh("systemctl is-active verdictd.socket verdictd.service").stdout;
    assert_eq!(state, "inactive\ninactive\n");
    machine.well("systemctl start verdictd.service && dpkg --install /root/verdictd.deb");
    machine.wait_active();
}

fn a_removal_keeps_the_data_and_a_purge_deletes_it_and_says_so(release: &str) {
    let Some(machine) = Machine::with_package(release) else { return };
    machine.write("/etc/verdictd/conf.d/site.toml", "[log]\nlevel = \"warn\"\n");
    let removed = machine.sh("dpkg --remove verdictd");
    assert!(removed.status.success() && removed.stderr.contains("/var/lib/verdictd is kept"), "{removed:#?}");
    assert!(!machine.sh("systemctl is-active verdictd.service").status.success());
    assert!(!machine.sh("systemctl is-active verdictd.socket").status.success());
    machine.well("test -d /var/lib/verdictd/store && test -f /etc/verdictd/verdictd.toml");
    machine.well("test ! -e /run/verdictd && test ! -e /usr/bin/verdictd");

    machine.well("dpkg --install /root/verdictd.deb");
    machine.wait_active();
    machine.well("dpkg --remove verdictd");
    let purged = machine.sh("dpkg --purge verdictd");
    assert!(purged.status.success() && purged.stderr.contains("deletes /var/lib/verdictd with all"), "{purged:#?}");
    machine.well("test ! -e /var/lib/verdictd && test ! -e /etc/verdictd");
    let left = machine.well(
        "systemctl list-unit-files --no-legend 'verdictd*'; find /etc/systemd /var/lib/systemd -name '*verdictd*'",
    );
    assert_eq!(left, "");
}
