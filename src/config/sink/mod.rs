//! `[sinks.NAME]`: where verdicts go. One file a type.

pub(super) mod file;
pub(super) mod http;
pub(super) mod kafka;
pub(super) mod mqtt;
pub(super) mod postgres;

pub use file::FileSink;
pub use http::{GuardedSink, HttpSink};
pub use kafka::{Compression, KafkaSink};
pub use mqtt::MqttSink;
pub use postgres::{Column, OnConflict, PostgresSink, default_columns};

use super::{Key, Kind, Preset, Size, client::Names, section::Section};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sink {
    pub name: String,
    pub encoding: Encoding,
    /// None: every verdict; else only those with one of these decisions, the others are passed over.
    pub decisions: Option<Vec<String>>,
    pub start: Start,
    pub kind: SinkKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SinkKind {
    File(FileSink),
    Mqtt(MqttSink),
    Kafka(KafkaSink),
    Http(HttpSink),
    Postgres(PostgresSink),
}

impl SinkKind {
    /// Its name in the config.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::File(_) => "file",
            Self::Mqtt(_) => "mqtt",
            Self::Kafka(_) => "kafka",
            Self::Http(_) => "http",
            Self::Postgres(_) => "postgres",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    #[default]
    Json,
    CloudEvents,
}

/// Where a sink that is new in the config begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    #[default]
    Oldest,
    Newest,
}

/// The types of this version.
pub const SINK_TYPES: &[&str] = &["file", "mqtt", "kafka", "postgres", "http"];
pub(super) const SINK_TYPES_LATER: &[&str] = &[];

/// The key that says which type a table is of; `toml` is that type.
pub(super) const fn of_type(toml: &'static str) -> Key {
    Key::new("type", Kind::OneOf(SINK_TYPES), Preset::Required(toml), "Where they go.")
}

pub(super) const ENCODING: Key = Key::new(
    "encoding",
    Kind::OneOf(&["json", "cloudevents"]),
    Preset::Default("\"json\""),
    "The verdict itself, or the verdict in a CloudEvents envelope.",
);
pub(super) const DECISIONS: Key = Key::new(
    "decisions",
    Kind::Texts,
    Preset::Optional("[\"block\"]", "every verdict"),
    "Only verdicts with one of these decisions; others are passed over.",
);
pub(super) const START: Key = Key::new(
    "start",
    Kind::OneOf(&["oldest", "newest"]),
    Preset::Default("\"oldest\""),
    "Where a sink that is new here begins: with the oldest verdict kept, or with the next one made.",
);

/// Bounds of what is handed to a broker and not confirmed yet, in bytes.
pub(super) const IN_FLIGHT_SIZE: Key = Key::new(
    "in-flight-size",
    Kind::Size { min: Size::kib(64), max: Size::mib(256) },
    Preset::Default("\"1 MiB\""),
    "The same in bytes; whichever is reached first. It counts in `limits.memory`.",
);

/// None where something in it is faulty.
pub(super) fn read(section: &mut Section<'_>, kind: &str, names: Names<'_>) -> Option<Sink> {
    let encoding = section.one_of(&ENCODING, &[Encoding::Json, Encoding::CloudEvents]);
    let decisions = section.texts(&DECISIONS);
    let start = section.one_of(&START, &[Start::Oldest, Start::Newest]);
    let kind = match kind {
        "mqtt" => mqtt::read(section, names).map(SinkKind::Mqtt),
        "kafka" => kafka::read(section).map(SinkKind::Kafka),
        "http" => http::read(section).map(SinkKind::Http),
        "postgres" => postgres::read(section).map(SinkKind::Postgres),
        _ => file::read(section).map(SinkKind::File),
    };
    Some(Sink { name: names.name.to_owned(), encoding: encoding?, decisions, start: start?, kind: kind? })
}

/// What `init` calls a sink of a type.
pub(super) fn starter_name(kind: &str) -> &'static str {
    match kind {
        "mqtt" => "plant",
        "kafka" => "bank",
        "http" => "webhook",
        "postgres" => "site",
        _ => "audit",
    }
}
