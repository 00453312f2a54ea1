//! What source and sink share of a Kafka client: where the brokers are, who one is, which errors mean what,
//! and where the client library's own log goes.
//!
//! Limits: the client tells nobody but its brokers what it does (`enable.metrics.push` is off), and buffers
//! only what the source or the sink sets.

mod faults;
mod logs;
#[cfg(test)]
mod tests;
mod thread;

pub use faults::{trouble, trouble_of_global};
pub use logs::LogValve;
pub use thread::on_own_thread;

use super::{ClientTls, SecretError, read_secret};
use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;
use std::path::PathBuf;
use std::time::Duration;

/// Longest wait between two tries to reach a broker, milliseconds; the client adds a jitter. It does not go back to
/// the shortest before a connection has held for a while, so that a link that comes and goes always waits this long.
const RECONNECT_MS_MAX: u32 = 1_000;
/// How long a broker may owe an answer, where nothing else is configured.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// A connection that is not set up after this, TLS and SASL included, is given up and tried anew, milliseconds.
const CONNECTION_SETUP_MS: u32 = 10_000;
/// Longest topic name, as Kafka has it.
pub const TOPIC_BYTES_MAX: usize = 249;

/// Where the brokers are and who one is to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// `host:port` each; one that answers is enough to find the others.
    pub brokers: Vec<String>,
    /// What the brokers' logs and quotas know this client by.
    pub client_id: String,
    /// None: no encryption.
    pub tls: Option<ClientTls>,
    /// None: no log-in.
    pub sasl: Option<Sasl>,
    /// A broker that owes an answer for so long is given up, and another connection made: what a link that died in
    /// silence costs. It must be long enough for what is in flight to pass a slow link.
    pub timeout: Duration,
}

impl Default for Connection {
    fn default() -> Self {
        let (brokers, client_id) = (Vec::new(), String::new());
        Self { brokers, client_id, tls: None, sasl: None, timeout: ANSWER_TIMEOUT }
    }
}

/// A log-in by name and password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sasl {
    pub mechanism: Mechanism,
    pub username: String,
    /// The password is read anew whenever a client is made.
    pub password_file: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// The password itself goes over the link: only with TLS.
    Plain,
    ScramSha256,
    ScramSha512,
}

impl Mechanism {
    /// As Kafka names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
        }
    }
}

/// Why no client can be made. Each needs a person.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("sasl.password-file: {0}")]
    Password(#[from] SecretError),
    #[error("{key}: cannot read {}: {source}", path.display())]
    File { key: &'static str, path: PathBuf, source: std::io::Error },
    #[error("topic {0:?}: expected 1 to {TOPIC_BYTES_MAX} letters, digits, `.`, `_` and `-`")]
    Topic(String),
    #[error("the Kafka client refuses its settings: {0}")]
    Client(#[from] rdkafka::error::KafkaError),
}

impl Connection {
    /// The settings that both kinds of client have in common.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn settings(&self) -> Result<ClientConfig, SetupError> {
        let mut settings = ClientConfig::new();
        settings
            .set("bootstrap.servers", self.brokers.join(","))
            .set("client.id", &self.client_id)
            .set("enable.metrics.push", "false")
            .set("socket.keepalive.enable", "true")
            .set("socket.connection.setup.timeout.ms", CONNECTION_SETUP_MS.to_string())
            .set("socket.timeout.ms", self.timeout.as_millis().clamp(1000, 300_000).to_string())
            .set("reconnect.backoff.max.ms", RECONNECT_MS_MAX.to_string())
            .set("log.connection.close", "false")
            .set_log_level(RDKafkaLogLevel::Info);
        let protocol = match (&self.tls, &self.sasl) {
            (None, None) => "PLAINTEXT",
            (Some(_), None) => "SSL",
            (None, Some(_)) => "SASL_PLAINTEXT",
            (Some(_), Some(_)) => "SASL_SSL",
        };
        settings.set("security.protocol", protocol);
        if let Some(tls) = &self.tls {
            let files = [
                ("tls.ca-file", "ssl.ca.location", &tls.ca_file),
                ("tls.cert-file", "ssl.certificate.location", &tls.cert_file),
                ("tls.key-file", "ssl.key.location", &tls.key_file),
            ];
            for (key, property, path) in files {
                let Some(path) = path else { continue };
                // The client library names neither key nor path.
                std::fs::File::open(path).map_err(|source| SetupError::File { key, path: path.clone(), source })?;
                settings.set(property, path.to_string_lossy());
            }
            if tls.ca_file.is_none() {
                settings.set("ssl.ca.location", "probe");
            }
        }
        if let Some(sasl) = &self.sasl {
            settings
                .set("sasl.mechanism", sasl.mechanism.name())
                .set("sasl.username", &sasl.username)
                .set("sasl.password", read_secret(&sasl.password_file)?);
        }
        Ok(settings)
    }
}

/// Whether Kafka takes this for a topic's name; the client library must never see another.
///
/// # Errors
/// Says what was expected.
pub fn check_topic(topic: &str) -> Result<(), SetupError> {
    let legal = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if topic.is_empty() || topic.len() > TOPIC_BYTES_MAX || [".", ".."].contains(&topic) || !topic.chars().all(legal) {
        return Err(SetupError::Topic(topic.to_owned()));
    }
    Ok(())
}
