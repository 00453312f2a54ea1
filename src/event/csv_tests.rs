//! Rows cut anywhere, columns of each type, and what no row can be.

use super::*;
use proptest::prelude::*;

fn objects(text: &str, form: &CsvForm) -> Vec<Result<String, String>> {
    let mut parser = CsvParser::new(form);
    let mut rest = text.as_bytes();
    let mut header = None;
    let mut found = Vec::new();
    loop {
        rest = &rest[CsvParser::blank(rest)..];
        if rest.is_empty() {
            return found;
        }
        let used = parser.read(rest).unwrap_or_else(|| {
            assert!(parser.read_last(rest), "a quote is not closed");
            rest.len()
        });
        rest = &rest[used..];
        match &header {
            None => header = Some(CsvHeader::new(parser.cells(), &form.columns).unwrap()),
            Some(header) => {
                let mut out = Vec::new();
                let written = header.write_object(parser.cells(), None, &mut out);
                assert!(written.is_ok() || out.is_empty());
                found.push(written.map(|()| String::from_utf8(out).unwrap()));
            }
        }
    }
}

fn whole(text: &str) -> Vec<String> {
    objects(text, &CsvForm::default()).into_iter().map(Result::unwrap).collect()
}

#[test]
fn numbers_are_numbers_texts_are_texts_and_empty_cells_are_left_out() {
    let text = "\u{feff}id , n,empty\r\n7,-1.5e3,\n\n\"a \"\"b\"\"\n\\\",007,x\n";
    assert_eq!(whole(text), [r#"{"id":7,"n":-1.5e3}"#, r#"{"id":"a \"b\"\n\\","n":"007","empty":"x"}"#]);
}

#[test]
fn the_last_row_needs_no_line_end_and_its_last_cell_may_be_empty() {
    assert_eq!(whole("a,b\n1,2\n3,"), [r#"{"a":1,"b":2}"#, r#"{"a":3}"#]);
    assert_eq!(whole("a\r1\r2"), [r#"{"a":1}"#, r#"{"a":2}"#]);
}

#[test]
fn a_quote_that_is_not_closed_is_told_from_a_last_row() {
    let mut parser = CsvParser::new(&CsvForm::default());
    assert!(parser.read(b"a,\"b\n").is_none());
    assert!(!parser.read_last(b"a,\"b\n"));
    assert!(parser.read_last(b"a,\"b\""));
    assert_eq!(parser.cells().collect::<Vec<_>>(), [b"a", b"b"]);
}

#[test]
fn columns_have_the_type_that_is_configured() {
    let columns = [("t", Column::Text), ("n", Column::Number), ("b", Column::Boolean)];
    let columns = columns.map(|(name, column)| (name.to_owned(), column)).to_vec();
    let form = CsvForm { separator: b';', quote: b'\'', columns };
    let rows = objects("t;n;b\n7; +5;YES\n'x;y';NaN;0\n;.5; \n;five;\n;;maybe\n1;2\n", &form);
    let want = [
        Ok(r#"{"t":"7","n":5.0,"b":true}"#.to_owned()),
        Ok(r#"{"t":"x;y","b":false}"#.to_owned()),
        Ok(r#"{"n":0.5}"#.to_owned()),
        Err(r#"column "n": expected a number, found "five""#.to_owned()),
        Err(r#"column "b": expected true or false, found "maybe""#.to_owned()),
        Err("expected 3 cells as in the header, found 2".to_owned()),
    ];
    assert_eq!(rows, want);
}

#[test]
fn a_header_says_each_name_once_and_all_that_are_configured() {
    let header = |cells: &[&'static [u8]], columns: &[(String, Column)]| {
        CsvHeader::new(cells.iter().copied(), columns).map(|header| header.len())
    };
    assert_eq!(header(&[b"a", b""], &[]), Ok(2));
    assert_eq!(header(&[b"a", b" a"], &[]), Err(HeaderFault::Twice("a".to_owned())));
    assert_eq!(header(&[b"a", b"\xff"], &[]), Err(HeaderFault::NotText(2)));
    assert_eq!(header(&[b"a"], &[("b".to_owned(), Column::Text)]), Err(HeaderFault::Absent("b".to_owned())));
}

#[test]
fn a_lead_stands_before_the_cells() {
    let header = CsvHeader::new([b"a".as_slice()], &[]).unwrap().with_nan_missing();
    let mut out = Vec::new();
    header.write_object([b"nan".as_slice()].into_iter(), Some(("id", "7")), &mut out).unwrap();
    assert_eq!(out, br#"{"id":"7"}"#);
}

fn cell() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z\",;\\r\\n '\u{e9}]{0,12}", "-?[0-9]{1,3}(\\.[0-9]{1,2})?"]
}

fn write(rows: &[Vec<String>]) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.write_record(row).unwrap();
    }
    writer.into_inner().unwrap()
}

proptest! {
    /// What is written by another hand is read here, wherever the input is cut: a row is whole or not there yet.
    #[test]
    fn rows_are_read_as_they_were_written(rows in prop::collection::vec(prop::collection::vec(cell(), 3), 1..6), cut in 0usize..400) {
        let text = write(&rows);
        let cut = cut.min(text.len());
        let mut parser = CsvParser::new(&CsvForm::default());
        let mut at = 0;
        for row in &rows {
            at += CsvParser::blank(&text[at..]);
            // Cells of a row that is not whole are not taken.
            if cut > at && let Some(used) = parser.read(&text[at..cut]) {
                prop_assert!(at + used <= cut);
                prop_assert!(parser.cells().eq(row.iter().map(String::as_bytes)));
            }
            let used = parser.read(&text[at..]).unwrap();
            prop_assert!(parser.cells().eq(row.iter().map(String::as_bytes)));
            at += used;
        }
    }

    /// No bytes are too strange: each step takes some, and an object is JSON.
    #[test]
    fn any_bytes_are_rows_or_none(bytes in prop::collection::vec(prop_oneof![Just(b'"'), Just(b','), Just(b'\n'), any::<u8>()], 0..200)) {
        let mut parser = CsvParser::new(&CsvForm::default());
        let header = CsvHeader::new([b"a".as_slice(), b"b"], &[]).unwrap();
        let mut rest = &bytes[..];
        loop {
            rest = &rest[CsvParser::blank(rest)..];
            if rest.is_empty() {
                break;
            }
            let Some(used) = parser.read(rest) else {
                parser.read_last(rest);
                break;
            };
            prop_assert!(used > 0);
            let mut out = Vec::new();
            if header.write_object(parser.cells(), None, &mut out).is_ok() {
                prop_assert!(serde_json::from_slice::<serde::de::IgnoredAny>(&out).is_ok());
            }
            rest = &rest[used..];
        }
    }
}

#[test]
fn json_numbers_are_those_of_the_grammar() {
    for text in ["0", "-0", "10", "1.5", "1e5", "-1.25E-7", "1e+9"] {
        assert!(is_json_number(text.as_bytes()), "{text}");
        assert!(serde_json::from_str::<serde_json::Value>(text).unwrap().is_number(), "{text}");
    }
    for text in ["", "-", "+1", "01", ".5", "1.", "1e", "1e+", "0x1", " 1", "1 ", "inf", "1.e5", "--1", "1_0"] {
        assert!(!is_json_number(text.as_bytes()), "{text}");
    }
}
