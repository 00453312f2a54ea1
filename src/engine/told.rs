//! What the engine logs of single events: their identity, never what else is in them.

use crate::event::{EventBatch, Item};
use crate::notice;

/// The code panicked over an event.
pub(super) fn panic(doing: &str, batch: &EventBatch, item: usize) {
    let Some(Item::Event(event)) = batch.items.get(item) else { return };
    let (kind, source, event_id) = (notice::EVENT_PANIC.kind, batch.str(event.source), batch.str(event.id));
    tracing::error!(kind, source, event_id, doing, "an event made the code panic: it is set aside; please report it");
}

/// A record goes to the quarantine.
pub(super) fn set_aside(why: &str, source: &str, event_id: Option<&str>) {
    tracing::debug!(source, event_id, why, "set aside");
}
