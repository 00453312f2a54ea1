//! From the bytes of a request to an [`EventBatch`].
//!
//! Never fails as a whole: what is no event becomes a [`BadRecord`] in its place, with the reason; so does
//! what makes the code panic. Only a batch array is one bad record in all, if its JSON is broken, because
//! where its elements end is unknown, or if it has more than [`BATCH_EVENTS_MAX`] of them.

use super::cloudevents::Attributes;
use super::elements::offset;
use super::identity::{IdentityRules, SourceRule};
use super::reader::{ID, KEY, Reader, SOURCE, TIME};
use super::trie::{Target, Trie};
use super::walk::{Scratch, keep};
use super::{Assembly, BadKind, BadRecord, EventBatch, Item, Pointer, Span};
use bytes::Bytes;
use std::cell::RefCell;
use std::sync::Arc;

/// How a body is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// One JSON value.
    Json,
    /// One JSON object: a structured CloudEvent where it has a member `specversion`, else a plain event.
    Record,
    /// One CloudEvent, its attributes beside the body.
    Binary(Box<Attributes>),
    /// One CloudEvent as a JSON object.
    CloudEvent,
    /// A JSON array of at most [`BATCH_EVENTS_MAX`] CloudEvents.
    CloudEventBatch,
    /// One event a line, plain or a structured CloudEvent; empty lines are passed over.
    Ndjson,
}

/// Events of one CloudEvents batch. NDJSON has no such limit.
pub const BATCH_EVENTS_MAX: usize = 8192;

impl Form {
    /// Whether the answer is the one event's own, rather than lines.
    #[must_use]
    pub fn is_single(&self) -> bool {
        matches!(self, Self::Json | Self::Record | Self::Binary(_) | Self::CloudEvent)
    }
}

/// What a record's surroundings say of it, such as its place in a topic or the header beside it. It counts
/// where the record itself, or a CloudEvents attribute, says nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside<'a> {
    pub id: Option<&'a str>,
    pub source: Option<&'a str>,
    pub key: Option<&'a str>,
}

/// Ids for lines that have none: the prefix and the line's place, in bytes from the start of the file.
#[derive(Clone, Copy, Debug)]
pub struct LineIds<'a> {
    pub prefix: &'a str,
    /// Place of the body's first byte.
    pub base: u64,
}

/// Reads bodies for one source and one model.
#[derive(Debug)]
pub struct Decoder {
    pub(super) rules: IdentityRules,
    pub(super) trie: Trie,
    /// Where the fields of an event stand.
    pub(super) fields: Arc<[Pointer]>,
    /// The fields that a secret key is made of.
    secrets: Arc<[Pointer]>,
    pub(super) event_bytes_max: usize,
    pub(super) seed: u64,
    /// Plain records are labels.
    pub(super) labels: bool,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::default());
}

impl Decoder {
    /// `fields`: the pointers of the model's features; `event_bytes_max`: the limit of one event;
    /// `seed`: the store's.
    #[must_use]
    pub fn new(rules: IdentityRules, fields: impl Into<Arc<[Pointer]>>, event_bytes_max: usize, seed: u64) -> Self {
        let fields = fields.into();
        let source = match &rules.source {
            SourceRule::Pointer { pointer, .. } => Some((pointer, Target::Identity(SOURCE))),
            SourceRule::Fixed(_) => None,
        };
        let identity = [(&rules.id, Target::Identity(ID)), (&rules.time, Target::Identity(TIME))];
        let keys = rules.key.pointers.iter().zip(KEY..).map(|(pointer, n)| (pointer, Target::Identity(n)));
        let features = fields.iter().zip(0..).map(|(pointer, n)| (pointer, Target::Feature(n)));
        let trie = Trie::new(identity.into_iter().chain(source).chain(keys).chain(features));
        let secrets = rules.key.pointers.iter().filter(|_| rules.key.hmac_key.is_some()).cloned().collect();
        Self { trie, fields, secrets, event_bytes_max, seed, labels: false, rules }
    }

    /// One by the same rules for labels: every record is one.
    #[must_use]
    pub fn for_labels(&self) -> Self {
        Self { labels: true, ..Self::new(self.rules.clone(), [], self.event_bytes_max, self.seed) }
    }

    /// One by the same rules for another model, whose features want these fields.
    #[must_use]
    pub fn for_fields(&self, fields: &Arc<[Pointer]>) -> Self {
        Self {
            labels: self.labels,
            ..Self::new(self.rules.clone(), Arc::clone(fields), self.event_bytes_max, self.seed)
        }
    }

    /// A body that could not be decoded, as one bad record.
    #[must_use]
    pub fn whole_as_bad(&self, kind: BadKind, reason: &str, body: Bytes) -> EventBatch {
        let mut batch = self.batch(0);
        let source = keep(&mut batch.text, self.rules.source.otherwise());
        let raw = Span { start: 0, end: offset(body.len()) };
        batch.items.push(Item::Bad(BadRecord { kind, reason: reason.to_owned(), source, id: None, raw }));
        batch.body = body;
        batch
    }

    /// How many fields each event has.
    #[must_use]
    pub fn fields(&self) -> usize {
        self.fields.len()
    }

    /// Decodes a body. `arrival_us` is the time of events that have none, microseconds since 1970.
    #[must_use]
    pub fn decode(&self, form: &Form, body: Bytes, arrival_us: i64) -> EventBatch {
        let mut batch = self.batch(body.len());
        let whole = Span { start: 0, end: offset(body.len()) };
        self.read(&mut batch, &body, arrival_us, |reader| reader.form(form, whole, Beside::default()));
        batch.body = body;
        batch
    }

    /// Decodes NDJSON as [`Form::Ndjson`] does, with ids for events that have none.
    #[must_use]
    pub fn decode_lines(&self, body: Bytes, arrival_us: i64, ids: Option<LineIds<'_>>) -> EventBatch {
        let mut batch = self.batch(body.len());
        self.read(&mut batch, &body, arrival_us, |reader| reader.lines(ids));
        batch.body = body;
        batch
    }

    /// Begins a batch of records that come one by one.
    #[must_use]
    pub fn assemble(self: &Arc<Self>, arrival_us: i64) -> Assembly {
        Assembly::new(Arc::clone(self), arrival_us)
    }

    /// An empty batch for a body of so many bytes.
    pub(super) fn batch(&self, body: usize) -> EventBatch {
        EventBatch {
            text: String::with_capacity(body / 2 + 64),
            // Labels fit every model.
            columns: (!self.labels).then(|| Arc::clone(&self.fields)),
            private: self.rules.key.hmac_key.is_some(),
            secrets: Arc::clone(&self.secrets),
            ..EventBatch::default()
        }
    }

    pub(super) fn read(
        &self,
        batch: &mut EventBatch,
        body: &[u8],
        arrival_us: i64,
        read: impl FnOnce(&mut Reader<'_>),
    ) {
        SCRATCH.with_borrow_mut(|scratch| read(&mut Reader { decoder: self, batch, scratch, body, arrival_us }));
    }
}
