//! What the tables of the example must hold: a row a verdict, and the balances that follow.

use super::support::postgres::Postgres;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Verdicts by (source, id), and what they add to the balance of their key.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Books {
    pub verdicts: BTreeMap<(String, String), Verdict>,
}

/// The parts that a table of the example can tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub key: String,
    /// In quarters: the scores of these tests are multiples of one, so that sums are exact.
    pub quarters: i64,
    pub whole: Value,
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

/// A number of quarters.
///
/// # Panics
/// Where it is none.
pub fn quarters(number: f64) -> i64 {
    let quarters = number * 4.0;
    assert!(quarters.fract() == 0.0, "{number} is no multiple of a quarter");
    #[allow(clippy::cast_possible_truncation)] // a small whole number
    let whole = quarters as i64;
    whole
}

impl Books {
    /// Enters a verdict as it came; a second one under its identity must be the same.
    pub fn enter(&mut self, whole: Value) {
        let key = text(&whole, "key");
        let quarters = whole["score"].as_f64().map_or(0, quarters);
        let identity = (text(&whole, "source"), text(&whole, "id"));
        let verdict = Verdict { key, quarters, whole };
        if let Some(before) = self.verdicts.insert(identity, verdict.clone()) {
            assert_eq!(before, verdict, "two verdicts of one event");
        }
    }

    /// By key: how many, and the sum in quarters.
    pub fn balances(&self) -> BTreeMap<String, (u64, i64)> {
        let mut balances = BTreeMap::new();
        for verdict in self.verdicts.values() {
            let (count, sum) = balances.entry(verdict.key.clone()).or_insert((0, 0));
            *count += 1;
            *sum += verdict.quarters;
        }
        balances
    }

    /// The table of verdicts, from its JSON column; the other columns must say the same.
    pub fn of_table(database: &Postgres) -> Self {
        let mut books = Self::default();
        let rows = database.psql("SELECT verdict FROM verdicts");
        for row in rows.lines() {
            books.enter(serde_json::from_str(row).expect("JSON"));
        }
        assert_eq!(database.psql("SELECT count(*) FROM verdicts"), books.verdicts.len().to_string());
        let differing = "SELECT count(*) FROM verdicts WHERE \
            (source, id, decision, sequence) IS DISTINCT FROM \
            (verdict->>'source', verdict->>'id', verdict->>'decision', (verdict->>'sequence')::bigint) \
            OR key IS DISTINCT FROM verdict->>'key' OR score IS DISTINCT FROM (verdict->>'score')::numeric \
            OR decided IS DISTINCT FROM (verdict->>'decided')::timestamptz";
        assert_eq!(database.psql(differing), "0", "columns that differ from the verdict");
        books
    }

    /// Fails where the tables are not these books exactly: a row an event, none missing, none foreign, none counted
    /// twice.
    pub fn check(&self, database: &Postgres) {
        let table = Self::of_table(database);
        let identities = |books: &Self| books.verdicts.keys().cloned().collect::<BTreeSet<_>>();
        let (expected, found) = (identities(self), identities(&table));
        let missing: Vec<_> = expected.difference(&found).take(5).collect();
        assert!(missing.is_empty(), "{} of {} are there; missing {missing:?} …", found.len(), expected.len());
        assert_eq!(found.difference(&expected).next(), None, "a row that no event has");
        for (identity, verdict) in &self.verdicts {
            assert_eq!(table.verdicts.get(identity), Some(verdict));
        }
        assert_eq!(balances(database), self.balances(), "balances differ");
    }
}

/// The table of balances; keys may hold any character.
fn balances(database: &Postgres) -> BTreeMap<String, (u64, i64)> {
    let rows = database.psql("SELECT json_build_array(key, verdicts, score) FROM balances");
    let parse = |row: &str| {
        let (key, count, sum): (String, u64, f64) = serde_json::from_str(row).expect("a row");
        (key, (count, quarters(sum)))
    };
    rows.lines().map(parse).collect()
}
