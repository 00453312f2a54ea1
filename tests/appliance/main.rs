//! The package on Debian 12 and 13, as an operator has it: installed, started, fed, reloaded, hung, killed, upgraded,
//! removed and purged, in a Debian tree booted by `systemd-nspawn` with a network of its own (loopback alone).
//!
//! The packages come from `target/packages` (`VERDICTD_TEST_PACKAGES` names another folder), where `packaging/build`
//! puts them. The trees are made once by debootstrap and kept in `target/appliance` (`VERDICTD_TEST_CACHE`); each test
//! works on a layer above one. What cannot be run here (no package, not root, no nspawn) is said loudly and passes;
//! with `VERDICTD_TEST_NSPAWN=required` it fails.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // tests stop at the first surprise

#[path = "../support/mod.rs"]
mod support;

mod binary;
mod files;
mod host;
mod install;
mod journal;
mod load;
mod machine;
mod packages;
mod service;
mod tree;
mod units;

/// Each promise on both releases.
macro_rules! on_both {
    ($($promise:ident),+ $(,)?) => {
        mod debian_12 {
            $(#[test] fn $promise() { super::$promise("bookworm"); })+
        }
        mod debian_13 {
            $(#[test] fn $promise() { super::$promise("trixie"); })+
        }
    };
}
pub(crate) use on_both;
