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
const LOW_BITS: u32 = 52;
/// 2^8: what is left of 60 bits.
const HIGH_SCALE: f64 = 256.0;
/// 2^52.
const LOW_SCALE: f64 = 4_503_599_627_370_496.0;
/// 2^52 + 2^51: adding it rounds a number of up to 2^51 to a whole one, ties to even, which its lowest bits then are.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// A sum of up to 64 numbers in two halves: quicker than in 128 bits, and several at once where the processor can.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parts {
    high: i64,
    low: i64,
}

impl Parts {
    /// Adds a number in range; of 64 at most.
    #[inline]
    pub fn add(&mut self, value: f64) {
        // Both halves are at most 2^51.
        let scaled = value * HIGH_SCALE;
        let rounded = scaled + ROUNDER;
        let rest = (scaled - (rounded - ROUNDER)) * LOW_SCALE;
        self.high = self.high.wrapping_add(whole(rounded));
        self.low = self.low.wrapping_add(whole(rest + ROUNDER));
    }

    #[must_use]
    pub fn sum(self) -> i128 {
        (i128::from(self.high) << LOW_BITS) + i128::from(self.low)
    }
}

/// The whole number that [`ROUNDER`] was added to.
#[inline]
fn whole(rounded: f64) -> i64 {
    rounded.to_bits().wrapping_sub(ROUNDER.to_bits()).cast_signed()
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
    let rest = quotient * u128::from(count) != scaled;
    #[allow(clippy::cast_precision_loss)] // the rounding is the point
    let mean = (quotient | u128::from(rest)) as f64 * UNIT * half_to(shift);
    Some(if sum < 0 { -mean } else { mean })
}

/// 0.5 to a power below 128, by its exponent alone.
fn half_to(power: u32) -> f64 {
    f64::from_bits(1_f64.to_bits() - (u64::from(power) << (f64::MANTISSA_DIGITS - 1)))
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
