//! A `text[]` as it is sent: binary, its elements written one after the other into one buffer.

use bytes::{BufMut, BytesMut};
use std::error::Error;
use std::fmt;
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};

/// Values of one column, in the order of their rows. Buffers are used again.
///
/// Its layout is that of PostgreSQL's `array_send`: dimensions, whether there are NULLs, the elements' type, their number,
/// the first one's index, and each element with its length (-1: NULL) before it; numbers have 4 bytes, big-endian.
#[derive(Clone, Default)]
pub struct TextArray {
    elements: Vec<u8>,
    count: u32,
    has_null: bool,
}

/// Without its values: they are people's data.
impl fmt::Debug for TextArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextArray").field("count", &self.count).finish_non_exhaustive()
    }
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
}

impl ToSql for TextArray {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let dimensions = u32::from(self.count > 0);
        out.put_u32(dimensions);
        out.put_u32(u32::from(self.has_null));
        out.put_u32(Type::TEXT.oid());
        if dimensions == 1 {
            out.put_u32(self.count);
            // Counted from 1.
            out.put_u32(1);
            out.put_slice(&self.elements);
        }
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::TEXT_ARRAY
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Binary
    }

    to_sql_checked!();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_has_its_values_in_order_with_null_where_there_is_none() {
        let mut array = TextArray::default();
        let put = |array: &TextArray| {
            let mut out = BytesMut::new();
            array.to_sql_checked(&Type::TEXT_ARRAY, &mut out).unwrap();
            out.to_vec()
        };
        assert_eq!(put(&array), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25]);
        let text = |text: &'static str| move |out: &mut Vec<u8>| (out.extend_from_slice(text.as_bytes()), true).1;
        array.push(text("ab"));
        array.push(|out| (out.push(b'x'), false).1);
        array.push(text(""));
        let head = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 25, 0, 0, 0, 3, 0, 0, 0, 1];
        let values = [&[0, 0, 0, 2, b'a', b'b'][..], &[255; 4], &[0; 4]].concat();
        assert_eq!(put(&array), [&head[..], &values].concat());
        array.clear();
        assert_eq!(put(&array).len(), 12);
        assert!(array.to_sql_checked(&Type::TEXT, &mut BytesMut::new()).is_err());
    }
}
