//! One round: what the leader decides before a commit. No I/O of its own but the look-up of old chunks.

use super::models::Models;
use super::pending::Pending;
use super::progress::Progress;
use super::{Along, Counters, Outcome, ROUND_BYTES_MAX, ROUND_EVENTS_MAX, Submission, WAVE_EVENTS_MAX, told};
use crate::event::{BadKind, BadRecord, Event, EventBatch, Item, Label, Span, identity_fingerprint};
use crate::model::Reasons;
use crate::store::{self, BatchBuilder, Chunk, Index, LogClock, NewRecord, REASON_BYTES_MAX, Room, Store, StoreError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What one commit holds, and whom to answer after it.
pub(super) struct Sealed {
    pub chunks: Arc<[Arc<Chunk>]>,
    pub along: Along,
    pub answered: Vec<Pending>,
    pub events: usize,
}

/// A new event of the wave in hand.
struct Fresh {
    item: usize,
    /// Why it has no row, if it has none.
    unscorable: Option<String>,
}

/// What is known of an identity.
enum Known {
    New,
    Same { sequence: u64, chunk: Option<Arc<Chunk>> },
    Conflict { sequence: u64 },
}

/// Dedup, features, scoring and the building of records.
pub(super) struct Round {
    store: Arc<Store>,
    index: Index,
    builder: BatchBuilder,
    clock: LogClock,
    models: Models,
    moved: Arc<Progress>,
    counters: Arc<Counters>,
    /// Whether the quarantine holds records with their bytes.
    keep_payload: bool,
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
}

impl Round {
    pub fn new(
        store: Arc<Store>,
        index: Index,
        builder: BatchBuilder,
        clock: LogClock,
        models: Models,
        counters: Arc<Counters>,
        keep_payload: bool,
    ) -> Self {
        Self {
            adopted_at: builder.next_sequence(),
            store,
            index,
            builder,
            clock,
            models,
            moved: Arc::default(),
            counters,
            keep_payload,
            in_flight: Arc::new([]),
            unfinished: None,
            answered: Vec::new(),
            along: Along::default(),
            bytes: 0,
            decided: Vec::new(),
            fresh: Vec::with_capacity(WAVE_EVENTS_MAX),
            rows: Vec::new(),
            scores: Vec::new(),
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
        self.adopt();
        let outcomes = Vec::with_capacity(submission.batch.items.len());
        self.go_on(Pending { submission, outcomes, refusal: None, chunks: Vec::new(), fresh: false })
    }

    /// Takes over a model that has been swapped in.
    pub fn adopt(&mut self) {
        if let Some(index_bytes) = self.models.adopt() {
            self.index.set_budget(index_bytes);
            self.adopted_at = self.builder.next_sequence();
        }
        if self.models.is_over() {
            self.count_decided();
            self.models.go_on();
        }
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
        self.index.expire(self.store.window_floor());
        if let Some(pending) = self.unfinished.take() {
            self.go_on(pending)?;
        }
        Ok(Sealed { chunks, along, answered, events })
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
        }
        self.fresh.clear();
        self.rows.clear();
        let first = self.builder.next_sequence();
        let room = self.store.room();
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
            let outcome = match &batch.items[item] {
                Item::Bad(bad) => match room {
                    Room::Yes => {
                        self.set_aside_bad(batch, bad);
                        Outcome::Bad
                    }
                    _ => Outcome::Refused,
                },
                Item::Label(label) => match room {
                    Room::Yes => {
                        let known = self.knows(batch, label, first)?;
                        self.keep_label(batch, label);
                        Outcome::Label { known }
                    }
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
                            self.add_row(batch, item, event);
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
            shadow.score(&pending.submission.batch, self.fresh.iter().map(|fresh| fresh.item));
        }
        self.append(&pending.submission.batch)
    }

    /// Whether the label's event has a verdict.
    fn knows(&self, batch: &EventBatch, label: &Label, first: u64) -> Result<bool, StoreError> {
        let Label { source, id, key, time_us, identity, raw, .. } = *label;
        let event = Event { source, id, key, time_us, identity, payload: 0, fields: 0, raw };
        Ok(!matches!(self.find(batch, &event, first)?, Known::New))
    }

    fn keep_label(&mut self, batch: &EventBatch, label: &Label) {
        self.bytes += 48 + label.id.len() + label.key.map_or(0, Span::len);
        self.along.labels.push(store::Label {
            source: batch.str(label.source).to_owned(),
            id: batch.str(label.id).to_owned(),
            key: label.key.map(|key| batch.str(key).to_owned()),
            time_us: label.time_us,
            value: label.value,
            log_ms: self.clock.now_ms(),
        });
    }

    /// Looks an identity up: among the events of this wave, of this round, of the round in flight, in the
    /// store. `first`: the sequence of this wave's first new event.
    fn find(&self, batch: &EventBatch, event: &Event, first: u64) -> Result<Known, StoreError> {
        let (source, id) = (batch.str(event.source), batch.str(event.id));
        let known = |sequence: u64, payload: u64, chunk: Option<Arc<Chunk>>| {
            if payload == event.payload { Known::Same { sequence, chunk } } else { Known::Conflict { sequence } }
        };
        for sequence in self.index.find(event.identity) {
            if sequence >= first {
                let place = usize::try_from(sequence - first).unwrap_or(usize::MAX);
                let other = self.fresh.get(place).and_then(|fresh| batch.items.get(fresh.item));
                if let Some(Item::Event(other)) = other
                    && (batch.str(other.source), batch.str(other.id)) == (source, id)
                {
                    return Ok(known(sequence, other.payload, None));
                }
            } else if let Some(record) = self.builder.get(sequence) {
                if (record.verdict.source, record.verdict.id) == (source, id) {
                    return Ok(known(sequence, record.payload, None));
                }
            } else {
                let flying = self.in_flight.iter().find(|chunk| (chunk.first()..chunk.next()).contains(&sequence));
                // Of a chunk of the store one record is kept: a thousand repeats must not hold a thousand chunks.
                let chunk = match flying {
                    Some(chunk) => Some(Arc::clone(chunk)),
                    None => self.store.chunk_of(sequence)?.and_then(|chunk| chunk.excerpt(sequence)),
                };
                let Some(chunk) = chunk else { continue };
                let payload = chunk
                    .get(sequence)
                    .filter(|record| (record.verdict.source, record.verdict.id) == (source, id))
                    .map(|record| record.payload);
                if let Some(payload) = payload {
                    return Ok(known(sequence, payload, Some(chunk)));
                }
            }
        }
        Ok(Known::New)
    }

    /// The durable verdict of (source, id).
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn look_up(&self, source: &str, id: &str) -> Result<Option<(Arc<Chunk>, u64)>, StoreError> {
        for sequence in self.index.find(identity_fingerprint(self.store.seed(), source, id)) {
            if sequence >= self.store.committed() {
                continue;
            }
            if let Some(chunk) = self.store.chunk_of(sequence)?
                && chunk.get(sequence).is_some_and(|r| (r.verdict.source, r.verdict.id) == (source, id))
            {
                return Ok(Some((chunk, sequence)));
            }
        }
        Ok(None)
    }

    fn add_row(&mut self, batch: &EventBatch, item: usize, event: &Event) {
        let features = self.models.bundle.features();
        let start = self.rows.len();
        self.rows.resize(start + features.width(), 0.0);
        let row = self.rows.get_mut(start..).unwrap_or_default();
        let fields = batch.fields_of(event, self.models.fields());
        let filled = catch_unwind(AssertUnwindSafe(|| {
            features.fill(fields, &batch.text, None, row).map_err(|unscorable| unscorable.to_string())
        }));
        let unscorable = match filled {
            Ok(filled) => filled.err(),
            Err(_) => Some(self.panicked("features", batch, item)),
        };
        self.fresh.push(Fresh { item, unscorable });
    }

    /// Scores the wave's rows in one call, or, should that panic, each for itself.
    fn score(&mut self, batch: &EventBatch) {
        let width = self.models.bundle.features().width();
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

    /// Gives each new event of the wave its decision and appends its record.
    fn append(&mut self, batch: &EventBatch) -> Result<(), StoreError> {
        let bundle = Arc::clone(&self.models.bundle);
        let width = bundle.features().width();
        let decided_ms = told::wall_ms();
        let log_ms = self.clock.now_ms();
        let mut fresh = std::mem::take(&mut self.fresh);
        for (n, one) in fresh.iter_mut().enumerate() {
            let Some(Item::Event(event)) = batch.items.get(one.item) else { continue };
            let score = self.scores.get(n).copied().unwrap_or(f64::NAN);
            if one.unscorable.is_none() && !score.is_finite() {
                one.unscorable = Some("the model's result is not a finite number".to_owned());
            }
            let mut found = Reasons::default();
            let (decision, score) = if let Some(reason) = &mut one.unscorable {
                told::cut(reason, REASON_BYTES_MAX);
                self.set_aside("unscorable", batch, event, reason.clone());
                (bundle.fallback(), None)
            } else {
                let decision = bundle.decide(score);
                if bundle.wants_reasons(decision) {
                    let row = self.rows.get(n * width..(n + 1) * width).unwrap_or_default();
                    let reasons = catch_unwind(AssertUnwindSafe(|| self.models.scorer.reasons(row)));
                    // The score stands; only what raised it is not known.
                    found = reasons.unwrap_or_else(|_| {
                        self.models.renew();
                        let reason = self.panicked("explaining", batch, one.item);
                        self.set_aside("unscorable", batch, event, reason);
                        Reasons::default()
                    });
                }
                (decision, Some(score))
            };
            let beside = self.models.shadow.as_ref().and_then(|run| Some((run.shadow(), run.said(n)?)));
            if let (Some((shadow, said)), Some(score)) = (beside, score) {
                shadow.counts().note((decision, score), (said.decision, said.score));
            }
            let unscorable = one.unscorable.as_deref();
            let mut reasons: [&str; 8] = [""; 8];
            let mut count = 0;
            for reason in unscorable.into_iter().chain(found.names(bundle.features())).take(reasons.len()) {
                reasons[count] = reason;
                count += 1;
            }
            self.builder.append(&NewRecord {
                source: batch.str(event.source),
                id: batch.str(event.id),
                key: event.key.map(|key| batch.str(key)),
                time_us: event.time_us,
                payload: event.payload,
                decision,
                score,
                reasons: &reasons[..count],
                model: bundle.label(),
                model_sha256: bundle.sha256(),
                decided_ms,
                log_ms,
                shadow: beside.map(|(_, said)| said),
            })?;
            self.bytes += 48 + event.id.len() + event.key.map_or(0, Span::len);
            match self.decided.iter_mut().find(|(name, _)| &**name == decision) {
                Some((_, count)) => *count += 1,
                None => self.decided.push((decision.into(), 1)),
            }
        }
        self.fresh = fresh;
        Ok(())
    }

    fn set_aside_bad(&mut self, batch: &EventBatch, bad: &BadRecord) {
        let kind = match bad.kind {
            BadKind::Malformed => "malformed",
            BadKind::Oversized => "oversized",
        };
        let id = bad.id.map(|id| batch.str(id).to_owned());
        self.push_aside(kind, batch, batch.str(bad.source), id, bad.reason.clone(), bad.raw);
    }

    fn set_aside(&mut self, kind: &str, batch: &EventBatch, event: &Event, reason: String) {
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

    fn panicked(&self, doing: &str, batch: &EventBatch, item: usize) -> String {
        self.counters.add_panic();
        told::panic(doing, batch, item);
        format!("internal error while {doing}")
    }
}
