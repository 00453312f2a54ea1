//! Where to go on after a crash: the stored cursor, and what the file holds behind it.
//!
//! All lines before the stored cursor are durable, because the cursor was stored after their sync. Lines
//! behind it may be whole, torn or full of holes: they count only as far as they equal the log. Where they
//! differ from it, a torn line is cut, for the log has it. A whole verdict there is none of this log as it
//! is now (the log lost it, or is another's, or is written otherwise now): it is never cut.

use super::{Encoding, FileError, Filter};
use crate::store::{Store, StoreError};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Bytes read at a time while looking backward.
const BLOCK: u64 = 64 << 10;
/// Longest line looked for, far above the longest verdict (6 KiB of record, escaped sixfold).
const LINE_BYTES_MAX: u64 = 256 << 10;

/// Where a file's good part ends, and what comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resume {
    /// Bytes of the file to keep.
    pub length: u64,
    /// Next sequence to write.
    pub cursor: u64,
    /// Bytes of the file behind them.
    pub rest: u64,
    /// Whether the rest begins with a whole line that is a verdict.
    pub is_verdict: bool,
}

/// Finds out. `cursor`: the stored one.
pub fn resume(
    file: &File,
    store: &Store,
    cursor: u64,
    encoding: Encoding,
    filter: &Filter,
) -> Result<Resume, ResumeError> {
    let size = file.metadata()?.len();
    let mut length = settled_length(file, size, cursor)?;
    let mut next = cursor;
    let mut line = Vec::new();
    let mut written = Vec::new();
    'log: while let Some(chunk) = store.next_chunk(next)? {
        let from = next;
        for record in chunk.records().filter(|record| record.verdict.sequence >= from) {
            if !filter.wants(record.verdict.decision) {
                continue;
            }
            line.clear();
            // The record that cannot be rendered was passed over when it was to be written, too.
            if catch_unwind(AssertUnwindSafe(|| encoding.write(&record.verdict, &mut line))).is_err() {
                continue;
            }
            line.push(b'\n');
            written.resize(line.len(), 0);
            let whole = length + line.len() as u64 <= size && file.read_exact_at(&mut written, length).is_ok();
            if !whole || written != line {
                break 'log;
            }
            length += line.len() as u64;
            next = record.verdict.sequence + 1;
        }
        if length >= size {
            break;
        }
        next = next.max(chunk.next());
    }
    Ok(Resume { length, cursor: next, rest: size - length, is_verdict: is_verdict_at(file, length, size)? })
}

/// Where the last line before `cursor` ends: 0 where there is none.
fn settled_length(file: &File, size: u64, cursor: u64) -> io::Result<u64> {
    let mut end = last_line_end(file, size)?;
    while let Some((begin, line)) = line_before(file, end)? {
        if sequence_of(&line).is_some_and(|sequence| sequence < cursor) {
            return Ok(end);
        }
        end = begin;
    }
    Ok(0)
}

/// The position behind the last line end.
fn last_line_end(file: &File, size: u64) -> io::Result<u64> {
    let mut end = size;
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        let block = read(file, start, end)?;
        if let Some(at) = memchr::memrchr(b'\n', &block) {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// The line that ends at `end` (behind its line end) and where it begins. A longer one than can be is
/// returned cut, so that it is taken for no verdict.
fn line_before(file: &File, end: u64) -> io::Result<Option<(u64, Vec<u8>)>> {
    if end == 0 {
        return Ok(None);
    }
    let mut length = 1024;
    loop {
        let start = end.saturating_sub(length);
        let block = read(file, start, end)?;
        let inner = block.get(..block.len() - 1).unwrap_or_default();
        match memchr::memrchr(b'\n', inner) {
            Some(at) => return Ok(Some((start + at as u64 + 1, inner[at + 1..].to_vec()))),
            None if start == 0 || length >= LINE_BYTES_MAX => return Ok(Some((start, inner.to_vec()))),
            None => length *= 4,
        }
    }
}

fn read(file: &File, start: u64, end: u64) -> io::Result<Vec<u8>> {
    let mut block = vec![0; usize::try_from(end - start).unwrap_or_default()];
    file.read_exact_at(&mut block, start)?;
    Ok(block)
}

/// Whether a whole line that is a verdict begins at `start`.
fn is_verdict_at(file: &File, start: u64, size: u64) -> io::Result<bool> {
    let block = read(file, start, size.min(start + LINE_BYTES_MAX))?;
    Ok(memchr::memchr(b'\n', &block).is_some_and(|end| sequence_of(&block[..end]).is_some()))
}

/// The sequence in a line of either encoding.
fn sequence_of(line: &[u8]) -> Option<u64> {
    let json: serde_json::Value = serde_json::from_slice(line).ok()?;
    json.get("sequence").or_else(|| json.get("data")?.get("sequence"))?.as_u64()
}

#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ResumeError {
    pub fn at(self, path: &std::path::Path) -> FileError {
        match self {
            Self::Io(source) => FileError::Io { what: "cannot read", path: path.to_owned(), source },
            Self::Store(error) => FileError::Store(error),
        }
    }
}
