//! What is wrong with an expression, and where.

use std::fmt;

/// Something wrong in an expression's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Byte of the text at which it was found.
    pub at: usize,
    /// What was expected there and what was found.
    pub what: String,
}

impl Fault {
    pub(super) fn new(at: usize, what: impl Into<String>) -> Self {
        Self { at, what: what.into() }
    }

    /// With line and column instead of a byte: `line 1, column 9: expected …`.
    #[must_use]
    pub fn shown(&self, text: &str) -> String {
        format!("{}: {}", Place::of(text, self.at), self.what)
    }
}

/// A place in a text as an editor shows it, both counted from 1; a column is a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    line: usize,
    column: usize,
}

impl Place {
    pub fn of(text: &str, at: usize) -> Self {
        let before = text.get(..text.floor_char_boundary(at)).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        Self { line: before.matches('\n').count() + 1, column }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// The known name that `name` was most likely meant to be.
pub(super) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (name.chars().count() / 3).clamp(1, 3);
    let measured = known.into_iter().map(|other| (distance(name, other), other));
    let (_, other) = measured.filter(|(distance, _)| *distance <= allowed).min_by_key(|(distance, _)| *distance)?;
    Some(other)
}

/// `; did you mean "x"?`, or nothing.
pub(super) fn hint<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map(|other| format!("; did you mean {other}?")).unwrap_or_default()
}

/// Letters to add, drop or change (a change of case is half as much as none, so it counts nothing here).
fn distance(a: &str, b: &str) -> usize {
    // Names are short; what is longer than this is not looked at.
    const LETTERS_MAX: usize = 128;
    let lower = |text: &str| text.chars().flat_map(char::to_lowercase).take(LETTERS_MAX).collect::<Vec<_>>();
    let (a, b) = (lower(a), lower(b));
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut before = i;
        let mut left = i + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (y, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let cost = before + usize::from(x != y);
            before = *cell;
            left = cost.min(before + 1).min(left + 1);
            *cell = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_what_an_editor_shows() {
        let text = "a and\n  ü > b";
        assert_eq!(Place::of(text, 0), Place { line: 1, column: 1 });
        assert_eq!(Place::of(text, text.find('b').unwrap()), Place { line: 2, column: 7 });
        assert_eq!(Place::of(text, 999), Place { line: 2, column: 8 });
    }

    #[test]
    fn the_nearest_name_is_one_that_was_likely_meant() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(nearest("TX_AMUONT", ["TX_AMOUNT", "TX_TIME"]), Some("TX_AMOUNT"));
        assert_eq!(nearest("tx_amount", ["TX_AMOUNT"]), Some("TX_AMOUNT"));
        assert_eq!(nearest("MCC", ["TX_AMOUNT", "TX_TIME"]), None);
    }
}
