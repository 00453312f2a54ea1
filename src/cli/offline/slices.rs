//! An input cut into slices of events that are decoded and scored in one go: bounded, and in the input's order.

use super::{
    BATCH_EVENTS_MAX, EVENT_BYTES_MAX, SLICE_BYTES_MAX,
    input::{Format, Input, Records, read_line},
};
use crate::{
    cli::Failure,
    event::{CsvHeader, Pointer},
};
use bytes::Bytes;
use std::io::BufRead;

/// What comes next.
pub(in crate::cli) enum Slice {
    /// NDJSON of at most [`BATCH_EVENTS_MAX`] lines.
    Events(Bytes),
    /// A record that is no event, and why.
    Bad(String),
}

/// The slices of one input.
pub(in crate::cli) struct Slices {
    stream: Stream,
    body: Vec<u8>,
    events: usize,
    /// What stands behind the slice that was given out last.
    bad: Option<String>,
}

enum Stream {
    Ndjson(Box<dyn BufRead>),
    Csv(Box<Csv>),
    Ended,
}

struct Csv {
    records: Records,
    header: CsvHeader,
    /// The column of ids where there is none: the record's number stands there.
    numbered: Option<String>,
    number: u64,
    record: csv::ByteRecord,
}

impl Slices {
    /// `id`: where an event's id stands.
    pub fn new(input: Input, id: &Pointer) -> Result<Self, Failure> {
        let stream = match input.format {
            Format::Ndjson => Stream::Ndjson(input.stream),
            Format::Csv => Stream::Csv(Box::new(Csv::new(input.stream, id)?)),
        };
        Ok(Self { stream, body: Vec::new(), events: 0, bad: None })
    }

    /// None at the end.
    pub fn next(&mut self) -> Result<Option<Slice>, Failure> {
        if let Some(reason) = self.bad.take() {
            return Ok(Some(Slice::Bad(reason)));
        }
        while self.events < BATCH_EVENTS_MAX && self.body.len() < SLICE_BYTES_MAX {
            let more = match &mut self.stream {
                Stream::Ended => Next::End,
                Stream::Ndjson(stream) => next_line(&mut **stream, &mut self.body)?,
                Stream::Csv(csv) => csv.next(&mut self.body)?,
            };
            match more {
                Next::Event => self.events += 1,
                Next::Nothing => {}
                Next::Bad(reason) if self.events == 0 => return Ok(Some(Slice::Bad(reason))),
                Next::Bad(reason) => {
                    self.bad = Some(reason);
                    break;
                }
                Next::End => {
                    self.stream = Stream::Ended;
                    break;
                }
            }
        }
        let is_empty = std::mem::take(&mut self.events) == 0;
        let body = Bytes::from(std::mem::take(&mut self.body));
        Ok((!is_empty).then_some(Slice::Events(body)))
    }
}

enum Next {
    Event,
    Nothing,
    Bad(String),
    End,
}

fn next_line(stream: &mut dyn BufRead, body: &mut Vec<u8>) -> Result<Next, Failure> {
    let mut line = Vec::new();
    if !read_line(stream, &mut line, EVENT_BYTES_MAX).map_err(|error| Failure::input("input", &error))? {
        return Ok(Next::End);
    }
    if line.trim_ascii().is_empty() {
        return Ok(Next::Nothing);
    }
    body.extend_from_slice(&line);
    body.push(b'\n');
    Ok(Next::Event)
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn unreadable(error: csv::Error) -> Failure {
    Failure::does_not_hold(format!("input: {error}"))
}

impl Csv {
    fn new(stream: Box<dyn BufRead>, id: &Pointer) -> Result<Self, Failure> {
        let records = Records::new(stream).map_err(unreadable)?;
        let header =
            CsvHeader::new(&records.header, &[]).map_err(|fault| Failure::does_not_hold(format!("input: {fault}")))?;
        let header = header.with_nan_missing();
        // Only a pointer of one part can be a column.
        let id_column = id.parts().first().filter(|_| id.parts().len() == 1);
        let numbered = id_column.filter(|name| !header.has(name)).cloned();
        Ok(Self { records, header, numbered, number: 0, record: csv::ByteRecord::new() })
    }

    fn next(&mut self, body: &mut Vec<u8>) -> Result<Next, Failure> {
        if !self.records.read(&mut self.record).map_err(unreadable)? {
            return Ok(Next::End);
        }
        self.number += 1;
        let place = self.number.to_string();
        let before = body.len();
        match self.header.write_object(
            self.record.iter(),
            self.numbered.as_deref().map(|name| (name, place.as_str())),
            body,
        ) {
            Ok(()) => {
                body.push(b'\n');
                Ok(Next::Event)
            }
            Err(reason) => {
                body.truncate(before);
                Ok(Next::Bad(format!("record {}: {reason}", self.number)))
            }
        }
    }
}
