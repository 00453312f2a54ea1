//! The input of `send`: NDJSON as it stands, or CSV made into JSON objects, in batches.

use crate::verdict::write_json_string;
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
    let names: Vec<Vec<u8>> = reader
        .headers()?
        .iter()
        .map(|name| {
            let mut out = Vec::new();
            write_json_string(name.trim(), &mut out);
            out
        })
        .collect();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record)? {
        let start = builder.body.len();
        let out = &mut builder.body;
        out.push(b'{');
        for (name, cell) in names.iter().zip(&record).filter(|(_, cell)| !cell.is_empty()) {
            if out.len() > start + 1 {
                out.push(b',');
            }
            out.extend_from_slice(name);
            out.push(b':');
            if is_json_number(cell.as_bytes()) {
                out.extend_from_slice(cell.as_bytes());
            } else {
                write_json_string(cell, out);
            }
        }
        out.extend_from_slice(b"}\n");
        builder.end_line(start);
        if !flush(builder, true) {
            break;
        }
    }
    Ok(())
}

/// Whether the text is a number as JSON writes it: no `+`, no leading zeros, no `nan`.
pub(super) fn is_json_number(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut rest = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(rest);
    if whole == 0 || (whole > 1 && rest.starts_with(b"0")) {
        return false;
    }
    rest = rest.get(whole..).unwrap_or_default();
    if let Some(fraction) = rest.strip_prefix(b".") {
        let count = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = fraction.get(count..).unwrap_or_default();
    }
    if let Some(exponent) = rest.strip_prefix(b"e").or_else(|| rest.strip_prefix(b"E")) {
        let exponent = exponent.strip_prefix(b"-").or_else(|| exponent.strip_prefix(b"+")).unwrap_or(exponent);
        let count = digits(exponent);
        return count > 0 && count == exponent.len();
    }
    rest.is_empty()
}
