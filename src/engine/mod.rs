//! From submissions to one commit, and back to answers.
//!
//! What crosses threads is a [`Submission`]: one request with all its events. Two equal threads take turns
//! (`worker.rs`): the one that leads takes whatever is waiting, decides it (`round.rs`: dedup, features,
//! score, verdict), and commits it itself, while the other begins to lead and decides the next round. So a
//! lone event costs no further change of threads, and under load the commit of one round runs beside the
//! scoring of the next. There is no linger: a round holds what came while the last one was being synced.
//!
//! Limits: a round holds at most [`ROUND_EVENTS_MAX`] events or [`ROUND_BYTES_MAX`] bytes; a longer
//! submission is spread over several and answered after the last. What waits is bounded by the memory that
//! sources pay for before they submit.
//!
//! After a failed write or sync nothing more is answered: every open submission is dropped unanswered, and
//! [`Engine::failed`] resolves.

mod answer;
mod compare;
mod counters;
#[cfg(feature = "fault-injection")]
mod fault;
mod inbox;
mod lineup;
mod models;
mod pending;
mod progress;
mod round;
mod shadow;
mod told;
mod windows;
mod worker;

#[cfg(test)]
mod tests;

pub use answer::{Answer, Courier, Delivery, Outcome};
pub use compare::{BINS, Comparison};
pub use counters::{Counters, Origin};
pub use inbox::{Along, Closed, Submission};
pub use lineup::Lineup;
pub use models::Shares;
pub use progress::Progress;
pub use shadow::{Shadow, WINDOW_ROWS};
pub use windows::{Refolded, WindowFigures, check_windows, refold};
pub use worker::{Engine, Failure, Parts};

/// Events of one commit.
pub const ROUND_EVENTS_MAX: usize = 4096;
/// Bytes of records and quarantined payloads of one commit.
pub const ROUND_BYTES_MAX: usize = 1 << 20;
/// Events scored in one call.
pub const WAVE_EVENTS_MAX: usize = 256;
