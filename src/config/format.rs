//! How the lines of a file are read: NDJSON, or CSV with its separator and columns.

use super::{
    Key, Kind, Preset,
    node::{Node, Value},
    section::Section,
};
use crate::event::{Column, CsvForm};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    Ndjson,
    Csv(CsvForm),
}

/// Most columns that may be named.
pub const COLUMNS_MAX: usize = 1024;

pub(super) const FORMAT: Key = Key::new(
    "format",
    Kind::OneOf(&["ndjson", "csv"]),
    Preset::Default("\"ndjson\""),
    "A JSON object a line; or CSV with a header, of which each row becomes an object by the names of its columns.",
);
pub(super) const CSV: Key = Key::new(
    "csv",
    Kind::Table(CSV_KEYS),
    Preset::Optional(
        "{ separator = \";\", columns = { amount = \"number\", cancelled = \"boolean\" } }",
        "the defaults of its keys",
    ),
    "How CSV is written.",
);
const SEPARATOR: Key = Key::new(
    "separator",
    Kind::Form("one ASCII character, as in \";\" or \"\\t\""),
    Preset::Default("\",\""),
    "Between fields.",
);
const QUOTE: Key = Key::new(
    "quote",
    Kind::Form("one ASCII character, as in \"'\""),
    Preset::Default("'\"'"),
    "Around a field that holds separators or line ends; doubled it stands for itself.",
);
const COLUMNS: Key = Key::new(
    "columns",
    Kind::Form("a table of column = \"text\", \"number\" or \"boolean\", as in { amount = \"number\" }"),
    Preset::Optional("{ amount = \"number\" }", "a number where a cell holds one as JSON writes it, else a text"),
    "Types of columns by name, which the header of each file must have.",
);
const CSV_KEYS: &[Key] = &[SEPARATOR, QUOTE, COLUMNS];

/// None where something in it is faulty.
pub(super) fn read(section: &mut Section<'_>) -> Option<Format> {
    let is_csv = section.one_of(&FORMAT, &[false, true]);
    let given = section.entry(CSV.name).is_some();
    if is_csv == Some(false) {
        if given {
            section.fault(&CSV, "is for format = \"csv\"");
        }
        return Some(Format::Ndjson);
    }
    let mut table = section.sub_or_default(&CSV);
    let separator = table.text_as(&SEPARATOR, character);
    let quote = table.text_as(&QUOTE, character);
    let columns = table.value(&COLUMNS, columns).unwrap_or_default();
    let (separator, quote) = (separator?, quote?);
    if separator == quote {
        table.fault(&QUOTE, "expected another character than separator");
    }
    is_csv.map(|_| Format::Csv(CsvForm { separator, quote, columns }))
}

/// A character that can stand between fields.
fn character(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] if *byte == b'\t' || byte.is_ascii_graphic() || *byte == b' ' => Ok(*byte),
        _ => Err(String::new()),
    }
}

fn columns(node: &Node) -> Result<Vec<(String, Column)>, String> {
    let Value::Table(table) = &node.value else { return Err(String::new()) };
    if table.len() > COLUMNS_MAX {
        return Err(format!("at most {COLUMNS_MAX} columns"));
    }
    let column = |(name, entry): (&String, &super::node::Entry)| {
        let kind = match &entry.node.value {
            Value::Text(text) if text == "text" => Column::Text,
            Value::Text(text) if text == "number" => Column::Number,
            Value::Text(text) if text == "boolean" => Column::Boolean,
            _ => return Err(format!("\"text\", \"number\" or \"boolean\" for the column {name:?}")),
        };
        Ok((name.clone(), kind))
    };
    table.iter().map(column).collect()
}
