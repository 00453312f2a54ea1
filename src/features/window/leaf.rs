//! A run of entries in the order of their times, those of one time as they came.

use super::layout::{Layout, Way};
use super::query::SECOND_US;
use super::tree::{LEAF_ROWS, Shape};
use super::warm::LINE_WORDS;
use super::work;
use std::ops::Range;

/// Bytes that an allocation takes beside what is asked for.
pub const ALLOCATION: usize = 16;

/// Entries, each a time and a row of `width` cells.
///
/// All of it is one allocation, so that little memory is touched where there are many keys: first the times, two in a
/// word as long as all are whole seconds, then the rows. Room for times that is not in use is filled with ones.
#[derive(Debug, Default)]
pub struct Leaf {
    words: Box<[u64]>,
    len: u16,
    /// Rows that have room.
    room: u16,
    /// Whether a time is microseconds since 1970, a word; else seconds, half of one.
    in_micros: bool,
}

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// One event's cells.
    Events,
    /// The summary of a pane.
    Panes,
}

impl Rows {
    /// Cells of a row.
    #[must_use]
    pub fn width(self, layout: &Layout) -> usize {
        match self {
            Self::Events => layout.cells(),
            Self::Panes => layout.words(),
        }
    }
}

impl Leaf {
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Words that so many times take.
    fn time_words(count: usize, in_micros: bool) -> usize {
        if in_micros { count } else { count.div_ceil(2) }
    }

    /// Where the rows begin.
    fn begin(&self) -> usize {
        Self::time_words(usize::from(self.room), self.in_micros)
    }

    #[must_use]
    pub fn time(&self, at: usize) -> Option<i64> {
        if at >= self.len() {
            return None;
        }
        if self.in_micros {
            return self.words.get(at).map(|time| time.cast_signed());
        }
        let pair = self.words.get(at / 2)?;
        Some(i64::from(if at.is_multiple_of(2) { first(*pair) } else { second(*pair) }) * SECOND_US)
    }

    /// The time of its first entry.
    #[must_use]
    pub fn first(&self) -> Option<i64> {
        self.time(0)
    }

    /// The time of its last entry.
    #[must_use]
    pub fn last(&self) -> Option<i64> {
        self.time(self.len().checked_sub(1)?)
    }

    /// Entries at or before a time.
    #[must_use]
    pub fn until(&self, time_us: i64) -> usize {
        // Mostly the end is asked for.
        if self.last().is_none_or(|last| last <= time_us) {
            return self.len();
        }
        if self.first().is_none_or(|first| first > time_us) {
            return 0;
        }
        let times = self.words.get(..Self::time_words(self.len(), self.in_micros)).unwrap_or_default();
        if self.in_micros {
            return times.partition_point(|time| time.cast_signed() <= time_us);
        }
        // The last is later, and fits in 32 bits.
        let seconds = u32::try_from(time_us / SECOND_US).unwrap_or(u32::MAX);
        let pairs = times.partition_point(|pair| first(*pair) <= seconds);
        let Some(pair) = pairs.checked_sub(1).and_then(|last| times.get(last)) else { return 0 };
        (pairs * 2 - usize::from(second(*pair) > seconds)).min(self.len())
    }

    #[must_use]
    pub fn row(&self, at: usize, width: usize) -> &[u64] {
        self.rows(at..at + 1, width)
    }

    fn rows(&self, range: Range<usize>, width: usize) -> &[u64] {
        let begin = self.begin();
        self.words.get(begin + range.start * width..begin + range.end * width).unwrap_or_default()
    }

    pub fn row_mut(&mut self, at: usize, width: usize) -> &mut [u64] {
        let begin = self.begin();
        self.words.get_mut(begin + at * width..begin + (at + 1) * width).unwrap_or_default()
    }

    /// Puts an entry at its place, which is not behind the end.
    pub fn insert(&mut self, at: usize, time_us: i64, row: &[u64]) {
        let (len, width) = (self.len(), row.len());
        let at = at.min(len);
        let seconds = u32::try_from(time_us.div_euclid(SECOND_US)).ok().filter(|_| time_us % SECOND_US == 0);
        let in_micros = self.in_micros || seconds.is_none();
        if len == usize::from(self.room) || in_micros != self.in_micros {
            // Room grows by half, so that a key of few entries takes little more than they need, and not beyond a full
            // leaf.
            let most = LEAF_ROWS.max(len + 1);
            let room =
                if len == usize::from(self.room) { (len + (len / 2).max(1)).min(most) } else { self.room.into() };
            *self = self.copy(0..len, room, in_micros, width);
        }
        let begin = self.begin();
        self.words.copy_within(begin + at * width..begin + len * width, begin + (at + 1) * width);
        self.len += 1;
        self.row_mut(at, width).copy_from_slice(row);
        let times = self.words.get_mut(..begin).unwrap_or_default();
        if in_micros {
            times.copy_within(at..len, at + 1);
            put(times, at, time_us.cast_unsigned());
            return;
        }
        // Each time moves up half a word, down to that of `at`, where the lower half may stay.
        let word = at / 2;
        for n in (word + 1..=len / 2).rev() {
            let below = times.get(n - 1).copied().unwrap_or_default();
            let moved = times.get(n).map(|pair| pair << 32 | below >> 32);
            put(times, n, moved.unwrap_or_default());
        }
        let there = times.get(word).copied().unwrap_or_default();
        let time = u64::from(seconds.unwrap_or_default());
        let new = if at.is_multiple_of(2) { there << 32 | time } else { u64::from(first(there)) | time << 32 };
        put(times, word, new);
    }

    /// Some of its entries, with room for so many.
    fn copy(&self, range: Range<usize>, room: usize, in_micros: bool, width: usize) -> Self {
        let begin = Self::time_words(room, in_micros);
        let mut words = vec![u64::MAX; begin + room * width];
        let number = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
        for (n, at) in range.clone().enumerate() {
            let time = self.time(at).unwrap_or_default();
            if in_micros {
                put(&mut words, n, time.cast_unsigned());
            } else if let Some(pair) = words.get_mut(n / 2) {
                let seconds = (time / SECOND_US).cast_unsigned();
                *pair =
                    if n.is_multiple_of(2) { *pair << 32 | seconds } else { u64::from(first(*pair)) | seconds << 32 };
            }
        }
        let rows = self.rows(range.clone(), width);
        if let Some(place) = words.get_mut(begin..begin + rows.len()) {
            place.copy_from_slice(rows);
        }
        Self { words: words.into_boxed_slice(), len: number(range.len()), room: number(room), in_micros }
    }

    /// Cuts off the entries from `at` on; both parts are without spare room.
    #[must_use]
    pub fn split_off(&mut self, at: usize, width: usize) -> Self {
        let (at, len) = (at.min(self.len()), self.len());
        let right = self.copy(at..len, len - at, self.in_micros, width);
        if at < usize::from(self.room) {
            *self = self.copy(0..at, at, self.in_micros, width);
        }
        right
    }

    /// Adds some of its rows to a summary, or takes their sums out of it.
    pub fn sum(&self, range: Range<usize>, way: Way, shape: Shape<'_>, summary: &mut [u64]) {
        if range.start >= range.end {
            return;
        }
        let (width, layout) = (shape.width(), shape.layout);
        let cells = self.rows(range.clone(), width);
        match (shape.rows, way) {
            (Rows::Events, _) => layout.sum_rows(summary, cells, range.len(), way),
            (Rows::Panes, Way::In) => cells.chunks_exact(width.max(1)).for_each(|pane| layout.add(summary, pane)),
            (Rows::Panes, Way::Out) => {
                cells.chunks_exact(width.max(1)).for_each(|pane| layout.sum(summary, pane, way));
            }
        }
    }

    /// Adds the rows after `after` and not after `until` to a summary.
    pub fn fold(&self, after: i64, until: i64, shape: Shape<'_>, summary: &mut [u64]) {
        self.sum(self.until(after)..self.until(until), Way::In, shape, summary);
    }

    /// Visits these rows from the last, until the visitor says stop.
    pub fn back(&self, after: i64, until: i64, width: usize, visit: &mut dyn FnMut(i64, &[u64]) -> bool) -> bool {
        (self.until(after)..self.until(until)).rev().any(|at| {
            work::done(1);
            visit(self.time(at).unwrap_or_default(), self.row(at, width))
        })
    }

    /// Visits every row.
    pub fn each(&self, width: usize, visit: &mut dyn FnMut(&[u64])) {
        work::done(self.len());
        (0..self.len()).for_each(|at| visit(self.row(at, width)));
    }

    /// Changes the last row of that time that `change` takes.
    pub fn change(&mut self, time_us: i64, width: usize, change: &mut dyn FnMut(&mut [u64]) -> bool) -> bool {
        let range = self.until(time_us.saturating_sub(1))..self.until(time_us);
        range.rev().any(|at| {
            work::done(1);
            change(self.row_mut(at, width))
        })
    }

    /// Gives up what is not after a time, once it is half of all; false where nothing went.
    pub fn expire(&mut self, time_us: i64, width: usize, gone: &mut dyn FnMut(&[u64])) -> bool {
        let old = self.until(time_us);
        if old * 2 < self.len() || old == 0 {
            return false;
        }
        work::done(self.len());
        (0..old).for_each(|at| gone(self.row(at, width)));
        *self = self.copy(old..self.len(), self.len() - old, self.in_micros, width);
        true
    }

    /// When half of its rows are old.
    #[must_use]
    pub fn due(&self) -> Option<i64> {
        self.time(self.len().checked_sub(1)? / 2)
    }

    /// Reads the words that the next entry in order goes beside.
    #[must_use]
    pub fn read_end(&self, width: usize) -> u64 {
        let time = self.words.get(Self::time_words(self.len(), self.in_micros));
        let row = self.words.get(self.begin() + self.len() * width);
        time.map_or(0, |word| *word) ^ row.map_or(0, |word| *word)
    }

    /// Reads a word of each of its lines.
    #[must_use]
    pub fn read(&self) -> u64 {
        self.words.iter().step_by(LINE_WORDS).chain(self.words.last()).fold(0, |all, word| all ^ word)
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn bytes(&self) -> usize {
        if self.words.is_empty() { 0 } else { size_of_val(&*self.words) + ALLOCATION }
    }
}

fn put(words: &mut [u64], at: usize, word: u64) {
    if let Some(place) = words.get_mut(at) {
        *place = word;
    }
}

/// The first of the two times in a word.
#[allow(clippy::cast_possible_truncation)] // the half
fn first(pair: u64) -> u32 {
    pair as u32
}

/// The second of the two times in a word.
#[allow(clippy::cast_possible_truncation)] // the half
fn second(pair: u64) -> u32 {
    (pair >> 32) as u32
}
