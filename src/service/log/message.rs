//! One message: what the code said, ready to be written in any form.

use crate::notice::Notice;
use serde_json::Value;
use std::fmt::{self, Write};
use std::time::SystemTime;
use tracing::Level;
use tracing::field::{Field, Visit};

/// Longest text or value, in bytes; more is cut off and marked with `…`.
pub const VALUE_BYTES_MAX: usize = 4096;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Message {
    pub at: SystemTime,
    pub level: Level,
    /// None below info, and for what other crates say.
    pub kind: Option<&'static Notice>,
    pub target: &'static str,
    pub file: Option<&'static str>,
    pub line: Option<u32>,
    pub text: String,
    /// In the order of the code; the kind is not among them.
    pub fields: Vec<(&'static str, Value)>,
}

impl Message {
    pub fn of(event: &tracing::Event<'_>) -> Self {
        let about = event.metadata();
        let mut message = Self {
            at: SystemTime::now(),
            level: *about.level(),
            kind: None,
            target: about.target(),
            file: about.file(),
            line: about.line(),
            text: String::new(),
            fields: Vec::new(),
        };
        event.record(&mut message);
        message
    }

    /// A field's text.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| *known == name).and_then(|(_, value)| value.as_str())
    }

    fn put(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(text)) => self.text = text,
            ("kind", Value::String(kind)) => match Notice::find(&kind) {
                Some(notice) => self.kind = Some(notice),
                None => self.fields.push(("kind", Value::String(kind))),
            },
            (name, value) => self.fields.push((name, value)),
        }
    }
}

impl Visit for Message {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let mut text = Bounded::default();
        let _ = text.write_str(value);
        self.put(field, Value::String(text.0));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut text = Bounded::default();
        // It ends early where the bound is reached.
        let _ = write!(text, "{value:?}");
        self.put(field, Value::String(text.0));
    }
}

/// A text that is cut at [`VALUE_BYTES_MAX`].
#[derive(Default)]
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = VALUE_BYTES_MAX.saturating_sub(self.0.len());
        if part.len() <= room {
            self.0.push_str(part);
            return Ok(());
        }
        let end = (0..=room).rev().find(|at| part.is_char_boundary(*at)).unwrap_or(0);
        self.0.push_str(part.get(..end).unwrap_or_default());
        self.0.push('…');
        Err(fmt::Error)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::notice;

    /// A message as the code would make it.
    pub fn message(kind: &'static Notice, text: &str, fields: &[(&'static str, Value)]) -> Message {
        let level = match kind.level {
            notice::Level::Error => Level::ERROR,
            notice::Level::Warn => Level::WARN,
            notice::Level::Info => Level::INFO,
        };
        Message {
            at: SystemTime::UNIX_EPOCH,
            level,
            kind: Some(kind),
            target: "verdictd::x",
            file: Some("src/x.rs"),
            line: Some(7),
            text: text.to_owned(),
            fields: fields.to_vec(),
        }
    }

    #[test]
    fn a_long_value_is_cut_at_a_character() {
        let mut text = Bounded::default();
        assert!(write!(text, "{}", "ä".repeat(VALUE_BYTES_MAX)).is_err());
        assert_eq!(text.0, format!("{}…", "ä".repeat(VALUE_BYTES_MAX / 2)));
        let mut text = Bounded::default();
        assert!(write!(text, "{}", "x".repeat(VALUE_BYTES_MAX)).is_ok());
        assert_eq!(text.0.len(), VALUE_BYTES_MAX);
    }
}
