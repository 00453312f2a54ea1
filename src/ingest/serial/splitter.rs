//! Records out of a stream of bytes that may begin anywhere and hold noise.
//!
//! A line that holds bytes which are no text (control characters, no UTF-8) was damaged on its way: what stands behind
//! the last such byte is taken if it begins as an object does, the rest is noise.

use super::Framing;
use super::cobs::{decode_frame, frame_bytes};

/// Bytes kept of a record that is too long.
const EXCERPT_BYTES_MAX: usize = 4 << 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// To be decoded.
    Record(Vec<u8>),
    /// Longer than the limit: its first bytes, and its length as it came.
    TooLong { excerpt: Vec<u8>, length: usize },
}

#[derive(Debug)]
pub struct Splitter {
    framing: Framing,
    /// Bytes of a record, as they come, at most.
    limit: usize,
    held: Vec<u8>,
    /// Bytes of a record over the limit that are not held.
    beyond: usize,
    garbage: u64,
}

impl Splitter {
    /// `limit`: bytes of one event.
    #[must_use]
    pub fn new(framing: Framing, limit: usize) -> Self {
        let limit = match framing {
            Framing::Lines => limit,
            Framing::Frames => frame_bytes(limit),
        };
        Self { framing, limit, held: Vec::new(), beyond: 0, garbage: 0 }
    }

    /// Bytes that it holds at most.
    #[must_use]
    pub fn footprint(&self) -> usize {
        self.limit
    }

    /// Bytes of noise since this was asked last.
    pub fn take_garbage(&mut self) -> u64 {
        std::mem::take(&mut self.garbage)
    }

    /// Takes bytes, and adds what is whole with them to `pieces`.
    pub fn push(&mut self, bytes: &[u8], pieces: &mut Vec<Piece>) {
        let end = if self.framing == Framing::Lines { b'\n' } else { 0 };
        let mut parts = bytes.split(|byte| *byte == end).peekable();
        while let Some(part) = parts.next() {
            let room = self.limit.saturating_sub(self.held.len()).min(part.len());
            self.held.extend_from_slice(part.get(..room).unwrap_or_default());
            self.beyond += part.len() - room;
            // Behind the last end stands a part that has none yet.
            if parts.peek().is_some() {
                self.close(pieces);
            }
        }
    }

    fn close(&mut self, pieces: &mut Vec<Piece>) {
        let mut held = std::mem::take(&mut self.held);
        let beyond = std::mem::take(&mut self.beyond);
        if beyond > 0 {
            let length = held.len() + beyond;
            held.truncate(EXCERPT_BYTES_MAX);
            pieces.push(Piece::TooLong { excerpt: held, length });
            return;
        }
        let (record, noise) = match self.framing {
            Framing::Lines => line(&held),
            // Two zeros in a row are a fresh start, no noise.
            Framing::Frames => match decode_frame(&held) {
                Some((payload, noise)) => (Some(payload), noise),
                None => (None, held.len()),
            },
        };
        self.garbage += noise as u64;
        pieces.extend(record.map(Piece::Record));
        held.clear();
        self.held = held;
    }
}

/// The record of a line, if it has one, and its bytes of noise.
fn line(line: &[u8]) -> (Option<Vec<u8>>, usize) {
    let trimmed = line.trim_ascii();
    let mut at = 0;
    let mut noise = 0;
    for chunk in trimmed.utf8_chunks() {
        let text = chunk.valid();
        if let Some((control, letter)) = text.char_indices().rev().find(|(_, c)| c.is_control() && *c != '\t') {
            noise = at + control + letter.len_utf8();
        }
        at += text.len() + chunk.invalid().len();
        if !chunk.invalid().is_empty() {
            noise = at;
        }
    }
    let rest = trimmed.get(noise..).unwrap_or_default().trim_ascii();
    match noise {
        _ if trimmed.is_empty() => (None, 0),
        0 => (Some(rest.to_vec()), 0),
        _ if rest.starts_with(b"{") => (Some(rest.to_vec()), noise),
        _ => (None, line.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::encode_frame;
    use super::*;
    use proptest::prelude::*;

    fn split(framing: Framing, limit: usize, bytes: &[u8]) -> (Vec<Piece>, u64) {
        let mut splitter = Splitter::new(framing, limit);
        let mut pieces = Vec::new();
        splitter.push(bytes, &mut pieces);
        (pieces, splitter.take_garbage())
    }

    fn record(text: &str) -> Piece {
        Piece::Record(text.as_bytes().to_vec())
    }

    #[test]
    fn noise_in_lines_is_passed_over_to_what_begins_an_object() {
        let bytes = b"\x00\xff\x10{\"a\":1}\r\n\r\n \xc3\xa4 is text\nhalf\xff of it\n{\"a\xff\":1}\n{\"b\":\t2}\n{";
        let (pieces, garbage) = split(Framing::Lines, 100, bytes);
        assert_eq!(pieces, [record("{\"a\":1}"), record("ä is text"), record("{\"b\":\t2}")]);
        assert_eq!(garbage, 3 + 11 + 8);
    }

    #[test]
    fn what_is_too_long_is_passed_over_and_the_rest_flows_on() {
        let (pieces, _) = split(Framing::Lines, 10, b"0123456789\n01234567890\n{}\n");
        let too_long = Piece::TooLong { excerpt: b"0123456789".to_vec(), length: 11 };
        assert_eq!(pieces, [record("0123456789"), too_long, record("{}")]);
        let mut bytes = Vec::new();
        for text in ["0123456789", "0123456789012345678", "{}"] {
            encode_frame(text.as_bytes(), &mut bytes);
        }
        let (pieces, garbage) = split(Framing::Frames, 10, &bytes);
        assert!(matches!(&pieces[..], [Piece::Record(_), Piece::TooLong { length: 24, .. }, Piece::Record(_)]));
        assert_eq!(garbage, 0);
    }

    #[test]
    fn noise_between_frames_costs_no_frame() {
        let mut bytes = b"noise\0\0more noise".to_vec();
        encode_frame(b"{\"a\":1}", &mut bytes);
        bytes.extend(b"\x03ab\0");
        encode_frame(b"{\"b\":1}", &mut bytes);
        let (pieces, garbage) = split(Framing::Frames, 100, &bytes);
        assert_eq!(pieces, [record("{\"a\":1}"), record("{\"b\":1}")]);
        assert_eq!(garbage, 5 + 10 + 3);
    }

    proptest! {
        #[test]
        fn records_are_the_same_however_they_come(
            texts in prop::collection::vec("\\{[a-z]{0,20}\\}", 0..10),
            frames in any::<bool>(),
            steps in prop::collection::vec(1usize..30, 1..5),
        ) {
            let framing = if frames { Framing::Frames } else { Framing::Lines };
            let mut bytes = Vec::new();
            for text in &texts {
                if frames {
                    encode_frame(text.as_bytes(), &mut bytes);
                } else {
                    bytes.extend(format!("{text}\r\n").bytes());
                }
            }
            let mut splitter = Splitter::new(framing, 30);
            let (mut pieces, mut rest, mut steps) = (Vec::new(), &bytes[..], steps.iter().cycle());
            while !rest.is_empty() {
                let (part, after) = rest.split_at((*steps.next().unwrap()).min(rest.len()));
                splitter.push(part, &mut pieces);
                rest = after;
            }
            prop_assert_eq!(pieces, texts.iter().map(|text| record(text)).collect::<Vec<_>>());
            prop_assert_eq!(splitter.take_garbage(), 0);
        }

        #[test]
        fn any_bytes_are_pieces_or_noise(bytes in prop::collection::vec(any::<u8>(), 0..500), frames in any::<bool>()) {
            let framing = if frames { Framing::Frames } else { Framing::Lines };
            let (pieces, garbage) = split(framing, 50, &bytes);
            let held: usize = pieces.iter().map(|piece| match piece {
                Piece::Record(record) => record.len(),
                Piece::TooLong { length, .. } => *length,
            }).sum();
            prop_assert!(held + usize::try_from(garbage).unwrap() <= bytes.len());
        }
    }
}
