//! How `limits.memory` divides: pure arithmetic, shown by `check` and obeyed by the service.
//!
//! Everything but the dedup index has its share; the index gets the rest, and with it the number of events
//! that the window can hold. Where the rest is under [`INDEX_EVENTS_MIN`] events the config is refused.

use super::{Config, Size};
use std::fmt;

/// Code, stacks, the runtime, the allocator's slack and TLS: measured on an idle daemon, rounded up.
pub const PROCESS_BYTES: u64 = 18 << 20;
/// What an open connection keeps: its read and write buffers and its task.
pub const CONNECTION_BYTES: u64 = 16 << 10;
/// What a request needs over its body to be taken at all: one slice of decoded events and its answer.
const REQUEST_OVERHEAD_BYTES: u64 = 1 << 20;
/// Bytes of index an event.
pub const INDEX_BYTES_AN_EVENT: u64 = 12;
/// The least window worth the name.
pub const INDEX_EVENTS_MIN: u64 = 100_000;
/// What a sink holds of lines rendered and not yet confirmed.
pub const FORWARD_BYTES: u64 = 1 << 20;

/// What the model needs, known when it is loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelCost {
    pub weights_bytes: u64,
    pub scratch_bytes: u64,
}

/// The shares, in bytes. They add up to the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPlan {
    pub budget: u64,
    pub process: u64,
    pub model: u64,
    pub connections: u64,
    /// Request bodies in flight, with what is decoded from them and the answers.
    pub queues: u64,
    /// Of `queues`, what the listeners may admit at once; the rest is what the allocator rounds up.
    pub admitted: u64,
    /// The newest chunks, for repeats and sinks.
    pub tail: u64,
    /// The store's own cache.
    pub cache: u64,
    pub forward: u64,
    /// The dedup index: the rest.
    pub index: u64,
}

/// The budget is under what the parts need.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{budget}\" does not hold its parts, which need \"{needed}\": {parts}, and the index of at least \
     {INDEX_EVENTS_MIN} events ({index}); raise limits.memory, or lower limits.request or limits.connections"
)]
pub struct DoesNotFitMemory {
    pub budget: Size,
    /// The least budget that would do, in whole MiB.
    pub needed: Size,
    parts: String,
    index: String,
}

impl MemoryPlan {
    /// # Errors
    /// When the parts do not fit, with the numbers.
    pub fn divide(config: &Config, model: ModelCost) -> Result<Self, DoesNotFitMemory> {
        let limits = &config.limits;
        let budget = limits.memory.bytes();
        let sinks = u64::try_from(config.sinks.len()).unwrap_or(u64::MAX);
        let admitted = limits.request.bytes().saturating_add(REQUEST_OVERHEAD_BYTES).max(budget / 6);
        let mut plan = Self {
            budget,
            process: PROCESS_BYTES,
            model: model.weights_bytes.saturating_add(model.scratch_bytes),
            connections: u64::try_from(limits.connections).unwrap_or(u64::MAX).saturating_mul(CONNECTION_BYTES),
            queues: admitted.saturating_add(admitted / 2),
            admitted,
            tail: (budget / 16).max(2 << 20),
            cache: (budget / 16).max(4 << 20),
            forward: FORWARD_BYTES.saturating_mul(sinks),
            index: 0,
        };
        let taken = plan.parts().iter().fold(0u64, |sum, (_, bytes, _)| sum.saturating_add(*bytes));
        let index_min = INDEX_EVENTS_MIN * INDEX_BYTES_AN_EVENT;
        if let Some(rest) = budget.checked_sub(taken).filter(|rest| *rest >= index_min) {
            plan.index = rest;
            return Ok(plan);
        }
        let parts = plan.parts().into_iter().filter(|(_, bytes, _)| *bytes > 0);
        let parts = parts.map(|(name, bytes, _)| format!("{name} {}", Size(bytes).rounded())).collect::<Vec<_>>();
        Err(DoesNotFitMemory {
            budget: limits.memory,
            needed: Size(taken.saturating_add(index_min).div_ceil(1 << 20).saturating_mul(1 << 20)),
            parts: parts.join(", "),
            index: Size(index_min).rounded(),
        })
    }

    /// Events that the index holds: the bound that memory sets to the dedup window.
    #[must_use]
    pub fn index_events(&self) -> u64 {
        self.index / INDEX_BYTES_AN_EVENT
    }

    /// Name, bytes and what it is, in the order shown; together the budget.
    #[must_use]
    pub fn parts(&self) -> Vec<(&'static str, u64, String)> {
        vec![
            ("process", self.process, "code, stacks, runtime".to_owned()),
            ("model", self.model, "weights and scratch".to_owned()),
            ("connections", self.connections, format!("{} each", Size(CONNECTION_BYTES))),
            ("queues", self.queues, format!("requests in flight, {} admitted at once", Size(self.admitted).rounded())),
            ("tail", self.tail, "the newest verdicts, for repeats and sinks".to_owned()),
            ("cache", self.cache, "the store's".to_owned()),
            ("forward", self.forward, "lines on their way to sinks".to_owned()),
            ("index", self.index, format!("dedup: {} events at {INDEX_BYTES_AN_EVENT} bytes", self.index_events())),
        ]
    }

    /// For `check --json` and `status --json`.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        let parts = self.parts().into_iter().map(|(name, bytes, _)| (name.to_owned(), bytes.into()));
        serde_json::json!({
            "budget": self.budget,
            "parts": parts.collect::<serde_json::Map<_, _>>(),
            "admitted": self.admitted,
            "index-events": self.index_events(),
        })
    }
}

/// A table: part, size, what it is.
impl fmt::Display for MemoryPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {:<12} {:>10}  limits.memory", "budget", Size(self.budget).rounded())?;
        for (name, bytes, what) in self.parts() {
            writeln!(f, "  {name:<12} {:>10}  {what}", Size(bytes).rounded())?;
        }
        Ok(())
    }
}
