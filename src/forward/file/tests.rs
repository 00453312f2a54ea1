//! No verdict lost, doubled or halved in the file, whatever a crash left of it.

use super::rotate::{rotated, rotated_name};
use super::*;
use crate::link::Trouble;
use crate::store::{self, BatchBuilder, Commit, NewRecord, SinkDecl, SinkStart, Writer};
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::SystemTime;

const SINK: &str = "audit";

struct Rig {
    store: Arc<Store>,
    writer: Writer,
    builder: BatchBuilder,
    options: Options,
}

impl Rig {
    fn open(dir: &Path) -> Self {
        let sinks = vec![SinkDecl { name: SINK.to_owned(), start: SinkStart::Oldest }];
        let opened = store::open(&store::Options { sinks, ..store::Options::new(dir.join("state")) }).unwrap();
        let options = Options {
            name: SINK.to_owned(),
            path: dir.join("out/verdicts.ndjson"),
            rotation: Rotation::default(),
            sync_interval: Duration::ZERO,
            encoding: Encoding::Json,
            filter: Filter::default(),
        };
        let builder = BatchBuilder::new(opened.writer.next_sequence());
        Self { store: opened.store, writer: opened.writer, builder, options }
    }

    fn commit(&mut self, ids: std::ops::Range<u32>) {
        for id in ids {
            let decision = if id % 3 == 0 { "block" } else { "allow" };
            self.builder.append(&record(&id.to_string(), decision)).unwrap();
        }
        self.writer.commit(&Commit { chunks: self.builder.seal(), ..Commit::default() }).unwrap();
    }

    fn sink(&self) -> FileSink {
        FileSink::new(self.options.clone(), Arc::clone(&self.store), Arc::default())
    }

    fn drain(&self) {
        self.sink().drain(false).unwrap();
    }
}

fn record<'a>(id: &'a str, decision: &'a str) -> NewRecord<'a> {
    NewRecord {
        source: "pos",
        id,
        key: None,
        time_us: 0,
        payload: 1,
        decision,
        score: Some(0.5),
        reasons: &[],
        model: "m@1",
        model_sha256: &[7; 32],
        decided_ms: 1_000,
        log_ms: 1_000,
        shadow: None,
    }
}

fn ids(file: &Path) -> Vec<u32> {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    let id = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].as_str().unwrap().parse();
    text.lines().map(|line| id(line).unwrap()).collect()
}

#[test]
fn every_verdict_is_one_whole_line_in_order_over_restarts_of_the_sink() {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = Rig::open(dir.path());
    for n in 0..5 {
        rig.commit(n * 100..(n + 1) * 100);
        rig.drain();
    }
    assert_eq!(ids(&rig.options.path), (0..500).collect::<Vec<_>>());
    assert_eq!(rig.store.cursor(SINK).unwrap(), rig.store.committed());
}

/// After kill -9 the stored cursor stands behind what the file already holds; without a look at the file
/// those lines came twice.
#[test]
fn lines_behind_the_stored_cursor_are_not_written_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = Rig::open(dir.path());
    rig.commit(0..300);
    rig.drain();
    rig.store.set_cursor(SINK, 120).unwrap();
    rig.drain();
    assert_eq!(ids(&rig.options.path), (0..300).collect::<Vec<_>>());
}

#[test]
fn a_torn_or_holed_tail_is_cut_and_written_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = Rig::open(dir.path());
    rig.commit(0..300);
    rig.drain();
    let whole = fs::read(&rig.options.path).unwrap();
    let settled = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(99).unwrap().0 + 1;
    for cut in [whole.len() - 1, whole.len() - 40, settled + 5, settled] {
        fs::write(&rig.options.path, &whole[..cut]).unwrap();
        rig.store.set_cursor(SINK, 101).unwrap();
        rig.drain();
        assert_eq!(fs::read(&rig.options.path).unwrap(), whole, "cut at {cut}");
    }
    // A power cut may leave the last line and lose a sector before it.
    let mut holed = whole.clone();
    holed[settled + 600..settled + 1112].fill(0);
    fs::write(&rig.options.path, &holed).unwrap();
    rig.store.set_cursor(SINK, 101).unwrap();
    rig.drain();
    assert_eq!(fs::read(&rig.options.path).unwrap(), whole);
}

/// A new state-dir beside an old file: its lines are another store's, and were once cut off as foreign.
#[test]
fn a_file_of_another_store_is_put_aside_untouched() {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = Rig::open(dir.path());
    fs::create_dir_all(rig.options.path.parent().unwrap()).unwrap();
    let old = "{\"id\":\"old\",\"sequence\":7}\n";
    fs::write(&rig.options.path, old).unwrap();
    rig.commit(0..10);
    rig.drain();
    assert_eq!(ids(&rig.options.path), (0..10).collect::<Vec<_>>());
    let aside = rotated(&rig.options.path).unwrap();
    assert_eq!(fs::read_to_string(&aside[0]).unwrap(), old);
}

/// Only the file holds these verdicts any more. They were once cut off as torn.
#[test]
fn whole_verdicts_that_the_log_lost_are_kept() {
    let (lost, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut first = Rig::open(lost.path());
    first.commit(0..20);
    first.drain();
    let whole = fs::read(&first.options.path).unwrap();
    // An older copy of the state: ten verdicts and their cursor.
    let mut rig = Rig::open(kept.path());
    rig.options.path.clone_from(&first.options.path);
    rig.commit(0..10);
    rig.store.set_cursor(SINK, 11).unwrap();
    let mut sink = rig.sink();
    sink.drain(false).unwrap();
    rig.writer.maintain().unwrap();
    sink.drain(false).unwrap();
    rig.commit(100..110);
    sink.drain(false).unwrap();
    let aside = rotated(&rig.options.path).unwrap();
    assert_eq!(aside.iter().map(|file| fs::read(file).unwrap()).collect::<Vec<_>>(), [whole]);
    assert_eq!(ids(&rig.options.path), (100..110).collect::<Vec<_>>());
}

#[test]
fn lines_in_the_encoding_before_are_put_aside_and_not_cut() {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = Rig::open(dir.path());
    rig.commit(0..10);
    rig.drain();
    let whole = fs::read(&rig.options.path).unwrap();
    rig.options.encoding = Encoding::CloudEvents;
    rig.store.set_cursor(SINK, 5).unwrap();
    rig.writer.maintain().unwrap();
    rig.drain();
    assert_eq!(fs::read(&rotated(&rig.options.path).unwrap()[0]).unwrap(), whole);
    assert_eq!(ids(&rig.options.path), (4..10).collect::<Vec<_>>());
}

/// After a failed sync the pages are clean: lines left in the file would compare equal and never be written.
#[test]
fn what_a_failed_sync_left_is_cut_off_and_written_anew() {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = Rig::open(dir.path());
    rig.commit(0..10);
    let mut sink = rig.sink();
    sink.drain(false).unwrap();
    let synced = fs::read(&rig.options.path).unwrap();
    rig.commit(10..20);
    let sync = std::mem::replace(&mut sink.sync, |_| Err(std::io::Error::other("no medium")));
    assert!(sink.drain(false).is_err());
    assert_eq!(fs::read(&rig.options.path).unwrap(), synced);
    sink.sync = sync;
    sink.drain(false).unwrap();
    assert_eq!(ids(&rig.options.path), (0..20).collect::<Vec<_>>());
}

#[test]
fn a_file_that_was_renamed_removed_or_truncated_from_outside_is_opened_anew() {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = Rig::open(dir.path());
    let mut sink = rig.sink();
    let path = rig.options.path.clone();
    let acts: [&dyn Fn(); 3] =
        [&|| fs::rename(&path, dir.path().join("moved")).unwrap(), &|| fs::remove_file(&path).unwrap(), &|| {
            fs::write(&path, "").unwrap();
        }];
    for (n, act) in (0..).zip(acts) {
        rig.commit(n * 20..n * 20 + 10);
        sink.drain(false).unwrap();
        act();
        rig.commit(n * 20 + 10..n * 20 + 20);
        sink.drain(false).unwrap();
        assert_eq!(ids(&path), (n * 20 + 10..n * 20 + 20).collect::<Vec<_>>());
        fs::remove_file(&path).unwrap();
    }
}

#[tokio::test]
async fn a_sink_that_panicked_is_down_and_is_started_anew() {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = Rig::open(dir.path());
    rig.commit(0..10);
    let status = Arc::new(SinkStatus::new(SINK, "file", String::new()));
    let starts = std::sync::atomic::AtomicU32::new(0);
    let make = || {
        let mut sink = FileSink::new(rig.options.clone(), Arc::clone(&rig.store), Arc::clone(&status));
        if starts.fetch_add(1, Relaxed) == 0 {
            sink.sync = |_| panic!("a bug");
        }
        sink
    };
    let (stop, stopped) = watch::channel(false);
    let settled = async {
        while status.delivered.load(Relaxed) < 10 {
            tokio::task::yield_now().await;
        }
        stop.send(true).unwrap();
    };
    tokio::join!(run_made(make, &rig.options, rig.store.watch(), &status, stopped), settled);
    assert_eq!((starts.load(Relaxed), status.link.errors(Trouble::Transient)), (2, 1));
    assert_eq!(ids(&rig.options.path), (0..10).collect::<Vec<_>>());
    assert!(status.link.is_up());
}

#[test]
fn only_the_wanted_decisions_are_written_and_the_cursor_passes_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = Rig::open(dir.path());
    rig.options.filter = Filter(Some(vec!["block".to_owned()]));
    rig.commit(0..10);
    rig.drain();
    rig.store.set_cursor(SINK, 3).unwrap();
    rig.drain();
    assert_eq!(ids(&rig.options.path), [0, 3, 6, 9]);
    assert_eq!(rig.store.cursor(SINK).unwrap(), rig.store.committed());
}

#[test]
fn rotation_waits_for_the_stored_cursor_loses_nothing_and_keeps_what_is_asked() {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = Rig::open(dir.path());
    rig.options.rotation = Rotation { size: Some(2_000), age: None, keep: Some(2) };
    let mut sink = rig.sink();
    for n in 0..6 {
        rig.commit(n * 10..(n + 1) * 10);
        sink.drain(false).unwrap();
        if n == 0 {
            assert!(rotated(&rig.options.path).unwrap().is_empty(), "the cursor is not stored yet");
        }
        rig.writer.maintain().unwrap();
        sink.drain(false).unwrap();
        sink.drain(false).unwrap();
    }
    let files = rotated(&rig.options.path).unwrap();
    assert_eq!(files.len(), 2);
    let kept: Vec<u32> = files.iter().flat_map(|file| ids(file)).chain(ids(&rig.options.path)).collect();
    assert_eq!(kept, (60 - u32::try_from(kept.len()).unwrap()..60).collect::<Vec<_>>());
}

#[test]
fn a_file_is_due_by_size_or_age_but_never_while_empty() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    let hour = Some(Duration::from_hours(1));
    let rotation = Rotation { size: Some(100), age: hour, keep: None };
    assert!(!rotation.is_due(0, SystemTime::UNIX_EPOCH, now));
    assert!(rotation.is_due(100, now, now));
    assert!(!rotation.is_due(99, now, now));
    assert!(rotation.is_due(1, now - Duration::from_hours(1), now));
    assert!(!Rotation::default().is_due(u64::MAX, SystemTime::UNIX_EPOCH, now));
    let name = rotated_name(Path::new("/x/verdicts.ndjson"), now, 41);
    assert_eq!(name, Path::new("/x/verdicts-19700112T134640Z-41.ndjson"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whatever stands in the file behind the stored cursor, the next drain makes it whole.
    #[test]
    fn any_tail_is_repaired(lines in 1..120u32, stored in 0..120u64, keep in 0..40_000usize, noise in prop::collection::vec(any::<u8>(), 0..700)) {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = Rig::open(dir.path());
        rig.commit(0..lines);
        rig.drain();
        let whole = fs::read(&rig.options.path).unwrap();
        let stored = stored.min(u64::from(lines)) + 1;
        let settled: usize = whole.split_inclusive(|b| *b == b'\n').take(usize::try_from(stored - 1).unwrap()).map(<[u8]>::len).sum();
        let mut torn = whole[..keep.clamp(settled, whole.len().max(settled))].to_vec();
        torn.extend(noise);
        fs::write(&rig.options.path, &torn).unwrap();
        rig.store.set_cursor(SINK, stored).unwrap();
        rig.drain();
        prop_assert_eq!(fs::read(&rig.options.path).unwrap(), whole);
    }
}
