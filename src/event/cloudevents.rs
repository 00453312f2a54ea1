//! CloudEvents 1.0: the attributes that matter here, from a structured JSON object or from headers.
//!
//! Sources: the CloudEvents specification 1.0.2, its JSON format and its HTTP protocol binding. Extension
//! attributes other than `partitionkey` are passed over; they do not make two events different.

use super::Trie;
use super::walk::{Found, JsonFault, Walk, keep};
use base64::Engine as _;
use jiter::{Jiter, Peek};

/// The version of the specification that is spoken here.
pub const SPEC_VERSION: &str = "1.0";

/// Attributes in binary mode, as the transport's headers name them: without the prefix, in lower case,
/// values decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes(pub Vec<(String, String)>);

impl Attributes {
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

/// Attributes as spans of the batch's text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context {
    pub specversion: Found,
    pub id: Found,
    pub source: Found,
    pub kind: Found,
    pub subject: Found,
    pub time: Found,
    pub partitionkey: Found,
    /// The data stands in the record, as a member of it, rather than being the record.
    pub structured: bool,
}

impl Context {
    fn slot(&mut self, name: &str) -> Option<&mut Found> {
        Some(match name {
            "specversion" => &mut self.specversion,
            "id" => &mut self.id,
            "source" => &mut self.source,
            "type" => &mut self.kind,
            "subject" => &mut self.subject,
            "time" => &mut self.time,
            "partitionkey" => &mut self.partitionkey,
            _ => return None,
        })
    }

    /// Puts a transport's attributes into the batch's text.
    pub fn of(attributes: &Attributes, text: &mut String) -> Self {
        let mut context = Self::default();
        for (name, value) in &attributes.0 {
            if let Some(slot) = context.slot(name) {
                *slot = Found::Text(keep(text, value));
            }
        }
        context
    }

    /// What the specification requires, beside an id, which is checked with every event's.
    pub fn check(&self, text: &str) -> Result<(), String> {
        match self.specversion {
            Found::Text(span) if span.in_text(text) == SPEC_VERSION => {}
            _ => return Err(format!("specversion: expected {SPEC_VERSION:?}, as CloudEvents 1.0 has it")),
        }
        for (name, found) in [("source", self.source), ("type", self.kind)] {
            if !matches!(found, Found::Text(span) if !span.is_empty()) {
                return Err(format!("{name}: expected a string that is not empty, as CloudEvents 1.0 requires"));
            }
        }
        Ok(())
    }

    /// Fingerprint of what makes a CloudEvent the same: type, subject, time and data.
    pub fn payload(&self, walk: &Walk<'_>, data: u64) -> u64 {
        let hash = |found: Found| match found {
            Found::Text(span) => walk.hasher.text(span.in_text(walk.text).as_bytes()),
            _ => walk.hasher.word(b'-'),
        };
        let parts = [hash(self.kind), hash(self.subject), hash(self.time), data];
        let hash = parts.into_iter().fold(0, |sum, part| walk.hasher.element(sum, part));
        walk.hasher.array(hash, u64::MAX)
    }
}

/// Walks a structured CloudEvent whose first byte `peek` announces; returns the fingerprint of its data and
/// puts its attributes into `context`, those before a fault too. Pointers count from `data`.
///
/// # Errors
/// When it is no JSON, or no CloudEvent.
pub fn structured(
    walk: &mut Walk<'_>,
    jiter: &mut Jiter<'_>,
    peek: Peek,
    depth: usize,
    context: &mut Context,
) -> Result<u64, Stop> {
    if peek != Peek::Object {
        return Err(Stop::Shape("expected a CloudEvent, which is a JSON object".to_owned()));
    }
    let mut data = walk.hasher.word(b'-');
    let mark = walk.names_mark();
    let mut next = jiter.known_object().map_err(JsonFault::from)?;
    let mut wrong_type = None;
    let (mut has_data, mut has_base64) = (false, false);
    while let Some(name) = next {
        walk.note_name(mark, walk.hasher.text(name.as_bytes()), name)?;
        let is_data = name == "data";
        let is_base64 = name == "data_base64";
        has_data |= is_data;
        has_base64 |= is_base64;
        let slot = context.slot(name);
        let told = slot.is_some().then(|| name.to_owned());
        let peek = jiter.peek().map_err(JsonFault::from)?;
        match (slot, peek) {
            (Some(slot), Peek::String) => {
                let value = jiter.known_str().map_err(JsonFault::from)?;
                *slot = Found::Text(keep(walk.text, value));
            }
            (Some(_), peek) => {
                walk.value(jiter, peek, None, depth + 1)?;
                // A null attribute is the same as none (JSON format, 2.2); any other type is refused.
                if peek != Peek::Null {
                    wrong_type = wrong_type.or(told);
                }
            }
            (None, Peek::String) if is_base64 => {
                let value = jiter.known_str().map_err(JsonFault::from)?.to_owned();
                data = decoded(walk, &value, depth + 1)?;
            }
            (None, peek) => {
                let hash = walk.value(jiter, peek, is_data.then_some(Trie::ROOT), depth + 1)?;
                if is_data {
                    data = hash;
                }
            }
        }
        next = jiter.next_key().map_err(JsonFault::from)?;
    }
    walk.close_names(mark)?;
    if let Some(name) = wrong_type {
        return Err(Stop::Shape(format!("{name}: expected a string, as CloudEvents 1.0 requires")));
    }
    if has_data && has_base64 {
        return Err(Stop::Shape("expected data or data_base64, found both".to_owned()));
    }
    Ok(data)
}

/// `data_base64`: the same data as its JSON written out, if it is JSON; else just bytes without fields.
fn decoded(walk: &mut Walk<'_>, base64: &str, depth: usize) -> Result<u64, Stop> {
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(base64)
        .map_err(|error| Stop::Shape(format!("data_base64: expected base64 (RFC 4648): {error}")))?;
    let mark = walk.names_mark();
    let mut inner = Jiter::new(&bytes);
    let json =
        inner.peek().is_ok_and(|peek| walk.value(&mut inner, peek, None, depth).is_ok()) && inner.finish().is_ok();
    walk.forget_names(mark);
    if !json {
        return Ok(walk.hasher.text(&bytes));
    }
    let mut inner = Jiter::new(&bytes);
    let peek = inner.peek().map_err(JsonFault::from)?;
    Ok(walk.value(&mut inner, peek, Some(Trie::ROOT), depth)?)
}

/// Why a record's walk ended early.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// The text itself is broken: nothing behind the fault can be trusted.
    #[error(transparent)]
    Json(#[from] JsonFault),
    /// Whole JSON, but not the shape of an event.
    #[error("{0}")]
    Shape(String),
}
