//! One body on its way to an [`EventBatch`]: record after record, good or bad.

use super::cloudevents::{self, Attributes, Context, Stop};
use super::decode::{Beside, Decoder, LineIds};
use super::elements::{elements, is_cloud_event, offset};
use super::fingerprint::{ValueHasher, identity_fingerprint};
use super::identity::{self, SourceRule};
use super::label::{self, LABEL_TYPE};
use super::walk::{Found, JsonFault, Scratch, Walk, keep};
use super::{
    BATCH_EVENTS_MAX, BadKind, BadRecord, Event, EventBatch, Field, Form, Item, Label, Pointer, Span, TimeForm, Trie,
};
use jiter::{Jiter, Peek};
use std::panic::{AssertUnwindSafe, catch_unwind};

// Places of the identity pointers among `Found`.
pub(super) const ID: u32 = 0;
pub(super) const TIME: u32 = 1;
pub(super) const SOURCE: u32 = 2;
pub(super) const KEY: u32 = 3;

/// One body being read.
pub(super) struct Reader<'a> {
    pub decoder: &'a Decoder,
    pub batch: &'a mut EventBatch,
    pub scratch: &'a mut Scratch,
    pub body: &'a [u8],
    pub arrival_us: i64,
}

impl Reader<'_> {
    /// Reads what stands at `raw`, a whole record or body of that form.
    pub fn form(&mut self, form: &Form, raw: Span, beside: Beside<'_>) {
        match form {
            Form::CloudEvent => self.cloud_event(raw, beside),
            Form::Record if is_cloud_event(raw.of(self.body)) => self.cloud_event(raw, beside),
            Form::Json | Form::Record => self.plain(raw, None, beside),
            Form::Binary(attributes) => self.plain(raw, Some(attributes), beside),
            Form::CloudEventBatch => self.array(raw),
            Form::Ndjson => self.lines(None),
        }
    }

    /// Every line of the whole body.
    pub fn lines(&mut self, ids: Option<LineIds<'_>>) {
        let body = self.body;
        let mut name = String::new();
        let mut start = 0;
        while start < body.len() {
            let rest = &body[start..];
            let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let line = rest[..length].trim_ascii();
            if !line.is_empty() {
                let begin = start + (rest.len() - rest.trim_ascii_start().len());
                let raw = Span { start: offset(begin), end: offset(begin + line.len()) };
                let mut beside = Beside::default();
                if let Some(LineIds { prefix, base }) = ids {
                    use std::fmt::Write;
                    name.clear();
                    // Writing to a String does not fail.
                    let _ = write!(name, "{prefix}{}", base + begin as u64);
                    beside.id = Some(&name);
                }
                if is_cloud_event(line) { self.cloud_event(raw, beside) } else { self.plain(raw, None, beside) }
            }
            start += length + 1;
        }
    }

    /// One JSON value: a plain event, or the data of a CloudEvent whose attributes came beside it.
    fn plain(&mut self, raw: Span, attributes: Option<&Attributes>, beside: Beside<'_>) {
        let context = attributes.map(|attributes| Context::of(attributes, &mut self.batch.text));
        self.record(raw, context, beside, |reader, mark, context| {
            reader.walk(raw, mark, |walk, jiter, peek| {
                let data = walk.value(jiter, peek, Some(Trie::ROOT), 0)?;
                if peek != Peek::Object && context.is_none() {
                    return Err(Stop::Shape("expected an event, which is a JSON object".to_owned()));
                }
                Ok(context.map_or(data, |context| context.payload(walk, data)))
            })
        });
    }

    fn cloud_event(&mut self, raw: Span, beside: Beside<'_>) {
        let context = Context { structured: true, ..Context::default() };
        self.record(raw, Some(context), beside, |reader, mark, context| {
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
        beside: Beside<'_>,
        read: impl FnOnce(&mut Self, usize, &mut Option<Context>) -> Result<u64, Stop>,
    ) {
        let limit = self.decoder.event_bytes_max;
        if raw.len() > limit {
            self.scratch.reset(0);
            let reason = format!("expected an event of at most {limit} bytes, found {}", raw.len());
            return self.bad(raw, BadKind::Oversized, reason, context.as_ref(), beside);
        }
        let mark = self.open();
        let text = self.batch.text.len();
        let named = catch_unwind(AssertUnwindSafe(|| {
            let payload = read(self, mark, &mut context).map_err(|stop| stop.to_string())?;
            let is_label = self.is_label(raw, context.as_ref());
            let (identity, said) = if is_label {
                self.label(raw, context.as_ref()).map(|(identity, said)| (identity, Some(said)))?
            } else {
                (self.identify(context.as_ref(), beside)?, None)
            };
            let seed = self.decoder.seed;
            let fingerprint = identity_fingerprint(seed, self.batch.str(identity.source), self.batch.str(identity.id));
            let Identity { source, id, key, time_us } = identity;
            let fields = offset(mark);
            Ok(said.map_or(
                Item::Event(Event { source, id, key, time_us, identity: fingerprint, payload, fields, raw }),
                |Said { value, event_us }| {
                    Item::Label(Label { source, id, key, time_us, event_us, value, identity: fingerprint, raw })
                },
            ))
        }));
        let reason = match named {
            Ok(Ok(item)) => {
                if matches!(item, Item::Label(_)) {
                    self.batch.fields.truncate(mark);
                }
                self.batch.items.push(item);
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
        self.bad(raw, BadKind::Malformed, reason, context.as_ref(), beside);
    }

    fn array(&mut self, raw: Span) {
        let placed = |span: Span| Span { start: raw.start + span.start, end: raw.start + span.end };
        match elements(raw.of(self.body)) {
            Ok(spans) if spans.len() > BATCH_EVENTS_MAX => {
                let reason = format!("expected at most {BATCH_EVENTS_MAX} events in a batch; NDJSON takes more");
                self.bad_whole(raw, BadKind::Oversized, reason, Beside::default());
            }
            Ok(spans) => spans.into_iter().for_each(|span| self.cloud_event(placed(span), Beside::default())),
            Err(reason) => self.bad_whole(raw, BadKind::Malformed, reason, Beside::default()),
        }
    }

    /// A record of which nothing was read.
    pub fn bad_whole(&mut self, raw: Span, kind: BadKind, reason: String, beside: Beside<'_>) {
        self.scratch.reset(0);
        self.bad(raw, kind, reason, None, beside);
    }

    /// Makes room for one event's fields; returns where they start.
    fn open(&mut self) -> usize {
        self.scratch.reset(KEY as usize + self.decoder.rules.key.pointers.len());
        let mark = self.batch.fields.len();
        self.batch.fields.resize(mark + self.decoder.fields(), Field::Missing);
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

    fn identify(&mut self, context: Option<&Context>, beside: Beside<'_>) -> Result<Identity, String> {
        let rules = &self.decoder.rules;
        let text = &mut self.batch.text;
        let found = &self.scratch.found;
        let at = |n: u32| found.get(n as usize).copied().unwrap_or_default();
        if let Some(context) = context {
            context.check(text)?;
        }
        let own = |pointer: &Pointer| pointer.to_string();
        let id_found = match (context.map_or(at(ID), |context| context.id), beside.id) {
            (Found::Missing | Found::Null, Some(id)) if context.is_none() => Found::Text(keep(text, id)),
            (found, _) => found,
        };
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
        let source = match (source, beside.source) {
            (Some(source), _) => source,
            (None, Some(beside)) => {
                identity::source(Found::Text(keep(text, beside)), &|| "what stands beside it".to_owned())
                    .map_err(|fault| fault.to_string())?
                    .unwrap_or_default()
            }
            (None, None) => keep(text, rules.source.otherwise()),
        };
        let time = match context.map(|context| context.time) {
            Some(attribute @ Found::Text(_)) => {
                identity::time(attribute, &TimeForm::Rfc3339, &|| "the attribute time".to_owned(), text)
            }
            _ => identity::time(at(TIME), &rules.time_form, &|| own(&rules.time), text),
        }
        .map_err(|fault| fault.to_string())?;
        let parts = found.get(KEY as usize..).unwrap_or_default();
        let mut key = rules.key.key(parts, text).map_err(|fault| fault.to_string())?;
        for attribute in context.iter().flat_map(|context| [context.partitionkey, context.subject]) {
            if key.is_none() {
                key = rules.key.attribute(attribute, text).map_err(|fault| fault.to_string())?;
            }
        }
        if let (None, Some(beside)) = (key, beside.key) {
            let found = Found::Text(keep(text, beside));
            key = rules.key.attribute(found, text).map_err(|fault| fault.to_string())?;
        }
        Ok(Identity { source, id, key, time_us: time.unwrap_or(self.arrival_us) })
    }

    /// Whether it says itself that it is one, or is one by where it came from.
    fn is_label(&self, raw: Span, context: Option<&Context>) -> bool {
        let is_typed = |context: &Context| matches!(context.kind, Found::Text(span) if span.in_text(&self.batch.text) == LABEL_TYPE);
        match context {
            _ if self.decoder.labels => true,
            Some(context) => is_typed(context),
            None => label::is_one(raw.of(self.body)),
        }
    }

    /// A label: whose it is, and what it says.
    fn label(&mut self, raw: Span, context: Option<&Context>) -> Result<(Identity, Said), String> {
        let rules = &self.decoder.rules;
        let text = &mut self.batch.text;
        let found = &self.scratch.found;
        let at = |n: u32| found.get(n as usize).copied().unwrap_or_default();
        if let Some(context) = context {
            context.check(text)?;
        }
        let members = label::members(raw.of(self.body), context.is_some_and(|context| context.structured))?;
        let own = |pointer: &Pointer| pointer.to_string();
        let source = match (members.source()?, &rules.source) {
            (Some(source), _) => keep(text, source),
            (None, SourceRule::Pointer { pointer, otherwise }) if context.is_none() => {
                let found = identity::source(at(SOURCE), &|| own(pointer)).map_err(|fault| fault.to_string())?;
                found.unwrap_or_else(|| keep(text, otherwise))
            }
            (None, rule) => keep(text, rule.otherwise()),
        };
        let rfc = TimeForm::Rfc3339;
        let (mut id, key, known, (event, form)) = if let Some(context) = context {
            let key = members.key()?.map(|key| Found::Text(keep(text, &key)));
            let event = members.time().map_or(Found::Missing, |time| Found::Text(keep(text, time)));
            (Found::Missing, rules.key.attribute(key.unwrap_or_default(), text), context.time, (event, &rfc))
        } else {
            let key = rules.key.key(found.get(KEY as usize..).unwrap_or_default(), text);
            // As an event of this source says when it was, or as a label does.
            let event = match (at(TIME), members.time()) {
                (Found::Missing, Some(time)) => (Found::Text(keep(text, time)), &rfc),
                (found, _) => (found, &rules.time_form),
            };
            (at(ID), key, Found::Missing, event)
        };
        if id == Found::Missing {
            id = Found::Text(keep(text, &members.id()?));
        }
        let id = identity::id(id, &|| own(&rules.id), text).map_err(|fault| fault.to_string())?;
        let time = |found, form, name: &str, text: &mut String| {
            identity::time(found, form, &|| name.to_owned(), text).map_err(|fault| fault.to_string())
        };
        let known = time(known, &rfc, "the attribute time", text)?;
        let event_us = time(event, form, "time, the event's", text)?;
        let key = key.map_err(|fault| fault.to_string())?;
        let value = members.value()?;
        Ok((Identity { source, id, key, time_us: known.unwrap_or(self.arrival_us) }, Said { value, event_us }))
    }

    /// With source and id as far as they were found.
    fn bad(&mut self, raw: Span, kind: BadKind, reason: String, context: Option<&Context>, beside: Beside<'_>) {
        let at = |n: u32| self.scratch.found.get(n as usize).copied().unwrap_or_default();
        let (id, source) = context.map_or_else(|| (at(ID), at(SOURCE)), |context| (context.id, context.source));
        let text = &mut self.batch.text;
        let mut known = identity::id(id, &String::new, text).ok();
        if let (None, None, Some(beside)) = (known, context, beside.id) {
            let found = Found::Text(keep(text, beside));
            known = identity::id(found, &String::new, text).ok();
        }
        let source = identity::source(source, &String::new).ok().flatten();
        let source = source.unwrap_or_else(|| keep(text, self.decoder.rules.source.otherwise()));
        self.batch.items.push(Item::Bad(BadRecord { kind, reason, source, id: known, raw }));
    }
}

/// What a label says.
struct Said {
    value: f64,
    /// When its event was, if it says so.
    event_us: Option<i64>,
}

struct Identity {
    source: Span,
    id: Span,
    key: Option<Span>,
    time_us: i64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{IdentityRules, KeyRule};

    #[test]
    fn a_panic_spoils_its_own_record_only() {
        let pointer = |text| Pointer::parse(text).unwrap();
        let key = KeyRule::default();
        let source = SourceRule::Fixed("pos".to_owned());
        let rules = IdentityRules { id: pointer("/id"), time: pointer("/time"), time_form: TimeForm::Any, source, key };
        let decoder = Decoder::new(rules, [pointer("/amount")], 4096, 7);
        let body = br#"{"id":1,"amount":2}"#;
        let (mut batch, mut scratch) = (EventBatch::default(), Scratch::default());
        let mut reader = Reader { decoder: &decoder, batch: &mut batch, scratch: &mut scratch, body, arrival_us: 0 };
        let whole = Span { start: 0, end: offset(body.len()) };
        reader.plain(whole, None, Beside::default());
        reader.record(whole, None, Beside::default(), |_, _, _| panic!("a bug"));
        reader.plain(whole, None, Beside::default());
        assert!(matches!(batch.items[..], [Item::Event(_), Item::Bad(_), Item::Event(_)]));
        assert_eq!((batch.panics, batch.fields.len()), (1, 2));
    }
}
