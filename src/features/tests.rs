//! What features promise: the right numbers, or a reason.

// Numbers are compared exactly because they are exact.
#![allow(clippy::float_cmp, clippy::cast_possible_truncation)]

use super::*;
use crate::event::Span;

fn read(text: &str) -> (FeatureSet, Vec<String>) {
    let table: toml::Table = text.parse().unwrap();
    let mut problems = Problems::default();
    let set = read_features(table["feature"].as_array().unwrap(), &mut problems);
    (set, problems.0.iter().map(ToString::to_string).collect())
}

fn set(text: &str) -> FeatureSet {
    let (set, problems) = read(text);
    assert!(problems.is_empty(), "{problems:?}");
    set
}

/// A single feature with the given rest of its table, filled from a field of that text.
fn fill(rest: &str, field: Field, text: &str) -> Result<Vec<f64>, String> {
    let set = set(&format!("[[feature]]\nname = \"X\"\nfrom = \"/x\"\n{rest}"));
    let mut row = vec![-9.0; set.width()];
    set.fill(&[field], text, None, &mut row).map_err(|error| error.to_string())?;
    Ok(row)
}

fn number(rest: &str, x: f64) -> Result<Vec<f64>, String> {
    fill(rest, Field::Number(x), "")
}

fn text(rest: &str, x: &str) -> Result<Vec<f64>, String> {
    fill(rest, Field::Text(Span { start: 0, end: u32::try_from(x.len()).unwrap() }), x)
}

fn errors(text: &str) -> Vec<String> {
    read(text).1
}

#[test]
fn steps_are_applied_in_order_in_f64() {
    let chain = "transform = [{ log1p = true }, { standardise = { mean = 3.0, std = 2.0 } }]";
    assert_eq!(number(chain, 100.0).unwrap(), [f64::from(((101f64.ln() - 3.0) / 2.0) as f32)]);
    assert_eq!(number("transform = [{ min-max = { min = 10, max = 20 } }]", 25.0).unwrap(), [1.5]);
    assert_eq!(number("transform = [{ clip = { min = -1, max = 1 } }]", 25.0).unwrap(), [1.0]);
    assert_eq!(number("transform = [{ clip = { min = 0 } }]", -25.0).unwrap(), [0.0]);
    assert_eq!(number("transform = [{ sin = { period = 24 } }]", 6.0).unwrap(), [1.0]);
    assert_eq!(number("transform = [{ cos = { period = 24 } }]", 12.0).unwrap(), [-1.0]);
    // In f32 the difference would be lost.
    let epoch = "transform = [{ standardise = { mean = 1700000000, std = 1 } }]";
    assert_eq!(number(epoch, 1_700_000_001.5).unwrap(), [1.5]);
}

#[test]
fn a_text_is_never_a_number() {
    assert_eq!(text("", "12.5").unwrap_err(), "X: expected a number, found a text");
    assert_eq!(fill("", Field::Composite, "").unwrap_err(), "X: expected a number, found an object or list");
    assert_eq!(fill("", Field::Bool(true), "").unwrap(), [1.0]);
    assert_eq!(fill("", Field::Bool(false), "").unwrap(), [0.0]);
}

#[test]
fn what_is_missing_follows_the_rule() {
    for field in [Field::Missing, Field::Null] {
        assert_eq!(fill("", field, "").unwrap_err(), "X: missing");
        assert_eq!(fill("missing = \"unscorable\"", field, "").unwrap_err(), "X: missing");
        assert!(fill("missing = \"nan\"", field, "").unwrap()[0].is_nan());
        // The number stands for the field, so it goes through the steps.
        assert_eq!(fill("missing = 9\ntransform = [{ clip = { max = 5 } }]", field, "").unwrap(), [5.0]);
        let one_hot = "transform = [{ one-hot = { values = [\"a\", 3] } }]";
        assert_eq!(fill(&format!("missing = \"zeros\"\n{one_hot}"), field, "").unwrap(), [0.0, 0.0]);
        assert_eq!(fill(&format!("missing = 3\n{one_hot}"), field, "").unwrap(), [0.0, 1.0]);
        assert_eq!(fill(one_hot, field, "").unwrap_err(), "X: missing");
    }
    let set = set("[[feature]]\nname = \"X\"\nfrom = \"/x\"");
    assert_eq!(set.fill(&[], "", None, &mut [0.0]).unwrap_err().why, Why::Missing, "a field that was not looked for");
}

#[test]
fn no_number_out_of_range_gets_into_a_row() {
    assert_eq!(number("", 1e39).unwrap_err(), "X: out of range");
    assert_eq!(number("transform = [{ log1p = true }]", -3.0).unwrap_err(), "X: out of range");
    assert_eq!(number("transform = [{ log1p = true }]", -1.0).unwrap_err(), "X: out of range");
    assert_eq!(number("", f64::NAN).unwrap_err(), "X: out of range");
}

#[test]
fn one_hot_names_a_column_a_value() {
    let list = "transform = [{ one-hot = { values = [\"chip\", 7, true] } }]";
    let set = set(&format!("[[feature]]\nname = \"M\"\nfrom = \"/m\"\n{list}"));
    assert_eq!(set.names(), ["M=chip", "M=7", "M=true"]);
    assert_eq!(text(list, "chip").unwrap(), [1.0, 0.0, 0.0]);
    assert_eq!(number(list, 7.0).unwrap(), [0.0, 1.0, 0.0]);
    assert_eq!(fill(list, Field::Bool(true), "").unwrap(), [0.0, 0.0, 1.0]);
    assert_eq!(text(list, "other").unwrap(), [0.0, 0.0, 0.0]);
    assert_eq!(number(list, 7.5).unwrap_err(), "X: expected a text or whole number, found a number with decimals");
    let strict = "transform = [{ one-hot = { values = [\"chip\"], unknown = \"unscorable\" } }]";
    assert_eq!(text(strict, "other").unwrap_err(), "X: value not listed in one-hot");
}

#[test]
fn hash_spreads_texts_over_buckets_by_xxh3() {
    let list = "transform = [{ hash = { buckets = 4 } }]";
    let at = (xxhash_rust::xxh3::xxh3_64(b"5411") % 4) as usize;
    let row = text(list, "5411").unwrap();
    assert_eq!(row.iter().sum::<f64>(), 1.0);
    assert_eq!(row[at], 1.0);
    assert_eq!(number(list, 5411.0).unwrap(), row, "a whole number counts as its digits");
}

#[test]
fn times_give_their_parts_in_the_zone_asked_for() {
    // A Sunday night in UTC, Monday morning three hours east.
    let time = "2026-01-04T23:30:00Z";
    assert_eq!(text("transform = [{ hour-of-day = \"UTC\" }]", time).unwrap(), [23.5]);
    assert_eq!(text("transform = [{ hour-of-day = \"+03:00\" }]", time).unwrap(), [2.5]);
    assert_eq!(text("transform = [{ hour-of-day = \"-01:30\" }]", time).unwrap(), [22.0]);
    assert_eq!(text("transform = [{ day-of-week = \"UTC\" }]", time).unwrap(), [6.0]);
    assert_eq!(text("transform = [{ day-of-week = \"+03:00\" }]", time).unwrap(), [0.0]);
    assert_eq!(text("transform = [{ weekend = \"UTC\" }]", time).unwrap(), [1.0]);
    assert_eq!(text("transform = [{ weekend = \"+03:00\" }]", time).unwrap(), [0.0]);
    assert_eq!(text("transform = [{ night = \"UTC\" }]", "2026-01-04T06:59:59Z").unwrap(), [1.0]);
    assert_eq!(text("transform = [{ night = \"UTC\" }]", "2026-01-04 07:00:00").unwrap(), [0.0]);
    assert_eq!(text("transform = [{ hour-of-day = \"UTC\" }]", "1969-12-31T06:00:00Z").unwrap(), [6.0]);
    assert_eq!(
        number("transform = [{ hour-of-day = \"UTC\" }]", 1_525_134_011.0).unwrap(),
        [f64::from(0.336_388_9_f32)]
    );
    let days = "transform = [{ day-of-week = \"UTC\" }, { one-hot = { values = [5, 6] } }]";
    assert_eq!(text(days, time).unwrap(), [0.0, 1.0]);
    assert_eq!(
        text("transform = [{ night = \"UTC\" }]", "soon").unwrap_err(),
        "X: expected a time, found another text"
    );
    assert_eq!(fill("transform = [{ night = \"UTC\" }]", Field::Bool(true), "").unwrap_err(), {
        "X: expected a time, found true or false"
    });
}

#[test]
fn a_field_used_twice_is_looked_for_once() {
    let set = set("[[feature]]\nname = \"A\"\nfrom = \"/t\"\ntransform = [{ night = \"UTC\" }]\n\
         [[feature]]\nname = \"B\"\nfrom = \"/x\"\n\
         [[feature]]\nname = \"C\"\nfrom = \"/t\"\ntransform = [{ hour-of-day = \"UTC\" }]\nbaseline = 12");
    assert_eq!(**set.pointers(), [Pointer::parse("/t").unwrap(), Pointer::parse("/x").unwrap()]);
    let mut row = [0.0; 3];
    set.fill(&[Field::Number(3_600.0), Field::Number(5.0)], "", None, &mut row).unwrap();
    assert_eq!(row, [1.0, 5.0, 1.0]);
    assert_eq!(set.baseline(2), (2..3, 12.0));
}

#[test]
fn every_error_is_found_at_once_with_its_key() {
    let found = errors(
        "[[feature]]\nname = \"A\"\nfrom = \"x\"\nextra = 1\n\
         [[feature]]\nfrom = \"/x\"\nmissing = \"never\"\n\
         [[feature]]\nname = \"C\"\nfrom = \"/x\"\ntransform = [{ log = true }, { standardise = { mean = 1, std = 0 } }]\n\
         [[feature]]\nname = \"D\"\nfrom = \"/x\"\ntransform = [{ one-hot = { values = [] } }, { log1p = true }]\n\
         [[feature]]\nname = \"E\"\nwindow = { count = true, key = \"/c\", over = \"7 days\" }\n\
         [[feature]]\nname = \"F\"\nfrom = \"/x\"\ntransform = [{ log1p = true }, { night = \"UTC\" }]\n\
         [[feature]]\nname = \"G\"\nfrom = \"/x\"\ntransform = [{ night = \"Europe/Atlantis\" }, { clip = {} }, { clip = { min = 2, max = 1 } }]\n\
         [[feature]]\nname = \"H\"\nfrom = \"/x\"\n[[feature]]\nname = \"H\"\nfrom = \"/x\"",
    );
    for expected in [
        "feature[0].from: a JSON pointer starts with",
        "feature[0].extra: unknown key",
        "feature[1].name: expected a text, found nothing",
        "feature[1].missing: expected \"unscorable\", \"nan\" or a finite number, found the text \"never\"",
        "feature[2].transform[0].log: unknown key; expected one of: log1p",
        "feature[2].transform[1].standardise.std: expected a number above 0, found 0",
        "feature[3].transform[0].one-hot.values: expected 1 to 4096 values, found 0",
        "feature[3].transform[1]: one-hot and hash stand last",
        "feature[4].window.over: expected a duration with its unit, as in \"7 d\"",
        "feature[5].transform[1]: night stands first",
        "feature[6].transform[0].night: expected \"UTC\", an offset as in \"+03:00\" or a zone as in \"Europe/Berlin\", found the text \"Europe/Atlantis\"",
        "feature[6].transform[1].clip.min: expected a min, a max or both",
        "feature[6].transform[2].clip.max: expected more than min = 2, found 1",
        "feature[8].name: a second feature named \"H\"",
    ] {
        assert!(found.iter().any(|error| error.starts_with(expected)), "{expected}\nin {found:#?}");
    }
    assert_eq!(found.len(), 14, "{found:#?}");
}

mod arbitrary {
    use super::*;
    use proptest::prelude::*;

    fn field() -> impl Strategy<Value = Field> {
        prop_oneof![
            Just(Field::Missing),
            Just(Field::Null),
            Just(Field::Composite),
            any::<bool>().prop_map(Field::Bool),
            any::<f64>().prop_map(Field::Number),
            (any::<u32>(), any::<u32>()).prop_map(|(start, end)| Field::Text(Span { start, end })),
            (0u32..40, 0u32..40).prop_map(|(start, end)| Field::Text(Span { start, end })),
        ]
    }

    proptest! {
        #[test]
        fn any_field_gives_finite_numbers_or_a_reason(field in field(), text in ".{0,40}") {
            for steps in [
                "",
                "transform = [{ log1p = true }]",
                "transform = [{ hour-of-day = \"-18:00\" }]",
                "transform = [{ one-hot = { values = [1] } }]",
                "transform = [{ clip = { min = 0 } }, { hash = { buckets = 3 } }]",
            ] {
                let set = set(&format!("[[feature]]\nname = \"X\"\nfrom = \"/x\"\n{steps}"));
                let mut row = vec![0.0; set.width()];
                if set.fill(&[field], &text, None, &mut row).is_ok() {
                    prop_assert!(row.iter().all(|x| x.is_finite()));
                }
            }
        }
    }
}

/// A whole number has no NaN: the model would have taken a 0 for it.
#[test]
fn where_the_model_takes_whole_numbers_nothing_stands_for_what_is_missing() {
    let bound = |rest: &str| {
        let mut set = set(&format!("[[feature]]\nname = \"X\"\nfrom = \"/x\"\n{rest}"));
        let mut problems = super::Problems::default();
        set.bind(&[super::ColumnKind::I64], &mut problems);
        let problems: Vec<String> = problems.0.iter().map(ToString::to_string).collect();
        (set, problems)
    };
    assert!(bound("missing = \"nan\"").1[0].contains("expected missing = \"unscorable\""));
    let (set, problems) = bound("");
    assert!(problems.is_empty());
    let mut row = [0.0];
    assert!(set.fill(&[Field::Number(2.5)], "", None, &mut row).is_err(), "a fraction is not cut off in silence");
    set.fill(&[Field::Number(-2.0)], "", None, &mut row).unwrap();
    assert_eq!(row, [-2.0]);
}

#[test]
fn a_row_cut_at_last_is_the_row_that_is_cut_at_once_and_people_see_it_before() {
    let all = set("[[feature]]\nname = \"a\"\nfrom = \"/a\"\ntransform = [{ log1p = true }]\n\
         [[feature]]\nname = \"b\"\nfrom = \"/b\"\nmissing = \"nan\"\n\
         [[feature]]\nname = \"c\"\nfrom = \"/c\"\ntransform = [{ one-hot = { values = [\"x\", \"y\"] } }]\nmissing = \"zeros\"\n");
    let fields = |a: f64| {
        all.pointers().iter().map(move |p| if p.to_string() == "/a" { Field::Number(a) } else { Field::Missing })
    };
    let bits = |row: &[f64]| row.iter().map(|cell| cell.to_bits()).collect::<Vec<_>>();
    for a in [0.1, 1e300, -0.5, 1.0 / 3.0] {
        let (fields, mut at_once, mut at_last) = (fields(a).collect::<Vec<_>>(), [0.0; 4], [0.0; 4]);
        all.fill(&fields, "", None, &mut at_once).unwrap();
        all.uncut().fill(&fields, "", None, &mut at_last).unwrap();
        assert_eq!(at_last[0], a.ln_1p(), "as it was computed");
        all.cut(&mut at_last).unwrap();
        assert_eq!(bits(&at_once), bits(&at_last));
    }
    let plain = set("[[feature]]\nname = \"a\"\nfrom = \"/a\"\n");
    let (fields, mut row) = ([Field::Number(1e300)], [0.0]);
    plain.uncut().fill(&fields, "", None, &mut row).unwrap();
    assert_eq!(plain.cut(&mut row).unwrap_err().why, plain.fill(&fields, "", None, &mut [0.0]).unwrap_err().why);
}
