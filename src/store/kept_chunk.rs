//! Events kept for a replay through another model: lines of text, several in a chunk.
//!
//! # Limits
//!
//! A line has at most [`LINE_BYTES_MAX`] bytes, the lines of a chunk [`LINES_BYTES_MAX`], a chunk with its frame 6 KB.
//!
//! # Layout of a chunk's body (the frame around it is [`super::frame`]'s)
//!
//! ```text
//! first     varint  sequence of the first event's verdict
//! last      varint  sequence of the last one's
//! count     varint  events, at least 1
//! log       varint  log time of the first, milliseconds
//! span      varint  from then to the last one's, milliseconds
//! length    varint  bytes of the rows
//! rows      an lz4 block, to the end
//! ```
//!
//! A row:
//!
//! ```text
//! sequence  varint  after the row before; the first row's is 0
//! log       varint  log time after the row before, milliseconds; the first row's is 0
//! line      bytes   length and the line, without its end
//! ```
//!
//! A chunk stands by itself. Decoding checks all of it; arbitrary bytes give an error, never a panic, and allocate no
//! more than [`LINES_BYTES_MAX`].

use super::codec::{Malformed, Reader, put_bytes, put_varint};
use super::frame::BODY_BYTES_MAX;

/// Longest line kept, bytes.
pub const LINE_BYTES_MAX: usize = 4 << 10;
/// Most bytes of a chunk's rows before they are compressed.
pub const LINES_BYTES_MAX: usize = 48 << 10;
/// Longest head, bytes.
const HEAD_BYTES_MAX: usize = 4 * 10 + 3 + 3;
/// What a row takes beside its line, bytes.
const ROW_BYTES_MAX: usize = 10 + 10 + 2;

/// Whatever lz4 makes of the longest row, it fits by itself.
const _: () = assert!(HEAD_BYTES_MAX + (ROW_BYTES_MAX + LINE_BYTES_MAX) * 110 / 100 + 20 <= BODY_BYTES_MAX);

/// One event kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptEvent {
    /// Of its verdict.
    pub sequence: u64,
    /// When it was decided, by the log clock, milliseconds.
    pub log_ms: u64,
    pub line: Box<[u8]>,
}

/// What a chunk's head says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub first: u64,
    pub last: u64,
    pub count: u16,
    pub log_ms: u64,
    /// Log time of the last.
    pub last_ms: u64,
}

impl Head {
    /// The head at the start of a body.
    pub fn of(body: &[u8]) -> Result<Self, Malformed> {
        Self::read(&mut Reader::new(body))
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (first, last, count) = (reader.varint()?, reader.varint()?, reader.varint()?);
        let log_ms = reader.varint()?;
        let last_ms = log_ms.checked_add(reader.varint()?).ok_or(Malformed("a log time of 64 bits"))?;
        let count = u16::try_from(count).ok().filter(|count| *count > 0 && first > 0 && last >= first);
        Ok(Self { first, last, count: count.ok_or(Malformed("kept events, numbered from 1"))?, log_ms, last_ms })
    }
}

/// Takes a body apart and checks all of it.
///
/// # Errors
/// When `body` is not laid out as the module says.
pub fn decode(body: &[u8]) -> Result<Vec<KeptEvent>, Malformed> {
    let mut reader = Reader::new(body);
    let head = Head::read(&mut reader)?;
    let length = usize::try_from(reader.varint()?).ok().filter(|length| *length <= LINES_BYTES_MAX);
    let mut rows = vec![0; length.ok_or(Malformed("at most 48 KiB of kept events"))?];
    match lz4_flex::block::decompress_into(reader.rest(), &mut rows) {
        Ok(written) if written == rows.len() => {}
        _ => return Err(Malformed("an lz4 block of the length stated")),
    }
    let mut reader = Reader::new(&rows);
    let mut events = Vec::with_capacity(usize::from(head.count).min(rows.len() / 3));
    let (mut sequence, mut log_ms) = (head.first, head.log_ms);
    for n in 0..head.count {
        let (step, passed) = (reader.varint()?, reader.varint()?);
        if (step == 0) != (n == 0) || (n == 0 && passed > 0) {
            return Err(Malformed("ascending sequences of kept events"));
        }
        sequence = sequence.checked_add(step).ok_or(Malformed("a sequence of 64 bits"))?;
        log_ms = log_ms.checked_add(passed).ok_or(Malformed("a log time of 64 bits"))?;
        let line = reader.bytes()?;
        if line.len() > LINE_BYTES_MAX {
            return Err(Malformed("a kept event of at most 4 KiB"));
        }
        events.push(KeptEvent { sequence, log_ms, line: line.into() });
    }
    if !reader.rest().is_empty() || (sequence, log_ms) != (head.last, head.last_ms) {
        return Err(Malformed("as many kept events as the chunk's head says"));
    }
    Ok(events)
}

/// Rows that are gathered for a chunk.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    events: Vec<Row>,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    sequence: u64,
    log_ms: u64,
    /// Where its line ends in the bytes.
    end: usize,
}

impl Rows {
    /// Sequences ascend, the log time does not go back.
    pub fn push(&mut self, sequence: u64, log_ms: u64, line: &[u8]) {
        self.bytes.extend_from_slice(line);
        let log_ms = self.events.last().map_or(log_ms, |last| last.log_ms.max(log_ms));
        self.events.push(Row { sequence, log_ms, end: self.bytes.len() });
    }

    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Log time of the first, milliseconds.
    pub fn since_ms(&self) -> Option<u64> {
        self.events.first().map(|row| row.log_ms)
    }

    /// Bytes that these take before they are compressed, at the most.
    pub fn bytes(&self) -> usize {
        self.bytes.len() + self.events.len() * ROW_BYTES_MAX
    }

    /// The body, and its head; None where they do not fit in a chunk.
    pub fn body(&self) -> Option<(Head, Vec<u8>)> {
        let (first, last) = (self.events.first()?, self.events.last()?);
        let count = u16::try_from(self.events.len()).ok()?;
        if self.bytes() > LINES_BYTES_MAX {
            return None;
        }
        let mut rows = Vec::with_capacity(self.bytes());
        let (mut start, mut before) = (0, *first);
        for row in &self.events {
            put_varint(&mut rows, row.sequence - before.sequence);
            put_varint(&mut rows, row.log_ms - before.log_ms);
            put_bytes(&mut rows, self.bytes.get(start..row.end)?);
            (start, before) = (row.end, *row);
        }
        let (log_ms, last_ms) = (first.log_ms, last.log_ms);
        let head = Head { first: first.sequence, last: last.sequence, count, log_ms, last_ms };
        let mut body = Vec::with_capacity(HEAD_BYTES_MAX + lz4_flex::block::get_maximum_output_size(rows.len()));
        for number in [head.first, head.last, u64::from(count), log_ms, last_ms - log_ms, rows.len() as u64] {
            put_varint(&mut body, number);
        }
        let start = body.len();
        body.resize(body.capacity(), 0);
        let written = lz4_flex::block::compress_into(&rows, body.get_mut(start..)?).ok()?;
        body.truncate(start + written);
        (body.len() <= BODY_BYTES_MAX).then_some((head, body))
    }

    /// Adds those of another, which follow on these.
    pub fn append(&mut self, other: Self) {
        let start = self.bytes.len();
        self.events.extend(other.events.into_iter().map(|row| Row { end: row.end + start, ..row }));
        self.bytes.extend_from_slice(&other.bytes);
    }

    /// Takes the second half out of it.
    pub fn split(&mut self) -> Self {
        let at = self.events.len() / 2;
        let start = if at == 0 { 0 } else { self.events.get(at - 1).map_or(0, |row| row.end) };
        let events = self.events.split_off(at).into_iter().map(|row| Row { end: row.end - start, ..row }).collect();
        Self { events, bytes: self.bytes.split_off(start) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn arbitrary_bytes_are_an_error_and_no_panic(body: Vec<u8>) {
            let _ = decode(&body);
        }

        #[test]
        fn what_is_stored_is_read_back(
            lines in prop::collection::vec((1..9_u64, 0..2_000_u64, prop::collection::vec(any::<u8>(), 0..300)), 1..20),
            flip: prop::sample::Index,
        ) {
            let (mut rows, mut expected, mut sequence, mut log_ms) = (Rows::default(), Vec::new(), 4, 1_000);
            for (step, passed, line) in lines {
                (sequence, log_ms) = (sequence + step, log_ms + passed);
                rows.push(sequence, log_ms, &line);
                expected.push(KeptEvent { sequence, log_ms, line: line.into() });
            }
            let (head, mut body) = rows.body().unwrap();
            prop_assert_eq!(Head::of(&body).unwrap(), head);
            prop_assert_eq!(decode(&body).unwrap(), expected.clone());
            let second = rows.split();
            let halves = [&rows, &second].into_iter().filter_map(Rows::body);
            let both: Vec<KeptEvent> = halves.flat_map(|(_, body)| decode(&body).unwrap()).collect();
            prop_assert_eq!(both, expected);
            let at = flip.index(body.len());
            body[at] ^= 0x10;
            let _ = decode(&body);
        }
    }

    #[test]
    fn the_longest_line_that_nothing_shortens_fits_by_itself() {
        let mut random = 1_u64;
        let line: Vec<u8> = std::iter::from_fn(|| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            Some(random.to_be_bytes()[0])
        })
        .take(LINE_BYTES_MAX)
        .collect();
        let mut rows = Rows::default();
        rows.push(u64::MAX, u64::MAX, &line);
        assert_eq!(decode(&rows.body().unwrap().1).unwrap().len(), 1);
    }
}
