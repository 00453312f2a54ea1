//! Gauss–Legendre quadrature on 0 to 1: n points give the integral of a polynomial of degree 2n - 1 exactly.

use std::f64::consts::PI;

/// Points and their weights, ascending.
#[derive(Clone, Debug, PartialEq)]
pub struct Quadrature {
    pub points: Vec<f64>,
    pub weights: Vec<f64>,
}

impl Quadrature {
    /// By Newton's method from the usual first guesses, on the Legendre polynomial's three-term recurrence.
    #[allow(clippy::cast_precision_loss)] // small numbers
    pub fn new(count: usize) -> Self {
        let mut quadrature = Self { points: vec![0.0; count], weights: vec![0.0; count] };
        let n = count as f64;
        for (at, (point, weight)) in quadrature.points.iter_mut().zip(&mut quadrature.weights).enumerate() {
            let mut x = -(PI * (at as f64 + 0.75) / (n + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..100 {
                let (mut last, mut value) = (1.0, x);
                for k in 2..=count {
                    let k = k as f64;
                    (last, value) = (value, ((2.0 * k - 1.0) * x * value - (k - 1.0) * last) / k);
                }
                if count == 1 {
                    (last, value) = (1.0, x);
                }
                slope = n * (x * value - last) / (x * x - 1.0);
                let step = value / slope;
                x -= step;
                if step.abs() < 1e-16 {
                    break;
                }
            }
            *point = f64::midpoint(x, 1.0);
            *weight = 1.0 / ((1.0 - x * x) * slope * slope);
        }
        quadrature
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_up_to_twice_the_points_are_integrated_exactly() {
        for count in 1..40 {
            let quadrature = Quadrature::new(count);
            for power in 0..2 * i32::try_from(count).unwrap() {
                let sum: f64 = quadrature.points.iter().zip(&quadrature.weights).map(|(x, w)| w * x.powi(power)).sum();
                let expected = 1.0 / f64::from(power + 1);
                assert!((sum - expected).abs() < 1e-14, "{count} points, power {power}: {sum} {expected}");
            }
        }
    }
}
