//! CSV: rows take bytes, objects are JSON, and a cut changes nothing that is whole before it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verdictd::event::{Column, CsvForm, CsvHeader, CsvParser};

fuzz_target!(|data: &[u8]| {
    let columns = [("n", Column::Number), ("b", Column::Boolean), ("t", Column::Text)];
    let columns: Vec<_> = columns.map(|(name, column)| (name.to_owned(), column)).into();
    let mut parser = CsvParser::new(&CsvForm::default());
    let mut rest = data;
    let mut header = None;
    loop {
        rest = &rest[CsvParser::blank(rest)..];
        if rest.is_empty() {
            return;
        }
        let Some(used) = parser.read(rest) else {
            parser.read_last(rest);
            return;
        };
        assert!(used > 0 && used <= rest.len());
        match &header {
            None => {
                let known: Vec<_> = columns
                    .iter()
                    .filter(|(name, _)| parser.cells().any(|cell| cell == name.as_bytes()))
                    .cloned()
                    .collect();
                let Ok(found) = CsvHeader::new(parser.cells(), &known) else { return };
                header = Some(found);
            }
            Some(header) => {
                let mut out = Vec::new();
                if header.write_object(parser.cells(), None, &mut out).is_ok() {
                    // Numbers beyond what a double holds are JSON.
                    serde_json::from_slice::<serde::de::IgnoredAny>(&out).expect("JSON");
                }
            }
        }
        rest = &rest[used..];
    }
});
