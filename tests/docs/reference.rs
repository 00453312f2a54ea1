//! packaging/reference/config.md, the page of all keys.

use super::support::daemon::verdictd;
use super::support::site::Site;
use super::{is_current, read};
use verdictd::config::{Kind, TABLES};

#[test]
fn the_reference_is_that_of_the_key_definitions() {
    is_current("packaging/reference/config.md", &verdictd::config::reference());
    let printed = verdictd(&Site::new(), &["init", "--reference"]);
    assert_eq!(printed.stdout, verdictd::config::reference());
}

#[test]
fn the_shipped_config_is_what_init_prints() {
    let printed = verdictd(&Site::new(), &["init"]);
    is_current("packaging/verdictd.toml", &printed.stdout);
}

#[test]
fn every_config_key_is_in_the_reference() {
    let page = read("packaging/reference/config.md");
    let has = |name: &str| page.lines().any(|line| line.starts_with(&format!("| `{name}` |")));
    for key in TABLES.iter().flat_map(|table| table.keys) {
        assert!(has(key.name), "{} is not there", key.name);
        if let Kind::Table(members) = key.kind {
            for member in members {
                assert!(has(&format!("{}.{}", key.name, member.name)), "{}.{} is not there", key.name, member.name);
            }
        }
    }
}
