//! One partition: where it starts, and what a gap means.

use super::offset::{Look, Mark};
use super::{OnGap, Start};
use std::sync::Arc;

/// What the brokers have of a partition: the first offset, and the one behind the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub low: i64,
    pub high: i64,
}

/// A partition that is ours.
#[derive(Debug)]
pub(super) struct Partition {
    pub topic: String,
    pub number: i32,
    /// Its offset's name in the store.
    pub name: Arc<str>,
    pub state: State,
    /// As far as records were gathered; None where nobody has read it yet.
    pub mark: Option<Mark>,
    /// Whether the client reads it.
    pub is_assigned: bool,
    /// The next offset of what is durable and not yet told to the group.
    pub untold: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Its place must be found with the brokers' help.
    Lost(Lost),
    /// It is read from the record before its place on, which must look like this.
    Checking(Look),
    Reading,
    /// A gap, and the rule is to stop.
    Stopped,
}

/// Why a place is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// It was just given to us.
    New,
    /// The brokers do not have the offset.
    OutOfRange,
    /// The record before the place is another one: the topic was made anew.
    Remade,
}

/// A place, found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub next: i64,
    /// What is missing, first and last offset, where something is.
    pub gap: Option<Gap>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    pub from: i64,
    /// Not included. None where it is not known: the topic is not the one that was read.
    pub to: Option<i64>,
}

/// Where a partition goes on, if no broker has to be asked: the further of what is stored here and what the group
/// knows. Only a place of our own can be checked.
pub(super) fn known_place(stored: Option<Mark>, committed: Option<i64>) -> Option<Mark> {
    let Some(committed) = committed else { return stored };
    match stored {
        Some(stored) if committed <= stored.next => Some(stored),
        _ => Some(Mark { next: committed, made: stored.map_or(0, |stored| stored.made), last: None }),
    }
}

/// Where it goes on, given what the brokers have; `wanted` is None where nobody has read it yet.
pub(super) fn find(wanted: Option<i64>, extent: Extent, start: Start) -> Found {
    let Extent { low, high } = extent;
    match wanted {
        None => Found { next: if start == Start::Earliest { low } else { high }, gap: None },
        Some(next) if next < low => Found { next: low, gap: Some(Gap { from: next, to: Some(low) }) },
        Some(next) if next > high => Found { next: low, gap: Some(Gap { from: next, to: None }) },
        Some(next) => Found { next, gap: None },
    }
}

impl Partition {
    /// Tells of a gap in the log; a line for the status.
    pub fn describe(&self, gap: Gap, on_gap: OnGap, next: i64) -> String {
        let Self { topic, number, .. } = self;
        let then = match on_gap {
            OnGap::Earliest => format!("reading goes on at offset {next}"),
            OnGap::Stop => "the partition is not read any more (on-gap = \"stop\")".to_owned(),
        };
        match gap.to {
            Some(to) => {
                let last = to - 1;
                format!(
                    "topic {topic}, partition {number}: the brokers no longer have offsets {} to {last}; {then}",
                    gap.from
                )
            }
            None => format!(
                "topic {topic}, partition {number}: it does not hold what was read before offset {}: the topic was \
                 made anew or cut short, and what it held from there on is missing; {then}",
                gap.from
            ),
        }
    }
}
