//! Labels among or instead of events: `{"type":"verdictd.label.v1","source":…,"id":…,"label":1}`, plain or as the
//! data of a CloudEvent of that type.
//!
//! A label has been walked like an event before (grammar, members named twice, nesting); here its members are
//! read. `source`, `id`, `key` and `time` are the event's, not the label's; `label` is a number, or true or false. `key`
//! and `time` may be left out.

use super::identity::{ID_BYTES_MAX, KEY_BYTES_MAX, SOURCE_BYTES_MAX};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

/// The CloudEvents type of a label.
pub const LABEL_TYPE: &str = "verdictd.label.v1";

/// The members of a label.
#[derive(Debug, Deserialize)]
pub(super) struct Members {
    #[serde(rename = "type")]
    kind: Option<Value>,
    source: Option<Value>,
    id: Option<Value>,
    label: Option<Value>,
    key: Option<Value>,
    time: Option<Value>,
}

/// A structured CloudEvent around a label.
#[derive(Deserialize)]
struct Envelope {
    data: Option<Members>,
}

/// Whether a plain record says itself that it is a label.
#[must_use]
pub(super) fn is_one(json: &[u8]) -> bool {
    // The text is looked for first: what is no label is not read twice.
    memchr::memmem::find(json, LABEL_TYPE.as_bytes()).is_some()
        && members(json, false).is_ok_and(|members| members.kind.is_some_and(|kind| kind == LABEL_TYPE))
}

/// Reads a label's members out of its JSON, or, `enveloped`, out of the data of its CloudEvent.
///
/// # Errors
/// Says what was expected and where.
pub(super) fn members(json: &[u8], enveloped: bool) -> Result<Members, String> {
    let shape =
        |_| format!("expected a label as in {{\"type\":\"{LABEL_TYPE}\",\"source\":\"pos\",\"id\":\"7\",\"label\":1}}");
    if !enveloped {
        return serde_json::from_slice(json).map_err(shape);
    }
    let envelope: Envelope = serde_json::from_slice(json).map_err(shape)?;
    envelope.data.ok_or_else(|| "data: expected the label, which is a JSON object".to_owned())
}

impl Members {
    /// The event's source, if the label says it.
    ///
    /// # Errors
    /// When it is no text, or too long.
    pub fn source(&self) -> Result<Option<&str>, String> {
        match &self.source {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if (1..=SOURCE_BYTES_MAX).contains(&text.len()) => Ok(Some(text)),
            Some(_) => Err(format!("source: expected a string of 1 to {SOURCE_BYTES_MAX} bytes, the event's")),
        }
    }

    /// The event's id.
    ///
    /// # Errors
    /// When there is none, or it is no id.
    pub fn id(&self) -> Result<Cow<'_, str>, String> {
        match &self.id {
            Some(Value::String(text)) if (1..=ID_BYTES_MAX).contains(&text.len()) => Ok(Cow::Borrowed(text)),
            Some(Value::Number(number)) if number.is_i64() || number.is_u64() => Ok(Cow::Owned(number.to_string())),
            _ => Err(format!("id: expected a string of 1 to {ID_BYTES_MAX} bytes or an integer, the event's")),
        }
    }

    /// The label itself.
    ///
    /// # Errors
    /// When it is none.
    pub fn value(&self) -> Result<f64, String> {
        if self.kind.as_ref().is_some_and(|kind| kind != LABEL_TYPE) {
            return Err(format!("type: expected {LABEL_TYPE:?}"));
        }
        let value = match &self.label {
            Some(Value::Bool(value)) => f64::from(u8::from(*value)),
            Some(Value::Number(number)) => number.as_f64().filter(|value| value.is_finite()).unwrap_or(f64::NAN),
            _ => f64::NAN,
        };
        if value.is_nan() {
            return Err("label: expected a number, true or false".to_owned());
        }
        Ok(value)
    }

    /// The event's time as a text, if the label says it so.
    pub fn time(&self) -> Option<&str> {
        self.time.as_ref().and_then(Value::as_str)
    }

    /// The event's key, if the label carries it.
    ///
    /// # Errors
    /// When it is no text or number, or too long.
    pub fn key(&self) -> Result<Option<Cow<'_, str>>, String> {
        let key = match &self.key {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(text)) => Cow::Borrowed(text.as_str()),
            Some(Value::Number(number)) => Cow::Owned(number.to_string()),
            Some(_) => return Err("key: expected a string or a number".to_owned()),
        };
        if key.len() > KEY_BYTES_MAX {
            return Err(format!("key: expected at most {KEY_BYTES_MAX} bytes"));
        }
        Ok(Some(key))
    }
}
