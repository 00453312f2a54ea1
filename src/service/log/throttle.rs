//! Summaries in place of repeats. Free of clocks and output: times are handed in, what is to be written is handed out.
//!
//! Messages of one kind about one source, sink or key of the config share a slot. In a slice of time the first [`PASSED_MAX`] of them
//! pass; the others are counted, and at the end of the slice one message of the same kind tells their number and the
//! last text. Nothing is lost uncounted: what passed and what summaries tell is what was logged. A slot never hides
//! another's messages, but the memory is bounded: beyond [`KEYS_MAX`] slots at once, the rest share one.

use super::message::Message;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

/// Messages of a slot that pass in a slice.
pub const PASSED_MAX: u32 = 10;
/// How long a slice lasts.
pub const SLICE: Duration = Duration::from_secs(30);
/// Slots that are told apart at once; more than any config has of sources and sinks that fail in every way.
pub const KEYS_MAX: usize = 512;

/// Whose repeats are counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// The kind, or the file of a message without one.
    kind: &'static str,
    level: tracing::Level,
    owner: String,
}

impl Key {
    fn of(message: &Message) -> Self {
        let kind = message.kind.map_or(message.file.unwrap_or(message.target), |notice| notice.kind);
        let owner = ["source", "sink", "owner", "key"].into_iter().find_map(|name| message.field(name));
        Self { kind, level: message.level, owner: owner.unwrap_or_default().to_owned() }
    }
}

/// One slice of a slot.
#[derive(Debug)]
struct Slot {
    since: Duration,
    passed: u32,
    held: u64,
    /// Of those held, the last of the worst level.
    last: Option<Message>,
}

impl Slot {
    fn new(now: Duration) -> Self {
        Self { since: now, passed: 0, held: 0, last: None }
    }

    fn is_over(&self, now: Duration) -> bool {
        now.saturating_sub(self.since) >= SLICE
    }

    /// The message, where it passes.
    fn take(&mut self, message: Message) -> Option<Message> {
        if self.passed < PASSED_MAX {
            self.passed += 1;
            return Some(message);
        }
        self.held += 1;
        if self.last.as_ref().is_none_or(|last| message.level <= last.level) {
            self.last = Some(message);
        }
        None
    }

    /// What the slice held back, if anything.
    fn summary(&mut self, now: Duration, at: SystemTime, are_alike: bool) -> Option<Message> {
        let mut message = self.last.take()?;
        let (held, seconds) = (self.held, now.saturating_sub(self.since).as_secs().max(1));
        let what = if are_alike { "of these" } else { "messages of several kinds" };
        message.text = format!("{held} more {what} in the last {seconds} s; the last: {}", message.text);
        message.fields.push(("repeats", held.into()));
        message.at = at;
        Some(message)
    }
}

#[derive(Debug, Default)]
pub(super) struct Throttle {
    slots: BTreeMap<Key, Slot>,
    /// Of all that find no slot.
    rest: Option<Slot>,
}

/// What comes of a message.
#[derive(Debug, Default)]
pub(super) struct Offered {
    /// To be written now, in order.
    pub told: Vec<Message>,
    /// Whether something is now held back in a slot that held nothing: the time of the next summary may have changed.
    pub is_first_held: bool,
}

impl Throttle {
    pub fn offer(&mut self, message: Message, now: Duration) -> Offered {
        let key = Key::of(&message);
        let mut told = Vec::new();
        if self.slots.len() >= KEYS_MAX && !self.slots.contains_key(&key) {
            told = self.due(now, message.at);
        }
        let has_place = self.slots.len() < KEYS_MAX || self.slots.contains_key(&key);
        let slot = if has_place {
            self.slots.entry(key).or_insert_with(|| Slot::new(now))
        } else {
            self.rest.get_or_insert_with(|| Slot::new(now))
        };
        if slot.is_over(now) {
            told.extend(slot.summary(now, message.at, has_place));
            *slot = Slot::new(now);
        }
        told.extend(slot.take(message));
        let is_first_held = slot.held == 1;
        Offered { told, is_first_held }
    }

    /// The summaries of slices that are over; their slots are given up.
    pub fn due(&mut self, now: Duration, at: SystemTime) -> Vec<Message> {
        self.end(now, at, |slot| slot.is_over(now))
    }

    /// The summaries of everything, at the end of the process.
    pub fn all(&mut self, now: Duration, at: SystemTime) -> Vec<Message> {
        self.end(now, at, |_| true)
    }

    /// When the next summary is due, if any is.
    pub fn next_due(&self) -> Option<Duration> {
        let waiting = self.slots.values().chain(&self.rest).filter(|slot| slot.held > 0);
        waiting.map(|slot| slot.since + SLICE).min()
    }

    fn end(&mut self, now: Duration, at: SystemTime, is_over: impl Fn(&Slot) -> bool) -> Vec<Message> {
        let mut told = Vec::new();
        self.slots.retain(|_, slot| {
            let over = is_over(slot);
            if over {
                told.extend(slot.summary(now, at, true));
            }
            !over
        });
        if let Some(mut rest) = self.rest.take_if(|rest| is_over(rest)) {
            told.extend(rest.summary(now, at, false));
        }
        told
    }
}

#[cfg(test)]
mod tests;
