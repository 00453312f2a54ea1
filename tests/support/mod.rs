//! What the tests share: the file system that cuts the power, child processes, the daemon on a private folder,
//! a plain HTTP client, a small bundle, a link that can be cut, brokers.
//!
//! Each test file is a crate of its own and uses a part of this, hence the allowance.
#![allow(dead_code, unused_imports)]

pub mod bundle;
pub mod certificates;
pub mod child;
pub mod daemon;
pub mod http;
pub mod kafka;
pub mod link;
pub mod minisign;
pub mod mosquitto;
pub mod postgres;
pub mod powercut_fs;
pub mod pty;
pub mod site;

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

/// A number from the environment, for longer or shorter runs than CI's.
pub fn from_env(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}: expected a whole number, got {text:?}")),
        Err(_) => default,
    }
}

/// Random numbers of a run; `VERDICTD_TEST_SEED` repeats one.
pub fn random(default_seed: u64) -> (u64, Pcg64Mcg) {
    let seed = from_env("VERDICTD_TEST_SEED", default_seed);
    (seed, Pcg64Mcg::seed_from_u64(seed))
}

/// Mounts a [`powercut_fs::PowercutFs`], or says loudly that this machine has no FUSE, and what is not tested then.
///
/// With `VERDICTD_TEST_FUSE=required` a missing FUSE is a failure.
pub fn mount_powercut(mount: &std::path::Path, setup: powercut_fs::Setup) -> Option<powercut_fs::PowercutFs> {
    std::fs::create_dir_all(mount).expect("a folder to mount on");
    match powercut_fs::PowercutFs::mount(mount, setup) {
        Ok(fs) => Some(fs),
        Err(error) => {
            let required = std::env::var("VERDICTD_TEST_FUSE").is_ok_and(|v| v == "required");
            assert!(!required, "FUSE is required here and cannot be mounted: {error}");
            // Past libtest's capture, so that it is seen where the test passes.
            let name = std::thread::current().name().unwrap_or("a test").to_owned();
            let line = format!("\n*** NOT TESTED: {name} needs FUSE (/dev/fuse, mount permission): {error} ***\n");
            let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
            None
        }
    }
}
