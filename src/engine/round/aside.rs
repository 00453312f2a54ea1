//! What goes to the quarantine, with its bytes where those are kept.

use super::Round;
use crate::engine::told;
use crate::event::{BadKind, BadRecord, Event, EventBatch, Span};

impl Round {
    pub(super) fn set_aside_bad(&mut self, batch: &EventBatch, bad: &BadRecord) {
        let kind = match bad.kind {
            BadKind::Malformed => "malformed",
            BadKind::Oversized => "oversized",
        };
        let id = bad.id.map(|id| batch.str(id).to_owned());
        self.push_aside(kind, batch, batch.str(bad.source), id, bad.reason.clone(), bad.raw);
    }

    pub(super) fn set_aside(&mut self, kind: &str, batch: &EventBatch, event: &Event, reason: String) {
        let id = Some(batch.str(event.id).to_owned());
        self.push_aside(kind, batch, batch.str(event.source), id, reason, event.raw);
    }

    fn push_aside(
        &mut self,
        kind: &str,
        batch: &EventBatch,
        source: &str,
        id: Option<String>,
        reason: String,
        raw: Span,
    ) {
        let keep = self.keep_payload && !batch.private;
        let entry = told::set_aside(kind, source, id, reason, raw.of(&batch.body), keep);
        self.bytes += entry.bytes.len() + 128;
        self.along.quarantine.push(entry);
    }

    pub(super) fn panicked(&self, doing: &str, batch: &EventBatch, item: usize) -> String {
        self.counters.add_panic();
        told::panic(doing, batch, item);
        format!("internal error while {doing}")
    }
}
