//! How `limits.disk` divides: the whole of state-dir, sink files in it included.

use super::{Config, SinkKind, Size};
use crate::store::{BALLAST_BYTES, RESERVE_BYTES};
use std::fmt;

/// The least log worth the name.
pub const LOG_BYTES_MIN: u64 = 16 << 20;

/// The shares, in bytes. They add up to the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskPlan {
    pub budget: u64,
    pub ballast: u64,
    pub reserve: u64,
    pub quarantine: u64,
    /// Events kept for a replay.
    pub replay: u64,
    /// Sink files in state-dir, as far as rotation bounds them.
    pub sinks: u64,
    /// Whether a sink in state-dir keeps all its files, so that `sinks` is no bound.
    pub sinks_unbounded: bool,
    /// Verdicts: the rest.
    pub log: u64,
}

/// The budget is under what the parts need.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{budget}\" does not hold its parts, which need \"{needed}\": {parts}, and at least {log} of verdicts; \
     raise limits.disk, or lower quarantine.limit, replay.disk or what sinks keep in state-dir (rotate-size times keep)"
)]
pub struct DoesNotFitDisk {
    pub budget: Size,
    /// The least budget that would do, in whole MiB.
    pub needed: Size,
    parts: String,
    log: String,
}

impl DiskPlan {
    /// # Errors
    /// When the parts do not fit, with the numbers.
    pub fn divide(config: &Config) -> Result<Self, DoesNotFitDisk> {
        let budget = config.limits.disk.bytes();
        let mut sinks = 0u64;
        let mut sinks_unbounded = false;
        for sink in &config.sinks {
            let SinkKind::File(file) = &sink.kind else { continue };
            if file.path.starts_with(&config.state_dir) {
                // The file that is written now comes on top of those kept.
                let files = u64::try_from(file.keep).unwrap_or(u64::MAX).saturating_add(1);
                sinks = sinks.saturating_add(file.rotate_size.bytes().saturating_mul(files));
                sinks_unbounded |= file.keep == 0;
            }
        }
        let mut plan = Self {
            budget,
            ballast: BALLAST_BYTES,
            reserve: RESERVE_BYTES,
            quarantine: config.quarantine.limit.bytes(),
            replay: config.replay.keep.map_or(0, |_| config.replay.disk.bytes()),
            sinks,
            sinks_unbounded,
            log: 0,
        };
        let taken = plan.parts().iter().fold(0u64, |sum, (_, bytes, _)| sum.saturating_add(*bytes));
        if let Some(rest) = budget.checked_sub(taken).filter(|rest| *rest >= LOG_BYTES_MIN) {
            plan.log = rest;
            return Ok(plan);
        }
        let parts = plan.parts().into_iter().filter(|(_, bytes, _)| *bytes > 0);
        let parts = parts.map(|(name, bytes, _)| format!("{name} {}", Size(bytes).rounded())).collect::<Vec<_>>();
        Err(DoesNotFitDisk {
            budget: config.limits.disk,
            needed: Size(taken.saturating_add(LOG_BYTES_MIN).div_ceil(1 << 20).saturating_mul(1 << 20)),
            parts: parts.join(", "),
            log: Size(LOG_BYTES_MIN).rounded(),
        })
    }

    /// Name, bytes and what it is, in the order shown; together the budget.
    #[must_use]
    pub fn parts(&self) -> Vec<(&'static str, u64, &'static str)> {
        vec![
            ("ballast", self.ballast, "given up when the disk itself is full"),
            ("reserve", self.reserve, "under it nothing new is taken"),
            ("quarantine", self.quarantine, "quarantine.limit"),
            ("replay", self.replay, "replay.disk: events kept"),
            (
                "sinks",
                self.sinks,
                if self.sinks_unbounded {
                    "files in state-dir; keep = 0 sets them no bound"
                } else {
                    "files in state-dir"
                },
            ),
            ("log", self.log, "verdicts: not yet delivered, or in the dedup window"),
        ]
    }

    /// For `check --json` and `status --json`.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        let parts = self.parts().into_iter().map(|(name, bytes, _)| (name.to_owned(), bytes.into()));
        serde_json::json!({ "budget": self.budget, "parts": parts.collect::<serde_json::Map<_, _>>() })
    }
}

/// A table: part, size, what it is.
impl fmt::Display for DiskPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {:<12} {:>10}  limits.disk", "budget", Size(self.budget).rounded())?;
        for (name, bytes, what) in self.parts() {
            writeln!(f, "  {name:<12} {:>10}  {what}", Size(bytes).rounded())?;
        }
        Ok(())
    }
}
