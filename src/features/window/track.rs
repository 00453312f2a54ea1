//! What a stream holds of one key: its entries, and the labels of these.

use super::layout::Layout;
use super::leaf::Rows;
use super::plan::Stream;
use super::query::SECOND_US;
use super::tree::Tree;

/// One key's entries and labels.
#[derive(Debug)]
pub struct Track {
    pub key: u64,
    entries: Tree,
    labels: Option<Box<Tree>>,
    /// Width of a pane; 0: each event is an entry.
    pane_us: i64,
}

/// A window of one key, its ends cut down to whole panes where the key is held in panes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    pub after: i64,
    pub until: i64,
}

impl Track {
    #[must_use]
    pub fn new(key: u64, stream: &Stream) -> Self {
        Self { key, entries: Tree::new(), labels: None, pane_us: stream.resolution_us }
    }

    fn rows(&self) -> Rows {
        if self.pane_us == 0 { Rows::Events } else { Rows::Panes }
    }

    fn pane(&self, time_us: i64) -> i64 {
        if self.pane_us == 0 || time_us == i64::MIN { time_us } else { time_us - time_us.rem_euclid(self.pane_us) }
    }

    /// Rows and labels.
    #[must_use]
    pub fn len(&self) -> (usize, usize) {
        (self.entries.len(), self.labels.as_ref().map_or(0, |labels| labels.len()))
    }

    /// Its last entry's time.
    #[must_use]
    pub fn last(&self) -> Option<i64> {
        self.entries.last()
    }

    #[must_use]
    pub fn is_coarse(&self) -> bool {
        self.pane_us != 0
    }

    /// Puts an entry in. `row` has the stream's cells.
    pub fn insert(&mut self, time_us: i64, row: &[u64], stream: &Stream) {
        let layout = &stream.layout;
        if self.pane_us == 0 {
            self.entries.insert(time_us, row, Rows::Events, layout);
            return;
        }
        let pane = self.pane(time_us);
        let found = self.entries.change(pane, Rows::Panes, layout, &mut |summary| {
            layout.add_rows(summary, row, 1);
            true
        });
        if !found {
            let mut summary = Vec::new();
            layout.clear(&mut summary);
            layout.add_rows(&mut summary, row, 1);
            self.entries.insert(pane, &summary, Rows::Panes, layout);
        }
    }

    /// Sets the label of an entry; false where the entry is not held.
    pub fn label(&mut self, sequence: u64, time_us: i64, value: f64, stream: &Stream, labels: &Layout) -> bool {
        let pane = self.pane(time_us);
        if !self.entries.back(pane.saturating_sub(1), pane, self.rows().width(&stream.layout), &mut |_, _| true) {
            return false;
        }
        let row = [value.to_bits(), sequence];
        let same = |there: &mut [u64]| {
            let same = there.get(1) == Some(&sequence);
            if same {
                there.copy_from_slice(&row);
            }
            same
        };
        let held = self.labels.as_mut();
        let changed = held.is_some_and(|held| held.change(time_us, Rows::Events, labels, &mut { same }));
        if !changed && value != 0.0 {
            self.labels.get_or_insert_with(|| Box::new(Tree::new())).insert(time_us, &row, Rows::Events, labels);
        }
        true
    }

    /// The window's ends as this key holds them.
    #[must_use]
    pub fn ends(&self, after: i64, until: i64) -> Ends {
        Ends { after: self.pane(after), until: self.pane(until) }
    }

    /// Makes `summary` that of the window.
    pub fn fold(&self, ends: Ends, layout: &Layout, summary: &mut Vec<u64>) {
        layout.clear(summary);
        self.entries.fold(ends.after, ends.until, self.rows(), layout, summary);
    }

    /// Different values of a category in the window.
    #[must_use]
    pub fn distinct(&self, ends: Ends, category: usize, layout: &Layout) -> u64 {
        let mut values = Vec::new();
        self.entries.back(ends.after, ends.until, layout.cells(), &mut |_, row| {
            values.extend(row.get(layout.numbers() + category).map(|cell| cell | 1).filter(|cell| *cell != 1));
            false
        });
        values.sort_unstable();
        values.dedup();
        values.len() as u64
    }

    /// The time of the last entry in the window, `skip` others passed over.
    #[must_use]
    pub fn last_in(&self, ends: Ends, mut skip: u64, layout: &Layout) -> Option<i64> {
        let mut found = None;
        let rows = self.rows();
        self.entries.back(ends.after, ends.until, rows.width(layout), &mut |time, row| {
            let here = if rows == Rows::Events { 1 } else { layout.count(row) };
            if here > skip {
                found = Some(time);
                return true;
            }
            skip -= here;
            false
        });
        found
    }

    /// The sum of the labels in the window, in 2^-60.
    pub fn label_sum(&self, ends: Ends, labels: &Layout, summary: &mut Vec<u64>) -> i128 {
        let Some(held) = &self.labels else { return 0 };
        labels.clear(summary);
        // Labels keep their events' times: what lies in a pane that counts, counts.
        let (after, until) = match self.pane_us {
            0 => (ends.after, ends.until),
            pane => (ends.after.saturating_add(pane - 1), ends.until.saturating_add(pane - 1)),
        };
        held.fold(after, until, Rows::Events, labels, summary);
        labels.sum(summary, 0)
    }

    /// Gives up what is not after `cutoff`; true where nothing is left.
    pub fn expire(&mut self, cutoff: i64, stream: &Stream, labels: &Layout) -> bool {
        let rows = self.rows();
        self.entries.expire(self.pane(cutoff).saturating_sub(i64::from(self.pane_us != 0)), rows, &stream.layout);
        if let Some(held) = &mut self.labels {
            held.expire(cutoff, Rows::Events, labels);
            if held.len() == 0 {
                self.labels = None;
            }
        }
        self.entries.len() == 0 && self.labels.is_none()
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.entries.bytes() + self.labels.as_ref().map_or(0, |labels| size_of::<Tree>() + labels.bytes())
    }
}

/// Seconds between two times.
#[must_use]
#[allow(clippy::cast_precision_loss)] // spans of at most 800 days are exact
pub fn seconds(earlier: i64, later: i64) -> f64 {
    later.saturating_sub(earlier).max(0) as f64 / SECOND_US as f64
}
