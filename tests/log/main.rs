//! What the daemon logs: kinds of messages, and their way into the journal and onto stderr.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // helpers stop at the first surprise, as tests do

#[path = "../support/mod.rs"]
mod support;

mod journal;
mod kinds;
mod lines;
