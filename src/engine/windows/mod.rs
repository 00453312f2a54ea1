//! The state of window features as the leader holds it, with what its commits carry of it.
//!
//! It moves with each new event, in the order of the log, before the commit; should that fail nothing is answered any
//! more and the process ends, so that no state is ever seen that the log does not hold. At a start it is folded from the
//! log ([`fn@refold`]): the same events and labels give the same numbers, bit for bit.
//!
//! Limits: [`crate::features::WAITING_MAX`] labels wait for events that are not known yet; the oldest goes first, and is counted.

mod refold;

pub use refold::{Refolded, refold};

use crate::event::{Event, Field};
use crate::features::{Ahead, CellKind, CellReader, Plan, Stats, View, Waiting, Windows};
use crate::notice;
use crate::store::{self, Observation, Observed, Schema, Store, StoreError};
use std::sync::Arc;

/// Windows, the events of the round in hand, and labels that wait for theirs.
pub(super) struct Windowed {
    windows: Windows,
    schema: Arc<Schema>,
    seed: u64,
    /// Of the round in hand.
    rows: Vec<Observation>,
    cells: Vec<u64>,
    /// Times and cells of events that come next.
    ahead: (Vec<i64>, Vec<u64>),
    /// Of the round that is being committed: not in the store yet.
    in_flight: Option<Arc<Observed>>,
    unknown: Waiting,
    /// Time of the first event that all columns are known of.
    whole_since_us: Option<i64>,
    /// Events that were older than the longest window.
    too_late: u64,
    /// Which steps of what gives way for want of memory were told.
    told: [bool; 3],
}

/// What is to be seen of the windows from outside.
#[derive(Clone, Debug)]
pub struct WindowFigures {
    pub stats: Stats,
    /// Time of the newest event, microseconds since 1970.
    pub newest_us: Option<i64>,
    /// Since when, by the events' time, all is known that the windows want.
    pub whole_since_us: Option<i64>,
    /// Events that came later than the longest window, and were not counted.
    pub too_late: u64,
    /// Labels that wait for their events.
    pub labels_waiting: usize,
    /// Labels that waited and went for want of room.
    pub labels_dropped: u64,
}

/// An event as the windows have it.
pub(super) struct Seen {
    pub sequence: u64,
    pub time_us: i64,
    /// Whether windows hold it.
    counted: bool,
    cells: Vec<u64>,
}

/// What became of an event that was taken in.
pub(super) struct Taken {
    /// Whether windows hold it: one older than the longest window is not counted.
    pub counted: bool,
    /// The label that waited for it.
    pub label: Option<f64>,
}

impl Windowed {
    pub fn new(refolded: Refolded, seed: u64) -> Self {
        let Refolded { windows, unknown, whole_since_us, .. } = refolded;
        let schema = schema_of(windows.plan());
        Self {
            windows,
            schema,
            seed,
            rows: Vec::new(),
            cells: Vec::new(),
            ahead: <(Vec<i64>, Vec<u64>)>::default(),
            in_flight: None,
            unknown,
            whole_since_us,
            too_late: 0,
            told: [false; 3],
        }
    }

    /// What windows need of an event.
    pub fn plan(&self) -> &Arc<Plan> {
        self.windows.plan()
    }

    /// What is to be seen of them from outside.
    pub fn figures(&self) -> WindowFigures {
        let (labels_waiting, labels_dropped) = (self.unknown.len(), self.unknown.dropped);
        WindowFigures {
            stats: self.windows.stats(),
            newest_us: self.windows.newest_us(),
            whole_since_us: self.whole_since_us,
            too_late: self.too_late,
            labels_waiting,
            labels_dropped,
        }
    }

    pub fn set_budget(&mut self, bytes: u64) {
        self.windows.set_bytes(usize::try_from(bytes).unwrap_or(usize::MAX));
    }

    /// The same past for other windows: what is held already is taken over, the rest is what was folded for them.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn arranged(mut self, plan: &Arc<Plan>, refolded: Vec<Refolded>, store: &Store) -> Result<Self, StoreError> {
        if self.plan().is_arranged_as(plan) {
            return Ok(self);
        }
        let mut folded = Vec::with_capacity(refolded.len());
        for mut refolded in refolded {
            refolded.follow(store)?;
            let flying = self.in_flight.as_deref().map(|flying| (&flying.schema, &flying.rows[..], &flying.cells[..]));
            let own = (&self.schema, &self.rows[..], &self.cells[..]);
            flying.into_iter().chain([own]).for_each(|(schema, rows, cells)| refolded.absorb(schema, rows, cells));
            // Where something that they want was never kept, they are whole from the next event on.
            let both = self.whole_since_us.zip(refolded.whole_since_us);
            self.whole_since_us = both.map(|(held, folded)| held.max(folded));
            folded.push(refolded.windows);
        }
        let schema = schema_of(plan);
        // What is to be committed is in the columns of before.
        let mut mapping = refold::Mapping::default();
        let (mut cells, mut own) = (Vec::new(), Vec::new());
        for stored in self.cells.chunks(self.width()) {
            mapping.of(plan, &self.schema, stored, &mut own);
            cells.extend_from_slice(&own);
        }
        self.windows = self.windows.arranged(Arc::clone(plan), folded);
        Ok(Self { schema, cells, ..self })
    }

    /// Has the memory at hand that the next events need, each with its fields and all with their text.
    pub fn warm<'a>(
        &mut self,
        events: impl Iterator<Item = (&'a Event, &'a [Field])>,
        text: &str,
        reader: &CellReader,
    ) {
        self.ahead.0.clear();
        self.ahead.1.clear();
        for (event, fields) in events {
            self.ahead.0.push(event.time_us);
            reader.read(fields, text, self.seed, &mut self.ahead.1);
        }
        self.windows.warm(&self.ahead.0, &self.ahead.1, Ahead::Asked);
    }

    /// Takes a new event in. `reader` knows the fields of its batch.
    pub fn observe(
        &mut self,
        (sequence, wall_us): (u64, i64),
        event: &Event,
        (fields, text): (&[Field], &str),
        reader: &CellReader,
    ) -> Taken {
        let Event { time_us, identity, .. } = *event;
        let from = self.cells.len();
        reader.read(fields, text, self.seed, &mut self.cells);
        let counted = self.windows.admit(time_us, wall_us);
        let cells = self.cells.get(from..).unwrap_or_default();
        let label = self.unknown.take(identity);
        if counted {
            self.windows.insert(sequence, time_us, cells);
            if let Some(value) = label {
                self.windows.label(sequence, time_us, cells, value);
            }
        }
        self.whole_since_us.get_or_insert(time_us);
        self.too_late += u64::from(!counted);
        self.rows.push(Observation { sequence, time_us, identity, counted });
        Taken { counted, label }
    }

    /// Notes an event that could not be taken in, which is a bug: windows do not hold it, also after a restart.
    pub fn pass_over(&mut self, sequence: u64, event: &Event) {
        let Event { time_us, identity, .. } = *event;
        if self.rows.last().is_some_and(|row| row.sequence == sequence) {
            self.rows.pop();
        }
        self.cells.resize(self.rows.len() * self.width(), 0);
        let plan = Arc::clone(self.plan());
        self.cells.extend(plan.columns().iter().map(|column| column.kind.missing()));
        self.rows.push(Observation { sequence, time_us, identity, counted: false });
    }

    /// What the windows say at the event that was taken in last.
    pub fn view(&self) -> Option<View<'_>> {
        let row = self.rows.last()?;
        let cells = self.cells.get(self.cells.len() - self.width()..).unwrap_or_default();
        Some(self.windows.view(row.sequence, row.time_us, cells))
    }

    fn width(&self) -> usize {
        self.schema.columns.len()
    }

    /// An event by its sequence, or, where that is not known, by identity and time.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn find(
        &self,
        store: &Store,
        sequence: Option<u64>,
        (identity, time_us): (u64, Option<i64>),
    ) -> Result<Option<Seen>, StoreError> {
        let is_it = |row: &Observation| match sequence {
            Some(sequence) => row.sequence == sequence,
            None => row.identity == identity && Some(row.time_us) == time_us,
        };
        let flying = self.in_flight.as_deref().map(|flying| (&flying.schema, &flying.rows[..], &flying.cells[..]));
        for (schema, rows, cells) in [(&self.schema, &self.rows[..], &self.cells[..])].into_iter().chain(flying) {
            // Sequences follow each other: no search where the event is known by its own.
            let first = rows.first().map_or(0, |row| row.sequence);
            let place = match sequence {
                Some(sequence) => sequence.checked_sub(first).and_then(|place| usize::try_from(place).ok()),
                None => rows.iter().position(is_it),
            };
            if let Some((place, row)) = place.and_then(|place| Some((place, rows.get(place).filter(|row| is_it(row))?)))
            {
                let cells = cells.chunks(schema.columns.len().max(1)).nth(place).unwrap_or_default();
                return Ok(Some(self.seen(row, schema, cells)));
            }
        }
        let stored = match (sequence, time_us) {
            (Some(sequence), _) => store.observation(sequence)?,
            (None, Some(time_us)) => store.observation_of(identity, time_us)?,
            (None, None) => None,
        };
        let Some((chunk, place)) = stored else { return Ok(None) };
        let Some((row, cells)) = chunk.row(place) else { return Ok(None) };
        Ok(Some(self.seen(row, &chunk.schema, cells)))
    }

    /// An event whose cells may be in the columns of other windows: of a model before.
    fn seen(&self, row: &Observation, schema: &Arc<Schema>, stored: &[u64]) -> Seen {
        let mut cells = Vec::with_capacity(self.width());
        refold::Mapping::default().of(self.windows.plan(), schema, stored, &mut cells);
        Seen { sequence: row.sequence, time_us: row.time_us, counted: row.counted, cells }
    }

    /// Takes a label in, and writes what it is about into the record that is kept of it.
    pub fn label(&mut self, seen: Option<&Seen>, label: &mut store::Label) {
        match seen {
            Some(seen) => {
                self.unknown.take(label.identity);
                label.sequence = Some(seen.sequence);
                label.event_us = Some(seen.time_us);
                if seen.counted {
                    self.windows.label(seen.sequence, seen.time_us, &seen.cells, label.value);
                    // By these it is found again at a start.
                    label.schema = Some(Arc::clone(&self.schema));
                    label.cells.clone_from(&seen.cells);
                }
            }
            None if label.sequence.is_none() => {
                self.unknown.put(label.identity, label.value);
            }
            None => {}
        }
    }

    /// What the windows have of the event that was taken in last.
    pub fn last(&self) -> Option<Seen> {
        let row = self.rows.last()?;
        let cells = self.cells.get(self.cells.len() - self.width()..).unwrap_or_default().to_vec();
        Some(Seen { sequence: row.sequence, time_us: row.time_us, counted: row.counted, cells })
    }

    /// Says what the budget of memory has cost, each step once.
    fn tell(&mut self) {
        let stats = self.windows.stats();
        let kind = notice::WINDOWS_TIGHT.kind;
        let steps = [("late", stats.shortened), ("coarse", stats.coarsened_keys), ("cold", stats.dropped_keys)];
        for ((step, count), told) in steps.into_iter().zip(&mut self.told) {
            if count > 0 && !std::mem::replace(told, true) {
                let (keys, bytes) = (stats.keys, stats.bytes);
                tracing::warn!(
                    kind,
                    step,
                    keys,
                    bytes,
                    "the past that window features need does not fit windows.memory"
                );
            }
        }
    }

    /// What the commit of the round in hand carries.
    pub fn seal(&mut self) -> (Option<Arc<Observed>>, i64) {
        self.tell();
        let horizon_us = self.windows.horizon_us();
        self.in_flight = (!self.rows.is_empty()).then(|| {
            Arc::new(Observed {
                schema: Arc::clone(&self.schema),
                rows: std::mem::take(&mut self.rows),
                cells: std::mem::take(&mut self.cells),
                newest_us: self.windows.newest_us().unwrap_or(i64::MIN),
            })
        });
        (self.in_flight.clone(), horizon_us)
    }
}

/// Whether the store takes what these windows need of an event.
///
/// # Errors
/// Says what is too much.
pub fn check_windows(plan: &Plan) -> Result<(), StoreError> {
    schema_of(plan).check()
}

/// What is stored of an event for these windows.
fn schema_of(plan: &Plan) -> Arc<Schema> {
    let kind = |kind| match kind {
        CellKind::Hash => store::CellKind::Hash,
        CellKind::Number => store::CellKind::Number,
    };
    let columns = plan.columns().iter().map(|column| (kind(column.kind), column.name.clone()));
    Arc::new(Schema { columns: columns.collect() })
}
