//! What windows need of an event, and which of them look at the same entries.

use super::cells::CellReader;
use super::fixed;
use super::layout::{Layout, Needs, Reads};
use super::query::{Aggregate, Filter, Place, Query};
use crate::event::Pointer;
use crate::features::FeatureSet;
use xxhash_rust::xxh3::xxh3_64;

/// What a cell holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// xxh3-64 of a text; 0: missing.
    Hash,
    /// The bits of an f64; NaN: missing.
    Number,
}

impl CellKind {
    /// The cell of what is missing.
    #[must_use]
    pub fn missing(self) -> u64 {
        match self {
            Self::Hash => 0,
            Self::Number => f64::NAN.to_bits(),
        }
    }
}

/// One cell that windows need of each event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub kind: CellKind,
    /// Says all that the cell is, so that stored cells are found again: `key /A + /B`, `text /X`, `value /X`,
    /// `number /X`.
    pub name: String,
    /// The fields that it is made of.
    pub pointers: Vec<Pointer>,
}

/// What the windows of one or several bundles need of an event, and how their entries are grouped.
#[derive(Clone, Debug)]
pub struct Plan {
    columns: Vec<Column>,
    pub(super) streams: Vec<Stream>,
    longest_us: i64,
}

/// The entries of one key (of one or several fields) and filter.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Who asks; the others share it.
    query: Query,
    /// The column of its key.
    pub key: usize,
    /// The column of its filter, and the hashes that pass it, sorted.
    pub filter: Option<(usize, Vec<u64>)>,
    numbers: Vec<(Pointer, Needs)>,
    categories: Vec<Pointer>,
    /// The columns of a row's cells, numbers first.
    pub cells: Vec<usize>,
    pub layout: Layout,
    /// The furthest that any window reaches before an event.
    pub span_us: i64,
    /// The shortest window: panes keep to a part of it.
    pub shortest_us: i64,
    /// How far before an event windows begin and end, each once.
    pub edges_us: Vec<i64>,
    /// Width of a pane; 0: exact.
    pub resolution_us: i64,
    pub labels: bool,
}

impl Plan {
    /// What all the sets together need; None where they have no windows. Windows over the same key and filter share
    /// their entries.
    #[must_use]
    pub fn of(sets: &[&FeatureSet]) -> Option<Self> {
        let mut streams: Vec<Stream> = Vec::new();
        for query in sets.iter().flat_map(|set| set.queries()) {
            let at = streams.iter().position(|stream| stream.query.shares_entries(query)).unwrap_or_else(|| {
                streams.push(Stream::new(query));
                streams.len() - 1
            });
            if let Some(stream) = streams.get_mut(at) {
                stream.widen(query);
            }
        }
        Self::over(streams)
    }

    /// One over these streams; None where there are none.
    pub(super) fn over(mut streams: Vec<Stream>) -> Option<Self> {
        let mut columns = Vec::new();
        for stream in &mut streams {
            stream.place(&mut columns);
        }
        let longest_us = streams.iter().map(|stream| stream.span_us).max()?;
        Some(Self { columns, streams, longest_us })
    }

    /// The cells of an event, in order.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The furthest that any window reaches before an event, its delay included.
    #[must_use]
    pub fn longest_us(&self) -> i64 {
        self.longest_us
    }

    /// The columns of the keys that labels are counted by.
    #[must_use]
    pub fn label_columns(&self) -> Vec<usize> {
        let mut columns: Vec<usize> = self.streams.iter().filter(|stream| stream.labels).map(|s| s.key).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// How to read an event's cells where its fields are those of `pointers`.
    #[must_use]
    pub fn reading(&self, pointers: &[Pointer]) -> CellReader {
        CellReader::new(&self.columns, pointers)
    }

    /// For each of [`Self::columns`], which column of a stored schema is the same; None: that schema has none.
    #[must_use]
    pub fn mapping(&self, stored: &[(CellKind, String)]) -> Vec<Option<usize>> {
        let same =
            |column: &Column| stored.iter().position(|(kind, name)| *kind == column.kind && *name == column.name);
        self.columns.iter().map(same).collect()
    }

    /// Streams of entries, each held once.
    #[must_use]
    pub fn streams(&self) -> &[Stream] {
        &self.streams
    }

    /// Where a query finds its answer; None: the plan was made without it.
    #[must_use]
    pub fn place(&self, query: &Query) -> Option<Place> {
        let stream = self.streams.iter().position(|stream| stream.serves(query))?;
        let reads = self.streams.get(stream)?.reads(&query.aggregate)?;
        Some(Place { stream, reads })
    }
}

impl Stream {
    fn new(query: &Query) -> Self {
        Self {
            query: query.clone(),
            key: 0,
            filter: None,
            numbers: Vec::new(),
            categories: Vec::new(),
            cells: Vec::new(),
            layout: Layout::default(),
            span_us: 0,
            shortest_us: i64::MAX,
            edges_us: Vec::new(),
            resolution_us: query.resolution_us,
            labels: false,
        }
    }

    /// Whether it was made for this query, or for others that ask for all that it does.
    fn serves(&self, query: &Query) -> bool {
        let aggregate = &query.aggregate;
        let has_number = |pointer: &Pointer| {
            let needs = self.numbers.iter().find(|(there, _)| there == pointer);
            needs.is_some_and(|(_, needs)| match aggregate {
                Aggregate::Min(_) => needs.least,
                Aggregate::Max(_) => needs.most,
                Aggregate::Std(_) => needs.squares,
                _ => needs.sum,
            })
        };
        self.query.shares_entries(query)
            && self.span_us >= query.span_us()
            && (self.labels || !aggregate.is_of_labels())
            && aggregate.number().is_none_or(has_number)
            && aggregate.category().is_none_or(|pointer| self.categories.contains(pointer))
    }

    /// Whether what it holds can be used as what the other one holds: rows are laid out the same, nothing is missing.
    pub(super) fn holds_all_of(&self, other: &Self) -> bool {
        self.query.shares_entries(&other.query)
            && self.numbers == other.numbers
            && self.categories == other.categories
            && self.labels >= other.labels
            && self.span_us >= other.span_us
    }

    /// Takes in what a query asks for.
    fn widen(&mut self, query: &Query) {
        self.span_us = self.span_us.max(query.span_us());
        self.shortest_us = self.shortest_us.min(query.over_us);
        for edge in [query.delay_us, query.span_us()] {
            if !self.edges_us.contains(&edge) {
                self.edges_us.push(edge);
            }
        }
        self.labels |= query.aggregate.is_of_labels();
        if let Some(pointer) = query.aggregate.category().filter(|pointer| !self.categories.contains(pointer)) {
            self.categories.push(pointer.clone());
        }
        let Some(pointer) = query.aggregate.number() else { return };
        let at = self.numbers.iter().position(|(there, _)| there == pointer).unwrap_or_else(|| {
            self.numbers.push((pointer.clone(), Needs::default()));
            self.numbers.len() - 1
        });
        let Some((_, needs)) = self.numbers.get_mut(at) else { return };
        match query.aggregate {
            Aggregate::Min(_) => needs.least = true,
            Aggregate::Max(_) => needs.most = true,
            Aggregate::Std(_) => needs.squares = true,
            _ => needs.sum = true,
        }
    }

    /// Gives each of its cells a column.
    fn place(&mut self, columns: &mut Vec<Column>) {
        self.key = place(Column::key(&self.query.keys), columns);
        self.filter =
            self.query.filter.as_ref().map(|filter| (place(Column::filter(filter), columns), passing(filter)));
        let numbers = self.numbers.iter().map(|(pointer, _)| Column::number(pointer));
        let categories = self.categories.iter().map(|pointer| Column::key(std::slice::from_ref(pointer)));
        self.cells = numbers.chain(categories).map(|column| place(column, columns)).collect();
        let needs: Vec<Needs> = self.numbers.iter().map(|(_, needs)| *needs).collect();
        self.layout = Layout::new(&needs, self.categories.len());
    }

    fn reads(&self, aggregate: &Aggregate) -> Option<Reads> {
        let number = |pointer: &Pointer| self.numbers.iter().position(|(there, _)| there == pointer);
        Some(match aggregate {
            Aggregate::Count => Reads::Count,
            Aggregate::Sum(pointer) => Reads::Sum(number(pointer)?),
            Aggregate::Mean(pointer) => Reads::Mean(number(pointer)?),
            Aggregate::Min(pointer) => Reads::Least(number(pointer)?),
            Aggregate::Max(pointer) => Reads::Most(number(pointer)?),
            Aggregate::Std(pointer) => Reads::Std(number(pointer)?),
            Aggregate::Distinct(pointer) => Reads::Distinct(self.categories.iter().position(|there| there == pointer)?),
            Aggregate::SinceLast => Reads::SinceLast,
            Aggregate::Ratio(pointer) => Reads::Ratio(number(pointer)?),
            Aggregate::FirstSeen => Reads::FirstSeen,
            Aggregate::LabelSum => Reads::LabelSum,
            Aggregate::LabelMean => Reads::LabelMean,
        })
    }

    /// The key of an event's cells, if the event has one.
    #[must_use]
    pub fn key_of(&self, cells: &[u64]) -> Option<u64> {
        cells.get(self.key).copied().filter(|key| *key != 0)
    }

    /// Appends the cells of an event's row: numbers out of range count as missing; of a category's hash the lowest bit
    /// is left free, for a mark.
    pub fn row_of(&self, cells: &[u64], row: &mut Vec<u64>) {
        let cell = |column: &usize| cells.get(*column).copied();
        let (numbers, categories) = self.cells.split_at_checked(self.numbers.len()).unwrap_or_default();
        let number = |column| cell(column).filter(|bits| fixed::in_range(f64::from_bits(*bits)));
        row.extend(numbers.iter().map(|column| number(column).unwrap_or(f64::NAN.to_bits())));
        row.extend(categories.iter().map(|column| cell(column).map_or(0, |hash| hash & !1)));
    }

    /// Whether an event with these cells is an entry, as far as the filter says.
    #[must_use]
    pub fn passes(&self, cells: &[u64]) -> bool {
        let Some((column, hashes)) = &self.filter else { return true };
        cells.get(*column).is_some_and(|hash| hashes.binary_search(hash).is_ok())
    }
}

impl Column {
    /// The hash of one or several fields, keyed.
    fn key(pointers: &[Pointer]) -> Self {
        let names: Vec<String> = pointers.iter().map(spelt).collect();
        let kind = if names.len() == 1 { "text" } else { "key" };
        Self { kind: CellKind::Hash, name: format!("{kind} {}", names.join(" + ")), pointers: pointers.to_vec() }
    }

    /// The hash of a field as a filter compares it: not keyed, the same on every box.
    fn filter(filter: &Filter) -> Self {
        let name = format!("value {}", spelt(&filter.pointer));
        Self { kind: CellKind::Hash, name, pointers: vec![filter.pointer.clone()] }
    }

    fn number(pointer: &Pointer) -> Self {
        Self { kind: CellKind::Number, name: format!("number {}", spelt(pointer)), pointers: vec![pointer.clone()] }
    }

    /// Whether its hash is made with the seed.
    #[must_use]
    pub fn is_keyed(&self) -> bool {
        !self.name.starts_with("value ")
    }
}

/// A pointer in a column's name, where a plus joins two.
fn spelt(pointer: &Pointer) -> String {
    pointer.to_string().replace('+', "~2")
}

fn place(column: Column, columns: &mut Vec<Column>) -> usize {
    columns.iter().position(|there| there.name == column.name).unwrap_or_else(|| {
        columns.push(column);
        columns.len() - 1
    })
}

fn passing(filter: &Filter) -> Vec<u64> {
    let mut hashes: Vec<u64> = filter.values.iter().map(|value| xxh3_64(value.as_bytes()).max(1)).collect();
    hashes.sort_unstable();
    hashes
}
