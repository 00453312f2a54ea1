//! `parity.ndjson`: rows with the scores that the model's maker got for them. They must hold at load.
//!
//! One object a line: `{"row":[…],"score":…}`. `row` has a number a column, `null` for NaN; `score` is a
//! number, or `null` where the row must be unscorable.

use super::load::read_limited;
use super::{ModelError, Scorer};
use serde::Deserialize;
use std::path::Path;

/// Name of the parity vectors in a bundle's directory.
pub const PARITY_FILE: &str = "parity.ndjson";
/// Largest parity file.
const PARITY_BYTES_MAX: u64 = 16 << 20;
/// How far a score may lie from the one in the file, absolutely. (f32 sums in another order differ by some
/// 1e-7.)
pub const PARITY_TOLERANCE: f64 = 1e-6;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    row: Vec<Option<f64>>,
    score: Option<f64>,
}

/// What the vectors showed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parity {
    pub rows: usize,
    /// The largest difference.
    pub worst: f64,
}

/// Checks the bundle's vectors, if it has any.
pub(super) fn check(dir: &Path, scorer: &mut Scorer) -> Result<Option<Parity>, ModelError> {
    let file = dir.join(PARITY_FILE);
    if !file.exists() {
        return Ok(None);
    }
    let bytes = read_limited(&file, PARITY_BYTES_MAX, "cannot read the parity vectors")?;
    let refused =
        |line: usize, what: String| ModelError::Refused { file: file.clone(), what: format!("line {line}: {what}") };
    let mut parity = Parity::default();
    let mut score = [0.0];
    let mut row = Vec::with_capacity(scorer.width());
    for (n, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let number = n + 1;
        let line: Line = serde_json::from_slice(line)
            .map_err(|error| refused(number, format!("expected {{\"row\":[…],\"score\":…}}: {error}")))?;
        if line.row.len() != scorer.width() {
            return Err(refused(
                number,
                format!("expected a row of {} numbers, found {}", scorer.width(), line.row.len()),
            ));
        }
        row.clear();
        row.extend(line.row.iter().map(|value| value.unwrap_or(f64::NAN)));
        scorer.score(&row, &mut score);
        let difference = (score[0] - line.score.unwrap_or(f64::NAN)).abs();
        let holds = line.score.map_or(score[0].is_nan(), |_| difference <= PARITY_TOLERANCE);
        if !holds {
            let expected = line.score.map_or_else(|| "no score".to_owned(), |score| score.to_string());
            return Err(refused(
                number,
                format!("expected the score {expected} within {PARITY_TOLERANCE}, got {}", score[0]),
            ));
        }
        parity.rows += 1;
        if line.score.is_some() {
            parity.worst = parity.worst.max(difference);
        }
    }
    Ok(Some(parity))
}
