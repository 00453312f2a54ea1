//! Window features are what two other ways of counting say they are: over transactions of the project's own simulator,
//! through `verdictd score` and through the daemon with a kill in the middle.
//!
//! The features are the fifteen that the Fraud Detection Handbook (Le Borgne, Siblini, Lebichot, Bontempi, 2022) derives
//! from plain card transactions. `naive` counts them by looking at every event of a key again; `reference.py` has pandas
//! do it, in the environment that tests/models/venv makes; without that it passes with a warning, unless
//! `VERDICTD_TEST_MODELS=required`.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // helpers stop at the first surprise, as tests do

#[path = "../support/mod.rs"]
mod support;

mod bundles;
mod compare;
mod daemon;
mod naive;
mod offline;
mod stream;
