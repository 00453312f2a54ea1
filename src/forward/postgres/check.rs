//! Whether the table is what the sink needs. A promise that the table cannot keep is told before a row is written.

use super::Layout;
use crate::link::postgres::{Connection, Fault};
use crate::verdict::Member;

/// What is told besides.
const HELP: &str = "`verdictd sink ddl postgres` prints the table that is needed";

const TABLE_SQL: &str =
    "SELECT oid::text, relkind::text, relpersistence::text FROM pg_catalog.pg_class WHERE oid = to_regclass($1)";

/// Of each column: name, type below any domain, its category and kind, its name for a cast, whether it must be given a
/// value, whether it is made from others, whether texts are equal only where their bytes are.
const COLUMNS_SQL: &str = "SELECT a.attname::text, b.typname::text, b.typcategory::text, b.typtype::text, \
     pg_catalog.format_type(b.oid, NULL), (a.attnotnull AND NOT a.atthasdef AND a.attidentity = '')::text, \
     (a.attgenerated <> '')::text, coalesce(l.collisdeterministic, true)::text \
     FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid \
     JOIN pg_catalog.pg_type b ON b.oid = CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END \
     LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation \
     WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped";

/// A unique index on exactly two columns that holds for every row, at once, by bytes.
const INDEX_SQL: &str = "SELECT (EXISTS (SELECT FROM pg_catalog.pg_index i \
     WHERE i.indrelid = $1::oid AND i.indisunique AND i.indisvalid AND i.indimmediate \
     AND i.indpred IS NULL AND i.indexprs IS NULL AND i.indnkeyatts = 2 \
     AND (SELECT count(*) FROM pg_catalog.pg_attribute a WHERE a.attrelid = i.indrelid \
          AND a.attnum IN (i.indkey[0], i.indkey[1]) AND a.attname IN ($2, $3)) = 2 \
     AND NOT EXISTS (SELECT FROM unnest(i.indcollation) c JOIN pg_catalog.pg_collation l ON l.oid = c \
          WHERE NOT l.collisdeterministic)))::text";

/// Looks at the table; gives a type for each column whose values must be cast.
pub(super) async fn check(connection: &mut Connection, layout: &Layout) -> Result<Vec<Option<String>>, Fault> {
    let table = layout.table();
    let lacks = |what: String| Fault::configuration(format!("table {table}: {what}; {HELP}"));
    let found = connection.query(TABLE_SQL, &[&table.sql()]).await?;
    let Some([Some(oid), Some(kind), Some(persistence)]) = found.rows.first().map(Vec::as_slice) else {
        return Err(lacks("it is not there, or not for this user".to_owned()));
    };
    if !["r", "p"].contains(&kind.as_str()) {
        return Err(lacks("it is no table but a view or the like, on which no conflict is noticed".to_owned()));
    }
    if persistence != "p" {
        return Err(lacks("it is UNLOGGED or temporary: a crash of the server would empty it".to_owned()));
    }
    let columns = connection.query(COLUMNS_SQL, &[oid]).await?;
    let columns: Vec<Found> = columns.rows.iter().filter_map(|row| Found::of(row)).collect();
    let mut casts = Vec::with_capacity(layout.columns().len());
    for column in layout.columns() {
        let Some(found) = columns.iter().find(|found| found.name == column.name) else {
            return Err(lacks(format!("it has no column {}", column.name)));
        };
        casts.push(found.fits(column.member).map_err(|why| lacks(format!("column {}: {why}", column.name)))?);
    }
    let is_mapped = |found: &&Found| layout.columns().iter().any(|column| column.name == found.name);
    if let Some(found) = columns.iter().find(|found| found.is_needed && !is_mapped(found)) {
        return Err(lacks(format!(
            "column {} takes no NULL, has no default, and `columns` does not map it",
            found.name
        )));
    }
    let [source, id] = layout.key();
    let index = connection.query(INDEX_SQL, &[oid, source, id]).await?;
    if index.rows.first().and_then(|row| row.first()?.as_deref()) != Some("true") {
        let what = "no unique index, valid, immediate and for all rows, is on exactly the columns";
        return Err(lacks(format!("{what} ({source}, {id})")));
    }
    Ok(casts)
}

/// A column of the table.
struct Found {
    name: String,
    type_name: String,
    category: String,
    kind: String,
    cast: String,
    is_needed: bool,
    is_generated: bool,
    by_bytes: bool,
}

impl Found {
    fn of(row: &[Option<String>]) -> Option<Self> {
        let text = |n: usize| row.get(n).cloned().flatten();
        let is = |n: usize| text(n).is_some_and(|value| value == "true");
        Some(Self {
            name: text(0)?,
            type_name: text(1)?,
            category: text(2)?,
            kind: text(3)?,
            cast: text(4)?,
            is_needed: is(5),
            is_generated: is(6),
            by_bytes: is(7),
        })
    }

    /// The type that values are cast to, None where text goes in as it is; or why the member cannot be held.
    ///
    /// A cast would cut a text that is too long for its column; so text is not cast, and the server refuses it.
    fn fits(&self, member: Option<Member>) -> Result<Option<String>, String> {
        if self.is_generated {
            return Err("its values are made from other columns".to_owned());
        }
        let name = self.type_name.as_str();
        let is_text = self.category == "S" && name != "name";
        let expected = match member {
            Some(Member::Source | Member::Id) => {
                // Padded or compared without case, two identities could be one.
                if ["text", "varchar"].contains(&name) && self.by_bytes {
                    return Ok(None);
                }
                "text under a deterministic collation"
            }
            _ if is_text && member.is_some_and(|member| !needs_number(member)) => return Ok(None),
            Some(Member::Key | Member::Decision | Member::Model | Member::ModelSha256) if self.kind == "e" => {
                return Ok(Some(self.cast.clone()));
            }
            Some(Member::Key | Member::Decision | Member::Model | Member::ModelSha256) => "text or an enumeration",
            Some(Member::Time | Member::Decided) if ["timestamptz", "timestamp"].contains(&name) => {
                return Ok(Some(self.cast.clone()));
            }
            Some(Member::Time | Member::Decided) => "a timestamp or text",
            Some(Member::Score) if ["float8", "float4", "numeric"].contains(&name) => {
                return Ok(Some(self.cast.clone()));
            }
            Some(Member::Score) => "double precision, real or numeric",
            Some(Member::Sequence) if ["int8", "numeric"].contains(&name) => return Ok(Some(self.cast.clone())),
            Some(Member::Sequence) => "bigint or numeric",
            Some(Member::Reasons) | None if ["jsonb", "json"].contains(&name) => return Ok(Some(self.cast.clone())),
            Some(Member::Reasons) => "jsonb, json or text",
            None => "jsonb or json",
        };
        let member = member.map_or("the rest", Member::name);
        Err(format!("{member} needs {expected}, and its type is {}", self.cast))
    }
}

fn needs_number(member: Member) -> bool {
    matches!(member, Member::Score | Member::Sequence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(type_name: &str, category: &str) -> Found {
        Found {
            name: "c".to_owned(),
            type_name: type_name.to_owned(),
            category: category.to_owned(),
            kind: "b".to_owned(),
            cast: type_name.to_owned(),
            is_needed: false,
            is_generated: false,
            by_bytes: true,
        }
    }

    #[test]
    fn a_type_that_would_merge_two_identities_or_lose_a_value_is_refused() {
        let fits = |name: &str, category: &str, member| found(name, category).fits(member);
        let text = |member| fits("text", "S", Some(member));
        assert_eq!(text(Member::Id), Ok(None));
        assert!(Found { by_bytes: false, ..found("text", "S") }.fits(Some(Member::Id)).is_err());
        for padded in ["bpchar", "citext", "name"] {
            assert!(fits(padded, "S", Some(Member::Source)).is_err(), "{padded}");
        }
        assert!(fits("uuid", "U", Some(Member::Id)).is_err());
        assert!(text(Member::Score).is_err() && fits("int4", "N", Some(Member::Score)).is_err());
        assert!(text(Member::Sequence).is_err() && fits("int4", "N", Some(Member::Sequence)).is_err());
        assert_eq!(fits("int8", "N", Some(Member::Sequence)), Ok(Some("int8".to_owned())));
        assert_eq!(fits("timestamptz", "D", Some(Member::Time)), Ok(Some("timestamptz".to_owned())));
        assert!(fits("date", "D", Some(Member::Time)).is_err());
        assert_eq!(fits("jsonb", "U", None), Ok(Some("jsonb".to_owned())));
        assert!(fits("text", "S", None).is_err());
        assert!(Found { is_generated: true, ..found("text", "S") }.fits(Some(Member::Key)).is_err());
    }
}
