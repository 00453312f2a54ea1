//! Memory that events are about to need, asked for ahead of them.
//!
//! Of many keys most are in no cache: what an event costs is waiting for one line of memory after the other. Here what
//! all streams, and of several events all, are going to touch is read step by step, each step for all of them, so that
//! the waits fall together. Nothing is changed by it, and nothing depends on it but time.

use super::plan::Stream;
use super::state::Windows;
use super::track::Track;
use std::hint::black_box;

/// Events that are read together: what they touch fits in the caches near to a processor.
const TOGETHER: usize = 16;
/// A state of so many bytes is near to the processor as it is. In tests only one that holds nothing is.
const NEAR_BYTES: usize = if cfg!(test) { 1 } else { 512 << 10 };
/// Words of a cache line.
pub const LINE_WORDS: usize = 8;

/// What is to come of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ahead {
    /// They are inserted.
    Entered,
    /// They are inserted, and the features of each are asked for.
    Asked,
}

/// A key of an event that is to come.
#[derive(Clone, Copy, Debug)]
struct Coming<'a> {
    stream: &'a Stream,
    track: &'a Track,
    time_us: i64,
}

impl Windows {
    /// Has the memory at hand that these events need, which come next. `cells`: those of all of them, one after the
    /// other.
    pub fn warm(&mut self, times_us: &[i64], cells: &[u64], ahead: Ahead) {
        if self.is_near() {
            return;
        }
        let width = self.plan().columns().len().max(1);
        let mut coming = Vec::with_capacity(TOGETHER * self.keys.len());
        for (times_us, cells) in times_us.chunks(TOGETHER).zip(cells.chunks(TOGETHER * width)) {
            self.find_all(times_us.iter().zip(cells.chunks(width)), &mut coming);
            read(&coming, |coming| coming.track.read_itself());
            read(&coming, |coming| coming.track.read_end());
            if ahead == Ahead::Asked {
                read_windows(&mut coming);
            }
            coming.clear();
        }
        self.asked_ahead = if ahead == Ahead::Asked { times_us.len() } else { 0 };
    }

    /// Has the memory at hand that an event's answers need, where no one said before that it comes.
    pub(super) fn warm_answers(&self, time_us: i64, cells: &[u64]) {
        if self.is_asked || self.is_near() {
            return;
        }
        let mut coming = Vec::with_capacity(self.keys.len());
        self.find_all(std::iter::once((&time_us, cells)), &mut coming);
        read_windows(&mut coming);
    }

    fn is_near(&self) -> bool {
        self.bytes() < NEAR_BYTES
    }

    fn find_all<'a, 'b>(&'a self, events: impl Iterator<Item = (&'b i64, &'b [u64])>, coming: &mut Vec<Coming<'a>>) {
        for (time_us, cells) in events {
            for (stream, keys) in self.plan().streams().iter().zip(&self.keys) {
                let track = stream.key_of(cells).and_then(|key| keys.likely(key));
                coming.extend(track.map(|track| Coming { stream, track, time_us: *time_us }));
            }
        }
    }
}

fn read(coming: &[Coming<'_>], step: impl Fn(&Coming<'_>) -> u64) {
    black_box(coming.iter().fold(0, |all, coming| all ^ step(coming)));
}

/// Reads what windows are made of.
fn read_windows(coming: &mut Vec<Coming<'_>>) {
    read(coming, |coming| coming.track.read_tail());
    coming.retain(|coming| coming.track.has_branches());
    read(coming, |coming| coming.track.read_branch());
    read(coming, |Coming { stream, track, time_us }| {
        stream.edges_us.iter().fold(0, |all, edge| all ^ track.read_at(time_us.saturating_sub(*edge)))
    });
}
