//! An event's fields to the cells that windows keep of it.

use super::plan::{CellKind, Column};
use crate::event::{Field, Pointer};
use std::io::Write;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Reads the cells of events whose fields stand in a given order.
#[derive(Clone, Debug, Default)]
pub struct CellReader {
    columns: Vec<Read>,
}

#[derive(Clone, Debug)]
struct Read {
    kind: CellKind,
    keyed: bool,
    /// Where its fields stand; past the end where they are not among an event's.
    fields: Vec<usize>,
}

/// Longest text of a whole number below 1e15.
const WHOLE_BYTES_MAX: usize = 16;
/// Longest text of a number.
const NUMBER_BYTES_MAX: usize = 352;

impl CellReader {
    pub(super) fn new(columns: &[Column], pointers: &[Pointer]) -> Self {
        let place = |wanted: &Pointer| pointers.iter().position(|there| there == wanted).unwrap_or(usize::MAX);
        let read = |column: &Column| Read {
            kind: column.kind,
            keyed: column.is_keyed(),
            fields: column.pointers.iter().map(place).collect(),
        };
        Self { columns: columns.iter().map(read).collect() }
    }

    /// Appends a cell a column. `text` is the buffer of the fields' texts, `seed` keys the hashes.
    ///
    /// A number counts as its text, so that 3961 and "3961" are one key. What is neither text, number nor boolean is
    /// missing; for a number column so is a text.
    pub fn read(&self, fields: &[Field], text: &str, seed: u64, out: &mut Vec<u64>) {
        let field = |at: usize| fields.get(at).copied().unwrap_or(Field::Missing);
        out.extend(self.columns.iter().map(|column| match column.kind {
            CellKind::Number => number(column.fields.first().map_or(Field::Missing, |at| field(*at))).to_bits(),
            CellKind::Hash => {
                let seed = if column.keyed { seed } else { 0 };
                // Each part is hashed with the hash of those before it: where one ends cannot be mistaken.
                let whole = column.fields.iter().try_fold(seed, |before, at| hash(field(*at), text, before));
                whole.map_or(0, |hash| hash.max(1))
            }
        }));
    }
}

fn number(field: Field) -> f64 {
    match field {
        Field::Number(number) => number,
        Field::Bool(value) => f64::from(u8::from(value)),
        _ => f64::NAN,
    }
}

fn hash(field: Field, text: &str, seed: u64) -> Option<u64> {
    let mut digits = [0; WHOLE_BYTES_MAX];
    let mut buffer;
    let bytes = match field {
        Field::Text(span) => span.in_text(text).as_bytes(),
        Field::Bool(true) => b"true",
        Field::Bool(false) => b"false",
        Field::Number(number) => {
            if let Some(whole) = whole(number) {
                whole_text(whole, &mut digits)
            } else {
                buffer = [0; NUMBER_BYTES_MAX];
                number_text(number, &mut buffer)?
            }
        }
        Field::Missing | Field::Null | Field::Composite => return None,
    };
    Some(xxh3_64_with_seed(bytes, seed))
}

/// A whole number below 1e15.
fn whole(number: f64) -> Option<i64> {
    #[allow(clippy::cast_possible_truncation)] // below 1e15, or not looked at
    let whole = number as i64;
    #[allow(clippy::cast_precision_loss, clippy::float_cmp)] // whole or not
    (number.abs() < 1e15 && whole as f64 == number).then_some(whole)
}

/// The text of a number that is not whole, or large: the shortest that reads back as it.
fn number_text(number: f64, buffer: &mut [u8; NUMBER_BYTES_MAX]) -> Option<&[u8]> {
    let mut rest = buffer.as_mut_slice();
    write!(rest, "{number}").ok()?;
    let left = rest.len();
    buffer.get(..NUMBER_BYTES_MAX - left)
}

/// Its decimal digits without a point, at the end of the buffer; minus zero is 0.
fn whole_text(number: i64, buffer: &mut [u8; WHOLE_BYTES_MAX]) -> &[u8] {
    let mut left = number.unsigned_abs();
    let mut at = buffer.len();
    for place in buffer.iter_mut().rev() {
        #[allow(clippy::cast_possible_truncation)] // a digit
        let digit = (left % 10) as u8;
        *place = b'0' + digit;
        left /= 10;
        at -= 1;
        if left == 0 {
            break;
        }
    }
    if number < 0 {
        at = at.saturating_sub(1);
        if let Some(place) = buffer.get_mut(at) {
            *place = b'-';
        }
    }
    buffer.get(at..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_hashed_as_its_shortest_text_whole_ones_without_a_point() {
        let texts = [
            (0.0, "0"),
            (-0.0, "0"),
            (7.0, "7"),
            (-120.0, "-120"),
            (999_999_999_999_999.0, "999999999999999"),
            (-999_999_999_999_999.0, "-999999999999999"),
            (1e15, "1000000000000000"),
            (0.1, "0.1"),
            (-2.5, "-2.5"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "inf"),
        ];
        for (number, text) in texts {
            let expected = Some(xxh3_64_with_seed(text.as_bytes(), 7));
            assert_eq!(hash(Field::Number(number), "", 7), expected, "{text}");
        }
        assert_eq!(hash(Field::Number(f64::MAX), "", 7), Some(xxh3_64_with_seed(f64::MAX.to_string().as_bytes(), 7)));
    }
}
