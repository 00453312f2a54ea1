//! `parity.ndjson`: rows with the scores that the model's maker got for them. They must hold at load.
//!
//! One object a line: `{"row":[…],"score":…}`. `row` has a number a column (a text where the model takes one), `null`
//! for what is missing; `score` is a number, or `null` where the row must be unscorable.

use super::load::read_limited;
use super::{ModelError, Scorer};
use crate::features::{ColumnKind, FeatureSet};
use serde::Deserialize;
use std::path::Path;

/// Name of the parity vectors in a bundle's directory.
pub const PARITY_FILE: &str = "parity.ndjson";
/// Largest parity file.
const PARITY_BYTES_MAX: u64 = 16 << 20;
/// How far a score may lie from the one in the file, of a score above 1 relatively. (f32 sums in another order differ by
/// some 1e-7.)
pub const PARITY_TOLERANCE: f64 = 1e-6;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    row: Vec<Option<Cell>>,
    score: Option<f64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Cell {
    Number(f64),
    Text(String),
}

/// What the vectors showed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parity {
    pub rows: usize,
    /// The largest difference.
    pub worst: f64,
}

/// The bundle's vectors, if it has any.
pub(super) fn read(dir: &Path) -> Result<Option<Vec<u8>>, ModelError> {
    let file = dir.join(PARITY_FILE);
    if !file.exists() {
        return Ok(None);
    }
    read_limited(&file, PARITY_BYTES_MAX, "cannot read the parity vectors").map(Some)
}

/// Checks vectors. `dir` is for the error.
pub(super) fn check(
    dir: &Path,
    bytes: &[u8],
    features: &FeatureSet,
    scorer: &mut Scorer,
) -> Result<Parity, ModelError> {
    let file = dir.join(PARITY_FILE);
    let refused =
        |line: usize, what: String| ModelError::Refused { file: file.clone(), what: format!("line {line}: {what}") };
    let mut parity = Parity::default();
    let mut score = [0.0];
    let mut row = Vec::with_capacity(scorer.width());
    let kinds = features.kinds();
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
        for (cell, (kind, name)) in line.row.iter().zip(kinds.iter().zip(features.names())) {
            row.push(match (cell, kind) {
                (None, ColumnKind::Text(texts)) => texts.missing(),
                (None, _) => f64::NAN,
                (Some(Cell::Text(text)), ColumnKind::Text(texts)) => texts.number(text),
                (Some(Cell::Number(number)), ColumnKind::F32 | ColumnKind::F64 | ColumnKind::I64) => *number,
                (Some(cell), kind) => {
                    let found = if matches!(cell, Cell::Text(_)) { "a text" } else { "a number" };
                    return Err(refused(number, format!("{name}: expected {}, found {found}", kind.name())));
                }
            });
        }
        scorer.score(&row, &mut score);
        let difference = line.score.map_or(f64::NAN, |expected| (score[0] - expected).abs() / expected.abs().max(1.0));
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
    Ok(parity)
}
