//! What goes when the budget of memory is reached, in this order, each step counted:
//!
//! 1. What only late events need: how late an event may be and still find its windows whole is halved, down to nothing.
//! 2. The fullest keys are held in panes, as if a resolution of a 256th to an 8th of the stream's shortest window had
//!    been declared; those with `distinct` are not, as panes do not tell values apart.
//! 3. The keys go whose last event is the longest ago.
//!
//! Each time an eighth of the budget is freed, so that the search for what goes is paid by what was entered since.

use super::query::SECOND_US;
use super::state::Windows;

/// A shorter reach for late events is none.
const REACH_MIN_US: i64 = 60 * SECOND_US;

/// What the budget has cost since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Losses {
    pub shortened: u64,
    pub coarsened_keys: u64,
    pub dropped_keys: u64,
}

impl Windows {
    /// Frees memory where more than the budget is in use.
    pub(super) fn relieve(&mut self) {
        let most = self.limits().bytes;
        if self.bytes() <= most {
            return;
        }
        let target = most - most / 8;
        while self.bytes() > target && self.shorten_reach() {
            self.losses.shortened += 1;
            self.sweep_all();
        }
        if self.bytes() > target {
            self.coarsen(target);
        }
        if self.bytes() > target {
            self.drop_coldest(target);
        }
        self.keys.iter_mut().for_each(super::keys::Keys::shrink);
    }

    /// Halves how late an event may come; false where it is nothing already.
    fn shorten_reach(&mut self) -> bool {
        let reach = self.late_us;
        self.late_us = if reach / 2 < REACH_MIN_US { 0 } else { reach / 2 };
        reach > 0
    }

    fn coarsen(&mut self, target: usize) {
        let plan = std::sync::Arc::clone(self.plan());
        let mut fullest: Vec<(usize, usize, u64)> = Vec::new();
        for (at, (stream, keys)) in plan.streams().iter().zip(&self.keys).enumerate() {
            fullest.extend(keys.tracks().iter().map(|track| (track.held(stream).bytes, at, track.key)));
        }
        fullest.sort_unstable_by(|a, b| b.cmp(a));
        for (_, at, key) in fullest {
            if self.bytes() <= target {
                return;
            }
            let (Some(stream), Some(keys)) = (plan.streams().get(at), self.keys.get_mut(at)) else { continue };
            let Some(place) = keys.place(key) else { continue };
            if keys.with(place, stream, |track| track.coarsen(stream)) == Some(true) {
                self.losses.coarsened_keys += 1;
            }
        }
    }

    fn drop_coldest(&mut self, target: usize) {
        let plan = std::sync::Arc::clone(self.plan());
        let newest = self.newest_us().unwrap_or(i64::MAX);
        let mut coldest: Vec<(i64, usize, u64)> = Vec::new();
        for (at, keys) in self.keys.iter().enumerate() {
            // A time far ahead does not make a key warm.
            let last = |time: Option<i64>| time.map_or(i64::MIN, |time| time.min(newest));
            coldest.extend(keys.tracks().iter().map(|track| (last(track.last()), at, track.key)));
        }
        coldest.sort_unstable();
        for (_, at, key) in coldest {
            if self.bytes() <= target {
                return;
            }
            let (Some(stream), Some(keys)) = (plan.streams().get(at), self.keys.get_mut(at)) else { continue };
            keys.drop_key(key, stream);
            keys.shrink();
            self.losses.dropped_keys += 1;
        }
    }
}
