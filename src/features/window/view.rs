//! What the windows hold for one event: the answers to its features' queries.

use super::fixed;
use super::layout::{Layout, Reads};
use super::plan::Stream;
use super::query::Query;
use super::state::Windows;
use super::track::{Ends, Track, seconds};
use super::tree::Edge;
use std::cell::RefCell;

/// The windows as one event sees them.
#[derive(Debug)]
pub struct View<'a> {
    windows: &'a Windows,
    time_us: i64,
    cells: &'a [u64],
    memo: RefCell<Memo<'a>>,
}

/// What was looked up last: features of one key and window mostly follow each other.
#[derive(Debug)]
struct Memo<'a> {
    stream: Option<usize>,
    track: Option<&'a Track>,
    /// Whether the event is an entry of that stream.
    is_entry: bool,
    /// What the stream holds is after this.
    cutoff: i64,
    /// The window that `summary` is of.
    ends: Option<Ends>,
    summary: Vec<u64>,
    edge: Edge,
    label_summary: Vec<u64>,
}

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    Number(f64),
    /// The window holds nothing to make a number of.
    Empty,
    /// The event has no such key.
    NoKey,
    /// The event's own value is out of range.
    OutOfRange,
    /// The windows were made for other features.
    Unknown,
}

impl<'a> View<'a> {
    pub(super) fn new(windows: &'a Windows, time_us: i64, cells: &'a [u64]) -> Self {
        let memo = RefCell::new(Memo {
            stream: None,
            track: None,
            is_entry: false,
            cutoff: 0,
            ends: None,
            summary: Vec::new(),
            edge: Edge::default(),
            label_summary: Vec::new(),
        });
        Self { windows, time_us, cells, memo }
    }

    /// The answer to a query that was bound to the windows' plan.
    #[must_use]
    pub fn answer(&self, query: &Query) -> Answer {
        let Some(place) = query.place else { return Answer::Unknown };
        let Some(stream) = self.windows.plan().streams().get(place.stream) else { return Answer::Unknown };
        let Some(key) = stream.key_of(self.cells) else { return Answer::NoKey };
        let mut memo = self.memo.borrow_mut();
        if memo.stream != Some(place.stream) {
            (memo.stream, memo.ends) = (Some(place.stream), None);
            memo.edge.reset();
            memo.track = self.windows.find(place.stream, key);
            memo.is_entry = self.windows.is_entry(stream, self.time_us, self.cells);
            memo.cutoff = self.windows.cutoff(stream);
        }
        // Of the window the event itself is a part only without delay.
        let is_within = query.delay_us == 0 && memo.is_entry;
        let own = self.own(stream, place.reads);
        let is_ratio = matches!(place.reads, Reads::Ratio(_));
        if own.is_some_and(|own| !own.is_nan() && !fixed::in_range(own)) && (is_within || is_ratio) {
            return Answer::OutOfRange;
        }
        let Some(track) = memo.track else { return of_nothing(place.reads) };
        let until = self.time_us.saturating_sub(query.delay_us);
        let after = until.saturating_sub(query.over_us).max(memo.cutoff);
        let ends = track.ends(after, until);
        let own = own.filter(|own| !own.is_nan());
        let number = memo.read(track, ends, stream, place.reads, self, u64::from(is_within), own);
        number.map_or_else(|| of_nothing(place.reads), Answer::Number)
    }

    /// The event's own value of the number that is read.
    fn own(&self, stream: &Stream, reads: Reads) -> Option<f64> {
        let (Reads::Sum(n) | Reads::Mean(n) | Reads::Least(n) | Reads::Most(n) | Reads::Std(n) | Reads::Ratio(n)) =
            reads
        else {
            return None;
        };
        self.cells.get(*stream.cells.get(n)?).map(|cell| f64::from_bits(*cell))
    }
}

impl Memo<'_> {
    #[allow(clippy::cast_precision_loss, clippy::too_many_arguments)] // counts stay far below 2^53
    fn read(
        &mut self,
        track: &Track,
        ends: Ends,
        stream: &Stream,
        reads: Reads,
        view: &View<'_>,
        within: u64,
        own: Option<f64>,
    ) -> Option<f64> {
        let layout = &stream.layout;
        if matches!(reads, Reads::SinceLast) {
            let last = track.last_in(ends, within, layout)?;
            return Some(seconds(last, view.time_us));
        }
        if let Reads::Distinct(category) = reads
            && !track.counts_distinct(ends)
        {
            return Some(track.distinct(ends, category, layout) as f64);
        }
        if matches!(reads, Reads::LabelSum) {
            return Some(fixed::number(track.label_sum(ends, view.windows.label_layout(), &mut self.label_summary)));
        }
        if self.ends != Some(ends) {
            // A longer window with the same end holds what is known, and more.
            let missing = match self.ends {
                Some(known) if known.until == ends.until && known.after >= ends.after => {
                    Ends { until: known.after, ..ends }
                }
                _ => {
                    layout.prepare(&mut self.summary);
                    ends
                }
            };
            track.fold(missing, layout, &mut self.summary, &mut self.edge);
            self.ends = Some(ends);
        }
        let summary = &self.summary;
        let count = Layout::count(summary);
        match reads {
            Reads::Sum(n) => Some(fixed::number(layout.total(summary, n))),
            Reads::Mean(n) => layout.mean(summary, n),
            Reads::Least(n) => layout.least(summary, n),
            Reads::Most(n) => layout.most(summary, n),
            Reads::Std(n) => layout.deviation(summary, n),
            Reads::Ratio(n) => Some(own? / layout.mean(summary, n).filter(|mean| *mean != 0.0)?),
            Reads::Distinct(category) => Some(layout.last_ones(summary, category) as f64),
            Reads::FirstSeen => Some(if count > within { 0.0 } else { 1.0 }),
            Reads::LabelMean => {
                fixed::mean(track.label_sum(ends, view.windows.label_layout(), &mut self.label_summary), count)
            }
            _ => Some(count as f64),
        }
    }
}

/// The answer over an empty window.
fn of_nothing(reads: Reads) -> Answer {
    match reads {
        Reads::Count | Reads::Sum(_) | Reads::Distinct(_) | Reads::LabelSum => Answer::Number(0.0),
        Reads::FirstSeen => Answer::Number(1.0),
        _ => Answer::Empty,
    }
}
