//! One record of the log: a verdict, with what dedup needs of its event.
//!
//! # Layout inside a chunk
//!
//! ```text
//! flags      u8      bits 0-1 score: 0 none, 1 f32, 2 f64;  bit 2 has a key;  bit 3 source as before;
//!                    bit 4 model as before;  bit 5 decided and log time as before;  bit 6 has reasons;
//!                    bit 7 has what a shadow model said (since format 2)
//! source     varint  index of its text              (unless bit 3)
//! model      varint  index of the model             (unless bit 4)
//! id         bytes   varint length, then the text
//! key        bytes                                  (if bit 2)
//! time       signed  microseconds after the record before
//! decision   varint  index of its text
//! score      4 or 8  little-endian                  (by bits 0-1)
//! reasons    varint  count, then indices            (if bit 6)
//! payload    u64     fingerprint, little-endian
//! decided    signed  milliseconds after the record before   (unless bit 5)
//! log time   varint  milliseconds after the record before   (unless bit 5)
//! shadow     see [`super::shadow`]                          (if bit 7)
//! ```
//!
//! "Before" the first record stand index 0 and the chunk's base times.

use super::chunk::Texts;
use super::codec::{Malformed, Reader, put_bytes, put_signed, put_varint};
use super::error::StoreError;
use super::shadow::{self, RawShadow, Shadowed};
use crate::verdict::Verdict;

/// Longest `source` and `id`, bytes.
pub const NAME_BYTES_MAX: usize = 512;
/// Longest `key`, bytes.
pub const KEY_BYTES_MAX: usize = 1024;
/// Longest decision, bytes.
pub const LABEL_BYTES_MAX: usize = 128;
/// Longest model label, bytes: a name and a version of 128 each, and the `@` between.
pub const MODEL_BYTES_MAX: usize = 300;
/// Reasons kept of a verdict; further ones are left out.
pub const REASONS_MAX: usize = 8;
/// Longest reason, bytes; a longer one is cut at a character.
pub const REASON_BYTES_MAX: usize = 256;

/// What the engine decided about one event, to be logged.
#[derive(Clone, Copy, Debug)]
pub struct NewRecord<'a> {
    pub source: &'a str,
    pub id: &'a str,
    pub key: Option<&'a str>,
    /// Event time, microseconds since 1970.
    pub time_us: i64,
    /// Fingerprint of the payload, to tell a repeat from a conflict.
    pub payload: u64,
    pub decision: &'a str,
    pub score: Option<f64>,
    pub reasons: &'a [&'a str],
    /// `name@version`.
    pub model: &'a str,
    pub model_sha256: &'a [u8; 32],
    /// Wall clock, milliseconds since 1970.
    pub decided_ms: i64,
    /// The log clock ([`super::LogClock`]), milliseconds; never less than that of the record before.
    pub log_ms: u64,
    /// What the shadow model said, if there is one.
    pub shadow: Option<Shadowed<'a>>,
}

impl<'a> NewRecord<'a> {
    /// A record read back, to be written again.
    #[must_use]
    pub fn of(record: &'a Record<'a>) -> Self {
        let verdict = &record.verdict;
        Self {
            source: verdict.source,
            id: verdict.id,
            key: verdict.key,
            time_us: verdict.time_us,
            payload: record.payload,
            decision: verdict.decision,
            score: verdict.score,
            reasons: &verdict.reasons,
            model: verdict.model,
            model_sha256: verdict.model_sha256,
            decided_ms: verdict.decided_ms,
            log_ms: record.log_ms,
            shadow: record.shadow,
        }
    }
}

impl NewRecord<'_> {
    /// # Errors
    /// Names the first text that is too long to be stored whole.
    pub fn check(&self) -> Result<(), StoreError> {
        let texts = [
            ("source", self.source, NAME_BYTES_MAX),
            ("id", self.id, NAME_BYTES_MAX),
            ("key", self.key.unwrap_or_default(), KEY_BYTES_MAX),
            ("decision", self.decision, LABEL_BYTES_MAX),
            ("model", self.model, MODEL_BYTES_MAX),
            ("decision", self.shadow.map_or("", |shadow| shadow.decision), LABEL_BYTES_MAX),
            ("model", self.shadow.map_or("", |shadow| shadow.model), MODEL_BYTES_MAX),
        ];
        match texts.iter().find(|(_, text, limit)| text.len() > *limit) {
            Some(&(what, text, limit)) => Err(StoreError::TooLong { what, bytes: text.len(), limit }),
            None => Ok(()),
        }
    }
}

/// A record as read back; texts are borrowed from its chunk.
#[derive(Clone, Debug, PartialEq)]
pub struct Record<'a> {
    pub verdict: Verdict<'a>,
    pub payload: u64,
    pub log_ms: u64,
    pub shadow: Option<Shadowed<'a>>,
}

/// What carries over from one record to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Previous {
    pub source: u32,
    pub model: u32,
    pub time_us: i64,
    pub decided_ms: i64,
    pub log_ms: u64,
}

/// The indices a record's texts have in its chunk.
pub struct Indices<'a> {
    pub source: u32,
    pub model: u32,
    pub decision: u32,
    pub reasons: &'a [u32],
    pub shadow: Option<RawShadow>,
}

const SCORE: u8 = 0b11;
const SCORE_NONE: u8 = 0;
const SCORE_F32: u8 = 1;
const SCORE_F64: u8 = 2;
const HAS_KEY: u8 = 1 << 2;
const SAME_SOURCE: u8 = 1 << 3;
const SAME_MODEL: u8 = 1 << 4;
const SAME_TIMES: u8 = 1 << 5;
const HAS_REASONS: u8 = 1 << 6;
const HAS_SHADOW: u8 = 1 << 7;

/// Appends a record.
pub fn encode(out: &mut Vec<u8>, record: &NewRecord<'_>, indices: &Indices<'_>, previous: &mut Previous) {
    let log_ms = record.log_ms.max(previous.log_ms);
    let (score, narrow) = match record.score {
        None => (SCORE_NONE, 0.0),
        // Bit for bit, so that -0.0 and NaN come back as they were.
        #[allow(clippy::cast_possible_truncation)]
        Some(score) if f64::from(score as f32).to_bits() == score.to_bits() => (SCORE_F32, score as f32),
        Some(_) => (SCORE_F64, 0.0),
    };
    let same_times = record.decided_ms == previous.decided_ms && log_ms == previous.log_ms;
    let flag = |on: bool, bit: u8| if on { bit } else { 0 };
    out.push(
        score
            | flag(record.key.is_some(), HAS_KEY)
            | flag(indices.source == previous.source, SAME_SOURCE)
            | flag(indices.model == previous.model, SAME_MODEL)
            | flag(same_times, SAME_TIMES)
            | flag(!indices.reasons.is_empty(), HAS_REASONS)
            | flag(indices.shadow.is_some(), HAS_SHADOW),
    );
    if indices.source != previous.source {
        put_varint(out, u64::from(indices.source));
    }
    if indices.model != previous.model {
        put_varint(out, u64::from(indices.model));
    }
    put_bytes(out, record.id.as_bytes());
    if let Some(key) = record.key {
        put_bytes(out, key.as_bytes());
    }
    put_signed(out, record.time_us.wrapping_sub(previous.time_us));
    put_varint(out, u64::from(indices.decision));
    match (score, record.score) {
        (SCORE_F32, _) => out.extend_from_slice(&narrow.to_le_bytes()),
        (SCORE_F64, Some(wide)) => out.extend_from_slice(&wide.to_le_bytes()),
        _ => {}
    }
    if !indices.reasons.is_empty() {
        put_varint(out, indices.reasons.len() as u64);
        for &reason in indices.reasons {
            put_varint(out, u64::from(reason));
        }
    }
    out.extend_from_slice(&record.payload.to_le_bytes());
    if !same_times {
        put_signed(out, record.decided_ms.wrapping_sub(previous.decided_ms));
        put_varint(out, log_ms - previous.log_ms);
    }
    if let Some(shadow) = indices.shadow {
        shadow::encode(out, shadow);
    }
    *previous = Previous {
        source: indices.source,
        model: indices.model,
        time_us: record.time_us,
        decided_ms: record.decided_ms,
        log_ms,
    };
}

/// A record with its texts still as indices: all that dedup and skipping need.
#[derive(Clone, Copy, Debug)]
pub struct RawRecord<'a> {
    pub source: u32,
    pub model: u32,
    pub id: &'a [u8],
    pub key: Option<&'a [u8]>,
    pub time_us: i64,
    pub decision: u32,
    pub score: Option<f64>,
    reasons: Reader<'a>,
    reason_count: usize,
    pub payload: u64,
    pub decided_ms: i64,
    pub log_ms: u64,
    shadow: Option<RawShadow>,
}

/// Reads one record.
pub fn decode<'a>(reader: &mut Reader<'a>, previous: &mut Previous) -> Result<RawRecord<'a>, Malformed> {
    let flags = reader.byte()?;
    let index = |reader: &mut Reader<'a>, same: u8, before: u32| {
        if flags & same != 0 {
            return Ok(before);
        }
        u32::try_from(reader.varint()?).map_err(|_| Malformed("the index of a text"))
    };
    let source = index(reader, SAME_SOURCE, previous.source)?;
    let model = index(reader, SAME_MODEL, previous.model)?;
    let id = reader.bytes()?;
    let key = if flags & HAS_KEY != 0 { Some(reader.bytes()?) } else { None };
    let time_us = previous.time_us.wrapping_add(reader.signed()?);
    let decision = index(reader, 0, 0)?;
    let score = match flags & SCORE {
        SCORE_NONE => None,
        SCORE_F32 => Some(f64::from(f32::from_le_bytes(*reader.array()?))),
        SCORE_F64 => Some(f64::from_le_bytes(*reader.array()?)),
        _ => return Err(Malformed("a known kind of score")),
    };
    let mut reason_count = 0;
    let mut reasons = *reader;
    if flags & HAS_REASONS != 0 {
        reason_count = usize::try_from(reader.varint()?).unwrap_or(usize::MAX);
        if reason_count > REASONS_MAX {
            return Err(Malformed("at most 8 reasons"));
        }
        reasons = *reader;
        for _ in 0..reason_count {
            reader.varint()?;
        }
    }
    let payload = u64::from_le_bytes(*reader.array()?);
    let (mut decided_ms, mut log_ms) = (previous.decided_ms, previous.log_ms);
    if flags & SAME_TIMES == 0 {
        decided_ms = decided_ms.wrapping_add(reader.signed()?);
        log_ms = log_ms.checked_add(reader.varint()?).ok_or(Malformed("a log time of 64 bits"))?;
    }
    let shadow = if flags & HAS_SHADOW == 0 { None } else { Some(shadow::decode(reader)?) };
    *previous = Previous { source, model, time_us, decided_ms, log_ms };
    Ok(RawRecord {
        source,
        model,
        id,
        key,
        time_us,
        decision,
        score,
        reasons,
        reason_count,
        payload,
        decided_ms,
        log_ms,
        shadow,
    })
}

impl<'a> RawRecord<'a> {
    /// The record with its texts.
    pub fn resolve(mut self, sequence: u64, texts: &impl Texts<'a>) -> Result<Record<'a>, Malformed> {
        let (model, model_sha256) = texts.model(self.model).ok_or(Malformed("the index of a model"))?;
        let text = |index: u32| texts.text(index).ok_or(Malformed("the index of a text"));
        let utf8 = |bytes: &'a [u8]| std::str::from_utf8(bytes).map_err(|_| Malformed("UTF-8"));
        let mut reasons = Vec::with_capacity(self.reason_count);
        for _ in 0..self.reason_count {
            let index = u32::try_from(self.reasons.varint()?).map_err(|_| Malformed("the index of a text"))?;
            reasons.push(text(index)?);
        }
        let verdict = Verdict {
            sequence,
            source: text(self.source)?,
            id: utf8(self.id)?,
            key: self.key.map(utf8).transpose()?,
            time_us: self.time_us,
            decision: text(self.decision)?,
            score: self.score,
            reasons,
            model,
            model_sha256,
            decided_ms: self.decided_ms,
        };
        let shadow = self.shadow.map(|shadow| shadow.resolve(texts)).transpose()?;
        Ok(Record { verdict, payload: self.payload, log_ms: self.log_ms, shadow })
    }
}
