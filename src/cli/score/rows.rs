//! `score --rows`: the CSV's columns are the model's inputs, one score a row.

use super::{
    Failure, Format, Input, Output,
    events::write_features,
    input::{Records, is_missing},
};
use crate::{
    ingest::{Problem, ProblemKind},
    model::Bundle,
};
use std::io::Write;

/// Rows that are scored in one call.
const BATCH_ROWS: usize = 256;

pub(super) fn score(bundle: &Bundle, input: Input, with_features: bool, out: &mut Output<'_>) -> Result<(), Failure> {
    if input.format == Format::Ndjson {
        return Err(Failure::usage("--rows: expected CSV, whose columns are the model's inputs; found NDJSON"));
    }
    let unreadable = |error: csv::Error| Failure::does_not_hold(format!("input: {error}"));
    let mut records = Records::new(input.stream).map_err(unreadable)?;
    let names = bundle.features().names();
    let headless = records.header.iter().all(|cell| cell_value(cell).is_some());
    let columns =
        if headless { positions(records.header.len(), names.len())? } else { columns(&records.header, names)? };
    let mut batch =
        Batch { bundle, scorer: bundle.scorer(BATCH_ROWS), rows: Vec::new(), faults: Vec::new(), with_features };
    if headless && !records.header.is_empty() {
        let first = records.header.clone();
        batch.add(&first, &columns);
    }
    let mut record = csv::ByteRecord::new();
    while records.read(&mut record).map_err(unreadable)? {
        batch.add(&record, &columns);
        if batch.faults.len() >= BATCH_ROWS {
            batch.write(out)?;
        }
    }
    batch.write(out)
}

struct Batch<'a> {
    bundle: &'a Bundle,
    scorer: crate::model::Scorer,
    rows: Vec<f64>,
    /// For each row what is wrong with it, if anything.
    faults: Vec<Option<String>>,
    with_features: bool,
}

impl Batch<'_> {
    /// `columns[i]` is where the model's input `i` stands in the record.
    fn add(&mut self, record: &csv::ByteRecord, columns: &[usize]) {
        let names = self.bundle.features().names();
        let mut fault = (record.len() != columns.len())
            .then(|| format!("expected {} cells, found {}", columns.len(), record.len()));
        for (column, name) in columns.iter().zip(names) {
            let cell = record.get(*column).unwrap_or_default();
            let value = cell_value(cell);
            if value.is_none() {
                let found = String::from_utf8_lossy(cell.get(..cell.len().min(64)).unwrap_or_default()).into_owned();
                fault.get_or_insert_with(|| format!("{name}: expected a number, found {found:?}"));
            }
            self.rows.push(value.unwrap_or(f64::NAN));
        }
        self.faults.push(fault);
    }

    fn write(&mut self, out: &mut Output<'_>) -> Result<(), Failure> {
        let mut scores = vec![f64::NAN; self.faults.len()];
        self.scorer.score(&self.rows, &mut scores);
        let width = self.bundle.features().width();
        let mut line = Vec::new();
        for (n, (fault, score)) in self.faults.iter().zip(scores).enumerate() {
            line.clear();
            if let Some(fault) = fault {
                Problem::new(ProblemKind::Malformed, fault.as_str()).write_json(&mut line);
            } else {
                let row = self.rows.get(n * width..(n + 1) * width).unwrap_or_default();
                line.extend_from_slice(b"{\"score\":");
                // Enough digits to read back as the same number.
                let _ = if score.is_finite() { write!(line, "{score}") } else { write!(line, "null") };
                if self.with_features {
                    write_features(self.bundle.features(), Some(row), &mut line);
                }
                line.push(b'}');
            }
            line.push(b'\n');
            out.bytes(&line)?;
        }
        self.rows.clear();
        self.faults.clear();
        Ok(())
    }
}

/// A missing cell is NaN; None where it is no number.
fn cell_value(cell: &[u8]) -> Option<f64> {
    let cell = cell.trim_ascii();
    if is_missing(cell) {
        return Some(f64::NAN);
    }
    std::str::from_utf8(cell).ok()?.parse().ok()
}

fn positions(found: usize, expected: usize) -> Result<Vec<usize>, Failure> {
    if found != expected {
        let message = format!("--rows: expected {expected} columns, one for each of the model's inputs, found {found}");
        return Err(Failure::does_not_hold(message));
    }
    Ok((0..expected).collect())
}

/// By name, or by position where the header has only made-up names such as `Column_0`, `f0`, `0`.
fn columns(header: &csv::ByteRecord, names: &[String]) -> Result<Vec<usize>, Failure> {
    let is_generic = |cell: &[u8]| {
        let rest = cell.strip_prefix(b"Column_").or_else(|| cell.strip_prefix(b"f")).unwrap_or_default();
        !rest.is_empty() && rest.iter().all(u8::is_ascii_digit)
    };
    let known = |cell: &[u8]| names.iter().any(|name| name.as_bytes() == cell);
    if header.iter().all(|cell| is_generic(cell) && !known(cell)) {
        return positions(header.len(), names.len());
    }
    let shown = |cell: &[u8]| String::from_utf8_lossy(cell).into_owned();
    let missing: Vec<String> =
        names.iter().filter(|name| !header.iter().any(|cell| cell == name.as_bytes())).cloned().collect();
    let extra: Vec<String> = header.iter().filter(|cell| !known(cell)).map(shown).collect();
    let twice: Vec<String> = header
        .iter()
        .enumerate()
        .filter(|(n, cell)| header.iter().take(*n).any(|before| before == *cell))
        .map(|(_, cell)| shown(cell))
        .collect();
    let faults: Vec<String> = [("missing", missing), ("not an input of the model", extra), ("there twice", twice)]
        .into_iter()
        .filter(|(_, columns)| !columns.is_empty())
        .map(|(what, columns)| format!("{what}: {}", columns.join(", ")))
        .collect();
    if !faults.is_empty() {
        return Err(Failure::does_not_hold(format!("--rows: columns {}", faults.join("; "))));
    }
    let place = |name: &String| header.iter().position(|cell| cell == name.as_bytes()).unwrap_or_default();
    Ok(names.iter().map(place).collect())
}
