//! The sink `postgres` against a real PostgreSQL server: what is promised in any weather.
//!
//! `rig.rs` is a daemon's inside (store, engine, intake) without its edges, so that a sink can be run, stopped and looked
//! into alone.
//!
//! | variable | what it sets |
//! |---|---|
//! | `VERDICTD_TEST_POSTGRES=required` | a machine without PostgreSQL fails instead of passing with a warning |
//! | `VERDICTD_TEST_POSTGRES_KILLS` | how often the server is killed in mid-drain (default 20), and the daemon under load (default 10) |
//! | `VERDICTD_TEST_POSTGRES_CUTS` | how often a link is cut under load (default 30) |
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // helpers stop at the first surprise, as tests do

#[path = "../support/mod.rs"]
mod support;

mod daemon;
mod refused;
mod rig;
mod sink;
mod table;
mod weather;
