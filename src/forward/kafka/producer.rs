//! The client's producer: its settings, and what it reports.

use super::width::Width;
use super::{Options, RECORD_COST_BYTES};
use crate::link::kafka::{LogValve, SetupError, check_topic};
use rdkafka::ClientContext;
use rdkafka::config::{FromClientConfigAndContext, RDKafkaLogLevel};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::DeliveryResult;
use rdkafka::producer::{ProducerContext, ThreadedProducer};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

pub(super) type Producer = ThreadedProducer<Context>;

/// How long the client waits for a topic that is not there (yet) before it fails the records for it; until
/// then it looks every second or so. At the end of it there is a new producer.
///
/// The client counts it in microseconds in 32 bits: more than 2,147,483 would be nothing.
const TOPIC_WAIT_MS: u32 = 2_000_000;

/// What the client tells, from its threads to ours.
#[derive(Debug, Default)]
pub(super) struct Reports {
    news: Mutex<News>,
    bell: Notify,
}

/// What came since the last look.
#[derive(Debug, Default)]
pub(super) struct News {
    /// Handles of records that the brokers have.
    pub confirmed: Vec<usize>,
    /// The most telling failure of a record.
    pub failed: Option<RDKafkaErrorCode>,
    /// The handle of the record it was, the lowest where there are several of that kind.
    pub failed_handle: usize,
    /// Errors of the client as a whole.
    pub errors: Vec<(RDKafkaErrorCode, String)>,
}

/// A broken link can report faster than anyone reads.
const ERRORS_MAX: usize = 64;

impl Reports {
    /// Takes what there is.
    pub fn take(&self) -> News {
        std::mem::take(&mut *self.lock())
    }

    /// Resolves when there may be news.
    pub async fn rung(&self) {
        self.bell.notified().await;
    }

    fn put(&self, change: impl FnOnce(&mut News)) {
        change(&mut self.lock());
        self.bell.notify_one();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Of a batch that is refused each record fails for the reason; the other records only with it.
pub(super) fn is_echo(code: RDKafkaErrorCode) -> bool {
    use RDKafkaErrorCode::{Fatal, GaplessGuarantee, PurgeInflight, PurgeQueue};
    matches!(code, Fatal | GaplessGuarantee | PurgeInflight | PurgeQueue)
}

impl News {
    pub(super) fn fail(&mut self, code: RDKafkaErrorCode, handle: usize) {
        match self.failed {
            Some(known) if is_echo(code) && !is_echo(known) => {}
            Some(known) if is_echo(code) == is_echo(known) => {
                if handle < self.failed_handle {
                    (self.failed, self.failed_handle) = (Some(code), handle);
                }
            }
            _ => (self.failed, self.failed_handle) = (Some(code), handle),
        }
    }
}

/// What the client calls back.
pub(super) struct Context {
    reports: Arc<Reports>,
    valve: LogValve,
}

impl ClientContext for Context {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, text: &str) {
        self.valve.write(level, facility, text);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        let code = error.rdkafka_error_code().unwrap_or(RDKafkaErrorCode::Unknown);
        self.reports.put(|news| {
            if news.errors.len() < ERRORS_MAX {
                news.errors.push((code, reason.to_owned()));
            }
        });
    }
}

impl ProducerContext for Context {
    type DeliveryOpaque = usize;

    fn delivery(&self, result: &DeliveryResult<'_>, handle: usize) {
        self.reports.put(|news| match result {
            Ok(_) => news.confirmed.push(handle),
            Err((error, _)) => news.fail(error.rdkafka_error_code().unwrap_or(RDKafkaErrorCode::Unknown), handle),
        });
    }
}

/// Makes a producer and the place where it reports.
///
/// # Errors
/// When its settings, the secrets and certificates among them, are not in order.
pub(super) fn open(options: &Options, width: Width) -> Result<(Producer, Arc<Reports>), SetupError> {
    check_topic(&options.topic)?;
    let mut settings = options.connection.settings()?;
    let records = options.in_flight_records.max(1);
    let bytes = options.in_flight_bytes + records * RECORD_COST_BYTES;
    let (batch_records, batch_bytes) = match width {
        Width::Single { .. } => (1, 1),
        // A full flight is sent in a few batches, so that the next one gathers while the first is under way.
        Width::Bytes(bytes) => (records.div_ceil(4).clamp(1, 10_000), bytes),
    };
    settings
        .set("enable.idempotence", "true")
        .set("enable.gapless.guarantee", "true")
        .set("acks", "all")
        .set("message.timeout.ms", "0")
        .set("topic.metadata.propagation.max.ms", TOPIC_WAIT_MS.to_string())
        // Where the Java client puts a key.
        .set("partitioner", "murmur2_random")
        .set("compression.type", options.compression.name())
        .set("linger.ms", (options.linger.as_secs_f64() * 1000.0).to_string())
        .set("batch.num.messages", batch_records.to_string())
        .set("batch.size", batch_bytes.to_string())
        // More than there can be: the limit in flight is ours.
        .set("queue.buffering.max.messages", (records + 1).to_string())
        .set("queue.buffering.max.kbytes", (bytes / 1024 + 1024).to_string());
    let reports = Arc::new(Reports::default());
    let valve = LogValve::new(format!("sink {}", options.name));
    let context = Context { reports: Arc::clone(&reports), valve };
    Ok((Producer::from_config_and_context(&settings, context)?, reports))
}
