//! A record as an event: which form it has, and what its surroundings say.

use super::offset::{Look, NONE};
use crate::event::{Assembly, Attributes, BadKind, Beside, Form};
use rdkafka::message::{BorrowedMessage, Headers, Message};
use std::fmt::Write;

/// The prefix of a CloudEvents attribute's header, in the Kafka protocol binding.
const ATTRIBUTE: &str = "ce_";
const STRUCTURED: &[u8] = b"application/cloudevents+json";

/// What a record without a value is refused with.
const NO_VALUE: &str = "expected a record with a value, found none (a tombstone, or an empty record)";

/// How a record is to be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reading {
    As(Form),
    Bad(&'static str),
}

/// Puts a record into the batch. `id` is its default one, if it has one.
pub(super) fn push(assembly: &mut Assembly, message: &BorrowedMessage<'_>, id: Option<&str>) {
    let value = message.payload().unwrap_or_default();
    let headers = message.headers().into_iter().flat_map(Headers::iter);
    let reading = if value.is_empty() {
        Reading::Bad(NO_VALUE)
    } else {
        reading(headers.map(|header| (header.key, header.value.unwrap_or_default())))
    };
    match reading {
        Reading::As(form) => {
            let key = message.key().and_then(|key| std::str::from_utf8(key).ok()).filter(|key| !key.is_empty());
            assembly.push(&form, value, Beside { id, source: None, key });
        }
        Reading::Bad(reason) => assembly.push_bad(BadKind::Malformed, reason.to_owned(), value, id),
    }
}

/// Writes a record's default id. A topic that was made anew counts its offsets from the start again: they are
/// other events.
pub(super) fn write_id(topic: &str, partition: i32, offset: i64, made: u32, id: &mut String) {
    id.clear();
    let _ = write!(id, "{topic}/{partition}/{offset}");
    if made > 0 {
        let _ = write!(id, "/{made}");
    }
}

/// What the headers say.
pub(super) fn reading<'a>(headers: impl Iterator<Item = (&'a str, &'a [u8])>) -> Reading {
    let mut attributes = Attributes::default();
    for (name, value) in headers {
        if name.eq_ignore_ascii_case("content-type") && is_structured(value) {
            return Reading::As(Form::CloudEvent);
        }
        let Some(name) = name.strip_prefix(ATTRIBUTE) else { continue };
        let Ok(value) = std::str::from_utf8(value) else {
            return Reading::Bad("expected CloudEvents headers (ce_…) in UTF-8");
        };
        attributes.0.push((name.to_owned(), value.to_owned()));
    }
    // Someone's header may begin like one of CloudEvents; a CloudEvent says so.
    match attributes.get("specversion") {
        Some(_) => Reading::As(Form::Binary(Box::new(attributes))),
        None => Reading::As(Form::Record),
    }
}

fn is_structured(content_type: &[u8]) -> bool {
    let kind = content_type.split(|byte| *byte == b';').next().unwrap_or_default();
    kind.trim_ascii().eq_ignore_ascii_case(STRUCTURED)
}

/// What the record looks like, to know it again.
pub(super) fn look(message: &BorrowedMessage<'_>) -> Look {
    let length = |bytes: Option<&[u8]>| bytes.map_or(NONE, |bytes| u32::try_from(bytes.len()).unwrap_or(NONE));
    Look {
        time_ms: message.timestamp().to_millis().unwrap_or(-1),
        key_bytes: length(message.key()),
        value_bytes: length(message.payload()),
    }
}
