//! What window features need of the events before: the daemon's windows, without a store.
//!
//! An event whose id came before is not counted again, as in the daemon, for as long as a window can hold the first.
//! A label that comes before its event waits for it.

use super::engine::SEED;
use crate::{
    event::{Event, Field, Label, Pointer},
    features::{CellReader, FeatureSet, Limits, Plan, View, Waiting, Windows},
    model::Bundle,
};
use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

/// Memory of the windows offline: as much as there is.
const BYTES_MAX: usize = 1 << 40;

/// The windows, and where the events are that a label can still be of.
pub(super) struct Past {
    windows: Windows,
    reading: CellReader,
    /// By the fingerprint of the identity.
    known: HashMap<u64, Known>,
    /// Oldest arrival first.
    order: VecDeque<(i64, u64)>,
    /// Labels that wait for their events.
    waiting: Waiting,
    next: u64,
    cells: Vec<u64>,
    time_us: i64,
}

struct Known {
    sequence: u64,
    time_us: i64,
    cells: Box<[u64]>,
}

impl Past {
    /// None where the bundle has no window features; else with its features as they read the windows. `pointers`: the
    /// fields of the events' batches.
    pub fn of(bundle: &Bundle, pointers: &[Pointer]) -> Option<(Self, FeatureSet)> {
        let plan = Arc::new(Plan::of(&[bundle.features()])?);
        let features = bundle.features().bound_to(&plan);
        let past = Self {
            reading: plan.reading(pointers),
            windows: Windows::new(plan, Limits { bytes: BYTES_MAX, lateness_us: None }),
            known: HashMap::new(),
            order: VecDeque::new(),
            waiting: Waiting::default(),
            next: 1,
            cells: Vec::new(),
            time_us: 0,
        };
        Some((past, features))
    }

    /// Takes an event in. Whether it is counted, unless it is a repeat: false where it came too late.
    pub fn observe(&mut self, event: &Event, fields: &[Field], text: &str, wall_us: i64) -> bool {
        self.cells.clear();
        self.reading.read(fields, text, SEED, &mut self.cells);
        let Event { time_us, identity, .. } = *event;
        self.time_us = time_us;
        self.forget();
        if self.known.contains_key(&identity) {
            return true;
        }
        let sequence = self.next;
        self.next += 1;
        let counted = self.windows.admit(time_us, wall_us);
        if counted {
            self.windows.insert(sequence, time_us, &self.cells);
            if let Some(value) = self.waiting.take(identity) {
                self.windows.label(sequence, time_us, &self.cells, value);
            }
            self.known.insert(identity, Known { sequence, time_us, cells: self.cells.as_slice().into() });
            self.order.push_back((time_us, identity));
        }
        counted
    }

    /// Lets go of events that no window can hold any more.
    fn forget(&mut self) {
        let horizon_us = self.windows.horizon_us();
        while self.order.front().is_some_and(|(time_us, _)| *time_us <= horizon_us) {
            if let Some((_, identity)) = self.order.pop_front() {
                self.known.remove(&identity);
            }
        }
    }

    /// What the windows say at the event that was taken in last.
    pub fn view(&self) -> View<'_> {
        self.windows.view(self.next - 1, self.time_us, &self.cells)
    }

    /// Takes in what became known of an event.
    pub fn label(&mut self, label: &Label) {
        if let Some(known) = self.known.get(&label.identity) {
            self.windows.label(known.sequence, known.time_us, &known.cells, label.value);
            return;
        }
        self.waiting.put(label.identity, label.value);
    }
}
