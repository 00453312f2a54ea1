//! Labels: what became known later of an event, told to the windows and kept in the log.

use super::Round;
use crate::event::{Event, EventBatch, Label, Span};
use crate::store::{self, StoreError};

impl Round {
    /// Takes a label in. Whether its event is known. `first`: the sequence of this wave's first new event.
    pub(super) fn take_label(&mut self, batch: &EventBatch, label: &Label, first: u64) -> Result<bool, StoreError> {
        let sequence = self.sequence_of(batch, label, first)?;
        let mut kept = store::Label {
            source: batch.str(label.source).to_owned(),
            id: batch.str(label.id).to_owned(),
            key: label.key.map(|key| batch.str(key).to_owned()),
            identity: label.identity,
            sequence,
            event_us: label.event_us,
            time_us: label.time_us,
            value: label.value,
            log_ms: self.clock.now_ms(),
            next: first + self.fresh.len() as u64,
            schema: None,
            cells: Vec::new(),
        };
        if let Some(windowed) = &mut self.windowed {
            let seen = windowed.find(&self.store, sequence, (label.identity, label.event_us))?;
            windowed.label(seen.as_ref(), &mut kept);
        }
        let known = kept.sequence.is_some();
        self.bytes += 48 + label.id.len() + label.key.map_or(0, Span::len) + 8 * kept.cells.len();
        self.along.labels.push(kept);
        Ok(known)
    }

    /// An event has come that a label waited for: the label is written again, now with its event.
    pub(super) fn found_label(&mut self, batch: &EventBatch, event: &Event, value: f64) {
        let mut kept = store::Label {
            source: batch.str(event.source).to_owned(),
            id: batch.str(event.id).to_owned(),
            key: None,
            identity: event.identity,
            sequence: None,
            event_us: Some(event.time_us),
            time_us: event.time_us,
            value,
            log_ms: self.clock.now_ms(),
            next: self.builder.next_sequence() + self.fresh.len() as u64 + 1,
            schema: None,
            cells: Vec::new(),
        };
        if let Some(windowed) = &mut self.windowed {
            let seen = windowed.last();
            windowed.label(seen.as_ref(), &mut kept);
        }
        self.bytes += 48 + event.id.len() + 8 * kept.cells.len();
        self.along.labels.push(kept);
    }
}
