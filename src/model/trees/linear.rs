//! A linear model: for each target, a bias and a weight a column.

use super::forest::Precision;

/// Weights by target.
#[derive(Clone, Debug, PartialEq)]
pub struct Linear {
    /// Columns of a row.
    pub width: usize,
    /// Raw sums of a row.
    pub targets: usize,
    /// `[target][column]`
    pub weights: Vec<f64>,
    /// One a target.
    pub bias: Vec<f64>,
    /// Of cells and sums: F32 rounds after each product and addition.
    pub precision: Precision,
    /// A NaN adds nothing.
    pub skips_nan: bool,
}

impl Linear {
    /// Holds the model to its shape.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check(&self) -> Result<(), String> {
        let weights = self.width.checked_mul(self.targets);
        if self.targets == 0 || weights != Some(self.weights.len()) || self.bias.len() != self.targets {
            return Err(format!(
                "{} weights and {} biases for {} targets of {} columns",
                self.weights.len(),
                self.bias.len(),
                self.targets,
                self.width
            ));
        }
        Ok(())
    }

    #[must_use]
    pub fn bytes(&self) -> usize {
        (self.weights.len() + self.bias.len()) * size_of::<f64>()
    }

    /// What each column adds to a target, and the bias.
    #[must_use]
    pub fn term(&self, target: usize, column: usize, cell: f64) -> f64 {
        let x = self.precision.cut(cell);
        let weight = self.weights.get(target * self.width + column).copied().unwrap_or(0.0);
        if self.skips_nan && x.is_nan() { 0.0 } else { self.precision.cut(x * weight) }
    }

    /// The raw sums of rows: bias first, then columns in order.
    pub fn run(&self, rows: &[f64], out: &mut [f64]) {
        if self.width == 0 || self.targets == 0 {
            return;
        }
        for (row, out) in rows.chunks_exact(self.width).zip(out.chunks_exact_mut(self.targets)) {
            for (target, (out, bias)) in out.iter_mut().zip(&self.bias).enumerate() {
                *out = *bias;
                for (column, cell) in row.iter().enumerate() {
                    *out = self.precision.cut(*out + self.term(target, column, *cell));
                }
            }
        }
    }
}
