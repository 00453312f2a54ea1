//! The keys of one stream, found by their hashes and swept in turn.

use super::layout::Layout;
use super::places::Places;
use super::plan::Stream;
use super::track::{Held, Track};

/// A stream's keys with what each holds.
#[derive(Debug, Default)]
pub struct Keys {
    places: Places,
    tracks: Vec<Track>,
    /// The next to sweep.
    next: usize,
    held: Held,
}

impl Keys {
    #[must_use]
    pub fn len(&self) -> usize {
        self.tracks.len()
    }

    #[must_use]
    pub fn get(&self, key: u64) -> Option<&Track> {
        self.tracks.get(self.place(key)?)
    }

    /// Where a key's track stands, until keys go.
    #[must_use]
    pub fn place(&self, key: u64) -> Option<usize> {
        self.places.find(key, |at| self.tracks.get(at).is_some_and(|track| track.key == key))
    }

    /// The track that most likely is a key's, without looking at it.
    #[must_use]
    pub fn likely(&self, key: u64) -> Option<&Track> {
        self.tracks.get(self.places.find(key, |_| true)?)
    }

    #[must_use]
    pub fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    /// What all keys take, their places included.
    #[must_use]
    pub fn held(&self) -> Held {
        let bytes = self.held.bytes + self.tracks.capacity() * size_of::<Track>() + self.places.bytes();
        Held { bytes, ..self.held }
    }

    /// Makes a place for a key that has none. None: there are 2^32 keys, more than any memory holds.
    pub fn make(&mut self, key: u64, stream: &Stream) -> Option<usize> {
        let at = self.tracks.len();
        if !self.places.insert(key, at) {
            return None;
        }
        if at == self.tracks.capacity() {
            self.tracks.reserve_exact((at / 4).max(4));
        }
        self.tracks.push(Track::new(key, stream));
        Some(at)
    }

    /// Works on the track at a place; None where there is none.
    pub fn with<T>(&mut self, place: usize, stream: &Stream, work: impl FnOnce(&mut Track) -> T) -> Option<T> {
        let track = self.tracks.get_mut(place)?;
        let before = track.held(stream);
        let out = work(track);
        let after = track.held(stream);
        self.moved(before, after);
        Some(out)
    }

    /// Gives up what is old of the next few keys.
    pub fn sweep(&mut self, count: usize, cutoff: i64, stream: &Stream, labels: &Layout) {
        for _ in 0..count.min(self.tracks.len()) {
            if self.next >= self.tracks.len() {
                self.next = 0;
                self.shrink();
            }
            let Some(track) = self.tracks.get_mut(self.next) else { return };
            if !track.is_due(cutoff) {
                self.next += 1;
                continue;
            }
            let before = track.held(stream);
            let is_empty = track.expire(cutoff, stream, labels);
            let after = track.held(stream);
            self.moved(before, after);
            if is_empty {
                self.drop_at(self.next, stream);
            } else {
                self.next += 1;
            }
        }
    }

    /// Gives up a key with all it holds.
    pub fn drop_key(&mut self, key: u64, stream: &Stream) {
        if let Some(at) = self.place(key) {
            self.drop_at(at, stream);
        }
    }

    /// Gives back room that is no longer needed.
    pub fn shrink(&mut self) {
        self.places.shrink();
        if self.tracks.capacity() > 64 && self.tracks.len() * 2 < self.tracks.capacity() {
            self.tracks.shrink_to(self.tracks.len() / 4 * 5);
        }
    }

    fn drop_at(&mut self, at: usize, stream: &Stream) {
        if at >= self.tracks.len() {
            return;
        }
        let track = self.tracks.swap_remove(at);
        self.places.remove(track.key, at);
        self.moved(track.held(stream), Held::default());
        if let Some(moved) = self.tracks.get(at) {
            self.places.replace(moved.key, self.tracks.len(), at);
        }
    }

    fn moved(&mut self, before: Held, after: Held) {
        let add = |total: &mut usize, before: usize, after: usize| *total = (*total + after).saturating_sub(before);
        add(&mut self.held.rows, before.rows, after.rows);
        add(&mut self.held.labels, before.labels, after.labels);
        add(&mut self.held.bytes, before.bytes, after.bytes);
        add(&mut self.held.coarse, before.coarse, after.coarse);
    }
}
