//! The other packets, of both versions as one.

use super::frame::{Frame, Frames, READ_BYTES_MAX};
use super::reason::of_311;
use super::{ClientOptions, MqttError, Protocol, Reason, Session};
use bytes::{Buf, Bytes, BytesMut};
use rumqttc::mqttbytes::{QoS as QoS311, v4};
use rumqttc::v5::mqttbytes::{QoS, v5};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A message that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub topic: String,
    pub payload: Bytes,
    /// To be acknowledged; none at QoS 0.
    pub packet_id: Option<u16>,
    /// It was stored at the broker before we subscribed.
    pub retained: bool,
    /// The broker sent it before.
    pub again: bool,
    pub content_type: Option<String>,
    pub user_properties: Vec<(String, String)>,
    /// The payload's whole length, where it was too large and `payload` is its beginning.
    pub cut_from: Option<usize>,
}

/// What a broker can send that concerns a client's user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inbound {
    Message(Message),
    /// An answer to a PUBLISH.
    Confirmed {
        packet_id: u16,
        reason: Reason,
    },
    /// Answers to SUBSCRIBE and UNSUBSCRIBE: a code for each topic.
    Subscribed {
        packet_id: u16,
        codes: Vec<u8>,
    },
    Unsubscribed {
        packet_id: u16,
    },
}

/// A packet taken apart.
#[derive(Debug)]
pub(super) enum Decoded {
    Inbound(Inbound),
    Accepted(Accepted),
    Pong,
    End(Reason),
}

/// A successful CONNACK.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Accepted {
    pub session_present: bool,
    pub receive_max: Option<u16>,
    pub packet_bytes_max: Option<u32>,
    pub keep_alive_s: Option<u16>,
    pub max_qos: Option<u8>,
    pub retain_available: Option<u8>,
}

fn broken(what: &(impl ToString + ?Sized)) -> MqttError {
    MqttError::Protocol(what.to_string())
}

/// Takes a packet apart.
pub(super) fn decode(protocol: Protocol, frame: Frame) -> Result<Decoded, MqttError> {
    match frame {
        Frame::Cut { bytes, head, size } => cut(protocol, &bytes, head, size).map(Decoded::Inbound),
        Frame::Whole { bytes, head } => {
            // The library may not be proof against every broken packet.
            catch_unwind(AssertUnwindSafe(|| whole(protocol, bytes, head))).unwrap_or_else(|_| Err(broken("a packet")))
        }
    }
}

fn whole(protocol: Protocol, bytes: Bytes, head: usize) -> Result<Decoded, MqttError> {
    let first = bytes.first().copied().unwrap_or_default();
    let mut body = bytes.slice(head.min(bytes.len())..);
    Ok(match first >> 4 {
        2 => {
            let (flags, code) = (byte(&mut body)?, byte(&mut body)?);
            let code = if protocol == Protocol::V311 { of_311(code) } else { code };
            if code != 0 {
                let text = (protocol == Protocol::V5).then(|| reason_text(body)).flatten();
                return Err(MqttError::Refused(Reason { code, text }));
            }
            let mut accepted = Accepted { session_present: flags & 1 == 1, ..Accepted::default() };
            if protocol == Protocol::V5 {
                let fixed = v5::FixedHeader::new(first, head - 1, bytes.len() - head);
                let told = v5::ConnAck::read(fixed, bytes).map_err(|error| broken(&error))?;
                if let Some(told) = told.properties {
                    accepted.receive_max = told.receive_max;
                    accepted.packet_bytes_max = told.max_packet_size;
                    accepted.keep_alive_s = told.server_keep_alive;
                    accepted.max_qos = told.max_qos;
                    accepted.retain_available = told.retain_available;
                }
            }
            Decoded::Accepted(accepted)
        }
        3 => Decoded::Inbound(Inbound::Message(message(protocol, first, head, bytes)?)),
        4 => {
            let packet_id = word(&mut body)?;
            let code = body.first().copied().unwrap_or_default();
            body.advance(body.len().min(1));
            let text = if code == 0 { None } else { reason_text(body) };
            Decoded::Inbound(Inbound::Confirmed { packet_id, reason: Reason { code, text } })
        }
        9 => {
            let packet_id = word(&mut body)?;
            if protocol == Protocol::V5 {
                take_properties(&mut body)?;
            }
            Decoded::Inbound(Inbound::Subscribed { packet_id, codes: body.to_vec() })
        }
        11 => Decoded::Inbound(Inbound::Unsubscribed { packet_id: word(&mut body)? }),
        13 => Decoded::Pong,
        14 if protocol == Protocol::V5 => {
            let code = byte(&mut body).unwrap_or_default();
            Decoded::End(Reason { code, text: reason_text(body) })
        }
        kind => return Err(broken(&format!("a packet of type {kind}"))),
    })
}

fn message(protocol: Protocol, first: u8, head: usize, bytes: Bytes) -> Result<Message, MqttError> {
    let length = bytes.len() - head;
    match protocol {
        Protocol::V5 => {
            let fixed = v5::FixedHeader::new(first, head - 1, length);
            let publish = v5::Publish::read(fixed, bytes).map_err(|error| broken(&error))?;
            if publish.qos == QoS::ExactlyOnce {
                return Err(broken("a message of QoS 2, where 1 was asked for"));
            }
            let properties = publish.properties.unwrap_or_default();
            Ok(Message {
                topic: String::from_utf8(publish.topic.to_vec()).map_err(|_| broken("a topic that is not UTF-8"))?,
                payload: publish.payload,
                packet_id: Some(publish.pkid).filter(|id| *id != 0),
                retained: publish.retain,
                again: publish.dup,
                content_type: properties.content_type,
                user_properties: properties.user_properties,
                cut_from: None,
            })
        }
        Protocol::V311 => {
            let fixed = rumqttc::mqttbytes::FixedHeader::new(first, head - 1, length);
            let publish = v4::Publish::read(fixed, bytes).map_err(|error| broken(&error))?;
            if publish.qos == QoS311::ExactlyOnce {
                return Err(broken("a message of QoS 2, where 1 was asked for"));
            }
            Ok(Message {
                topic: publish.topic,
                payload: publish.payload,
                packet_id: Some(publish.pkid).filter(|id| *id != 0),
                retained: publish.retain,
                again: publish.dup,
                content_type: None,
                user_properties: Vec::new(),
                cut_from: None,
            })
        }
    }
}

/// The beginning of a PUBLISH whose rest was thrown away.
fn cut(protocol: Protocol, bytes: &Bytes, head: usize, size: usize) -> Result<Inbound, MqttError> {
    let first = bytes.first().copied().unwrap_or_default();
    let mut body = bytes.slice(head.min(bytes.len())..);
    let topic_bytes = usize::from(word(&mut body)?);
    if body.len() < topic_bytes {
        return Err(broken("a topic longer than its packet"));
    }
    let topic = body.split_to(topic_bytes);
    let mut before = 2 + topic_bytes;
    let packet_id = if first & 0b110 == 0 { None } else { Some(word(&mut body)?) };
    before += 2 * usize::from(packet_id.is_some());
    if protocol == Protocol::V5 {
        let behind = body.len();
        // Properties that are not whole leave nothing of the payload.
        if take_properties(&mut body).is_err() {
            body.clear();
        }
        before += behind - body.len();
    }
    Ok(Inbound::Message(Message {
        topic: String::from_utf8_lossy(&topic).into_owned(),
        payload: body,
        packet_id,
        retained: first & 1 == 1,
        again: first & 0b1000 != 0,
        content_type: None,
        user_properties: Vec::new(),
        cut_from: Some(size.saturating_sub(before)),
    }))
}

fn byte(body: &mut Bytes) -> Result<u8, MqttError> {
    if body.is_empty() { Err(broken("a packet that is too short")) } else { Ok(body.get_u8()) }
}

fn word(body: &mut Bytes) -> Result<u16, MqttError> {
    if body.len() < 2 { Err(broken("a packet that is too short")) } else { Ok(body.get_u16()) }
}

/// Takes the properties (MQTT 5) off the front.
fn take_properties(body: &mut Bytes) -> Result<Bytes, MqttError> {
    let mut length = 0;
    for shift in [0, 7, 14, 21] {
        let byte = byte(body)?;
        length |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            if body.len() < length {
                return Err(broken("properties longer than their packet"));
            }
            return Ok(body.split_to(length));
        }
    }
    Err(broken("a length of more than four bytes"))
}

/// The broker's own words: property 0x1f, which stands with nothing but user properties (0x26) in the packets
/// that say no. Others end the search: they are for information only.
fn reason_text(mut body: Bytes) -> Option<String> {
    let mut properties = take_properties(&mut body).ok()?;
    let text = |properties: &mut Bytes| {
        let length = usize::from(word(properties).ok()?);
        (properties.len() >= length).then(|| properties.split_to(length))
    };
    while !properties.is_empty() {
        match byte(&mut properties).ok()? {
            0x1f => {
                let words = text(&mut properties)?;
                // For a log and a status line.
                return Some(String::from_utf8_lossy(&words).chars().filter(|c| !c.is_control()).take(256).collect());
            }
            0x26 => {
                text(&mut properties)?;
                text(&mut properties)?;
            }
            _ => return None,
        }
    }
    None
}

/// Appends CONNECT.
pub(super) fn write_connect(
    options: &ClientOptions,
    session: Session,
    password: Option<String>,
    out: &mut BytesMut,
) -> Result<(), MqttError> {
    let unfit = |_| MqttError::Unfit("the client id, the user name or the password cannot be sent");
    let clean = session == Session::Clean;
    match options.protocol {
        Protocol::V5 => {
            let mut properties = v5::ConnectProperties::new();
            if let Session::Kept { expiry, receive_max } = session {
                properties.session_expiry_interval = Some(u32::try_from(expiry.as_secs()).unwrap_or(u32::MAX));
                properties.receive_maximum = Some(receive_max.max(1));
            }
            let connect = v5::Connect {
                keep_alive: options.keep_alive_s(),
                client_id: options.client_id.clone(),
                clean_start: clean,
                properties: Some(properties),
            };
            let login = options
                .username
                .as_ref()
                .map(|username| v5::Login { username: username.clone(), password: password.unwrap_or_default() });
            v5::Packet::Connect(connect, None, login).write(out, None).map_err(|error| unfit(error.to_string()))?;
        }
        Protocol::V311 => {
            let mut connect = v4::Connect::new(&options.client_id);
            connect.keep_alive = options.keep_alive_s();
            connect.clean_session = clean;
            if let Some(username) = &options.username {
                connect.set_login(username, password.unwrap_or_default());
            }
            connect.write(out).map_err(|error| unfit(error.to_string()))?;
        }
    }
    Ok(())
}

/// Appends SUBSCRIBE, each filter at QoS 1. With MQTT 5 what is retained comes for new subscriptions alone.
pub(super) fn write_subscribe(protocol: Protocol, packet_id: u16, filters: &[String], out: &mut BytesMut) {
    // Filters are checked before; a packet of them is far from its limit.
    let _ = match protocol {
        Protocol::V5 => {
            let filters = filters.iter().map(|path| v5::Filter {
                path: path.clone(),
                qos: QoS::AtLeastOnce,
                retain_forward_rule: v5::RetainForwardRule::OnNewSubscribe,
                ..v5::Filter::default()
            });
            v5::Subscribe { pkid: packet_id, filters: filters.collect(), properties: None }.write(out).is_ok()
        }
        Protocol::V311 => {
            let filters = filters.iter().map(|path| v4::SubscribeFilter::new(path.clone(), QoS311::AtLeastOnce));
            v4::Subscribe { pkid: packet_id, filters: filters.collect() }.write(out).is_ok()
        }
    };
}

/// Appends UNSUBSCRIBE.
pub(super) fn write_unsubscribe(protocol: Protocol, packet_id: u16, filters: &[String], out: &mut BytesMut) {
    let _ = match protocol {
        Protocol::V5 => {
            v5::Unsubscribe { pkid: packet_id, filters: filters.to_vec(), properties: None }.write(out).is_ok()
        }
        Protocol::V311 => v4::Unsubscribe { pkid: packet_id, topics: filters.to_vec() }.write(out).is_ok(),
    };
}

/// PUBACK with success is the same in both versions.
pub(super) fn write_confirm(packet_id: u16, out: &mut BytesMut) {
    let [high, low] = packet_id.to_be_bytes();
    out.extend_from_slice(&[0x40, 2, high, low]);
}

pub(super) const PING: [u8; 2] = [0xc0, 0];
/// DISCONNECT, normal: the same in both versions.
pub(super) const BYE: [u8; 2] = [0xe0, 0];

/// What a stream of bytes from a broker holds, up to its end or what breaks it off: for fuzzing, which has no
/// connection. `packet_max`: as with [`Connection::connect`](super::Connection::connect).
///
/// # Errors
/// As a connection that such bytes came over.
pub fn read_stream(protocol: Protocol, packet_max: usize, bytes: &[u8]) -> Result<Vec<Inbound>, MqttError> {
    let mut frames = Frames::new(packet_max);
    let mut found = Vec::new();
    for piece in bytes.chunks(READ_BYTES_MAX / 2) {
        if let Some(wanted) = frames.wanted() {
            frames.allow(wanted);
        }
        frames.space().extend_from_slice(piece);
        while let Some(frame) = frames.next()? {
            if let Decoded::Inbound(inbound) = decode(protocol, frame)? {
                found.push(inbound);
            }
        }
    }
    Ok(found)
}
