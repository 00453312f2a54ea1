//! Reads the log engine's file by itself, segment by segment: is it whole, and what values stand in it?
//!
//! sled 0.34 passes over damage in silence: after a bad message in the newest segments it drops everything
//! that follows and zeroes it, after one in an older segment it drops the rest of that segment, and a segment
//! it no longer refers to is zeroed at open. So the file is looked at before sled opens it.
//!
//! # sled's layout, as far as it is read here (all in segments of [`SEGMENT_BYTES`])
//!
//! ```text
//! segment header  CRC-32 u32 (inverted, of what follows), lsn i64, stable lsn i64 (both xor 0x7fff…)
//! messages        CRC-32 u32 (inverted, of body and rest of the header), kind u8, length, segment number, page
//!                 (sled's own variable-length integers), body; kind 2 fills the rest, kind 0 is no message
//! ```

use super::error::StoreError;
use super::frame::{self, Framed, MAGIC};
use super::layout::SEGMENT_BYTES;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

const SEGMENT: usize = 512 * 1024;
const SEGMENT_LSN: i64 = 512 * 1024;
const _: () = assert!(SEGMENT_BYTES == 512 * 1024);
const HEADER: usize = 20;
/// No message starts nearer to a segment's end.
const RED_ZONE: usize = 32;
const LSN_MASK: i64 = i64::MAX;
/// Kind of the message that fills a segment up.
const CAP: u8 = 2;
/// Most bytes of the newest segments kept in memory while the engine opens.
const TAIL_BYTES_MAX: usize = 16 << 20;

/// What a look at the file found.
#[derive(Debug, Default)]
pub struct Look {
    /// Where a message or a segment that was durable is damaged: offsets in the file.
    pub damage: Vec<u64>,
    /// The newest segments, as they stood: the engine may cut and zero them.
    pub tail: Vec<u8>,
    pub segments: usize,
    /// Offset and lsn of the newest segments, as far as they follow on one another and are whole.
    pub chain: Vec<(u64, i64)>,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    offset: u64,
    lsn: i64,
    stable: i64,
    /// Where its messages break off before its end, if they do.
    broken: Option<usize>,
}

/// Looks through the file.
pub fn look(path: &Path) -> Result<Look, StoreError> {
    let io = |error: std::io::Error| StoreError::io("read", path, &error);
    let file = File::open(path).map_err(io)?;
    let length = file.metadata().map_err(io)?.len();
    let mut found = Look::default();
    let mut segments = Vec::new();
    let mut buffer = vec![0; SEGMENT];
    for offset in (0..length).step_by(SEGMENT) {
        let read = read_up_to(&file, &mut buffer, offset).map_err(io)?;
        let bytes = &buffer[..read];
        match segment(bytes, offset) {
            Some(segment) => segments.push(segment),
            None if bytes.iter().any(|&byte| byte != 0) => found.damage.push(offset),
            None => {}
        }
    }
    found.segments = segments.len();
    // From here on the engine itself expects that the last cut may have left anything.
    let stable = segments.iter().map(|segment| segment.stable).max().unwrap_or(0);
    let tail_from = stable / SEGMENT_LSN * SEGMENT_LSN;
    segments.sort_by_key(|segment| segment.lsn);
    found.chain = chain(&segments, tail_from);
    for segment in &segments {
        if segment.lsn >= tail_from {
            if found.tail.len() < TAIL_BYTES_MAX {
                let read = read_up_to(&file, &mut buffer, segment.offset).map_err(io)?;
                found.tail.extend_from_slice(&buffer[..read]);
            }
        } else if let Some(at) = segment.broken {
            found.damage.push(segment.offset + at as u64);
        }
    }
    Ok(found)
}

fn chain(segments: &[Segment], tail_from: i64) -> Vec<(u64, i64)> {
    let mut chain = Vec::new();
    for (segment, expected) in
        segments.iter().filter(|segment| segment.lsn >= tail_from).zip((tail_from..).step_by(SEGMENT))
    {
        if segment.lsn != expected || segment.broken.is_some() {
            break;
        }
        chain.push((segment.offset, segment.lsn));
    }
    chain
}

/// Puts empty segments where the engine zeroed whole ones when it was opened last.
///
/// At open, sled zeroes each segment that holds nothing live, also among the newest ones, whose chain its next
/// recovery follows: it would end there and drop everything after. `chain` is what [`look`] found before that
/// open: those segments were there, whole and applied, so an empty one in place of each is right.
pub fn mend(path: &Path, chain: &[(u64, i64)]) -> Result<usize, StoreError> {
    let io = |error: std::io::Error| StoreError::io("mend", path, &error);
    let file = File::options().read(true).write(true).open(path).map_err(io)?;
    let length = file.metadata().map_err(io)?.len();
    let mut lsns = std::collections::BTreeSet::new();
    let mut stable = 0;
    for offset in (0..length).step_by(SEGMENT) {
        let mut head = [0; HEADER];
        if read_up_to(&file, &mut head, offset).map_err(io)? == HEADER
            && let Some((lsn, stable_here)) = segment_header(&head)
        {
            lsns.insert(lsn);
            stable = stable.max(stable_here);
        }
    }
    let mut mended = 0;
    let mut buffer = vec![0; SEGMENT];
    for &(offset, lsn) in chain {
        let wanted = lsn >= stable / SEGMENT_LSN * SEGMENT_LSN && !lsns.contains(&lsn);
        // Only a hole within the log: behind its end nothing is missing.
        if !wanted || lsns.range(lsn..).next().is_none() {
            continue;
        }
        let read = read_up_to(&file, &mut buffer, offset).map_err(io)?;
        if buffer[..read].iter().all(|&byte| byte == 0) {
            file.write_all_at(&empty_segment(lsn), offset).map_err(io)?;
            mended += 1;
        }
    }
    if mended > 0 {
        file.sync_all().map_err(io)?;
    }
    Ok(mended)
}

/// A segment with nothing in it but the message that fills it.
fn empty_segment(lsn: i64) -> Vec<u8> {
    let mut segment = vec![0; SEGMENT];
    segment[4..12].copy_from_slice(&(lsn ^ LSN_MASK).to_le_bytes());
    segment[12..20].copy_from_slice(&(-1i64 ^ LSN_MASK).to_le_bytes());
    let crc = crc32fast::hash(&segment[4..20]) ^ 0xffff_ffff;
    segment[..4].copy_from_slice(&crc.to_le_bytes());
    let length = SEGMENT - HEADER - RED_ZONE;
    let mut head = vec![0, 0, 0, 0, CAP];
    put_sled_number(&mut head, length as u64);
    put_sled_number(&mut head, lsn.unsigned_abs() / SEGMENT_BYTES);
    put_sled_number(&mut head, u64::MAX);
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&vec![0; length]);
    hasher.update(&head[4..]);
    head[..4].copy_from_slice(&(hasher.finalize() ^ 0xffff_ffff).to_le_bytes());
    segment[HEADER..HEADER + head.len()].copy_from_slice(&head);
    segment
}

/// sled's variable-length integer, written.
// Each range fits the bytes it is cut to.
#[allow(clippy::cast_possible_truncation)]
fn put_sled_number(out: &mut Vec<u8>, value: u64) {
    match value {
        0..=240 => out.push(value as u8),
        241..=2287 => out.extend([((value - 240) / 256 + 241) as u8, ((value - 240) % 256) as u8]),
        2288..=67823 => out.extend([249, ((value - 2288) / 256) as u8, ((value - 2288) % 256) as u8]),
        _ => {
            let length = 8 - value.leading_zeros() as usize / 8;
            out.push(247 + length as u8);
            out.extend_from_slice(&value.to_le_bytes()[..length]);
        }
    }
}

fn read_up_to(file: &File, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match file.read_at(&mut buffer[read..], offset + read as u64)? {
            0 => break,
            n => read += n,
        }
    }
    Ok(read)
}

fn segment(bytes: &[u8], offset: u64) -> Option<Segment> {
    let header: &[u8; HEADER] = bytes.first_chunk()?;
    let (lsn, stable) = segment_header(header)?;
    let number = u64::try_from(lsn).ok()? / SEGMENT_BYTES;
    Some(Segment { offset, lsn, stable, broken: messages_end(bytes, number) })
}

/// Lsn and stable lsn, if the header is sound.
fn segment_header(header: &[u8; HEADER]) -> Option<(i64, i64)> {
    let crc = u32::from_le_bytes([header[0], header[1], header[2], header[3]]) ^ 0xffff_ffff;
    if crc32fast::hash(&header[4..]) != crc {
        return None;
    }
    let lsn = i64::from_le_bytes(header[4..12].try_into().ok()?) ^ LSN_MASK;
    let stable = i64::from_le_bytes(header[12..20].try_into().ok()?) ^ LSN_MASK;
    Some((lsn, stable))
}

/// Where the chain of messages breaks off; none if it reaches the segment's end.
fn messages_end(bytes: &[u8], number: u64) -> Option<usize> {
    let mut at = HEADER;
    while at + RED_ZONE <= SEGMENT {
        match message(bytes.get(at..).unwrap_or_default(), number) {
            Some((CAP, _)) => return None,
            Some((_, length)) => at += length,
            None => return Some(at),
        }
    }
    None
}

/// Kind and whole length of the message at the start of `bytes`, if it is sound.
fn message(bytes: &[u8], number: u64) -> Option<(u8, usize)> {
    let crc = u32::from_le_bytes(*bytes.first_chunk()?);
    let kind = *bytes.get(4)?;
    let mut at = 5;
    let length = usize::try_from(sled_number(bytes, &mut at)?).ok()?;
    let segment = sled_number(bytes, &mut at)?;
    sled_number(bytes, &mut at)?;
    let body = bytes.get(at..at.checked_add(length)?)?;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(body);
    hasher.update(&bytes[4..at]);
    let sound = kind != 0 && segment == number && hasher.finalize() ^ 0xffff_ffff == crc;
    sound.then_some((kind, at + length))
}

/// sled's variable-length integer.
fn sled_number(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    let (value, length) = match first {
        0..=240 => (u64::from(first), 1),
        241..=248 => (240 + 256 * (u64::from(first) - 241) + u64::from(*bytes.get(*at + 1)?), 2),
        249 => (2288 + 256 * u64::from(*bytes.get(*at + 1)?) + u64::from(*bytes.get(*at + 2)?), 3),
        _ => {
            let length = usize::from(first) - 247;
            let mut value = [0; 8];
            value.get_mut(..length)?.copy_from_slice(bytes.get(*at + 1..*at + 1 + length)?);
            (u64::from_le_bytes(value), length + 1)
        }
    };
    *at += length;
    Some(value)
}

/// Hands out every whole value in a file, whatever state the file is in. Values are far shorter than a
/// segment and do not cross its end.
pub fn values_in_file(path: &Path, mut each: impl FnMut(Framed)) -> Result<(), StoreError> {
    let io = |error: std::io::Error| StoreError::io("read", path, &error);
    let file = File::open(path).map_err(io)?;
    let length = file.metadata().map_err(io)?.len();
    let mut buffer = vec![0; SEGMENT];
    for offset in (0..length).step_by(SEGMENT) {
        let read = read_up_to(&file, &mut buffer, offset).map_err(io)?;
        values_in(&buffer[..read], &mut each);
    }
    Ok(())
}

/// Hands out every whole value among these bytes.
pub fn values_in(bytes: &[u8], mut each: impl FnMut(Framed)) {
    let mut at = 0;
    while let Some(found) = find_magic(&bytes[at..]) {
        at += found;
        match frame::unwrap_prefix(&bytes[at..]) {
            Ok(framed) => {
                at += framed.stored;
                each(framed);
            }
            Err(_) => at += 1,
        }
    }
}

fn find_magic(bytes: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(found) = bytes[from..].iter().position(|&byte| byte == MAGIC[0]) {
        if bytes[from + found..].starts_with(&MAGIC) {
            return Some(from + found);
        }
        from += found + 1;
    }
    None
}
