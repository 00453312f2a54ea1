//! Events kept for a replay stand there with their verdicts, once, for their time and in their budget, and are the first
//! to go where room is short.

use super::*;
use std::ops::Range;
use std::time::Duration;

const DAY: Duration = Duration::from_hours(24);

pub fn line(sequence: u64) -> Vec<u8> {
    let n = noise(sequence);
    // Most are alike, some are long and nothing shortens them.
    let more: String = (0..if n.is_multiple_of(97) { 200 } else { 1 }).map(|k| noise(n ^ k).to_string()).collect();
    format!(
        r#"{{"specversion":"1.0","source":"pos","id":"{sequence}","data":{{"amount":{},"m":"{more}"}}}}"#,
        n % 10_000
    )
    .into_bytes()
}

pub fn kept(sequences: Range<u64>) -> Kept {
    let mut kept = Kept::default();
    sequences.for_each(|sequence| kept.push(sequence, &line(sequence)));
    kept
}

/// Sequence and line of each, ascending.
pub fn all(store: &Store) -> Vec<(u64, Vec<u8>)> {
    let each = store.kept().map(|event| event.expect("read"));
    each.map(|event| (event.sequence, event.line.into_vec())).collect()
}

pub fn options_for(dir: &Path) -> Options {
    Options { keeping: Keeping { time: Some(DAY), bytes: 64 << 20 }, ..options(dir) }
}

fn keeping(options: &Options) -> Rig {
    Rig { keeping: true, ..Rig::open(options) }
}

fn must_be(rig: &Rig, sequences: Range<u64>) {
    let count = sequences.end.saturating_sub(sequences.start);
    let expected: Vec<_> = sequences.map(|sequence| (sequence, line(sequence))).collect();
    assert!(all(&rig.store) == expected);
    assert_eq!(rig.store.stats().kept_events, count);
}

#[test]
fn each_verdict_has_its_event_once_whatever_the_commits_sizes_and_starts() {
    let dir = tempfile::tempdir().expect("dir");
    let mut next = 1;
    for round in 0..6 {
        let mut rig = keeping(&options_for(dir.path()));
        must_be(&rig, 1..next);
        for n in 0..20 {
            rig.load(&format!("r{round}-{n}-"), [1, 1, 3, 700, 2][n % 5]);
        }
        next = rig.store.committed();
        must_be(&rig, 1..next);
        if round % 2 == 0 {
            rig.writer.close().expect("close");
        }
    }
    let report = inspect::report(dir.path()).expect("report");
    assert_eq!((report.damage, report.kept_events), (vec![], next - 1));
}

#[test]
fn lines_that_are_alike_take_a_part_of_their_room_and_a_start_counts_what_the_commits_did() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = keeping(&options_for(dir.path()));
    (0..300).for_each(|n| rig.load(&format!("e{n}-"), 1));
    (0..20).for_each(|n| rig.load(&format!("f{n}-"), 500));
    let raw: usize = (1..10_301).map(|sequence| line(sequence).len()).sum();
    let of = |rig: &Rig| (rig.store.stats().kept_bytes, rig.store.stats().live_bytes);
    let before = of(&rig);
    assert!(before.0 < raw as u64 * 6 / 10, "{} of {raw}", before.0);
    rig.writer.close().expect("close");
    drop((rig.store, rig.index));
    let rig = Rig::open(&options_for(dir.path()));
    assert_eq!(of(&rig), before);
}

#[test]
fn they_keep_to_their_budget_and_the_newest_stay() {
    let dir = tempfile::tempdir().expect("dir");
    let bytes = 64 << 10;
    let mut rig = keeping(&Options { keeping: Keeping { time: Some(DAY), bytes }, ..options(dir.path()) });
    (0..40).for_each(|n| rig.load(&format!("r{n}-"), 200));
    (0..40).for_each(|_| rig.writer.maintain().expect("maintain"));
    let stats = rig.store.stats();
    assert!((bytes / 2..=bytes).contains(&stats.kept_bytes), "{}", stats.kept_bytes);
    must_be(&rig, 8001 - stats.kept_events..8001);
    assert_eq!(rig.log(1).len(), 8000, "the verdicts stay");
}

#[test]
fn they_go_when_their_time_is_over_or_they_are_no_longer_wanted() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = keeping(&options_for(dir.path()));
    (0..40).for_each(|n| rig.load(&format!("r{n}-"), 100));
    must_be(&rig, 1..4001);
    rig.writer.close().expect("close");
    drop((rig.store, rig.index));
    // Not kept: what comes is not added, and what is there goes.
    let mut rig = keeping(&options(dir.path()));
    rig.load("more", 10);
    (0..40).for_each(|_| rig.writer.maintain().expect("maintain"));
    must_be(&rig, 0..0);
    assert_eq!(rig.store.stats().kept_bytes, 0);
    drop((rig.writer, rig.store, rig.index));
    let mut rig =
        keeping(&Options { keeping: Keeping { time: Some(Duration::ZERO), bytes: 1 << 20 }, ..options(dir.path()) });
    rig.load("late", 500);
    let first = rig.writer.clock().now_ms();
    while rig.writer.clock().now_ms() <= first {
        std::hint::spin_loop();
    }
    (0..40).for_each(|_| rig.writer.maintain().expect("maintain"));
    must_be(&rig, 0..0);
}

#[test]
fn where_the_disk_budget_is_nearly_reached_they_go_before_any_verdict_leaves_the_window() {
    let dir = tempfile::tempdir().expect("dir");
    let options = Options {
        disk_bytes: RESERVE_BYTES + BALLAST_BYTES + (24 << 20),
        index_bytes: 16 << 20,
        keeping: Keeping { time: Some(DAY), bytes: 1 << 30 },
        ..options(dir.path())
    };
    let mut rig = keeping(&options);
    let mut n = 0;
    while rig.store.stats().kept_events == rig.store.committed() - 1 {
        n += 1;
        rig.load(&format!("r{n}-"), 1000);
        // Delivered, so that nothing but the window holds it.
        rig.store.set_cursor("file", rig.store.committed()).expect("cursor");
        assert!(n < 2000, "they never go");
    }
    let stats = rig.store.stats();
    assert_eq!((stats.window_cut_by, rig.store.room()), (None, Room::Yes));
    assert_eq!(rig.log(1).len() as u64, stats.committed - 1);
}

#[test]
fn an_event_too_long_to_be_kept_is_counted_and_one_of_another_commit_is_refused() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = keeping(&options_for(dir.path()));
    rig.load("a", 2);
    rig.add("b");
    let chunks = rig.builder.seal();
    let mut kept = Kept::default();
    kept.push(3, &vec![b'x'; LINE_BYTES_MAX + 1]);
    rig.writer.commit(&Commit { chunks, kept: Some(kept), ..Commit::default() }).expect("commit");
    must_be(&rig, 1..3);
    assert_eq!(rig.store.stats().kept_passed_over, 1);
    let refused = rig.writer.commit(&Commit { kept: Some(super::keeping::kept(2..3)), ..Commit::default() });
    assert!(matches!(refused, Err(StoreError::OutOfOrder { found: 2, expected: 4 })), "{refused:?}");
}

#[test]
fn one_that_is_damaged_goes_and_costs_nothing_else() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = keeping(&options_for(dir.path()));
    (0..5).for_each(|n| rig.load(&format!("r{n}-"), 200));
    let mut batch = medium::Batch::default();
    batch.insert(keys::kept(1).to_vec(), b"no chunk".to_vec());
    rig.store.medium.write(batch).expect("write");
    drop((rig.writer, rig.store, rig.index));
    let rig = keeping(&options_for(dir.path()));
    assert_eq!((rig.recovery.salvaged_to.clone(), rig.recovery.set_aside_now, rig.log(1).len()), (None, 1, 1000));
    let first = all(&rig.store)[0].0;
    must_be(&rig, first..1001);
    drop((rig.writer, rig.store, rig.index));
    let rig = keeping(&options_for(dir.path()));
    assert_eq!(rig.recovery.set_aside_now, 0, "it is gone");
}
