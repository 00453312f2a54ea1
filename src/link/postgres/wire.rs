//! Messages of the protocol, version 3.0: a kind of one byte, a length that counts itself, a body.

use super::Fault;
use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Longest message of a server. A row of the catalog or a refusal is far shorter.
pub(super) const MESSAGE_BYTES_MAX: usize = 256 << 10;
/// Longest element of an array, and longest array, that the protocol's lengths hold.
const LENGTH_MAX: usize = i32::MAX as usize;
/// The type of an array's elements: `text`.
const TEXT_OID: u32 = 25;
/// The type of the array: `text[]`.
pub(super) const TEXT_ARRAY_OID: u32 = 1009;

/// A message of the server.
#[derive(Debug)]
pub(super) struct Frame {
    pub kind: u8,
    pub body: Bytes,
}

/// Takes the next whole message out of what came.
pub(super) fn take(inbox: &mut BytesMut) -> Result<Option<Frame>, Fault> {
    let (Some(kind), Some(length)) = (inbox.first().copied(), inbox.get(1..5)) else { return Ok(None) };
    let length = length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    if !(4..=MESSAGE_BYTES_MAX).contains(&length) {
        return Err(Fault::link(format!("a message of {length} bytes came, which is no answer to what was asked")));
    }
    if inbox.len() <= length {
        return Ok(None);
    }
    let mut message = inbox.split_to(length + 1);
    message.advance(5);
    Ok(Some(Frame { kind, body: message.freeze() }))
}

/// Appends a message.
pub(super) fn put(out: &mut BytesMut, kind: u8, body: impl FnOnce(&mut BytesMut)) {
    out.put_u8(kind);
    put_counted(out, body);
}

/// Appends a length that counts itself, and what it counts.
fn put_counted(out: &mut BytesMut, body: impl FnOnce(&mut BytesMut)) {
    let at = out.len();
    out.put_u32(0);
    body(out);
    let length = u32::try_from(out.len() - at).unwrap_or(u32::MAX);
    if let Some(place) = out.get_mut(at..at + 4) {
        place.copy_from_slice(&length.to_be_bytes());
    }
}

/// Appends a text with its end. One that holds the end is cut there: the config lets none in.
pub(super) fn put_text(out: &mut BytesMut, text: &str) {
    out.put_slice(text.split('\0').next().unwrap_or_default().as_bytes());
    out.put_u8(0);
}

/// The first message, which alone has no kind.
pub(super) fn put_startup(out: &mut BytesMut, parameters: &[(&str, &str)]) {
    put_counted(out, |out| {
        out.put_u32(3 << 16);
        for (name, value) in parameters {
            put_text(out, name);
            put_text(out, value);
        }
        out.put_u8(0);
    });
}

/// A statement under a name (none: until the next), its parameters of these types.
pub(super) fn put_parse(out: &mut BytesMut, name: &str, sql: &str, types: &[u32]) {
    put(out, b'P', |out| {
        put_text(out, name);
        put_text(out, sql);
        out.put_u16(u16::try_from(types.len()).unwrap_or(u16::MAX));
        types.iter().for_each(|oid| out.put_u32(*oid));
    });
}

/// Parameters for a statement, each put by itself; all in the binary form or all in that of text.
pub(super) fn put_bind<T>(
    out: &mut BytesMut,
    name: &str,
    binary: bool,
    values: &[T],
    each: impl Fn(&T, &mut BytesMut),
) {
    put(out, b'B', |out| {
        put_text(out, "");
        put_text(out, name);
        out.put_slice(&[0, 1, 0, u8::from(binary)]);
        out.put_u16(u16::try_from(values.len()).unwrap_or(u16::MAX));
        for value in values {
            each(value, out);
        }
        // Answers come as text.
        out.put_u16(0);
    });
}

/// Runs what is bound, to its end, and closes the transaction.
pub(super) fn put_execute(out: &mut BytesMut) {
    put(out, b'E', |out| {
        put_text(out, "");
        out.put_u32(0);
    });
    put(out, b'S', |_| {});
}

/// A parameter in the form of text.
pub(super) fn put_value(text: &str, out: &mut BytesMut) {
    out.put_u32(u32::try_from(text.len()).unwrap_or(u32::MAX));
    out.put_slice(text.as_bytes());
}

/// A column's values of a batch, in the binary form of `text[]`.
#[derive(Debug, Default)]
pub struct TextArray {
    elements: Vec<u8>,
    count: u32,
    has_null: bool,
}

impl TextArray {
    /// Appends a value that `write` appends to the buffer; NULL where it returns false.
    pub fn push(&mut self, write: impl FnOnce(&mut Vec<u8>) -> bool) {
        let at = self.elements.len();
        self.elements.extend_from_slice(&[0; 4]);
        let is_there = write(&mut self.elements);
        if !is_there {
            self.elements.truncate(at + 4);
            self.has_null = true;
        }
        let length = i32::try_from(self.elements.len() - at - 4).ok().filter(|_| is_there).unwrap_or(-1);
        if let Some(place) = self.elements.get_mut(at..at + 4) {
            place.copy_from_slice(&length.to_be_bytes());
        }
        self.count += 1;
    }

    #[must_use]
    pub fn bytes(&self) -> usize {
        self.elements.len()
    }

    pub fn clear(&mut self) {
        self.elements.clear();
        (self.count, self.has_null) = (0, false);
    }

    /// With its length before it.
    pub(super) fn put(&self, out: &mut BytesMut) {
        debug_assert!(self.elements.len() < LENGTH_MAX);
        let dimensions = u32::from(self.count > 0);
        let head = if dimensions == 1 { 20 } else { 12 };
        out.put_u32(u32::try_from(head + self.elements.len()).unwrap_or(u32::MAX));
        out.put_u32(dimensions);
        out.put_u32(u32::from(self.has_null));
        out.put_u32(TEXT_OID);
        if dimensions == 1 {
            out.put_u32(self.count);
            // Counted from 1.
            out.put_u32(1);
            out.put_slice(&self.elements);
        }
    }
}

/// The fields of a refusal or notice: a byte that names it, a text with its end.
pub(super) fn fields(body: &Bytes) -> impl Iterator<Item = (u8, String)> {
    body.split(|byte| *byte == 0).filter_map(|field| {
        let (name, text) = field.split_first()?;
        Some((*name, String::from_utf8_lossy(text).into_owned()))
    })
}

/// A row's columns as text. None where the message is not whole.
pub(super) fn row(mut body: Bytes) -> Option<Vec<Option<String>>> {
    let count = body.try_get_u16().ok()?;
    let mut row = Vec::with_capacity(usize::from(count).min(64));
    for _ in 0..count {
        let Ok(length) = usize::try_from(body.try_get_i32().ok()?) else {
            row.push(None);
            continue;
        };
        if length > body.len() {
            return None;
        }
        row.push(Some(String::from_utf8_lossy(&body.split_to(length)).into_owned()));
    }
    Some(row)
}

/// How many rows a statement changed, by the end of its tag (`INSERT 0 12`).
pub(super) fn affected(body: &Bytes) -> u64 {
    let tag = body.split(|byte| *byte == 0).next().unwrap_or_default();
    let last = tag.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    std::str::from_utf8(last).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}
