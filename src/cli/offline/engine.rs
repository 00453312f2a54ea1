//! Events to answers: decoder, features, model, decision and reasons, as the daemon has them.

use super::{BATCH_EVENTS_MAX, EVENT_BYTES_MAX, past::Past};
use crate::{
    cli::Failure,
    event::{BadRecord, Decoder, Event, EventBatch, Field, Form, IdentityRules, Item, Label, Pointer},
    features::{FeatureSet, TOO_LATE, union},
    model::{Bundle, Reasons, Scorer},
    rules::EventFacts,
    verdict::Verdict,
};
use bytes::Bytes;
use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

/// Of identities offline: no store has another.
pub(in crate::cli) const SEED: u64 = 0;

/// What became of one record.
pub(in crate::cli) enum Answer<'a> {
    Scored(Scored<'a>),
    /// It is no event, but what became known of one.
    Label(&'a Label),
    Bad(&'a EventBatch, &'a BadRecord),
}

/// An event's verdict, and the row that it was scored by.
pub(in crate::cli) struct Scored<'a> {
    /// Without what only a commit gives: `sequence` and `decided_ms` are 0.
    pub verdict: Verdict<'a>,
    /// Before it is cut to what the model takes; None where there is none: the verdict's reason then says why.
    pub row: Option<&'a [f64]>,
    /// Fingerprint of (source, id), the same in every engine.
    pub identity: u64,
    /// What the engine's further pointer found.
    pub beside: Field,
}

/// What takes the answers, in the order of the records.
pub(in crate::cli) type Visit<'v> = dyn FnMut(Answer<'_>) -> Result<(), Failure> + 'v;

/// One bundle and what it has seen.
pub(in crate::cli) struct Engine<'b> {
    bundle: &'b Bundle,
    scorer: Scorer,
    decoder: Decoder,
    /// Whether the decoder looks for a field that is none of the model's, behind those that are.
    beside: bool,
    features: FeatureSet,
    /// The same before they are cut to f32, for people and for training.
    uncut: FeatureSet,
    /// Where the fields of the rules' own stand.
    places: Vec<usize>,
    /// What window features need of the events before.
    past: Option<Past>,
}

/// What became of one event: its row's number among those scored, or why it has none; whether it was counted; and what
/// the windows held at its place, for rules.
struct Filled {
    row: Result<usize, String>,
    counted: bool,
    frozen: Vec<f64>,
}

impl<'b> Engine<'b> {
    pub fn new(bundle: &'b Bundle, rules: IdentityRules) -> Self {
        Self::looking(bundle, rules, None)
    }

    /// One that also hands out what the pointer finds in each event.
    pub fn looking(bundle: &'b Bundle, rules: IdentityRules, beside: Option<Pointer>) -> Self {
        let has_more = beside.is_some();
        let own = union(bundle.features().pointers(), bundle.rules().pointers());
        let place = |wanted| own.iter().position(|there| there == wanted).unwrap_or(usize::MAX);
        let places = bundle.rules().pointers().iter().map(place).collect();
        let pointers: Arc<[Pointer]> = own.iter().cloned().chain(beside).collect();
        let (past, features) = match Past::of(bundle, &pointers) {
            Some((past, features)) => (Some(past), features),
            None => (None, bundle.features().clone()),
        };
        let decoder = Decoder::new(rules, pointers, EVENT_BYTES_MAX, SEED);
        Self {
            bundle,
            scorer: bundle.scorer(BATCH_EVENTS_MAX),
            decoder,
            beside: has_more,
            uncut: features.uncut(),
            features,
            places,
            past,
        }
    }

    /// Works off the records of `body`, NDJSON, and hands out an answer for each, in their order.
    pub fn run(&mut self, body: Bytes, visit: &mut Visit<'_>) -> Result<(), Failure> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now_us = i64::try_from(now.as_micros()).unwrap_or(i64::MAX);
        let batch = self.decoder.decode(&Form::Ndjson, body, now_us);
        let (uncut, rows, filled) = self.fill(&batch, now_us);
        let mut scores = vec![f64::NAN; filled.iter().filter(|filled| filled.row.is_ok()).count()];
        self.scorer.score(&rows, &mut scores);
        let width = self.bundle.features().width();
        let mut filled = filled.into_iter();
        for item in &batch.items {
            match item {
                Item::Bad(bad) => visit(Answer::Bad(&batch, bad))?,
                Item::Label(label) => visit(Answer::Label(label))?,
                Item::Event(event) => {
                    let Some(filled) = filled.next() else { continue };
                    let place = filled.row.as_ref().ok().copied();
                    let span = place.map(|n| n * width..(n + 1) * width);
                    let row = span.and_then(|span| Some((uncut.get(span.clone())?, rows.get(span)?)));
                    let score = place.and_then(|n| scores.get(n).copied()).filter(|score| score.is_finite());
                    self.judge((&batch, event), row, score, filled, visit)?;
                }
            }
        }
        Ok(())
    }

    /// The rows of the events that can have one, before they are cut to what the model takes and after, and for each
    /// event which row that is.
    fn fill(&mut self, batch: &EventBatch, wall_us: i64) -> (Vec<f64>, Vec<f64>, Vec<Filled>) {
        let features = &self.features;
        let (mut uncut, mut rows) = (Vec::new(), Vec::new());
        let mut filled = Vec::new();
        let mut count = 0;
        for item in &batch.items {
            let event = match item {
                Item::Event(event) => event,
                Item::Label(label) => {
                    if let Some(past) = &mut self.past {
                        past.label(label);
                    }
                    continue;
                }
                Item::Bad(_) => continue,
            };
            let fields = batch.fields_of(event, self.decoder.fields());
            let counted = self.past.as_mut().is_none_or(|past| past.observe(event, fields, &batch.text, wall_us));
            let view = self.past.as_ref().map(Past::view);
            let mut frozen = Vec::new();
            if !self.bundle.rules().is_empty() {
                features.freeze(view.as_ref(), &mut frozen);
            }
            let start = rows.len();
            uncut.resize(start + features.width(), 0.0);
            let row = uncut.get_mut(start..).unwrap_or_default();
            let made = self.uncut.fill(fields, &batch.text, view.as_ref(), row);
            rows.extend_from_slice(row);
            let row = match made.and_then(|()| features.cut(rows.get_mut(start..).unwrap_or_default())) {
                Ok(()) => {
                    count += 1;
                    Ok(count - 1)
                }
                Err(unscorable) => {
                    rows.truncate(start);
                    uncut.truncate(start);
                    Err(unscorable.to_string())
                }
            };
            filled.push(Filled { row, counted, frozen });
        }
        (uncut, rows, filled)
    }

    fn judge(
        &mut self,
        (batch, event): (&EventBatch, &Event),
        row: Option<(&[f64], &[f64])>,
        score: Option<f64>,
        filled: Filled,
        visit: &mut Visit<'_>,
    ) -> Result<(), Failure> {
        let bundle = self.bundle;
        let Filled { row: made, counted, frozen } = filled;
        let unscorable =
            made.err().or_else(|| score.is_none().then(|| "the model's result is not a finite number".to_owned()));
        let fields = batch.fields_of(event, self.decoder.fields());
        let ruled = bundle.rules().judge(&EventFacts {
            batch,
            event,
            features: &self.features,
            fields,
            frozen: &frozen,
            places: &self.places,
            score,
        });
        let by_model = score.map_or(bundle.fallback(), |score| bundle.decide(score));
        let decision = ruled.map_or(by_model, |ruled| ruled.decision);
        let told = ruled.map(|ruled| ruled.reason).into_iter().chain(unscorable.as_deref());
        let mut reasons: Vec<&str> = told.chain((!counted).then_some(TOO_LATE)).collect();
        let found = match row {
            Some((_, row)) if ruled.is_none() && score.is_some() && bundle.wants_reasons(decision) => {
                self.scorer.reasons(row)
            }
            _ => Reasons::default(),
        };
        reasons.extend(found.names(bundle.features()));
        let verdict = Verdict {
            sequence: 0,
            source: batch.str(event.source),
            id: batch.str(event.id),
            key: event.key.map(|key| batch.str(key)),
            time_us: event.time_us,
            decision,
            score,
            reasons,
            model: bundle.label(),
            model_sha256: bundle.sha256(),
            decided_ms: 0,
        };
        let beside = fields.last().copied().filter(|_| self.beside).unwrap_or(Field::Missing);
        let row = row.map(|(uncut, _)| uncut);
        visit(Answer::Scored(Scored { verdict, row, identity: event.identity, beside }))
    }
}
