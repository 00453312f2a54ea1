//! Each new event's decision, and its record.

use super::Round;
use crate::engine::told;
use crate::event::{Event, EventBatch, Item, Span};
use crate::model::{Bundle, Reasons};
use crate::rules::{EventFacts, Ruled};
use crate::store::{NewRecord, REASON_BYTES_MAX, StoreError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

impl Round {
    /// Gives each new event of the wave its decision and appends its record.
    pub(super) fn append(&mut self, batch: &EventBatch) -> Result<(), StoreError> {
        let bundle = Arc::clone(&self.models.bundle);
        let width = self.models.features().width();
        let decided_ms = told::wall_ms();
        let log_ms = self.clock.now_ms();
        if let Some(form) = &mut self.form {
            form.follow(batch);
        }
        let mut fresh = std::mem::take(&mut self.fresh);
        for (n, one) in fresh.iter_mut().enumerate() {
            let Some(Item::Event(event)) = batch.items.get(one.item) else { continue };
            let score = self.scores.get(n).copied().unwrap_or(f64::NAN);
            if one.unscorable.is_none() && !score.is_finite() {
                one.unscorable = Some("the model's result is not a finite number".to_owned());
            }
            let score = one.unscorable.is_none().then_some(score);
            if let Some(reason) = &mut one.unscorable {
                told::cut(reason, REASON_BYTES_MAX);
                self.set_aside("unscorable", batch, event, reason.clone());
            }
            let by_model = score.map_or(bundle.fallback(), |score| bundle.decide(score));
            let ruled = self.judge(&bundle, batch, event, (n, one.item), score);
            let mut found = Reasons::default();
            if ruled.is_none() && score.is_some() && bundle.wants_reasons(by_model) {
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
            let beside = self.models.shadow.as_ref().and_then(|run| Some((run.shadow(), run.said(n)?)));
            if let (Some((shadow, said)), Some(score)) = (beside, score) {
                shadow.counts().note((by_model, score), (said.decision, said.score));
            }
            let decision = ruled.map_or(by_model, |ruled| ruled.decision);
            let told = ruled.map(|ruled| ruled.reason).into_iter().chain(one.unscorable.as_deref()).chain(one.note);
            let mut reasons: [&str; 8] = [""; 8];
            let mut count = 0;
            for reason in told.chain(found.names(bundle.features())).take(reasons.len()) {
                reasons[count] = reason;
                count += 1;
            }
            let sequence = self.builder.append(&NewRecord {
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
            self.keep(batch, event, sequence);
            self.bytes += 48 + event.id.len() + event.key.map_or(0, Span::len);
            match self.decided.iter_mut().find(|(name, _)| &**name == decision) {
                Some((_, count)) => *count += 1,
                None => self.decided.push((decision.into(), 1)),
            }
        }
        self.fresh = fresh;
        Ok(())
    }

    /// Keeps what models read of an event, for a replay.
    fn keep(&mut self, batch: &EventBatch, event: &Event, sequence: u64) {
        let Some(form) = &self.form else { return };
        let before = self.kept.len();
        self.line.clear();
        let line = &mut self.line;
        // Its verdict stands where this panics; only a replay does without it.
        if catch_unwind(AssertUnwindSafe(|| form.write(batch, event, line))).is_ok() {
            self.kept.push(sequence, line);
        }
        self.bytes += self.kept.len() - before;
    }

    /// What a list or a rule decides about the wave's new event `n`, which is `item` of the batch.
    fn judge<'b>(
        &self,
        bundle: &'b Bundle,
        batch: &EventBatch,
        event: &Event,
        (n, item): (usize, usize),
        score: Option<f64>,
    ) -> Option<Ruled<'b>> {
        let rules = bundle.rules();
        if rules.is_empty() {
            return None;
        }
        let features = self.models.features();
        let frozen = features.frozen();
        let facts = EventFacts {
            batch,
            event,
            features,
            fields: batch.fields_of(event, self.models.fields()),
            frozen: self.frozen.get(n * frozen..(n + 1) * frozen).unwrap_or_default(),
            places: self.models.places(),
            score,
        };
        let judged = catch_unwind(AssertUnwindSafe(|| rules.judge(&facts)));
        // What was to be judged by rules must not pass by the model alone without anybody being told.
        judged.unwrap_or_else(|_| {
            self.panicked("judging", batch, item);
            None
        })
    }
}
