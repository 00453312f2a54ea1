//! Which column holds what, and the statement that writes it.

use crate::config::{Column, OnConflict};
use crate::link::postgres::{TableName, quoted};
use crate::verdict::Member;
use std::fmt::Write;

/// A table and its columns; source and id are among them, and with [`OnConflict::Update`] the sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    table: TableName,
    columns: Vec<Column>,
    on_conflict: OnConflict,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("no column holds {}, without which a row has no key or no age", .0.name())]
pub struct LayoutError(Member);

impl Layout {
    /// # Errors
    /// When a column lacks that is needed.
    pub fn new(table: TableName, columns: Vec<Column>, on_conflict: OnConflict) -> Result<Self, LayoutError> {
        let layout = Self { table, columns, on_conflict };
        let mut needed = vec![Member::Source, Member::Id];
        if on_conflict == OnConflict::Update {
            needed.push(Member::Sequence);
        }
        match needed.into_iter().find(|member| layout.column_of(*member).is_none()) {
            Some(lacking) => Err(LayoutError(lacking)),
            None => Ok(layout),
        }
    }

    #[must_use]
    pub fn table(&self) -> &TableName {
        &self.table
    }

    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    #[must_use]
    pub fn on_conflict(&self) -> OnConflict {
        self.on_conflict
    }

    /// The name of the column that holds a member.
    #[must_use]
    pub fn column_of(&self, member: Member) -> Option<&str> {
        self.columns.iter().find(|column| column.member == Some(member)).map(|column| column.name.as_str())
    }

    /// Whether a column of its own holds it.
    #[must_use]
    pub fn holds(&self, member: Member) -> bool {
        self.column_of(member).is_some()
    }

    /// The names of source's and id's columns.
    pub(super) fn key(&self) -> [&str; 2] {
        [Member::Source, Member::Id].map(|member| self.column_of(member).unwrap_or_default())
    }

    /// The statement for a batch: a parameter a column, each an array of texts. `casts` has a type for each column whose
    /// values the server must be told to turn into it.
    pub(super) fn insert(&self, casts: &[Option<String>]) -> String {
        let list = |each: &dyn Fn(usize, &Column) -> String| {
            self.columns.iter().enumerate().map(|(n, column)| each(n, column)).collect::<Vec<_>>().join(", ")
        };
        let names = list(&|_, column| quoted(&column.name));
        let values = list(&|n, _| match casts.get(n) {
            Some(Some(cast)) => format!("CAST(new.c{n} AS {cast})"),
            _ => format!("new.c{n}"),
        });
        let arrays = list(&|n, _| format!("${}::text[]", n + 1));
        let aliases = list(&|n, _| format!("c{n}"));
        let [source, id] = self.key().map(quoted);
        let mut sql = format!(
            "INSERT INTO {} AS held ({names}) SELECT {values} FROM unnest({arrays}) AS new({aliases}) \
             ON CONFLICT ({source}, {id}) DO ",
            self.table.sql()
        );
        match self.on_conflict {
            OnConflict::Nothing => sql += "NOTHING",
            OnConflict::Update => {
                let others = self.columns.iter().map(|column| quoted(&column.name));
                let others = others.filter(|name| ![&source, &id].contains(&name));
                let set = others.map(|name| format!("{name} = excluded.{name}")).collect::<Vec<_>>().join(", ");
                let sequence = quoted(self.column_of(Member::Sequence).unwrap_or_default());
                let _ = write!(
                    sql,
                    "UPDATE SET {set} WHERE held.{sequence} IS NULL OR held.{sequence} < excluded.{sequence}"
                );
            }
        }
        sql
    }
}
