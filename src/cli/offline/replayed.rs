//! The events that a store keeps for a replay, as lines that every offline command reads: each event a CloudEvent, and
//! between them the labels, where they became known.
//!
//! Labels of a store up to format 3 stand where the log clock has them, to the millisecond.

use crate::{
    cli::Failure,
    event::{LABEL_TYPE, Pointer, Timestamp},
    store::{KeptEvent, KeptEvents, Label, StoreError, inspect::Inspector},
};
use serde_json::{Value, json};
use std::{
    io::{self, Read},
    iter::Peekable,
    vec::IntoIter,
};

/// So many lines are looked through for the fields of a bundle.
const LOOKED_THROUGH: usize = 1000;

/// Reads as NDJSON.
pub(in crate::cli) struct Replayed {
    kept: Peekable<KeptEvents>,
    /// As many as the store has.
    labels: Peekable<IntoIter<Known>>,
    line: Vec<u8>,
    /// What of the line has been read.
    at: usize,
    /// The copy that is read stays as long.
    _inspector: Inspector,
}

/// A label, and when it came.
struct Known {
    next: u64,
    log_ms: u64,
    line: String,
}

impl Replayed {
    pub fn new(inspector: Inspector) -> Result<Self, Failure> {
        let mut labels = Vec::new();
        inspector
            .each_label(|label| labels.push(Known { next: label.next, log_ms: label.log_ms, line: line_of(label) }))?;
        let kept = inspector.kept().peekable();
        Ok(Self { kept, labels: labels.into_iter().peekable(), line: Vec::new(), at: 0, _inspector: inspector })
    }

    /// The next line, with its end; empty at the end.
    fn advance(&mut self) -> Result<(), StoreError> {
        (self.at, self.line) = (0, Vec::new());
        let (sequence, log_ms) = match self.kept.peek() {
            Some(Ok(event)) => (event.sequence, event.log_ms),
            Some(Err(error)) => return Err(error.clone()),
            None => (u64::MAX, u64::MAX),
        };
        let is_due = |label: &Known| if label.next > 0 { label.next <= sequence } else { label.log_ms < log_ms };
        if let Some(label) = self.labels.next_if(is_due) {
            self.line = label.line.into_bytes();
        } else if let Some(event) = self.kept.next() {
            self.line = event?.line.into_vec();
        }
        if !self.line.is_empty() {
            self.line.push(b'\n');
        }
        Ok(())
    }
}

impl Read for Replayed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.line.len() {
            self.advance().map_err(io::Error::other)?;
        }
        let rest = self.line.get(self.at..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        self.at += count;
        Ok(count)
    }
}

fn line_of(label: &Label) -> String {
    let mut line = json!({ "type": LABEL_TYPE, "source": label.source, "id": label.id, "label": label.value });
    if let Value::Object(members) = &mut line {
        if let Some(key) = &label.key {
            members.insert("key".to_owned(), key.as_str().into());
        }
        if let Some(event_us) = label.event_us {
            let mut time = Vec::new();
            Timestamp(event_us).write(&mut time);
            members.insert("time".to_owned(), String::from_utf8(time).unwrap_or_default().into());
        }
    }
    line.to_string()
}

/// An event's time, as its line has it.
pub(in crate::cli) fn kept_time(event: &KeptEvent) -> Option<String> {
    let event: Value = serde_json::from_slice(&event.line).ok()?;
    event.get("time").and_then(Value::as_str).map(str::to_owned)
}

/// The fields among `wanted` that stand in none of the first events: they were not kept.
pub(in crate::cli) fn not_kept(inspector: &Inspector, wanted: &[Pointer]) -> Result<Vec<String>, Failure> {
    let mut missing: Vec<String> = wanted.iter().map(ToString::to_string).collect();
    for event in inspector.kept().take(LOOKED_THROUGH) {
        let KeptEvent { line, .. } = event?;
        let event: Value = serde_json::from_slice(&line).unwrap_or_default();
        missing.retain(|pointer| event.get("data").and_then(|data| data.pointer(pointer)).is_none());
        if missing.is_empty() {
            break;
        }
    }
    Ok(missing)
}
