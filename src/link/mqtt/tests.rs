//! What goes out is read by the library's decoders, and what no broker should send breaks nothing.

use super::frame::Frames;
use super::packet::{self, Decoded};
use super::*;
use bytes::BytesMut;
use proptest::prelude::*;
use rumqttc::mqttbytes::v4;
use rumqttc::v5::mqttbytes::v5;

fn outgoing<'a>(topic: &'a str, payload: &'a [u8], properties: &'a [(&'static str, &'a str)]) -> Outgoing<'a> {
    Outgoing { topic, retain: false, content_type: Some("application/json"), user_properties: properties, payload }
}

proptest! {
    #[test]
    fn a_message_of_any_size_is_read_back_whole_and_its_size_is_known_before(
        topic in "[a-z/]{1,300}",
        size in prop_oneof![0..300usize, 16_000..17_000usize, 2_097_000..2_097_300usize],
        id in 1..u16::MAX,
        value in ".{0,200}",
        retain: bool,
    ) {
        let payload = vec![7; size];
        let properties = [("specversion", "1.0"), ("subject", value.as_str())];
        let message = Outgoing { retain, ..outgoing(&topic, &payload, &properties) };
        let mut bytes = BytesMut::new();
        prop_assert!(write_publish(Protocol::V5, id, &message, &mut bytes));
        prop_assert_eq!(packet_bytes(Protocol::V5, &message), bytes.len());
        let v5::Packet::Publish(read) = v5::Packet::read(&mut bytes, None).unwrap() else { panic!("no PUBLISH") };
        let told = read.properties.unwrap();
        prop_assert_eq!((&read.topic[..], read.pkid, read.retain, read.dup), (topic.as_bytes(), id, retain, false));
        prop_assert_eq!(&read.payload[..], &payload[..]);
        prop_assert_eq!(told.content_type.as_deref(), Some("application/json"));
        prop_assert_eq!(&told.user_properties[1], &("subject".to_owned(), value.clone()));

        let mut bytes = BytesMut::new();
        prop_assert!(write_publish(Protocol::V311, id, &message, &mut bytes));
        prop_assert_eq!(packet_bytes(Protocol::V311, &message), bytes.len());
        let v4::Packet::Publish(read) = v4::Packet::read(&mut bytes, usize::MAX).unwrap() else { panic!("no PUBLISH") };
        prop_assert_eq!((read.topic, read.pkid, read.payload.len()), (topic, id, size));
    }

    /// A broker that sends nonsense ends its connection and nothing else.
    #[test]
    fn nonsense_is_an_error_and_no_panic(kind in 0..16u8, flags in 0..16u8, body in prop::collection::vec(any::<u8>(), 0..120)) {
        for protocol in [Protocol::V5, Protocol::V311] {
            for packet_max in [10, 1000] {
                let mut frames = Frames::new(packet_max);
                frames.space().extend_from_slice(&[kind << 4 | flags, u8::try_from(body.len()).unwrap()]);
                frames.space().extend_from_slice(&body);
                if let Ok(Some(frame)) = frames.next() {
                    let _ = packet::decode(protocol, frame);
                }
            }
        }
    }

    /// A message too large keeps what must be known of it: its topic, its packet id, how long it was.
    #[test]
    fn a_cut_message_keeps_topic_id_and_length(size in 200..200_000usize, id in 1..u16::MAX, v5: bool) {
        let protocol = if v5 { Protocol::V5 } else { Protocol::V311 };
        let payload = vec![7; size];
        let mut bytes = BytesMut::new();
        let properties = [("id", "a")];
        prop_assert!(write_publish(protocol, id, &outgoing("a/b", &payload, &properties), &mut bytes));
        let mut frames = Frames::new(100);
        let mut found = None;
        for piece in bytes.chunks(10_000) {
            frames.space().extend_from_slice(piece);
            found = frames.next().unwrap().or(found);
        }
        let Decoded::Inbound(Inbound::Message(message)) = packet::decode(protocol, found.unwrap()).unwrap() else {
            panic!("no message")
        };
        prop_assert_eq!((message.topic.as_str(), message.packet_id, message.cut_from), ("a/b", Some(id), Some(size)));
        prop_assert!(message.payload.len() <= HEAD_BYTES_MAX && payload.starts_with(&message.payload));
        prop_assert!(size > HEAD_BYTES_MAX - 100 || message.payload.len() == size);
    }
}

fn decode(bytes: &[u8], protocol: Protocol) -> Result<Decoded, MqttError> {
    let mut frames = Frames::new(1000);
    frames.space().extend_from_slice(bytes);
    packet::decode(protocol, frames.next().unwrap().unwrap())
}

/// rumqttc 0.25 knows no 0x95 in a PUBACK, which Mosquitto sends where a message is larger than its limit: read by
/// its decoder, the connection would end, and the same message be sent again, for ever.
#[test]
fn a_refusal_is_read_whatever_its_code_and_with_the_brokers_words() {
    let bytes = [0x40, 3, 0, 9, 0x95];
    let Ok(Decoded::Inbound(Inbound::Confirmed { packet_id, reason })) = decode(&bytes, Protocol::V5) else {
        panic!("no PUBACK")
    };
    assert_eq!((packet_id, reason.code, reason.text), (9, 0x95, None));
    let words = [0x40, 13, 0, 9, 0x97, 9, 0x26, 0, 0, 0, 0, 0x1f, 0, 1, b'!'];
    let Ok(Decoded::Inbound(Inbound::Confirmed { reason, .. })) = decode(&words, Protocol::V5) else {
        panic!("no PUBACK")
    };
    assert_eq!(reason.to_string(), "quota exceeded (0x97): !");
    let plain = [0x40, 2, 1, 2];
    let Ok(Decoded::Inbound(Inbound::Confirmed { packet_id, reason })) = decode(&plain, Protocol::V311) else {
        panic!("no PUBACK")
    };
    assert_eq!((packet_id, reason.code), (0x102, 0));
}

#[test]
fn a_refused_connection_says_why_in_both_versions() {
    for (bytes, protocol) in [(&[0x20, 3, 0, 0x86, 0][..], Protocol::V5), (&[0x20, 2, 0, 4][..], Protocol::V311)] {
        let Err(error) = decode(bytes, protocol) else { panic!("no refusal") };
        assert!(error.to_string().contains("bad user name or password"), "{error}");
        assert_eq!(error.trouble(), crate::link::Trouble::Configuration);
    }
}
