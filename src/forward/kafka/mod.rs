//! Sink `kafka`: a record a verdict, under the event's key, confirmed by the brokers with acks=all.
//!
//! - **Layout** (`record.rs`): with `encoding = "json"` the value is the verdict's JSON and the CloudEvents
//!   attributes are headers (binary mode: `ce_id`, `ce_source` …); with `"cloudevents"` the value is the
//!   structured CloudEvent. A key goes to the partition where the Java client would put it.
//! - **Confirmation**: the cursor follows the delivery reports alone. Records never time out in the client:
//!   a time-out is no delivery and no loss.
//! - **Order**: the producer is idempotent and *gapless*: a record that fails for good stops it, so that no
//!   later record of its partition can be written before it. Then a new producer goes on from the first
//!   record without a confirmation (`session.rs`). What a lost confirmation makes come twice comes as a run
//!   from that record on, in order.
//! - **Errors** (`driver.rs`): what a link or a broker does is waited out by the client itself or, where it gave
//!   up, tried with a new producer after a back-off. What only a person can mend turns the sink down and is
//!   tried every [`Options::probe`], secrets and certificates read anew. A record the broker refuses for what
//!   it is, alone in a batch, is set aside: the limit of a topic holds for a batch, so what was refused in
//!   company is tried singly first (`width.rs`).
//! - **Threads**: one of its own that reads the log and one that serves the client's reports, beside the
//!   client's: what blocks there blocks no other source or sink.
//! - **Limits**: records and bytes handed over and unconfirmed; the client's queue holds no more.

mod driver;
mod producer;
mod record;
mod session;
#[cfg(test)]
mod tests;
mod width;

use super::{Encoding, Filter, SetAside, SinkStatus};
use crate::link::kafka::{Connection, on_own_thread};
use crate::link::{Backoff, Trouble};
use crate::store::Store;
use driver::Driver;
use rand::SeedableRng;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Records handed over and unconfirmed, where nothing else is configured: what a crash may repeat.
pub const IN_FLIGHT_RECORDS: usize = 1000;
/// Bytes of them.
pub const IN_FLIGHT_BYTES: usize = 4 << 20;
/// How long a record waits for company before it is sent.
pub const LINGER: Duration = Duration::from_millis(1);
/// Between two tries where only a person can mend it.
pub const PROBE: Duration = Duration::from_secs(30);
/// How long a stopping sink goes on delivering what is committed.
pub const DRAIN: Duration = Duration::from_secs(3);
/// How long the client has to end after that.
const STOP_GRACE: Duration = Duration::from_secs(2);
/// What a record costs in the client beyond its bytes: its headers, its place in queues and requests.
pub(crate) const RECORD_COST_BYTES: usize = 768;

/// One Kafka sink, as configured.
#[derive(Clone, Debug)]
pub struct Options {
    pub name: String,
    pub connection: Connection,
    pub topic: String,
    pub encoding: Encoding,
    pub filter: Filter,
    pub compression: Compression,
    /// See [`IN_FLIGHT_RECORDS`] and [`IN_FLIGHT_BYTES`].
    pub in_flight_records: usize,
    pub in_flight_bytes: usize,
    pub linger: Duration,
    pub probe: Duration,
    pub drain: Duration,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    None,
    Gzip,
    Snappy,
    /// Costs least for what it saves.
    #[default]
    Lz4,
    Zstd,
}

impl Compression {
    /// As Kafka names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }
}

impl Options {
    /// With the defaults for everything but these.
    #[must_use]
    pub fn new(name: &str, connection: Connection, topic: &str) -> Self {
        Self {
            name: name.to_owned(),
            connection,
            topic: topic.to_owned(),
            encoding: Encoding::default(),
            filter: Filter::default(),
            compression: Compression::default(),
            in_flight_records: IN_FLIGHT_RECORDS,
            in_flight_bytes: IN_FLIGHT_BYTES,
            linger: LINGER,
            probe: PROBE,
            drain: DRAIN,
        }
    }

    /// Memory it may use, for the plan: each record in flight stands in the client's queue and in a request.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        2 * (self.in_flight_bytes + self.in_flight_records * RECORD_COST_BYTES) + (2 << 20)
    }
}

/// Runs the sink until `stop` turns true, and then delivers what is committed, for at most [`Options::drain`].
pub async fn run(
    options: Options,
    store: Arc<Store>,
    aside: Arc<dyn SetAside>,
    status: Arc<SinkStatus>,
    mut stop: watch::Receiver<bool>,
) {
    let mut backoff = Backoff::default();
    let mut random = rand_pcg::Pcg64::from_os_rng();
    loop {
        let driver =
            Driver::new(options.clone(), Arc::clone(&store), Arc::clone(&aside), Arc::clone(&status), stop.clone());
        let thread = on_own_thread(format!("sink-{}", options.name), || driver.run());
        tokio::pin!(thread);
        let ended = tokio::select! {
            ended = &mut thread => ended,
            () = stopped(&mut stop) => {
                // The client may wait for a name that nobody resolves; the process may end all the same.
                match tokio::time::timeout(options.drain + STOP_GRACE, &mut thread).await {
                    Ok(ended) => ended,
                    Err(_) => return,
                }
            }
        };
        let Err(error) = ended else { return };
        status.failed(Trouble::Transient, &error);
        let wait = backoff.next(&mut random);
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = stopped(&mut stop) => return,
        }
    }
}

/// Resolves when it is stopped; never where nobody can stop it any more.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}
