//! `[sources.NAME]`: where events come in. One file a type.

pub(super) mod file;
pub(super) mod http;
pub(super) mod kafka;
pub(super) mod mqtt;
pub(super) mod serial;
pub(super) mod socket;
pub(super) mod spool;

pub use file::{FileSource, FileStart};
pub use kafka::{KafkaSource, KafkaStart, OnGap};
pub use mqtt::MqttSource;
pub use serial::{FlowControl, Framing, Parity, Reply, SerialSource};
pub use spool::{After, SpoolSource};

use super::{Endpoint, EventMapping, Key, Kind, Preset, client::Names, mapping, section::Section};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub name: String,
    pub content: Content,
    pub event: EventMapping,
    pub kind: SourceKind,
}

/// What its records are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    #[default]
    Events,
    /// What became known of events later.
    Labels,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceKind {
    Http(Endpoint),
    Socket(Endpoint),
    Mqtt(MqttSource),
    Kafka(KafkaSource),
    Serial(SerialSource),
    File(FileSource),
    Spool(SpoolSource),
}

impl SourceKind {
    /// Its name in the config.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Http(_) => "http",
            Self::Socket(_) => "socket",
            Self::Mqtt(_) => "mqtt",
            Self::Kafka(_) => "kafka",
            Self::Serial(_) => "serial",
            Self::File(_) => "file",
            Self::Spool(_) => "spool",
        }
    }

    /// Where it listens, if it does.
    #[must_use]
    pub fn endpoint(&self) -> Option<&Endpoint> {
        match self {
            Self::Http(endpoint) | Self::Socket(endpoint) => Some(endpoint),
            _ => None,
        }
    }
}

/// The types of this version.
pub const SOURCE_TYPES: &[&str] = &["http", "socket", "mqtt", "kafka", "serial", "file", "spool"];
/// Types that a later version may have: named so that the error can say it is no slip of the pen.
pub(super) const SOURCE_TYPES_LATER: &[&str] = &[];

/// The key that says which type a table is of; `toml` is that type.
pub(super) const fn of_type(toml: &'static str) -> Key {
    Key::new("type", Kind::OneOf(SOURCE_TYPES), Preset::Required(toml), "What it speaks.")
}

pub(super) const CONTENT: Key = Key::new(
    "kind",
    Kind::OneOf(&["events", "labels"]),
    Preset::Default("\"events\""),
    "Events to score, or labels: what became known of them later. A label's `type` may then be left out.",
);

/// None where something in it is faulty.
pub(super) fn read(section: &mut Section<'_>, kind: &str, names: Names<'_>) -> Option<Source> {
    let content = section.one_of(&CONTENT, &[Content::Events, Content::Labels]);
    let event = mapping::read(section);
    let kind = match kind {
        "socket" => socket::read(section).map(SourceKind::Socket),
        "mqtt" => mqtt::read(section, names).map(SourceKind::Mqtt),
        "kafka" => kafka::read(section).map(SourceKind::Kafka),
        "serial" => serial::read(section).map(SourceKind::Serial),
        "file" => file::read(section).map(SourceKind::File),
        "spool" => spool::read(section).map(SourceKind::Spool),
        _ => http::read(section).map(SourceKind::Http),
    };
    Some(Source { name: names.name.to_owned(), content: content?, event: event?, kind: kind? })
}

/// What `init` calls a source of a type.
pub(super) fn starter_name(kind: &str) -> &'static str {
    match kind {
        "socket" => "lines",
        "mqtt" => "plant",
        "kafka" => "site",
        "serial" => "terminal",
        "file" => "journal",
        "spool" => "uploads",
        _ => "events",
    }
}
