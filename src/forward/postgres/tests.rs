//! Statements, batches and the table's SQL, without a server.

use super::batch::{Batch, Pushed};
use super::{Column, Layout, OnConflict, ddl};
use crate::config::default_columns;
use crate::forward::Encoding;
use crate::link::postgres::TableName;
use crate::verdict::{Member, Verdict};

fn layout(columns: Vec<Column>, on_conflict: OnConflict) -> Layout {
    Layout::new(TableName::parse("site.verdicts").unwrap(), columns, on_conflict).unwrap()
}

fn column(name: &str, member: Option<Member>) -> Column {
    Column { name: name.to_owned(), member }
}

fn small(rest: bool) -> Vec<Column> {
    let columns = [("s", Some(Member::Source)), ("i\"d", Some(Member::Id)), ("n", Some(Member::Sequence))];
    let mut columns: Vec<Column> = columns.map(|(name, member)| column(name, member)).into();
    columns.extend(rest.then(|| column("rest", None)));
    columns
}

fn verdict<'a>(id: &'a str, key: Option<&'a str>) -> Verdict<'a> {
    Verdict {
        sequence: 41,
        source: "pos",
        id,
        key,
        time_us: 0,
        decision: "allow",
        score: Some(0.5),
        reasons: vec!["a"],
        model: "m@1",
        model_sha256: &[7; 32],
        decided_ms: 1_795_968_000_120,
    }
}

#[test]
fn a_repeat_changes_nothing_and_an_update_never_goes_back() {
    let casts = [None, None, Some("bigint".to_owned())];
    let nothing = layout(small(false), OnConflict::Nothing).insert(&casts);
    let begin = "INSERT INTO \"site\".\"verdicts\" AS held (\"s\", \"i\"\"d\", \"n\") \
                 SELECT new.c0, new.c1, CAST(new.c2 AS bigint) \
                 FROM unnest($1::text[], $2::text[], $3::text[]) AS new(c0, c1, c2) \
                 ON CONFLICT (\"s\", \"i\"\"d\") DO ";
    assert_eq!(nothing, format!("{begin}NOTHING"));
    let update = layout(small(false), OnConflict::Update).insert(&casts);
    let set = "UPDATE SET \"n\" = excluded.\"n\" WHERE held.\"n\" IS NULL OR held.\"n\" < excluded.\"n\"";
    assert_eq!(update, format!("{begin}{set}"));
}

#[test]
fn a_layout_without_a_key_or_without_an_age_is_none() {
    let of = |columns, on_conflict| Layout::new(TableName::parse("v").unwrap(), columns, on_conflict);
    let mut columns = small(false);
    columns.remove(2);
    assert!(of(columns.clone(), OnConflict::Nothing).is_ok());
    assert!(of(columns.clone(), OnConflict::Update).is_err());
    columns.remove(1);
    assert!(of(columns, OnConflict::Nothing).is_err());
}

#[test]
fn an_identity_is_once_in_a_batch_and_a_character_that_cannot_be_stored_is_seen() {
    let whole = layout(small(true), OnConflict::Nothing);
    let mut batch = Batch::new(&whole);
    let mut push = |layout: &Layout, id: &str, key: Option<&str>| batch.push(layout, Encoding::Json, &verdict(id, key));
    assert_eq!(push(&whole, "1", None), Pushed::Yes);
    assert_eq!(push(&whole, "1", Some("k")), Pushed::Twice);
    assert_eq!(push(&whole, "2", Some("k")), Pushed::Yes);
    assert_eq!(push(&whole, "a\0", None), Pushed::Unstorable(Member::Id));
    assert_eq!(push(&whole, "3", Some("\0")), Pushed::Unstorable(Member::Key));
    // Where no column holds the key it is nobody's harm.
    let bare = layout(small(false), OnConflict::Nothing);
    assert_eq!(Batch::new(&bare).push(&bare, Encoding::Json, &verdict("3", Some("\0"))), Pushed::Yes);
    assert_eq!(batch.rows(), 2);
    batch.clear();
    assert_eq!((batch.rows(), batch.bytes()), (0, 0));
    assert_eq!(batch.push(&whole, Encoding::Json, &verdict("1", None)), Pushed::Yes);
}

#[test]
fn the_table_has_every_column_of_the_mapping_and_its_names_stay_names() {
    let text = ddl(&layout(default_columns(), OnConflict::Nothing), "app");
    assert_eq!(text.lines().filter(|line| line.starts_with("COMMENT ON COLUMN")).count(), 9);
    assert!(text.contains("    \"source\"   text COLLATE \"C\" NOT NULL,\n"), "{text}");
    assert!(text.contains("PRIMARY KEY (\"source\", \"id\")"), "{text}");
    assert!(text.ends_with("GRANT SELECT, INSERT ON \"site\".\"verdicts\" TO \"app\";\n"), "{text}");
    let text = ddl(&layout(small(true), OnConflict::Update), "a\"b");
    assert!(text.contains("\"i\"\"d\"") && text.contains("UPDATE ON") && text.contains("TO \"a\"\"b\""), "{text}");
}
