//! How a client connects.

use super::Address;
use crate::link::ClientTls;
use std::path::PathBuf;
use std::time::Duration;

/// A client id is at most this; brokers must take 23 letters and digits, and take more as a rule.
pub const CLIENT_ID_BYTES_MAX: usize = 256;

/// The version that is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// MQTT 5.
    #[default]
    V5,
    /// MQTT 3.1.1.
    V311,
}

/// One client of a broker, as configured.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    pub broker: Address,
    pub protocol: Protocol,
    /// Stable and the broker's only one of this name: a second client of the same id ends the first.
    pub client_id: String,
    pub username: Option<String>,
    /// Read at each connecting, so that a changed password needs no restart.
    pub password_file: Option<PathBuf>,
    /// Used with an address that says `mqtts`.
    pub tls: ClientTls,
    /// The longest silence: a ping goes out when three quarters of it are over, and a connection on which nothing
    /// came back when as much again is over is given up. Whole seconds, 1 to 65,535, as the broker is told.
    pub keep_alive: Duration,
    /// From the look-up of the name to the broker's acceptance.
    pub connect_timeout: Duration,
}

impl ClientOptions {
    pub const KEEP_ALIVE: Duration = Duration::from_secs(15);
    pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

    /// With the defaults.
    #[must_use]
    pub fn new(broker: Address, client_id: &str) -> Self {
        Self {
            broker,
            protocol: Protocol::default(),
            client_id: client_id.to_owned(),
            username: None,
            password_file: None,
            tls: ClientTls::default(),
            keep_alive: Self::KEEP_ALIVE,
            connect_timeout: Self::CONNECT_TIMEOUT,
        }
    }

    /// The keep-alive as it is told to the broker.
    pub(super) fn keep_alive_s(&self) -> u16 {
        u16::try_from(self.keep_alive.as_secs()).unwrap_or(u16::MAX).max(1)
    }
}

/// What the broker is to keep between two connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Session {
    /// Nothing.
    Clean,
    /// Subscriptions, and what came for them, for so long (MQTT 5; with 3.1.1 as long as the broker likes).
    /// `receive_max`: messages it may have sent without an acknowledgement (MQTT 5).
    Kept { expiry: Duration, receive_max: u16 },
}
