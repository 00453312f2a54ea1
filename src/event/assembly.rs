//! A batch of records that come one by one: messages of a topic, lines of a serial port, rows of a table.

use super::decode::{Beside, Decoder};
use super::elements::offset;
use super::{BadKind, EventBatch, Form, Span};
use std::sync::Arc;

/// Records gathered for one submission, each decoded as it comes.
#[derive(Debug)]
pub struct Assembly {
    decoder: Arc<Decoder>,
    batch: EventBatch,
    body: Vec<u8>,
    arrival_us: i64,
}

impl Assembly {
    pub(super) fn new(decoder: Arc<Decoder>, arrival_us: i64) -> Self {
        Self { batch: decoder.batch(0), decoder, body: Vec::new(), arrival_us }
    }

    /// Adds a record: one item, or, of a batch array, one an element. [`Form::Ndjson`] is no form of a record
    /// and adds none.
    pub fn push(&mut self, form: &Form, record: &[u8], beside: Beside<'_>) {
        let raw = self.keep(record);
        if !matches!(form, Form::Ndjson) {
            self.decoder.read(&mut self.batch, &self.body, self.arrival_us, |reader| reader.form(form, raw, beside));
        }
    }

    /// Adds a record that is none, as its framing shows.
    pub fn push_bad(&mut self, kind: BadKind, reason: String, record: &[u8], id: Option<&str>) {
        let raw = self.keep(record);
        let beside = Beside { id, ..Beside::default() };
        self.decoder.read(&mut self.batch, &self.body, self.arrival_us, |reader| {
            reader.bad_whole(raw, kind, reason, beside);
        });
    }

    fn keep(&mut self, record: &[u8]) -> Span {
        let start = offset(self.body.len());
        self.body.extend_from_slice(record);
        Span { start, end: offset(self.body.len()) }
    }

    /// Items so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.batch.items.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.batch.items.is_empty()
    }

    /// Bytes of records so far.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.body.len()
    }

    /// The batch, its records in the order in which they came.
    #[must_use]
    pub fn finish(self) -> EventBatch {
        EventBatch { body: self.body.into(), ..self.batch }
    }
}
