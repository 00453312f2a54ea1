//! The key families of the one tree, told apart by the first byte.
//!
//! ```text
//! c <sink>                              sink cursor
//! k <sink> 0 <sequence, u64 BE>         case: a call that is not settled
//! m <name>                              meta
//! o <source>                            source offset
//! p <n, u8>                             filler
//! q <sequence, u64 BE> <part, u16 BE>   quarantine
//! v <first sequence, u64 BE>            log chunk (verdicts)
//! w <first number, u64 BE>              label chunk
//! x <first sequence, u64 BE>            observations
//! y <first sequence, u64 BE>            events kept for a replay
//! ```
//!
//! The log engine keeps up to 16 neighbours in a page and rewrites the page after ten changes to it. The small
//! values that change with each commit must not share one with log chunks of 6 KB: the fillers, tiny and never
//! changed, stand between them. (Without: twice the bytes written for a single event.)

pub const CASE: u8 = b'k';
pub const CURSOR: u8 = b'c';
pub const LOG: u8 = b'v';
pub const META: u8 = b'm';
pub const OFFSET: u8 = b'o';
pub const FILLER: u8 = b'p';
pub const QUARANTINE: u8 = b'q';
pub const LABEL: u8 = b'w';
pub const OBSERVATION: u8 = b'x';
pub const KEPT: u8 = b'y';

/// Fillers: enough that the page of the small values splits off and is never merged again.
pub const FILLERS: u8 = 32;

pub const fn filler(n: u8) -> [u8; 2] {
    [FILLER, n]
}

/// Longest name of a sink, a source or a meta entry, bytes.
pub const NAME_BYTES_MAX: usize = 512;

pub fn log(first: u64) -> [u8; 9] {
    let mut key = [LOG; 9];
    key[1..].copy_from_slice(&first.to_be_bytes());
    key
}

pub fn label(first: u64) -> [u8; 9] {
    let mut key = [LABEL; 9];
    key[1..].copy_from_slice(&first.to_be_bytes());
    key
}

pub fn observation(first: u64) -> [u8; 9] {
    let mut key = [OBSERVATION; 9];
    key[1..].copy_from_slice(&first.to_be_bytes());
    key
}

pub fn case(sink: &str, sequence: u64) -> Vec<u8> {
    let mut key = named(CASE, sink);
    key.push(0);
    key.extend_from_slice(&sequence.to_be_bytes());
    key
}

/// Sink and sequence in a key of a case.
pub fn case_of(key: &[u8]) -> Option<(&str, u64)> {
    let (name, sequence) = key.strip_prefix(&[CASE])?.split_last_chunk::<8>()?;
    Some((std::str::from_utf8(name.strip_suffix(&[0])?).ok()?, u64::from_be_bytes(*sequence)))
}

pub fn kept(first: u64) -> [u8; 9] {
    let mut key = [KEPT; 9];
    key[1..].copy_from_slice(&first.to_be_bytes());
    key
}

/// The first sequence in a key of observations.
pub fn observation_first(key: &[u8]) -> Option<u64> {
    match key.split_first() {
        Some((&OBSERVATION, rest)) => Some(u64::from_be_bytes(rest.try_into().ok()?)),
        _ => None,
    }
}

/// The first sequence in a log key.
pub fn log_first(key: &[u8]) -> Option<u64> {
    match key.split_first() {
        Some((&LOG, rest)) => Some(u64::from_be_bytes(rest.try_into().ok()?)),
        _ => None,
    }
}

pub fn quarantine(sequence: u64, part: u16) -> [u8; 11] {
    let mut key = [QUARANTINE; 11];
    key[1..9].copy_from_slice(&sequence.to_be_bytes());
    key[9..].copy_from_slice(&part.to_be_bytes());
    key
}

/// Sequence and part in a quarantine key.
pub fn quarantine_of(key: &[u8]) -> Option<(u64, u16)> {
    match key.split_first() {
        Some((&QUARANTINE, rest)) => {
            let (sequence, part) = rest.split_first_chunk::<8>()?;
            Some((u64::from_be_bytes(*sequence), u16::from_be_bytes(part.try_into().ok()?)))
        }
        _ => None,
    }
}

pub fn named(family: u8, name: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(1 + name.len());
    key.push(family);
    key.extend_from_slice(name.as_bytes());
    key
}
