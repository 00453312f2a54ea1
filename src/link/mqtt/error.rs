//! Why there is no connection, or no longer one.

use super::reason::{Reason, trouble};
use crate::link::{SecretError, Trouble};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub enum MqttError {
    #[error("the name {host} cannot be resolved: {source}")]
    Resolve { host: String, source: io::Error },
    #[error("cannot connect to {address}: {source}")]
    Connect { address: String, source: io::Error },
    #[error("no answer from {address} within {limit:?}: {what}")]
    Timeout { address: String, limit: Duration, what: &'static str },
    /// The certificates or the versions do not fit, on either side.
    #[error("TLS with {address}: {reason}")]
    Tls { address: String, reason: String },
    #[error("{what} {path}: {reason}", path = path.display())]
    TlsFile { what: &'static str, path: PathBuf, reason: String },
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error("the broker refuses the connection: {0}")]
    Refused(Reason),
    /// The broker takes it, but not as it is needed.
    #[error("the broker does not fit: {0}")]
    Unfit(&'static str),
    #[error("the connection broke: {0}")]
    Io(io::Error),
    #[error("the broker closed the connection")]
    Closed,
    #[error("the broker ended the connection: {0}")]
    Disconnected(Reason),
    #[error("nothing came from the broker for {0:?}")]
    Silent(Duration),
    #[error("the broker sent what MQTT does not allow: {0}")]
    Protocol(String),
}

impl MqttError {
    /// What is to be done about it.
    #[must_use]
    pub fn trouble(&self) -> Trouble {
        match self {
            Self::Tls { .. } | Self::TlsFile { .. } | Self::Secret(_) | Self::Unfit(_) => Trouble::Configuration,
            Self::Refused(reason) | Self::Disconnected(reason) => trouble(reason.code),
            Self::Resolve { .. }
            | Self::Connect { .. }
            | Self::Timeout { .. }
            | Self::Io(_)
            | Self::Closed
            | Self::Silent(_)
            | Self::Protocol(_) => Trouble::Transient,
        }
    }
}
