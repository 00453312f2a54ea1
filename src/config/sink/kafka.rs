//! Sink `kafka`: a verdict a record, confirmed by all in-sync replicas.

use super::{DECISIONS, ENCODING, IN_FLIGHT_SIZE, START, of_type};
use crate::config::{
    Key, Kind, Period, Preset, Size,
    broker::HostPort,
    client::{SASL, TLS, read_sasl, read_tls},
    section::Section,
    source::kafka::{BROKERS, read_brokers},
    topic::kafka_topic,
};
use crate::link::{ClientTls, kafka::Sasl};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KafkaSink {
    /// One or more, each once: where the client asks for the rest of them.
    pub brokers: Vec<HostPort>,
    pub topic: String,
    /// Records handed to the client and not confirmed.
    pub in_flight: usize,
    /// The same in bytes.
    pub in_flight_size: Size,
    pub compression: Compression,
    pub linger: Period,
    /// Some: TLS, also where no file is named.
    pub tls: Option<ClientTls>,
    pub sasl: Option<Sasl>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    None,
    Gzip,
    Snappy,
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

const TYPE: Key = of_type("\"kafka\"");
const TOPIC: Key = Key::new(
    "topic",
    Kind::Form("a topic of 1 to 249 letters, digits, dots, _ and -"),
    Preset::Required("\"verdicts\""),
    "The topic; a record's key is the event's key, so order is kept per key.",
);
const IN_FLIGHT: Key = Key::new(
    "in-flight",
    Kind::Integer { min: 1, max: 1_000_000 },
    Preset::Default("1000"),
    "Verdicts that may be sent ahead of their confirmation. After a crash at most so many come again.",
);
const COMPRESSION: Key = Key::new(
    "compression",
    Kind::OneOf(&["none", "gzip", "snappy", "lz4", "zstd"]),
    Preset::Default("\"lz4\""),
    "How batches of records are compressed on their way and at the broker.",
);
const LINGER: Key = Key::new(
    "linger",
    Kind::Period { min: Period::milliseconds(0), max: Period::seconds(60) },
    Preset::Default("\"1 ms\""),
    "How long records may gather before they are sent as one batch. It delays no answer.",
);
pub(in crate::config) const KEYS: &[Key] =
    &[TYPE, BROKERS, TOPIC, TLS, SASL, IN_FLIGHT, IN_FLIGHT_SIZE, COMPRESSION, LINGER, ENCODING, DECISIONS, START];

pub(super) fn read(section: &mut Section<'_>) -> Option<KafkaSink> {
    section.one_of(&TYPE, super::SINK_TYPES);
    let brokers = read_brokers(section);
    let topic = section.text_as(&TOPIC, |text| kafka_topic(text).map(|()| text.to_owned()));
    let in_flight = usize::try_from(section.integer(&IN_FLIGHT)).unwrap_or_default();
    let in_flight_size = section.size(&IN_FLIGHT_SIZE);
    let all = [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];
    let compression = section.one_of(&COMPRESSION, &all);
    let linger = section.period(&LINGER);
    let (tls, sasl) = (read_tls(section, &TLS), read_sasl(section));
    Some(KafkaSink {
        brokers: brokers?,
        topic: topic?,
        in_flight,
        in_flight_size,
        compression: compression?,
        linger: linger?,
        tls,
        sasl,
    })
}
