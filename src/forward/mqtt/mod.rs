//! Sink `mqtt`: a message a verdict at QoS 1, confirmed by the PUBACK of that very packet.
//!
//! - **The log is the only queue** (`session.rs`): a session reads from the cursor on and has at most
//!   [`Options::in_flight_records`] messages out, never more than the broker lets it. Each goes out under a packet
//!   id of its own (`packet_ids.rs`), a PUBACK leads back to its record, and the cursor stands at the first record
//!   without one.
//! - **After any error** the connection is dropped, and with a fresh one everything unconfirmed is sent again, in
//!   order. So a cut repeats at most what was in flight, as a run from the first unconfirmed record on. The broker
//!   keeps no session for the sink: there is nothing in it that the log does not know better.
//! - **Form** (`message.rs`, `topic.rs`): MQTT 5 carries the verdict with the CloudEvents attributes as user
//!   properties, 3.1.1 a structured CloudEvent.
//! - **Errors**: what a link or a broker does is tried again for ever, with a back-off. Rights, names and
//!   certificates turn the sink down and are tried every [`Options::probe`]. A verdict that the broker refuses for
//!   what it is, or that is larger than it takes, is set aside with the broker's reason.
//! - **Order**: kept through every cut. Where a broker refuses one message (MQTT 5), those sent behind it may be
//!   there already; from then on one goes at a time until it is through.
//! - **MQTT 3.1.1** has no word for refusing a message: what a broker confirms and drops (too large for it, no
//!   right to the topic) is lost without a trace here. Use 5 where the broker speaks it.

mod message;
mod packet_ids;
mod session;
mod topic;

pub use topic::{Template, TemplateError};

use super::{Encoding, Filter, SetAside, SinkStatus};
use crate::link::mqtt::ClientOptions;
use crate::link::{Backoff, Trouble};
use crate::store::Store;
use rand::SeedableRng;
use session::{Refused, Work, deliver};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Messages out and unconfirmed, where nothing else is configured: what a cut may repeat.
pub const IN_FLIGHT_RECORDS: u16 = 100;
/// Bytes of them.
pub const IN_FLIGHT_BYTES: usize = 1 << 20;
/// Between two tries where only a person can mend it.
pub const PROBE: Duration = Duration::from_secs(30);
/// How long a stopping sink goes on delivering what is committed.
pub const DRAIN: Duration = Duration::from_secs(3);
/// A connection that held for so long was a good one, whatever ended it.
const GOOD_AFTER: Duration = Duration::from_secs(30);

/// One MQTT sink, as configured.
#[derive(Clone, Debug)]
pub struct Options {
    pub name: String,
    /// Its client id is the sink's alone: a source of the same broker has another.
    pub client: ClientOptions,
    pub topic: Template,
    pub encoding: Encoding,
    pub filter: Filter,
    /// See [`IN_FLIGHT_RECORDS`] and [`IN_FLIGHT_BYTES`].
    pub in_flight_records: u16,
    pub in_flight_bytes: usize,
    pub retain: bool,
    pub probe: Duration,
    pub drain: Duration,
}

impl Options {
    /// With the defaults for everything but these.
    #[must_use]
    pub fn new(name: &str, client: ClientOptions, topic: Template) -> Self {
        Self {
            name: name.to_owned(),
            client,
            topic,
            encoding: Encoding::default(),
            filter: Filter::default(),
            in_flight_records: IN_FLIGHT_RECORDS,
            in_flight_bytes: IN_FLIGHT_BYTES,
            retain: false,
            probe: PROBE,
            drain: DRAIN,
        }
    }

    /// Memory it may use, for the plan: what waits to be written, a read buffer, a packet id and a place in the
    /// flight for each record.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let waiting = self.in_flight_bytes.min(512 << 10);
        waiting + crate::link::mqtt::READ_BYTES_MAX + usize::from(self.in_flight_records) * 64 + (64 << 10)
    }
}

/// Runs the sink until `stop` turns true, and then delivers what is committed, for at most [`Options::drain`].
/// Where there is no connection then, it ends at once.
pub async fn run(
    options: Options,
    store: Arc<Store>,
    aside: Arc<dyn SetAside>,
    status: Arc<SinkStatus>,
    mut stop: watch::Receiver<bool>,
) {
    let mut backoff = Backoff::default();
    let mut random = rand_pcg::Pcg64::from_os_rng();
    let mut refused = Refused::default();
    loop {
        let begun = Instant::now();
        let mut progress = false;
        let work = Work {
            options: &options,
            store: &store,
            aside: &*aside,
            status: &status,
            refused: &mut refused,
            progress: &mut progress,
        };
        let Err(failure) = deliver(work, &mut stop).await else { return };
        status.failed(failure.trouble, &failure.text);
        if progress || begun.elapsed() >= GOOD_AFTER {
            backoff.reset();
        }
        let wait = match failure.trouble {
            Trouble::Configuration => options.probe,
            _ => backoff.next(&mut random),
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = stopped(&mut stop) => return,
        }
    }
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    // Without a sender nobody can stop it any more.
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}
