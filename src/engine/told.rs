//! What is told of single events: in the log their identity, never what else is in them; in the quarantine the whole.

use crate::event::{EventBatch, Item};
use crate::notice;
use crate::store::{QUARANTINE_ENTRY_BYTES_MAX, QuarantineEntry};
use std::time::{SystemTime, UNIX_EPOCH};

/// The code panicked over an event.
pub(super) fn panic(doing: &str, batch: &EventBatch, item: usize) {
    let Some(Item::Event(event)) = batch.items.get(item) else { return };
    let (kind, source, event_id) = (notice::EVENT_PANIC.kind, batch.str(event.source), batch.str(event.id));
    tracing::error!(kind, source, event_id, doing, "an event made the code panic: it is set aside; please report it");
}

/// The quarantine's entry of a record, with as much of its bytes as there is room for, or, unless `keep`, without.
pub(super) fn set_aside(
    kind: &str,
    source: &str,
    id: Option<String>,
    reason: String,
    raw: &[u8],
    keep: bool,
) -> QuarantineEntry {
    tracing::debug!(source, event_id = id.as_deref(), why = kind, "set aside");
    let bytes = if keep { raw } else { &[] };
    QuarantineEntry {
        kind: kind.to_owned(),
        source: source.to_owned(),
        id,
        reason,
        bytes: bytes.get(..QUARANTINE_ENTRY_BYTES_MAX).unwrap_or(bytes).to_vec(),
        length: raw.len() as u64,
        at_ms: wall_ms(),
    }
}

/// The wall clock, milliseconds since 1970; 0 before.
pub(super) fn wall_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Shortens a text to at most `limit` bytes, at a character's end.
pub(super) fn cut(text: &mut String, limit: usize) {
    let end = (0..=limit.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.truncate(end);
}
