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
    // Names are short; what is longer than this is not looked at.
    const LETTERS_MAX: usize = 128;
    let lower = |text: &str| text.chars().flat_map(char::to_lowercase).take(LETTERS_MAX).collect::<Vec<_>>();
    let wanted = lower(name);
    let allowed = (wanted.len() / 3).clamp(1, 3);
    let measured = known.into_iter().filter_map(|other| {
        let letters = lower(other);
        (letters.len().abs_diff(wanted.len()) <= allowed).then(|| (distance(&wanted, &letters), other))
    });
    let (_, other) = measured.filter(|(distance, _)| *distance <= allowed).min_by_key(|(distance, _)| *distance)?;
    Some(other)
}

/// `; did you mean "x"?`, or nothing.
pub(super) fn hint<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map(|other| format!("; did you mean {other}?")).unwrap_or_default()
}

/// How many letters are to be added, dropped, changed or put in each other's place.
fn distance(a: &[char], b: &[char]) -> usize {
    let width = b.len() + 1;
    // A row for each of the last three letters of `a`: two changed places reach two rows back.
    let mut rows = [vec![0; width], vec![0; width], (0..width).collect::<Vec<usize>>()];
    let cell = |row: &[usize], at: usize| row.get(at).copied().unwrap_or_default();
    let same = |text: &[char], at: usize, other: char| text.get(at) == Some(&other);
    for (i, x) in a.iter().enumerate() {
        rows.rotate_left(1);
        let [older, old, now] = &mut rows;
        for (j, slot) in now.iter_mut().enumerate() {
            let Some(left) = j.checked_sub(1) else {
                *slot = i + 1;
                continue;
            };
            let cost = cell(old, left) + usize::from(!same(b, left, *x));
            *slot = cost.min(cell(old, j) + 1);
            if i > 0 && left > 0 && same(b, left - 1, *x) && b.get(left) == a.get(i - 1) {
                *slot = (*slot).min(cell(older, left - 1) + 1);
            }
        }
        for at in 1..width {
            let before = cell(now, at - 1) + 1;
            if let Some(slot) = now.get_mut(at) {
                *slot = (*slot).min(before);
            }
        }
    }
    rows.last().and_then(|row| row.last()).copied().unwrap_or_default()
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
        let letters = |text: &str| text.chars().collect::<Vec<_>>();
        for (a, b, expected) in
            [("kitten", "sitting", 3), ("mni", "min", 1), ("", "ab", 2), ("abc", "", 3), ("ab", "b", 1)]
        {
            assert_eq!(distance(&letters(a), &letters(b)), expected, "{a} {b}");
        }
        assert_eq!(nearest("TX_AMUONT", ["TX_AMOUNT", "TX_TIME"]), Some("TX_AMOUNT"));
        assert_eq!(nearest("tx_amount", ["TX_AMOUNT"]), Some("TX_AMOUNT"));
        assert_eq!(nearest("MCC", ["TX_AMOUNT", "TX_TIME"]), None);
    }
}
