//! Cases: calls of a sink that must not be made twice, from the moment at which one is about to be made until what came of
//! it is known.
//!
//! # Layout
//!
//! ```text
//! sink bytes, sequence varint, state u8 (0 under way, 1 uncertain, 2 to be made again), calls begun varint,
//! at signed (ms since 1970), reason bytes, then to the end the verdict: a chunk (see [`super::chunk`]) of one record
//! ```
//!
//! The verdict stands in the case, so that the log need not wait for a person. How many calls a sink has made on a day is
//! the meta entry `calls <sink>`:
//!
//! ```text
//! its name bytes, day varint (since 1970), calls varint, last call signed (ms since 1970)
//! ```
//!
//! # Rules
//!
//! - A value that is damaged stands for a case that is uncertain: its key alone says which verdict it is of.
//! - After a salvage nothing is made again without being asked for anew: what stood there may have been settled long
//!   before. A first call behind which the sink's cursor has moved had its outcome in the same commit.

use super::builder::BatchBuilder;
use super::chunk::{Chunk, RAW_BYTES_MAX};
use super::codec::{Malformed, Reader, put_bytes, put_signed, put_varint};
use super::error::StoreError;
use super::frame::{self, BODY_BYTES_MAX, Kind};
use super::keys;
use super::medium::Medium;
use super::record::{
    KEY_BYTES_MAX, LABEL_BYTES_MAX, MODEL_BYTES_MAX, NAME_BYTES_MAX, NewRecord, REASON_BYTES_MAX, REASONS_MAX, Record,
};
use super::writer::ENTRY_OVERHEAD;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Longest reason kept, bytes; a longer one is cut at a character.
pub const CASE_REASON_BYTES_MAX: usize = 512;
/// Name of the meta entry that counts a sink's calls, before its name.
pub const CALLS: &str = "calls ";

/// How a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseState {
    /// It is about to be made, or is being made; after a start nobody knows.
    UnderWay,
    /// It was begun, and what came of it is not known.
    Uncertain,
    /// It is to be made again: someone has decided so.
    Again,
}

impl CaseState {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnderWay => "under-way",
            Self::Uncertain => "uncertain",
            Self::Again => "again",
        }
    }

    fn of(byte: u8) -> Result<Self, Malformed> {
        [Self::UnderWay, Self::Uncertain, Self::Again]
            .into_iter()
            .find(|state| *state as u8 == byte)
            .ok_or(Malformed("a known state of a case"))
    }
}

/// One call that is not settled.
#[derive(Clone, Debug)]
pub struct Case {
    pub sink: String,
    /// Of its verdict.
    pub sequence: u64,
    pub state: CaseState,
    /// How often the call was begun.
    pub calls: u64,
    /// Since when it is in this state, milliseconds since 1970.
    pub at_ms: i64,
    /// Why it is uncertain.
    pub reason: String,
    /// A chunk of the verdict alone; None where it is damaged.
    pub verdict: Option<Arc<Chunk>>,
}

impl Case {
    /// The verdict.
    #[must_use]
    pub fn record(&self) -> Option<Record<'_>> {
        self.verdict.as_ref()?.get(self.sequence)
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(1024);
        put_bytes(&mut out, self.sink.as_bytes());
        put_varint(&mut out, self.sequence);
        out.push(self.state as u8);
        put_varint(&mut out, self.calls);
        put_signed(&mut out, self.at_ms);
        put_bytes(
            &mut out,
            self.reason.get(..self.reason.floor_char_boundary(CASE_REASON_BYTES_MAX)).unwrap_or_default().as_bytes(),
        );
        out.extend_from_slice(self.verdict.as_ref().map(|chunk| chunk.raw()).unwrap_or_default());
        out
    }

    fn decode(body: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let (sink, sequence) = (reader.text()?.to_owned(), reader.varint()?);
        let (state, calls) = (CaseState::of(reader.byte()?)?, reader.varint()?);
        let (at_ms, reason) = (reader.signed()?, reader.text()?.to_owned());
        let rest = reader.rest();
        let verdict = if rest.is_empty() { None } else { Some(Arc::new(Chunk::decode(rest.into())?)) };
        Ok(Self { sink, sequence, state, calls, at_ms, reason, verdict })
    }

    /// Key and value.
    pub(crate) fn stored(&self, commit: u64) -> (Vec<u8>, Vec<u8>) {
        (keys::case(&self.sink, self.sequence), frame::wrap(Kind::Case, commit, &self.encode()))
    }
}

/// The verdict of a record in a chunk of its own, as a case holds it.
#[must_use]
pub fn verdict_of(record: &Record<'_>) -> Option<Arc<Chunk>> {
    let mut builder = BatchBuilder::new(record.verdict.sequence);
    builder.append(&NewRecord { shadow: None, ..NewRecord::of(record) }).ok()?;
    builder.seal().pop()
}

/// What a commit does to a case.
#[derive(Clone, Debug)]
pub enum CaseChange {
    Put(Case),
    /// Of a sink the case of this sequence is settled.
    Drop(String, u64),
}

/// How many calls a sink has made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Days since 1970, in UTC by the box's clock.
    pub day: u64,
    /// On that day.
    pub made: u64,
    /// When the last one was begun, milliseconds since 1970.
    pub last_ms: i64,
}

pub fn encode_calls(sink: &str, calls: Calls) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    put_bytes(&mut out, format!("{CALLS}{sink}").as_bytes());
    put_varint(&mut out, calls.day);
    put_varint(&mut out, calls.made);
    put_signed(&mut out, calls.last_ms);
    out
}

pub fn decode_calls(body: &[u8]) -> Result<Calls, Malformed> {
    let mut reader = Reader::new(body);
    if !reader.text()?.starts_with(CALLS) {
        return Err(Malformed("the meta entry \"calls …\""));
    }
    Ok(Calls { day: reader.varint()?, made: reader.varint()?, last_ms: reader.signed()? })
}

/// The key of the meta entry.
pub fn calls_key(sink: &str) -> Vec<u8> {
    keys::named(keys::META, &format!("{CALLS}{sink}"))
}

pub fn read_calls(medium: &Medium, sink: &str) -> Result<Calls, StoreError> {
    let value = medium.get(&calls_key(sink))?;
    let framed = value.and_then(|value| frame::unwrap(Kind::Meta, &value).ok());
    Ok(framed.and_then(|framed| decode_calls(&framed.body).ok()).unwrap_or_default())
}

/// The case that a key and its value hold; None where the key is none of a case.
pub fn of_value(key: &[u8], value: &[u8]) -> Option<Case> {
    let (sink, sequence) = keys::case_of(key)?;
    let case = whole(key, value);
    Some(case.unwrap_or_else(|| Case {
        sink: sink.to_owned(),
        sequence,
        state: CaseState::Uncertain,
        calls: 1,
        at_ms: 0,
        reason: "its entry in the store is damaged".to_owned(),
        verdict: None,
    }))
}

/// The same, only where it is whole.
pub fn whole(key: &[u8], value: &[u8]) -> Option<Case> {
    let (sink, sequence) = keys::case_of(key)?;
    let case = Case::decode(&frame::unwrap(Kind::Case, value).ok()?.body).ok()?;
    let is_its = case.sink == sink && case.sequence == sequence;
    let is_of = |chunk: &Arc<Chunk>| (chunk.first(), chunk.count()) == (sequence, 1);
    (is_its && case.verdict.as_ref().is_none_or(is_of)).then_some(case)
}

/// The cases of a sink, or of all, ascending, at most `limit`.
pub fn read(medium: &Medium, sink: Option<&str>, limit: usize) -> Result<Vec<Case>, StoreError> {
    let start = sink.map_or_else(|| vec![keys::CASE], |sink| keys::case(sink, 0));
    let mut found = Vec::new();
    for entry in medium.scan(keys::CASE, &start) {
        let (key, value) = entry?;
        if found.len() >= limit || keys::case_of(&key).is_some_and(|(of, _)| sink.is_some_and(|sink| sink != of)) {
            break;
        }
        found.extend(of_value(&key, &value));
    }
    Ok(found)
}

/// One case.
pub fn get(medium: &Medium, sink: &str, sequence: u64) -> Result<Option<Case>, StoreError> {
    let key = keys::case(sink, sequence);
    Ok(medium.get(&key)?.and_then(|value| of_value(&key, &value)))
}

/// The key of a case by its value, for what is found without one.
pub fn key_of(body: &[u8]) -> Option<Vec<u8>> {
    Case::decode(body).ok().map(|case| keys::case(&case.sink, case.sequence))
}

/// A case as it is after a salvage, by where its sink's cursor stands; None where it was settled.
pub fn salvaged(body: &[u8], cursor: u64) -> Option<Vec<u8>> {
    let case = Case::decode(body).ok()?;
    if case.state == CaseState::UnderWay && case.calls <= 1 && cursor > case.sequence {
        return None;
    }
    let reason = "the store was rebuilt after damage: it may have been settled before".to_owned();
    Some(Case { state: CaseState::Uncertain, reason, ..case }.encode())
}

/// The cases as the writer knows them: bytes by sink and sequence.
#[derive(Debug, Default)]
pub(crate) struct CaseLog(BTreeMap<Vec<u8>, u64>);

impl CaseLog {
    pub fn open(medium: &Medium) -> Result<Self, StoreError> {
        let mut kept = BTreeMap::new();
        for entry in medium.scan(keys::CASE, &[keys::CASE]) {
            let (key, value) = entry?;
            kept.insert(key.to_vec(), value.len() as u64 + ENTRY_OVERHEAD);
        }
        Ok(Self(kept))
    }

    pub fn count(&self) -> u64 {
        self.0.len() as u64
    }

    pub fn bytes(&self) -> u64 {
        self.0.values().sum()
    }

    /// Notes a value that is put, or one that is dropped; by how much the bytes in use grow.
    pub fn note(&mut self, key: Vec<u8>, value_bytes: Option<usize>) -> i64 {
        let bytes = value_bytes.map(|bytes| bytes as u64 + ENTRY_OVERHEAD);
        let before = match bytes {
            Some(bytes) => self.0.insert(key, bytes),
            None => self.0.remove(&key),
        };
        bytes.unwrap_or(0).cast_signed() - before.unwrap_or(0).cast_signed()
    }
}

/// The longest verdict, without its shadow, with the longest sink, reason and numbers.
const _: () = assert!(
    2 * NAME_BYTES_MAX
        + KEY_BYTES_MAX
        + LABEL_BYTES_MAX
        + MODEL_BYTES_MAX
        + REASONS_MAX * (REASON_BYTES_MAX + 4)
        + 256
        + keys::NAME_BYTES_MAX
        + CASE_REASON_BYTES_MAX
        + 40
        <= BODY_BYTES_MAX
);
const _: () = assert!(RAW_BYTES_MAX <= BODY_BYTES_MAX);
