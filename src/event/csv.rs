//! CSV: rows of a table as JSON objects, so that a pointer such as `/AMOUNT` finds a cell by its column's name.
//!
//! The first row is the header. Separator and quote are one byte each; a quote within quotes is doubled; a row ends
//! with LF, CRLF or CR outside quotes; empty rows are passed over. An empty cell is a member left out. What a cell
//! becomes is said by its column ([`Column`]).
//!
//! [`CsvParser`] finds rows in bytes that may end anywhere, and keeps nothing between rows: so a file can be taken up
//! at any row. [`CsvHeader`] writes a row as an object.

use std::collections::HashSet;

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Column {
    /// A number where it is one as JSON writes it (`5`, `-0.5`, `1e3`; not `+5`, `007`), else a text.
    #[default]
    Any,
    Text,
    /// A number, also as `+5`, `007`, `.5`. `nan` is an empty cell. Anything else makes the row a bad record.
    Number,
    /// `true`, `yes`, `t`, `y`, `1` or `false`, `no`, `f`, `n`, `0`, in any case. Anything else makes the row a bad
    /// record.
    Boolean,
}

/// How a table is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvForm {
    pub separator: u8,
    pub quote: u8,
    /// Columns that are not [`Column::Any`], by name.
    pub columns: Vec<(String, Column)>,
}

impl Default for CsvForm {
    fn default() -> Self {
        Self { separator: b',', quote: b'"', columns: Vec::new() }
    }
}

/// A header that cannot be one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderFault {
    #[error("header: expected UTF-8 in the name of column {0}")]
    NotText(usize),
    #[error("header: expected each column once, found {0:?} twice")]
    Twice(String),
    #[error("header: expected a column {0:?}, as configured")]
    Absent(String),
}

/// The columns of one table.
#[derive(Clone, Debug)]
pub struct CsvHeader {
    columns: Vec<Named>,
    nan_is_missing: bool,
}

#[derive(Clone, Debug)]
struct Named {
    name: String,
    /// The name as a member of an object: quoted, escaped, its colon behind it.
    member: Vec<u8>,
    column: Column,
}

impl CsvHeader {
    /// The header whose cells these are. White space around a name is no part of it.
    ///
    /// # Errors
    /// When a name is no UTF-8 or there twice, or a configured column is absent.
    pub fn new<'a>(
        cells: impl IntoIterator<Item = &'a [u8]>,
        configured: &[(String, Column)],
    ) -> Result<Self, HeaderFault> {
        let mut columns = Vec::new();
        let mut seen = HashSet::new();
        for (n, cell) in cells.into_iter().enumerate() {
            // A byte order mark is no part of the first name.
            let cell = if n == 0 { cell.strip_prefix(b"\xef\xbb\xbf").unwrap_or(cell) } else { cell };
            let name = std::str::from_utf8(cell).map_err(|_| HeaderFault::NotText(n + 1))?.trim();
            if !seen.insert(name.to_owned()) {
                return Err(HeaderFault::Twice(name.to_owned()));
            }
            let mut member = Vec::new();
            write_text(name, &mut member);
            member.push(b':');
            let column = configured.iter().find(|(other, _)| other == name).map(|(_, column)| *column);
            columns.push(Named { name: name.to_owned(), member, column: column.unwrap_or_default() });
        }
        match configured.iter().find(|(name, _)| !seen.contains(name)) {
            Some((name, _)) => Err(HeaderFault::Absent(name.clone())),
            None => Ok(Self { columns, nan_is_missing: false }),
        }
    }

    /// `nan`, in any case, counts as an empty cell in every column.
    #[must_use]
    pub fn with_nan_missing(self) -> Self {
        Self { nan_is_missing: true, ..self }
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Whether there is a column of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column.name == name)
    }

    /// Appends a row as an object; `lead` is a member before those of the cells: name and text.
    ///
    /// # Errors
    /// What is wrong with the row. Then nothing is appended.
    pub fn write_object<'a>(
        &self,
        cells: impl ExactSizeIterator<Item = &'a [u8]>,
        lead: Option<(&str, &str)>,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        if cells.len() != self.columns.len() {
            return Err(format!("expected {} cells as in the header, found {}", self.columns.len(), cells.len()));
        }
        let start = out.len();
        let written = self.write_members(cells, lead, out);
        if written.is_err() {
            out.truncate(start);
        }
        written
    }

    fn write_members<'a>(
        &self,
        cells: impl Iterator<Item = &'a [u8]>,
        lead: Option<(&str, &str)>,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        out.push(b'{');
        let mut some = false;
        if let Some((name, text)) = lead {
            write_text(name, out);
            out.push(b':');
            write_text(text, out);
            some = true;
        }
        for (named, cell) in self.columns.iter().zip(cells) {
            if cell.is_empty() || (self.nan_is_missing && is_nan(cell)) {
                continue;
            }
            let mark = out.len();
            if some {
                out.push(b',');
            }
            out.extend_from_slice(&named.member);
            if named.write(cell, out)? {
                some = true;
            } else {
                out.truncate(mark);
            }
        }
        out.push(b'}');
        Ok(())
    }
}

impl Named {
    /// Appends a cell's value; false where it has none.
    fn write(&self, cell: &[u8], out: &mut Vec<u8>) -> Result<bool, String> {
        let name = &self.name;
        let text = std::str::from_utf8(cell).map_err(|_| format!("column {name:?}: expected UTF-8"))?;
        match self.column {
            Column::Any if is_json_number(cell) => out.extend_from_slice(cell),
            Column::Any | Column::Text => write_text(text, out),
            Column::Number => match text.trim() {
                "" => return Ok(false),
                trimmed if is_json_number(trimmed.as_bytes()) => out.extend_from_slice(trimmed.as_bytes()),
                trimmed if is_nan(trimmed.as_bytes()) => return Ok(false),
                trimmed => match trimmed.parse::<f64>() {
                    Ok(number) if number.is_finite() => {
                        let _ = serde_json::to_writer(out, &number);
                    }
                    _ => return Err(format!("column {name:?}: expected a number, found {:?}", excerpt(text))),
                },
            },
            Column::Boolean => {
                let is = |words: &[&str]| words.iter().any(|word| text.trim().eq_ignore_ascii_case(word));
                if is(&["true", "yes", "t", "y", "1"]) {
                    out.extend_from_slice(b"true");
                } else if is(&["false", "no", "f", "n", "0"]) {
                    out.extend_from_slice(b"false");
                } else if !is(&[""]) {
                    return Err(format!("column {name:?}: expected true or false, found {:?}", excerpt(text)));
                } else {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

fn is_nan(cell: &[u8]) -> bool {
    cell.eq_ignore_ascii_case(b"nan")
}

/// The start of a text, for a message.
fn excerpt(text: &str) -> String {
    text.chars().take(64).collect()
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    // Writing to a vector cannot fail.
    let _ = serde_json::to_writer(out, text);
}

/// Whether the text is a number as JSON writes it: no `+`, no leading zeros, no `nan`.
#[must_use]
pub fn is_json_number(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut rest = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(rest);
    if whole == 0 || (whole > 1 && rest.starts_with(b"0")) {
        return false;
    }
    rest = rest.get(whole..).unwrap_or_default();
    if let Some(fraction) = rest.strip_prefix(b".") {
        let count = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = fraction.get(count..).unwrap_or_default();
    }
    if let Some(exponent) = rest.strip_prefix(b"e").or_else(|| rest.strip_prefix(b"E")) {
        let exponent = exponent.strip_prefix(b"-").or_else(|| exponent.strip_prefix(b"+")).unwrap_or(exponent);
        let count = digits(exponent);
        return count > 0 && count == exponent.len();
    }
    rest.is_empty()
}

/// Finds rows.
#[derive(Debug)]
pub struct CsvParser {
    core: csv_core::Reader,
    cells: Vec<u8>,
    ends: Vec<usize>,
    /// Cells of the row read last.
    count: usize,
}

impl CsvParser {
    #[must_use]
    pub fn new(form: &CsvForm) -> Self {
        let core = csv_core::ReaderBuilder::new().delimiter(form.separator).quote(form.quote).build();
        Self { core, cells: vec![0; 1024], ends: vec![0; 64], count: 0 }
    }

    /// Bytes of empty rows at the start of `input`.
    #[must_use]
    pub fn blank(input: &[u8]) -> usize {
        input.iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count()
    }

    /// Reads the row at the start of `input`: how many bytes it takes, its line end among them. None where its end is
    /// not in `input`.
    pub fn read(&mut self, input: &[u8]) -> Option<usize> {
        self.core.reset();
        let used = self.feed(input, 0, 0).ok()?;
        let both = input.get(used.wrapping_sub(1)) == Some(&b'\r') && input.get(used) == Some(&b'\n');
        Some(used + usize::from(both))
    }

    /// Reads the row that `input` is, without its line end, at the end of a table. False where a quote is not closed.
    pub fn read_last(&mut self, input: &[u8]) -> bool {
        self.core.reset();
        match self.feed(input, 0, 0) {
            Ok(_) => true,
            Err((cells, ends)) => self.feed(b"\n", cells, ends).is_ok(),
        }
    }

    /// Goes on behind so many bytes of cells and ends; the same where the row does not end in `input`.
    fn feed(&mut self, input: &[u8], mut cells: usize, mut ends: usize) -> Result<usize, (usize, usize)> {
        use csv_core::ReadRecordResult::{End, InputEmpty, OutputEndsFull, OutputFull, Record};
        let mut used = 0;
        while let (Some(rest), Some(room), Some(slots)) =
            (input.get(used..), self.cells.get_mut(cells..), self.ends.get_mut(ends..))
        {
            // An empty input would tell the parser that the table ends.
            if rest.is_empty() {
                break;
            }
            let (result, read, wrote, ended) = self.core.read_record(rest, room, slots);
            (used, cells, ends) = (used + read, cells + wrote, ends + ended);
            match result {
                Record => {
                    self.count = ends;
                    return Ok(used);
                }
                OutputFull => self.cells.resize(self.cells.len() * 2, 0),
                OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                InputEmpty | End => break,
            }
        }
        Err((cells, ends))
    }

    /// The cells of the row read last.
    #[must_use]
    pub fn cells(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let ends = self.ends.get(..self.count).unwrap_or_default();
        ends.iter().enumerate().map(|(n, end)| {
            let start = n.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or_default();
            self.cells.get(start..*end).unwrap_or_default()
        })
    }

    /// Bytes it keeps between rows.
    #[must_use]
    pub fn footprint(&self) -> usize {
        self.cells.len() + self.ends.len() * size_of::<usize>()
    }
}

#[cfg(test)]
#[path = "csv_tests.rs"]
mod tests;
