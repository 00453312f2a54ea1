//! Rows of features held against one another.

use super::naive::NAMES;

/// The largest relative distance of a mean.
const RELATIVE: f64 = 1e-9;

/// Whether column `n` may differ at all: counts and flags may not.
fn is_mean(n: usize) -> bool {
    NAMES[n].contains("_AVG_") || NAMES[n].contains("_RISK_")
}

/// Fails with the event and the feature.
pub fn same(id: &str, found: &[f64; 15], expected: &[f64; 15]) {
    for (n, (found, expected)) in found.iter().zip(expected).enumerate() {
        let limit = if is_mean(n) { RELATIVE * expected.abs() } else { 0.0 };
        assert!((found - expected).abs() <= limit, "event {id}: {} is {found}, expected {expected}", NAMES[n]);
    }
}

#[test]
fn a_count_that_is_one_off_and_a_mean_that_is_a_billionth_off_are_noticed() {
    let row = [1.0; 15];
    same("x", &row, &row);
    for n in 0..15 {
        let mut other = row;
        other[n] *= if is_mean(n) { 1.0 + 2e-9 } else { 2.0 };
        assert!(std::panic::catch_unwind(|| same("x", &other, &row)).is_err(), "{}", NAMES[n]);
    }
}
