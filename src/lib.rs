//! verdictd: an event in, one durable verdict out.
//!
//! The way of an event:
//!
//! ```text
//! bytes ─> ingest ─> event (decode) ─> engine ──────────────────────────────> answer to the source
//!                                      dedup? ─ yes ─> the first verdict
//!                                      └ no ─> features ─> model ─> store (one commit, one fdatasync)
//!                                                                     └─> forward: a cursor per sink
//! ```
//!
//! Arrows point one way: `cli` uses `service`, which wires `ingest`, `engine` and `forward`; these use
//! `features`, `model` and `store`; all of them use `event` and `verdict`, which use nothing of ours.

pub mod cli;
pub mod config;
pub mod engine;
pub mod event;
pub mod features;
pub mod forward;
pub mod ingest;
pub mod link;
pub mod listen;
pub mod model;
pub mod names;
pub mod notice;
pub mod rules;
pub mod service;
pub mod simulate;
pub mod store;
pub mod verdict;
