//! An MQTT connection, for the source and the sink: 5 and 3.1.1, over TCP or TLS.
//!
//! The packets are `rumqttc`'s, the connection is our own, because the event loop of that library writes to the
//! socket after each packet, cannot stop reading without missing its pings, takes no part of a packet above its
//! limit, and does not know every reason code a broker sends.
//!
//! ```text
//! stream (names, TCP, TLS) ─> frame (bytes to packets, the too large ones cut short) ─> packet (both versions)
//!                                     └── connection (handshake, keep-alive, duplex turns)
//! ```
//!
//! Rules:
//! - Nothing is repeated here. After any error the connection is dropped and a new one made; what that means for
//!   records in flight is its user's business.
//! - Every wait has a limit: [`ClientOptions::connect_timeout`] until the broker has accepted,
//!   [`ClientOptions::keep_alive`] afterwards.
//! - Bytes read and not taken are at most [`READ_BYTES_MAX`], or one packet where its user has paid for more.
//! - Every error says what kind of trouble it is ([`MqttError::trouble`]).

mod address;
mod connection;
mod error;
mod frame;
mod options;
mod packet;
mod publish;
mod reason;
mod stream;

#[cfg(test)]
mod tests;

pub use address::Address;
pub use connection::{Connection, Granted, Turn};
pub use error::MqttError;
pub use frame::{HEAD_BYTES_MAX, READ_BYTES_MAX};
pub use options::{CLIENT_ID_BYTES_MAX, ClientOptions, Protocol, Session};
pub use packet::{Inbound, Message, read_stream};
pub use publish::{Outgoing, TOPIC_BYTES_MAX, packet_bytes, write_publish};
pub use reason::{Reason, is_refusal, named_reason, publish_trouble};
