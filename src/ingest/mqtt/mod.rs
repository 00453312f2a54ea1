//! Source `mqtt`: the messages of a broker's topics, acknowledged to it after the commit.
//!
//! - **Taken** (`session.rs`): a message of QoS 1 is acknowledged when the batch it came in is committed, in the order
//!   in which messages came. One batch is under way at a time; the next is gathered meanwhile (`gathering.rs`). What
//!   is not acknowledged the broker sends again, also after a kill of either side, because the session is kept there
//!   under a stable client id; where an event has an id, that gives no second verdict.
//! - **Identity** (`arrival.rs`): from the payload, from CloudEvents (structured, or as the user properties of MQTT 5),
//!   or the user properties `id`, `source` and `key`. Without any id a message gets one at its arrival: then each
//!   arrival is an event of its own, and a message that the broker sends again is a second one.
//! - **Topics** (`topics.rs`): what was subscribed to is remembered in the store, so that a topic that is no longer
//!   configured is unsubscribed from, and one that was known is not asked for again. Retained messages are events like
//!   others; they are counted.
//! - **Refused**: what cannot be taken now (a full disk) is not acknowledged and handed in again until it is taken.
//! - **QoS 0** messages are taken as they come; the broker sends them once, whatever becomes of them.
//! - **Limits**: every message is paid for out of the memory budget before it is gathered. While there is none,
//!   nothing is read; pings go on. A message above the event limit is set aside as oversized with its beginning, is
//!   acknowledged, and never held whole: the broker is told no limit, for it would drop such messages without a word.

mod arrival;
mod gathering;
mod session;
mod topics;

pub use topics::TOPICS_BYTES_MAX;

use super::limits::EVENT_COST_BYTES;
use super::{Budget, Intake, Permit, SourceStatus};
use crate::link::mqtt::{ClientOptions, HEAD_BYTES_MAX, READ_BYTES_MAX};
use crate::link::{Backoff, Trouble};
use arrival::Arrivals;
use gathering::Gathering;
use rand::SeedableRng;
use session::{State, receive};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How long the broker is asked to keep the session (MQTT 5), where nothing else is configured.
pub const SESSION_EXPIRY: Duration = Duration::from_hours(7 * 24);
/// Messages that the broker may send ahead of their acknowledgement (MQTT 5), where nothing else is configured.
pub const IN_FLIGHT: u16 = 1000;
/// Between two tries where only a person can mend it.
pub const PROBE: Duration = Duration::from_secs(30);
/// A connection that held for so long was a good one, whatever ended it.
const GOOD_AFTER: Duration = Duration::from_secs(30);
/// The buffers of a connection.
const BUFFER_BYTES: usize = READ_BYTES_MAX + HEAD_BYTES_MAX + (16 << 10);

/// One MQTT source, as configured.
#[derive(Clone, Debug)]
pub struct Options {
    pub name: String,
    /// Its client id is the source's alone: a sink of the same broker has another.
    pub client: ClientOptions,
    /// Topic filters, each once, at most [`TOPICS_BYTES_MAX`] in all.
    pub topics: Vec<String>,
    pub session_expiry: Duration,
    pub in_flight: u16,
    pub event_bytes_max: usize,
    /// Whether an event that brings no id gets one: the user property `id`, else one made at its arrival.
    pub default_id: bool,
    pub probe: Duration,
}

impl Options {
    /// With the defaults for everything but these.
    #[must_use]
    pub fn new(name: &str, client: ClientOptions, topics: Vec<String>, event_bytes_max: usize) -> Self {
        Self {
            name: name.to_owned(),
            client,
            topics,
            session_expiry: SESSION_EXPIRY,
            in_flight: IN_FLIGHT,
            event_bytes_max,
            default_id: true,
            probe: PROBE,
        }
    }

    /// The smallest budget with which its largest message can be taken: the buffers, that packet, and the event.
    #[must_use]
    pub fn budget_bytes_min(&self) -> usize {
        BUFFER_BYTES + session::packet_bytes_max(self.event_bytes_max) + self.event_bytes_max + EVENT_COST_BYTES
    }
}

/// Runs the source until `stop` turns true: then what came is committed and acknowledged, and nothing more taken.
pub async fn run<I: Intake>(
    options: Options,
    intake: Arc<I>,
    budget: Budget,
    status: Arc<SourceStatus>,
    mut stop: watch::Receiver<bool>,
) {
    let Some(_buffers) = buffers(&budget, &mut stop).await else { return };
    let mut random = rand_pcg::Pcg64::from_os_rng();
    let mut backoff = Backoff::default();
    let mut state = State {
        options: &options,
        intake: &*intake,
        budget: &budget,
        status: &status,
        arrivals: Arrivals::new(options.default_id, &mut random),
        gathering: Gathering::new(&*intake),
        committing: None,
        progress: false,
    };
    loop {
        let begun = Instant::now();
        let Err(error) = receive(&mut state, &mut stop).await else { return };
        let trouble = error.trouble();
        status.failed(trouble, &error.to_string());
        if std::mem::take(&mut state.progress) || begun.elapsed() >= GOOD_AFTER {
            backoff.reset();
        }
        let wait = if trouble == Trouble::Configuration { options.probe } else { backoff.next(&mut random) };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = stopped(&mut stop) => {
                state.finish(&stop).await;
                return;
            }
        }
    }
}

/// Pays for the buffers of a connection; None where it stopped before there was memory.
async fn buffers(budget: &Budget, stop: &mut watch::Receiver<bool>) -> Option<Permit> {
    loop {
        if *stop.borrow() {
            return None;
        }
        if let Ok(permit) = budget.take(BUFFER_BYTES, Duration::from_secs(1)).await {
            return Some(permit);
        }
        // A budget smaller than that says so at once.
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
            () = stopped(stop) => return None,
        }
    }
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    // Without a sender nobody can stop it any more.
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}
