//! The input of an offline run: which form it has, and its records one after the other in bounded memory.

use super::replayed::Replayed;
use crate::{cli::Failure, store::inspect::Inspector};
use clap::ValueEnum;
use std::{
    cell::Cell,
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::Path,
    rc::Rc,
};

/// Longest CSV record, its quotes and all.
pub(in crate::cli) const RECORD_BYTES_MAX: usize = 16 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Format {
    Ndjson,
    Csv,
}

/// A stream whose form is known.
pub(in crate::cli) struct Input {
    pub format: Format,
    pub stream: Box<dyn BufRead>,
}

impl Input {
    /// The events that a store keeps.
    pub fn replay(inspector: Inspector) -> Result<Self, Failure> {
        let stream = BufReader::with_capacity(64 << 10, Replayed::new(inspector)?);
        Ok(Self { format: Format::Ndjson, stream: Box::new(stream) })
    }

    pub fn open(file: Option<&Path>, format: Option<Format>) -> Result<Self, Failure> {
        let file = file.filter(|file| *file != Path::new("-"));
        let name = file.map_or_else(|| "standard input".to_owned(), |file| file.display().to_string());
        let raw: Box<dyn Read> = match file {
            Some(file) => Box::new(File::open(file).map_err(|error| Failure::input(&name, &error))?),
            None => Box::new(io::stdin().lock()),
        };
        let mut stream: Box<dyn BufRead> = Box::new(BufReader::with_capacity(64 << 10, raw));
        let by_name = file.and_then(Path::extension).and_then(|extension| match extension.to_str() {
            Some("csv") => Some(Format::Csv),
            Some("ndjson" | "jsonl" | "json") => Some(Format::Ndjson),
            _ => None,
        });
        let format = match format.or(by_name) {
            Some(format) => format,
            None => guess(stream.fill_buf().map_err(|error| Failure::input(&name, &error))?),
        };
        Ok(Self { format, stream })
    }
}

/// A line that begins with a brace is JSON.
fn guess(head: &[u8]) -> Format {
    match head.trim_ascii_start().first() {
        Some(b'{' | b'[') => Format::Ndjson,
        _ => Format::Csv,
    }
}

/// Reads a line into `line` without its end, at most `limit` bytes and one more; what is beyond is skipped.
/// False at the end of the input.
pub(in crate::cli) fn read_line(stream: &mut dyn BufRead, line: &mut Vec<u8>, limit: usize) -> io::Result<bool> {
    line.clear();
    let mut some = false;
    loop {
        let buffer = match stream.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if buffer.is_empty() {
            return Ok(some);
        }
        some = true;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let part = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or_default();
        let room = (limit + 1).saturating_sub(line.len());
        line.extend_from_slice(part.get(..room.min(part.len())).unwrap_or_default());
        let used = part.len() + usize::from(end.is_some());
        stream.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}

/// Records of a CSV. A record longer than [`RECORD_BYTES_MAX`] (a quote that is never closed) ends the input.
pub(in crate::cli) struct Records {
    reader: csv::Reader<Metered>,
    since_record: Rc<Cell<usize>>,
    pub header: csv::ByteRecord,
}

impl Records {
    pub fn new(stream: Box<dyn BufRead>) -> Result<Self, csv::Error> {
        let since_record = Rc::new(Cell::new(0));
        let metered = Metered { stream, read: Rc::clone(&since_record) };
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(metered);
        let mut header = csv::ByteRecord::new();
        for (n, cell) in reader.byte_headers()?.iter().enumerate() {
            // A byte order mark is no part of the first name.
            let cell = if n == 0 { cell.strip_prefix(b"\xef\xbb\xbf").unwrap_or(cell) } else { cell };
            header.push_field(cell.trim_ascii());
        }
        Ok(Self { reader, since_record, header })
    }

    /// False at the end.
    pub fn read(&mut self, record: &mut csv::ByteRecord) -> Result<bool, csv::Error> {
        self.since_record.set(0);
        self.reader.read_byte_record(record)
    }
}

/// Counts what was read since the last record.
struct Metered {
    stream: Box<dyn BufRead>,
    read: Rc<Cell<usize>>,
}

impl Read for Metered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(buffer)?;
        let total = self.read.get().saturating_add(count);
        self.read.set(total);
        if total > RECORD_BYTES_MAX {
            let message = format!("expected records of at most {RECORD_BYTES_MAX} bytes; is a quote not closed?");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(count)
    }
}

/// Whether a cell says that there is no value.
pub(in crate::cli) fn is_missing(cell: &[u8]) -> bool {
    cell.is_empty() || cell.eq_ignore_ascii_case(b"nan")
}
