//! What the cells of an observation are, and how they are written.
//!
//! # Limits
//!
//! [`COLUMNS_MAX`] columns whose names have [`NAMES_BYTES_MAX`] bytes in all: with that, one observation always fits
//! a chunk.
//!
//! # Layout
//!
//! ```text
//! schema  count varint, then each: kind u8 (0 hash, 1 number), name (varint length, UTF-8)
//! cells   in the order of the columns, those that are missing left out:
//!           missing  one bit a cell, low bits first, in whole bytes   (only where the flags say that some are)
//!           hash     u64, little-endian
//!           number   varint n: n > 0 is the hundredths n − 1 (zigzag); 0: f64, little-endian, follows
//! ```
//!
//! Missing are the hash 0 and the number NaN. A number is written as hundredths where dividing them by 100 gives it
//! back bit for bit: most amounts take two or three bytes.

use super::codec::{Malformed, Reader, put_bytes, put_varint};
use super::error::StoreError;
use std::sync::Arc;

/// Most columns of a schema.
pub const COLUMNS_MAX: usize = 128;
/// Longest names of a schema, all together, bytes.
pub const NAMES_BYTES_MAX: usize = 2048;
/// Longest cells of one observation, bytes.
pub const CELLS_BYTES_MAX: usize = COLUMNS_MAX / 8 + COLUMNS_MAX * 9;
/// Whole numbers up to here are exact in an f64.
const HUNDREDTHS_MAX: f64 = 9_007_199_254_740_992.0;

/// What a cell holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CellKind {
    /// A fingerprint of one or more fields; 0 is missing.
    Hash,
    /// The bits of an f64; NaN is missing.
    Number,
}

/// The columns of observations: kind and name of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    pub columns: Vec<(CellKind, String)>,
}

impl Schema {
    /// # Errors
    /// [`StoreError::TooLong`] where it has more columns or longer names than the store takes.
    pub fn check(&self) -> Result<(), StoreError> {
        let names = self.columns.iter().map(|(_, name)| name.len()).sum();
        for (what, bytes, limit) in [
            ("the list of what windows need of an event", self.columns.len(), COLUMNS_MAX),
            ("what windows need of an event", names, NAMES_BYTES_MAX),
        ] {
            if bytes > limit {
                return Err(StoreError::TooLong { what, bytes, limit });
            }
        }
        Ok(())
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, self.columns.len() as u64);
        for (kind, name) in &self.columns {
            out.push(match kind {
                CellKind::Hash => 0,
                CellKind::Number => 1,
            });
            put_bytes(out, name.as_bytes());
        }
    }

    /// Reads one. Gives `like` where it is the same, so that chunk after chunk shares it.
    pub(crate) fn read(reader: &mut Reader<'_>, like: Option<&Arc<Self>>) -> Result<Arc<Self>, Malformed> {
        let count = usize::try_from(reader.varint()?).unwrap_or(usize::MAX);
        if count > COLUMNS_MAX {
            return Err(Malformed("at most 128 columns"));
        }
        let start = *reader;
        let known = like.filter(|like| like.columns.len() == count);
        let mut is_same = known.is_some();
        for n in 0..count {
            let column = (kind(reader.byte()?)?, reader.text()?);
            let same = known.and_then(|known| known.columns.get(n));
            is_same &= same.is_some_and(|(kind, name)| (*kind, name.as_str()) == column);
        }
        if let Some(known) = known.filter(|_| is_same) {
            return Ok(Arc::clone(known));
        }
        let mut again = start;
        let mut columns = Vec::with_capacity(count);
        for _ in 0..count {
            columns.push((kind(again.byte()?)?, again.text()?.to_owned()));
        }
        Ok(Arc::new(Self { columns }))
    }

    /// Whether one of the cells is missing.
    pub(crate) fn is_any_missing(&self, cells: &[u64]) -> bool {
        self.columns.iter().zip(cells).any(|((kind, _), cell)| is_missing(*kind, *cell))
    }

    /// Appends the cells of one observation, one a column.
    pub(crate) fn put_cells(&self, out: &mut Vec<u8>, cells: &[u64], some_missing: bool) {
        if some_missing {
            let start = out.len();
            out.resize(start + self.columns.len().div_ceil(8), 0);
            for (n, ((kind, _), cell)) in self.columns.iter().zip(cells).enumerate() {
                if is_missing(*kind, *cell)
                    && let Some(byte) = out.get_mut(start + n / 8)
                {
                    *byte |= 1 << (n % 8);
                }
            }
        }
        for ((kind, _), cell) in self.columns.iter().zip(cells) {
            match kind {
                kind if is_missing(*kind, *cell) => {}
                CellKind::Hash => out.extend_from_slice(&cell.to_le_bytes()),
                CellKind::Number => put_number(out, *cell),
            }
        }
    }

    /// Reads the cells of one observation and appends them to `out`.
    pub(crate) fn read_cells(
        &self,
        reader: &mut Reader<'_>,
        some_missing: bool,
        out: &mut Vec<u64>,
    ) -> Result<(), Malformed> {
        let missing = if some_missing { reader.take(self.columns.len().div_ceil(8))? } else { &[] };
        for (n, (kind, _)) in self.columns.iter().enumerate() {
            let is_missing = missing.get(n / 8).is_some_and(|byte| byte >> (n % 8) & 1 == 1);
            out.push(match kind {
                CellKind::Hash if is_missing => 0,
                CellKind::Hash => u64::from_le_bytes(*reader.array()?),
                CellKind::Number if is_missing => f64::NAN.to_bits(),
                CellKind::Number => number(reader)?,
            });
        }
        Ok(())
    }
}

fn kind(byte: u8) -> Result<CellKind, Malformed> {
    match byte {
        0 => Ok(CellKind::Hash),
        1 => Ok(CellKind::Number),
        _ => Err(Malformed("a known kind of column")),
    }
}

/// Only the usual NaN: another one would not come back as it was.
fn is_missing(kind: CellKind, cell: u64) -> bool {
    match kind {
        CellKind::Hash => cell == 0,
        CellKind::Number => cell == f64::NAN.to_bits(),
    }
}

// The hundredths are whole and below 2^53 where they are taken.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
fn put_number(out: &mut Vec<u8>, cell: u64) {
    let hundredths = (f64::from_bits(cell) * 100.0).round();
    let whole = hundredths as i64;
    if hundredths.abs() < HUNDREDTHS_MAX && (whole as f64 / 100.0).to_bits() == cell {
        put_varint(out, ((whole << 1) ^ (whole >> 63)).cast_unsigned() + 1);
    } else {
        out.push(0);
        out.extend_from_slice(&cell.to_le_bytes());
    }
}

#[allow(clippy::cast_precision_loss)] // written only below 2^53; anything else is a damaged chunk's
fn number(reader: &mut Reader<'_>) -> Result<u64, Malformed> {
    match reader.varint()?.checked_sub(1) {
        None => Ok(u64::from_le_bytes(*reader.array()?)),
        Some(zigzag) => {
            let whole = (zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed();
            Ok((whole as f64 / 100.0).to_bits())
        }
    }
}
