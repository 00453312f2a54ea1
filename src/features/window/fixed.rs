//! Numbers as fixed point, so that sums are exact: they depend on neither order nor history, and a state folded again
//! from the log is equal bit for bit.
//!
//! A number below [`LIMIT`] is taken to the nearest multiple of 2^-60 and summed in 128 bits: exact from 2^-8 up, where
//! an f64 has no finer bits. The squares for a standard deviation are summed in 256 bits. 2^24 numbers of any size fit.

use super::wide::Wide;

/// 2^43: numbers of this size and above are out of range.
pub const LIMIT: f64 = 8_796_093_022_208.0;
/// 2^-60.
const UNIT: f64 = 8.673_617_379_884_035e-19;
/// Bits of the low part of a [`Parts`].
const LOW_BITS: u32 = 47;
/// 2^13: what is left of 60 bits.
const HIGH_SCALE: f64 = 8_192.0;
/// 2^47.
const LOW_SCALE: f64 = 140_737_488_355_328.0;
/// 2^52 + 2^51: adding it rounds a number below 2^51 to a whole one, ties to even.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// A sum of up to 64 numbers in two halves: quicker than in 128 bits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parts {
    high: i64,
    low: i64,
}

impl Parts {
    /// Adds a number in range; of 64 at most.
    #[inline]
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // below 2^56 and 2^47, as computed here
    pub fn add(&mut self, value: f64) {
        let scaled = value * HIGH_SCALE;
        let high = scaled as i64;
        let rest = (scaled - high as f64) * LOW_SCALE;
        self.high += high;
        self.low += ((rest + ROUNDER) - ROUNDER) as i64;
    }

    #[must_use]
    pub fn sum(self) -> i128 {
        (i128::from(self.high) << LOW_BITS) + i128::from(self.low)
    }
}

/// Whether it counts as a value: a number within the range.
#[must_use]
pub fn in_range(value: f64) -> bool {
    value.abs() < LIMIT
}

/// A number in range as a multiple of 2^-60.
#[must_use]
pub fn fixed(value: f64) -> i128 {
    let mut parts = Parts::default();
    parts.add(value);
    parts.sum()
}

/// A sum as f64, rounded once.
#[must_use]
#[allow(clippy::cast_precision_loss)] // the rounding is the point
pub fn number(sum: i128) -> f64 {
    sum as f64 * UNIT
}

/// `sum / count`, rounded once; None of nothing.
#[must_use]
pub fn mean(sum: i128, count: u64) -> Option<f64> {
    if count == 0 {
        return None;
    }
    let size = sum.unsigned_abs();
    let shift = size.leading_zeros();
    if shift == u128::BITS {
        return Some(0.0);
    }
    // A quotient of at least 64 bits, the lowest one set where something is left: it rounds as the exact one would.
    let scaled = size << shift;
    let quotient = scaled / u128::from(count);
    let rest = scaled % u128::from(count) != 0;
    #[allow(clippy::cast_precision_loss)] // the rounding is the point
    let mean = (quotient | u128::from(rest)) as f64 * UNIT * 0.5_f64.powi(shift.cast_signed());
    Some(if sum < 0 { -mean } else { mean })
}

/// The standard deviation of the sample, divided by n - 1, from exact sums; None below two numbers.
#[must_use]
pub fn deviation(sum: i128, squares: &Wide, count: u64) -> Option<f64> {
    if count < 2 {
        return None;
    }
    let mut above = squares.times(count);
    above.subtract(&Wide::square(sum.unsigned_abs()));
    #[allow(clippy::cast_precision_loss)] // counts stay far below 2^53
    let below = count as f64 * (count - 1) as f64;
    Some((above.to_f64() / below).sqrt() * UNIT)
}

#[cfg(test)]
#[path = "fixed_tests.rs"]
mod tests;
