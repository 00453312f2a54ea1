//! The merged tree of all files: TOML values, each with the place it came from.
//!
//! Limits: a file has at most [`FILE_BYTES_MAX`] bytes; the TOML parser bounds how deep values nest, and
//! dotted keys are bounded here, because both the parser and this tree recurse.

use super::{Origin, Problem};
use std::{collections::BTreeMap, ops::Range, path::Path, sync::Arc};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// Greatest config file.
pub const FILE_BYTES_MAX: usize = 1 << 20;
/// Most dots a line may have: keys nest no deeper.
const LINE_DOTS_MAX: usize = 256;

pub(super) type Table = BTreeMap<String, Entry>;

#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Where the key stands.
    pub key: Origin,
    pub node: Node,
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub value: Value,
    pub origin: Origin,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Text(String),
    /// Cut to what 128 bits hold.
    Integer(i128),
    Float(String),
    Bool(bool),
    Datetime(String),
    Array(Vec<Node>),
    Table(Table),
}

impl Node {
    /// What it is, to stand after "found": its type and, where it is short, its text.
    pub fn found(&self) -> String {
        match &self.value {
            Value::Text(text) if text.chars().count() > 64 => {
                format!("the text \"{}…\"", text.chars().take(64).collect::<String>())
            }
            Value::Text(text) => format!("the text {text:?}"),
            Value::Integer(number) => format!("the number {number}"),
            Value::Float(number) => format!("the number {number}"),
            Value::Bool(value) => value.to_string(),
            Value::Datetime(time) => format!("the time {time}"),
            Value::Array(_) => "a list".to_owned(),
            Value::Table(_) => "a table".to_owned(),
        }
    }
}

/// The lines of one file, to turn byte offsets into places.
pub(super) struct Places<'a> {
    file: Arc<Path>,
    text: &'a str,
    line_starts: Vec<usize>,
}

impl<'a> Places<'a> {
    pub fn new(file: &Path, text: &'a str) -> Self {
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { file: file.into(), text, line_starts }
    }

    pub fn at(&self, offset: usize) -> Origin {
        let line = self.line_starts.partition_point(|start| *start <= offset).max(1);
        let start = self.line_starts.get(line - 1).copied().unwrap_or(0);
        let column = self.text.get(start..offset).map_or(0, |before| before.chars().count()) + 1;
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Origin::File { file: Arc::clone(&self.file), line: number(line), column: number(column) }
    }
}

impl Places<'_> {
    /// The place of a byte of a text that stands at `span`, or where the text begins if it is written with escapes.
    fn within(&self, span: &Range<usize>, text: &str, byte: usize) -> Origin {
        let raw = self.text.get(span.clone()).unwrap_or_default();
        let quote = if raw.starts_with("\"\"\"") || raw.starts_with("'''") { 3 } else { 1 };
        let inner = raw.get(quote..raw.len().saturating_sub(quote));
        self.at(if inner == Some(text) { span.start + quote + byte } else { span.start })
    }
}

/// Reads one file's text. Faults of syntax are added to `problems`; what could be read comes back.
pub(super) fn parse(file: &Path, text: &str, env: &Env<'_>, problems: &mut Vec<Problem>) -> Table {
    let places = Places::new(file, text);
    if text.len() > FILE_BYTES_MAX {
        problems.push(Problem::of_file(file, format!("the file is over {FILE_BYTES_MAX} bytes")));
        return Table::new();
    }
    if let Some(line) = text.lines().position(|line| line.bytes().filter(|b| *b == b'.').count() > LINE_DOTS_MAX) {
        let offset = places.line_starts.get(line).copied().unwrap_or(0);
        problems.push(Problem::at(&places.at(offset), "", format!("the line has more than {LINE_DOTS_MAX} dots")));
        return Table::new();
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let origin = places.at(error.span().map_or(0, |span| span.start));
        problems.push(Problem::at(&origin, "", format!("not TOML: {}", error.message())));
    }
    Reading { places: &places, env, path: String::new(), problems }.table(table.into_inner())
}

/// How `${NAME}` is looked up.
pub type Env<'a> = dyn Fn(&str) -> Option<String> + 'a;

struct Reading<'a> {
    places: &'a Places<'a>,
    env: &'a Env<'a>,
    /// Of the key that is being read.
    path: String,
    problems: &'a mut Vec<Problem>,
}

impl Reading<'_> {
    fn table(&mut self, table: DeTable<'_>) -> Table {
        let mut out = Table::new();
        for (key, value) in table {
            let origin = self.places.at(key.span().start);
            let name = key.into_inner().into_owned();
            let within = self.path.len();
            self.path.push_str(if within == 0 { "" } else { "." });
            self.path.push_str(&name);
            let node = self.node(value);
            self.path.truncate(within);
            out.insert(name, Entry { key: origin, node });
        }
        out
    }

    fn node(&mut self, value: Spanned<DeValue<'_>>) -> Node {
        let span = value.span();
        let origin = self.places.at(span.start);
        let value = match value.into_inner() {
            DeValue::String(text) => match super::expand::expand(&text, self.env) {
                Ok(text) => Value::Text(text),
                Err((at, error)) => {
                    let place = self.places.within(&span, &text, at);
                    self.problems.push(Problem::at(&place, &self.path, format!("{}: {error}", self.path)));
                    Value::Text(text.into_owned())
                }
            },
            DeValue::Integer(number) => {
                let limit = if number.as_str().starts_with('-') { i128::MIN } else { i128::MAX };
                Value::Integer(i128::from_str_radix(number.as_str(), number.radix()).unwrap_or(limit))
            }
            DeValue::Float(number) => Value::Float(number.as_str().to_owned()),
            DeValue::Boolean(value) => Value::Bool(value),
            DeValue::Datetime(time) => Value::Datetime(time.to_string()),
            DeValue::Array(items) => Value::Array(items.into_iter().map(|item| self.node(item)).collect()),
            DeValue::Table(table) => Value::Table(self.table(table)),
        };
        Node { value, origin }
    }
}

/// Lays `over` on `under`: tables merge key by key, everything else is replaced.
pub(super) fn merge(under: &mut Table, over: Table) {
    for (name, entry) in over {
        match (under.get_mut(&name).map(|e| &mut e.node.value), entry) {
            (Some(Value::Table(below)), Entry { node: Node { value: Value::Table(above), .. }, .. }) => {
                merge(below, above);
            }
            (_, entry) => {
                under.insert(name, entry);
            }
        }
    }
}

/// A default's TOML text as a node. None where the text is no TOML value, which a test rules out.
pub(super) fn default_node(toml: &str) -> Option<Node> {
    fn convert(value: DeValue<'_>) -> Value {
        match value {
            DeValue::String(text) => Value::Text(text.into_owned()),
            DeValue::Integer(number) => {
                Value::Integer(i128::from_str_radix(number.as_str(), number.radix()).unwrap_or(i128::MAX))
            }
            DeValue::Float(number) => Value::Float(number.as_str().to_owned()),
            DeValue::Boolean(value) => Value::Bool(value),
            DeValue::Datetime(time) => Value::Datetime(time.to_string()),
            DeValue::Array(items) => Value::Array(
                items.into_iter().map(|i| Node { value: convert(i.into_inner()), origin: Origin::Default }).collect(),
            ),
            // Of names that are free; a table of fixed keys has a default a key.
            DeValue::Table(members) => {
                let entry = |value| Entry {
                    key: Origin::Default,
                    node: Node { value: convert(value), origin: Origin::Default },
                };
                let members = members.into_iter();
                Value::Table(members.map(|(k, v)| (k.into_inner().into_owned(), entry(v.into_inner()))).collect())
            }
        }
    }
    let value = DeValue::parse(toml).ok()?.into_inner();
    Some(Node { value: convert(value), origin: Origin::Default })
}
