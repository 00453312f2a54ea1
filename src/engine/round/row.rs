//! A new event's row, with what the windows say at its place in the log, and the scores of a wave's rows.

use super::{Fresh, Round};
use crate::engine::windows::{Taken, Windowed};
use crate::event::{Event, EventBatch, Item};
use crate::features::TOO_LATE;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Events whose part of the windows is brought near at once.
const AHEAD: usize = 16;

impl Round {
    /// Brings near what the windows hold of the next items' keys, where it is that item's turn: one event after the
    /// other would wait for memory each time.
    pub(super) fn look_ahead(&mut self, batch: &EventBatch, item: usize, start: usize) {
        let Some(windowed) = self.windowed.as_mut().filter(|_| (item - start).is_multiple_of(AHEAD)) else { return };
        let items = batch.items.get(item..).unwrap_or_default();
        let events = items.iter().take(AHEAD).filter_map(|item| match item {
            Item::Event(event) => Some((event, batch.fields_of(event, self.models.fields()))),
            _ => None,
        });
        // What cannot be read is found again, and told, when it is that event's own turn.
        let reading = self.models.reading();
        let _ = catch_unwind(AssertUnwindSafe(|| windowed.warm(events, &batch.text, reading)));
    }

    /// Takes a new event in: into the windows first, so that its row holds what they say with it. `at`: its sequence and
    /// the wall clock, microseconds since 1970.
    pub(super) fn add_row(&mut self, batch: &EventBatch, item: usize, event: &Event, at: (u64, i64)) {
        let fields = batch.fields_of(event, self.models.fields());
        let (mut note, mut panicked) = (None, false);
        if let Some(windowed) = &mut self.windowed {
            let reading = self.models.reading();
            let taken = catch_unwind(AssertUnwindSafe(|| windowed.observe(at, event, (fields, &batch.text), reading)));
            let taken = taken.unwrap_or_else(|_| {
                windowed.pass_over(at.0, event);
                panicked = true;
                Taken { counted: false, label: None }
            });
            note = (!taken.counted).then_some(TOO_LATE);
            if let Some(value) = taken.label {
                self.found_label(batch, event, value);
            }
        }
        let features = self.models.features();
        let start = self.rows.len();
        self.rows.resize(start + features.width(), 0.0);
        let row = self.rows.get_mut(start..).unwrap_or_default();
        let view = self.windowed.as_ref().and_then(Windowed::view);
        if !self.models.bundle.rules().is_empty() {
            features.freeze(view.as_ref(), &mut self.frozen);
        }
        let filled = catch_unwind(AssertUnwindSafe(|| {
            features.fill(fields, &batch.text, view.as_ref(), row).map_err(|unscorable| unscorable.to_string())
        }));
        if let Some(shadow) = &mut self.models.shadow {
            shadow.add(fields, &batch.text, view.as_ref());
        }
        let unscorable = match filled {
            Ok(_) if panicked => Some(self.panicked("windows", batch, item)),
            Ok(filled) => filled.err(),
            Err(_) => Some(self.panicked("features", batch, item)),
        };
        self.fresh.push(Fresh { item, unscorable, note });
    }

    /// Scores the wave's rows in one call, or, should that panic, each for itself.
    pub(super) fn score(&mut self, batch: &EventBatch) {
        let width = self.models.features().width();
        self.scores.clear();
        self.scores.resize(self.fresh.len(), f64::NAN);
        let whole = catch_unwind(AssertUnwindSafe(|| self.models.scorer.score(&self.rows, &mut self.scores)));
        if whole.is_ok() {
            return;
        }
        for n in 0..self.fresh.len() {
            self.models.renew();
            let row = self.rows.get(n * width..(n + 1) * width).unwrap_or_default();
            let Some(score) = self.scores.get_mut(n..=n) else { continue };
            if catch_unwind(AssertUnwindSafe(|| self.models.scorer.score(row, score))).is_err() {
                let reason = self.panicked("scoring", batch, self.fresh[n].item);
                self.fresh[n].unscorable = Some(reason);
            }
        }
    }
}
