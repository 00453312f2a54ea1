//! The input of `send`: NDJSON as it stands, or CSV made into JSON objects, in batches.

use crate::event::{CsvHeader, HeaderFault};
use bytes::Bytes;
use std::{
    io::{self, BufRead, Read},
    ops::Range,
    path::PathBuf,
};
use tokio::sync::mpsc;

/// The longest line read; the daemon takes no event of that size.
pub const LINE_BYTES_MAX: u64 = 8 << 20;
/// A batch is closed early at so many bytes, to stay well under the daemon's body limit.
const BATCH_BYTES: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    Ndjson,
    Csv,
}

#[derive(Debug, thiserror::Error)]
pub enum InputError {
    #[error("{path}: {error}")]
    Open { path: PathBuf, error: io::Error },
    #[error("input, line {line}: {error}")]
    Read { line: u64, error: io::Error },
    #[error("input, line {line}: expected at most {LINE_BYTES_MAX} bytes")]
    TooLong { line: u64 },
    #[error("input: {0}")]
    Csv(#[from] csv::Error),
    #[error("input: {0}")]
    Header(#[from] HeaderFault),
    #[error("input, row {row}: {reason}")]
    Row { row: u64, reason: String },
}

/// Events in NDJSON.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    pub body: Bytes,
    /// Where each line stands, its line end within.
    pub lines: Vec<Range<usize>>,
}

#[derive(Default)]
struct Builder {
    body: Vec<u8>,
    lines: Vec<Range<usize>>,
}

impl Builder {
    /// Closes the line that was begun at `start`.
    fn end_line(&mut self, start: usize) {
        self.lines.push(start..self.body.len());
    }

    fn is_full(&self, events: usize) -> bool {
        self.lines.len() >= events || self.body.len() >= BATCH_BYTES
    }

    fn take(&mut self) -> Option<Batch> {
        let Self { body, lines } = std::mem::take(self);
        (!lines.is_empty()).then(|| Batch { body: body.into(), lines })
    }
}

/// Reads to the end, or until nobody receives.
pub(super) fn read(
    input: Box<dyn BufRead + Send>,
    format: Format,
    events: usize,
    to: &mpsc::Sender<Result<Batch, InputError>>,
) {
    let mut builder = Builder::default();
    let mut flush = |builder: &mut Builder, full: bool| {
        if full && !builder.is_full(events) {
            return true;
        }
        builder.take().is_none_or(|batch| to.blocking_send(Ok(batch)).is_ok())
    };
    let result = match format {
        Format::Ndjson => ndjson(input, &mut builder, &mut flush),
        Format::Csv => csv(input, &mut builder, &mut flush),
    };
    // What came before the fault is sent all the same.
    if flush(&mut builder, false)
        && let Err(error) = result
    {
        let _ = to.blocking_send(Err(error));
    }
}

/// Takes the builder, and whether to send only a full batch; false when nobody receives any more.
type Flush<'a> = &'a mut dyn FnMut(&mut Builder, bool) -> bool;

fn ndjson(mut input: Box<dyn BufRead + Send>, builder: &mut Builder, flush: Flush<'_>) -> Result<(), InputError> {
    for line in 1.. {
        let start = builder.body.len();
        let read = input.by_ref().take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut builder.body);
        let read = read.map_err(|error| InputError::Read { line, error })?;
        if read == 0 {
            return Ok(());
        }
        if read as u64 > LINE_BYTES_MAX {
            builder.body.truncate(start);
            return Err(InputError::TooLong { line });
        }
        if builder.body.get(start..).is_none_or(|line| line.trim_ascii().is_empty()) {
            builder.body.truncate(start);
            continue;
        }
        if builder.body.last() != Some(&b'\n') {
            builder.body.push(b'\n');
        }
        builder.end_line(start);
        if !flush(builder, true) {
            return Ok(());
        }
    }
    Ok(())
}

fn csv(input: Box<dyn BufRead + Send>, builder: &mut Builder, flush: Flush<'_>) -> Result<(), InputError> {
    let mut reader = csv::Reader::from_reader(input);
    let header = CsvHeader::new(reader.byte_headers()?, &[])?;
    let mut record = csv::ByteRecord::new();
    for row in 1.. {
        if !reader.read_byte_record(&mut record)? {
            break;
        }
        let start = builder.body.len();
        // The reader refuses rows of other lengths; what is left is a cell that is no UTF-8.
        if let Err(reason) = header.write_object(record.iter(), None, &mut builder.body) {
            return Err(InputError::Row { row, reason });
        }
        builder.body.push(b'\n');
        builder.end_line(start);
        if !flush(builder, true) {
            break;
        }
    }
    Ok(())
}
