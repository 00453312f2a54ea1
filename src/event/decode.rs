//! From the bytes of a request to an [`EventBatch`].
//!
//! Never fails as a whole: what is no event becomes a [`BadRecord`] in its place, with the reason; so does
//! what makes the code panic. Only a batch array is one bad record in all, if its JSON is broken, because
//! where its elements end is unknown, or if it has more than [`BATCH_EVENTS_MAX`] of them.

use super::cloudevents::{self, Attributes, Context, Stop};
use super::fingerprint::{ValueHasher, identity_fingerprint};
use super::identity::{self, IdentityRules, SourceRule};
use super::trie::{Target, Trie};
use super::walk::{Found, JsonFault, Scratch, Walk, keep};
use super::{BadKind, BadRecord, Event, EventBatch, Field, Item, Pointer, Span};
use bytes::Bytes;
use jiter::{Jiter, Peek};
use memchr::memmem;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

/// How a body is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// One JSON value.
    Json,
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

// Places of the identity pointers among `Found`.
const ID: u32 = 0;
const TIME: u32 = 1;
const SOURCE: u32 = 2;
const KEY: u32 = 3;

impl Form {
    /// Whether the answer is the one event's own, rather than lines.
    #[must_use]
    pub fn is_single(&self) -> bool {
        matches!(self, Self::Json | Self::Binary(_) | Self::CloudEvent)
    }
}

/// Reads bodies for one source and one model.
#[derive(Debug)]
pub struct Decoder {
    rules: IdentityRules,
    trie: Trie,
    fields: usize,
    event_bytes_max: usize,
    seed: u64,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::default());
}

impl Decoder {
    /// `fields`: the pointers of the model's features; `event_bytes_max`: the limit of one event;
    /// `seed`: the store's.
    #[must_use]
    pub fn new(rules: IdentityRules, fields: &[Pointer], event_bytes_max: usize, seed: u64) -> Self {
        let source = match &rules.source {
            SourceRule::Pointer { pointer, .. } => Some((pointer, Target::Identity(SOURCE))),
            SourceRule::Fixed(_) => None,
        };
        let identity = [(&rules.id, Target::Identity(ID)), (&rules.time, Target::Identity(TIME))];
        let keys = rules.key.pointers.iter().zip(KEY..).map(|(pointer, n)| (pointer, Target::Identity(n)));
        let features = fields.iter().zip(0..).map(|(pointer, n)| (pointer, Target::Feature(n)));
        let trie = Trie::new(identity.into_iter().chain(source).chain(keys).chain(features));
        Self { trie, fields: fields.len(), event_bytes_max, seed, rules }
    }

    /// A body that could not be decoded, as one bad record.
    #[must_use]
    pub fn whole_as_bad(&self, kind: BadKind, reason: &str, body: Bytes) -> EventBatch {
        let mut batch = EventBatch::default();
        let source = keep(&mut batch.text, self.rules.source.otherwise());
        let raw = Span { start: 0, end: offset(body.len()) };
        batch.items.push(Item::Bad(BadRecord { kind, reason: reason.to_owned(), source, id: None, raw }));
        batch.body = body;
        batch
    }

    /// How many fields each event has.
    #[must_use]
    pub fn fields(&self) -> usize {
        self.fields
    }

    /// Decodes a body. `arrival_us` is the time of events that have none, microseconds since 1970.
    #[must_use]
    pub fn decode(&self, form: &Form, body: Bytes, arrival_us: i64) -> EventBatch {
        let mut batch = EventBatch { text: String::with_capacity(body.len() / 2 + 64), ..EventBatch::default() };
        SCRATCH.with_borrow_mut(|scratch| {
            let mut reader = Reader { decoder: self, batch: &mut batch, scratch, body: &body, arrival_us };
            match form {
                Form::Json => reader.single(None),
                Form::Binary(attributes) => reader.single(Some(attributes)),
                Form::CloudEvent => reader.cloud_event(reader.whole()),
                Form::CloudEventBatch => reader.array(),
                Form::Ndjson => reader.lines(),
            }
        });
        batch.body = body;
        batch
    }
}

/// One body being read.
struct Reader<'a> {
    decoder: &'a Decoder,
    batch: &'a mut EventBatch,
    scratch: &'a mut Scratch,
    body: &'a [u8],
    arrival_us: i64,
}

impl Reader<'_> {
    fn whole(&self) -> Span {
        Span { start: 0, end: offset(self.body.len()) }
    }

    fn lines(&mut self) {
        let body = self.body;
        let mut start = 0;
        while start < body.len() {
            let rest = &body[start..];
            let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let line = rest[..length].trim_ascii();
            if !line.is_empty() {
                let begin = start + (rest.len() - rest.trim_ascii_start().len());
                let raw = Span { start: offset(begin), end: offset(begin + line.len()) };
                if is_cloud_event(line) { self.cloud_event(raw) } else { self.plain(raw, None) }
            }
            start += length + 1;
        }
    }

    fn single(&mut self, attributes: Option<&Attributes>) {
        self.plain(self.whole(), attributes);
    }

    /// One JSON value: a plain event, or the data of a CloudEvent whose attributes came beside it.
    fn plain(&mut self, raw: Span, attributes: Option<&Attributes>) {
        let context = attributes.map(|attributes| Context::of(attributes, &mut self.batch.text));
        self.record(raw, context, |reader, mark, context| {
            reader.walk(raw, mark, |walk, jiter, peek| {
                let data = walk.value(jiter, peek, Some(Trie::ROOT), 0)?;
                if peek != Peek::Object && context.is_none() {
                    return Err(Stop::Shape("expected an event, which is a JSON object".to_owned()));
                }
                Ok(context.map_or(data, |context| context.payload(walk, data)))
            })
        });
    }

    fn cloud_event(&mut self, raw: Span) {
        self.record(raw, Some(Context::default()), |reader, mark, context| {
            reader.walk(raw, mark, |walk, jiter, peek| {
                let context = context.get_or_insert_default();
                let data = cloudevents::structured(walk, jiter, peek, 0, context)?;
                Ok(context.payload(walk, data))
            })
        });
    }

    /// One record, good or bad: whatever `read` does, a panic too, there is one more item after it.
    fn record(
        &mut self,
        raw: Span,
        mut context: Option<Context>,
        read: impl FnOnce(&mut Self, usize, &mut Option<Context>) -> Result<u64, Stop>,
    ) {
        let limit = self.decoder.event_bytes_max;
        if raw.len() > limit {
            self.scratch.reset(0);
            let reason = format!("expected an event of at most {limit} bytes, found {}", raw.len());
            return self.bad(raw, BadKind::Oversized, reason, context.as_ref());
        }
        let mark = self.open();
        let text = self.batch.text.len();
        let named = catch_unwind(AssertUnwindSafe(|| {
            let payload = read(self, mark, &mut context).map_err(|stop| stop.to_string())?;
            let identity = self.identify(context.as_ref())?;
            let seed = self.decoder.seed;
            let fingerprint = identity_fingerprint(seed, self.batch.str(identity.source), self.batch.str(identity.id));
            Ok((identity, fingerprint, payload))
        }));
        let reason = match named {
            Ok(Ok((identity, fingerprint, payload))) => {
                self.batch.items.push(Item::Event(Event {
                    source: identity.source,
                    id: identity.id,
                    key: identity.key,
                    time_us: identity.time_us,
                    identity: fingerprint,
                    payload,
                    fields: offset(mark),
                    raw,
                }));
                return;
            }
            Ok(Err(reason)) => reason,
            Err(_) => {
                self.batch.panics += 1;
                // What was found until then is not to be relied on.
                self.batch.text.truncate(text);
                self.scratch.reset(0);
                context = None;
                "internal error while decoding".to_owned()
            }
        };
        self.batch.fields.truncate(mark);
        self.bad(raw, BadKind::Malformed, reason, context.as_ref());
    }

    fn array(&mut self) {
        match elements(self.body) {
            Ok(spans) if spans.len() > BATCH_EVENTS_MAX => {
                let reason = format!("expected at most {BATCH_EVENTS_MAX} events in a batch; NDJSON takes more");
                self.scratch.reset(0);
                self.bad(self.whole(), BadKind::Oversized, reason, None);
            }
            Ok(spans) => spans.into_iter().for_each(|span| self.cloud_event(span)),
            Err(reason) => {
                self.scratch.reset(0);
                self.bad(self.whole(), BadKind::Malformed, reason, None);
            }
        }
    }

    /// Makes room for one event's fields; returns where they start.
    fn open(&mut self) -> usize {
        self.scratch.reset(KEY as usize + self.decoder.rules.key.pointers.len());
        let mark = self.batch.fields.len();
        self.batch.fields.resize(mark + self.decoder.fields, Field::Missing);
        mark
    }

    fn walk<T>(
        &mut self,
        raw: Span,
        mark: usize,
        read: impl FnOnce(&mut Walk<'_>, &mut Jiter<'_>, Peek) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let text = raw.of(self.body);
        if text.starts_with(b"\xef\xbb\xbf") {
            return Err(Stop::Shape("not JSON: expected no byte order mark at the start".to_owned()));
        }
        let mut jiter = Jiter::with_tape(text, std::mem::take(&mut self.scratch.tape));
        let mut walk = Walk {
            trie: &self.decoder.trie,
            hasher: ValueHasher::new(self.decoder.seed),
            scratch: self.scratch,
            fields: self.batch.fields.get_mut(mark..).unwrap_or_default(),
            text: &mut self.batch.text,
        };
        let read = jiter
            .peek()
            .map_err(|error| Stop::Json(error.into()))
            .and_then(|peek| read(&mut walk, &mut jiter, peek))
            .and_then(|value| jiter.finish().map(|()| value).map_err(|error| Stop::Json(error.into())));
        self.scratch.tape = jiter.into_tape();
        read.map_err(|stop| match (stop, std::str::from_utf8(text)) {
            (Stop::Json(JsonFault::Syntax { .. }), Err(error)) => {
                Stop::Shape(format!("not JSON: expected UTF-8, found other bytes at byte {}", error.valid_up_to()))
            }
            (stop, _) => stop,
        })
    }

    fn identify(&mut self, context: Option<&Context>) -> Result<Identity, String> {
        let rules = &self.decoder.rules;
        let text = &mut self.batch.text;
        let found = &self.scratch.found;
        let at = |n: u32| found.get(n as usize).copied().unwrap_or_default();
        if let Some(context) = context {
            context.check(text)?;
        }
        let own = |pointer: &Pointer| pointer.to_string();
        let id_found = context.map_or(at(ID), |context| context.id);
        let id = identity::id(
            id_found,
            &|| context.map_or_else(|| own(&rules.id), |_| "the CloudEvents attribute id".to_owned()),
            text,
        )
        .map_err(|fault| fault.to_string())?;
        let source = match (context, &rules.source) {
            (Some(context), _) => identity::source(context.source, &|| "the CloudEvents attribute source".to_owned()),
            (None, SourceRule::Pointer { pointer, .. }) => identity::source(at(SOURCE), &|| own(pointer)),
            (None, SourceRule::Fixed(_)) => Ok(None),
        }
        .map_err(|fault| fault.to_string())?;
        let source = source.unwrap_or_else(|| keep(text, rules.source.otherwise()));
        let time = match context.map(|context| context.time) {
            Some(attribute @ Found::Text(_)) => identity::time(attribute, &|| "the attribute time".to_owned(), text),
            _ => identity::time(at(TIME), &|| own(&rules.time), text),
        }
        .map_err(|fault| fault.to_string())?;
        let parts = found.get(KEY as usize..).unwrap_or_default();
        let mut key = rules.key.key(parts, text).map_err(|fault| fault.to_string())?;
        for attribute in context.iter().flat_map(|context| [context.partitionkey, context.subject]) {
            if key.is_none() {
                key = rules.key.attribute(attribute, text).map_err(|fault| fault.to_string())?;
            }
        }
        Ok(Identity { source, id, key, time_us: time.unwrap_or(self.arrival_us) })
    }

    /// With source and id as far as they were found.
    fn bad(&mut self, raw: Span, kind: BadKind, reason: String, context: Option<&Context>) {
        let at = |n: u32| self.scratch.found.get(n as usize).copied().unwrap_or_default();
        let (id, source) = context.map_or_else(|| (at(ID), at(SOURCE)), |context| (context.id, context.source));
        let text = &mut self.batch.text;
        let id = identity::id(id, &String::new, text).ok();
        let source = identity::source(source, &String::new).ok().flatten();
        let source = source.unwrap_or_else(|| keep(text, self.decoder.rules.source.otherwise()));
        self.batch.items.push(Item::Bad(BadRecord { kind, reason, source, id, raw }));
    }
}

struct Identity {
    source: Span,
    id: Span,
    key: Option<Span>,
    time_us: i64,
}

/// Elements of a CloudEvents batch, counted up to one more than [`BATCH_EVENTS_MAX`] or to a fault: what
/// decoding it is to be paid for.
#[must_use]
pub fn batch_events(body: &[u8]) -> usize {
    let mut count = 0;
    // A fault is told when it is decoded.
    let _ = each_element(body, |_| count += 1);
    count
}

/// Where the elements of a JSON array lie, at most one more than [`BATCH_EVENTS_MAX`]. Each is only skipped
/// over here and read for itself later.
fn elements(body: &[u8]) -> Result<Vec<Span>, String> {
    let mut spans = Vec::new();
    match each_element(body, |span| spans.push(span)) {
        Ok(true) => Ok(spans),
        Ok(false) => Err("expected a batch, which is a JSON array of CloudEvents".to_owned()),
        Err(error) => Err(format!("not JSON: {error} at byte {}", error.index)),
    }
}

/// False where the body is no array.
fn each_element(body: &[u8], mut each: impl FnMut(Span)) -> Result<bool, jiter::JiterError> {
    let mut jiter = Jiter::new(body);
    if jiter.peek()? != Peek::Array {
        return Ok(false);
    }
    let mut next = jiter.known_array()?;
    for _ in 0..=BATCH_EVENTS_MAX {
        let Some(peek) = next else {
            jiter.finish()?;
            return Ok(true);
        };
        let start = jiter.current_index();
        jiter.known_skip(peek)?;
        each(Span { start: offset(start), end: offset(jiter.current_index()) });
        next = jiter.array_step()?;
    }
    Ok(true)
}

/// Whether a line is a structured CloudEvent: an object that has a member `specversion`.
fn is_cloud_event(line: &[u8]) -> bool {
    static MEMBER: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("\"specversion\""));
    if MEMBER.find(line).is_none() {
        return false;
    }
    let mut jiter = Jiter::new(line);
    let mut read = || -> Result<bool, jiter::JiterError> {
        let mut next = jiter.next_object()?;
        while let Some(name) = next {
            if name == "specversion" {
                return Ok(true);
            }
            jiter.next_skip()?;
            next = jiter.next_key()?;
        }
        Ok(false)
    };
    read().unwrap_or(false)
}

/// Offsets fit: a body is limited to far less than 4 GiB.
fn offset(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::KeyRule;

    #[test]
    fn a_panic_spoils_its_own_record_only() {
        let pointer = |text| Pointer::parse(text).unwrap();
        let key = KeyRule { pointers: vec![], hmac_key: None };
        let source = SourceRule::Fixed("pos".to_owned());
        let rules = IdentityRules { id: pointer("/id"), time: pointer("/time"), source, key };
        let decoder = Decoder::new(rules, &[pointer("/amount")], 4096, 7);
        let body = br#"{"id":1,"amount":2}"#;
        let (mut batch, mut scratch) = (EventBatch::default(), Scratch::default());
        let mut reader = Reader { decoder: &decoder, batch: &mut batch, scratch: &mut scratch, body, arrival_us: 0 };
        let whole = reader.whole();
        reader.plain(whole, None);
        reader.record(whole, None, |_, _, _| panic!("a bug"));
        reader.plain(whole, None);
        assert!(matches!(batch.items[..], [Item::Event(_), Item::Bad(_), Item::Event(_)]));
        assert_eq!((batch.panics, batch.fields.len()), (1, 2));
    }
}
