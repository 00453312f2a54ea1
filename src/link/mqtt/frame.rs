//! From the stream's bytes to whole packets, whatever their size.
//!
//! A PUBLISH above the limit is neither kept whole nor a reason to end the connection, for the broker would send
//! it again on the next: its head (topic, packet id, the beginning of the payload) is kept, the rest is thrown
//! away as it comes. Any other packet above the limit ends the connection: brokers send none.

use super::MqttError;
use bytes::{Buf, Bytes, BytesMut};

/// Bytes of the read buffer.
pub const READ_BYTES_MAX: usize = 64 << 10;
/// What is kept of a PUBLISH that is too large: its longest topic, its packet id, the payload's beginning.
pub const HEAD_BYTES_MAX: usize = 80 << 10;

const PUBLISH: u8 = 3;

/// One packet as it stood in the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// `head`: how many bytes of it are type, flags and length.
    Whole { bytes: Bytes, head: usize },
    /// The first bytes of a PUBLISH of `size` bytes behind the length.
    Cut { bytes: Bytes, head: usize, size: usize },
}

/// The read buffer.
#[derive(Debug)]
pub(super) struct Frames {
    buffer: BytesMut,
    /// The largest packet (behind its length) that is kept whole.
    packet_max: usize,
    /// Bytes the buffer may hold.
    room: usize,
    skipping: Option<Skipping>,
}

#[derive(Debug)]
struct Skipping {
    kept: BytesMut,
    head: usize,
    size: usize,
    /// Bytes of the packet that have not come.
    left: usize,
}

impl Frames {
    pub fn new(packet_max: usize) -> Self {
        Self { buffer: BytesMut::with_capacity(READ_BYTES_MAX), packet_max, room: READ_BYTES_MAX, skipping: None }
    }

    /// Where to read to; empty where what was read must be taken first.
    pub fn space(&mut self) -> &mut BytesMut {
        let room = self.room.saturating_sub(self.buffer.len());
        // Of a normal buffer its last eighth is good enough: making room moves bytes, or takes a new buffer where
        // packets still share the old one.
        let enough = if self.room > READ_BYTES_MAX { room } else { room.min(READ_BYTES_MAX / 8) };
        if self.buffer.capacity() - self.buffer.len() < enough {
            self.buffer.reserve(room);
        }
        &mut self.buffer
    }

    pub fn has_space(&self) -> bool {
        self.buffer.len() < self.room
    }

    /// Throws away what came.
    pub fn clear(&mut self) {
        self.buffer.clear();
    }

    /// Bytes that must be paid for before the packet at the front can be read: those above the buffer's.
    pub fn wanted(&self) -> Option<usize> {
        if self.skipping.is_some() {
            return None;
        }
        let (head, size) = header(&self.buffer).ok().flatten()?;
        let all = head + size;
        (size <= self.packet_max && all > self.room).then(|| all - READ_BYTES_MAX)
    }

    /// They are paid for, until that packet is taken.
    pub fn allow(&mut self, bytes: usize) {
        self.room = READ_BYTES_MAX + bytes;
    }

    /// The next packet, if it is there.
    pub fn next(&mut self) -> Result<Option<Frame>, MqttError> {
        if self.skipping.is_some() {
            return Ok(self.skip());
        }
        let Some((head, size)) = header(&self.buffer)? else { return Ok(None) };
        let all = head + size;
        if size > self.packet_max {
            let kind = self.buffer.first().map_or(0, |byte| byte >> 4);
            if kind != PUBLISH {
                return Err(MqttError::Protocol(format!("a packet of type {kind} and {size} bytes")));
            }
            self.skipping = Some(Skipping { kept: BytesMut::new(), head, size, left: all });
            return Ok(self.skip());
        }
        if self.buffer.len() < all {
            return Ok(None);
        }
        let bytes = self.buffer.split_to(all).freeze();
        if self.room > READ_BYTES_MAX && self.buffer.len() < READ_BYTES_MAX {
            // The large buffer goes with the packet.
            self.room = READ_BYTES_MAX;
            let mut fresh = BytesMut::with_capacity(READ_BYTES_MAX);
            fresh.extend_from_slice(&self.buffer);
            self.buffer = fresh;
        }
        Ok(Some(Frame::Whole { bytes, head }))
    }

    /// Throws away what came of the packet, but its beginning; the packet, when all of it came.
    fn skip(&mut self) -> Option<Frame> {
        let mut skipping = self.skipping.take()?;
        let come = self.buffer.len().min(skipping.left);
        let keep = come.min(HEAD_BYTES_MAX - skipping.kept.len());
        skipping.kept.extend_from_slice(self.buffer.get(..keep).unwrap_or_default());
        self.buffer.advance(come);
        skipping.left -= come;
        if skipping.left > 0 {
            self.skipping = Some(skipping);
            return None;
        }
        Some(Frame::Cut { bytes: skipping.kept.freeze(), head: skipping.head, size: skipping.size })
    }
}

/// Length of the packet's head and of what follows it; None where the head has not come whole.
fn header(bytes: &[u8]) -> Result<Option<(usize, usize)>, MqttError> {
    let mut size = 0;
    for (at, byte) in bytes.iter().enumerate().skip(1).take(4) {
        size |= usize::from(byte & 0x7f) << (7 * (at - 1));
        if byte & 0x80 == 0 {
            return Ok(Some((at + 1, size)));
        }
    }
    if bytes.len() >= 5 {
        return Err(MqttError::Protocol("a packet's length of more than four bytes".to_owned()));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PACKET_MAX: usize = 1000;

    fn packet(kind: u8, size: usize) -> Vec<u8> {
        let mut bytes = vec![kind << 4];
        let mut length = size;
        while length > 0x7f {
            bytes.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
            length >>= 7;
        }
        bytes.push(u8::try_from(length).unwrap());
        bytes.extend((0..size).map(|n| u8::try_from(n % 251).unwrap()));
        bytes
    }

    proptest! {
        /// However the stream is cut, the same packets come out, the too large ones as their beginning.
        #[test]
        fn packets_come_out_as_they_went_in(
            sizes in prop::collection::vec(prop_oneof![0..300usize, 900..1100usize, 0..200_000usize], 1..8),
            pieces in prop::collection::vec(1..70_000usize, 1..40),
        ) {
            let packets: Vec<_> = sizes.iter().map(|size| packet(PUBLISH, *size)).collect();
            let stream = packets.concat();
            let mut frames = Frames::new(PACKET_MAX);
            let (mut at, mut turn, mut found) = (0, 0, Vec::new());
            while at < stream.len() {
                let room = READ_BYTES_MAX - frames.buffer.len();
                let piece = pieces[turn % pieces.len()].min(stream.len() - at).min(room);
                prop_assert!(frames.has_space());
                frames.space().extend_from_slice(&stream[at..at + piece]);
                at += piece;
                turn += 1;
                while let Some(frame) = frames.next().unwrap() {
                    found.push(frame);
                }
                prop_assert!(frames.wanted().is_none());
            }
            prop_assert_eq!(found.len(), packets.len());
            for ((frame, packet), size) in found.into_iter().zip(&packets).zip(&sizes) {
                match frame {
                    Frame::Whole { bytes, head } => {
                        prop_assert!(*size <= PACKET_MAX);
                        prop_assert_eq!((&bytes[..], head), (&packet[..], packet.len() - size));
                    }
                    Frame::Cut { bytes, size: told, .. } => {
                        prop_assert!(*size > PACKET_MAX);
                        prop_assert_eq!((&bytes[..], told), (&packet[..packet.len().min(HEAD_BYTES_MAX)], *size));
                    }
                }
            }
        }
    }

    #[test]
    fn a_packet_above_the_buffer_waits_until_it_is_paid_for_and_gives_the_room_back() {
        let large = packet(PUBLISH, 200_000);
        let mut frames = Frames::new(1 << 20);
        frames.space().extend_from_slice(&large[..READ_BYTES_MAX]);
        assert!(frames.next().unwrap().is_none() && !frames.has_space());
        assert_eq!(frames.wanted(), Some(large.len() - READ_BYTES_MAX));
        frames.allow(large.len() - READ_BYTES_MAX);
        assert!(frames.wanted().is_none() && frames.has_space());
        frames.space().extend_from_slice(&large[READ_BYTES_MAX..]);
        assert!(matches!(frames.next().unwrap(), Some(Frame::Whole { bytes, .. }) if bytes == large));
        assert_eq!((frames.room, frames.buffer.capacity()), (READ_BYTES_MAX, READ_BYTES_MAX));
    }

    #[test]
    fn other_packets_too_large_and_lengths_without_end_are_refused() {
        let mut frames = Frames::new(PACKET_MAX);
        frames.space().extend_from_slice(&packet(9, PACKET_MAX + 1));
        assert!(matches!(frames.next(), Err(MqttError::Protocol(_))));
        let mut frames = Frames::new(PACKET_MAX);
        frames.space().extend_from_slice(&[0x30, 0xff, 0xff, 0xff, 0xff]);
        assert!(matches!(frames.next(), Err(MqttError::Protocol(_))));
    }
}
