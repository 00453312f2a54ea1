//! Events into the first topic: a backlog, or so many a second.

use super::events::Events;
use super::support::kafka::Broker;
use super::way::FROM;
use rdkafka::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseProducer, BaseRecord, DefaultProducerContext, Producer, ThreadedProducer};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Where the id stands in an event.
const ID: std::ops::Range<usize> = 19..33;

/// Writes so many events and waits until the broker has them all.
pub fn backlog(broker: &Broker, count: usize) {
    let mut settings = ClientConfig::new();
    settings.set("bootstrap.servers", broker.bootstrap()).set("linger.ms", "20").set("batch.num.messages", "10000");
    let producer: BaseProducer = settings.create().expect("a producer");
    let mut events = Events::new();
    for _ in 0..count {
        let event = events.one();
        let mut record = BaseRecord::to(FROM).key(&event[ID]).payload(&event);
        while let Err((error, refused)) = producer.send(record) {
            assert!(matches!(error, KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull)), "{error}");
            producer.poll(Duration::from_millis(10));
            record = refused;
        }
    }
    producer.flush(Duration::from_mins(1)).expect("a flush");
}

/// Events at a rate, on a thread of its own, until it is ended.
pub struct Rate {
    goes_on: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<Vec<Instant>>,
}

impl Rate {
    pub fn start(broker: &Broker, a_second: u32) -> Self {
        let mut settings = ClientConfig::new();
        settings.set("bootstrap.servers", broker.bootstrap()).set("linger.ms", "0");
        let producer: ThreadedProducer<DefaultProducerContext> = settings.create().expect("a producer");
        let goes_on = Arc::new(AtomicBool::new(true));
        let also = Arc::clone(&goes_on);
        let thread = std::thread::spawn(move || {
            let (mut events, mut sent, mut next) = (Events::new(), Vec::new(), Instant::now());
            while also.load(Relaxed) {
                std::thread::sleep(next.saturating_duration_since(Instant::now()));
                let now = Instant::now();
                // What it was late is not caught up with by a burst.
                next =
                    if now > next + Duration::from_millis(5) { now } else { next } + Duration::from_secs(1) / a_second;
                let event = events.one();
                sent.push(now);
                let record = BaseRecord::to(FROM).key(&event[ID]).payload(&event);
                producer.send(record).map_err(|(error, _)| error).expect("room in the queue");
            }
            producer.flush(Duration::from_mins(1)).expect("a flush");
            sent
        });
        Self { goes_on, thread }
    }

    /// When each event was sent; its place is its id.
    pub fn end(self) -> Vec<Instant> {
        self.goes_on.store(false, Relaxed);
        self.thread.join().expect("a sender")
    }
}
