//! Windows, budgets and trimming.

use super::*;
use std::time::Duration;

const HOUR_MS: u64 = 3_600_000;

fn one_hour(dir: &Path) -> Options {
    Options { window: Duration::from_hours(1), ..options(dir) }
}

/// Events of the past few hours, a hundred a minute, as if they had been logged then.
fn load_past(rig: &mut Rig, hours: u64) {
    let now = rig.writer.clock().now_ms();
    for minute in 0..hours * 60 {
        for n in 0..100 {
            rig.add_at(&format!("m{minute}-{n}"), now - hours * HOUR_MS + minute * 60_000);
        }
        rig.commit();
    }
}

#[test]
fn what_is_delivered_and_out_of_the_window_goes_and_nothing_else() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = Rig::open(&one_hour(dir.path()));
    load_past(&mut rig, 4);
    let next = rig.store.committed();
    assert_eq!(rig.log(1).len() as u64, next - 1, "nothing is delivered");
    rig.store.set_cursor("file", 9_000).expect("cursor");
    (0..50).for_each(|_| rig.writer.maintain().expect("maintain"));
    let first = rig.log(1)[0].0;
    assert!((8_400..=9_000).contains(&first), "{first}: all that is delivered and nothing more");
    rig.store.set_cursor("file", next).expect("cursor");
    (0..200).for_each(|_| rig.writer.maintain().expect("maintain"));
    let first = rig.log(1)[0].0;
    // Three of four hours are out; the edge is exact to a few minutes.
    assert!((17_000..=18_001).contains(&first), "{first}");
    assert_eq!(rig.store.stats().log_floor, first);
    let stats = rig.store.stats();
    assert_eq!((stats.window_ms, stats.window_cut_by), (HOUR_MS, None));
    rig.index.expire(rig.store.window_floor());
    assert_eq!(rig.find("m0-0"), None);
    assert_eq!(rig.find("m239-99"), Some(next - 1));
    drop((rig.writer, rig.store));
    let rig = Rig::open(&one_hour(dir.path()));
    assert_eq!(rig.log(1)[0].0, first);
    assert_eq!(rig.store.committed(), next);
    assert_eq!(rig.find("m100-0"), None);
}

#[test]
fn a_sink_that_is_not_declared_holds_nothing_back_and_keeps_its_place() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = Rig::open(&options(dir.path()));
    rig.load("a", 100);
    rig.store.set_cursor("file", 42).expect("cursor");
    rig.writer.close().expect("close");
    drop(rig.store);
    let other = SinkDecl { name: "new".into(), start: SinkStart::Newest };
    let rig = Rig::open(&Options { sinks: vec![other], ..options(dir.path()) });
    assert_eq!(rig.store.cursor("new").expect("cursor"), 101);
    assert!(rig.store.cursor("file").is_err());
    assert_eq!(rig.store.stats().orphan_cursors, vec![(String::from("file"), 42)]);
    drop((rig.writer, rig.store));
    assert_eq!(Rig::open(&options(dir.path())).store.cursor("file").expect("cursor"), 42);
}

#[test]
fn labels_are_kept_as_long_as_the_window_is() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = Rig::open(&one_hour(dir.path()));
    let now = rig.writer.clock().now_ms();
    for (id, age_ms) in [("old", 2 * HOUR_MS), ("young", HOUR_MS / 2)] {
        let labels = vec![label(id, now - age_ms)];
        rig.writer.commit(&Commit { labels, ..Commit::default() }).expect("commit");
    }
    rig.writer.maintain().expect("maintain");
    let ids = |rig: &Rig| {
        let mut ids = Vec::new();
        rig.store.each_label(&mut |label| ids.push(label.id)).expect("labels");
        ids
    };
    assert_eq!((ids(&rig), rig.store.stats().labels), (vec![String::from("young")], 1));
    rig.writer.close().expect("close");
    drop(rig.store);
    let mut rig = Rig::open(&one_hour(dir.path()));
    // Numbers go on after those that were stored, so that none is overwritten.
    let labels = vec![label("new", now)];
    rig.writer.commit(&Commit { labels, ..Commit::default() }).expect("commit");
    assert_eq!(ids(&rig), ["young", "new"]);
    assert!(inspect::report(dir.path()).expect("report").damage.is_empty());
}

#[test]
fn a_forgotten_sink_is_gone_and_nothing_else_is() {
    let dir = tempfile::tempdir().expect("dir");
    let two = ["file", "bank"].map(|name| SinkDecl { name: name.into(), start: SinkStart::Oldest });
    let both = Options { sinks: two.to_vec(), ..options(dir.path()) };
    let mut rig = Rig::open(&both);
    rig.load("a", 100);
    rig.store.set_cursor("file", 42).expect("cursor");
    rig.store.set_cursor("bank", 77).expect("cursor");
    let log = rig.log(0);
    assert!(matches!(forget_sink(dir.path(), "bank"), Err(StoreError::Held { .. })));
    rig.writer.close().expect("close");
    drop(rig.store);
    let unknown = forget_sink(dir.path(), "bnak").expect_err("unknown").to_string();
    assert!(unknown.contains("\"bnak\"") && unknown.contains("bank") && unknown.contains("file"), "{unknown}");
    assert_eq!(forget_sink(dir.path(), "bank").expect("forget"), 77);
    let rig = Rig::open(&options(dir.path()));
    assert_eq!((rig.store.cursor("file").expect("cursor"), rig.store.stats().orphan_cursors), (42, vec![]));
    assert_eq!(rig.log(0), log);
    let nowhere = forget_sink(&dir.path().join("nowhere"), "bank");
    assert!(matches!(nowhere, Err(StoreError::Io { kind: std::io::ErrorKind::NotFound, .. })));
}

#[test]
fn the_index_budget_shortens_the_window_and_says_so() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = Rig::open(&Options { index_bytes: 0, ..options(dir.path()) });
    for round in 0..20 {
        rig.load(&format!("r{round}-"), 300);
        rig.store.set_cursor("file", rig.store.committed()).expect("cursor");
    }
    rig.writer.maintain().expect("maintain");
    let stats = rig.store.stats();
    assert_eq!(stats.window_cut_by, Some(WindowCut::Memory));
    assert_eq!(rig.find("r0-0"), None);
    assert_eq!(rig.find("r19-299"), Some(6000));
    assert!(stats.log_floor > 4000, "{}", stats.log_floor);
    assert!(stats.index_bytes < 128 << 10, "{}", stats.index_bytes);
}

#[test]
fn the_window_in_force_is_told_also_while_a_sink_holds_the_log_back() {
    let dir = tempfile::tempdir().expect("dir");
    let small = Options { index_bytes: 0, ..one_hour(dir.path()) };
    let mut rig = Rig::open(&small);
    assert_eq!(rig.store.stats().window_ms, HOUR_MS, "of a new store");
    rig.load("young", 10);
    assert_eq!((rig.store.stats().window_ms, rig.store.stats().window_cut_by), (HOUR_MS, None));
    drop((rig.writer, rig.store));
    let dir = tempfile::tempdir().expect("dir");
    let small = Options { dir: dir.path().to_owned(), ..small };
    let mut rig = Rig::open(&small);
    load_past(&mut rig, 1);
    rig.writer.maintain().expect("maintain");
    // The 1,024 newest of a hundred a minute.
    let is_cut = |stats: Stats| {
        assert_eq!(stats.window_cut_by, Some(WindowCut::Memory));
        assert!((9 * 60_000..12 * 60_000).contains(&stats.window_ms), "{}", stats.window_ms);
    };
    is_cut(rig.store.stats());
    drop((rig.writer, rig.store));
    is_cut(Rig::open(&small).store.stats());
}

/// Loads until the disk budget is met. Gives the number of events taken.
fn load_until_full(rig: &mut Rig, deliver: bool) -> Option<u64> {
    for round in 0u64..300 {
        if rig.store.room() != Room::Yes {
            return Some(rig.store.committed());
        }
        for n in 0..1000u64 {
            rig.add(&noisy_id(round * 1000 + n));
        }
        rig.commit();
        rig.index.expire(rig.store.window_floor());
        if deliver {
            rig.store.set_cursor("file", rig.store.committed()).expect("cursor");
        }
    }
    None
}

#[test]
fn at_the_disk_budget_delivered_events_go_early_and_undelivered_ones_stop_the_intake() {
    let with =
        |dir: &Path, when_full| Options { disk_bytes: 28 << 20, index_bytes: 8 << 20, when_full, ..options(dir) };
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = Rig::open(&with(dir.path(), WhenFull::Shorten));
    assert_eq!(load_until_full(&mut rig, true), None, "the window is shortened");
    rig.add("behind");
    rig.commit();
    let stats = rig.store.stats();
    assert_eq!(stats.window_cut_by, Some(WindowCut::Disk));
    assert!(stats.disk_bytes < 28 << 20, "{}", stats.disk_bytes);
    rig.writer.close().expect("close");
    drop(rig.store);
    let again = Rig::open(&with(dir.path(), WhenFull::Shorten)).store.stats();
    assert_eq!(again.window_cut_by, Some(WindowCut::Disk), "a start does not forget it");

    let dir = tempfile::tempdir().expect("dir");
    let mut rig = Rig::open(&with(dir.path(), WhenFull::Refuse));
    assert!(load_until_full(&mut rig, true).is_some(), "the window is kept");

    let dir = tempfile::tempdir().expect("dir");
    let mut rig = Rig::open(&with(dir.path(), WhenFull::Shorten));
    let taken = load_until_full(&mut rig, false).expect("full");
    assert_eq!(rig.log(1).len() as u64, taken - 1, "undelivered events are never removed");
    // Draining makes room again, also through a restart.
    drop((rig.writer, rig.store));
    let mut rig = Rig::open(&with(dir.path(), WhenFull::Shorten));
    assert_eq!(rig.store.room(), Room::BudgetReached);
    rig.store.set_cursor("file", taken).expect("cursor");
    (0..40).for_each(|_| rig.writer.maintain().expect("maintain"));
    assert_eq!(rig.store.room(), Room::Yes);
    rig.load("again", 10);
    assert!(rig.store.stats().disk_bytes < 28 << 20, "{}", rig.store.stats().disk_bytes);
}

#[test]
fn the_quarantine_keeps_to_its_budget_by_letting_the_oldest_go() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = Rig::open(&Options { quarantine_bytes: 100_000, ..options(dir.path()) });
    let bytes: Vec<u8> = (0u64..20_000).map(|n| noise(n).to_le_bytes()[0]).collect();
    for n in 0..10 {
        let entry = QuarantineEntry {
            kind: "malformed".into(),
            source: "pos".into(),
            id: Some(format!("id{n}")),
            reason: "é".repeat(2000),
            bytes: bytes.clone(),
            length: 0,
            at_ms: n,
        };
        rig.writer.commit(&Commit { quarantine: vec![entry], ..Commit::default() }).expect("commit");
    }
    let listed = rig.store.quarantine_list(0, 100).expect("list");
    assert_eq!(listed.iter().map(|info| info.sequence).collect::<Vec<_>>(), [7, 8, 9, 10]);
    assert_eq!(rig.store.stats().quarantine_evicted, 6);
    assert!(listed[0].reason.chars().all(|c| c == 'é'));
    let (info, entry) = rig.store.quarantine_get(10).expect("get").expect("there");
    assert_eq!((info.bytes, entry.bytes), (20_000, bytes));
    assert_eq!(info.id.as_deref(), Some("id9"));
    // Of one whose bytes are not kept the length is.
    let without = QuarantineEntry { bytes: Vec::new(), length: 70_000, ..entry };
    rig.writer.commit(&Commit { quarantine: vec![without.clone()], ..Commit::default() }).expect("commit");
    let (info, entry) = rig.store.quarantine_get(11).expect("get").expect("there");
    assert_eq!(info.bytes, 70_000);
    assert_eq!(entry.bytes, without.bytes);
    assert_eq!(entry.length, 70_000);
}

#[test]
fn a_refused_commit_leaves_the_log_as_it_was() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = Rig::open(&options(dir.path()));
    rig.load("a", 10);
    rig.add("lost");
    let _ = rig.builder.seal();
    rig.add("behind");
    let chunks = rig.builder.seal();
    let refused = rig.writer.commit(&Commit { chunks, ..Commit::default() });
    assert!(matches!(refused, Err(StoreError::OutOfOrder { found: 12, expected: 11 })), "{refused:?}");
    let next = rig.writer.next_sequence();
    rig.builder = BatchBuilder::new(next);
    rig.load("b", 1);
    assert_eq!(rig.log(11), vec![(11, String::from("b0"))]);
}
