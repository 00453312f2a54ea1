//! Kafka at both ends, against a real broker: what is promised in any weather.
//!
//! `rig.rs` is a daemon's inside (store, engine, intake) without its edges, so that a source or a sink can be
//! run, stopped and looked into alone.
//!
//! | variable | what it sets |
//! |---|---|
//! | `VERDICTD_TEST_KAFKA=required` | a machine without Java fails instead of passing with a warning |
//! | `VERDICTD_TEST_KAFKA_KILLS` | how often a broker is killed in mid-drain (default 20) |
//! | `VERDICTD_TEST_KAFKA_CUTS` | how often a link is cut under load, at each round trip (default 30) |
//! | `VERDICTD_TEST_KAFKA_DAEMON_KILLS` | how often the daemon is killed under load (default 10) |
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // helpers stop at the first surprise, as tests do

#[path = "../support/mod.rs"]
mod support;

mod daemon;
mod gate;
mod mock;
mod reader;
mod refused;
mod rig;
mod sink;
mod source;
mod source_weather;
mod weather;
mod writer;
