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
    let mut buffer = [0; NUMBER_BYTES_MAX];
    let bytes = match field {
        Field::Text(span) => span.in_text(text).as_bytes(),
        Field::Bool(true) => b"true",
        Field::Bool(false) => b"false",
        Field::Number(number) => number_text(number, &mut buffer)?,
        Field::Missing | Field::Null | Field::Composite => return None,
    };
    Some(xxh3_64_with_seed(bytes, seed))
}

/// The text of a number: its decimal digits, without a point where it is whole, the shortest that read back as it.
fn number_text(number: f64, buffer: &mut [u8; NUMBER_BYTES_MAX]) -> Option<&[u8]> {
    // Minus zero is 0.
    let number = if number == 0.0 { 0.0 } else { number };
    let mut rest = buffer.as_mut_slice();
    #[allow(clippy::cast_possible_truncation)] // whole and in range
    if number.fract() == 0.0 && number.abs() < 1e15 {
        write!(rest, "{}", number as i64).ok()?;
    } else {
        write!(rest, "{number}").ok()?;
    }
    let left = rest.len();
    buffer.get(..NUMBER_BYTES_MAX - left)
}
