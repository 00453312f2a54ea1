//! How far a partition was read, as it is stored in the commit.
//!
//! # Layout
//!
//! Name: `SOURCE/TOPIC/PARTITION`. Value, big-endian: version u8 (1), next offset i64, how often the topic was made
//! anew u32, then, of the last record read, time i64 (milliseconds, -1 if it has none), length of its key u32 and
//! of its value u32 (`u32::MAX` if it has none). 29 bytes.

use std::sync::Arc;

const VERSION: u8 = 1;
const BYTES: usize = 29;

/// A partition's place, and what stood just before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// The next offset to read.
    pub next: i64,
    /// How often the topic was found to be made anew: its offsets count from the start again then, and stand for
    /// other records.
    pub made: u32,
    /// The last record read; none where nothing was yet.
    pub last: Option<Look>,
}

/// What can be told of a record at little cost, to know it again. A topic that was deleted and made anew has
/// another record in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    pub time_ms: i64,
    pub key_bytes: u32,
    pub value_bytes: u32,
}

/// No key or no value.
pub(super) const NONE: u32 = u32::MAX;
/// Stands for no record at all.
const NOTHING: Look = Look { time_ms: i64::MIN, key_bytes: NONE, value_bytes: NONE };

impl Mark {
    pub fn encode(&self) -> Vec<u8> {
        let last = self.last.unwrap_or(NOTHING);
        let mut out = Vec::with_capacity(BYTES);
        out.push(VERSION);
        out.extend(self.next.to_be_bytes());
        out.extend(self.made.to_be_bytes());
        out.extend(last.time_ms.to_be_bytes());
        out.extend(last.key_bytes.to_be_bytes());
        out.extend(last.value_bytes.to_be_bytes());
        out
    }

    /// None where it is not of this layout.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (version, rest) = bytes.split_first()?;
        let (next, rest) = rest.split_first_chunk()?;
        let (made, rest) = rest.split_first_chunk()?;
        let (time_ms, rest) = rest.split_first_chunk()?;
        let (key_bytes, rest) = rest.split_first_chunk()?;
        let value_bytes = rest.try_into().ok()?;
        let last = Look {
            time_ms: i64::from_be_bytes(*time_ms),
            key_bytes: u32::from_be_bytes(*key_bytes),
            value_bytes: u32::from_be_bytes(value_bytes),
        };
        let next = i64::from_be_bytes(*next);
        let made = u32::from_be_bytes(*made);
        (*version == VERSION && next >= 0).then_some(Self { next, made, last: (last != NOTHING).then_some(last) })
    }
}

/// The name under which a partition's place is stored; at most 512 bytes, as sources' names are short.
pub(super) fn name(source: &str, topic: &str, partition: i32) -> Arc<str> {
    format!("{source}/{topic}/{partition}").into()
}
