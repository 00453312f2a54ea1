//! A decoded request: the events of one body, in order, with what could not be decoded among them.
//!
//! Texts are spans into one buffer ([`EventBatch::text`]), so that a batch costs a fixed number of
//! allocations however many events it holds.

use super::Pointer;
use bytes::Bytes;
use std::sync::Arc;

/// A range of bytes in a batch's text or body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    /// The text this span names. Empty where the span lies outside the buffer.
    #[must_use]
    pub fn of(self, buffer: &[u8]) -> &[u8] {
        buffer.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// The same of a text. Empty also where the span cuts a character.
    #[must_use]
    pub fn in_text(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    #[must_use]
    pub fn len(self) -> usize {
        self.end.saturating_sub(self.start) as usize
    }

    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

/// The value that a feature's JSON pointer found in an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Field {
    Missing,
    Null,
    Bool(bool),
    Number(f64),
    /// A string, unescaped, in the batch's text.
    Text(Span),
    /// An object or an array, which no feature can use.
    Composite,
}

/// One event that has an identity and can be scored.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub source: Span,
    pub id: Span,
    pub key: Option<Span>,
    /// Event time in microseconds since 1970-01-01T00:00:00Z.
    pub time_us: i64,
    /// Fingerprint of (source, id), keyed with the store's seed.
    pub identity: u64,
    /// Fingerprint of the payload as a JSON value, keyed with the store's seed.
    pub payload: u64,
    /// Index of its first field in [`EventBatch::fields`]; it has as many as the decoder has pointers.
    pub fields: u32,
    /// Its bytes in the body.
    pub raw: Span,
}

/// Why a record cannot be an event. The names are those of `quarantine list`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadKind {
    Malformed,
    Oversized,
}

/// A record that is refused for what it is.
#[derive(Clone, Debug)]
pub struct BadRecord {
    pub kind: BadKind,
    /// What was expected and where, for the sender and the quarantine.
    pub reason: String,
    /// Source and id where they were found before the fault.
    pub source: Span,
    pub id: Option<Span>,
    pub raw: Span,
}

/// What became known later of an event.
#[derive(Clone, Copy, Debug)]
pub struct Label {
    /// Who the event is.
    pub source: Span,
    pub id: Span,
    /// The event's key, where the label carries it.
    pub key: Option<Span>,
    /// When it became known, microseconds since 1970.
    pub time_us: i64,
    /// When its event was, if it says so: by that an event is found that is beyond the dedup window.
    pub event_us: Option<i64>,
    pub value: f64,
    /// Fingerprint of the event's (source, id), keyed with the store's seed.
    pub identity: u64,
    /// Its bytes in the body.
    pub raw: Span,
}

#[derive(Clone, Debug)]
pub enum Item {
    Event(Event),
    Label(Label),
    Bad(BadRecord),
}

/// The events of one request, in order.
#[derive(Clone, Debug, Default)]
pub struct EventBatch {
    pub body: Bytes,
    pub text: String,
    pub items: Vec<Item>,
    pub fields: Vec<Field>,
    /// What each event's fields are, in order: the pointers of the model that it was decoded for.
    pub columns: Option<Arc<[Pointer]>>,
    /// Records that made the code panic: each a bug, and a bad record.
    pub panics: u32,
    /// Its keys are secrets: nothing of its bytes is to be kept.
    pub private: bool,
    /// The fields that those keys were made of.
    pub secrets: Arc<[Pointer]>,
}

impl EventBatch {
    /// A span's text.
    #[must_use]
    pub fn str(&self, span: Span) -> &str {
        span.in_text(&self.text)
    }

    /// The `count` fields of an event.
    #[must_use]
    pub fn fields_of(&self, event: &Event, count: usize) -> &[Field] {
        let start = event.fields as usize;
        self.fields.get(start..start + count).unwrap_or_default()
    }

    /// Bytes of memory this batch holds, for the queues' budgets.
    #[must_use]
    pub fn footprint(&self) -> usize {
        self.body.len()
            + self.text.capacity()
            + self.items.capacity() * size_of::<Item>()
            + self.fields.capacity() * size_of::<Field>()
    }
}
