//! Labels: what became known later of an event, and how a chunk of them is laid out.
//!
//! # Layout of a chunk's body (kind `D`; the frame around it is [`super::frame`]'s)
//!
//! ```text
//! number    varint  of the first label; numbers go up in the order of the commits, and may be left out
//! count     varint  labels
//! held      signed  the horizon of the windows must have passed this time before the chunk goes, microseconds since
//!                   1970; the least number where no window holds it
//! schemas   varint  count, then each: see [`super::schema`]
//! labels    count × label, to the end
//! ```
//!
//! A label:
//!
//! ```text
//! flags     u8      bit 0 has a key;  bit 1 its event is known;  bit 2 has the event's time;  bit 3 has cells;
//!                   bit 4 some of them are missing;  bit 5 says when it came
//! source    bytes   varint length, then the text
//! id        bytes
//! key       bytes                                 (if bit 0)
//! identity  u64     fingerprint of (source, id), little-endian
//! sequence  varint  of the event's verdict        (if bit 1)
//! event     signed  the event's time, microseconds since 1970   (if bit 2)
//! time      signed  microseconds since 1970
//! value     f64     little-endian
//! log time  varint  milliseconds
//! next      varint  the next verdict's sequence when it came        (if bit 5)
//! schema    varint  index, then the cells         (if bit 3)
//! ```
//!
//! Stores up to format 2 have chunks of kind `B`: number, count, then each label as source, id, key flag (u8), key (also
//! without the flag), time, value, log time. They are read, never written.

use super::codec::{Malformed, Reader, put_bytes, put_signed, put_varint};
use super::frame::{self, BODY_BYTES_MAX, Kind};
use super::record::{KEY_BYTES_MAX, NAME_BYTES_MAX};
use super::schema::{CELLS_BYTES_MAX, COLUMNS_MAX, NAMES_BYTES_MAX, Schema};
use std::sync::Arc;

/// Longest head of a chunk apart from the schemas, bytes.
const HEAD_BYTES_MAX: usize = 10 + 3 + 10 + 3;
/// `held` of what no window holds.
pub const UNHELD: i64 = i64::MIN;

/// What became known of an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// Who the event is.
    pub source: String,
    pub id: String,
    /// The event's key, where the label carries it.
    pub key: Option<String>,
    /// Fingerprint of (source, id), see [`crate::event::identity_fingerprint`].
    pub identity: u64,
    /// Of the event's verdict. None: the event is not known yet.
    pub sequence: Option<u64>,
    /// The event's time, where it is known, microseconds since 1970. Such a label is kept for as long as a window may
    /// hold its event; one without for as long as the dedup window is.
    pub event_us: Option<i64>,
    /// When it became known, microseconds since 1970.
    pub time_us: i64,
    pub value: f64,
    /// Log time of its commit, milliseconds.
    pub log_ms: u64,
    /// The sequence of the verdict that was next when it came; 0 in a store up to format 3.
    pub next: u64,
    /// What the cells are, where there are any.
    pub schema: Option<Arc<Schema>>,
    /// The cells of the event's observation, one a column.
    pub cells: Vec<u64>,
}

const HAS_KEY: u8 = 1;
const HAS_SEQUENCE: u8 = 1 << 1;
const HAS_EVENT: u8 = 1 << 2;
const HAS_CELLS: u8 = 1 << 3;
const MISSING: u8 = 1 << 4;
const HAS_NEXT: u8 = 1 << 5;

/// A chunk that is being filled.
#[derive(Clone, Debug, Default)]
pub struct Filling {
    pub number: u64,
    pub count: u64,
    pub held_us: Option<i64>,
    schemas: Vec<Arc<Schema>>,
    schema_bytes: usize,
    labels: Vec<u8>,
}

impl Filling {
    pub fn new(number: u64, held_us: Option<i64>) -> Self {
        Self { number, held_us, ..Self::default() }
    }

    /// Bytes of its labels.
    pub fn label_bytes(&self) -> usize {
        self.labels.len()
    }

    /// Whether the label went in; if not, the chunk is full and nothing changed.
    pub fn append(&mut self, label: &Label) -> bool {
        let before = (self.schemas.len(), self.schema_bytes, self.labels.len());
        let schema = label.schema.as_ref().map(|schema| (self.schema(schema), schema));
        let some_missing = label.schema.as_ref().is_some_and(|schema| schema.is_any_missing(&label.cells));
        let out = &mut self.labels;
        let flag = |on: bool, bit: u8| if on { bit } else { 0 };
        out.push(
            flag(label.key.is_some(), HAS_KEY)
                | flag(label.sequence.is_some(), HAS_SEQUENCE)
                | flag(label.event_us.is_some(), HAS_EVENT)
                | flag(schema.is_some(), HAS_CELLS)
                | flag(some_missing, MISSING)
                | flag(label.next > 0, HAS_NEXT),
        );
        put_bytes(out, label.source.as_bytes());
        put_bytes(out, label.id.as_bytes());
        if let Some(key) = &label.key {
            put_bytes(out, key.as_bytes());
        }
        out.extend_from_slice(&label.identity.to_le_bytes());
        if let Some(sequence) = label.sequence {
            put_varint(out, sequence);
        }
        if let Some(event_us) = label.event_us {
            put_signed(out, event_us);
        }
        put_signed(out, label.time_us);
        out.extend_from_slice(&label.value.to_le_bytes());
        put_varint(out, label.log_ms);
        if label.next > 0 {
            put_varint(out, label.next);
        }
        if let Some((index, schema)) = schema {
            put_varint(out, index as u64);
            schema.put_cells(out, &label.cells, some_missing);
        }
        if HEAD_BYTES_MAX + self.schema_bytes + self.labels.len() > BODY_BYTES_MAX {
            self.schemas.truncate(before.0);
            self.schema_bytes = before.1;
            self.labels.truncate(before.2);
            return false;
        }
        self.count += 1;
        true
    }

    /// The index of a schema, added where it is new.
    fn schema(&mut self, schema: &Arc<Schema>) -> usize {
        if let Some(index) = self.schemas.iter().position(|known| Arc::ptr_eq(known, schema) || known == schema) {
            return index;
        }
        let mut bytes = Vec::new();
        schema.put(&mut bytes);
        self.schema_bytes += bytes.len();
        self.schemas.push(Arc::clone(schema));
        self.schemas.len() - 1
    }

    /// The body as it is stored.
    pub fn body(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD_BYTES_MAX + self.schema_bytes + self.labels.len());
        put_varint(&mut out, self.number);
        put_varint(&mut out, self.count);
        put_signed(&mut out, self.held_us.unwrap_or(UNHELD));
        put_varint(&mut out, self.schemas.len() as u64);
        self.schemas.iter().for_each(|schema| schema.put(&mut out));
        out.extend_from_slice(&self.labels);
        out
    }
}

/// A chunk of labels read back.
#[derive(Debug)]
pub struct LabelChunk {
    pub number: u64,
    pub held_us: Option<i64>,
    pub labels: Vec<Label>,
    /// Of a store up to format 2: no label says whether its event is known, or its fingerprint.
    pub is_old: bool,
}

impl LabelChunk {
    /// A chunk as its value says.
    pub fn of_value(value: &[u8]) -> Option<Self> {
        let framed = frame::unwrap_prefix(value).ok().filter(|framed| framed.stored == value.len())?;
        Self::decode(framed.kind, &framed.body).ok()
    }

    /// Takes a body of this kind apart.
    pub fn decode(kind: Kind, body: &[u8]) -> Result<Self, Malformed> {
        match kind {
            Kind::Label => Self::new(body),
            Kind::OldLabel => Self::old(body),
            _ => Err(Malformed("a chunk of labels")),
        }
    }

    fn new(body: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let (number, count) = (reader.varint()?, reader.varint()?);
        let held_us = Some(reader.signed()?).filter(|held_us| *held_us != UNHELD);
        let mut schemas: Vec<Arc<Schema>> = Vec::new();
        for _ in 0..reader.varint()? {
            schemas.push(Schema::read(&mut reader, None)?);
        }
        let mut labels = Vec::new();
        for _ in 0..count {
            labels.push(label(&mut reader, &schemas)?);
        }
        if !reader.rest().is_empty() {
            return Err(Malformed("the end of the chunk after its last label"));
        }
        Ok(Self { number, held_us, labels, is_old: false })
    }

    fn old(body: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let (number, count) = (reader.varint()?, reader.varint()?);
        let mut labels = Vec::new();
        for _ in 0..count {
            let (source, id) = (reader.text()?.to_owned(), reader.text()?.to_owned());
            let has_key = reader.byte()? != 0;
            let key = Some(reader.text()?.to_owned()).filter(|_| has_key);
            let time_us = reader.signed()?;
            let value = f64::from_le_bytes(*reader.array()?);
            let log_ms = reader.varint()?;
            let (sequence, event_us, schema, cells) = (None, None, None, Vec::new());
            labels.push(Label {
                source,
                id,
                key,
                identity: 0,
                sequence,
                event_us,
                time_us,
                value,
                log_ms,
                next: 0,
                schema,
                cells,
            });
        }
        Ok(Self { number, held_us: None, labels, is_old: true })
    }
}

fn label(reader: &mut Reader<'_>, schemas: &[Arc<Schema>]) -> Result<Label, Malformed> {
    let flags = reader.byte()?;
    if flags >= HAS_NEXT << 1 {
        return Err(Malformed("known flags of a label"));
    }
    let has = |bit: u8| flags & bit != 0;
    let (source, id) = (reader.text()?.to_owned(), reader.text()?.to_owned());
    let key = if has(HAS_KEY) { Some(reader.text()?.to_owned()) } else { None };
    let identity = u64::from_le_bytes(*reader.array()?);
    let sequence = if has(HAS_SEQUENCE) { Some(reader.varint()?) } else { None };
    let event_us = if has(HAS_EVENT) { Some(reader.signed()?) } else { None };
    let time_us = reader.signed()?;
    let value = f64::from_le_bytes(*reader.array()?);
    let log_ms = reader.varint()?;
    let next = if has(HAS_NEXT) { reader.varint()? } else { 0 };
    let mut cells = Vec::new();
    let mut schema = None;
    if has(HAS_CELLS) {
        let index = usize::try_from(reader.varint()?).unwrap_or(usize::MAX);
        let known = schemas.get(index).ok_or(Malformed("the index of a schema"))?;
        known.read_cells(reader, has(MISSING), &mut cells)?;
        schema = Some(Arc::clone(known));
    }
    Ok(Label { source, id, key, identity, sequence, event_us, time_us, value, log_ms, next, schema, cells })
}

/// The longest texts, schema and cells: one always fits.
const _: () = assert!(
    HEAD_BYTES_MAX
        + (2 + NAMES_BYTES_MAX + 3 * COLUMNS_MAX)
        + 2 * (2 + NAME_BYTES_MAX)
        + 2
        + KEY_BYTES_MAX
        + 70
        + CELLS_BYTES_MAX
        <= BODY_BYTES_MAX
);
