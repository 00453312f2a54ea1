//! Events offline, without a daemon and without a store: what `score`, `test` and `backtest` share.
//!
//! ```text
//! Input ─> Slices ─> Engine: decoder ─> features ─> model ─> decision, reasons ─> one Answer a line
//! ```
//!
//! The decoder, the features and the model are the daemon's, so the answer is the daemon's, less what only a
//! commit gives (`sequence`, `decided`). Memory is bounded: events are read in slices of [`SLICE_BYTES_MAX`], and one
//! event has at most [`EVENT_BYTES_MAX`].

mod engine;
mod input;
mod options;
mod past;
mod replayed;
mod slices;
mod values;

pub(super) use engine::{Answer, Engine, SEED, Scored};
#[cfg(test)]
pub(super) use input::RECORD_BYTES_MAX;
pub(super) use input::{Format, Input, Records, is_missing, read_line};
pub(super) use options::{EventArgs, pointer, rules};
pub(super) use replayed::{Replayed, kept_time, not_kept};
pub(super) use slices::{Slice, Slices};
pub(super) use values::{Value, values};

use super::{Failure, model::failure};
use crate::model::{Bundle, LoadOptions, load};
use std::path::{Path, PathBuf};

/// Bytes of events that are scored in one go.
pub const SLICE_BYTES_MAX: usize = 256 << 10;
/// One event, as the daemon's default has it.
pub const EVENT_BYTES_MAX: usize = 256 << 10;
/// Events that are scored in one call.
pub(super) const BATCH_EVENTS_MAX: usize = 1024;

/// The bundle, or bare model file, at `path`; signed by `public_key` where one is named.
pub(super) fn load_bundle(path: &Path, public_key: Option<&PathBuf>) -> Result<Bundle, Failure> {
    // Offline there is no index and no queue beside the model.
    let options = LoadOptions {
        kernel: None,
        public_key: public_key.cloned(),
        memory_bytes_max: 1 << 32,
        max_batch: BATCH_EVENTS_MAX,
    };
    load(path, &options).map_err(|error| failure(&error))
}
