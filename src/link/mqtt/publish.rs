//! A PUBLISH of QoS 1 on its way out: written straight into the connection's buffer.

use super::Protocol;
use bytes::{BufMut, BytesMut};

/// A topic is a string with 16 bits of length.
pub const TOPIC_BYTES_MAX: usize = u16::MAX as usize;
/// The longest packet that MQTT can say the length of.
const REMAINING_BYTES_MAX: usize = 268_435_455;

const CONTENT_TYPE: u8 = 0x03;
const USER_PROPERTY: u8 = 0x26;

/// A message to publish. Properties go out with MQTT 5 alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outgoing<'a> {
    /// At most [`TOPIC_BYTES_MAX`], without wildcards and NUL.
    pub topic: &'a str,
    pub retain: bool,
    pub content_type: Option<&'a str>,
    /// Names and values, each of at most 65,535 bytes: a longer value is left out.
    pub user_properties: &'a [(&'static str, &'a str)],
    pub payload: &'a [u8],
}

impl Outgoing<'_> {
    fn properties(&self) -> impl Iterator<Item = &(&'static str, &str)> {
        self.user_properties.iter().filter(|(_, value)| u16::try_from(value.len()).is_ok())
    }

    fn properties_bytes(&self) -> usize {
        let content_type = self.content_type.map_or(0, |text| 3 + text.len());
        content_type + self.properties().map(|(name, value)| 5 + name.len() + value.len()).sum::<usize>()
    }

    /// Bytes behind the length.
    fn remaining(&self, protocol: Protocol) -> usize {
        let properties = match protocol {
            Protocol::V5 => {
                let bytes = self.properties_bytes();
                length_bytes(bytes) + bytes
            }
            Protocol::V311 => 0,
        };
        2 + self.topic.len() + 2 + properties + self.payload.len()
    }
}

/// The size of its packet, as a broker's limit counts it.
#[must_use]
pub fn packet_bytes(protocol: Protocol, message: &Outgoing<'_>) -> usize {
    let remaining = message.remaining(protocol);
    1 + length_bytes(remaining) + remaining
}

/// Appends the packet, as one that is sent for the first time.
///
/// Returns whether it could: a packet of more than 256 MiB or with a topic over its limit cannot be written.
#[must_use]
pub fn write_publish(protocol: Protocol, packet_id: u16, message: &Outgoing<'_>, out: &mut BytesMut) -> bool {
    let remaining = message.remaining(protocol);
    if message.topic.len() > TOPIC_BYTES_MAX || remaining > REMAINING_BYTES_MAX {
        return false;
    }
    out.reserve(5 + remaining);
    // PUBLISH, QoS 1.
    out.put_u8(0x32 | u8::from(message.retain));
    put_length(remaining, out);
    put_text(message.topic, out);
    out.put_u16(packet_id);
    if protocol == Protocol::V5 {
        put_length(message.properties_bytes(), out);
        if let Some(text) = message.content_type {
            out.put_u8(CONTENT_TYPE);
            put_text(text, out);
        }
        for (name, value) in message.properties() {
            out.put_u8(USER_PROPERTY);
            put_text(name, out);
            put_text(value, out);
        }
    }
    out.put_slice(message.payload);
    true
}

/// How many bytes a variable byte integer takes.
fn length_bytes(length: usize) -> usize {
    match length {
        0..=0x7f => 1,
        0x80..=0x3fff => 2,
        0x4000..=0x1f_ffff => 3,
        _ => 4,
    }
}

// Seven bits at a time.
#[allow(clippy::cast_possible_truncation)]
fn put_length(mut length: usize, out: &mut BytesMut) {
    while length > 0x7f {
        out.put_u8(length as u8 | 0x80);
        length >>= 7;
    }
    out.put_u8(length as u8);
}

fn put_text(text: &str, out: &mut BytesMut) {
    // Checked by the callers; a longer one would otherwise spoil the packet.
    let length = u16::try_from(text.len()).unwrap_or_default();
    out.put_u16(length);
    out.put_slice(text.as_bytes().get(..usize::from(length)).unwrap_or_default());
}
