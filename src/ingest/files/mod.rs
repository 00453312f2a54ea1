//! What the sources that read files share: taking whole records out of a file, knowing a file again, and handing in
//! one batch while the next is read.
//!
//! ```text
//! blocks (whole lines or rows, decoded) ─> pump (one batch under way, its place in the same commit)
//! place  (where a file was left, and by what it is known again)
//! ```
//!
//! Limits: a block holds at most [`BLOCK_BYTES`] and [`BLOCK_EVENTS_MAX`] records; one that is longer than the limit
//! of an event is set aside and passed over. What a source holds is two blocks, the one under way and the one being
//! read, both paid for.

mod blocks;
mod place;
mod pump;

pub(super) use blocks::{BlockError, Blocks};
pub use place::{HEAD_BYTES_MAX, Head, Place};
pub(super) use pump::{Ended, Pump, blocking};

use crate::event::CsvForm;

/// Bytes of a file that are read and handed in at once.
pub const BLOCK_BYTES: usize = 512 << 10;
/// Records handed in at once.
pub const BLOCK_EVENTS_MAX: usize = 2048;

/// How a file holds its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// A JSON object a line; empty lines are passed over.
    Ndjson,
    /// A header and a row an event.
    Csv(CsvForm),
}
