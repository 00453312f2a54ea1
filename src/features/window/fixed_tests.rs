//! Sums without error, and the numbers that come of them.

// Numbers are compared exactly because they are exact; there are few of them.
#![allow(clippy::float_cmp, clippy::cast_precision_loss)]

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn a_number_that_fits_is_held_exactly(value in -8.7e12_f64..8.7e12) {
        // 2^-8 and above: no finer bits than 2^-60.
        prop_assume!(value.abs() >= 0.003_906_25);
        prop_assert_eq!(number(fixed(value)).to_bits(), value.to_bits());
    }

    #[test]
    fn a_number_is_held_as_the_nearest_multiple_ties_to_even(
        whole in -(1_i64 << 53)..1 << 53,
        bits in prop_oneof![0_u32..4, 50_u32..60, 60_u32..140],
        values in prop::collection::vec(-8.7e12_f64..8.7e12, 1..64),
    ) {
        // whole / 2^bits, by whole numbers alone.
        let value = whole as f64 * half_to(bits.min(120));
        prop_assume!(in_range(value));
        let expected = match bits.min(120).checked_sub(60) {
            None => i128::from(whole) << (60 - bits),
            Some(0) => i128::from(whole),
            Some(below) => {
                let (down, half) = (i128::from(whole) >> below, 1_i128 << (below - 1));
                let rest = i128::from(whole) - (down << below);
                down + i128::from(rest > half || (rest == half && down % 2 != 0))
            }
        };
        prop_assert_eq!(fixed(value), expected);
        // As many as go into one sum of two halves.
        let mut parts = Parts::default();
        for value in &values {
            parts.add(*value);
        }
        prop_assert_eq!(parts.sum(), values.iter().map(|value| fixed(*value)).sum::<i128>());
    }

    #[test]
    fn the_mean_of_equal_numbers_is_the_number(value in -8.7e12_f64..8.7e12, count in 1_u32..1_000_000) {
        let held = number(fixed(value));
        let mean = mean(fixed(value) * i128::from(count), u64::from(count)).unwrap();
        prop_assert_eq!(mean, held);
    }

    #[test]
    fn a_deviation_is_that_of_two_passes(values in prop::collection::vec(-1e6_f64..1e6, 2..100), offset in -1e9_f64..1e9) {
        let values: Vec<f64> = values.into_iter().map(|value| value + offset).collect();
        let mut squares = Wide::default();
        for value in &values {
            squares.add(&Wide::square(fixed(*value).unsigned_abs()));
        }
        let found = deviation(values.iter().map(|v| fixed(*v)).sum(), &squares, values.len() as u64).unwrap();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let expected = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64).sqrt();
        prop_assert!((found - expected).abs() <= expected * 1e-6 + 1e-6, "{} against {}", found, expected);
    }
}

#[test]
fn a_mean_is_rounded_once() {
    // 0.1 + 0.2 + 0.3 as they are held, by three: the nearest number to the exact quotient.
    let sum = fixed(0.1) + fixed(0.2) + fixed(0.3);
    assert_eq!(mean(sum, 3).unwrap().to_bits(), 0.2_f64.to_bits());
    assert_eq!(mean(-sum, 3).unwrap().to_bits(), (-0.2_f64).to_bits());
    assert_eq!(mean(0, 3), Some(0.0));
    assert_eq!(mean(fixed(1.0), 0), None);
    assert_eq!(mean(fixed(1.0), 3).unwrap().to_bits(), (1.0_f64 / 3.0).to_bits());
}

#[test]
fn what_is_left_of_a_division_decides_a_tie() {
    // By three: 53 bits, then a half exactly, and two thirds of the lowest bit more.
    let leading = 0x18_0000_0000_0000_i128;
    let quotient = (leading << 73) | (1 << 72);
    let sum = quotient + quotient / 2 + 1;
    assert_eq!(mean(sum, 3).unwrap(), number((leading + 1) << 72), "a quotient cut off would be a tie, and go down");
}

#[test]
fn the_greatest_numbers_fit_2_to_24_times() {
    let most = LIMIT.next_down();
    assert!(in_range(most) && !in_range(LIMIT) && !in_range(f64::NAN) && !in_range(f64::INFINITY));
    let sum = fixed(most) * (1 << 24);
    assert_eq!(mean(sum, 1 << 24).unwrap().to_bits(), most.to_bits());
    let squares = Wide::square(fixed(most).unsigned_abs()).times(1 << 24);
    assert_eq!(deviation(sum, &squares, 1 << 24), Some(0.0));
    assert_eq!(deviation(sum, &squares, 1), None);
}

#[test]
fn equal_numbers_have_no_deviation_however_large_they_are() {
    // Where sums of squares in f64 would leave noise, or a negative number under the root.
    let value = 1_000_000_000.1;
    let squares = Wide::square(fixed(value).unsigned_abs()).times(1_000);
    assert_eq!(deviation(fixed(value) * 1_000, &squares, 1_000), Some(0.0));
}
