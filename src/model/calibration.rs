//! `[calibration]`: from a model's score to a probability that holds.
//!
//! ```toml
//! [calibration]
//! platt = { a = -1.7, b = 0.3 }                       # 1 / (1 + exp(a·s + b))
//! # or
//! isotonic = { x = [0.1, 0.4, 0.9], y = [0.0, 0.2, 0.95] }
//! ```
//!
//! Platt: J. Platt, "Probabilistic outputs for support vector machines", 1999, with the signs of that paper (as
//! scikit-learn has them). Isotonic: straight lines between the points, and the first or last `y` beyond them, as
//! scikit-learn's `IsotonicRegression(out_of_bounds = "clip")` predicts from its thresholds.

use crate::features::{Problems, Reader, as_number};
use toml::Value;

/// Most points of an isotonic table.
const POINTS_MAX: usize = 65_536;

/// What is done to a score.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Calibration {
    #[default]
    None,
    Platt {
        a: f64,
        b: f64,
    },
    /// Ascending x with their y.
    Isotonic(Vec<(f64, f64)>),
}

impl Calibration {
    /// NaN stays NaN.
    #[must_use]
    pub fn apply(&self, score: f64) -> f64 {
        match self {
            Self::None => score,
            Self::Platt { a, b } => 1.0 / (1.0 + (a * score + b).exp()),
            Self::Isotonic(points) => isotonic(points, score),
        }
    }

    /// Whether it makes less of more.
    #[must_use]
    pub fn falls(&self) -> bool {
        matches!(self, Self::Platt { a, .. } if *a > 0.0)
    }

    /// For `inspect`; empty where there is none.
    #[must_use]
    pub fn explain(&self) -> String {
        match self {
            Self::None => String::new(),
            Self::Platt { a, b } => format!(", then Platt a {a} b {b}"),
            Self::Isotonic(points) => format!(", then isotonic by {} points", points.len()),
        }
    }

    pub(super) fn read(mut reader: Reader<'_>, problems: &mut Problems) -> Self {
        let platt = reader.table("platt", problems).map(|mut inner| {
            let (a, b) = (inner.required_number("a", problems), inner.required_number("b", problems));
            inner.finish(problems);
            Self::Platt { a: a.unwrap_or(0.0), b: b.unwrap_or(0.0) }
        });
        let isotonic = reader.table("isotonic", problems).map(|mut inner| {
            let points = read_points(&mut inner, problems);
            inner.finish(problems);
            Self::Isotonic(points)
        });
        if platt.is_some() == isotonic.is_some() {
            problems.add(reader.key(""), "expected one of platt, isotonic");
        }
        reader.finish(problems);
        platt.or(isotonic).unwrap_or_default()
    }
}

fn read_points(reader: &mut Reader<'_>, problems: &mut Problems) -> Vec<(f64, f64)> {
    let mut numbers = |key: &'static str| -> Vec<f64> {
        let list = reader.array(key, problems).unwrap_or_default();
        let numbers: Vec<f64> =
            list.iter().filter_map(|value: &Value| as_number(value)).filter(|n| n.is_finite()).collect();
        if numbers.len() != list.len() || !(1..=POINTS_MAX).contains(&list.len()) {
            problems.add(reader.key(key), format!("expected 1 to {POINTS_MAX} finite numbers"));
        }
        numbers
    };
    let (x, y) = (numbers("x"), numbers("y"));
    if x.len() != y.len() {
        problems.add(reader.key("y"), format!("expected {} numbers, one for each of x, found {}", x.len(), y.len()));
    }
    if x.windows(2).any(|pair| pair[0] >= pair[1]) {
        problems.add(reader.key("x"), "expected ascending numbers");
    }
    if y.windows(2).any(|pair| pair[0] > pair[1]) {
        problems.add(reader.key("y"), "expected numbers that do not fall");
    }
    x.into_iter().zip(y).collect()
}

fn isotonic(points: &[(f64, f64)], score: f64) -> f64 {
    if score.is_nan() {
        return score;
    }
    let after = points.partition_point(|(x, _)| *x <= score);
    match (after.checked_sub(1).and_then(|n| points.get(n)), points.get(after)) {
        (Some((x0, y0)), Some((x1, y1))) => y0 + (y1 - y0) * (score - x0) / (x1 - x0),
        (Some((_, y)), None) | (None, Some((_, y))) => *y,
        (None, None) => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Calibration, Vec<String>> {
        let table: toml::Table = text.parse().unwrap();
        let mut problems = Problems::default();
        let read = Calibration::read(Reader::new(&table, "calibration"), &mut problems);
        if problems.0.is_empty() { Ok(read) } else { Err(problems.0.iter().map(ToString::to_string).collect()) }
    }

    #[test]
    fn platt_has_the_signs_of_the_paper() {
        let platt = read("platt = { a = -2.0, b = 1.0 }").unwrap();
        assert!((platt.apply(0.5) - 0.5).abs() < 1e-15);
        assert!(platt.apply(3.0) > 0.99 && platt.apply(f64::NAN).is_nan());
        assert!(!platt.falls() && read("platt = { a = 20, b = 0 }").unwrap().falls());
    }

    #[test]
    fn isotonic_goes_straight_between_its_points_and_flat_beyond() {
        let table = read("isotonic = { x = [0.0, 1.0, 3.0], y = [0.1, 0.1, 0.9] }").unwrap();
        let found = [-1.0, 0.0, 0.5, 2.0, 3.0, 9.0].map(|x| table.apply(x));
        for (found, expected) in found.iter().zip([0.1, 0.1, 0.1, 0.5, 0.9, 0.9]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        assert!(table.apply(f64::NAN).is_nan());
    }

    #[test]
    fn a_table_that_is_none_is_refused_with_what_was_expected() {
        let refused = read("isotonic = { x = [0, 2, 1], y = [0, 1] }").unwrap_err().join("\n");
        assert!(refused.contains("expected ascending") && refused.contains("expected 3 numbers"), "{refused}");
        assert!(read("").unwrap_err()[0].contains("expected one of platt, isotonic"));
    }
}
