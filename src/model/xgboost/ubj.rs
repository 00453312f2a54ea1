//! UBJSON as XGBoost writes it, read by serde.
//!
//! **Layout** (draft 12 of the UBJSON specification; all numbers big-endian). A value is a marker and its bytes:
//! `Z` null, `N` nothing (passed over), `T` and `F`, `i` `U` `I` `l` `L` integers of 1, 1, 2, 4, 8 bytes, `d` `D`
//! floats, `C` a byte, `S` a length and UTF-8, `[`…`]` and `{`…`}`. A container may say `#` and its length behind
//! its bracket, and before that `$` and the marker of all its values: then there is no closing bracket, and with
//! `$` no markers. Keys are a length and UTF-8.
//!
//! **Limits.** Containers nest 64 deep. A told length is held against the bytes left before anything is made of
//! it: a value takes a byte, one of a typed container its size, and values of no size (`[$Z#`) count as a byte.

use serde::de::{self, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use std::fmt::{self, Display};

const DEPTH_MAX: usize = 64;

/// What was expected, and at which byte.
#[derive(Debug)]
pub struct Error(String);

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl de::Error for Error {
    fn custom<T: Display>(what: T) -> Self {
        Self(what.to_string())
    }
}

/// Reads one value that takes all bytes.
///
/// # Errors
/// What was expected, and at which byte.
pub fn from_bytes<'a, T: de::Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Error> {
    let mut input = Input { bytes, at: 0, depth: 0 };
    let value = T::deserialize(Value { input: &mut input, marker: None })
        .map_err(|e| Error(format!("byte {}: {e}", input.at)))?;
    if input.at < bytes.len() {
        return Err(Error(format!("byte {}: expected the end", input.at)));
    }
    Ok(value)
}

struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
}

impl<'a> Input<'a> {
    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or_else(|| Error(format!("{count} bytes are told of, {} are left", self.left())))?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        self.take(N)?.try_into().map_err(|_| Error("cut off".to_owned()))
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn marker(&mut self) -> Result<u8, Error> {
        loop {
            let [marker] = self.fixed()?;
            if marker != b'N' {
                return Ok(marker);
            }
        }
    }

    fn integer(&mut self, marker: u8) -> Result<i64, Error> {
        match marker {
            b'i' => Ok(i64::from(i8::from_be_bytes(self.fixed()?))),
            b'U' => Ok(i64::from(u8::from_be_bytes(self.fixed()?))),
            b'I' => Ok(i64::from(i16::from_be_bytes(self.fixed()?))),
            b'l' => Ok(i64::from(i32::from_be_bytes(self.fixed()?))),
            b'L' => Ok(i64::from_be_bytes(self.fixed()?)),
            other => Err(Error(format!("expected the marker of an integer, found {other:#04x}"))),
        }
    }

    /// A length, no more than there are bytes left for values of `size`.
    fn length(&mut self, size: usize) -> Result<usize, Error> {
        let marker = self.marker()?;
        let told = self.integer(marker)?;
        let length = usize::try_from(told).ok().filter(|length| *length <= self.left() / size.max(1));
        length.ok_or_else(|| Error(format!("a length of {told}, {} bytes are left", self.left())))
    }

    fn text(&mut self) -> Result<&'a str, Error> {
        let length = self.length(1)?;
        std::str::from_utf8(self.take(length)?).map_err(|_| Error("expected UTF-8".to_owned()))
    }

    /// What stands behind a bracket.
    fn container(&mut self) -> Result<Container, Error> {
        let mut container = Container { marker: None, left: None };
        if self.peek() == Some(b'$') {
            self.at += 1;
            container.marker = Some(self.marker()?);
        }
        if self.peek() == Some(b'#') {
            self.at += 1;
            container.left = Some(self.length(container.marker.map_or(1, size))?);
        } else if container.marker.is_some() {
            return Err(Error("expected # and a length behind $ and a marker".to_owned()));
        }
        Ok(container)
    }
}

/// Bytes of a value without its marker, at least.
fn size(marker: u8) -> usize {
    match marker {
        b'I' => 2,
        b'l' | b'd' => 4,
        b'L' | b'D' => 8,
        _ => 1,
    }
}

#[derive(Clone, Copy)]
struct Container {
    marker: Option<u8>,
    /// None: up to the closing bracket.
    left: Option<usize>,
}

struct Value<'i, 'a> {
    input: &'i mut Input<'a>,
    /// Told by the container.
    marker: Option<u8>,
}

impl<'de> Deserializer<'de> for Value<'_, 'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let input = self.input;
        let marker = match self.marker {
            Some(marker) => marker,
            None => input.marker()?,
        };
        match marker {
            b'Z' => visitor.visit_unit(),
            b'T' => visitor.visit_bool(true),
            b'F' => visitor.visit_bool(false),
            b'd' => visitor.visit_f32(f32::from_be_bytes(input.fixed()?)),
            b'D' => visitor.visit_f64(f64::from_be_bytes(input.fixed()?)),
            b'C' => visitor.visit_u8(u8::from_be_bytes(input.fixed()?)),
            b'S' => visitor.visit_borrowed_str(input.text()?),
            b'[' | b'{' => {
                if input.depth >= DEPTH_MAX {
                    return Err(Error(format!("containers nest deeper than {DEPTH_MAX}")));
                }
                input.depth += 1;
                let container = input.container()?;
                let is_map = marker == b'{';
                let access = Access { input: &mut *input, container, close: if is_map { b'}' } else { b']' } };
                let value = if is_map { visitor.visit_map(access)? } else { visitor.visit_seq(access)? };
                input.depth -= 1;
                Ok(value)
            }
            other => visitor.visit_i64(input.integer(other)?),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        let marker = match self.marker {
            Some(marker) => marker,
            None => self.input.marker()?,
        };
        self.marker = Some(marker);
        if marker == b'Z' { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct Access<'i, 'a> {
    input: &'i mut Input<'a>,
    container: Container,
    close: u8,
}

impl Access<'_, '_> {
    /// True if another value follows.
    fn more(&mut self) -> Result<bool, Error> {
        if let Some(left) = &mut self.container.left {
            if *left == 0 {
                return Ok(false);
            }
            *left -= 1;
            return Ok(true);
        }
        while self.input.peek() == Some(b'N') {
            self.input.at += 1;
        }
        match self.input.peek() {
            None => Err(Error::custom("the file ends in a container")),
            Some(byte) if byte == self.close => {
                self.input.at += 1;
                Ok(false)
            }
            Some(_) => Ok(true),
        }
    }
}

impl<'a> SeqAccess<'a> for Access<'_, 'a> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'a>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        if !self.more()? {
            return Ok(None);
        }
        seed.deserialize(Value { input: &mut *self.input, marker: self.container.marker }).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        self.container.left
    }
}

impl<'a> MapAccess<'a> for Access<'_, 'a> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'a>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        if !self.more()? {
            return Ok(None);
        }
        let key = self.input.text()?;
        seed.deserialize(de::value::BorrowedStrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(Value { input: &mut *self.input, marker: self.container.marker })
    }
}
