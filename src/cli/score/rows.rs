//! `score --rows`: the CSV's columns are the model's inputs, one score a row.

use super::{
    Failure, Output,
    events::write_features,
    offline::{Format, Input, Records, is_missing},
};
use crate::{
    features::{ColumnKind, Texts},
    ingest::{Problem, ProblemKind},
    model::{Bundle, Method, OutputSpec, Scorer, is_generic},
    verdict::{write_json_string, write_number},
};

/// What is added to a line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Along {
    /// The row by name.
    pub features: bool,
    /// The leaf of each tree.
    pub leaves: bool,
    /// What each column adds.
    pub contributions: bool,
}

pub(super) fn score(bundle: &Bundle, input: Input, along: Along, out: &mut Output<'_>) -> Result<(), Failure> {
    if input.format == Format::Ndjson {
        return Err(Failure::usage("--rows: expected CSV, whose columns are the model's inputs; found NDJSON"));
    }
    if along.contributions && bundle.reasons_method() != Method::Shapley {
        let why = bundle.notes().next().map(|note| format!("; {note}")).unwrap_or_default();
        let found = bundle.reasons_method().name();
        return Err(Failure::does_not_hold(format!(
            "--contributions: expected a model whose reasons are Shapley values, found {found}{why}"
        )));
    }
    let unreadable = |error: csv::Error| Failure::does_not_hold(format!("input: {error}"));
    let mut records = Records::new(input.stream).map_err(unreadable)?;
    let names = bundle.features().names();
    let headless = records.header.iter().all(|cell| number(cell).is_some()) && !is_counted(&records.header);
    let columns =
        if headless { positions(records.header.len(), names.len())? } else { columns(&records.header, names)? };
    let shown = shown(bundle.outputs());
    let kinds = bundle.features().kinds();
    let scorer = bundle.scorer(1);
    let mut rows = Rows { bundle, scorer, kinds, shown, along, row: Vec::new(), line: Vec::new(), leaves: Vec::new() };
    if headless && !records.header.is_empty() {
        let first = records.header.clone();
        rows.write(&first, &columns, out)?;
    }
    let mut record = csv::ByteRecord::new();
    while records.read(&mut record).map_err(unreadable)? {
        rows.write(&record, &columns, out)?;
    }
    Ok(())
}

/// The outputs that a line shows beside the score: all, where there are several numbers.
fn shown(outputs: &[OutputSpec]) -> Vec<(usize, OutputSpec)> {
    let mut start = 0;
    let mut shown = Vec::new();
    for output in outputs {
        if !output.aside {
            shown.push((start, output.clone()));
        }
        start += output.width;
    }
    if shown.iter().map(|(_, output)| output.width).sum::<usize>() > 1 { shown } else { Vec::new() }
}

struct Rows<'a> {
    bundle: &'a Bundle,
    scorer: Scorer,
    kinds: Vec<ColumnKind>,
    /// With where each begins among a row's numbers.
    shown: Vec<(usize, OutputSpec)>,
    along: Along,
    row: Vec<f64>,
    line: Vec<u8>,
    leaves: Vec<u32>,
}

impl Rows<'_> {
    /// `columns[i]` is where the row's column `i` stands in the record.
    fn read(&mut self, record: &csv::ByteRecord, columns: &[usize]) -> Result<(), String> {
        self.row.clear();
        if record.len() != columns.len() {
            return Err(format!("expected {} cells, found {}", columns.len(), record.len()));
        }
        let names = self.bundle.features().names();
        for (column, (name, kind)) in columns.iter().zip(names.iter().zip(&self.kinds)) {
            let cell = record.get(*column).unwrap_or_default();
            let value = match kind {
                ColumnKind::Text(texts) => text(cell, texts),
                ColumnKind::I64 => number(cell).filter(|value| value.is_nan() || value.fract() == 0.0),
                _ => number(cell),
            };
            let Some(value) = value else {
                let found = String::from_utf8_lossy(cell.get(..cell.len().min(64)).unwrap_or_default()).into_owned();
                let expected = match kind {
                    ColumnKind::Text(_) => "a text of UTF-8",
                    ColumnKind::I64 => "a whole number",
                    _ => "a number",
                };
                return Err(format!("{name}: expected {expected}, found {found:?}"));
            };
            self.row.push(value);
        }
        Ok(())
    }

    fn write(&mut self, record: &csv::ByteRecord, columns: &[usize], out: &mut Output<'_>) -> Result<(), Failure> {
        let read = self.read(record, columns);
        let Self { bundle, scorer, shown, along, row, line, leaves, .. } = self;
        line.clear();
        if let Err(fault) = read {
            Problem::new(ProblemKind::Malformed, fault.as_str()).write_json(line);
            line.push(b'\n');
            return out.bytes(line);
        }
        let (score, numbers) = scorer.outputs(row);
        line.extend_from_slice(b"{\"score\":");
        write_finite(score, line);
        for (n, (start, output)) in shown.iter().enumerate() {
            line.extend_from_slice(if n == 0 { b",\"outputs\":{" } else { b"," });
            write_json_string(&output.name, line);
            line.push(b':');
            let numbers = numbers.get(*start..start + output.width).unwrap_or_default();
            write_list(numbers, line, |number, line| match &output.texts {
                Some(texts) => match texts.text(*number) {
                    Some(text) => write_json_string(text, line),
                    None => line.extend_from_slice(b"null"),
                },
                None => write_finite(*number, line),
            });
        }
        if !shown.is_empty() {
            line.push(b'}');
        }
        if along.leaves {
            scorer.leaves(row, leaves);
            line.extend_from_slice(b",\"leaves\":");
            write_list(leaves, line, |leaf, line| line.extend_from_slice(leaf.to_string().as_bytes()));
        }
        if along.contributions {
            let found = scorer.contributions(row).unwrap_or_default();
            for (n, (name, added)) in bundle.features().names().iter().zip(found).enumerate() {
                line.extend_from_slice(if n == 0 { b",\"contributions\":{" } else { b"," });
                write_json_string(name, line);
                line.push(b':');
                write_finite(*added, line);
            }
            line.push(b'}');
        }
        if along.features {
            write_features(bundle.features(), Some(row), line);
        }
        line.extend_from_slice(b"}\n");
        out.bytes(line)
    }
}

/// Enough digits to read back as the same number; null for what JSON has no number for.
fn write_finite(number: f64, line: &mut Vec<u8>) {
    if number.is_finite() { write_number(number, line) } else { line.extend_from_slice(b"null") }
}

fn write_list<T>(list: &[T], line: &mut Vec<u8>, write: impl Fn(&T, &mut Vec<u8>)) {
    line.push(b'[');
    for (n, one) in list.iter().enumerate() {
        if n > 0 {
            line.push(b',');
        }
        write(one, line);
    }
    line.push(b']');
}

/// A missing cell is NaN; None where it is no number.
fn number(cell: &[u8]) -> Option<f64> {
    let cell = cell.trim_ascii();
    if is_missing(cell) {
        return Some(f64::NAN);
    }
    std::str::from_utf8(cell).ok()?.parse().ok()
}

/// The number that stands for a text. What the model knows is no missing cell, whatever it looks like.
fn text(cell: &[u8], texts: &Texts) -> Option<f64> {
    let text = std::str::from_utf8(cell).ok()?;
    let known = texts.knows(text);
    Some(if !known && is_missing(cell.trim_ascii()) { texts.missing() } else { texts.number(text) })
}

fn positions(found: usize, expected: usize) -> Result<Vec<usize>, Failure> {
    if found != expected {
        let message = format!("--rows: expected {expected} columns, one for each of the model's inputs, found {found}");
        return Err(Failure::does_not_hold(message));
    }
    Ok((0..expected).collect())
}

/// Whether it is the header 0,1,2 … of columns without names.
fn is_counted(header: &csv::ByteRecord) -> bool {
    header.len() > 1 && header.iter().enumerate().all(|(n, cell)| cell == n.to_string().as_bytes())
}

/// By name, or by position where the model or the header has only made-up names such as `Column_0`, `f0`, `0`.
fn columns(header: &csv::ByteRecord, names: &[String]) -> Result<Vec<usize>, Failure> {
    let known = |cell: &[u8]| names.iter().any(|name| name.as_bytes() == cell);
    let made_up = |cell: &[u8]| std::str::from_utf8(cell).is_ok_and(is_generic);
    let any_known = header.iter().any(known);
    if !any_known && (header.iter().all(made_up) || names.iter().all(|name| is_generic(name))) {
        return positions(header.len(), names.len());
    }
    let shown = |cell: &[u8]| match String::from_utf8_lossy(cell) {
        name if name.trim().is_empty() => "a column without a name (an index?)".to_owned(),
        name => name.into_owned(),
    };
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
