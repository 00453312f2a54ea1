//! Observations: what the window features need of an event, kept for as long as a window may reach back to it.
//!
//! # Limits
//!
//! A chunk has at most [`ROWS_MAX`] observations and, with its frame, 6 KB. See [`super::schema`] for the cells'.
//!
//! # Layout of a chunk's body (the frame around it is [`super::frame`]'s)
//!
//! ```text
//! first     varint  sequence of the first observation
//! number    varint  how many were stored before it in this run of chunks: a chunk that is missing shows by that
//! count     varint  observations, at least 1
//! newest    signed  the watermark behind the last of them, microseconds since 1970
//! time      signed  event time of the first, microseconds since 1970
//! before    varint  how far the earliest of them lies before that, microseconds
//! after     varint  how far the latest of them lies behind it, microseconds
//! schema            see [`super::schema`]
//! rows      count × row, to the end
//! ```
//!
//! A row:
//!
//! ```text
//! flags     u8      bit 0 counted;  bit 1 its sequence is not the next one;  bits 2-3 unit of the time: 0 seconds,
//!                   1 milliseconds, 2 microseconds;  bit 4 some cells are missing
//! sequence  varint  after the row before                      (if bit 1)
//! time      signed  after the row before, in that unit; the first is 0
//! identity  u64     fingerprint of (source, id), little-endian
//! cells             see [`super::schema`]
//! ```
//!
//! A chunk stands by itself: it is read without any other. Decoding checks all of it; arbitrary bytes give an error,
//! never a panic, and allocate no more than a small multiple of their length.

use super::codec::{Malformed, Reader, put_signed, put_varint};
use super::frame::BODY_BYTES_MAX;
use super::schema::Schema;
use std::sync::Arc;

/// Most observations in a chunk.
pub const ROWS_MAX: usize = 1024;
/// Longest head apart from the schema, bytes.
const HEAD_BYTES_MAX: usize = 10 + 10 + 2 + 4 * 10;

const COUNTED: u8 = 1;
const JUMPS: u8 = 1 << 1;
const UNIT_SHIFT: u8 = 2;
const MISSING: u8 = 1 << 4;
const UNITS_US: [i64; 3] = [1_000_000, 1_000, 1];

/// One event as the windows see it; its cells stand beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Of the event's verdict.
    pub sequence: u64,
    /// Event time, microseconds since 1970.
    pub time_us: i64,
    /// Fingerprint of (source, id), see [`crate::event::identity_fingerprint`].
    pub identity: u64,
    /// Whether it is in the windows: not where it came too late.
    pub counted: bool,
}

/// The observations of one commit.
#[derive(Clone, Debug)]
pub struct Observed {
    /// What the cells are.
    pub schema: Arc<Schema>,
    /// Sequences ascend, and are those of the commit's verdicts.
    pub rows: Vec<Observation>,
    /// One cell a column for each row, row after row.
    pub cells: Vec<u64>,
    /// The watermark behind the last row, microseconds since 1970.
    pub newest_us: i64,
}

/// Observations read back.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservationChunk {
    /// Sequence of its first observation.
    pub first: u64,
    /// The watermark behind its last, microseconds since 1970.
    pub newest_us: i64,
    pub schema: Arc<Schema>,
    pub rows: Vec<Observation>,
    /// One cell a column for each row, row after row.
    pub cells: Vec<u64>,
}

impl ObservationChunk {
    /// Takes a body apart and checks all of it.
    ///
    /// # Errors
    /// When `body` is not laid out as the module says.
    pub fn decode(body: &[u8]) -> Result<Self, Malformed> {
        Self::decode_like(body, None)
    }

    /// [`Self::decode`], taking over `like` where the schema is the same.
    pub(crate) fn decode_like(body: &[u8], like: Option<&Arc<Schema>>) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let head = Head::read(&mut reader)?;
        let schema = Schema::read(&mut reader, like)?;
        // A row has ten bytes at the least.
        let most = usize::from(head.count).min(reader.rest().len() / 10);
        let mut chunk = Self {
            first: head.first,
            newest_us: head.newest_us,
            rows: Vec::with_capacity(most),
            cells: Vec::with_capacity(most * schema.columns.len()),
            schema,
        };
        let (mut sequence, mut time_us) = (head.first - 1, head.time_us);
        let (mut earliest_us, mut latest_us) = (time_us, time_us);
        for n in 0..head.count {
            let flags = reader.byte()?;
            let unit = UNITS_US.get(usize::from(flags >> UNIT_SHIFT & 3)).ok_or(Malformed("a known unit of time"))?;
            if flags >= MISSING << 1 {
                return Err(Malformed("known flags of an observation"));
            }
            let step = if flags & JUMPS == 0 { 1 } else { reader.varint()? };
            sequence = sequence.checked_add(step).filter(|_| step > 0).ok_or(Malformed("ascending sequences"))?;
            time_us = time_us.wrapping_add(reader.signed()?.wrapping_mul(*unit));
            if n == 0 && (sequence, time_us) != (head.first, head.time_us) {
                return Err(Malformed("the first observation as the chunk's head says"));
            }
            (earliest_us, latest_us) = (earliest_us.min(time_us), latest_us.max(time_us));
            let identity = u64::from_le_bytes(*reader.array()?);
            chunk.rows.push(Observation { sequence, time_us, identity, counted: flags & COUNTED != 0 });
            chunk.schema.read_cells(&mut reader, flags & MISSING != 0, &mut chunk.cells)?;
        }
        if !reader.rest().is_empty() {
            return Err(Malformed("the end of the chunk after its last observation"));
        }
        if (earliest_us, latest_us) != (head.earliest_us, head.latest_us) {
            return Err(Malformed("the times that the chunk's head says"));
        }
        Ok(chunk)
    }

    /// Its n-th observation with its cells.
    #[must_use]
    pub fn row(&self, n: usize) -> Option<(&Observation, &[u64])> {
        let width = self.schema.columns.len();
        Some((self.rows.get(n)?, self.cells.get(n * width..(n + 1) * width)?))
    }

    /// Where the observation with this sequence stands in it.
    #[must_use]
    pub fn place(&self, sequence: u64) -> Option<usize> {
        self.rows.binary_search_by_key(&sequence, |row| row.sequence).ok()
    }

    /// Lets go of those before a sequence and of those from another one on; false where none is left.
    pub(crate) fn keep(&mut self, from: u64, end: u64) -> bool {
        let width = self.schema.columns.len();
        let count = self.rows.partition_point(|row| row.sequence < end);
        self.rows.truncate(count);
        self.cells.truncate(count * width);
        let before = self.rows.partition_point(|row| row.sequence < from);
        self.rows.drain(..before);
        self.cells.drain(..before * width);
        self.first = self.rows.first().map_or(self.first, |row| row.sequence);
        !self.rows.is_empty()
    }
}

/// What a chunk's head says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub first: u64,
    pub number: u64,
    pub count: u16,
    pub newest_us: i64,
    time_us: i64,
    pub earliest_us: i64,
    pub latest_us: i64,
}

impl Head {
    /// The head at the start of a body.
    pub fn of(body: &[u8]) -> Result<Self, Malformed> {
        Self::read(&mut Reader::new(body))
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (first, number) = (reader.varint()?, reader.varint()?);
        let count = reader.varint()?;
        let count = u16::try_from(count).ok().filter(|count| (1..=ROWS_MAX).contains(&usize::from(*count)));
        let (Some(count), 1..) = (count, first) else {
            return Err(Malformed("1 to 1024 observations, numbered from 1"));
        };
        let (newest_us, time_us) = (reader.signed()?, reader.signed()?);
        let earliest_us = time_us.checked_sub_unsigned(reader.varint()?);
        let latest_us = time_us.checked_add_unsigned(reader.varint()?);
        let (Some(earliest_us), Some(latest_us)) = (earliest_us, latest_us) else {
            return Err(Malformed("times of 64 bits"));
        };
        Ok(Self { first, number, count, newest_us, time_us, earliest_us, latest_us })
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, self.first);
        put_varint(out, self.number);
        put_varint(out, u64::from(self.count));
        put_signed(out, self.newest_us);
        put_signed(out, self.time_us);
        put_varint(out, self.time_us.abs_diff(self.earliest_us));
        put_varint(out, self.latest_us.abs_diff(self.time_us));
    }
}

/// A chunk that is being filled.
#[derive(Clone, Debug)]
pub struct Filling {
    pub head: Head,
    pub schema: Arc<Schema>,
    /// Bytes of the schema.
    schema_bytes: usize,
    sequence: u64,
    time_us: i64,
    rows: Vec<u8>,
}

impl Filling {
    /// One for observations from this on, the n-th of all.
    pub fn new(first: &Observation, number: u64, schema: &Arc<Schema>) -> Self {
        let Observation { sequence, time_us, .. } = *first;
        let mut bytes = Vec::new();
        schema.put(&mut bytes);
        let head = Head {
            first: sequence,
            number,
            count: 0,
            newest_us: i64::MIN,
            time_us,
            earliest_us: time_us,
            latest_us: time_us,
        };
        Self {
            head,
            schema: Arc::clone(schema),
            schema_bytes: bytes.len(),
            sequence: sequence.saturating_sub(1),
            time_us,
            rows: Vec::new(),
        }
    }

    /// One that goes on where a stored chunk ends.
    pub fn reopened(chunk: &ObservationChunk, number: u64) -> Option<Self> {
        let mut filling = Self::new(chunk.rows.first()?, number, &chunk.schema);
        for n in 0..chunk.rows.len() {
            let (row, cells) = chunk.row(n)?;
            filling.append(row, cells).then_some(())?;
        }
        filling.head.newest_us = chunk.newest_us;
        Some(filling)
    }

    /// Bytes of its rows.
    pub fn row_bytes(&self) -> usize {
        self.rows.len()
    }

    /// Whether the row went in; if not, the chunk is full and nothing changed.
    pub fn append(&mut self, row: &Observation, cells: &[u64]) -> bool {
        if usize::from(self.head.count) >= ROWS_MAX {
            return false;
        }
        let before = self.rows.len();
        let step_us = row.time_us.wrapping_sub(self.time_us);
        let unit = UNITS_US.iter().position(|unit| step_us % unit == 0).unwrap_or(UNITS_US.len() - 1);
        let step = row.sequence.saturating_sub(self.sequence);
        let some_missing = self.schema.is_any_missing(cells);
        let flag = |on: bool, bit: u8| if on { bit } else { 0 };
        self.rows.push(
            flag(row.counted, COUNTED)
                | flag(step != 1, JUMPS)
                | u8::try_from(unit).unwrap_or(2) << UNIT_SHIFT
                | flag(some_missing, MISSING),
        );
        if step != 1 {
            put_varint(&mut self.rows, step);
        }
        put_signed(&mut self.rows, step_us / UNITS_US.get(unit).copied().unwrap_or(1));
        self.rows.extend_from_slice(&row.identity.to_le_bytes());
        self.schema.put_cells(&mut self.rows, cells, some_missing);
        if HEAD_BYTES_MAX + self.schema_bytes + self.rows.len() > BODY_BYTES_MAX {
            self.rows.truncate(before);
            return false;
        }
        (self.sequence, self.time_us) = (row.sequence, row.time_us);
        self.head.count += 1;
        self.head.earliest_us = self.head.earliest_us.min(row.time_us);
        self.head.latest_us = self.head.latest_us.max(row.time_us);
        true
    }

    /// The body as it is stored.
    pub fn body(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD_BYTES_MAX + self.schema_bytes + self.rows.len());
        self.head.put(&mut out);
        self.schema.put(&mut out);
        out.extend_from_slice(&self.rows);
        out
    }
}

/// A count, a kind and a length for each column beside the names, and the longest row: one always fits.
const _: () = assert!(
    HEAD_BYTES_MAX
        + 2
        + super::schema::NAMES_BYTES_MAX
        + 3 * super::schema::COLUMNS_MAX
        + 31
        + super::schema::CELLS_BYTES_MAX
        <= BODY_BYTES_MAX
);
