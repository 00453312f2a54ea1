//! The daemon as its users meet it: `verdictd run` on a private folder, asked over its Unix sockets.
//!
//! One file a promise. A test that needs a failing or a full disk works over the file system of
//! `support/powercut_fs`; where FUSE is missing it says so.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // helpers stop at the first surprise, as tests do

#[path = "../support/mod.rs"]
mod support;

mod backtest;
mod backup;
mod bad_input;
mod brokers;
mod cases;
mod config;
mod disk;
mod edges;
mod events;
mod forms;
mod in_doubt;
mod links;
mod models;
mod reload;
mod repeats;
mod replay;
mod rollback;
mod shadow;
mod sink;
mod stops;
mod supervisor;
mod swaps;
