//! Variable-length integers and a reader that never runs over its slice.

/// What a decoder found instead of what the layout says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {0}")]
pub struct Malformed(pub &'static str);

/// Appends LEB128: 7 bits a byte, low bits first.
// Cut to the low bits on purpose.
#[allow(clippy::cast_possible_truncation)]
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value as u8) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed number, zigzag and LEB128.
pub fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_varint(out, ((value << 1) ^ (value >> 63)).cast_unsigned());
}

/// Appends a length and that many bytes.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Bytes that [`put_varint`] appends.
pub const fn varint_len(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

/// Reads what the `put_` functions wrote, from arbitrary bytes.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub const fn starting_at(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    pub const fn position(&self) -> usize {
        self.at
    }

    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    pub fn byte(&mut self) -> Result<u8, Malformed> {
        let byte = *self.bytes.get(self.at).ok_or(Malformed("one more byte"))?;
        self.at += 1;
        Ok(byte)
    }

    pub fn varint(&mut self) -> Result<u64, Malformed> {
        let first = self.byte()?;
        if first < 0x80 {
            return Ok(u64::from(first));
        }
        let mut value = u64::from(first & 0x7f);
        for shift in (7..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(Malformed("a number of at most 64 bits"));
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed("a number of at most 64 bits"))
    }

    pub fn signed(&mut self) -> Result<i64, Malformed> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    pub fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let end = self.at.checked_add(len).ok_or(Malformed("a length within the value"))?;
        let bytes = self.bytes.get(self.at..end).ok_or(Malformed("a length within the value"))?;
        self.at = end;
        Ok(bytes)
    }

    pub fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], Malformed> {
        self.take(N)?.try_into().map_err(|_| Malformed("a field of fixed size"))
    }

    pub fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let len = self.varint()?;
        self.take(usize::try_from(len).map_err(|_| Malformed("a length within the value"))?)
    }

    pub fn text(&mut self) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Malformed("UTF-8"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(value: u64, signed: i64) {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            prop_assert_eq!(out.len(), varint_len(value));
            put_signed(&mut out, signed);
            let mut reader = Reader::new(&out);
            prop_assert_eq!(reader.varint(), Ok(value));
            prop_assert_eq!(reader.signed(), Ok(signed));
            prop_assert!(reader.byte().is_err());
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let mut reader = Reader::new(&bytes);
            while reader.varint().is_ok() {}
            let mut reader = Reader::new(&bytes);
            while reader.bytes().is_ok() {}
            prop_assert!(reader.position() <= bytes.len());
        }
    }
}
