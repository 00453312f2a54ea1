//! Files that grow by any steps, read by any blocks: the records are those that were written.

use super::*;
use crate::event::Item;
use crate::ingest::tests::rig::Rig;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::io::Write;

/// A record's limit, under the size of a block or over it.
const LIMIT: usize = 40;

/// Writes by steps, reads after each; the texts of all records, and the ids of those that are events.
fn read(rig: &Rig, text: &[u8], steps: &[usize], format: &Format, block: usize) -> (Vec<String>, Vec<String>) {
    let mut file = tempfile::tempfile().unwrap();
    let mut blocks = Blocks::new(file.try_clone().unwrap(), 0, format, LIMIT);
    blocks.block = block;
    let (mut texts, mut ids) = (Vec::new(), Vec::new());
    let mut take = |blocks: &mut Blocks, written: u64, ended: bool| loop {
        let wanting = blocks.wants_more();
        let read = blocks.fill(written - blocks.read_to()).unwrap();
        let ended = ended && blocks.read_to() == written;
        let Some(decoded) = blocks.decode(&*rig.intake, Some("p/"), ended).unwrap() else {
            if read == 0 && wanting {
                return;
            }
            continue;
        };
        for item in &decoded.batch.items {
            let raw = match item {
                Item::Event(event) => {
                    ids.push(decoded.batch.str(event.id).to_owned());
                    event.raw
                }
                Item::Label(label) => label.raw,
                Item::Bad(bad) => bad.raw,
            };
            texts.push(String::from_utf8_lossy(raw.of(&decoded.batch.body)).into_owned());
        }
        assert!(decoded.next <= written);
    };
    let (mut rest, mut written, mut steps) = (text, 0, steps.iter().cycle());
    while !rest.is_empty() {
        let (part, after) = rest.split_at((*steps.next().unwrap()).min(rest.len()));
        file.write_all(part).unwrap();
        written += part.len() as u64;
        rest = after;
        take(&mut blocks, written, false);
    }
    take(&mut blocks, written, true);
    assert_eq!(blocks.read_to(), written);
    (texts, ids)
}

fn runner() -> TestRunner {
    TestRunner::new(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })
}

#[test]
fn lines_are_those_that_were_written() {
    let dir = tempfile::tempdir().unwrap();
    let rig = Rig::open(dir.path());
    let lines = prop::collection::vec("[a-z]{0,60}", 0..30);
    let steps = prop::collection::vec(1usize..100, 1..5);
    let all = (lines, steps, 8usize..200);
    let done = runner().run(&all, |(lines, steps, block)| {
        let (texts, _) = read(&rig, lines.join("\n").as_bytes(), &steps, &Format::Ndjson, block);
        prop_assert_eq!(&texts, &lines.iter().filter(|line| !line.is_empty()).cloned().collect::<Vec<_>>());
        Ok(())
    });
    done.unwrap();
    rig.close();
}

#[test]
fn rows_are_those_that_were_written_and_ids_their_places() {
    let dir = tempfile::tempdir().unwrap();
    let rig = Rig::open(dir.path());
    let notes = prop::collection::vec("[a-z\"\r\n]{1,12}", 0..30);
    let steps = prop::collection::vec(1usize..100, 1..5);
    let all = (notes, steps, 8usize..200, any::<bool>());
    let done = runner().run(&all, |(notes, steps, block, last)| {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(["note", "n"]).unwrap();
        for note in &notes {
            writer.write_record([note.as_str(), "1"]).unwrap();
        }
        let mut text = writer.into_inner().unwrap();
        if last {
            text.pop();
        }
        let (texts, ids) = read(&rig, &text, &steps, &Format::Csv(CsvForm::default()), block);
        let expected =
            notes.iter().map(|note| format!("{{\"note\":{},\"n\":1}}", serde_json::to_string(note).unwrap()));
        prop_assert_eq!(texts, expected.collect::<Vec<_>>());
        let places: Vec<usize> = ids.iter().map(|id| id.strip_prefix("p/").unwrap().parse().unwrap()).collect();
        prop_assert!(places.is_sorted() && places.first().is_none_or(|first| *first == "note,n\n".len()));
        prop_assert_eq!(places.len(), notes.len());
        Ok(())
    });
    done.unwrap();
    rig.close();
}
