//! 256-bit whole numbers without sign, for sums of squares: as many operations as a standard deviation needs.

/// Least significant 64 bits first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wide(pub [u64; 4]);

impl Wide {
    /// The square of a number below 2^127.
    #[must_use]
    pub fn square(value: u128) -> Self {
        let (low, high) = split(value);
        let mut out = Self::default();
        out.add_at(0, u128::from(low) * u128::from(low));
        // Twice the middle product: it may have 128 bits, so it is added twice.
        let middle = u128::from(low) * u128::from(high);
        out.add_at(1, middle);
        out.add_at(1, middle);
        out.add_at(2, u128::from(high) * u128::from(high));
        out
    }

    /// Modulo 2^256.
    pub fn add(&mut self, other: &Self) {
        let mut carry = 0_u64;
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            (*mine, carry) = split(u128::from(*mine) + u128::from(theirs) + u128::from(carry));
        }
    }

    /// Modulo 2^256.
    pub fn subtract(&mut self, other: &Self) {
        let mut borrow = false;
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            let (less, first) = mine.overflowing_sub(theirs);
            let (less, second) = less.overflowing_sub(u64::from(borrow));
            (*mine, borrow) = (less, first || second);
        }
    }

    /// Modulo 2^256.
    #[must_use]
    pub fn times(mut self, factor: u64) -> Self {
        let mut carry = 0_u64;
        for part in &mut self.0 {
            (*part, carry) = split(u128::from(*part) * u128::from(factor) + u128::from(carry));
        }
        self
    }

    /// The nearest f64 from below or above: the 64 leading bits rounded, the rest only as "there is more".
    #[must_use]
    pub fn to_f64(self) -> f64 {
        let Some(top) = self.0.iter().rposition(|part| *part != 0) else { return 0.0 };
        let part = |at: usize| self.0.get(at).copied().unwrap_or(0);
        let below = |at: usize| self.0.iter().take(at).any(|part| *part != 0);
        // The two leading parts, with the lowest bit standing for what is below them.
        let high = u128::from(part(top)) << 64;
        let (leading, shift) = match top {
            0 => (u128::from(part(0)), 0),
            _ => (high | u128::from(part(top - 1)) | u128::from(below(top - 1)), top - 1),
        };
        // Rounds to nearest. 53 bits are kept of at least 65, so the lowest one decides only ties.
        #[allow(clippy::cast_precision_loss)]
        let leading = leading as f64;
        (0..shift).fold(leading, |value, _| value * TWO_64)
    }

    fn add_at(&mut self, at: usize, value: u128) {
        let (low, high) = split(value);
        let mut added = Self::default();
        for (part, value) in added.0.iter_mut().skip(at).zip([low, high]) {
            *part = value;
        }
        self.add(&added);
    }
}

const TWO_64: f64 = 18_446_744_073_709_551_616.0;

/// Low and high half.
#[allow(clippy::cast_possible_truncation)] // the cut is the point
fn split(value: u128) -> (u64, u64) {
    (value as u64, (value >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_square_less_a_square_is_the_product_of_sum_and_difference(a in 0_u128..1 << 63, b in 0_u128..1 << 63) {
            let (a, b) = (a.max(b), a.min(b));
            let mut difference = Wide::square(a);
            difference.subtract(&Wide::square(b));
            let (low, high) = split((a + b) * (a - b));
            prop_assert_eq!(difference, Wide([low, high, 0, 0]));
        }

        #[test]
        fn adding_as_often_is_multiplying(value in 0_u128..1 << 103, times in 0_u64..200) {
            let mut sum = Wide::default();
            (0..times).for_each(|_| sum.add(&Wide::square(value)));
            prop_assert_eq!(sum, Wide::square(value).times(times));
        }
    }

    #[test]
    fn the_nearest_number_is_found_at_every_size() {
        assert_eq!(Wide::default().to_f64().to_bits(), 0);
        assert_eq!(Wide([7, 0, 0, 0]).to_f64().to_bits(), 7_f64.to_bits());
        assert_eq!(Wide([0, 0, 0, 1]).to_f64().to_bits(), TWO_64.powi(3).to_bits());
        // Half way between two numbers, and one bit far below that decides it.
        let tie = (1_u64 << 63) | (1 << 10);
        assert_eq!(Wide([0, 0, 0, tie]).to_f64().to_bits(), (TWO_64.powi(3) * 2_f64.powi(63)).to_bits());
        let above = Wide([1, 0, 0, tie]).to_f64();
        assert!(above > Wide([0, 0, 0, tie]).to_f64());
    }
}
