//! The protobuf wire format, read in a stream: tags and numbers are read, contents are stepped over.
//!
//! A field is a tag (number · 8 + type, a varint) and a varint (type 0), 8 bytes (1), a length and as many bytes (2)
//! or 4 bytes (5). Groups (3, 4) are of a time before ONNX and refused. (Protocol Buffers, "Encoding".)

use super::error::Error;
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek};

/// What follows a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Varint,
    Fixed(u64),
    /// So many bytes.
    Bytes(u64),
}

/// A reader that knows where it stands.
#[derive(Debug)]
pub struct Wire<R: Read> {
    reader: BufReader<R>,
    at: u64,
}

impl<R: Read + Seek> Wire<R> {
    pub fn new(reader: R) -> Self {
        Self { reader: BufReader::with_capacity(64 << 10, reader), at: 0 }
    }

    #[must_use]
    pub fn at(&self) -> u64 {
        self.at
    }

    /// The next field that begins before `end`: its number and content. None at `end`.
    pub fn field(&mut self, end: u64) -> Result<Option<(u64, Content)>, Error> {
        if self.at >= end {
            return Ok(None);
        }
        let begin = self.at;
        let tag = self.varint(end)?;
        let content = match tag & 7 {
            0 => Content::Varint,
            1 => Content::Fixed(8),
            2 => Content::Bytes(self.varint(end)?),
            5 => Content::Fixed(4),
            other => return Err(Error(format!("byte {begin}: expected a protobuf field, found type {other}"))),
        };
        if let Content::Bytes(bytes) | Content::Fixed(bytes) = content
            && bytes > end.saturating_sub(self.at)
        {
            let left = end.saturating_sub(self.at);
            return Err(Error(format!("byte {begin}: field {} claims {bytes} bytes, {left} are left", tag >> 3)));
        }
        if tag >> 3 == 0 {
            return Err(Error(format!("byte {begin}: expected a protobuf field, found number 0")));
        }
        Ok(Some((tag >> 3, content)))
    }

    /// A number of up to ten bytes.
    pub fn varint(&mut self, end: u64) -> Result<u64, Error> {
        let begin = self.at;
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            if self.at >= end {
                return Err(Error(format!("byte {begin}: the file ends inside a number")));
            }
            let mut byte = [0];
            self.reader.read_exact(&mut byte).map_err(|e| self.broken(&e))?;
            self.at += 1;
            let bits = u64::from(byte[0] & 0x7f);
            value |= bits.checked_shl(shift).unwrap_or(0);
            if byte[0] < 0x80 {
                return Ok(value);
            }
        }
        Err(Error(format!("byte {begin}: expected a number of at most ten bytes")))
    }

    /// Steps over what follows a tag.
    pub fn skip(&mut self, content: Content, end: u64) -> Result<(), Error> {
        match content {
            Content::Varint => self.varint(end).map(|_| ()),
            Content::Fixed(bytes) | Content::Bytes(bytes) => {
                let step = i64::try_from(bytes).map_err(|_| Error::new("a field's length is not a length"))?;
                self.reader.seek_relative(step).map_err(|e| self.broken(&e))?;
                self.at = self.at.saturating_add(bytes);
                Ok(())
            }
        }
    }

    /// How many varints end before `end`; what is stepped over.
    pub fn count_varints(&mut self, end: u64) -> Result<u64, Error> {
        let mut count = 0;
        while self.at < end {
            let buffer = match self.reader.fill_buf() {
                Ok([]) => return Err(Error::new("the file ends inside a list of numbers")),
                Ok(buffer) => buffer,
                Err(error) => return Err(Error(format!("cannot read: {error}"))),
            };
            let take = buffer.len().min(usize::try_from(end - self.at).unwrap_or(usize::MAX));
            count += buffer.iter().take(take).filter(|byte| **byte < 0x80).count() as u64;
            self.reader.consume(take);
            self.at += take as u64;
        }
        Ok(count)
    }

    fn broken(&self, error: &std::io::Error) -> Error {
        match error.kind() {
            ErrorKind::UnexpectedEof => Error(format!("byte {}: the file is cut off", self.at)),
            _ => Error(format!("byte {}: cannot read: {error}", self.at)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// A message within a message: what follows it in the file is not its own.
    #[test]
    fn a_number_does_not_go_beyond_its_message() {
        let wire = |bytes: &[u8]| Wire::new(Cursor::new(bytes.to_vec()));
        let bytes = [0x80, 0x80, 0x01];
        assert_eq!(wire(&bytes).varint(3), Ok(1 << 14));
        for end in 0..3 {
            assert_eq!(wire(&bytes).varint(end), Err(Error::new("byte 0: the file ends inside a number")));
        }
        // A tag whose number is cut, a length whose number is, and a length beyond the end.
        assert!(wire(&[0x88, 0x01, 0x05]).field(1).unwrap_err().0.contains("inside a number"));
        assert!(wire(&[0x0a, 0x80, 0x01, 0x00]).field(2).unwrap_err().0.contains("inside a number"));
        assert!(wire(&[0x0a, 0x02, 0x01, 0x00]).field(3).unwrap_err().0.contains("claims 2 bytes, 1 are left"));
        // Eleven bytes are no number, ten are.
        let longest = [0xff; 9].into_iter().chain([0x01]).collect::<Vec<_>>();
        assert_eq!(wire(&longest).varint(10), Ok(u64::MAX));
        assert!(wire(&[0xff; 11]).varint(11).unwrap_err().0.contains("at most ten bytes"));
    }
}
