//! MQTT at both ends, against a real Mosquitto: what is promised in any weather.
//!
//! `rig.rs` is a daemon's inside (store, engine, intake) without its edges, so that a source or a sink can be run,
//! stopped and looked into alone; `listener.rs` is a consumer, `sender.rs` a producer: clients of another make.
//!
//! - `VERDICTD_TEST_MQTT_CUTS`: how often a link is cut under load, at each round trip (default 30)
//! - `VERDICTD_TEST_MQTT_KILLS`: how often a broker is killed in mid-drain, or the daemon (default 20)
//! - `VERDICTD_TEST_SEED`: repeats a run's random choices
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // helpers stop at the first surprise, as tests do

#[path = "../support/mod.rs"]
mod support;

mod daemon;
mod listener;
mod refusals;
mod rig;
mod sender;
mod sink;
mod source;
mod weather;
