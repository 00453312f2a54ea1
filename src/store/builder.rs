//! Builds the chunks of one commit.

use super::chunk::{Chunk, RAW_BYTES_MAX, RECORDS_MAX, Texts};
use super::codec::{Reader, put_bytes, put_signed, put_varint, varint_len};
use super::error::StoreError;
use super::record::{self, Indices, NewRecord, Previous, REASON_BYTES_MAX, REASONS_MAX, Record};
use super::shadow::RawShadow;
use std::sync::Arc;

/// Bytes of a chunk's head apart from texts and models, at the most.
const HEAD_BYTES_MAX: usize = 10 + 2 + 10 + 10 + 10 + 3 + 3;

/// Collects records into chunks; sequences are given as records are appended and go on over
/// [`BatchBuilder::seal`]. Buffers are reused.
#[derive(Debug, Default)]
pub struct BatchBuilder {
    next: u64,
    open: Open,
    done: Vec<Arc<Chunk>>,
}

/// The chunk that is being filled.
#[derive(Debug, Default)]
struct Open {
    first: u64,
    base: Previous,
    previous: Previous,
    text: String,
    /// End of each text in `text`.
    ends: Vec<usize>,
    models: Vec<(u32, [u8; 32])>,
    records: Vec<u8>,
    /// Where each record starts and what stood before it.
    starts: Vec<(usize, Previous)>,
    /// Bytes the texts will take in the head.
    text_bytes: usize,
}

/// A length to go back to when a record turns out not to fit.
struct Mark {
    text: usize,
    texts: usize,
    models: usize,
    records: usize,
    text_bytes: usize,
    previous: Previous,
}

impl BatchBuilder {
    /// A builder whose first record gets the sequence `next` (from 1; see [`super::Writer::next_sequence`]).
    #[must_use]
    pub fn new(next: u64) -> Self {
        Self { next: next.max(1), ..Self::default() }
    }

    /// Appends a record and gives its sequence. Reasons over [`REASONS_MAX`] are left out, one over
    /// [`REASON_BYTES_MAX`] is cut.
    ///
    /// # Errors
    /// [`StoreError::TooLong`] where a text of the identity does not fit; nothing is appended then.
    pub fn append(&mut self, record: &NewRecord<'_>) -> Result<u64, StoreError> {
        record.check()?;
        if !self.open.append(record, self.next) {
            self.finish_chunk();
            if !self.open.append(record, self.next) {
                return Err(StoreError::TooLong { what: "record", bytes: RAW_BYTES_MAX, limit: RAW_BYTES_MAX });
            }
        }
        let sequence = self.next;
        self.next += 1;
        Ok(sequence)
    }

    /// A record appended since the last [`BatchBuilder::seal`].
    #[must_use]
    pub fn get(&self, sequence: u64) -> Option<Record<'_>> {
        if let Some(record) = self.open.get(sequence) {
            return Some(record);
        }
        self.done.iter().rev().find_map(|chunk| chunk.get(sequence))
    }

    /// Records appended since the last [`BatchBuilder::seal`].
    #[must_use]
    pub fn len(&self) -> usize {
        let first = self.done.first().map_or(self.open.first, |chunk| chunk.first());
        if self.is_empty() { 0 } else { usize::try_from(self.next - first).unwrap_or(usize::MAX) }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.open.starts.is_empty() && self.done.is_empty()
    }

    /// The sequence that the next record gets.
    #[must_use]
    pub const fn next_sequence(&self) -> u64 {
        self.next
    }

    /// Gives the chunks, ascending, for one [`super::Commit`].
    pub fn seal(&mut self) -> Vec<Arc<Chunk>> {
        self.finish_chunk();
        std::mem::take(&mut self.done)
    }

    fn finish_chunk(&mut self) {
        if let Some(raw) = self.open.finish() {
            match Chunk::decode(raw.into_boxed_slice()) {
                Ok(chunk) => self.done.push(Arc::new(chunk)),
                Err(error) => debug_assert!(false, "a chunk just built does not decode: {error}"),
            }
        }
    }
}

impl Chunk {
    /// A chunk of one record alone; None where it is not in this one.
    #[must_use]
    pub fn excerpt(&self, sequence: u64) -> Option<Arc<Self>> {
        let mut builder = BatchBuilder::new(sequence);
        builder.append(&NewRecord::of(&self.get(sequence)?)).ok()?;
        builder.seal().pop()
    }
}

impl Open {
    /// Whether the record went in; if not, nothing changed.
    fn append(&mut self, record: &NewRecord<'_>, sequence: u64) -> bool {
        if self.starts.is_empty() {
            self.clear();
            self.first = sequence;
            self.base = Previous {
                source: 0,
                model: 0,
                time_us: record.time_us,
                decided_ms: record.decided_ms,
                log_ms: record.log_ms,
            };
            self.previous = self.base;
        } else if self.starts.len() as u64 >= RECORDS_MAX {
            return false;
        }
        let mark = self.mark();
        let mut reasons = [0; REASONS_MAX];
        let count = record.reasons.len().min(REASONS_MAX);
        let source = self.text(record.source);
        for (slot, reason) in reasons.iter_mut().zip(record.reasons) {
            *slot = self.text(&reason[..reason.floor_char_boundary(REASON_BYTES_MAX)]);
        }
        let indices = Indices {
            source,
            model: self.model(record.model, record.model_sha256),
            decision: self.text(record.decision),
            reasons: &reasons[..count],
            shadow: record.shadow.map(|shadow| RawShadow {
                model: self.model(shadow.model, shadow.model_sha256),
                decision: self.text(shadow.decision),
                score: shadow.score,
            }),
        };
        let before = self.previous;
        record::encode(&mut self.records, record, &indices, &mut self.previous);
        let bytes = HEAD_BYTES_MAX + self.text_bytes + 34 * self.models.len() + self.records.len();
        if bytes > RAW_BYTES_MAX {
            self.back_to(&mark);
            return false;
        }
        self.starts.push((mark.records, before));
        true
    }

    /// The index of a text, added where it is new. There are a handful, so the search is linear.
    // A chunk of 6 KB has few enough of them for 32 bits.
    #[allow(clippy::cast_possible_truncation)]
    fn text(&mut self, text: &str) -> u32 {
        let mut start = 0;
        for (index, &end) in self.ends.iter().enumerate() {
            if end - start == text.len() && self.text.as_bytes()[start..end] == *text.as_bytes() {
                return index as u32;
            }
            start = end;
        }
        self.text.push_str(text);
        self.ends.push(self.text.len());
        self.text_bytes += varint_len(text.len() as u64) + text.len();
        (self.ends.len() - 1) as u32
    }

    #[allow(clippy::cast_possible_truncation)] // as above
    fn model(&mut self, label: &str, sha256: &[u8; 32]) -> u32 {
        let label = self.text(label);
        if let Some(index) = self.models.iter().position(|(at, sha)| *at == label && sha == sha256) {
            return index as u32;
        }
        self.models.push((label, *sha256));
        (self.models.len() - 1) as u32
    }

    fn mark(&self) -> Mark {
        Mark {
            text: self.text.len(),
            texts: self.ends.len(),
            models: self.models.len(),
            records: self.records.len(),
            text_bytes: self.text_bytes,
            previous: self.previous,
        }
    }

    fn back_to(&mut self, mark: &Mark) {
        self.text.truncate(mark.text);
        self.ends.truncate(mark.texts);
        self.models.truncate(mark.models);
        self.records.truncate(mark.records);
        self.text_bytes = mark.text_bytes;
        self.previous = mark.previous;
    }

    fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.models.clear();
        self.records.clear();
        self.starts.clear();
        self.text_bytes = 0;
    }

    fn get(&self, sequence: u64) -> Option<Record<'_>> {
        let nth = usize::try_from(sequence.checked_sub(self.first)?).ok()?;
        let &(start, mut previous) = self.starts.get(nth)?;
        let mut reader = Reader::starting_at(&self.records, start);
        record::decode(&mut reader, &mut previous).ok()?.resolve(sequence, &self).ok()
    }

    /// The body; empty again afterwards.
    fn finish(&mut self) -> Option<Vec<u8>> {
        if self.starts.is_empty() {
            return None;
        }
        let mut raw =
            Vec::with_capacity(HEAD_BYTES_MAX + self.text_bytes + 34 * self.models.len() + self.records.len());
        put_varint(&mut raw, self.first);
        put_varint(&mut raw, self.starts.len() as u64);
        put_signed(&mut raw, self.base.decided_ms);
        put_varint(&mut raw, self.base.log_ms);
        put_signed(&mut raw, self.base.time_us);
        put_varint(&mut raw, self.ends.len() as u64);
        let mut start = 0;
        for &end in &self.ends {
            put_bytes(&mut raw, &self.text.as_bytes()[start..end]);
            start = end;
        }
        put_varint(&mut raw, self.models.len() as u64);
        for (label, sha256) in &self.models {
            put_varint(&mut raw, u64::from(*label));
            raw.extend_from_slice(sha256);
        }
        raw.extend_from_slice(&self.records);
        self.clear();
        Some(raw)
    }
}

impl<'a> Texts<'a> for &'a Open {
    fn text(&self, index: u32) -> Option<&'a str> {
        let index = index as usize;
        let start = if index == 0 { 0 } else { *self.ends.get(index - 1)? };
        self.text.get(start..*self.ends.get(index)?)
    }

    fn model(&self, index: u32) -> Option<(&'a str, &'a [u8; 32])> {
        let (label, sha256) = self.models.get(index as usize)?;
        Some((self.text(*label)?, sha256))
    }
}
