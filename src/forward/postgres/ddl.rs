//! The table that a sink needs, as SQL.

use super::{Layout, OnConflict};
use crate::link::postgres::quoted;
use crate::verdict::Member;
use std::fmt::Write;

/// `CREATE TABLE` with its key and comments, and what `user` must be allowed.
#[must_use]
pub fn ddl(layout: &Layout, user: &str) -> String {
    let table = layout.table().sql();
    let name = |name: &str| quoted(name);
    let width = layout.columns().iter().map(|column| name(&column.name).len()).max().unwrap_or(0);
    let mut text = format!("CREATE TABLE {table} (\n");
    for column in layout.columns() {
        let _ = writeln!(text, "    {:width$} {},", name(&column.name), type_of(column.member));
    }
    let [source, id] = layout.key().map(quoted);
    let _ = writeln!(text, "    PRIMARY KEY ({source}, {id})\n);");
    let _ = writeln!(
        text,
        "COMMENT ON TABLE {table} IS 'Verdicts of verdictd, one an event: (source, id) is the event''s.';"
    );
    for column in layout.columns() {
        let what = meaning(column.member).replace('\'', "''");
        let _ = writeln!(text, "COMMENT ON COLUMN {table}.{} IS '{what}';", name(&column.name));
    }
    let rights = match layout.on_conflict() {
        OnConflict::Nothing => "SELECT, INSERT",
        OnConflict::Update => "SELECT, INSERT, UPDATE",
    };
    let _ = writeln!(text, "GRANT {rights} ON {table} TO {};", name(user));
    text
}

fn type_of(member: Option<Member>) -> &'static str {
    match member {
        // By bytes: two identities are never taken for one.
        Some(Member::Source | Member::Id) => "text COLLATE \"C\" NOT NULL",
        Some(Member::Key) => "text",
        Some(Member::Time | Member::Decided) => "timestamp with time zone NOT NULL",
        Some(Member::Decision | Member::Model | Member::ModelSha256) => "text NOT NULL",
        Some(Member::Score) => "double precision",
        Some(Member::Sequence) => "bigint NOT NULL",
        Some(Member::Reasons) | None => "jsonb NOT NULL",
    }
}

fn meaning(member: Option<Member>) -> &'static str {
    match member {
        Some(Member::Source) => "The event's source.",
        Some(Member::Id) => "The event's id, unique with its source.",
        Some(Member::Key) => "Whom or what the event is about; NULL where it has no key.",
        Some(Member::Time) => "When the event happened.",
        Some(Member::Decision) => "What was decided.",
        Some(Member::Score) => "The model's score; NULL where the event could not be scored.",
        Some(Member::Reasons) => "Why, as a list of names.",
        Some(Member::Model) => "The model and its version, name@version.",
        Some(Member::ModelSha256) => "The hash of the model's bundle.",
        Some(Member::Sequence) => "The verdict's number at its appliance, in the order of decisions.",
        Some(Member::Decided) => "When it was decided.",
        None => "The rest of the verdict.",
    }
}
