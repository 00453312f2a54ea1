//! Memory that events are about to need, asked for ahead of them.
//!
//! Of many keys most are in no cache: what an event costs is waiting for one line of memory after the other. Here all
//! of several events and streams are read step by step, each step for all of them, so that the waits fall together.
//! Nothing is changed by it, and nothing depends on it but time.

use super::state::Windows;
use super::track::Track;
use std::hint::black_box;

/// Events that are read together: what they touch fits in the caches near to a processor.
const TOGETHER: usize = 16;
/// Words of a cache line.
pub const LINE_WORDS: usize = 8;

/// The place of a key of an event that is to come.
#[derive(Clone, Copy, Debug)]
pub struct Coming {
    stream: usize,
    place: usize,
    time_us: i64,
}

impl Windows {
    /// Has the memory at hand that these events need, when they are inserted and asked for next. `cells`: those of all
    /// of them, one after the other.
    pub fn warm(&mut self, times_us: &[i64], cells: &[u64]) {
        let width = self.plan().columns().len().max(1);
        for (times_us, cells) in times_us.chunks(TOGETHER).zip(cells.chunks(TOGETHER * width)) {
            self.warm_together(times_us, cells.chunks(width));
        }
        self.warmed = times_us.len();
    }

    /// The same for one event, where no one said before that it comes.
    pub(super) fn warm_one(&mut self, time_us: i64, cells: &[u64]) {
        match self.warmed.checked_sub(1) {
            Some(left) => self.warmed = left,
            None => self.warm_together(&[time_us], std::iter::once(cells)),
        }
    }

    fn warm_together<'a>(&mut self, times_us: &[i64], cells: impl Iterator<Item = &'a [u64]>) {
        let mut coming = std::mem::take(&mut self.coming);
        coming.clear();
        for (time_us, cells) in times_us.iter().zip(cells) {
            for (stream, (declared, keys)) in self.plan().streams().iter().zip(&self.keys).enumerate() {
                let place = declared.key_of(cells).and_then(|key| keys.place(key));
                coming.extend(place.map(|place| Coming { stream, place, time_us: *time_us }));
            }
        }
        let track = |coming: &Coming| self.keys.get(coming.stream)?.tracks().get(coming.place);
        let read = |step: fn(&Track) -> u64| {
            black_box(coming.iter().filter_map(track).fold(0, |all, track| all ^ step(track)));
        };
        read(Track::read_itself);
        read(Track::read_ends);
        read(Track::read_branch);
        coming.retain(|coming| track(coming).is_some_and(Track::has_branches));
        let windows = |coming: &Coming| {
            let edges = &self.plan().streams().get(coming.stream)?.edges_us;
            let track = track(coming)?;
            Some(edges.iter().fold(0, |all, edge| all ^ track.read_at(coming.time_us.saturating_sub(*edge))))
        };
        black_box(coming.iter().filter_map(windows).fold(0, |all, read| all ^ read));
        self.coming = coming;
    }
}
