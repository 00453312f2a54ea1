//! Source `kafka`: records of topics, each with the place where it stood stored beside its verdict.
//!
//! - **Offsets** (`offset.rs`): the next offset of each partition is in the commit that holds the verdicts, and
//!   so is what the last record looked like. After it, at most once a second, it is committed to the group too,
//!   for the tools that show lag and for the other members. Where a partition is taken up, the further of the
//!   two counts.
//! - **Gaps** (`partition.rs`): where the brokers do not have the offset any more, or the topic was made anew
//!   (its record just before the offset is another one), the log names what is missing, and the source goes on
//!   with the earliest record or stops that partition, as configured. The client never resets by itself.
//! - **Members**: static (`group.instance.id`), so that a daemon that is killed and started again has its
//!   partitions back at once, and cooperative, so that the others keep theirs. A partition that is taken away
//!   is given up after what was read of it is committed.
//! - **Backpressure**: one batch under way and one being gathered, each at most [`BATCH_RECORDS_MAX`] records or
//!   [`BATCH_BYTES_MAX`] bytes, paid for out of the budget; the client's own queue holds [`QUEUE_BYTES`], then it
//!   asks for no more.
//! - **Records** (`record.rs`): JSON, or CloudEvents in binary (headers `ce_…`) or structured mode. One without a
//!   value is malformed. The record's key is the event's where the event names none.
//! - **Threads**: one of its own that reads and decodes; what blocks there blocks no other source.

mod consumer;
mod gathering;
mod offset;
mod partition;
mod reader;
mod rebalance;
mod record;
#[cfg(test)]
mod tests;
mod upkeep;

use super::{Budget, Intake, SourceStatus};
use crate::link::kafka::{Connection, on_own_thread};
use crate::link::{Backoff, Trouble};
use rand::SeedableRng;
use reader::Reader;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Records of one batch.
pub const BATCH_RECORDS_MAX: usize = 4096;
/// Bytes of one batch; a single larger record is a batch of its own.
pub const BATCH_BYTES_MAX: usize = 1 << 20;
/// Bytes the client holds ready, and records.
pub const QUEUE_BYTES: usize = 2 << 20;
pub const QUEUE_RECORDS: usize = 8192;
/// Bytes of one answer of a broker, and of one partition in it; a larger record still comes, alone.
pub const FETCH_BYTES: usize = 1 << 20;
pub const FETCH_PARTITION_BYTES: usize = 256 << 10;
/// A member of which the brokers hear nothing for so long has its partitions taken away.
pub const SESSION: Duration = Duration::from_secs(10);
/// Between two tries where only a person can mend it.
pub const PROBE: Duration = Duration::from_secs(30);
/// What a record costs in the client beyond its bytes.
const QUEUED_COST_BYTES: usize = 400;
/// How long a source that is stopped waits for what is under way, and for the brokers.
const STOP_WAIT: Duration = Duration::from_secs(5);

/// One Kafka source, as configured.
#[derive(Clone, Debug)]
pub struct Options {
    pub name: String,
    pub connection: Connection,
    /// This daemon's name: with the source's it is the static member's.
    pub instance: String,
    pub topics: Vec<String>,
    pub group: String,
    /// Where a partition begins of which neither we nor the group know an offset.
    pub start: Start,
    pub on_gap: OnGap,
    /// Whether a record without an id has `topic/partition/offset` for one.
    pub default_id: bool,
    /// See [`SESSION`]; the brokers have limits of their own (6 s to 30 min, as a rule).
    pub session: Duration,
    pub probe: Duration,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    #[default]
    Earliest,
    Latest,
}

/// What to do where records are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnGap {
    /// Go on with the earliest record there is.
    #[default]
    Earliest,
    /// Read nothing more of the partition until a person has decided.
    Stop,
}

impl Options {
    /// With the defaults for everything but these.
    #[must_use]
    pub fn new(name: &str, connection: Connection, instance: &str, topics: Vec<String>) -> Self {
        Self {
            name: name.to_owned(),
            connection,
            instance: instance.to_owned(),
            topics,
            group: "verdictd".to_owned(),
            start: Start::default(),
            on_gap: OnGap::default(),
            default_id: true,
            session: SESSION,
            probe: PROBE,
        }
    }

    /// Memory the client may use, for the plan; batches are paid for out of the budget. Answers of the brokers
    /// may be compressed, hence the factor.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        QUEUE_BYTES + QUEUE_RECORDS * QUEUED_COST_BYTES + 4 * FETCH_BYTES + (2 << 20)
    }
}

/// Runs the source until `stop` turns true or the engine ends.
pub async fn run<I: Intake>(
    options: Options,
    intake: Arc<I>,
    budget: Budget,
    status: Arc<SourceStatus>,
    mut stop: watch::Receiver<bool>,
) {
    let mut backoff = Backoff::default();
    let mut random = rand_pcg::Pcg64::from_os_rng();
    loop {
        let task = {
            let (options, intake, budget) = (options.clone(), Arc::clone(&intake), budget.clone());
            let (status, stop) = (Arc::clone(&status), stop.clone());
            move || read(options, intake, budget, status, stop)
        };
        let thread = on_own_thread(format!("source-{}", options.name), task);
        tokio::pin!(thread);
        let ended = tokio::select! {
            ended = &mut thread => ended,
            () = stopped(&mut stop) => match tokio::time::timeout(STOP_WAIT, &mut thread).await {
                Ok(ended) => ended,
                // The client waits for a broker that does not answer; the process may end all the same.
                Err(_) => return,
            },
        };
        let Err(error) = ended else { return };
        status.failed(Trouble::Transient, &error);
        let wait = backoff.next(&mut random);
        if tokio::time::timeout(wait, stopped(&mut stop)).await.is_ok() {
            return;
        }
    }
}

/// Resolves when it is stopped; never where nobody can stop it any more.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// One consumer after the other, until it is stopped.
async fn read<I: Intake>(
    options: Options,
    intake: Arc<I>,
    budget: Budget,
    status: Arc<SourceStatus>,
    mut stop: watch::Receiver<bool>,
) {
    let mut backoff = Backoff::default();
    let mut random = rand_pcg::Pcg64::from_os_rng();
    while !*stop.borrow() {
        let failure = match Reader::open(&options, &*intake, &budget, &status, stop.clone()) {
            Ok(reader) => match reader.run(&mut backoff).await {
                Ok(true) => return,
                Ok(false) => continue,
                Err(failure) => failure,
            },
            Err(failure) => failure,
        };
        status.failed(failure.trouble, &failure.text);
        let wait = match failure.trouble {
            Trouble::Configuration => options.probe,
            _ => backoff.next(&mut random),
        };
        if tokio::time::timeout(wait, stopped(&mut stop)).await.is_ok() {
            return;
        }
    }
}

/// Why a consumer is of no more use.
#[derive(Debug)]
struct Failure {
    trouble: Trouble,
    text: String,
}
