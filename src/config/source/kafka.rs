//! Source `kafka`: records of a consumer group; where it goes on stands in the commit of the verdicts.

use super::{CONTENT, of_type};
use crate::config::{
    Key, Kind, Period, Preset,
    broker::HostPort,
    client::{SASL, TLS, read_sasl, read_tls},
    mapping::EVENT,
    section::Section,
    topic::kafka_topic,
};
use crate::link::{ClientTls, kafka::Sasl};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KafkaSource {
    /// One or more, each once: where the client asks for the rest of them.
    pub brokers: Vec<HostPort>,
    /// One or more, each once.
    pub topics: Vec<String>,
    pub group: String,
    pub start: KafkaStart,
    pub on_gap: OnGap,
    /// Some: TLS, also where no file is named.
    pub tls: Option<ClientTls>,
    pub sasl: Option<Sasl>,
    pub session_timeout: Period,
}

/// Where a partition begins of which neither the store nor the group has an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KafkaStart {
    Earliest,
    Latest,
}

/// What to do where the records at the stored offset are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnGap {
    /// Go on with the oldest record there is, with a warning that names the gap.
    Earliest,
    /// Take nothing of that partition until someone has decided.
    Stop,
}

/// Most brokers and topics of one source or sink.
pub const BROKERS_MAX: usize = 64;
pub const TOPICS_MAX: usize = 256;

const TYPE: Key = of_type("\"kafka\"");
pub(in crate::config) const BROKERS: Key = Key::new(
    "brokers",
    Kind::Form("a list of 1 to 64 brokers, as in [\"kafka.site:9092\"]"),
    Preset::Required("[\"kafka.site:9092\"]"),
    "Brokers to ask for the others, HOST:PORT each.",
);
const TOPICS: Key = Key::new(
    "topics",
    Kind::Form("a list of 1 to 256 topics, as in [\"transactions\"]"),
    Preset::Required("[\"transactions\"]"),
    "Topics to read.",
);
const GROUP: Key = Key::new(
    "group",
    Kind::Text(249),
    Preset::Default("\"verdictd\""),
    "The consumer group: appliances of one group share the partitions. Each is a static member under its instance name.",
);
const START: Key = Key::new(
    "start",
    Kind::OneOf(&["earliest", "latest"]),
    Preset::Default("\"earliest\""),
    "Where a partition begins of which neither the store nor the group has an offset.",
);
const ON_GAP: Key = Key::new(
    "on-gap",
    Kind::OneOf(&["earliest", "stop"]),
    Preset::Default("\"earliest\""),
    "The record to go on with is gone: go on with the oldest there is, with a warning that names the gap, or stop there.",
);
const SESSION_TIMEOUT: Key = Key::new(
    "session-timeout",
    Kind::Period { min: Period::seconds(1), max: Period::seconds(30 * 60) },
    Preset::Default("\"10 s\""),
    "How long a member may be silent before its partitions go to others; the brokers bound it (6 s to 30 min).",
);
pub(in crate::config) const KEYS: &[Key] = &[
    TYPE,
    BROKERS,
    TOPICS,
    GROUP,
    START,
    ON_GAP,
    TLS,
    SASL,
    SESSION_TIMEOUT,
    CONTENT,
    // Without an id a record that a producer wrote twice is two events.
    EVENT.starting_with("{ id = \"/id\", key = \"/key\", time = \"/time\" }"),
];

pub(super) fn read(section: &mut Section<'_>) -> Option<KafkaSource> {
    section.one_of(&TYPE, super::SOURCE_TYPES);
    let brokers = read_brokers(section);
    let topics = section.texts_as(&TOPICS, TOPICS_MAX, |text| kafka_topic(text).map(|()| text.to_owned()));
    let group = section.text(&GROUP);
    let start = section.one_of(&START, &[KafkaStart::Earliest, KafkaStart::Latest]);
    let on_gap = section.one_of(&ON_GAP, &[OnGap::Earliest, OnGap::Stop]);
    let (tls, sasl) = (read_tls(section, &TLS), read_sasl(section));
    let session_timeout = section.period(&SESSION_TIMEOUT);
    Some(KafkaSource {
        brokers: brokers?,
        topics: topics?,
        group: group?,
        start: start?,
        on_gap: on_gap?,
        tls,
        sasl,
        session_timeout: session_timeout?,
    })
}

pub(in crate::config) fn read_brokers(section: &mut Section<'_>) -> Option<Vec<HostPort>> {
    section.texts_as(&BROKERS, BROKERS_MAX, |text| HostPort::parse(text, None))
}
