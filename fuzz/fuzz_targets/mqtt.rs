//! What a broker may send: packets, or an error; never a packet more than the bytes hold.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verdictd::link::mqtt::{Inbound, Protocol, read_stream};

fuzz_target!(|data: &[u8]| {
    let Some(([protocol], bytes)) = data.split_first_chunk::<1>() else { return };
    let protocol = if protocol % 2 == 0 { Protocol::V5 } else { Protocol::V311 };
    for packet_max in [64, 4096] {
        let Ok(packets) = read_stream(protocol, packet_max, bytes) else { continue };
        let mut payloads = 0;
        for packet in &packets {
            if let Inbound::Message(message) = packet {
                payloads += message.payload.len();
                assert!(message.cut_from.is_some() || message.payload.len() <= packet_max);
            }
        }
        assert!(payloads <= bytes.len() && packets.len() * 2 <= bytes.len());
    }
});
