//! Frames: Consistent Overhead Byte Stuffing of a payload and its CRC-32 (IEEE, little-endian), without the zero byte
//! that ends each.
//!
//! A stuffed text is a chain of blocks. A block is a code from 1 to 255, then code - 1 bytes that are not zero; between
//! two blocks stands a zero, except after a block with the code 255.

const CRC_BYTES: usize = 4;
/// Places at which a frame behind noise is looked for.
const STARTS_MAX: usize = 64;

/// Bytes of a frame with `payload` bytes, at most, without its end.
#[must_use]
pub const fn frame_bytes(payload: usize) -> usize {
    let plain = payload + CRC_BYTES;
    plain + plain / 254 + 1
}

/// Appends a payload as a frame, its end among it.
pub fn encode_frame(payload: &[u8], out: &mut Vec<u8>) {
    let crc = crc32fast::hash(payload).to_le_bytes();
    let mut code_at = out.len();
    let mut code = 1;
    out.push(0);
    for byte in payload.iter().chain(&crc) {
        if *byte != 0 {
            out.push(*byte);
            code += 1;
        }
        if *byte == 0 || code == u8::MAX {
            close(out, code_at, code);
            (code_at, code) = (out.len(), 1);
            out.push(0);
        }
    }
    close(out, code_at, code);
    out.push(0);
}

fn close(out: &mut [u8], at: usize, code: u8) {
    if let Some(place) = out.get_mut(at) {
        *place = code;
    }
}

/// The payload of what stood before a zero byte, and how many bytes before it were noise. None where no frame ends
/// there.
#[must_use]
pub fn decode_frame(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    if let Some(payload) = whole(bytes) {
        return Some((payload, 0));
    }
    // Noise came before the frame, without a zero between. A frame can only begin where a chain of blocks ends with
    // the bytes; its checksum tells.
    let mut ends_well = vec![false; bytes.len() + 1];
    *ends_well.last_mut()? = true;
    for (at, code) in bytes.iter().enumerate().rev() {
        let next = at + usize::from(*code);
        let well = *code != 0 && ends_well.get(next).copied().unwrap_or_default();
        if let Some(place) = ends_well.get_mut(at) {
            *place = well;
        }
    }
    let starts = ends_well.iter().enumerate().take(bytes.len()).skip(1).filter(|(_, well)| **well);
    starts.take(STARTS_MAX).find_map(|(start, _)| Some((whole(bytes.get(start..)?)?, start)))
}

fn whole(frame: &[u8]) -> Option<Vec<u8>> {
    let mut plain = unstuff(frame)?;
    let length = plain.len().checked_sub(CRC_BYTES)?;
    let crc: [u8; CRC_BYTES] = plain.get(length..)?.try_into().ok()?;
    plain.truncate(length);
    (crc32fast::hash(&plain) == u32::from_le_bytes(crc)).then_some(plain)
}

fn unstuff(frame: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(frame.len());
    let mut rest = frame;
    while let Some((code, after)) = rest.split_first() {
        let length = usize::from(*code).checked_sub(1)?;
        let block = after.get(..length).filter(|block| !block.contains(&0))?;
        plain.extend_from_slice(block);
        rest = after.get(length..)?;
        if *code != u8::MAX && !rest.is_empty() {
            plain.push(0);
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        encode_frame(payload, &mut out);
        assert_eq!(out.pop(), Some(0));
        out
    }

    #[test]
    fn frames_are_those_of_the_protocol() {
        // The protocol's example.
        assert_eq!(crc32fast::hash(b"123456789"), 0xcbf4_3926);
        assert_eq!(encoded(b"123456789"), b"\x0e123456789\x26\x39\xf4\xcb");
        assert_eq!(unstuff(&[1, 2, 5, 1]), Some(vec![0, 5, 0]));
        assert_eq!(unstuff(&[3, 5]), None);
        assert_eq!(unstuff(&[2, 0]), None);
        assert_eq!(decode_frame(b""), None);
    }

    #[test]
    fn blocks_of_the_greatest_length_join_without_a_zero() {
        for length in [249, 250, 251, 253, 254, 255, 508, 1016] {
            let payload = vec![b'x'; length];
            let frame = encoded(&payload);
            assert!(frame.len() <= frame_bytes(length) && !frame.contains(&0));
            assert_eq!(decode_frame(&frame), Some((payload, 0)));
        }
    }

    proptest! {
        #[test]
        fn any_payload_comes_back(payload in prop::collection::vec(prop_oneof![Just(0u8), any::<u8>()], 0..700)) {
            let frame = encoded(&payload);
            prop_assert!(!frame.contains(&0) && frame.len() <= frame_bytes(payload.len()));
            prop_assert_eq!(decode_frame(&frame), Some((payload, 0)));
        }

        #[test]
        fn a_frame_behind_noise_is_found(noise in prop::collection::vec(1u8.., 1..100), payload in "\\{[a-z:]{0,300}\\}") {
            let mut bytes = noise.clone();
            bytes.extend(encoded(payload.as_bytes()));
            prop_assert_eq!(decode_frame(&bytes), Some((payload.into_bytes(), noise.len())));
        }

        #[test]
        fn a_flipped_bit_is_noticed(payload in "[a-z]{1,300}", at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let mut frame = encoded(payload.as_bytes());
            let at = at.index(frame.len());
            frame[at] ^= 1 << bit;
            prop_assert_eq!(decode_frame(&frame), None);
        }

        #[test]
        fn any_bytes_are_a_frame_or_none(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Some((payload, noise)) = decode_frame(&bytes) {
                prop_assert_eq!(encoded(&payload), &bytes[noise..]);
            }
        }
    }
}
