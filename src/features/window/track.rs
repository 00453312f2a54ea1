//! What a stream holds of one key: its entries, and the labels of these.

use super::lasts::Lasts;
use super::layout::Layout;
use super::leaf::{ALLOCATION, Rows};
use super::plan::Stream;
use super::query::SECOND_US;
use super::tree::{Edge, Fix, Shape, Tree};

/// Panes of a coarse key are at least this part of the shortest window, so that most of a window is still told apart.
const FINEST_PART: i64 = 256;
/// And at most this part.
const COARSEST_PART: i64 = 8;
/// Keys with fewer entries are not made coarse.
const COARSE_ROWS_MIN: usize = 32;

/// One key's entries and labels. There are many: each has the size of a line of a processor's cache.
#[derive(Debug)]
pub struct Track {
    pub key: u64,
    entries: Tree,
    beside: Option<Box<Beside>>,
    /// Before this no entry is to go.
    due: i64,
    /// Width of a pane; 0: each event is an entry.
    pane_us: i64,
}

/// What only some streams and keys have.
#[derive(Debug, Default)]
struct Beside {
    labels: Tree,
    lasts: Option<Box<Lasts>>,
}

/// A window of one key, its ends cut down to whole panes where the key is held in panes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    pub after: i64,
    pub until: i64,
}

/// What a track, or all of them, takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Events, or panes of them.
    pub rows: usize,
    pub labels: usize,
    pub bytes: usize,
    /// Keys in wider panes than were declared.
    pub coarse: usize,
}

impl Track {
    #[must_use]
    pub fn new(key: u64, stream: &Stream) -> Self {
        let lasts = Lasts::new(&stream.layout);
        let beside = lasts.map(|lasts| Box::new(Beside { lasts: Some(lasts), ..Beside::default() }));
        Self { key, entries: Tree::new(), beside, due: i64::MAX, pane_us: stream.resolution_us }
    }

    fn shape<'a>(&self, layout: &'a Layout) -> Shape<'a> {
        Shape { rows: if self.pane_us == 0 { Rows::Events } else { Rows::Panes }, layout }
    }

    fn pane(&self, time_us: i64) -> i64 {
        match self.pane_us {
            0 => time_us,
            pane => time_us.saturating_sub(time_us.rem_euclid(pane)),
        }
    }

    #[must_use]
    pub fn held(&self, stream: &Stream) -> Held {
        let (labels, bytes) = self.beside.as_ref().map_or((0, 0), |beside| {
            let lasts = beside.lasts.as_ref().map_or(0, |lasts| lasts.bytes());
            (beside.labels.len(), beside.labels.bytes() + lasts + size_of::<Beside>() + ALLOCATION)
        });
        Held {
            rows: self.entries.len(),
            labels,
            bytes: self.entries.bytes() + bytes,
            coarse: usize::from(self.pane_us != stream.resolution_us),
        }
    }

    fn lasts(&self) -> Option<&Lasts> {
        self.beside.as_ref()?.lasts.as_deref()
    }

    #[must_use]
    pub fn has_branches(&self) -> bool {
        self.entries.has_branches()
    }

    /// Reads its own line.
    #[must_use]
    pub fn read_itself(&self) -> u64 {
        self.due.cast_unsigned()
    }

    /// Reads where the next entry in order goes.
    #[must_use]
    pub fn read_end(&self) -> u64 {
        self.entries.read_end(1)
    }

    /// Reads the lines of its last entries, and where others are.
    #[must_use]
    pub fn read_tail(&self) -> u64 {
        let beside = self.beside.as_ref().map_or(0, |beside| beside.labels.len() as u64);
        self.entries.read_tail() ^ beside
    }

    /// Reads the lines of the highest branch.
    #[must_use]
    pub fn read_branch(&self) -> u64 {
        self.entries.read_branch()
    }

    /// Reads what is needed to cut a window there.
    #[must_use]
    pub fn read_at(&self, time_us: i64) -> u64 {
        self.entries.read_at(self.pane(time_us))
    }

    /// Its last entry's time.
    #[must_use]
    pub fn last(&self) -> Option<i64> {
        self.entries.last()
    }

    /// Puts an entry in. `row` has the stream's cells; times after `doubted_us` may be wrong.
    pub fn insert(&mut self, time_us: i64, row: &mut [u64], doubted_us: i64, stream: &Stream) {
        let layout = &stream.layout;
        self.due = self.due.min(time_us);
        if self.pane_us == 0 {
            if let Some(lasts) = self.beside.as_mut().and_then(|beside| beside.lasts.as_mut()) {
                lasts.enter(time_us, row, doubted_us, &mut self.entries, layout);
            }
            self.entries.insert(time_us, row, Shape::events(layout));
            return;
        }
        let mut summary = layout.nothing();
        layout.add_rows(&mut summary, row, 1);
        self.add_pane(time_us, &summary, layout);
    }

    fn add_pane(&mut self, time_us: i64, summary: &[u64], layout: &Layout) {
        let (pane, shape) = (self.pane(time_us), self.shape(layout));
        let found = self.entries.change(pane, shape, Fix::Add(summary), &mut |there| {
            layout.add(there, summary);
            true
        });
        if !found {
            self.entries.insert(pane, summary, shape);
        }
    }

    /// Sets the label of an entry; false where the entry is not held.
    pub fn label(&mut self, sequence: u64, time_us: i64, value: f64, stream: &Stream, labels: &Layout) -> bool {
        let pane = self.pane(time_us);
        if !self.entries.back(pane.saturating_sub(1), pane, self.shape(&stream.layout), &mut |_, _| true) {
            return false;
        }
        let row = [value.to_bits(), sequence];
        let shape = Shape::events(labels);
        let changed = self.beside.as_mut().is_some_and(|beside| {
            beside.labels.change(time_us, shape, Fix::Recount, &mut |there| {
                let same = there.get(1) == Some(&sequence);
                if same {
                    there.copy_from_slice(&row);
                }
                same
            })
        });
        if !changed && value != 0.0 {
            self.beside.get_or_insert_default().labels.insert(time_us, &row, shape);
        }
        true
    }

    /// The window's ends as this key holds them.
    #[must_use]
    pub fn ends(&self, after: i64, until: i64) -> Ends {
        Ends { after: self.pane(after), until: self.pane(until) }
    }

    /// Adds what is in the window to a summary. `edge`: of this key, or new.
    pub fn fold(&self, ends: Ends, layout: &Layout, summary: &mut [u64], edge: &mut Edge) {
        self.entries.fold_on(ends.after, ends.until, self.shape(layout), summary, edge);
    }

    /// Whether a window's summary tells how many different values it holds.
    #[must_use]
    pub fn counts_distinct(&self, ends: Ends) -> bool {
        self.lasts().is_some_and(|lasts| lasts.counts(ends.until))
    }

    /// Different values of a category in the window, by looking at each of its entries.
    #[must_use]
    pub fn distinct(&self, ends: Ends, category: usize, layout: &Layout) -> u64 {
        let mut values = Vec::new();
        self.entries.back(ends.after, ends.until, self.shape(layout), &mut |_, row| {
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
        self.entries.back(ends.after, ends.until, self.shape(layout), &mut |time, row| {
            let here = if self.pane_us == 0 { 1 } else { Layout::count(row) };
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
        let Some(beside) = &self.beside else { return 0 };
        labels.prepare(summary);
        // Labels keep their events' times: what lies in a pane that counts, counts.
        let behind = (self.pane_us - 1).max(0);
        let (after, until) = (ends.after.saturating_add(behind), ends.until.saturating_add(behind));
        beside.labels.fold(after, until, Shape::events(labels), summary);
        labels.total(summary, 0)
    }

    /// Whether something may be old enough to go.
    #[must_use]
    pub fn is_due(&self, cutoff: i64) -> bool {
        cutoff >= self.due
    }

    /// Gives up what is not after `cutoff`; true where nothing is left.
    pub fn expire(&mut self, cutoff: i64, stream: &Stream, labels: &Layout) -> bool {
        let (layout, shape) = (&stream.layout, self.shape(&stream.layout));
        // A window that begins in a pane does not count it.
        let lasts = &mut self.beside.as_mut().and_then(|beside| beside.lasts.as_mut());
        let mut gone = |row: &[u64]| {
            if let Some(lasts) = lasts {
                lasts.leave(row, layout);
            }
        };
        let cutoff_pane = match self.pane_us {
            0 => cutoff,
            pane => cutoff.saturating_sub(cutoff.rem_euclid(pane)),
        };
        self.entries.expire(cutoff_pane, shape, &mut gone);
        let mut label_due = None;
        if let Some(beside) = &mut self.beside {
            beside.labels.expire(cutoff, Shape::events(labels), &mut |_| ());
            label_due = beside.labels.due();
            if beside.lasts.is_none() && beside.labels.len() == 0 {
                self.beside = None;
            }
        }
        // A pane, which begins before its entries, may go a little later.
        self.due = self.entries.due().into_iter().chain(label_due).min().unwrap_or(i64::MAX);
        self.entries.len() == 0 && label_due.is_none()
    }

    /// Holds the key in panes, or in wider ones, where that halves what it takes at least; false where it does not.
    pub fn coarsen(&mut self, stream: &Stream) -> bool {
        let (layout, shape) = (&stream.layout, self.shape(&stream.layout));
        if layout.categories() > 0 || self.entries.len() < COARSE_ROWS_MIN {
            return false;
        }
        let finest = (stream.shortest_us / FINEST_PART / SECOND_US).max(1) * SECOND_US;
        let mut pane = finest.max(self.pane_us.saturating_mul(2));
        let cells = self.entries.len() * (shape.width() * 2 + 1);
        while pane <= stream.shortest_us / COARSEST_PART {
            let (mut panes, mut last) = (0_usize, None);
            self.entries.back(i64::MIN, i64::MAX, shape, &mut |time, _| {
                let here = Some(time.div_euclid(pane));
                panes += usize::from(here != last);
                last = here;
                false
            });
            if panes * (layout.words() * 2 + 1) <= cells / 2 {
                self.rebuild(pane, layout);
                return true;
            }
            pane *= 2;
        }
        false
    }

    fn rebuild(&mut self, pane_us: i64, layout: &Layout) {
        let (shape, mut panes) = (self.shape(layout), Vec::<(i64, Vec<u64>)>::new());
        self.entries.back(i64::MIN, i64::MAX, shape, &mut |time, row| {
            let time = time - time.rem_euclid(pane_us);
            if panes.last().is_none_or(|(last, _)| *last != time) {
                panes.push((time, layout.nothing()));
            }
            if let Some((_, summary)) = panes.last_mut() {
                shape.add_row(summary, row);
            }
            false
        });
        (self.entries, self.pane_us) = (Tree::new(), pane_us);
        let shape = self.shape(layout);
        panes.iter().rev().for_each(|(time, summary)| self.entries.insert(*time, summary, shape));
    }
}

/// Seconds between two times.
#[must_use]
#[allow(clippy::cast_precision_loss)] // spans of at most 800 days are exact
pub fn seconds(earlier: i64, later: i64) -> f64 {
    later.saturating_sub(earlier).max(0) as f64 / SECOND_US as f64
}
