//! What makes it an appliance: wires sources, engine and sinks, shows itself, and ends well.

mod admin;
mod allocator;
mod aside;
mod build;
mod clients;
mod clock;
mod daemon;
mod demo;
mod intake;
pub mod log;
mod metrics;
mod rules;
mod sinks;
mod source_options;
mod sources;
mod status;

pub use build::{BuildError, Built, build};
pub use daemon::{DaemonError, run};
pub use demo::demo_config;
pub use intake::SourceIntake;
