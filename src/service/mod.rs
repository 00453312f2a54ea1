//! What makes it an appliance: wires sources, engine and sinks, shows itself, and ends well.

mod activation;
mod admin;
mod allocator;
mod aside;
mod beside;
mod build;
mod cgroup;
mod change;
mod clients;
mod clock;
mod daemon;
mod demo;
mod examine;
mod intake;
mod links;
mod lists;
pub mod log;
mod metrics;
mod models;
mod notify;
mod reload;
mod rules;
mod sinks;
mod source_options;
mod sources;
mod status;
mod tasks;
mod windows;

pub use build::{BuildError, Built, build};
pub use daemon::{DaemonError, run};
pub use demo::demo_config;
pub use examine::{examine, manifest_faults};
pub use intake::SourceIntake;
pub use models::{judge_at, use_json};
pub use sinks::postgres_layout;
