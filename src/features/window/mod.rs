//! Window features: what a key did before, counted exactly, in bounded memory.
//!
//! ```toml
//! [[feature]]
//! name = "CUSTOMER_ID_AVG_AMOUNT_7DAY_WINDOW"
//! window = { mean = "/TX_AMOUNT", key = "/CUSTOMER_ID", over = "7 d" }
//! transform = [{ log1p = true }]     # number steps only
//! missing = 0                        # the default for a window that holds nothing to make the number of
//! ```
//!
//! A window at an event with time t holds the events of its key with time in (t − over − delay, t − delay], that event
//! included where `delay` is 0 (the default); those of one time in the order they came.
//!
//! | aggregate | gives | of an empty window |
//! |---|---|---|
//! | `count = true` | events | 0 |
//! | `sum = "/FIELD"` | sum of the field's numbers | 0 |
//! | `mean`, `min`, `max = "/FIELD"` | of the events that have a number there | `missing` |
//! | `std = "/FIELD"` | standard deviation of the sample, divided by n − 1 | `missing`, also of one number |
//! | `ratio = "/FIELD"` | this event's number by the window's mean | `missing`, also where the mean is 0 |
//! | `distinct = "/FIELD"` | different values (texts, numbers as their text, booleans) | 0 |
//! | `since-last = true` | seconds since the last event of the window before this one | `missing` |
//! | `first-seen = true` | 1 where the window holds no other event up to this one, else 0 | 1 |
//! | `label-sum = true` | sum of the events' labels, 0 for one without | 0 |
//! | `label-mean = true` | the same by the number of events | `missing` |
//!
//! `key` is a pointer or a list of 1 to 4. `over` is 1 s to 400 d, `delay` 0 to 400 d. `where = "/FIELD"` with
//! `equals = VALUE` or `in = [VALUE, …]` (1 to 256 texts, whole numbers, booleans) lets only such events into the window;
//! an event that is none is given the feature all the same. An event without the key is unscorable, or has what
//! `missing` declares. A bundle has at most 64 different keys (each with its filter and resolution), 4,096 features.
//!
//! **Numbers.** Sums are exact ([`fixed`]): a number is taken to the nearest 2^-60, so results depend neither on order nor
//! on history, and a mean is rounded once. A number of 2^43 (8.8e12) or more counts as missing, and the event that has it
//! is unscorable where its own number is asked for. Sums hold as long as a key has fewer than 2^24 numbers of that size.
//! Keys and values are told apart by a hash of 64 bits (of `distinct`: 63), keyed but for filters.
//!
//! **Late events.** The newest event time decides. An event not older than the longest window (its delay included) takes
//! its own place: what it is given is what is known of the time before it, and later ones see it. An older one is too
//! late: answered from what is known, not counted. An event more than a day ahead of both the box's clock and the newest
//! does not count as the newest, until 16 in a row were such. How late an event may come and still see all of its past is
//! the longest window by default; a shorter `lateness` saves the memory for that.
//!
//! **Panes.** With `resolution = "5 min"` (1 s to 1 d, a quarter of `over` at most; not for `distinct`) a key's events are
//! summed up by steps of that length from 1970, and a window's two ends are cut down to steps. So a window holds as much
//! time as declared and lies up to one step too early at its beginning; at its end it takes in late comers of the same
//! step. `since-last` is up to a step too long. It saves memory where a key has several events a step.
//!
//! **Memory.** Windows over the same key and filter share their entries: 4 bytes for the time (8 where one of 64 has parts
//! of a second), 8 for each number or value of `distinct`, about 2 for the tree. A value of `distinct` takes about 20 more
//! while it is the last of its kind; a label 20. When the budget is reached, what late events need goes first, then the
//! fullest keys become panes, then the coldest keys go: [`pressure`]. Each is counted in [`Stats`]. What is older than the
//! longest window and the lateness goes by itself: two keys are looked at with each event.
//!
//! **Cost.** O(log n) an event of a key with n entries, late ones too. Two things cost what the window holds: `distinct` of
//! a late event or with a `delay`, and making a key coarse. Of many keys most time is waiting for memory: [`warm`] waits
//! for that of several events at once.
//!
//! Layout: [`read`] and [`query`] are what is declared, [`plan`] what several bundles share, [`cells`] an event's part in
//! it; [`state`] holds [`keys`], found by their [`places`], each a [`track`] of a [`tree`] of [`leaf`]s whose sums are
//! [`layout`]'s; [`view`] answers.

mod arrange;
mod branch;
mod cells;
mod clock;
mod fixed;
mod keys;
mod lasts;
mod layout;
mod leaf;
mod places;
mod plan;
mod pressure;
mod query;
mod read;
mod state;
mod track;
mod tree;
mod view;
mod waiting;
mod warm;
mod wide;
mod work;

pub use cells::CellReader;
pub use plan::{CellKind, Column, Plan};
pub use state::{Limits, Stats, Windows};
pub use view::View;
pub use waiting::{WAITING_MAX, Waiting};
pub use warm::Ahead;

pub(super) use query::Query;
pub(super) use read::read_query;
pub(super) use view::Answer;

/// Most fields of a key.
const KEYS_MAX: usize = 4;
/// Most values of a filter.
const FILTER_VALUES_MAX: usize = 256;
/// Most streams of entries of one bundle: keys with their filters and resolutions.
pub const STREAMS_MAX: usize = 64;

/// The reason of a verdict whose event came too late for every window.
pub const TOO_LATE: &str = "too late: not counted in windows";

#[cfg(test)]
mod tests;
