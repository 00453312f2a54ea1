//! The newest event time, which decides what is late, with a guard against clocks that are wrong.

use super::query::DAY_US;

/// An event further ahead than this of both the box's clock and the newest event is doubted.
const AHEAD_US: i64 = DAY_US;
/// So many doubted in a row are believed.
const BELIEVED: u32 = 16;

/// The greatest event time seen that is believed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    newest: Option<i64>,
    doubted: u32,
    /// The least of those doubted in a row.
    least: i64,
}

impl Clock {
    #[must_use]
    pub fn newest(&self) -> Option<i64> {
        self.newest
    }

    /// Takes over what an earlier run knew.
    pub fn restore(&mut self, newest_us: i64) {
        *self = Self { newest: Some(newest_us), ..Self::default() };
    }

    /// Takes in an event's time.
    pub fn see(&mut self, time_us: i64, wall_us: i64) {
        let ahead = |of: i64| time_us > of.saturating_add(AHEAD_US);
        if ahead(wall_us) && self.newest.is_none_or(ahead) {
            self.least = if self.doubted == 0 { time_us } else { self.least.min(time_us) };
            self.doubted += 1;
            if self.doubted < BELIEVED {
                return;
            }
            self.newest = Some(self.least);
        } else {
            self.newest = Some(self.newest.map_or(time_us, |newest| newest.max(time_us)));
        }
        self.doubted = 0;
    }

    /// Times after this may be wrong ones.
    #[must_use]
    pub fn doubted_us(&self) -> i64 {
        self.newest.map_or(i64::MIN, |newest| newest.saturating_add(AHEAD_US))
    }
}
