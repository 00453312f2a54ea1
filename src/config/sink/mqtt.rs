//! Sink `mqtt`: a verdict a message at QoS 1, confirmed by the broker's `PUBACK`.

use super::{DECISIONS, ENCODING, IN_FLIGHT_SIZE, START, of_type};
use crate::config::{
    Key, Kind, Preset, Size, TopicTemplate,
    client::{
        BROKER, KEEP_ALIVE, MQTT_TLS, MqttClient, Names, PASSWORD_FILE, PROTOCOL, SINK_CLIENT_ID, USERNAME, read_mqtt,
    },
    section::Section,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MqttSink {
    pub client: MqttClient,
    pub topic: TopicTemplate,
    /// Messages handed to the broker and not confirmed.
    pub in_flight: u16,
    /// The same in bytes.
    pub in_flight_size: Size,
    pub retain: bool,
}

const TYPE: Key = of_type("\"mqtt\"");
const TOPIC: Key = Key::new(
    "topic",
    Kind::Form("a topic as in \"verdicts/{decision}/{key}\", without + and #"),
    Preset::Required("\"verdicts/{decision}\""),
    "Where verdicts are published; {decision}, {key} and {source} stand for those of the verdict.",
);
const IN_FLIGHT: Key = Key::new(
    "in-flight",
    Kind::Integer { min: 1, max: 65_535 },
    Preset::Default("100"),
    "Verdicts that may be sent ahead of their confirmation. After a cut at most so many come again.",
);
const RETAIN: Key = Key::new(
    "retain",
    Kind::Bool,
    Preset::Default("false"),
    "Whether the broker keeps the last verdict of each topic for those who subscribe later.",
);
pub(in crate::config) const KEYS: &[Key] = &[
    TYPE,
    BROKER,
    TOPIC,
    SINK_CLIENT_ID,
    PROTOCOL,
    USERNAME,
    PASSWORD_FILE,
    MQTT_TLS,
    KEEP_ALIVE,
    IN_FLIGHT,
    IN_FLIGHT_SIZE,
    RETAIN,
    ENCODING,
    DECISIONS,
    START,
];

pub(super) fn read(section: &mut Section<'_>, names: Names<'_>) -> Option<MqttSink> {
    section.one_of(&TYPE, super::SINK_TYPES);
    let client = read_mqtt(section, &SINK_CLIENT_ID, names);
    let topic = section.text_as(&TOPIC, TopicTemplate::parse);
    let in_flight = u16::try_from(section.integer(&IN_FLIGHT)).unwrap_or_default();
    let (in_flight_size, retain) = (section.size(&IN_FLIGHT_SIZE), section.bool(&RETAIN));
    Some(MqttSink { client: client?, topic: topic?, in_flight, in_flight_size, retain })
}
