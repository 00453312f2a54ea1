//! The windows' state out of the log: at a start, and for windows that a new model brings.

use crate::features::{Ahead, CellKind, Limits, Plan, Waiting, Windows};
use crate::store::{self, Observation, ObservationChunk, Schema, Store, StoreError};
use std::ops::ControlFlow;
use std::sync::Arc;

/// What the log gave.
pub struct Refolded {
    pub(super) windows: Windows,
    pub(super) unknown: Waiting,
    /// The sequence after the last event in it.
    pub(super) next: u64,
    /// Where to read on in the labels.
    next_label: u64,
    /// Time of the first event that is known with all that the windows want of it.
    pub(super) whole_since_us: Option<i64>,
    /// Events and labels taken in.
    pub events: u64,
    pub labels: u64,
}

/// Folds what the store keeps of events and labels into windows for `plan`.
///
/// # Errors
/// When the store cannot be read.
pub fn refold(store: &Store, plan: &Arc<Plan>, limits: Limits) -> Result<Refolded, StoreError> {
    let windows = Windows::new(Arc::clone(plan), limits);
    let mut folded = Refolded {
        windows,
        unknown: Waiting::default(),
        next: 0,
        next_label: 0,
        whole_since_us: None,
        events: 0,
        labels: 0,
    };
    folded.follow(store)?;
    Ok(folded)
}

impl Refolded {
    /// Takes in the events that were committed since.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn follow(&mut self, store: &Store) -> Result<(), StoreError> {
        self.follow_events(store)?;
        self.follow_labels(store)
    }

    fn follow_events(&mut self, store: &Store) -> Result<(), StoreError> {
        let plan = Arc::clone(self.windows.plan());
        let mut mapping = Mapping::default();
        let mut cells = Vec::new();
        store.observations(self.next, &mut |chunk: &ObservationChunk| {
            let is_whole = mapping.is_whole(&plan, &chunk.schema);
            if !is_whole {
                self.whole_since_us = None;
            }
            let rows = || (0..chunk.rows.len()).filter_map(|n| chunk.row(n));
            let (mut times, mut ahead) = (Vec::with_capacity(chunk.rows.len()), Vec::new());
            for (row, found) in rows().filter(|(row, _)| row.counted) {
                mapping.of(&plan, &chunk.schema, found, &mut cells);
                times.push(row.time_us);
                ahead.extend_from_slice(&cells);
            }
            self.windows.warm(&times, &ahead, Ahead::Entered);
            for (row, found) in rows() {
                if row.sequence < self.next {
                    continue;
                }
                self.next = row.sequence + 1;
                self.events += 1;
                if is_whole {
                    self.whole_since_us.get_or_insert(row.time_us);
                }
                if row.counted {
                    mapping.of(&plan, &chunk.schema, found, &mut cells);
                    self.windows.insert(row.sequence, row.time_us, &cells);
                }
            }
            self.windows.restore_newest(chunk.newest_us);
            ControlFlow::Continue(())
        })
    }

    /// After the events: what a label says is the same whenever it is said.
    fn follow_labels(&mut self, store: &Store) -> Result<(), StoreError> {
        let Self { windows, unknown, labels, .. } = self;
        let plan = Arc::clone(windows.plan());
        let mut mapping = Mapping::default();
        let mut cells = Vec::new();
        self.next_label = store.labels_from(self.next_label, &mut |label| {
            let Some(sequence) = label.sequence else {
                unknown.put(label.identity, label.value);
                return;
            };
            unknown.take(label.identity);
            if let (Some(schema), Some(event_us)) = (&label.schema, label.event_us) {
                mapping.of(&plan, schema, &label.cells, &mut cells);
                *labels += u64::from(windows.label(sequence, event_us, &cells, label.value));
            }
        })?;
        Ok(())
    }
}

impl Refolded {
    /// Takes in events that are not in the store yet, after those that are.
    pub(super) fn absorb(&mut self, schema: &Arc<Schema>, rows: &[Observation], cells: &[u64]) {
        let plan = Arc::clone(self.windows.plan());
        let mut mapping = Mapping::default();
        let mut own = Vec::new();
        for (row, stored) in rows.iter().zip(cells.chunks(schema.columns.len().max(1))) {
            if row.sequence < self.next {
                continue;
            }
            self.next = row.sequence + 1;
            if row.counted {
                mapping.of(&plan, schema, stored, &mut own);
                self.windows.insert(row.sequence, row.time_us, &own);
            }
        }
    }
}

/// From the columns that were stored to those that the windows want. The last schema is remembered: chunk after chunk
/// has the same.
#[derive(Default)]
pub(super) struct Mapping {
    schema: Option<Arc<Schema>>,
    places: Vec<Option<usize>>,
}

impl Mapping {
    /// Whether what is stored holds all that the windows want.
    fn is_whole(&mut self, plan: &Plan, schema: &Arc<Schema>) -> bool {
        self.look(plan, schema);
        self.places.iter().all(Option::is_some)
    }

    fn look(&mut self, plan: &Plan, schema: &Arc<Schema>) {
        if self.schema.as_ref().is_none_or(|known| !Arc::ptr_eq(known, schema) && known != schema) {
            let columns: Vec<_> = schema.columns.iter().map(|(kind, name)| (own_kind(*kind), name.clone())).collect();
            self.places = plan.mapping(&columns);
            self.schema = Some(Arc::clone(schema));
        }
    }

    pub fn of(&mut self, plan: &Plan, schema: &Arc<Schema>, stored: &[u64], cells: &mut Vec<u64>) {
        self.look(plan, schema);
        cells.clear();
        cells.extend(self.places.iter().zip(plan.columns()).map(|(place, column)| {
            place.and_then(|place| stored.get(place)).copied().unwrap_or(column.kind.missing())
        }));
    }
}

fn own_kind(kind: store::CellKind) -> CellKind {
    match kind {
        store::CellKind::Hash => CellKind::Hash,
        store::CellKind::Number => CellKind::Number,
    }
}
