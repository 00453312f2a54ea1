//! Sink `http`: verdicts posted to a receiver, each confirmed by its answer.
//!
//! Two modes, by what the receiver can do:
//!
//! - **For receivers that honour `Idempotency-Key`** (`lanes.rs`, `session.rs`): what was sent and not confirmed is sent
//!   again, under the same key, until there is an answer. A few requests at once, each over its own kept connection; the
//!   verdicts of one key always go the same way (a *lane*), one behind the other.
//! - **Guarded** (`guarded.rs`, `desk.rs`, `caller.rs`), for calls that must not be made twice: the intent is durable before
//!   the call, the call is made once, over a connection of its own that is there before the intent is written; its outcome
//!   is durable before the next one begins. Where the outcome is not known, the call is *uncertain*: a case that a person,
//!   or the receiver by way of the probe (`probe.rs`), settles. Cases stand in the store with their verdict, so the log
//!   does not wait for them.
//!
//! What each status means stands in `answer.rs`. A request is put together in `request.rs`.
//!
//! - **Limits**: requests under way, verdicts and bytes handed to the lanes; the time-outs of the client; an answer of a few
//!   hundred KiB; a wait asked for by the receiver of an hour; open cases.
//! - **Errors**: time-outs and what a receiver says of itself are tried again for ever, with a back-off or when it says.
//!   Rights and addresses turn the sink down and are tried every [`Options::probe`]. A verdict that is refused for what it
//!   is goes to the quarantine; in an array of several each is tried singly first.

mod answer;
mod caller;
mod desk;
mod guarded;
mod lanes;
mod probe;
mod request;
mod session;

pub use caller::run_guarded;
pub use desk::{Desk, DeskError, Shown};
pub use guarded::{Hold, Rules, Settled};
pub use session::run;

use super::{Encoding, Filter};
use crate::link::http;
use std::time::Duration;

/// Requests under way at once, where nothing else is configured.
pub const IN_FLIGHT_REQUESTS: usize = 4;
/// Bytes of verdicts handed to the lanes and not confirmed.
pub const IN_FLIGHT_BYTES: usize = 1 << 20;
/// Between two tries where only a person can mend it.
pub const PROBE: Duration = Duration::from_secs(30);
/// How long a stopping sink goes on delivering what is committed.
pub const DRAIN: Duration = Duration::from_secs(3);
/// How long a stopping guarded sink waits for the answer to the call that is under way.
pub const GUARDED_DRAIN: Duration = Duration::from_secs(10);
/// What a request costs beyond the verdicts in it: buffers, a connection with TLS.
const REQUEST_COST_BYTES: usize = 96 << 10;

/// One HTTP sink, as configured.
#[derive(Clone, Debug)]
pub struct Options {
    pub name: String,
    pub client: http::Options,
    /// Path and query that verdicts are posted to.
    pub target: String,
    pub encoding: Encoding,
    pub filter: Filter,
    /// Verdicts a request; over 1 they go as an array, also where there is only one.
    pub batch: usize,
    /// Requests under way at once.
    pub in_flight: usize,
    /// See [`IN_FLIGHT_BYTES`].
    pub in_flight_bytes: usize,
    /// Between two tries where only a person can mend it.
    pub probe: Duration,
    pub drain: Duration,
}

impl Options {
    /// With the defaults for everything but these.
    #[must_use]
    pub fn new(name: &str, client: http::Options, target: &str) -> Self {
        Self {
            name: name.to_owned(),
            client,
            target: target.to_owned(),
            encoding: Encoding::default(),
            filter: Filter::default(),
            batch: 1,
            in_flight: IN_FLIGHT_REQUESTS,
            in_flight_bytes: IN_FLIGHT_BYTES,
            probe: PROBE,
            drain: DRAIN,
        }
    }

    /// Verdicts handed to the lanes: what is under way, and what is ready while another lane waits to try again.
    #[must_use]
    pub fn records_max(&self) -> usize {
        self.in_flight.saturating_mul(self.batch).saturating_mul(8)
    }

    /// Memory it may use, for the plan: verdicts as they wait and as they are sent, and what requests cost.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        2 * self.in_flight_bytes + self.in_flight * REQUEST_COST_BYTES + self.records_max() * 256
    }
}

/// What a guarded sink has besides.
#[derive(Clone, Debug)]
pub struct Guarded {
    pub rules: Rules,
    /// Path and query of the question whether a call was done, on the same server, with `{source}` and `{id}`.
    pub probe: Option<Probe>,
}

/// How the receiver is asked.
#[derive(Clone, Debug)]
pub struct Probe {
    pub client: http::Options,
    pub target: String,
    /// How long a call is uncertain before it is asked for; the waits between further questions grow from it.
    pub after: Duration,
}
