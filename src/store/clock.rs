//! The log clock: what the dedup window runs on.
//!
//! It starts, at open, at the later of the last log time in the store and the wall clock; from there it
//! advances with the monotonic clock alone. So within a process no step of the wall clock moves it, and it
//! never runs backward over a restart. What it cannot do: tell a wall clock that jumped ahead while the
//! daemon was down from time that passed.

use std::time::{Instant, SystemTime};

/// Milliseconds since 1970 as far as the clock could know at open, then monotonic.
#[derive(Clone, Copy, Debug)]
pub struct LogClock {
    base_ms: u64,
    started: Instant,
}

impl LogClock {
    /// A clock that says `max(last_ms, wall_ms)` at the instant `started`.
    #[must_use]
    pub fn start(last_ms: u64, wall_ms: u64, started: Instant) -> Self {
        Self { base_ms: last_ms.max(wall_ms), started }
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
    fn a_wall_clock_in_1970_does_not_turn_the_log_clock_back() {
        let start = Instant::now();
        let clock = LogClock::start(1_800_000_000_000, 12, start);
        assert_eq!(clock.at(start), 1_800_000_000_000);
        assert_eq!(clock.at(start + Duration::from_secs(5)), 1_800_000_005_000);
    }

    #[test]
    fn it_starts_at_the_wall_clock_when_that_is_ahead() {
        let start = Instant::now();
        assert_eq!(LogClock::start(7, 1_800_000_000_000, start).at(start), 1_800_000_000_000);
    }

    #[test]
    fn an_instant_before_the_start_is_the_start() {
        let start = Instant::now();
        let clock = LogClock::start(0, 1000, start + Duration::from_secs(1));
        assert_eq!(clock.at(start), 1000);
    }
}
