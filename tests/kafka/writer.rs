//! Someone who writes events into a topic.

use super::rig::event;
use super::support::child::WATCHDOG;
use rdkafka::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use std::ops::Range;
use std::time::Duration;

pub struct Writer {
    producer: BaseProducer,
    topic: String,
}

impl Writer {
    pub fn to(bootstrap: &str, topic: &str) -> Self {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", bootstrap).set("enable.idempotence", "true").set("linger.ms", "1");
        Self { producer: config.create().expect("a producer"), topic: topic.to_owned() }
    }

    /// Events with these ids, under their keys; returns when the broker has them.
    pub fn write(&self, ids: Range<u32>) {
        for id in ids {
            let key = format!("k{}", id % super::rig::KEYS);
            self.put(None, Some(&key), Some(event(id).as_bytes()), &[]);
        }
        self.flush();
    }

    pub fn put(&self, partition: Option<i32>, key: Option<&str>, value: Option<&[u8]>, headers: &[(&str, &str)]) {
        loop {
            let mut owned = OwnedHeaders::new();
            for (key, value) in headers {
                owned = owned.insert(Header { key, value: Some(value.as_bytes()) });
            }
            let mut record = BaseRecord::<[u8], [u8]>::to(&self.topic).headers(owned);
            (record.key, record.payload, record.partition) = (key.map(str::as_bytes), value, partition);
            match self.producer.send(record) {
                Ok(()) => return,
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), _)) => {
                    self.producer.poll(Duration::from_millis(10));
                }
                Err((error, _)) => panic!("{error}"),
            }
        }
    }

    pub fn flush(&self) {
        self.producer.flush(WATCHDOG).expect("a broker that takes records");
    }
}
