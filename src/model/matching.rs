//! Which feature goes into which of the model's columns.
//!
//! By name where the file has real names, or just the features', in any order; by position where it has none or generic
//! ones.

use crate::features::{ColumnKind, Problems};

/// One column of the model's input.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub name: String,
    pub kind: ColumnKind,
}

/// Names listed in an error before the rest is only counted.
const NAMES_SHOWN: usize = 8;

/// Whether a name was made up by a library: `Column_0`, `f0`, `x0`, `input[0]`, `0`.
#[must_use]
pub fn is_generic(name: &str) -> bool {
    let digits = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    let indexed = name.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')).is_some_and(|(_, n)| digits(n));
    let numbered = ["Column_", "column_", "feature_", "feature", "f", "x", ""]
        .iter()
        .any(|prefix| name.strip_prefix(prefix).is_some_and(digits));
    indexed || numbered
}

/// The place in a row of each of the model's columns; None where they are in order. `names`: a row's columns.
/// Problems name every column that is missing, too many, or there twice.
pub fn match_columns(names: &[String], columns: &[Column], problems: &mut Problems) -> Option<Vec<u32>> {
    let mut seen = std::collections::HashSet::new();
    let twice: Vec<&str> =
        columns.iter().map(|column| column.name.as_str()).filter(|name| !seen.insert(*name)).collect();
    if !twice.is_empty() {
        problems.add("feature", format!("the model has inputs of the same name: {}", listed(&twice)));
        return None;
    }
    let same_names = names.len() == columns.len() && names.iter().all(|name| seen.contains(name.as_str()));
    let made_up = columns.iter().all(|column| is_generic(&column.name)) || columns.len() == 1;
    if made_up && !same_names {
        if names.len() != columns.len() {
            problems.add(
                "feature",
                format!("the model takes {} columns, expected as many features, found {}", columns.len(), names.len()),
            );
        }
        return None;
    }
    let place = |name: &str| names.iter().position(|found| found == name);
    let missing: Vec<&str> =
        columns.iter().map(|column| column.name.as_str()).filter(|name| place(name).is_none()).collect();
    let extra: Vec<&str> =
        names.iter().map(String::as_str).filter(|name| columns.iter().all(|column| column.name != *name)).collect();
    for (what, found) in [("the model wants also", missing), ("not an input of the model", extra)] {
        if !found.is_empty() {
            problems.add("feature", format!("{what}: {}", listed(&found)));
        }
    }
    let order: Vec<u32> =
        columns.iter().filter_map(|column| place(&column.name)).filter_map(|at| u32::try_from(at).ok()).collect();
    let in_order = order.iter().enumerate().all(|(n, at)| u32::try_from(n) == Ok(*at));
    (!in_order).then_some(order)
}

fn listed(names: &[&str]) -> String {
    let shown = names.iter().take(NAMES_SHOWN).copied().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(NAMES_SHOWN) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(names: &[&str], columns: &[&str]) -> Result<Option<Vec<u32>>, String> {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let column = |name: &&str| Column { name: (*name).to_owned(), kind: ColumnKind::F32 };
        let columns: Vec<Column> = columns.iter().map(column).collect();
        let mut problems = Problems::default();
        let order = match_columns(&names, &columns, &mut problems);
        let problems: Vec<String> = problems.0.iter().map(|problem| problem.what.clone()).collect();
        if problems.is_empty() { Ok(order) } else { Err(problems.join("; ")) }
    }

    #[test]
    fn real_names_are_found_in_any_order() {
        assert_eq!(matched(&["a", "b", "c"], &["a", "b", "c"]), Ok(None));
        assert_eq!(matched(&["a", "b", "c"], &["c", "a", "b"]), Ok(Some(vec![2, 0, 1])));
    }

    #[test]
    fn inputs_of_the_same_name_are_refused() {
        let refused = matched(&["a"], &["a", "a"]).unwrap_err();
        assert_eq!(refused, "the model has inputs of the same name: a");
    }

    #[test]
    fn a_missing_or_extra_name_is_named() {
        let refused = matched(&["a", "d"], &["a", "b", "c"]).unwrap_err();
        assert_eq!(refused, "the model wants also: b, c; not an input of the model: d");
    }

    #[test]
    fn generic_names_go_by_position() {
        for names in [["Column_0", "Column_1"], ["f0", "f1"], ["float_input[0]", "float_input[1]"], ["0", "1"]] {
            assert_eq!(matched(&["amount", "hour"], &names), Ok(None));
        }
        // The same names stand for themselves, made up or not.
        assert_eq!(matched(&["f2", "f0", "f1"], &["f0", "f1", "f2"]), Ok(Some(vec![1, 2, 0])));
        assert!(matched(&["amount"], &["f0", "f1"]).unwrap_err().contains("takes 2 columns"));
        assert!(!is_generic("fraud") && !is_generic("f") && !is_generic("amount[usd]"));
    }
}
