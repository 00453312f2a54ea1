//! Window features: what a key did before, exactly, in bounded memory.

mod arrange;
mod branch;
mod cells;
mod clock;
mod fixed;
mod keys;
mod lasts;
mod layout;
mod leaf;
mod plan;
mod pressure;
mod query;
mod read;
mod state;
mod track;
mod tree;
mod view;
mod wide;
mod work;

pub use cells::CellReader;
pub use plan::{CellKind, Column, Plan};
pub use state::{Limits, Stats, Windows};
pub use view::View;

pub(super) use query::Query;
pub(super) use read::read_query;
pub(super) use view::Answer;

/// Most fields of a key.
const KEYS_MAX: usize = 4;
/// Most values of a filter.
const FILTER_VALUES_MAX: usize = 256;
/// Most streams of entries of one bundle: keys with their filters and resolutions.
pub const STREAMS_MAX: usize = 64;

#[cfg(test)]
mod tests;
