//! The sink `http` against a real HTTP server of the tests (`receiver.rs`): what is promised to receivers that honour the
//! key, and, guarded, to those that do not.
//!
//! - `VERDICTD_TEST_WEBHOOK_KILLS`: how often the daemon is killed under load, in each mode (default 12)
//! - `VERDICTD_TEST_SEED`: repeats a run's random choices
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // helpers stop at the first surprise, as tests do

#[path = "../support/mod.rs"]
mod support;

mod guarded;
mod hook;
mod idempotent;
mod kills;
mod receiver;
mod settled;
mod tls;
