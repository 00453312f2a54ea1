//! Watches the wall clock, which nothing that matters depends on: says when it is not set, and when it is stepped.
//!
//! It is one of the process, and so is what is known of it. Looked at every [`LOOK_EVERY`]; steps of less than
//! [`STEP_MIN`] are the work of time synchronisation and are not told. A box that slept looks the same as one whose
//! clock was stepped ahead.

use crate::notice;
use jiff::Timestamp;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time between two looks.
pub const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Least step that is told.
pub const STEP_MIN: Duration = Duration::from_mins(1);
/// How long a step stays among the warnings.
pub const STEP_SHOWN: Duration = Duration::from_hours(1);

/// The start of the year of this release, in seconds since 1970: a clock before it has not been set.
const RELEASED_S: i64 = 1_767_225_600;

/// What a look found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    Unset,
    Set,
    /// By so many seconds, ahead or back.
    Stepped(i64),
}

/// The wall clock as it was seen last. Free of clocks itself.
#[derive(Debug, Default)]
struct Seen {
    /// Wall clock and monotonic clock, in milliseconds.
    last: Option<(i64, i64)>,
    is_unset: bool,
    /// The last step in seconds, and when it was seen by the monotonic clock.
    step: Option<(i64, i64)>,
}

impl Seen {
    const fn new() -> Self {
        Self { last: None, is_unset: false, step: None }
    }

    /// Takes a look; a step to or from an unset clock is told as that alone.
    fn look(&mut self, wall_ms: i64, monotonic_ms: i64) -> Option<News> {
        let before = self.last.replace((wall_ms, monotonic_ms));
        let was_unset = std::mem::replace(&mut self.is_unset, wall_ms < RELEASED_S * 1000);
        if self.is_unset != was_unset {
            return Some(if self.is_unset { News::Unset } else { News::Set });
        }
        let (wall_before, monotonic_before) = before?;
        let step_ms = (wall_ms - wall_before) - (monotonic_ms - monotonic_before);
        if Duration::from_millis(step_ms.unsigned_abs()) < STEP_MIN {
            return None;
        }
        self.step = Some((step_ms / 1000, monotonic_ms));
        Some(News::Stepped(step_ms / 1000))
    }

    fn warnings(&self, monotonic_ms: i64) -> Vec<String> {
        let mut lines = Vec::new();
        if self.is_unset {
            let what = "`decided`, times of events without one, and certificates depend on it";
            lines.push(format!("the wall clock is not set: {what}"));
        }
        if let Some((seconds, at)) = self.step {
            let ago_s = (monotonic_ms - at) / 1000;
            if ago_s < STEP_SHOWN.as_secs().cast_signed() {
                let (by, way) = (seconds.unsigned_abs(), if seconds < 0 { "back" } else { "ahead" });
                lines.push(format!("the wall clock was stepped {way} by {by} s, {ago_s} s ago"));
            }
        }
        lines
    }
}

static SEEN: Mutex<Seen> = Mutex::new(Seen::new());
static STARTED: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);

fn monotonic_ms() -> i64 {
    i64::try_from(STARTED.elapsed().as_millis()).unwrap_or(i64::MAX)
}

/// Looks from now on, for as long as the runtime runs.
pub async fn watch() {
    let mut ticks = tokio::time::interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        look();
    }
}

fn look() {
    let wall = Timestamp::now();
    let news = SEEN.lock().unwrap_or_else(PoisonError::into_inner).look(wall.as_millisecond(), monotonic_ms());
    let now = format!("{wall:.0}");
    match news {
        None => {}
        Some(News::Unset) => {
            let kind = notice::CLOCK_UNSET.kind;
            tracing::warn!(
                kind,
                now,
                "the wall clock is not set; events are taken, answered and delivered all the same"
            );
        }
        Some(News::Set) => tracing::info!(kind = notice::CLOCK_SET.kind, now, "the wall clock has been set"),
        Some(News::Stepped(seconds)) => {
            let kind = notice::CLOCK_STEPPED.kind;
            tracing::warn!(kind, seconds, now, "the wall clock was stepped; the dedup window does not follow");
        }
    }
}

/// What is odd about the clock just now, a line each.
#[must_use]
pub fn warnings() -> Vec<String> {
    SEEN.lock().unwrap_or_else(PoisonError::into_inner).warnings(monotonic_ms())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = (RELEASED_S + 86_400) * 1000;

    #[test]
    fn an_unset_clock_is_told_once_and_so_is_that_it_was_set() {
        let mut seen = Seen::new();
        assert_eq!(seen.look(5_000, 0), Some(News::Unset));
        assert_eq!(seen.look(10_000, 5_000), None);
        assert_eq!(seen.warnings(5_000).len(), 1);
        assert_eq!(seen.look(NOW, 10_000), Some(News::Set));
        assert!(seen.warnings(10_000).is_empty());
    }

    #[test]
    fn a_step_is_told_either_way_and_slow_corrections_are_not() {
        let mut seen = Seen::new();
        assert_eq!(seen.look(NOW, 0), None);
        assert_eq!(seen.look(NOW + 5_000 + 59_000, 5_000), None);
        assert_eq!(seen.look(NOW + 3_600_000, 10_000), Some(News::Stepped(3_531)));
        assert_eq!(seen.warnings(12_000), ["the wall clock was stepped ahead by 3531 s, 2 s ago"]);
        assert_eq!(seen.look(NOW + 15_000, 15_000), Some(News::Stepped(-3_590)));
        assert_eq!(seen.look(NOW + 20_000, 20_000), None);
        assert!(seen.warnings(15_000 + 3_600_000).is_empty());
    }
}
