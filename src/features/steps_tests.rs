//! What the steps promise that read a table, a list or a zone.

// Numbers are compared exactly because they are exact.
#![allow(clippy::float_cmp)]

use super::*;
use crate::event::Span;
use std::fs;

fn read(rest: &str) -> (FeatureSet, Vec<String>) {
    let table: toml::Table = format!("[[feature]]\nname = \"X\"\nfrom = \"/x\"\n{rest}").parse().unwrap();
    let mut problems = Problems::default();
    let set = read_features(table["feature"].as_array().unwrap(), &mut problems);
    (set, problems.0.iter().map(ToString::to_string).collect())
}

fn fill_of(set: &FeatureSet, field: Field, text: &str) -> Result<f64, String> {
    let mut row = [-9.0];
    set.fill(&[field], text, None, &mut row).map_err(|error| error.to_string())?;
    Ok(row[0])
}

fn value(rest: &str, field: Field, text: &str) -> Result<f64, String> {
    let (set, problems) = read(rest);
    assert!(problems.is_empty(), "{problems:?}");
    fill_of(&set, field, text)
}

fn whole(text: &str) -> Field {
    Field::Text(Span { start: 0, end: u32::try_from(text.len()).unwrap() })
}

fn text(rest: &str, x: &str) -> Result<f64, String> {
    value(rest, whole(x), x)
}

#[test]
fn a_bucket_is_the_number_of_bounds_reached() {
    let step = "transform = [{ bucketise = [10, 50.5, 200] }]";
    for (x, bucket) in [(-1.0, 0.0), (9.99, 0.0), (10.0, 1.0), (50.4, 1.0), (50.5, 2.0), (200.0, 3.0), (1e300, 3.0)] {
        assert_eq!(value(step, Field::Number(x), ""), Ok(bucket), "{x}");
    }
    assert_eq!(value(step, Field::Number(f64::NAN), "").unwrap_err(), "X: out of range");
    let then = "transform = [{ bucketise = [10] }, { one-hot = { values = [1] } }]";
    assert_eq!(value(then, Field::Number(11.0), ""), Ok(1.0));
}

#[test]
fn a_table_gives_each_text_its_number() {
    let step = "transform = [{ ordinal = { values = { web = 1, pos = 0, \"5411\" = 7.5, true = 3 }, unknown = -1 } }]";
    assert_eq!((text(step, "pos"), text(step, "web"), text(step, "moto")), (Ok(0.0), Ok(1.0), Ok(-1.0)));
    assert_eq!(value(step, Field::Number(5_411.0), ""), Ok(7.5), "a whole number counts as its digits");
    assert_eq!(value(step, Field::Bool(true), ""), Ok(3.0));
    assert_eq!(value(step, Field::Null, "").unwrap_err(), "X: missing");
    assert_eq!(value(&format!("{step}\nmissing = 9"), Field::Null, ""), Ok(9.0));
    let listed =
        "transform = [{ ordinal = { values = [\"pos\", \"web\"] } }, { standardise = { mean = 1, std = 0.5 } }]";
    assert_eq!((text(listed, "pos"), text(listed, "web")), (Ok(-2.0), Ok(0.0)), "counted from 0, steps follow");
    assert_eq!(text(listed, "moto").unwrap_err(), "X: value not listed in ordinal");
    let nan = "transform = [{ ordinal = { values = [\"pos\"], unknown = \"nan\" } }]";
    assert!(text(nan, "moto").unwrap().is_nan());
    let mut problems = Problems::default();
    read(nan).0.bind(&[ColumnKind::I64], &mut problems);
    assert_eq!(problems.0.len(), 1, "a whole number has no NaN");
}

#[test]
fn a_list_is_looked_up_and_follows_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("bad.txt");
    fs::write(&file, "T1\n42\n").unwrap();
    let lists = [Arc::new(List::open("bad", &file).unwrap())];
    let (mut set, problems) = read("transform = [{ in-list = \"bad\" }]");
    assert!(problems.is_empty() && set.uses_lists());
    assert_eq!(fill_of(&set, whole("T1"), "T1").unwrap_err(), "X: its list is not there");
    let mut problems = Problems::default();
    set.use_lists(&[], &mut problems);
    assert_eq!(problems.0[0].to_string(), "X: in-list: expected the name of a [[list]] (there is none), found \"bad\"");
    set.use_lists(&lists, &mut problems);
    assert_eq!(problems.0.len(), 1);
    assert_eq!((fill_of(&set, whole("T1"), "T1"), fill_of(&set, whole("T2"), "T2")), (Ok(1.0), Ok(0.0)));
    assert_eq!(fill_of(&set, Field::Number(42.0), ""), Ok(1.0));
    assert_eq!(set.raw(0, &[whole("T1")], "T1", None), Value::Number(1.0), "rules see the flag");
    assert_eq!(
        fill_of(&set, Field::Composite, "").unwrap_err(),
        "X: expected a text or whole number, found an object or list"
    );
    let copy = set.clone();
    fs::write(&file, "T2\n").unwrap();
    assert_eq!((lists[0].look(), lists[0].look()), (Looked::Same, Looked::Changed { before: 2, now: 1 }));
    assert_eq!(fill_of(&copy, whole("T1"), "T1"), Ok(0.0), "every copy of the set sees the new keys");
}

#[test]
fn a_zone_has_its_summer_time() {
    let hour = "transform = [{ hour-of-day = \"Europe/Berlin\" }]";
    let day = "transform = [{ day-of-week = \"Europe/Berlin\" }]";
    assert_eq!(text(hour, "2026-01-15T12:00:00Z"), Ok(13.0));
    assert_eq!(text(hour, "2026-07-15T12:00:00Z"), Ok(14.0));
    // The hour that is left out, Sunday 2026-03-29, and the one that comes twice, Sunday 2026-10-25.
    assert_eq!(text(hour, "2026-03-29T00:59:59Z").map(f64::floor), Ok(1.0));
    assert_eq!(text(hour, "2026-03-29T01:00:00Z"), Ok(3.0));
    assert_eq!(text(hour, "2026-10-25T00:30:00Z"), Ok(2.5));
    assert_eq!(text(hour, "2026-10-25T01:30:00Z"), Ok(2.5));
    assert_eq!(text(hour, "2026-10-25T02:00:00Z"), Ok(3.0));
    // Sunday there, Saturday in UTC; long before any zone; far ahead, by the rule.
    assert_eq!(text(day, "2026-07-04T22:30:00Z"), Ok(6.0));
    assert!((text(hour, "1800-01-01T00:00:00Z").unwrap() - 53.0 / 60.0).abs() < 0.02, "local mean time");
    assert_eq!(text(hour, "2199-07-15T12:00:00Z"), Ok(14.0));
    // A zone whose offset is not a whole hour, and one west of UTC in winter and summer.
    assert_eq!(text("transform = [{ hour-of-day = \"Asia/Kathmandu\" }]", "2026-01-15T12:00:00Z"), Ok(17.75));
    let west = "transform = [{ hour-of-day = \"America/New_York\" }]";
    assert_eq!(
        (text(west, "2026-03-08T06:59:00Z").map(f64::floor), text(west, "2026-03-08T07:00:00Z")),
        (Ok(1.0), Ok(3.0))
    );
    let weekend = "transform = [{ weekend = \"Pacific/Auckland\" }]";
    assert_eq!((text(weekend, "2026-07-03T12:00:00Z"), text(weekend, "2026-07-03T11:59:59Z")), (Ok(1.0), Ok(0.0)));
}

#[test]
fn a_night_begins_and_ends_as_declared() {
    let night = |from: &str, to: &str| {
        format!("transform = [{{ night = {{ zone = \"Europe/Berlin\", from = \"{from}\", to = \"{to}\" }} }}]")
    };
    let over = night("22:00", "06:00");
    for (time, flag) in [("19:59:59", 0.0), ("20:00:00", 1.0), ("23:00:00", 1.0), ("03:59:59", 1.0), ("04:00:00", 0.0)]
    {
        assert_eq!(text(&over, &format!("2026-07-15T{time}Z")), Ok(flag), "{time}");
    }
    let within = night("00:30", "24:00");
    assert_eq!((text(&within, "2026-07-14T22:29:00Z"), text(&within, "2026-07-14T21:59:59Z")), (Ok(0.0), Ok(1.0)));
    // As ever without hours of its own: hour <= 6.
    let usual = "transform = [{ night = \"UTC\" }]";
    assert_eq!((text(usual, "2026-07-15T06:59:59Z"), text(usual, "2026-07-15T07:00:00Z")), (Ok(1.0), Ok(0.0)));
}

/// Rules may look at what the model was not trained on.
#[test]
fn a_feature_for_rules_alone_has_no_column_and_makes_nothing_unscorable() {
    let text = "[[feature]]\nname = \"A\"\nfrom = \"/a\"\ninput = false\n[[feature]]\nname = \"B\"\nfrom = \"/b\"\n\
                [[feature]]\nname = \"W\"\nwindow = { count = true, key = \"/k\", over = \"1 d\" }\ninput = false";
    let table: toml::Table = text.parse().unwrap();
    let mut problems = Problems::default();
    let mut set = read_features(table["feature"].as_array().unwrap(), &mut problems);
    assert!(problems.0.is_empty(), "{problems:?}");
    assert_eq!((set.width(), set.len(), set.names()), (1, 3, &["B".to_owned()][..]));
    set.bind(&[ColumnKind::F64], &mut problems);
    assert_eq!((set.baseline(0), set.baseline(1).0), ((0..0, 0.0), 0..1));
    let (mut row, fields) = ([0.0], [Field::Missing, Field::Number(2.0), Field::Missing]);
    set.fill(&fields, "", None, &mut row).unwrap();
    assert_eq!((row, set.raw(0, &[Field::Number(3.0)], "", None)), ([2.0], Value::Number(3.0)));
    assert!(set.windows(), "its window is kept");
    let problems = read("input = false\ntransform = [{ one-hot = { values = [1] } }]").1;
    assert!(problems[0].contains("expected no one-hot or hash beside input = false"), "{problems:?}");
}

#[test]
fn what_cannot_be_meant_is_refused_by_name() {
    for (steps, expected) in [
        ("{ bucketise = [] }", "bucketise: expected 1 to 256 finite numbers, each above the one before it"),
        ("{ bucketise = [1, 1] }", "bucketise: expected 1 to 256 finite numbers"),
        ("{ bucketise = [1, \"2\"] }", "bucketise: expected 1 to 256 finite numbers"),
        ("{ bucketise = 5 }", "bucketise: expected a list, found 5"),
        ("{ ordinal = { values = {} } }", "ordinal.values: expected 1 to 4096 values, found 0"),
        (
            "{ ordinal = { values = { a = \"b\" } } }",
            "ordinal.values.a: expected a finite number, found the text \"b\"",
        ),
        ("{ ordinal = { values = [\"a\", 1.5] } }", "ordinal.values[1]: expected a text, a whole number or a boolean"),
        ("{ ordinal = { values = [\"1\", 1] } }", "ordinal.values: \"1\" stands there twice"),
        ("{ ordinal = { unknown = 1 } }", "ordinal.values: expected a table as in { pos = 0, web = 1 } or a list"),
        ("{ ordinal = { values = [1], unknown = \"x\" } }", "ordinal.unknown: expected \"unscorable\", \"nan\" or"),
        ("{ ordinal = { values = [1], other = 1 } }", "ordinal.other: unknown key"),
        ("{ in-list = 5 }", "in-list: expected a text, found 5"),
        ("{ hour-of-day = \"CEST\" }", "hour-of-day: expected \"UTC\", an offset as in \"+03:00\" or a zone as in"),
        ("{ hour-of-day = { zone = \"UTC\" } }", "hour-of-day: expected \"UTC\", an offset as in"),
        ("{ night = { zone = \"Mars/Olympus\", from = \"1:00\", to = \"25:00\" } }", "night.zone: expected \"UTC\""),
        ("{ night = { zone = \"UTC\", from = \"1:00\", to = \"02:00\" } }", "night.from: expected a time of day as in"),
        ("{ night = { zone = \"UTC\", from = \"01:00\", to = \"24:01\" } }", "night.to: expected a time of day as in"),
        (
            "{ night = { zone = \"UTC\", from = \"01:00\", to = \"01:00\" } }",
            "night.to: expected another time than from",
        ),
        ("{ night = { from = \"01:00\", to = \"02:00\" } }", "night.zone: expected a zone, found nothing"),
    ] {
        let problems = read(&format!("transform = [{steps}]")).1;
        let found = problems.iter().any(|problem| problem.starts_with(&format!("feature[0].transform[0].{expected}")));
        assert!(found, "{steps}: {expected}\nin {problems:#?}");
    }
    let problems = read("transform = [{ log1p = true }, { ordinal = { values = [1] } }, { in-list = \"a\" }]").1;
    assert!(problems[0].contains("transform[1]: ordinal stands first in a transform: it reads the field as it is"));
    assert!(problems[1].contains("transform[2]: in-list stands first"));
}
