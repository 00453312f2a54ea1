//! Which model was in use when: an entry each time that one is taken into use, the newest [`USES_MAX`] kept.
//!
//! # Layout
//!
//! Meta entries (see [`super::state`]), each starting with its name:
//!
//! ```text
//! model-use <number, 16 hex digits>
//!               number varint, at signed (ms since 1970), why u8, first sequence varint,
//!               to model, has-from u8, from model
//! model         label bytes, SHA-256 of the weights (32), of the manifest (32), folder bytes, stamp
//! stamp         u8: bit 0 signed, bit 1 has a serial, bit 2 has the time of its signature; then those, varint
//! model-stamps  count varint, then each: name bytes, stamp     the highest ever in use, of the names used last
//! model-permit  SHA-256 of a manifest (32): may be taken into use though it is older
//! ```
//!
//! A folder longer than [`FOLDER_BYTES_MAX`] is kept as empty: it is not known then.

use super::codec::{Malformed, Reader, put_bytes, put_signed, put_varint};
use super::error::StoreError;
use super::frame::{self, BODY_BYTES_MAX, Kind};
use super::keys;
use super::medium::Medium;
use super::model_use::{ModelId, ModelUse, Stamp, Why};
use super::writer::ENTRY_OVERHEAD;
use std::collections::VecDeque;
use std::path::PathBuf;

/// Entries kept.
const USES_MAX: u64 = 1_000;
/// Longest folder kept, bytes.
const FOLDER_BYTES_MAX: usize = 2_048;
/// Models whose highest stamps are kept: those used last.
const STAMPS_MAX: usize = 32;

pub const USE: &str = "model-use ";
pub const STAMPS: &str = "model-stamps";
pub const PERMIT: &str = "model-permit";

fn put_model(out: &mut Vec<u8>, model: &ModelId) {
    put_bytes(out, model.label.as_bytes());
    out.extend_from_slice(&model.sha256);
    out.extend_from_slice(&model.manifest_sha256);
    let folder = model.folder.to_str().filter(|folder| folder.len() <= FOLDER_BYTES_MAX).unwrap_or_default();
    put_bytes(out, folder.as_bytes());
    put_stamp(out, model.stamp);
}

fn put_stamp(out: &mut Vec<u8>, stamp: Stamp) {
    let flag = |on: bool, bit: u8| u8::from(on) << bit;
    out.push(flag(stamp.signed, 0) | flag(stamp.serial.is_some(), 1) | flag(stamp.signed_at.is_some(), 2));
    stamp.serial.into_iter().chain(stamp.signed_at).for_each(|number| put_varint(out, number));
}

fn model(reader: &mut Reader<'_>) -> Result<ModelId, Malformed> {
    Ok(ModelId {
        label: reader.text()?.to_owned(),
        sha256: *reader.array()?,
        manifest_sha256: *reader.array()?,
        folder: PathBuf::from(reader.text()?),
        stamp: stamp(reader)?,
    })
}

fn stamp(reader: &mut Reader<'_>) -> Result<Stamp, Malformed> {
    let flags = reader.byte()?;
    let mut number = |bit: u8| if flags & (1 << bit) == 0 { Ok(None) } else { reader.varint().map(Some) };
    Ok(Stamp { signed: flags & 1 != 0, serial: number(1)?, signed_at: number(2)? })
}

fn use_key(number: u64) -> Vec<u8> {
    keys::named(keys::META, &format!("{USE}{number:016x}"))
}

fn encode_use(used: &ModelUse) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    put_bytes(&mut out, format!("{USE}{:016x}", used.number).as_bytes());
    put_varint(&mut out, used.number);
    put_signed(&mut out, used.at_ms);
    out.push(match used.why {
        Why::Start => 0,
        Why::Reload => 1,
        Why::Rollback => 2,
    });
    put_varint(&mut out, used.first_sequence);
    put_model(&mut out, &used.to);
    out.push(u8::from(used.from.is_some()));
    if let Some(from) = &used.from {
        put_model(&mut out, from);
    }
    out
}

pub fn decode_use(body: &[u8]) -> Result<ModelUse, Malformed> {
    let mut reader = Reader::new(body);
    if !reader.text()?.starts_with(USE) {
        return Err(Malformed("an entry of the models' history"));
    }
    let (number, at_ms) = (reader.varint()?, reader.signed()?);
    let why = match reader.byte()? {
        0 => Why::Start,
        1 => Why::Reload,
        2 => Why::Rollback,
        _ => return Err(Malformed("a known reason for a change of the model")),
    };
    let (first_sequence, to) = (reader.varint()?, model(&mut reader)?);
    let from = if reader.byte()? == 0 { None } else { Some(model(&mut reader)?) };
    Ok(ModelUse { number, at_ms, why, first_sequence, from, to })
}

/// Whether a meta entry of the history's is what its name says; None for another one.
pub fn check(name: &str, body: &[u8]) -> Option<bool> {
    if name.starts_with(USE) {
        return Some(decode_use(body).is_ok());
    }
    match name {
        STAMPS => Some(decode_stamps(body).is_ok()),
        PERMIT => Some(decode_permit(body).is_ok()),
        _ => None,
    }
}

/// The entries kept, ascending; damaged ones are passed over.
pub fn read(medium: &Medium) -> Result<Vec<ModelUse>, StoreError> {
    let mut uses = Vec::new();
    let start = keys::named(keys::META, USE);
    for entry in medium.scan(keys::META, &start) {
        let (key, value) = entry?;
        if !key.starts_with(&start) {
            break;
        }
        let framed = frame::unwrap(Kind::Meta, &value).ok();
        uses.extend(framed.and_then(|framed| decode_use(&framed.body).ok()));
    }
    Ok(uses)
}

fn encode_stamps(stamps: &[(String, Stamp)]) -> Vec<u8> {
    let mut out = Vec::new();
    put_bytes(&mut out, STAMPS.as_bytes());
    put_varint(&mut out, stamps.len() as u64);
    for (name, stamp) in stamps {
        put_bytes(&mut out, name.as_bytes());
        put_stamp(&mut out, *stamp);
    }
    out
}

pub fn decode_stamps(body: &[u8]) -> Result<Vec<(String, Stamp)>, Malformed> {
    let mut reader = Reader::new(body);
    if reader.text()? != STAMPS {
        return Err(Malformed("the meta entry \"model-stamps\""));
    }
    let mut stamps = Vec::new();
    for _ in 0..reader.varint()? {
        stamps.push((reader.text()?.to_owned(), stamp(&mut reader)?));
    }
    Ok(stamps)
}

/// The highest stamp of each name, the name used last first.
pub fn read_stamps(medium: &Medium) -> Result<Vec<(String, Stamp)>, StoreError> {
    let value = medium.get(&keys::named(keys::META, STAMPS))?;
    let framed = value.and_then(|value| frame::unwrap(Kind::Meta, &value).ok());
    Ok(framed.and_then(|framed| decode_stamps(&framed.body).ok()).unwrap_or_default())
}

pub fn encode_permit(manifest_sha256: &[u8; 32]) -> Vec<u8> {
    let mut out = Vec::new();
    put_bytes(&mut out, PERMIT.as_bytes());
    out.extend_from_slice(manifest_sha256);
    out
}

pub fn decode_permit(body: &[u8]) -> Result<[u8; 32], Malformed> {
    let mut reader = Reader::new(body);
    if reader.text()? != PERMIT {
        return Err(Malformed("the meta entry \"model-permit\""));
    }
    Ok(*reader.array()?)
}

/// The manifest that may be taken into use though it is older, if one was permitted and not used yet.
pub fn read_permit(medium: &Medium) -> Result<Option<[u8; 32]>, StoreError> {
    let value = medium.get(&keys::named(keys::META, PERMIT))?;
    let framed = value.and_then(|value| frame::unwrap(Kind::Meta, &value).ok());
    Ok(framed.and_then(|framed| decode_permit(&framed.body).ok()))
}

/// The history as the writer knows it.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// Number and bytes of each entry, ascending.
    kept: VecDeque<(u64, u64)>,
    next: u64,
    stamps: Vec<(String, Stamp)>,
}

/// What a new entry changes in the store.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    pub put: Vec<(Vec<u8>, Vec<u8>)>,
    pub removed: Vec<Vec<u8>>,
    /// By how much the bytes in use grow.
    pub grown: i64,
}

impl History {
    pub fn open(medium: &Medium) -> Result<Self, StoreError> {
        let uses = read(medium)?;
        let kept = uses.iter().map(|used| (used.number, encode_use(used).len() as u64 + ENTRY_OVERHEAD)).collect();
        let next = uses.last().map_or(1, |used| used.number + 1);
        Ok(Self { kept, next, stamps: read_stamps(medium)? })
    }

    pub fn bytes(&self) -> u64 {
        self.kept.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Numbers an entry and makes its values. A permission has been used up by it.
    pub fn note(&mut self, used: &ModelUse, commit: u64) -> Noted {
        let used = ModelUse { number: self.next, ..used.clone() };
        self.next += 1;
        let wrap = |body: &[u8]| frame::wrap(Kind::Meta, commit, body);
        let mut noted = Noted { removed: vec![keys::named(keys::META, PERMIT)], ..Noted::default() };
        let value = wrap(&encode_use(&used));
        let bytes = value.len() as u64 + ENTRY_OVERHEAD;
        noted.grown += bytes.cast_signed();
        self.kept.push_back((used.number, bytes));
        noted.put.push((use_key(used.number), value));
        while self.kept.len() as u64 > USES_MAX
            && let Some((number, bytes)) = self.kept.pop_front()
        {
            noted.removed.push(use_key(number));
            noted.grown -= bytes.cast_signed();
        }
        if used.to.stamp.signed {
            let known = self.stamps.iter().position(|(name, _)| name == used.to.name());
            let before = known.map(|at| self.stamps.remove(at).1).unwrap_or_default();
            self.stamps.insert(0, (used.to.name().to_owned(), before.max(used.to.stamp)));
            self.stamps.truncate(STAMPS_MAX);
            noted.put.push((keys::named(keys::META, STAMPS), wrap(&encode_stamps(&self.stamps))));
        }
        noted
    }
}

/// A name of 128 bytes, two lengths, flags and two numbers each.
const _: () = assert!(STAMPS_MAX * (128 + 2 + 1 + 20) + 64 <= BODY_BYTES_MAX);
/// Two models with their longest labels and folders.
const _: () = assert!(2 * (300 + 64 + FOLDER_BYTES_MAX + 32) + 128 <= BODY_BYTES_MAX);
