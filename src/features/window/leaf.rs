//! A run of entries in the order of their times, those of one time as they came.

use super::layout::Layout;
use super::query::SECOND_US;
use super::tree::LEAF_ROWS;
use std::ops::Range;

/// Bytes that an allocation takes beside what is asked for.
pub const ALLOCATION: usize = 16;

/// Entries, each a time and a row of `width` cells.
#[derive(Debug)]
pub struct Leaf {
    times: Times,
    rows: Vec<u64>,
}

#[derive(Debug)]
enum Times {
    /// Whole seconds since 1970, as long as all are: half the bytes.
    Seconds(Vec<u32>),
    Micros(Vec<i64>),
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
    pub fn new() -> Self {
        Self { times: Times::Seconds(Vec::new()), rows: Vec::new() }
    }

    #[must_use]
    pub fn len(&self) -> usize {
        match &self.times {
            Times::Seconds(times) => times.len(),
            Times::Micros(times) => times.len(),
        }
    }

    #[must_use]
    pub fn time(&self, at: usize) -> Option<i64> {
        match &self.times {
            Times::Seconds(times) => times.get(at).map(|seconds| i64::from(*seconds) * SECOND_US),
            Times::Micros(times) => times.get(at).copied(),
        }
    }

    /// The time of its last entry.
    #[must_use]
    pub fn last(&self) -> Option<i64> {
        self.time(self.len().checked_sub(1)?)
    }

    /// Entries at or before a time.
    #[must_use]
    pub fn until(&self, time_us: i64) -> usize {
        match &self.times {
            Times::Seconds(times) => match u32::try_from(time_us.div_euclid(SECOND_US)) {
                Ok(seconds) => times.partition_point(|time| *time <= seconds),
                Err(_) if time_us < 0 => 0,
                Err(_) => times.len(),
            },
            Times::Micros(times) => times.partition_point(|time| *time <= time_us),
        }
    }

    #[must_use]
    pub fn row(&self, at: usize, width: usize) -> &[u64] {
        self.rows.get(at * width..(at + 1) * width).unwrap_or_default()
    }

    pub fn row_mut(&mut self, at: usize, width: usize) -> &mut [u64] {
        self.rows.get_mut(at * width..(at + 1) * width).unwrap_or_default()
    }

    /// Puts an entry at its place.
    pub fn insert(&mut self, at: usize, time_us: i64, row: &[u64]) {
        let seconds = u32::try_from(time_us.div_euclid(SECOND_US)).ok().filter(|_| time_us % SECOND_US == 0);
        match (&mut self.times, seconds) {
            (Times::Seconds(times), Some(seconds)) => put(times, at, seconds),
            (Times::Micros(times), _) => put(times, at, time_us),
            (Times::Seconds(times), None) => {
                let mut micros = Vec::with_capacity(times.capacity());
                micros.extend(times.iter().map(|seconds| i64::from(*seconds) * SECOND_US));
                put(&mut micros, at, time_us);
                self.times = Times::Micros(micros);
            }
        }
        reserve(&mut self.rows, row.len());
        let place = (at * row.len()).min(self.rows.len());
        self.rows.splice(place..place, row.iter().copied());
    }

    /// Cuts off the entries from `at` on.
    #[must_use]
    pub fn split_off(&mut self, at: usize, width: usize) -> Self {
        let times = match &mut self.times {
            Times::Seconds(times) => Times::Seconds(cut(times, at)),
            Times::Micros(times) => Times::Micros(cut(times, at)),
        };
        Self { times, rows: cut(&mut self.rows, at * width) }
    }

    /// Adds some of its entries to a summary.
    pub fn add(&self, range: Range<usize>, rows: Rows, layout: &Layout, summary: &mut [u64]) {
        let width = rows.width(layout);
        let cells = self.rows.get(range.start * width..range.end * width).unwrap_or_default();
        match rows {
            Rows::Events => layout.add_rows(summary, cells, range.len()),
            Rows::Panes => cells.chunks_exact(width.max(1)).for_each(|pane| layout.add(summary, pane)),
        }
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let times = match &self.times {
            Times::Seconds(times) => times.capacity() * size_of::<u32>(),
            Times::Micros(times) => times.capacity() * size_of::<i64>(),
        };
        let rows = self.rows.capacity() * size_of::<u64>();
        [times, rows].into_iter().filter(|bytes| *bytes > 0).map(|bytes| bytes + ALLOCATION).sum()
    }
}

/// Room grows by half, so that a key of few entries takes little more than they need, and not beyond a full leaf.
fn reserve<T>(list: &mut Vec<T>, more: usize) {
    if list.capacity() - list.len() < more {
        let most = (LEAF_ROWS * more).saturating_sub(list.len());
        list.reserve_exact((list.len() / 2).min(most).max(more));
    }
}

fn put<T>(list: &mut Vec<T>, at: usize, value: T) {
    reserve(list, 1);
    list.insert(at.min(list.len()), value);
}

/// What is from `at` on, both parts without spare room.
fn cut<T>(list: &mut Vec<T>, at: usize) -> Vec<T> {
    let rest = list.split_off(at.min(list.len()));
    list.shrink_to_fit();
    rest
}
