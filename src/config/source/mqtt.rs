//! Source `mqtt`: messages of a broker, confirmed to it after the commit.

use super::{CONTENT, of_type};
use crate::config::{
    Key, Kind, Period, Preset, TopicFilter,
    client::{
        BROKER, KEEP_ALIVE, MQTT_TLS, MqttClient, Names, PASSWORD_FILE, PROTOCOL, SOURCE_CLIENT_ID, USERNAME, read_mqtt,
    },
    mapping::EVENT,
    section::Section,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MqttSource {
    pub client: MqttClient,
    /// One or more, each once.
    pub topics: Vec<TopicFilter>,
    /// How long the broker is asked to keep the session; MQTT 5 only.
    pub session_expiry: Period,
    /// Messages that the broker may send before the first of them is confirmed; MQTT 5 tells it so.
    pub in_flight: u16,
}

/// Most filters of one source.
pub const TOPICS_MAX: usize = 256;

const TYPE: Key = of_type("\"mqtt\"");
const TOPICS: Key = Key::new(
    "topics",
    Kind::Form("a list of 1 to 256 topics, + for one level and # for the rest, as in [\"plant/+/events\"]"),
    Preset::Required("[\"plant/+/events\"]"),
    "What is subscribed to, at QoS 1; + stands for one level, # for all that follow.",
);
const SESSION_EXPIRY: Key = Key::new(
    "session-expiry",
    Kind::Period { min: Period::seconds(1), max: Period::seconds(0xffff_ffff) },
    Preset::Default("\"7 d\""),
    "How long the broker keeps what comes while verdictd is away (MQTT 5; in 3.1.1 the broker decides).",
);
const IN_FLIGHT: Key = Key::new(
    "in-flight",
    Kind::Integer { min: 1, max: 65_535 },
    Preset::Default("1000"),
    "Messages that the broker may send ahead of their confirmation (MQTT 5; in 3.1.1 the broker decides).",
);
pub(in crate::config) const KEYS: &[Key] = &[
    TYPE,
    BROKER,
    TOPICS,
    SOURCE_CLIENT_ID,
    PROTOCOL,
    USERNAME,
    PASSWORD_FILE,
    MQTT_TLS,
    KEEP_ALIVE,
    SESSION_EXPIRY,
    IN_FLIGHT,
    CONTENT,
    // Without an id each arrival is an event of its own.
    EVENT.starting_with("{ id = \"/id\", key = \"/key\", time = \"/time\" }"),
];

pub(super) fn read(section: &mut Section<'_>, names: Names<'_>) -> Option<MqttSource> {
    section.one_of(&TYPE, super::SOURCE_TYPES);
    let client = read_mqtt(section, &SOURCE_CLIENT_ID, names);
    let topics = section.texts_as(&TOPICS, TOPICS_MAX, TopicFilter::parse);
    let session_expiry = section.period(&SESSION_EXPIRY);
    let in_flight = u16::try_from(section.integer(&IN_FLIGHT)).unwrap_or_default();
    Some(MqttSource { client: client?, topics: topics?, session_expiry: session_expiry?, in_flight })
}
