//! Each new event's decision, and its record.

use super::Round;
use crate::engine::told;
use crate::event::{EventBatch, Item, Span};
use crate::model::Reasons;
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
            for reason in
                unscorable.into_iter().chain(one.note).chain(found.names(bundle.features())).take(reasons.len())
            {
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
}
