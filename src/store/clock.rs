//! The log clock: what the dedup window runs on.
//!
//! It starts, at open, at the last log time in the store plus what the wall clock has advanced since that was
//! noted; from there it advances with the monotonic clock alone. So within a process no step of the wall clock
//! moves it, it never runs backward over a restart, and a step while the daemon ran is none at the next start:
//! each record holds both clocks, and the state is written with the first commit after a step. What it cannot
//! do: tell a wall clock that jumped ahead while the daemon was down (or between the last commit and a power cut)
//! from time that passed.

use std::time::{Instant, SystemTime};

/// Milliseconds since 1970 as far as the clock could know at open, then monotonic.
#[derive(Clone, Copy, Debug)]
pub struct LogClock {
    base_ms: u64,
    started: Instant,
}

impl LogClock {
    /// A clock that says `last_ms + passed_ms` at the instant `started`.
    #[must_use]
    pub fn start(last_ms: u64, passed_ms: u64, started: Instant) -> Self {
        Self { base_ms: last_ms.saturating_add(passed_ms), started }
    }

    /// Now.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.at(Instant::now())
    }

    /// What the clock says at an instant.
    #[must_use]
    pub fn at(&self, instant: Instant) -> u64 {
        let elapsed = instant.saturating_duration_since(self.started).as_millis();
        self.base_ms.saturating_add(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }
}

/// The wall clock, milliseconds since 1970; 0 before that.
pub(crate) fn wall_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn it_goes_on_from_the_last_log_time_by_what_has_passed() {
        let start = Instant::now();
        let clock = LogClock::start(1_800_000_000_000, 12, start);
        assert_eq!(clock.at(start), 1_800_000_000_012);
        assert_eq!(clock.at(start + Duration::from_secs(5)), 1_800_000_005_012);
    }

    #[test]
    fn an_instant_before_the_start_is_the_start() {
        let start = Instant::now();
        let clock = LogClock::start(400, 600, start + Duration::from_secs(1));
        assert_eq!(clock.at(start), 1000);
    }
}
