//! The state of all windows: for each stream the entries of each key.

use super::clock::Clock;
use super::layout::Layout;
use super::plan::{Plan, Stream};
use super::track::Track;
use super::view::View;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

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
    pub(super) clock: Clock,
    keys: Vec<Keys>,
    pub(super) label_layout: Layout,
    row: Vec<u64>,
}

/// The keys of a stream.
#[derive(Debug, Default)]
struct Keys {
    places: HashMap<u64, u32, BuildHasherDefault<Same>>,
    tracks: Vec<Track>,
}

/// Keys are hashes.
#[derive(Default)]
struct Same(u64);

impl Hasher for Same {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| hash.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

impl Windows {
    #[must_use]
    pub fn new(plan: Arc<Plan>, limits: Limits) -> Self {
        let keys = plan.streams().iter().map(|_| Keys::default()).collect();
        Self { plan, limits, clock: Clock::default(), keys, label_layout: Layout::of_labels(), row: Vec::new() }
    }

    #[must_use]
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Takes other limits; shorter ones hold at once.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Takes in the time of an event that is about to be scored. False: it is older than every window of the newest
    /// event, and is not to be inserted.
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
    /// sequences.
    pub fn insert(&mut self, _sequence: u64, time_us: i64, cells: &[u64]) {
        let plan = Arc::clone(&self.plan);
        for (at, stream) in plan.streams().iter().enumerate() {
            let cutoff = self.cutoff(stream);
            let Some(key) = stream.key_of(cells).filter(|_| stream.passes(cells) && time_us > cutoff) else { continue };
            self.row.clear();
            stream.row_of(cells, &mut self.row);
            let Some(keys) = self.keys.get_mut(at) else { continue };
            if let Some(track) = keys.track(key, stream) {
                track.insert(time_us, &self.row, stream);
            }
        }
    }

    /// Sets the label of an event that was inserted, 0 being none; setting it again changes nothing, another value
    /// replaces it. False: no stream with labels holds the event (any more).
    pub fn label(&mut self, sequence: u64, time_us: i64, cells: &[u64], value: f64) -> bool {
        let plan = Arc::clone(&self.plan);
        let mut held = false;
        for (at, stream) in plan.streams().iter().enumerate().filter(|(_, stream)| stream.labels) {
            let cutoff = self.cutoff(stream);
            let Some(key) = stream.key_of(cells).filter(|_| stream.passes(cells) && time_us > cutoff) else { continue };
            if let Some(track) = self.keys.get_mut(at).and_then(|keys| keys.find_mut(key)) {
                held |= track.label(sequence, time_us, value, stream, &self.label_layout);
            }
        }
        held
    }

    /// What the windows hold for an event, to be asked after it was inserted (or was not to be).
    #[must_use]
    pub fn view<'a>(&'a self, _sequence: u64, time_us: i64, cells: &'a [u64]) -> View<'a> {
        View::new(self, time_us, cells)
    }

    /// Nothing at or before it is needed any more.
    #[must_use]
    pub fn horizon_us(&self) -> i64 {
        self.reach(self.plan.longest_us())
    }

    #[must_use]
    pub fn stats(&self) -> Stats {
        let mut stats = Stats { bytes_max: self.limits.bytes, late_reach_us: self.lateness(), ..Stats::default() };
        for track in self.keys.iter().flat_map(|keys| &keys.tracks) {
            let (entries, labels) = track.len();
            stats.entries += entries as u64;
            stats.labels += labels as u64;
            stats.bytes += track.bytes() + size_of::<Track>();
            stats.keys += 1;
        }
        stats
    }

    fn lateness(&self) -> i64 {
        self.limits.lateness_us.unwrap_or(self.plan.longest_us())
    }

    fn reach(&self, span_us: i64) -> i64 {
        let reach = span_us.saturating_add(self.lateness());
        self.clock.newest().map_or(i64::MIN, |newest| newest.saturating_sub(reach))
    }

    /// What a stream holds is after this.
    pub(super) fn cutoff(&self, stream: &Stream) -> i64 {
        self.reach(stream.span_us)
    }

    /// Whether an event with these cells stands in the stream.
    pub(super) fn is_entry(&self, stream: &Stream, time_us: i64, cells: &[u64]) -> bool {
        stream.passes(cells) && self.counts(time_us) && time_us > self.cutoff(stream)
    }

    pub(super) fn find(&self, stream: usize, key: u64) -> Option<&Track> {
        let keys = self.keys.get(stream)?;
        keys.tracks.get(*keys.places.get(&key)? as usize)
    }
}

impl Keys {
    fn find_mut(&mut self, key: u64) -> Option<&mut Track> {
        self.tracks.get_mut(*self.places.get(&key)? as usize)
    }

    /// The key's track, made if there is none. None: there are 2^32 keys.
    fn track(&mut self, key: u64, stream: &Stream) -> Option<&mut Track> {
        let next = u32::try_from(self.tracks.len()).ok()?;
        let at = *self.places.entry(key).or_insert(next);
        if at == next {
            self.tracks.push(Track::new(key, stream));
        }
        self.tracks.get_mut(at as usize)
    }
}
