//! Real files that grow, are rotated, emptied and put in each other's place, under a real engine.

use super::*;
use crate::event::CsvForm;
use crate::ingest::tests::rig::{EVENT_BYTES_MAX, Rig, event, events, names, poll};
use crate::store;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn options(&self) -> Options {
        Options {
            poll_interval: Duration::from_millis(1),
            rotate_wait: Duration::from_millis(20),
            ..Options::new("log", self.path("log"), EVENT_BYTES_MAX)
        }
    }

    fn start(&self, options: Options) -> Rig {
        self.start_with(options, &store::Options::new(self.path("state")))
    }

    fn start_with(&self, options: Options, store: &store::Options) -> Rig {
        let mut rig = Rig::with(self.dir.path(), store);
        rig.run(|intake, budget, status, stop| run(options, intake, budget, status, stop));
        rig
    }

    fn append(&self, text: impl AsRef<[u8]>) {
        append(&self.path("log"), text);
    }
}

fn append(path: &Path, text: impl AsRef<[u8]>) {
    OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(text.as_ref()).unwrap();
}

/// The place that is stored.
fn kept(rig: &Rig) -> super::super::Place {
    super::super::Place::decode(&rig.store().offset("file:log").unwrap().unwrap()).unwrap()
}

#[test]
fn a_file_is_followed_from_before_it_exists_and_its_last_line_waits_for_its_end() {
    let place = Place::new();
    let rig = place.start(place.options());
    poll("the warning", || rig.status.warnings().iter().any(|w| w.contains("does not exist")).then_some(()));
    place.append(events(0..3));
    assert_eq!(rig.wait_ids(3), names(0..3));
    poll("its end", || rig.status.warnings().is_empty().then_some(()));
    let line = event(3);
    place.append(&line[..20]);
    place.append(&line[20..line.len() - 1]);
    place.append(format!("\n\n{}", event(4)));
    assert_eq!(rig.wait_ids(5), names(0..5));
    assert!(rig.aside().is_empty());
    rig.close();
}

#[test]
fn after_a_restart_it_goes_on_where_it_was_and_takes_nothing_twice() {
    let place = Place::new();
    place.append(events(0..3000));
    let rig = place.start(place.options());
    rig.wait_ids(3000);
    rig.close();
    place.append(events(3000..3010));
    let rig = place.start(place.options());
    assert_eq!(rig.wait_ids(3010), names(0..3010));
    rig.close();
}

#[test]
fn a_renamed_file_is_read_to_its_end_before_the_next_one() {
    let place = Place::new();
    place.append(events(0..2));
    let rig = place.start(place.options());
    rig.wait_ids(2);
    fs::rename(place.path("log"), place.path("log.1")).unwrap();
    // Its writer has not noticed yet.
    append(&place.path("log.1"), event(2));
    append(&place.path("log.1"), event(3).trim_end());
    place.append(events(4..6));
    assert_eq!(rig.wait_ids(6), names(0..6));
    fs::rename(place.path("log.1"), place.path("log.2")).unwrap();
    fs::rename(place.path("log"), place.path("log.1")).unwrap();
    fs::write(place.path("log"), event(6)).unwrap();
    assert_eq!(rig.wait_ids(7), names(0..7));
    assert_eq!(rig.count("gaps"), 0);
    // Its writer has still not noticed.
    append(&place.path("log.1"), event(9));
    poll("the gap", || (rig.count("gaps") == 1).then_some(()));
    rig.close();
}

#[test]
fn rotations_while_it_is_down_lose_nothing() {
    let place = Place::new();
    place.append(events(0..2));
    let rig = place.start(place.options());
    rig.wait_ids(2);
    rig.close();
    place.append(event(2));
    fs::rename(place.path("log"), place.path("log.3")).unwrap();
    fs::write(place.path("log.2"), event(3)).unwrap();
    fs::write(place.path("log.1"), event(4)).unwrap();
    fs::write(place.path("log"), event(5)).unwrap();
    let rig = place.start(place.options());
    assert_eq!(rig.wait_ids(6), names(0..6));
    assert_eq!(rig.count("gaps"), 0);
    rig.close();
}

#[test]
fn a_file_that_is_emptied_is_begun_anew() {
    let place = Place::new();
    place.append(events(0..50));
    let rig = place.start(place.options());
    rig.wait_ids(50);
    fs::copy(place.path("log"), place.path("log.1")).unwrap();
    OpenOptions::new().write(true).open(place.path("log")).unwrap().set_len(0).unwrap();
    place.append(events(50..52));
    assert_eq!(rig.wait_ids(52), names(0..52));
    // Emptied and grown beyond the old end within one look.
    let longer = events(1000..1200);
    fs::write(place.path("log"), &longer).unwrap();
    rig.wait_ids(252);
    assert_eq!(rig.ids()[52..], names(1000..1200));
    rig.close();
}

#[test]
fn what_was_not_read_before_the_file_was_emptied_is_read_from_the_copy_after_a_stop() {
    let place = Place::new();
    place.append(events(0..50));
    let rig = place.start(place.options());
    rig.wait_ids(50);
    rig.close();
    place.append(events(50..60));
    fs::copy(place.path("log"), place.path("log.1")).unwrap();
    fs::write(place.path("log"), event(60)).unwrap();
    let rig = place.start(place.options());
    assert_eq!(rig.wait_ids(61), names(0..61));
    assert_eq!(rig.count("gaps"), 0);
    rig.close();
}

#[test]
fn an_inode_that_another_file_has_now_is_noticed_and_the_gap_named() {
    let place = Place::new();
    place.append(events(0..50));
    let rig = place.start(place.options());
    rig.wait_ids(50);
    rig.close();
    // The same inode, longer than before: only its bytes tell.
    fs::write(place.path("log"), events(100..200)).unwrap();
    let rig = place.start(place.options());
    rig.wait_ids(150);
    assert_eq!(rig.ids()[50..], names(100..200));
    assert_eq!(rig.count("gaps"), 1);
    rig.close();
}

#[test]
fn a_start_at_the_end_holds_also_when_nothing_came_before_the_next_start() {
    let place = Place::new();
    place.append(events(0..5) + "half a li");
    let options = Options { start: Start::End, ..place.options() };
    let rig = place.start(options.clone());
    poll("the place", || rig.store().offset("file:log").unwrap());
    let at = kept(&rig);
    assert_eq!(at.offset, events(0..5).len() as u64);
    rig.close();
    place.append(format!("ne\n{}", event(5)));
    let rig = place.start(options);
    assert_eq!(rig.wait_ids(1), ["5"]);
    assert_eq!(rig.wait_aside(1)[0].1, "half a line");
    rig.close();
}

#[test]
fn a_line_that_is_too_long_is_set_aside_and_the_rest_flows_on() {
    let place = Place::new();
    // Longer than a block, so that it is never in memory as a whole.
    let long = "x".repeat(3 * super::super::BLOCK_BYTES);
    place.append(format!("{}{long}\n{}", event(0), event(1)));
    let rig = place.start(place.options());
    assert_eq!(rig.wait_ids(2), names(0..2));
    let aside = rig.aside();
    assert_eq!((aside.len(), aside[0].0.as_str(), aside[0].1.len()), (1, "oversized", 64 << 10));
    rig.close();
}

#[test]
fn events_without_an_id_get_one_of_the_file_and_the_place_that_no_other_file_gives() {
    let place = Place::new();
    let line = "{\"TX_AMOUNT\":1,\"TX_DATETIME\":\"2026-01-01T12:00:00Z\"}\n";
    place.append(line.repeat(3));
    let rig = place.start(place.options());
    let first = rig.wait_ids(3);
    let prefix = kept(&rig).ids;
    let places: Vec<_> = first.iter().map(|id| id.strip_prefix(&prefix).unwrap().parse::<usize>().unwrap()).collect();
    assert_eq!(places, [0, line.len(), 2 * line.len()]);
    // The very same content, in another file and then in the same one again.
    fs::rename(place.path("log"), place.path("log.1")).unwrap();
    place.append(line.repeat(3));
    rig.wait_ids(6);
    OpenOptions::new().write(true).open(place.path("log")).unwrap().set_len(0).unwrap();
    poll("the new beginning", || (kept(&rig).generation == 2).then_some(()));
    place.append(line.repeat(3));
    let all: std::collections::BTreeSet<_> = rig.wait_ids(9).into_iter().collect();
    assert_eq!(all.len(), 9);
    assert!(rig.aside().is_empty());
    rig.close();
}

#[test]
fn rows_of_a_table_are_followed_and_the_header_is_known_after_a_restart() {
    let place = Place::new();
    let options = Options { format: Format::Csv(CsvForm::default()), ..place.options() };
    place.append("id,TX_AMOUNT,TX_DATETIME,note\r\n0,5,2026-01-01T12:00:00Z,\"a\nb\"\r\n1,5,2026-01");
    let rig = place.start(options.clone());
    rig.wait_ids(1);
    place.append("-01T12:00:00Z,\n2,5\n");
    rig.wait_ids(2);
    assert_eq!(rig.wait_aside(1), [("malformed".to_owned(), "2,5\n".to_owned())]);
    rig.close();
    place.append("3,5,2026-01-01T12:00:00Z,\n");
    let rig = place.start(options);
    assert_eq!(rig.wait_ids(3), ["0", "1", "3"]);
    rig.close();
}

#[test]
fn line_ends_in_quotes_cross_the_edges_of_blocks() {
    let place = Place::new();
    let options = Options { format: Format::Csv(CsvForm::default()), ..place.options() };
    // Four blocks and more.
    let row = |id| format!("{id},5,2026-01-01T12:00:00Z,\"{}\"\r\n", "a line\r\nof text, \"\"\n".repeat(40));
    let rows: Vec<_> = (0..3000).map(row).collect();
    let text = format!("id,TX_AMOUNT,TX_DATETIME,note\r\n{}", rows.concat());
    assert!(text.len() > 4 * super::super::BLOCK_BYTES);
    place.append(&text[..text.len() - 300]);
    let rig = place.start(options);
    rig.wait_ids(2900);
    place.append(&text[text.len() - 300..]);
    assert_eq!(rig.wait_ids(3000), names(0..3000));
    assert!(rig.aside().is_empty());
    rig.close();
}

#[test]
fn a_row_whose_quote_is_never_closed_does_not_swallow_the_rest() {
    let place = Place::new();
    let options = Options { format: Format::Csv(CsvForm::default()), ..place.options() };
    let rows = |ids: std::ops::Range<u32>| ids.map(|id| format!("{id},5,2026-01-01T12:00:00Z\n")).collect::<Vec<_>>();
    place.append(format!("id,TX_AMOUNT,TX_DATETIME\n{}\"1,5,\n{}", rows(0..1).concat(), rows(2..400).concat()));
    let rig = place.start(options);
    let ids = rig.wait_ids(399);
    assert_eq!((ids[0].as_str(), ids[1].as_str(), ids.len()), ("0", "2", 399));
    assert_eq!(rig.aside(), [("malformed".to_owned(), "\"1,5,\n".to_owned())]);
    rig.close();
}

#[test]
fn while_nothing_can_be_taken_the_place_stays_and_all_of_it_comes_later() {
    let place = Place::new();
    let sinks = vec![store::SinkDecl { name: "dead".to_owned(), start: store::SinkStart::Oldest }];
    let options = store::Options { sinks, ..store::Options::new(place.path("state")) };
    let rig = place.start_with(place.options(), &options);
    place.append(event(0));
    rig.wait_ids(1);
    rig.close();
    // No room is left, nor to be made.
    let rig = place.start_with(place.options(), &store::Options { disk_bytes: 1, ..options.clone() });
    let before = kept(&rig).offset;
    place.append(events(1..5000));
    poll("a refusal", || (rig.intake.origin.refused.load(Relaxed) > 0).then_some(()));
    assert_eq!((rig.ids().len(), kept(&rig).offset), (1, before));
    rig.close();
    let rig = place.start_with(place.options(), &options);
    assert_eq!(rig.wait_ids(5000), names(0..5000));
    rig.close();
}

#[test]
fn a_file_that_may_not_be_one_is_told_and_tried_again() {
    let place = Place::new();
    fs::create_dir(place.path("log")).unwrap();
    let rig = place.start(place.options());
    poll("the error", || rig.status.link.last_error());
    fs::remove_dir(place.path("log")).unwrap();
    place.append(event(0));
    rig.wait_ids(1);
    poll("the recovery", || rig.status.link.is_up().then_some(()));
    rig.close();
}
