//! A chunk: a run of records with consecutive sequences, the value of one log key.
//!
//! # Limits
//!
//! [`RAW_BYTES_MAX`] bytes and [`RECORDS_MAX`] records. The longest record (see [`super::record`]) alone in
//! a chunk takes less than that, so every record fits.
//!
//! # Layout of the body (before compression; the frame around it is [`super::frame`]'s)
//!
//! ```text
//! first      varint  sequence of the first record
//! count      varint  records, at least 1
//! decided    signed  base of the records' decided times, milliseconds since 1970
//! log time   varint  base of the records' log times, milliseconds
//! time       signed  base of the records' event times, microseconds since 1970
//! texts      varint  count, then each: varint length, UTF-8 (sources, decisions, reasons, model labels)
//! models     varint  count, then each: varint index of the label, 32 bytes SHA-256
//! records    count × record, to the end
//! ```
//!
//! Decoding checks all of it once: a decoded chunk has only readable records. Arbitrary bytes give an error,
//! never a panic, and allocate no more than a small multiple of their length.

use super::codec::{Malformed, Reader};
use super::frame::{self, STORED_BYTES_MAX};
use super::record::{self, Previous, RawRecord, Record};

/// Longest body, bytes: with the frame it is [`STORED_BYTES_MAX`].
pub const RAW_BYTES_MAX: usize = STORED_BYTES_MAX - frame::HEADER_BYTES;
/// Most records in a chunk: bounds what finding one in it costs.
pub const RECORDS_MAX: u64 = 512;

/// Resolves the indices in records.
pub trait Texts<'a> {
    fn text(&self, index: u32) -> Option<&'a str>;
    fn model(&self, index: u32) -> Option<(&'a str, &'a [u8; 32])>;
}

/// A decoded chunk. Records borrow from it.
#[derive(Debug)]
pub struct Chunk {
    raw: Box<[u8]>,
    first: u64,
    count: u64,
    /// Start and end of each text in `raw`.
    texts: Box<[(u16, u16)]>,
    /// Label's text index and position of the SHA-256 in `raw`.
    models: Box<[(u16, u16)]>,
    records_at: u16,
    base: Previous,
}

impl Chunk {
    /// Takes a body apart and checks every record.
    ///
    /// # Errors
    /// When `raw` is not a body as laid out above.
    pub fn decode(raw: Box<[u8]>) -> Result<Self, Malformed> {
        Self::decode_with(raw, |_, _, _| {})
    }

    /// [`Chunk::decode`], handing each record out on the way: sequence, source and the raw record.
    pub(crate) fn decode_with(
        raw: Box<[u8]>,
        mut each: impl FnMut(u64, &str, &RawRecord<'_>),
    ) -> Result<Self, Malformed> {
        if raw.len() > RAW_BYTES_MAX {
            return Err(Malformed("a chunk of at most 6 KB"));
        }
        let mut reader = Reader::new(&raw);
        let first = reader.varint()?;
        let count = reader.varint()?;
        if count == 0 || count > RECORDS_MAX || first == 0 || first.checked_add(count).is_none() {
            return Err(Malformed("1 to 512 records, numbered from 1"));
        }
        let decided_ms = reader.signed()?;
        let log_ms = reader.varint()?;
        let time_us = reader.signed()?;
        let base = Previous { source: 0, model: 0, time_us, decided_ms, log_ms };
        let small = |at: usize| u16::try_from(at).map_err(|_| Malformed("a position within the chunk"));
        let mut texts = Vec::new();
        for _ in 0..reader.varint()? {
            let text = reader.text()?;
            let end = reader.position();
            texts.push((small(end - text.len())?, small(end)?));
        }
        let mut models = Vec::new();
        for _ in 0..reader.varint()? {
            let label = u16::try_from(reader.varint()?).map_err(|_| Malformed("the index of a text"))?;
            if usize::from(label) >= texts.len() {
                return Err(Malformed("the index of a text"));
            }
            models.push((label, small(reader.position())?));
            reader.take(32)?;
        }
        let records_at = small(reader.position())?;
        let mut previous = base;
        for sequence in first..first + count {
            let record = record::decode(&mut reader, &mut previous)?;
            let &(start, end) = texts.get(record.source as usize).ok_or(Malformed("the index of a text"))?;
            let source = raw.get(usize::from(start)..usize::from(end)).unwrap_or_default();
            each(sequence, std::str::from_utf8(source).unwrap_or_default(), &record);
            check_texts(record, texts.len(), models.len())?;
        }
        if !reader.rest().is_empty() {
            return Err(Malformed("the end of the chunk after its last record"));
        }
        let (texts, models) = (texts.into_boxed_slice(), models.into_boxed_slice());
        Ok(Self { raw, first, count, texts, models, records_at, base })
    }

    /// Sequence of the first record.
    #[must_use]
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// The sequence after the last record's.
    #[must_use]
    pub const fn next(&self) -> u64 {
        self.first + self.count
    }

    /// Number of records.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Log time of the first record, milliseconds; no record of this chunk has less.
    #[must_use]
    pub const fn log_ms(&self) -> u64 {
        self.base.log_ms
    }

    /// Memory it takes, bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.raw.len() + 4 * (self.texts.len() + self.models.len()) + size_of::<Self>() + 48
    }

    /// The body, as stored before compression.
    #[must_use]
    pub(crate) fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// Its records, ascending.
    pub fn records(&self) -> impl Iterator<Item = Record<'_>> {
        self.raw_records().map_while(move |(sequence, record)| record.resolve(sequence, &self).ok())
    }

    pub(crate) fn raw_records(&self) -> impl Iterator<Item = (u64, RawRecord<'_>)> {
        let mut reader = Reader::starting_at(&self.raw, usize::from(self.records_at));
        let mut previous = self.base;
        (self.first..self.next())
            .map_while(move |sequence| record::decode(&mut reader, &mut previous).ok().map(|record| (sequence, record)))
    }

    /// The record with this sequence, if it stands in this chunk.
    #[must_use]
    pub fn get(&self, sequence: u64) -> Option<Record<'_>> {
        let nth = usize::try_from(sequence.checked_sub(self.first)?).ok()?;
        if sequence >= self.next() {
            return None;
        }
        let (sequence, record) = self.raw_records().nth(nth)?;
        record.resolve(sequence, &self).ok()
    }
}

fn check_texts(record: RawRecord<'_>, texts: usize, models: usize) -> Result<(), Malformed> {
    struct Counts(usize, usize);
    impl<'a> Texts<'a> for Counts {
        fn text(&self, index: u32) -> Option<&'a str> {
            ((index as usize) < self.0).then_some("")
        }
        fn model(&self, index: u32) -> Option<(&'a str, &'a [u8; 32])> {
            ((index as usize) < self.1).then_some(("", &[0; 32]))
        }
    }
    record.resolve(1, &Counts(texts, models)).map(drop)
}

impl<'a> Texts<'a> for &'a Chunk {
    fn text(&self, index: u32) -> Option<&'a str> {
        let &(start, end) = self.texts.get(index as usize)?;
        // Checked to be UTF-8 when it was decoded.
        std::str::from_utf8(self.raw.get(usize::from(start)..usize::from(end))?).ok()
    }

    fn model(&self, index: u32) -> Option<(&'a str, &'a [u8; 32])> {
        let &(label, at) = self.models.get(index as usize)?;
        let at = usize::from(at);
        Some((self.text(u32::from(label))?, self.raw.get(at..at + 32)?.try_into().ok()?))
    }
}
