//! The client's consumer: its settings, and what it tells.

use super::{FETCH_BYTES, FETCH_PARTITION_BYTES, Failure, Options, QUEUE_BYTES, QUEUE_RECORDS};
use crate::link::Trouble;
use crate::link::kafka::{LogValve, SetupError, check_topic};
use rdkafka::config::{FromClientConfigAndContext, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::types::RDKafkaRespErr;
use rdkafka::{ClientContext, TopicPartitionList};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

pub(super) type Consumer = BaseConsumer<Context>;

/// How often topics are looked for that were missing, or have more partitions now, milliseconds.
const TOPICS_REFRESH_MS: u32 = 10_000;
/// How long a partition waits where the client's queue is full, milliseconds.
const QUEUE_BACKOFF_MS: u32 = 10;
/// A reader that does not look after its client for so long has its partitions taken away, milliseconds; it looks
/// several times a second. The client wants no less than the session.
const POLL_INTERVAL_MS: u128 = 300_000;
/// Longest name of a member.
const MEMBER_BYTES_MAX: usize = 249;
/// A broken link can report faster than anyone reads.
const ERRORS_MAX: usize = 64;

/// Partitions that come or go. They do so when the reader answers, which is what the group waits for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rebalance {
    Assigned(Vec<(String, i32)>),
    Revoked(Vec<(String, i32)>),
}

/// What the client calls back.
pub(super) struct Context {
    valve: LogValve,
    told: Mutex<Told>,
    /// The consumer is being closed: whatever it asks, the answer is to give all up.
    pub closing: AtomicBool,
}

#[derive(Debug, Default)]
pub(super) struct Told {
    pub rebalances: VecDeque<Rebalance>,
    pub errors: Vec<(RDKafkaErrorCode, String)>,
    /// Of commits to the group.
    pub commit_errors: Vec<RDKafkaErrorCode>,
}

impl Context {
    /// Takes what was told since the last look.
    pub fn take(&self) -> Told {
        std::mem::take(&mut *self.lock())
    }

    pub fn has_rebalance(&self) -> bool {
        !self.lock().rebalances.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientContext for Context {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, text: &str) {
        self.valve.write(level, facility, text);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        let code = error.rdkafka_error_code().unwrap_or(RDKafkaErrorCode::Unknown);
        let mut told = self.lock();
        if told.errors.len() < ERRORS_MAX {
            told.errors.push((code, reason.to_owned()));
        }
    }
}

impl ConsumerContext for Context {
    fn rebalance(&self, consumer: &BaseConsumer<Self>, kind: RDKafkaRespErr, list: &mut TopicPartitionList) {
        if self.closing.load(SeqCst) {
            // The group takes this for the answer whichever was asked; a failure would be its end, too.
            let _ = consumer.unassign();
            return;
        }
        let list = list.elements().iter().map(|e| (e.topic().to_owned(), e.partition())).collect();
        self.lock().rebalances.push_back(match kind {
            RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS => Rebalance::Assigned(list),
            _ => Rebalance::Revoked(list),
        });
    }

    fn commit_callback(&self, result: KafkaResult<()>, _: &TopicPartitionList) {
        if let Err(error) = result {
            let code = error.rdkafka_error_code().unwrap_or(RDKafkaErrorCode::Unknown);
            let mut told = self.lock();
            if told.commit_errors.len() < ERRORS_MAX {
                told.commit_errors.push(code);
            }
        }
    }
}

/// Makes a consumer that is on its way into the group; `bell` rings when there is something to poll.
pub(super) fn open(options: &Options, bell: Arc<Notify>) -> Result<Consumer, Failure> {
    let failure = |error: SetupError| Failure { trouble: Trouble::Configuration, text: error.to_string() };
    make(options, bell).map_err(failure)
}

fn make(options: &Options, bell: Arc<Notify>) -> Result<Consumer, SetupError> {
    options.topics.iter().try_for_each(|topic| check_topic(topic))?;
    let mut settings = options.connection.settings()?;
    let session = options.session.as_millis();
    settings
        .set("group.id", &options.group)
        .set("group.instance.id", member(&options.instance, &options.name))
        .set("partition.assignment.strategy", "cooperative-sticky")
        .set("session.timeout.ms", session.to_string())
        .set("heartbeat.interval.ms", (session / 4).clamp(1, 3000).to_string())
        .set("max.poll.interval.ms", session.max(POLL_INTERVAL_MS).to_string())
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("auto.offset.reset", "error")
        .set("allow.auto.create.topics", "false")
        .set("check.crcs", "true")
        .set("topic.metadata.refresh.interval.ms", TOPICS_REFRESH_MS.to_string())
        .set("queued.min.messages", QUEUE_RECORDS.to_string())
        .set("queued.max.messages.kbytes", (QUEUE_BYTES / 1024).to_string())
        .set("fetch.queue.backoff.ms", QUEUE_BACKOFF_MS.to_string())
        .set("fetch.max.bytes", FETCH_BYTES.to_string())
        .set("fetch.message.max.bytes", FETCH_PARTITION_BYTES.to_string());
    let told = Mutex::default();
    let valve = LogValve::new(format!("source {}", options.name));
    let context = Context { valve, told, closing: AtomicBool::new(false) };
    let mut consumer = Consumer::from_config_and_context(&settings, context)?;
    consumer.set_nonempty_callback(move || bell.notify_one());
    consumer.subscribe(&options.topics.iter().map(String::as_str).collect::<Vec<_>>())?;
    Ok(consumer)
}

/// The static member's name, of the letters that Kafka takes.
pub(super) fn member(instance: &str, source: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    format!("{instance}-{source}").chars().map(legal).take(MEMBER_BYTES_MAX).collect()
}
