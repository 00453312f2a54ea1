//! The limits of a listener. Each is one number with its unit; the config overrides the defaults.

use std::time::Duration;

/// What a listener lets its clients do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections open at once, where the listener does not share its [`Places`](super::Places) with others;
    /// one more is told 503 and closed.
    pub connections_max: usize,
    /// One request's head. hyper answers 431 above it.
    pub head_bytes_max: usize,
    /// One request's body. A CloudEvents batch, which is decoded as a whole, has a limit of elements besides:
    /// [`BATCH_EVENTS_MAX`](crate::event::BATCH_EVENTS_MAX).
    pub body_bytes_max: usize,
    /// From the first byte of a head to its last; also the TLS handshake.
    pub head_timeout: Duration,
    /// A kept-alive connection on which nothing is asked.
    pub idle_timeout: Duration,
    /// From the end of the head to the end of the body.
    pub body_timeout: Duration,
    /// A client that does not read its answer: time without one byte taken.
    pub write_timeout: Duration,
    /// How long a request waits for memory before it is answered 503.
    pub budget_wait: Duration,
    /// How long a drain waits for what is in flight.
    pub drain_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 256,
            head_bytes_max: 16 << 10,
            body_bytes_max: 8 << 20,
            head_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            budget_wait: Duration::from_secs(1),
            drain_timeout: Duration::from_secs(10),
        }
    }
}

/// hyper's read buffer of one connection grows up to this, and what it holds back to write too.
pub(crate) const READ_BUFFER_BYTES_MAX: usize = 16 << 10;
/// An answer's body is handed to hyper in pieces of this: what it copies is not paid for.
pub(crate) const PIECE_BYTES_MAX: usize = 16 << 10;
/// What a request costs beyond its body: its buffers, its answer.
pub(crate) const REQUEST_COST_BYTES: usize = 1 << 10;
/// What one event of a batch costs beyond its bytes: the decoded event and its line of answer.
pub(crate) const EVENT_COST_BYTES: usize = 512;
/// NDJSON is submitted in slices of at most so many bytes (one longer line is a slice of its own) …
pub(crate) const SLICE_BYTES_MAX: usize = 256 << 10;
/// … and so many lines.
pub(crate) const SLICE_LINES_MAX: usize = 1024;

impl Limits {
    /// The smallest [`Budget`](super::Budget) with which a body of the greatest size can be taken at all.
    #[must_use]
    pub fn budget_bytes_min(&self) -> usize {
        self.body_bytes_max + REQUEST_COST_BYTES + EVENT_COST_BYTES * SLICE_LINES_MAX
    }
}
