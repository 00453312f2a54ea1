//! Labels: what became known later of an event. They are kept for as long as the dedup window is, for the
//! window features to be folded from.
//!
//! # Layout
//!
//! Chunks of labels under the key family `w`, numbered in the order of their commits:
//!
//! ```text
//! chunk   first number varint, count varint, then each
//! label   source bytes, id bytes, key flag u8 and bytes, time signed (us since 1970), value f64,
//!         log time varint (ms)
//! ```
//!
//! Of two labels of one event the later counts.

use super::codec::{Malformed, Reader, put_bytes, put_signed, put_varint};
use super::frame::{self, BODY_BYTES_MAX, Kind};
use super::keys;
use super::writer::ENTRY_OVERHEAD;
use std::collections::VecDeque;

/// Room for a chunk's head.
const HEAD_BYTES: usize = 20;

/// What became known of an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// Who the event is.
    pub source: String,
    pub id: String,
    /// The event's key, where the label carries it.
    pub key: Option<String>,
    /// When it became known, microseconds since 1970.
    pub time_us: i64,
    pub value: f64,
    /// Log time of its commit, milliseconds.
    pub log_ms: u64,
}

fn put(out: &mut Vec<u8>, label: &Label) {
    put_bytes(out, label.source.as_bytes());
    put_bytes(out, label.id.as_bytes());
    out.push(u8::from(label.key.is_some()));
    put_bytes(out, label.key.as_deref().unwrap_or_default().as_bytes());
    put_signed(out, label.time_us);
    out.extend_from_slice(&label.value.to_le_bytes());
    put_varint(out, label.log_ms);
}

/// The first number and the labels of a chunk.
pub fn decode(body: &[u8]) -> Result<(u64, Vec<Label>), Malformed> {
    let mut reader = Reader::new(body);
    let first = reader.varint()?;
    let count = reader.varint()?;
    let mut labels = Vec::new();
    for _ in 0..count {
        let source = reader.text()?.to_owned();
        let id = reader.text()?.to_owned();
        let has_key = reader.byte()? != 0;
        let key = reader.text()?.to_owned();
        let time_us = reader.signed()?;
        let value = f64::from_le_bytes(*reader.array()?);
        let log_ms = reader.varint()?;
        labels.push(Label { source, id, key: has_key.then_some(key), time_us, value, log_ms });
    }
    Ok((first, labels))
}

/// One chunk as the writer knows it.
#[derive(Clone, Copy, Debug)]
struct Known {
    first: u64,
    count: u64,
    log_ms: u64,
    bytes: u64,
}

/// The label chunks there are, oldest first.
#[derive(Debug, Default)]
pub struct LabelLog {
    chunks: VecDeque<Known>,
    next: u64,
    count: u64,
    bytes: u64,
}

impl LabelLog {
    /// Takes note of a stored chunk; they come in the order of their keys. False where it is damaged.
    pub fn note(&mut self, value: &[u8]) -> bool {
        let Some((first, labels)) = frame::unwrap(Kind::Label, value).ok().and_then(|framed| decode(&framed.body).ok())
        else {
            return false;
        };
        let (count, log_ms) = (labels.len() as u64, labels.last().map_or(0, |label| label.log_ms));
        self.push(Known { first, count, log_ms, bytes: value.len() as u64 + ENTRY_OVERHEAD });
        true
    }

    /// Keys and values of new labels.
    pub fn append(&mut self, labels: &[Label], commit: u64) -> Vec<([u8; 9], Vec<u8>)> {
        let mut out = Vec::new();
        let mut bodies: Vec<(u64, Vec<u8>, u64)> = Vec::new();
        let mut one = Vec::new();
        for label in labels {
            one.clear();
            put(&mut one, label);
            match bodies.last_mut() {
                Some((count, body, log_ms)) if HEAD_BYTES + body.len() + one.len() <= BODY_BYTES_MAX => {
                    *count += 1;
                    body.extend_from_slice(&one);
                    *log_ms = label.log_ms;
                }
                _ => bodies.push((1, one.clone(), label.log_ms)),
            }
        }
        for (count, rest, log_ms) in bodies {
            let mut body = Vec::with_capacity(HEAD_BYTES + rest.len());
            put_varint(&mut body, self.next);
            put_varint(&mut body, count);
            body.extend_from_slice(&rest);
            let value = frame::wrap(Kind::Label, commit, &body);
            let bytes = value.len() as u64 + ENTRY_OVERHEAD;
            out.push((keys::label(self.next), value));
            self.push(Known { first: self.next, count, log_ms, bytes });
        }
        out
    }

    fn push(&mut self, chunk: Known) {
        self.count += chunk.count;
        self.bytes += chunk.bytes;
        self.next = self.next.max(chunk.first.saturating_add(chunk.count));
        self.chunks.push_back(chunk);
    }

    /// Lets the oldest chunk go, if all of it is older than `floor_ms`: its key and bytes.
    pub fn trim(&mut self, floor_ms: u64) -> Option<([u8; 9], u64)> {
        let oldest = self.chunks.front().filter(|chunk| chunk.log_ms < floor_ms)?;
        let gone = (keys::label(oldest.first), oldest.bytes);
        self.count -= oldest.count;
        self.bytes -= oldest.bytes;
        self.chunks.pop_front();
        Some(gone)
    }

    /// Labels kept.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Bytes of their values.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn label(n: u64, text: usize) -> Label {
        Label {
            source: "pos".to_owned(),
            id: format!("{n}{}", "x".repeat(text)),
            key: n.is_multiple_of(2).then(|| "k".repeat(text)),
            time_us: -5,
            value: 0.5,
            log_ms: n,
        }
    }

    proptest! {
        #[test]
        fn labels_come_back_as_they_were_whatever_their_number(texts in prop::collection::vec(0..512usize, 0..60)) {
            let labels: Vec<_> = texts.iter().zip(0..).map(|(text, n)| label(n, *text)).collect();
            let mut log = LabelLog::default();
            let values = log.append(&labels, 1);
            let mut found = Vec::new();
            let mut again = LabelLog::default();
            for (key, value) in &values {
                prop_assert!(value.len() <= frame::STORED_BYTES_MAX);
                prop_assert!(again.note(value));
                let (first, some) = decode(&frame::unwrap(Kind::Label, value).unwrap().body).unwrap();
                prop_assert_eq!(*key, keys::label(first));
                found.extend(some);
            }
            prop_assert_eq!(&found, &labels);
            prop_assert_eq!((again.next, again.bytes(), again.count()), (log.next, log.bytes(), labels.len() as u64));
        }

        #[test]
        fn any_bytes_are_labels_or_an_error(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&body);
        }
    }

    #[test]
    fn only_what_is_old_as_a_whole_goes() {
        let mut log = LabelLog::default();
        log.append(&[label(10, 1), label(20, 1)], 1);
        log.append(&[label(30, 1)], 2);
        assert!(log.trim(20).is_none());
        assert_eq!(log.trim(21).map(|(key, _)| key), Some(keys::label(0)));
        assert!(log.trim(21).is_none());
        assert_eq!(log.count(), 1);
    }
}
