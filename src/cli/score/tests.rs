//! Promises of offline scoring, on a bundle of one layer: score = 1/(1+exp(-(2a - b))).

use super::{
    offline::{BATCH_EVENTS_MAX, EVENT_BYTES_MAX, Format, RECORD_BYTES_MAX, pointer, read_line},
    *,
};
use crate::model::{Bundle, LoadOptions, load};
use sha2::{Digest, Sha256};
use std::{fmt::Write as _, fs, io::Cursor, path::Path};

pub fn bundle() -> (tempfile::TempDir, Bundle) {
    let dir = tempfile::tempdir().unwrap();
    let weight: Vec<u8> = [2.0f32, -1.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let bias = 0.0f32.to_le_bytes();
    let view = |shape: Vec<usize>, data| safetensors::tensor::TensorView::new(safetensors::Dtype::F32, shape, data);
    let tensors = [("net.0.weight", view(vec![1, 2], &weight).unwrap()), ("net.0.bias", view(vec![1], &bias).unwrap())];
    let file = safetensors::serialize(tensors, None).unwrap();
    let mut hash = String::new();
    for byte in Sha256::digest(&file) {
        write!(hash, "{byte:02x}").unwrap();
    }
    fs::write(dir.path().join("model.safetensors"), file).unwrap();
    let manifest = format!(
        "name = \"two\"\nversion = \"1\"\nformat = \"safetensors\"\nfile = \"model.safetensors\"\nsha256 = \"{hash}\"\n\
         [decision]\nblock = 0.8\notherwise = \"allow\"\nfallback = \"review\"\n\
         [network]\noutput = \"logit\"\nlayers = [{{ linear = \"net.0\" }}]\n\
         [[feature]]\nname = \"a\"\nfrom = \"/a\"\n[[feature]]\nname = \"b\"\nfrom = \"/b\"\nmissing = 0.0\n"
    );
    fs::write(dir.path().join("model.toml"), manifest).unwrap();
    let bundle = load(dir.path(), &LoadOptions { max_batch: BATCH_EVENTS_MAX, ..LoadOptions::default() }).unwrap();
    (dir, bundle)
}

fn rules() -> IdentityRules {
    let pointer = |text| pointer(text).unwrap();
    offline::rules(&pointer("/id"), &[pointer("/key")], &pointer("/time"), "score", "score").unwrap()
}

fn input(format: Format, text: &str) -> Input {
    Input { format, stream: Box::new(Cursor::new(text.as_bytes().to_vec())) }
}

fn lines(out: Vec<u8>) -> Vec<serde_json::Value> {
    let text = String::from_utf8(out).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn scored(format: Format, text: &str) -> Vec<serde_json::Value> {
    let (_dir, bundle) = bundle();
    let mut out = Vec::new();
    events::score(&bundle, input(format, text), rules(), true, &mut Output::to(&mut out)).unwrap();
    lines(out)
}

fn rows(text: &str) -> Result<Vec<serde_json::Value>, Failure> {
    let (_dir, bundle) = bundle();
    let mut out = Vec::new();
    rows::score(&bundle, input(Format::Csv, text), rows::Along::default(), &mut Output::to(&mut out))?;
    Ok(lines(out))
}

fn near(value: &serde_json::Value, expected: f64) {
    let value = value.as_f64().unwrap_or(f64::NAN);
    assert!((value - expected).abs() < 1e-6, "{value} is not {expected}");
}

#[test]
fn each_event_gets_its_verdict_in_the_order_of_the_input() {
    let found = scored(
        Format::Ndjson,
        "{\"id\":\"1\",\"a\":1,\"b\":1,\"key\":\"k\",\"time\":\"2018-05-01T00:20:11Z\"}\nnot json\n\n{\"id\":2,\"a\":2}\n{\"id\":3}",
    );
    assert_eq!(found.len(), 4);
    near(&found[0]["score"], 0.731_058_578);
    assert_eq!(found[0]["decision"], "allow");
    assert_eq!((&found[0]["key"], &found[0]["time"]), (&"k".into(), &"2018-05-01T00:20:11Z".into()));
    assert_eq!((&found[0]["source"], &found[0]["model"]), (&"score".into(), &"two@1".into()));
    assert_eq!(found[0]["features"], serde_json::json!({ "a": 1, "b": 1 }));
    assert!(found[0].get("sequence").is_none() && found[0].get("decided").is_none());
    assert_eq!((&found[1]["status"], &found[1]["source"]), (&400.into(), &"score".into()));
    near(&found[2]["score"], 0.982_013_79);
    assert_eq!((&found[2]["id"], &found[2]["decision"]), (&"2".into(), &"block".into()));
    assert_eq!(found[2]["reasons"], serde_json::json!(["a"]));
    // What cannot be scored has the fallback and says why.
    assert_eq!((&found[3]["decision"], &found[3]["score"]), (&"review".into(), &serde_json::Value::Null));
    assert_eq!(found[3]["reasons"], serde_json::json!(["a: missing"]));
    assert!(found[3]["features"].is_null());
}

#[test]
fn csv_gives_what_the_same_events_in_json_give() {
    let json = scored(Format::Ndjson, "{\"id\":7,\"a\":1.5,\"b\":-2}\n{\"id\":\"x,y\",\"a\":0.25}\n");
    for empty in ["", "nan", "NaN"] {
        let mut csv = scored(Format::Csv, &format!("\u{feff}id,a,b\n7,1.5,-2\n\"x,y\",0.25,{empty}\n"));
        for (csv, json) in csv.iter_mut().zip(&json) {
            // The time of arrival stands in for a time.
            csv["time"] = json["time"].clone();
        }
        assert_eq!(csv, json);
    }
}

#[test]
fn a_csv_without_ids_takes_the_number_of_the_record() {
    let found = scored(Format::Csv, "a,b\n1,2\n3\n4,5\n");
    assert_eq!((&found[0]["id"], &found[2]["id"]), (&"1".into(), &"3".into()));
    assert_eq!(found[1]["status"], 400);
    assert_eq!(found[1]["detail"], "record 2: expected 2 cells as in the header, found 1");
}

#[test]
fn a_line_over_the_limit_is_a_problem_and_the_next_is_scored() {
    let long = format!("{{\"id\":1,\"a\":\"{}\"}}\n{{\"id\":2,\"a\":1}}\n", "x".repeat(3 * EVENT_BYTES_MAX));
    let found = scored(Format::Ndjson, &long);
    assert_eq!((found.len(), &found[0]["status"], &found[1]["id"]), (2, &413.into(), &"2".into()));
}

#[test]
fn more_events_than_a_slice_stay_in_order() {
    let text: String = (0..3000).fold(String::new(), |mut text, n| {
        let _ = writeln!(text, "{{\"id\":{n},\"a\":{}}}", f64::from(n % 7) / 7.0);
        text
    });
    let found = scored(Format::Ndjson, &text);
    assert!(
        found.iter().enumerate().all(|(n, line)| line["id"].as_str().and_then(|id| id.parse().ok()) == Some(n))
            && found.len() == 3000
    );
}

#[test]
fn rows_are_matched_by_name_or_by_position() {
    let expected = [0.880_797_078, 0.268_941_42];
    for text in
        ["a,b\n1,0\n0,1\n", "b,a\n0,1\n1,0\n", "Column_0,Column_1\n1,0\n0,1\n", "f0,f1\n1,0\n0,1\n", "1,0\n0,1\n"]
    {
        let found = rows(text).unwrap();
        assert_eq!(found.len(), 2, "{text}");
        found.iter().zip(expected).for_each(|(line, expected)| near(&line["score"], expected));
    }
}

#[test]
fn rows_with_wrong_columns_are_refused_by_name() {
    for (text, part) in [
        ("a\n1\n", "missing: b"),
        ("a,b,c\n1,2,3\n", "not an input of the model: c"),
        ("a,b,b\n1,2,3\n", "there twice: b"),
        ("f0\n1\n", "expected 2 columns"),
    ] {
        let failure = rows(text).unwrap_err();
        assert!(failure.message.contains(part), "{}", failure.message);
    }
}

#[test]
fn a_row_without_a_number_is_a_problem_and_one_without_a_value_has_no_score() {
    let found = rows("a,b\n1,x\n,1\n1,0\n1\n").unwrap();
    assert_eq!(found[0]["detail"], "b: expected a number, found \"x\"");
    assert!(found[1]["score"].is_null());
    near(&found[2]["score"], 0.880_797_078);
    assert_eq!(found[3]["status"], 400);
}

#[test]
fn the_form_is_told_by_name_or_first_byte() {
    let dir = tempfile::tempdir().unwrap();
    for (name, text, format) in [
        ("x.csv", "{", Format::Csv),
        ("x.ndjson", "a,b", Format::Ndjson),
        ("x", " {\"id\":1}", Format::Ndjson),
        ("y", "a,b", Format::Csv),
        ("z", "", Format::Csv),
    ] {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        assert_eq!(Input::open(Some(&path), None).ok().map(|input| input.format), Some(format), "{name}");
    }
    let failure = Input::open(Some(Path::new("/no/such.csv")), None).err().unwrap();
    assert_eq!(failure.code, crate::cli::ExitCode::Usage);
}

#[test]
fn memory_is_bounded_whatever_comes() {
    // A line without an end: only the limit is kept.
    let mut line = Vec::new();
    let mut endless = std::io::BufReader::new(std::io::Read::take(std::io::repeat(b'x'), 10 << 20));
    assert!(read_line(&mut endless, &mut line, 1000).unwrap());
    assert_eq!(line.len(), 1001);
    // A quote that is never closed ends the input instead of filling the memory.
    let (_dir, bundle) = bundle();
    let open = std::io::Read::chain(Cursor::new(b"id,a\n1,\"".to_vec()), std::io::repeat(b'x'));
    let input = Input { format: Format::Csv, stream: Box::new(std::io::BufReader::new(open)) };
    let failure = events::score(&bundle, input, rules(), false, &mut Output::to(&mut Vec::new())).unwrap_err();
    assert!(failure.message.contains(&RECORD_BYTES_MAX.to_string()), "{}", failure.message);
}

#[test]
fn what_each_column_adds_is_told_where_it_is_exact_and_refused_where_not() {
    let along = rows::Along { contributions: true, ..rows::Along::default() };
    let (_dir, network) = bundle();
    let mut out = Vec::new();
    let refused = rows::score(&network, input(Format::Csv, "a,b\n1,2\n"), along, &mut Output::to(&mut out));
    assert!(refused.unwrap_err().message.contains("expected a model whose reasons are Shapley values, found baseline"));

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("model.txt");
    let seed = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/model_lightgbm/binary");
    let text = fs::read_to_string(seed).unwrap();
    fs::write(&file, text.replace("leaf_value=0.1\n", "leaf_value=0.1\nleaf_count=30\n")).unwrap();
    let trees = load(&file, &LoadOptions::default()).unwrap();
    let mut out = Vec::new();
    rows::score(&trees, input(Format::Csv, "a,b\n0,0\n"), along, &mut Output::to(&mut out)).unwrap();
    // One tree of three leaves with ten rows each: 5/12 is known of none, 3/4 of a alone, 1/4 of b alone, 1/2 of both.
    let added = &lines(out)[0]["contributions"];
    near(&added["a"], 7.0 / 24.0);
    near(&added["b"], -5.0 / 24.0);
}
