//! The config: one TOML file, `conf.d/*.toml` beside it laid over it in name order, every fault at once.
//!
//! One file a table. A [`Key`] defines name, kind, default and doc line once; the parser, `init` and the
//! reference are made from it. Reading is pure ([`parse`]); [`load()`] adds the files, and [`files`] looks at
//! what the config names.
//!
//! Limits: [`FILE_BYTES_MAX`] a file, [`CONF_D_FILES_MAX`] files in conf.d.
//! Rules: a path to read from starts at the folder of the file that names it; a path to write to is absolute.
//! Secrets stand in files of their own, never in the config, because `check` shows it.

mod admin;
mod broker;
mod client;
mod cross;
mod database;
mod dedup;
mod disk;
mod endpoint;
mod expand;
pub mod files;
mod format;
mod key;
mod limits;
mod load;
mod log;
mod mapping;
mod memory;
mod model;
mod node;
mod origin;
mod period;
mod place;
mod problem;
mod quarantine;
mod rate;
mod reference;
mod replay;
mod root;
mod schema;
mod section;
mod sink;
mod size;
mod source;
mod starter;
mod suggest;
mod time;
mod topic;
mod web_url;
mod windows;

#[cfg(test)]
mod tests;

pub use crate::link::postgres::TableName;
pub use broker::{BrokerError, HOST_BYTES_MAX, HostPort, MqttUrl};
pub use client::{CLIENT_ID_BYTES_311, MqttClient, MqttProtocol};
pub use dedup::{Dedup, WhenFull};
pub use disk::{DiskPlan, DoesNotFitDisk};
pub use endpoint::{Endpoint, Tls};
pub use format::{COLUMNS_MAX, Format};
pub use key::{Key, Kind, Preset, TableDoc};
pub use limits::Limits;
pub use load::{CONF_D_FILES_MAX, Look, Text, load, load_with, parse};
pub use log::{Log, LogFormat, LogLevel};
pub use mapping::{EventMapping, KEY_POINTERS_MAX, KeyMapping, SourceMapping};
pub use memory::{
    DoesNotFitMemory, KAFKA_SOURCE_BYTES, MQTT_CLIENT_BYTES, MemoryPlan, ModelCost, http_sink_bytes, kafka_sink_bytes,
    mqtt_sink_bytes, postgres_sink_bytes,
};
pub use model::Model;
pub use node::{Env, FILE_BYTES_MAX};
pub use origin::{Origin, Setting};
pub use period::{Period, PeriodError};
pub use place::KeyPlaces;
pub use problem::{Problem, Problems};
pub use quarantine::Quarantine;
pub use rate::{Rate, RateError};
pub use reference::reference;
pub use replay::Replay;
pub use schema::{NAME_BYTES_MAX, TABLES};
pub use sink::{
    Column, Compression, Encoding, FileSink, GuardedSink, HttpSink, KafkaSink, MqttSink, OnConflict, PostgresSink,
    SINK_TYPES, Sink, SinkKind, Start, default_columns,
};
pub use size::{Size, SizeError};
pub use source::{
    After, Content, FileSource, FileStart, FlowControl, Framing, KafkaSource, KafkaStart, MqttSource, OnGap, Parity,
    Reply, SOURCE_TYPES, SerialSource, Source, SourceKind, SpoolSource,
};
pub use starter::starter;
pub use time::{PATTERN_BYTES_MAX, TimeMapping};
pub use topic::{MQTT_TOPIC_BYTES_MAX, PLACEHOLDERS, TopicError, TopicFilter, TopicTemplate};
pub use web_url::{TARGET_BYTES_MAX, WebUrl, WebUrlError};
pub use windows::Windows;

use std::path::PathBuf;

/// Where the config stands unless `--config` says otherwise.
pub const CONFIG_FILE: &str = "/etc/verdictd/verdictd.toml";

/// A whole and faultless config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// This appliance's name; the host's where the config has none.
    pub instance: String,
    pub state_dir: PathBuf,
    pub limits: Limits,
    pub dedup: Dedup,
    pub model: Model,
    pub windows: Windows,
    pub admin: Endpoint,
    /// In the order of their names; at least one.
    pub sources: Vec<Source>,
    /// In the order of their names; may be empty.
    pub sinks: Vec<Sink>,
    pub log: Log,
    pub quarantine: Quarantine,
    pub replay: Replay,
}

/// A config with where each value came from.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub config: Config,
    /// Every key's effective value, in the order of the tables.
    pub settings: Vec<Setting>,
    pub warnings: Vec<Problem>,
    /// The files read, in the order they were laid over each other.
    pub files: Vec<PathBuf>,
}

impl Loaded {
    /// Where the effective value of `key` (its whole path) comes from.
    #[must_use]
    pub fn origin(&self, key: &str) -> Origin {
        self.settings.iter().find(|s| s.key == key).map_or(Origin::Default, |s| s.origin.clone())
    }
}
