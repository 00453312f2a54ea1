//! One round: what the leader decides before a commit. No I/O of its own but the look-up of old chunks.

mod aside;
mod known;
mod labels;
mod record;
mod row;

use super::models::Models;
use super::pending::Pending;
use super::progress::Progress;
use super::windows::{Refolded, Windowed};
use super::{Along, Counters, Outcome, ROUND_BYTES_MAX, ROUND_EVENTS_MAX, Submission, WAVE_EVENTS_MAX, told};
use crate::event::{Item, KeptForm};
use crate::store::{BatchBuilder, Chunk, Index, Kept, LogClock, Observed, Room, Store, StoreError};
use known::Known;
use std::sync::Arc;

/// How long what windows need is kept while no model has any, microseconds: one that brings them back finds it.
const UNUSED_KEPT_US: i64 = 30 * 86_400_000_000;

/// What one commit holds, and whom to answer after it.
pub(super) struct Sealed {
    pub chunks: Arc<[Arc<Chunk>]>,
    pub along: Along,
    /// What the windows need of its events.
    pub observed: Option<Arc<Observed>>,
    /// Event time at or before which the windows need nothing any more.
    pub horizon_us: Option<i64>,
    /// What is kept of its events for a replay.
    pub kept: Option<Kept>,
    pub answered: Vec<Pending>,
    pub events: usize,
}

/// A new event of the wave in hand.
struct Fresh {
    item: usize,
    /// Why it has no row, if it has none.
    unscorable: Option<String>,
    /// What its verdict is to say beside its reasons.
    note: Option<&'static str>,
}

/// Dedup, features, scoring and the building of records.
pub(super) struct Round {
    store: Arc<Store>,
    index: Index,
    builder: BatchBuilder,
    clock: LogClock,
    models: Models,
    /// The past that window features need, where there are any.
    windowed: Option<Windowed>,
    moved: Arc<Progress>,
    counters: Arc<Counters>,
    /// Whether the quarantine holds records with their bytes.
    keep_payload: bool,
    /// How events are kept for a replay, where they are.
    form: Option<KeptForm>,
    kept: Kept,
    /// Of the event in hand.
    line: Vec<u8>,
    /// Chunks of the round that is being committed: not in the store yet.
    in_flight: Arc<[Arc<Chunk>]>,
    /// A long submission that goes on in the next round.
    unfinished: Option<Pending>,
    answered: Vec<Pending>,
    along: Along,
    bytes: usize,
    decided: Vec<(Box<str>, u64)>,
    /// The sequence from which the newest models score.
    adopted_at: u64,
    // Buffers of a wave.
    fresh: Vec<Fresh>,
    rows: Vec<f64>,
    scores: Vec<f64>,
    /// What the windows held at each new event's place, for rules.
    frozen: Vec<f64>,
}

/// What a round is made of.
pub(super) struct Parts {
    pub store: Arc<Store>,
    pub index: Index,
    pub builder: BatchBuilder,
    pub clock: LogClock,
    pub models: Models,
    /// The windows' past, where the models have any.
    pub refolded: Option<Refolded>,
    pub counters: Arc<Counters>,
    pub keep_payload: bool,
    pub keep_events: bool,
}

impl Round {
    pub fn new(parts: Parts) -> Self {
        let Parts { store, index, builder, clock, mut models, refolded, counters, keep_payload, keep_events } = parts;
        let windowed = refolded.map(|refolded| Windowed::new(refolded, store.seed()));
        models.bind(windowed.as_ref().map(|windowed| windowed.plan().as_ref()));
        Self {
            adopted_at: builder.next_sequence(),
            store,
            index,
            builder,
            clock,
            models,
            windowed,
            moved: Arc::default(),
            counters,
            keep_payload,
            form: keep_events.then(KeptForm::default),
            kept: Kept::default(),
            line: Vec::new(),
            in_flight: Arc::new([]),
            unfinished: None,
            answered: Vec::new(),
            along: Along::default(),
            bytes: 0,
            decided: Vec::new(),
            fresh: Vec::with_capacity(WAVE_EVENTS_MAX),
            rows: Vec::new(),
            scores: Vec::new(),
            frozen: Vec::new(),
        }
    }

    /// Tells there that it gets on.
    pub fn telling(self, moved: Arc<Progress>) -> Self {
        Self { moved, ..self }
    }

    /// Whether it takes no more before a commit.
    pub fn is_full(&self) -> bool {
        self.unfinished.is_some() || self.builder.len() >= ROUND_EVENTS_MAX || self.bytes >= ROUND_BYTES_MAX
    }

    /// Whether there is anything to commit or to answer.
    pub fn is_empty(&self) -> bool {
        self.answered.is_empty() && self.unfinished.is_none()
    }

    /// Works off one submission, or as much of it as fits. Call only while not full.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn take(&mut self, submission: Submission) -> Result<(), StoreError> {
        self.adopt()?;
        let outcomes = Vec::with_capacity(submission.batch.items.len());
        self.go_on(Pending { submission, outcomes, refusal: None, chunks: Vec::new(), fresh: false })
    }

    /// Takes over a model that has been swapped in.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn adopt(&mut self) -> Result<(), StoreError> {
        if let Some(shares) = self.models.adopt() {
            self.index.set_budget(shares.index);
            self.adopted_at = self.builder.next_sequence();
            if let Some(windowed) = &mut self.windowed {
                windowed.set_budget(shares.windows);
            }
        }
        if self.models.is_over() {
            self.count_decided();
            self.models.go_on();
            self.bind();
        }
        self.arrange()
    }

    /// Has the windows hold what the models want that batches can still be for.
    fn arrange(&mut self) -> Result<(), StoreError> {
        if !self.models.take_rearranged() {
            return Ok(());
        }
        let plan = self.models.plan();
        self.windowed = match (self.windowed.take(), plan) {
            (Some(windowed), Some(plan)) => Some(windowed.arranged(&plan, self.models.take_refolded(), &self.store)?),
            (None, Some(plan)) => {
                let mut all = self.models.take_refolded();
                match all.pop() {
                    Some(mut last) => {
                        last.follow(&self.store)?;
                        Some(Windowed::new(last, self.store.seed()).arranged(&plan, all, &self.store)?)
                    }
                    None => None,
                }
            }
            (_, None) => None,
        };
        self.bind();
        Ok(())
    }

    /// Has the models in use read the windows as they are arranged now.
    fn bind(&mut self) {
        self.models.bind(self.windowed.as_ref().map(|windowed| windowed.plan().as_ref()));
    }

    /// Drops what it holds unanswered: after a failure nobody may be told that something is durable.
    pub fn abandon(&mut self) {
        self.answered.clear();
        self.unfinished = None;
    }

    fn go_on(&mut self, mut pending: Pending) -> Result<(), StoreError> {
        let total = pending.submission.batch.items.len();
        while pending.outcomes.len() < total {
            if self.is_full() {
                self.unfinished = Some(pending);
                return Ok(());
            }
            self.wave(&mut pending)?;
        }
        let mut along = std::mem::take(&mut pending.submission.along);
        if pending.refusal.is_some() {
            // What was refused comes again from where the offset stands.
            along.offsets.clear();
        }
        along.models.iter_mut().for_each(|used| used.first_sequence = self.adopted_at);
        self.bytes += along.quarantine.iter().map(|entry| entry.bytes.len()).sum::<usize>();
        self.along.append(along);
        self.answered.push(pending);
        Ok(())
    }

    /// Closes the round and makes ready for the next one, in which an unfinished submission goes on.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn seal(&mut self) -> Result<Sealed, StoreError> {
        let events = self.builder.len();
        let chunks: Arc<[Arc<Chunk>]> = self.builder.seal().into();
        self.in_flight = Arc::clone(&chunks);
        let mut answered = std::mem::take(&mut self.answered);
        for pending in answered.iter_mut().chain(self.unfinished.as_mut()) {
            if std::mem::take(&mut pending.fresh) {
                pending.chunks.extend(chunks.iter().cloned());
            }
        }
        self.count_decided();
        self.bytes = 0;
        let along = std::mem::take(&mut self.along);
        let (observed, horizon_us) = match &mut self.windowed {
            Some(windowed) => {
                self.counters.set_windows(Some(windowed.figures()));
                let (observed, horizon_us) = windowed.seal();
                (observed, Some(horizon_us))
            }
            None => (None, Some(told::wall_ms().saturating_mul(1000).saturating_sub(UNUSED_KEPT_US))),
        };
        let kept = std::mem::take(&mut self.kept);
        let kept = (!kept.is_empty()).then_some(kept);
        self.index.expire(self.store.window_floor());
        if let Some(pending) = self.unfinished.take() {
            self.go_on(pending)?;
        }
        Ok(Sealed { chunks, along, observed, horizon_us, kept, answered, events })
    }

    fn count_decided(&mut self) {
        let decided = self.decided.iter().map(|(decision, count)| (&**decision, *count));
        self.counters.add_decided(self.models.bundle.label(), decided);
        self.decided.clear();
    }

    /// Decides the next events of a submission, as many as are scored in one call.
    fn wave(&mut self, pending: &mut Pending) -> Result<(), StoreError> {
        if !self.models.fits(&pending.submission.batch) {
            self.count_decided();
            self.models.change(&pending.submission.batch);
            self.bind();
        }
        self.fresh.clear();
        self.rows.clear();
        self.frozen.clear();
        if let Some(shadow) = &mut self.models.shadow {
            shadow.begin();
        }
        let first = self.builder.next_sequence();
        let room = self.store.room();
        let wall_us = told::wall_ms().saturating_mul(1000);
        let start = pending.outcomes.len();
        for item in start..pending.submission.batch.items.len() {
            if self.fresh.len() >= WAVE_EVENTS_MAX || self.bytes >= ROUND_BYTES_MAX {
                break;
            }
            // Each may be a look into the store: a mass of repeats on a slow disk is no standstill.
            if item.is_multiple_of(64) {
                self.moved.note();
            }
            let batch = &pending.submission.batch;
            self.look_ahead(batch, item, start);
            let outcome = match &batch.items[item] {
                Item::Bad(bad) => match room {
                    Room::Yes => {
                        self.set_aside_bad(batch, bad);
                        Outcome::Bad
                    }
                    _ => Outcome::Refused,
                },
                Item::Label(label) => match room {
                    Room::Yes => Outcome::Label { known: self.take_label(batch, label, first)? },
                    _ => Outcome::Refused,
                },
                Item::Event(event) => match self.find(batch, event, first)? {
                    Known::Same { sequence, chunk } => {
                        pending.chunks.extend(chunk);
                        pending.fresh = true;
                        Outcome::Verdict { sequence, replayed: true }
                    }
                    Known::Conflict { sequence } => match room {
                        Room::Yes => {
                            let reason = format!("the id is known with another payload, as verdict {sequence}");
                            self.set_aside("conflict", batch, event, reason);
                            Outcome::Conflict
                        }
                        _ => Outcome::Refused,
                    },
                    Known::New => match room {
                        Room::Yes => {
                            let sequence = first + self.fresh.len() as u64;
                            self.index.insert(event.identity, sequence);
                            self.add_row(batch, item, event, (sequence, wall_us));
                            pending.fresh = true;
                            Outcome::Verdict { sequence, replayed: false }
                        }
                        _ => Outcome::Refused,
                    },
                },
            };
            if outcome == Outcome::Refused {
                pending.refusal.get_or_insert_with(|| Arc::from(room.to_string()));
            }
            pending.outcomes.push(outcome);
        }
        self.score(&pending.submission.batch);
        if let Some(shadow) = &mut self.models.shadow {
            shadow.score();
        }
        self.append(&pending.submission.batch)
    }
}
