//! The state of all windows: for each stream the entries of each key.

use super::clock::Clock;
use super::fixed;
use super::keys::Keys;
use super::layout::Layout;
use super::plan::{Plan, Stream};
use super::pressure::Losses;
use super::track::Track;
use super::view::View;
use std::hint::black_box;
use std::sync::Arc;

/// Keys of each stream that an event sweeps.
const SWEPT: usize = 2;

/// What the state may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of memory.
    pub bytes: usize,
    /// How late an event may come and still find its windows whole; None: as late as the longest window is.
    pub lateness_us: Option<i64>,
}

/// What the state holds, and what the budget has cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Rows held: events, or panes of them; an event of two streams counts twice.
    pub entries: u64,
    pub labels: u64,
    /// Keys held, of all streams.
    pub keys: u64,
    pub bytes: usize,
    pub bytes_max: usize,
    /// Keys held in panes that were to be exact, for want of memory.
    pub coarse_keys: u64,
    /// Keys made so since the start.
    pub coarsened_keys: u64,
    /// Keys given up since the start, for want of memory.
    pub dropped_keys: u64,
    /// How late an event may come and find its windows whole.
    pub late_reach_us: i64,
    /// Times that this was shortened since the start, for want of memory.
    pub shortened: u64,
}

/// The state of all windows of a plan.
#[derive(Debug)]
pub struct Windows {
    plan: Arc<Plan>,
    limits: Limits,
    clock: Clock,
    pub(super) keys: Vec<Keys>,
    label_layout: Layout,
    /// How late an event may come now.
    pub(super) late_us: i64,
    /// Events up to here find no whole windows whatever `late_us` is: what they need was given up.
    pub(super) floor_us: i64,
    pub(super) losses: Losses,
    row: Vec<u64>,
    places: Vec<Option<usize>>,
    /// Events to come whose answers are at hand.
    pub(super) asked_ahead: usize,
    /// Whether those of the event in hand are.
    pub(super) is_asked: bool,
}

impl Windows {
    #[must_use]
    pub fn new(plan: Arc<Plan>, limits: Limits) -> Self {
        let keys = plan.streams().iter().map(|_| Keys::default()).collect();
        let late_us = limits.lateness_us.unwrap_or(plan.longest_us()).max(0);
        Self {
            plan,
            limits,
            clock: Clock::default(),
            keys,
            label_layout: Layout::of_labels(),
            late_us,
            floor_us: i64::MIN,
            losses: Losses::default(),
            row: Vec::new(),
            places: Vec::new(),
            asked_ahead: 0,
            is_asked: false,
        }
    }

    #[must_use]
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Takes other limits, which hold at once. What was given up under the former does not come back.
    pub fn set_limits(&mut self, limits: Limits) {
        self.set_late(limits.lateness_us.unwrap_or(self.plan.longest_us()).max(0));
        self.limits = limits;
        self.relieve();
    }

    /// Takes in the time of an event that is about to be scored. False: it is older than every window of the newest
    /// event, and is not to be inserted. `wall_us`: the box's clock.
    pub fn admit(&mut self, time_us: i64, wall_us: i64) -> bool {
        self.clock.see(time_us, wall_us);
        self.counts(time_us)
    }

    /// Whether an event of that time is counted.
    fn counts(&self, time_us: i64) -> bool {
        self.clock.newest().is_none_or(|newest| time_us > newest.saturating_sub(self.plan.longest_us()))
    }

    /// The greatest event time that is believed.
    #[must_use]
    pub fn newest_us(&self) -> Option<i64> {
        self.clock.newest()
    }

    /// Takes over the greatest event time of an earlier run, before its entries are inserted again.
    pub fn restore_newest(&mut self, newest_us: i64) {
        self.clock.restore(newest_us);
    }

    /// Enters an event that was admitted. `cells`: one a column of the plan. Events come in the order of their
    /// sequences, which is that of ties.
    pub fn insert(&mut self, _sequence: u64, time_us: i64, cells: &[u64]) {
        self.is_asked = self.asked_ahead > 0;
        self.asked_ahead = self.asked_ahead.saturating_sub(1);
        let (doubted_us, whole_from) = (self.clock.doubted_us(), self.whole_from());
        self.places.clear();
        for (stream, keys) in self.plan.streams().iter().zip(&mut self.keys) {
            let cutoff = whole_from.saturating_sub(stream.span_us);
            keys.sweep(SWEPT, cutoff, stream, &self.label_layout);
            self.places.push(stream.key_of(cells).and_then(|key| keys.place(key)));
        }
        // All streams are waited for at once.
        let at = self.keys.iter().zip(&self.places).filter_map(|(keys, place)| keys.tracks().get((*place)?));
        black_box(at.fold(0, |all, track| all ^ track.read_end()));
        for ((stream, keys), place) in self.plan.streams().iter().zip(&mut self.keys).zip(&self.places) {
            let cutoff = whole_from.saturating_sub(stream.span_us);
            let Some(key) = stream.key_of(cells).filter(|_| stream.passes(cells) && time_us > cutoff) else { continue };
            self.row.clear();
            stream.row_of(cells, &mut self.row);
            let Some(place) = place.or_else(|| keys.make(key, stream)) else { continue };
            keys.with(place, stream, |track| track.insert(time_us, &mut self.row, doubted_us, stream));
        }
        self.relieve();
        self.recover();
    }

    /// Sets the label of an event that was inserted, 0 being none; setting it again changes nothing, another value
    /// replaces it. A value that is no number in range counts as 0. False: no stream with labels holds the event (any
    /// more).
    pub fn label(&mut self, sequence: u64, time_us: i64, cells: &[u64], value: f64) -> bool {
        let value = if fixed::in_range(value) { value } else { 0.0 };
        let (mut held, whole_from, labels) = (false, self.whole_from(), &self.label_layout);
        for (stream, keys) in self.plan.streams().iter().zip(&mut self.keys).filter(|(stream, _)| stream.labels) {
            let cutoff = whole_from.saturating_sub(stream.span_us);
            let Some(key) = stream.key_of(cells).filter(|_| stream.passes(cells) && time_us > cutoff) else { continue };
            let Some(place) = keys.place(key) else { continue };
            held |=
                keys.with(place, stream, |track| track.label(sequence, time_us, value, stream, labels)) == Some(true);
        }
        self.relieve();
        held
    }

    /// What the windows hold for an event, to be asked after it was inserted (or was not to be).
    #[must_use]
    pub fn view<'a>(&'a self, _sequence: u64, time_us: i64, cells: &'a [u64]) -> View<'a> {
        self.warm_answers(time_us, cells);
        View::new(self, time_us, cells)
    }

    /// Nothing at or before it is needed any more.
    #[must_use]
    pub fn horizon_us(&self) -> i64 {
        self.whole_from().saturating_sub(self.plan.longest_us())
    }

    /// Costs the same however much is held.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let mut stats = Stats {
            bytes_max: self.limits.bytes,
            late_reach_us: self.clock.newest().map_or(self.late_us, |newest| newest.saturating_sub(self.whole_from())),
            shortened: self.losses.shortened,
            coarsened_keys: self.losses.coarsened_keys,
            dropped_keys: self.losses.dropped_keys,
            ..Stats::default()
        };
        for keys in &self.keys {
            let held = keys.held();
            stats.entries += held.rows as u64;
            stats.labels += held.labels as u64;
            stats.bytes += held.bytes;
            stats.coarse_keys += held.coarse as u64;
            stats.keys += keys.len() as u64;
        }
        stats
    }

    /// Bytes in use.
    pub(super) fn bytes(&self) -> usize {
        self.keys.iter().map(|keys| keys.held().bytes).sum()
    }

    /// Events after this find their windows whole.
    fn whole_from(&self) -> i64 {
        let late = self.clock.newest().map_or(i64::MIN, |newest| newest.saturating_sub(self.late_us));
        late.max(self.floor_us)
    }

    fn set_late(&mut self, late_us: i64) {
        self.floor_us = self.whole_from();
        self.late_us = late_us;
    }

    /// With room again, events may come later again, as far as that is held.
    fn recover(&mut self) {
        let declared = self.limits.lateness_us.unwrap_or(self.plan.longest_us()).max(0);
        if self.late_us < declared && self.bytes() < self.limits.bytes / 2 {
            self.set_late(declared);
        }
    }

    /// Gives up what is old of all keys.
    pub(super) fn sweep_all(&mut self) {
        let whole_from = self.whole_from();
        for (stream, keys) in self.plan.streams().iter().zip(&mut self.keys) {
            keys.sweep(keys.len(), whole_from.saturating_sub(stream.span_us), stream, &self.label_layout);
        }
    }

    /// What a stream holds is after this.
    pub(super) fn cutoff(&self, stream: &Stream) -> i64 {
        self.whole_from().saturating_sub(stream.span_us)
    }

    /// Whether an event with these cells stands in the stream.
    pub(super) fn is_entry(&self, stream: &Stream, time_us: i64, cells: &[u64]) -> bool {
        stream.passes(cells) && self.counts(time_us) && time_us > self.cutoff(stream)
    }

    pub(super) fn find(&self, stream: usize, key: u64) -> Option<&Track> {
        self.keys.get(stream)?.get(key)
    }

    pub(super) fn label_layout(&self) -> &Layout {
        &self.label_layout
    }
}
