//! The journal of the packaged service: structured fields, kinds, the catalog.

use super::machine::Machine;
use super::on_both;

on_both!(messages_are_found_by_their_kind_and_explained_by_the_catalog);

fn messages_are_found_by_their_kind_and_explained_by_the_catalog(release: &str) {
    let Some(machine) = Machine::with_package(release) else { return };
    let own = machine.entries("_SYSTEMD_UNIT=verdictd.service");
    let ours = own.iter().filter(|entry| entry["_COMM"] == "verdictd").collect::<Vec<_>>();
    assert!(!ours.is_empty(), "{own:#?}");
    for entry in &ours {
        let kind = entry["VERDICTD_KIND"].as_str();
        let id = entry["MESSAGE_ID"].as_str();
        assert!(kind.is_some_and(|kind| !kind.is_empty()), "no kind: {entry:#}");
        let id = id.unwrap_or_else(|| panic!("no id: {entry:#}"));
        let found = machine.entries(&format!("MESSAGE_ID={id}"));
        assert!(found.iter().all(|other| other["VERDICTD_KIND"].as_str() == kind) && !found.is_empty(), "{found:#?}");
        let explained = machine.well(&format!("journalctl --catalog --no-pager MESSAGE_ID={id}"));
        assert!(explained.lines().any(|line| line.starts_with("░░ ") || line.starts_with("-- ")), "{explained}");
    }
}
