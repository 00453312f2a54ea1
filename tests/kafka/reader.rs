//! What a consumer of the verdicts finds in a topic.

use super::support::child::WATCHDOG;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{Headers, Message};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::{Duration, Instant};

/// One record.
#[derive(Clone, Debug)]
pub struct Seen {
    pub partition: i32,
    pub key: Option<String>,
    pub value: Value,
    pub headers: BTreeMap<String, String>,
}

impl Seen {
    pub fn id(&self) -> u32 {
        self.value["id"].as_str().expect("an id").parse().expect("a number")
    }

    pub fn sequence(&self) -> u64 {
        self.value["sequence"].as_u64().expect("a sequence")
    }
}

/// All that a topic holds now, partition by partition.
pub fn read_all(bootstrap: &str, topic: &str) -> Vec<Seen> {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", bootstrap).set("group.id", "reader").set("enable.auto.commit", "false");
    let consumer: BaseConsumer = config.set("enable.partition.eof", "true").create().expect("a consumer");
    let metadata = consumer.fetch_metadata(Some(topic), Duration::from_secs(30)).expect("metadata");
    let partitions = metadata.topics().first().map_or(0, |topic| topic.partitions().len());
    let mut all = TopicPartitionList::new();
    for partition in 0..partitions {
        let partition = i32::try_from(partition).expect("a partition");
        all.add_partition_offset(topic, partition, Offset::Beginning).expect("an offset");
    }
    consumer.assign(&all).expect("an assignment");
    let (mut seen, mut ended) = (Vec::new(), BTreeSet::new());
    let end = Instant::now() + WATCHDOG;
    while ended.len() < partitions {
        assert!(Instant::now() < end, "the topic {topic} does not end");
        match consumer.poll(Duration::from_millis(100)) {
            Some(Ok(message)) => seen.push(record(&message)),
            Some(Err(rdkafka::error::KafkaError::PartitionEOF(partition))) => {
                ended.insert(partition);
            }
            Some(Err(error)) => panic!("{error}"),
            None => {}
        }
    }
    seen
}

fn record(message: &rdkafka::message::BorrowedMessage<'_>) -> Seen {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    let headers = message.headers().into_iter().flat_map(Headers::iter);
    Seen {
        partition: message.partition(),
        key: message.key().map(text),
        value: serde_json::from_slice(message.payload().expect("a value")).expect("JSON"),
        headers: headers.map(|header| (header.key.to_owned(), text(header.value.unwrap_or_default()))).collect(),
    }
}

/// Nothing lost, nothing foreign, order per key after removing repeats. Returns the repeats.
pub fn check(seen: &[Seen], ids: Range<u32>) -> usize {
    let mut first: BTreeMap<u32, u64> = BTreeMap::new();
    let mut last_of_key: BTreeMap<&str, u64> = BTreeMap::new();
    let mut partition_of_key: BTreeMap<&str, i32> = BTreeMap::new();
    for record in seen {
        let key = record.key.as_deref().expect("a key");
        assert_eq!(*partition_of_key.entry(key).or_insert(record.partition), record.partition, "{key} moved");
        if let Some(sequence) = first.insert(record.id(), record.sequence()) {
            assert_eq!(sequence, record.sequence(), "another verdict for {}", record.id());
            continue;
        }
        let before = last_of_key.insert(key, record.sequence());
        assert!(before.is_none_or(|before| before < record.sequence()), "{key} is out of order");
    }
    let missing: Vec<u32> = ids.clone().filter(|id| !first.contains_key(id)).collect();
    assert!(missing.is_empty(), "{} lost, the first are {:?}", missing.len(), &missing[..missing.len().min(10)]);
    assert_eq!(first.len(), ids.len(), "verdicts that nobody sent");
    seen.len() - first.len()
}
