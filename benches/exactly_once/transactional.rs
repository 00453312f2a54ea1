//! The second way: reads events, writes verdicts, and commits both together, a transaction an interval.

use super::support::child::WATCHDOG;
use super::way::{FROM, TO};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Message};
use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer, ThreadedProducer};
use std::time::{Duration, Instant};
use verdictd::verdict::{Verdict, write_json};

/// The first argument of a process that does this.
pub const TASK: &str = "carry-in-transactions";

/// Longest look for an event while no transaction is open.
const LOOK: Duration = Duration::from_millis(100);

type Transactional = ThreadedProducer<DefaultProducerContext>;

/// `BROKERS NAME INTERVAL-MS TIMEOUT-MS`; until it is killed.
pub fn carry(arguments: &[String]) -> ! {
    let [brokers, name, interval, timeout] = arguments else { panic!("expected four arguments: {arguments:?}") };
    let interval = Duration::from_millis(interval.parse().expect("milliseconds"));
    let mut common = ClientConfig::new();
    common.set("bootstrap.servers", brokers);
    let mut settings = common.clone();
    // As verdictd's sink has it.
    settings.set("linger.ms", "1").set("compression.type", "lz4").set("batch.num.messages", "10000");
    settings.set("transactional.id", name).set("transaction.timeout.ms", timeout);
    let producer: Transactional = settings.create().expect("a producer");
    producer.init_transactions(WATCHDOG).expect("a producer of its own");
    // As verdictd's source has it.
    let mut settings = common;
    settings.set("group.id", "verdictd").set("group.instance.id", name).set("enable.auto.commit", "false");
    settings.set("partition.assignment.strategy", "cooperative-sticky").set("auto.offset.reset", "earliest");
    let consumer: BaseConsumer = settings.set("isolation.level", "read_committed").create().expect("a consumer");
    consumer.subscribe(&[FROM]).expect("a topic");
    let mut value = Vec::new();
    loop {
        // What the client says of a link it mends itself.
        let Some(Ok(first)) = consumer.poll(LOOK) else { continue };
        let end = Instant::now() + interval;
        producer.begin_transaction().expect("a transaction");
        write(&producer, name, &first, &mut value);
        println!("open");
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            if let Some(Ok(event)) = consumer.poll(left) {
                write(&producer, name, &event, &mut value);
            }
        }
        let (offsets, member) = (consumer.position().expect("offsets"), consumer.group_metadata().expect("a member"));
        producer.send_offsets_to_transaction(&offsets, &member, WATCHDOG).expect("offsets in the transaction");
        producer.commit_transaction(WATCHDOG).expect("a commit");
    }
}

/// A verdict of the usual size, with the event's id and key.
fn write(producer: &Transactional, name: &str, event: &BorrowedMessage<'_>, value: &mut Vec<u8>) {
    let text = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
    let key = text(event.key());
    let at = event.timestamp().to_millis().unwrap_or_default();
    let verdict = Verdict {
        sequence: event.offset().unsigned_abs() + 1,
        source: name,
        // The key of these events is their id.
        id: &key,
        key: Some(&key),
        time_us: at * 1000,
        decision: "allow",
        score: Some(0.000_522_519_35),
        reasons: Vec::new(),
        model: "card-fraud@2026.1",
        model_sha256: &[7; 32],
        decided_ms: at,
    };
    value.clear();
    write_json(&verdict, value);
    let mut record = BaseRecord::to(TO).key(&key).payload(value.as_slice());
    while let Err((error, refused)) = producer.send(record) {
        assert!(matches!(error, KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull)), "{error}");
        std::thread::sleep(Duration::from_millis(1));
        record = refused;
    }
}
