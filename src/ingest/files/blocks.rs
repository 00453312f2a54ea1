//! Whole records out of a file that may still grow, a block at a time.
//!
//! A record ends with its line end; at the end of a file that will not grow the last one needs none. One that is
//! longer than the limit of an event is set aside, its first bytes kept, and passed over to the next line end. So is
//! a CSV row whose quote is never closed: it would swallow the rest of the file.

use super::{BLOCK_BYTES, BLOCK_EVENTS_MAX, Format};
use crate::event::{BadKind, Beside, CsvForm, CsvHeader, CsvParser, EventBatch, Form, HeaderFault, LineIds};
use crate::ingest::{Intake, limits::EVENT_COST_BYTES};
use bytes::{Buf, BytesMut};
use std::{fs::File, io, os::unix::fs::FileExt};

/// Bytes that are kept of a record that is too long.
const EXCERPT_BYTES_MAX: usize = 64 << 10;

#[derive(Debug, thiserror::Error)]
pub(in crate::ingest) enum BlockError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Header(#[from] HeaderFault),
    #[error("header: expected a first row of at most {0} bytes")]
    HeaderTooLong(usize),
    #[error("header: expected a first row, with its quotes closed")]
    NoHeader,
}

/// Records of one block.
pub(in crate::ingest) struct Decoded {
    pub batch: EventBatch,
    /// Place of the first byte behind them.
    pub next: u64,
}

/// A record that is being passed over.
struct Skip {
    start: u64,
    length: u64,
    excerpt: Vec<u8>,
}

/// A file being read.
pub(in crate::ingest) struct Blocks {
    file: File,
    /// What was read and not yet decoded, and its place in the file.
    buffer: BytesMut,
    at: u64,
    skip: Option<Skip>,
    /// Nothing is whole of what was read.
    wants_more: bool,
    table: Option<Table>,
    /// The limit of one record.
    limit: usize,
    /// Bytes read and handed in at once: [`BLOCK_BYTES`].
    block: usize,
}

struct Table {
    form: CsvForm,
    parser: CsvParser,
    header: Option<CsvHeader>,
    object: Vec<u8>,
}

impl Blocks {
    /// `at`: where to go on; `limit`: bytes of one record.
    pub fn new(file: File, at: u64, format: &Format, limit: usize) -> Self {
        let table = match format {
            Format::Ndjson => None,
            Format::Csv(form) => {
                Some(Table { parser: CsvParser::new(form), form: form.clone(), header: None, object: Vec::new() })
            }
        };
        Self { file, buffer: BytesMut::new(), at, skip: None, wants_more: true, table, limit, block: BLOCK_BYTES }
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    /// Place up to which the file was read.
    pub fn read_to(&self) -> u64 {
        self.at + self.buffer.len() as u64
    }

    /// Whether nothing is whole of what was read.
    pub fn wants_more(&self) -> bool {
        self.wants_more
    }

    /// Whether what was read may hold a whole record still.
    pub fn may_hold(&self) -> bool {
        !self.wants_more && !self.buffer.is_empty()
    }

    /// What it costs to read and decode the next `pending` bytes, at most.
    pub fn cost(&self, pending: u64) -> usize {
        let bytes = usize::try_from(pending).unwrap_or(usize::MAX).saturating_add(self.buffer.len()).min(self.room());
        // The shortest event is a digit and a line end; most such lines are none, and bad records cost as much.
        let events = (bytes / 2 + 1).min(BLOCK_EVENTS_MAX);
        let objects = if self.table.is_some() { bytes.saturating_mul(4).min(2 * self.block) } else { 0 };
        bytes + events * EVENT_COST_BYTES + objects
    }

    fn room(&self) -> usize {
        // A whole record of the greatest length must be seen to be too long.
        self.block.max(self.limit + 1)
    }

    /// Reads on, `pending` bytes at most; returns how many.
    pub fn fill(&mut self, pending: u64) -> io::Result<usize> {
        let before = self.buffer.len();
        // What the batch under way shares is copied when the buffer grows: not for a few bytes.
        if before > self.block / 2 && !self.wants_more {
            return Ok(0);
        }
        let space = self.block.min(self.room().saturating_sub(before));
        let mut filled = before;
        self.buffer.resize(before + usize::try_from(pending).unwrap_or(space).min(space), 0);
        let read = loop {
            let Some(rest) = self.buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) else { break Ok(()) };
            match self.file.read_at(rest, self.at + filled as u64) {
                Ok(0) => break Ok(()),
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        self.buffer.truncate(filled);
        read.map(|()| filled - before)
    }

    /// Forgets what was read beyond `place`.
    pub fn forget(&mut self, place: u64) {
        self.buffer.truncate(usize::try_from(place.saturating_sub(self.at)).unwrap_or(usize::MAX));
    }

    /// Decodes what is whole of what was read. `ended`: the file was read to its end and will not grow. None where
    /// nothing is whole yet.
    pub fn decode<I: Intake>(
        &mut self,
        intake: &I,
        ids: Option<&str>,
        ended: bool,
    ) -> Result<Option<Decoded>, BlockError> {
        let decoded = if self.skip.is_some() {
            self.pass_over(intake, ids, ended)
        } else if self.table.is_none() {
            self.lines(intake, ids, ended)
        } else if self.read_header(ended)? {
            self.rows(intake, ids, ended)
        } else {
            None
        };
        self.wants_more = decoded.is_none();
        Ok(decoded)
    }

    fn lines<I: Intake>(&mut self, intake: &I, ids: Option<&str>, ended: bool) -> Option<Decoded> {
        let mut end = None;
        for (n, at) in memchr::memchr_iter(b'\n', &self.buffer).enumerate() {
            end = Some(at + 1);
            if n + 1 == BLOCK_EVENTS_MAX || at + 1 >= self.block {
                break;
            }
        }
        let end = match end {
            Some(end) => end,
            None if self.buffer.len() > self.limit => return self.begin_skip(intake, ids, ended),
            None if ended && !self.buffer.is_empty() => self.buffer.len(),
            None => return None,
        };
        let body = self.buffer.split_to(end).freeze();
        let ids = ids.map(|prefix| LineIds { prefix, base: self.at });
        self.at += end as u64;
        Some(Decoded { batch: intake.decode_lines(body, ids), next: self.at })
    }

    fn rows<I: Intake>(&mut self, intake: &I, ids: Option<&str>, ended: bool) -> Option<Decoded> {
        let table = self.table.as_mut()?;
        let header = table.header.as_ref()?;
        let mut assembly = intake.assemble();
        let mut used = 0;
        while assembly.len() < BLOCK_EVENTS_MAX && assembly.bytes() < self.block {
            used += CsvParser::blank(self.buffer.get(used..)?);
            let rest = self.buffer.get(used..)?;
            if rest.is_empty() {
                break;
            }
            let (length, fault) = match table.parser.read(rest) {
                Some(length) if length <= self.limit => (length, None),
                Some(length) => (length, Some((BadKind::Oversized, too_long(self.limit, length as u64)))),
                None if ended && rest.len() <= self.limit && table.parser.read_last(rest) => (rest.len(), None),
                // Its end is nowhere near: what was taken for a quote may be none.
                None if ended || rest.len() > self.limit => match memchr::memchr(b'\n', rest) {
                    Some(at) => (at + 1, Some((BadKind::Malformed, "expected a quote to be closed".to_owned()))),
                    None if assembly.is_empty() => return self.begin_skip(intake, ids, ended),
                    None => break,
                },
                None => break,
            };
            let row = rest.get(..length).unwrap_or_default();
            let id = ids.map(|prefix| format!("{prefix}{}", self.at + used as u64));
            let id = id.as_deref();
            used += length;
            table.object.clear();
            let fault = fault.or_else(|| {
                let written = header.write_object(table.parser.cells(), None, &mut table.object);
                written.err().map(|reason| (BadKind::Malformed, reason))
            });
            match fault {
                None => assembly.push(&Form::Record, &table.object, Beside { id, ..Beside::default() }),
                Some((kind, reason)) => assembly.push_bad(kind, reason, row, id),
            }
        }
        if used == 0 {
            return None;
        }
        let batch = assembly.finish();
        self.buffer.advance(used);
        self.at += used as u64;
        Some(Decoded { batch, next: self.at })
    }

    /// Finds the names of the columns, which stand at the start of the file wherever it is taken up. False where
    /// they are not whole yet.
    fn read_header(&mut self, ended: bool) -> Result<bool, BlockError> {
        let Some(table) = self.table.as_mut() else { return Ok(true) };
        if table.header.is_some() {
            return Ok(true);
        }
        // The header has the limit of an event: more of the file is not looked at.
        let mut first = vec![0; self.limit + 1];
        let mut filled = 0;
        while let Some(rest) = first.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, filled as u64)? {
                0 => break,
                read => filled += read,
            }
        }
        first.truncate(filled);
        let blank = CsvParser::blank(&first);
        let rest = first.get(blank..).unwrap_or_default();
        let length = match table.parser.read(rest) {
            Some(length) => length,
            None if rest.len() > self.limit => return Err(BlockError::HeaderTooLong(self.limit)),
            None if ended && !rest.is_empty() && table.parser.read_last(rest) => rest.len(),
            None if ended => return Err(BlockError::NoHeader),
            None => return Ok(false),
        };
        table.header = Some(CsvHeader::new(table.parser.cells(), &table.form.columns)?);
        let end = (blank + length) as u64;
        if let Some(ahead) = end.checked_sub(self.at) {
            let ahead = usize::try_from(ahead).unwrap_or(usize::MAX).min(self.buffer.len());
            self.buffer.advance(ahead);
            self.at = end;
        }
        Ok(true)
    }

    fn begin_skip<I: Intake>(&mut self, intake: &I, ids: Option<&str>, ended: bool) -> Option<Decoded> {
        self.skip = Some(Skip { start: self.at, length: 0, excerpt: Vec::new() });
        self.pass_over(intake, ids, ended)
    }

    /// Goes on to the end of a record that is too long.
    fn pass_over<I: Intake>(&mut self, intake: &I, ids: Option<&str>, ended: bool) -> Option<Decoded> {
        let skip = self.skip.as_mut()?;
        let end = memchr::memchr(b'\n', &self.buffer);
        let part = end.map_or(self.buffer.len(), |end| end + 1);
        let text = self.buffer.get(..end.unwrap_or(part)).unwrap_or_default();
        skip.length += text.len() as u64;
        let room = EXCERPT_BYTES_MAX.saturating_sub(skip.excerpt.len()).min(text.len());
        skip.excerpt.extend_from_slice(text.get(..room).unwrap_or_default());
        self.buffer.advance(part);
        self.at += part as u64;
        if end.is_none() && !ended {
            return None;
        }
        let Skip { start, length, excerpt } = self.skip.take()?;
        let mut assembly = intake.assemble();
        let id = ids.map(|prefix| format!("{prefix}{start}"));
        assembly.push_bad(BadKind::Oversized, too_long(self.limit, length), &excerpt, id.as_deref());
        Some(Decoded { batch: assembly.finish(), next: self.at })
    }
}

fn too_long(limit: usize, found: u64) -> String {
    format!("expected an event of at most {limit} bytes, found {found}")
}

#[cfg(test)]
#[path = "blocks_tests.rs"]
mod tests;
