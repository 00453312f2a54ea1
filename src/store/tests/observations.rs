//! What windows need of an event is there with its verdict, once, and goes when no window reaches back to it.

use super::*;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

pub const SECOND_US: i64 = 1_000_000;
const COLUMNS: [(CellKind, &str); 3] =
    [(CellKind::Hash, "key /CUSTOMER"), (CellKind::Hash, "key /TERMINAL"), (CellKind::Number, "number /AMOUNT")];

pub fn schema() -> Arc<Schema> {
    Arc::new(Schema { columns: COLUMNS.map(|(kind, name)| (kind, name.to_owned())).to_vec() })
}

pub fn time_us(sequence: u64) -> i64 {
    1_525_134_011 * SECOND_US + i64::try_from(sequence).expect("small") * SECOND_US
}

/// The observation of a sequence and its cells: some are missing, some have a time a little before, some do not count.
pub fn one(sequence: u64) -> (Observation, [u64; 3]) {
    let n = noise(sequence);
    let late_us = if n.is_multiple_of(7) { 90 * SECOND_US + 5 } else { 0 };
    let row =
        Observation { sequence, time_us: time_us(sequence) - late_us, identity: n, counted: !n.is_multiple_of(31) };
    let amount =
        if n.is_multiple_of(11) { f64::NAN } else { f64::from(u32::try_from(n % 20_000).expect("small")) / 100.0 };
    let terminal = if n.is_multiple_of(13) { 0 } else { noise(sequence % 50) };
    (row, [noise(n % 500), terminal, amount.to_bits()])
}

pub fn observed(sequences: Range<u64>) -> Observed {
    let newest_us = time_us(sequences.end.saturating_sub(1));
    let (rows, cells): (Vec<_>, Vec<_>) = sequences.map(one).unzip();
    Observed { schema: schema(), rows, cells: cells.into_iter().flatten().collect(), newest_us }
}

/// Every observation there is, ascending.
pub fn all(store: &Store, from: u64) -> Vec<(Observation, Vec<u64>)> {
    let mut found = Vec::new();
    store
        .observations(from, &mut |chunk| {
            assert_eq!(chunk.schema, schema());
            found.extend((0..chunk.rows.len()).map(|n| {
                let (row, cells) = chunk.row(n).expect("a row");
                (*row, cells.to_vec())
            }));
            ControlFlow::Continue(())
        })
        .expect("read");
    found
}

/// Those of these sequences are there, and no other.
pub fn must_be(store: &Store, sequences: Range<u64>) {
    let expected: Vec<_> = sequences.map(one).map(|(row, cells)| (row, cells.to_vec())).collect();
    let found = all(store, 0);
    assert_eq!(found.first().map(|(row, _)| row), expected.first().map(|(row, _)| row));
    assert_eq!(found.len(), expected.len());
    assert!(found == expected);
    assert_eq!(store.stats().observations, expected.len() as u64);
}

fn observing(dir: &Path) -> Rig {
    Rig { observing: true, ..Rig::open(&options(dir)) }
}

fn pass(rig: &mut Rig, horizon_us: i64) {
    rig.writer.commit(&Commit { horizon_us: Some(horizon_us), ..Commit::default() }).expect("commit");
    (0..30).for_each(|_| rig.writer.maintain().expect("maintain"));
}

#[test]
fn each_verdict_has_its_observation_once_whatever_the_commits_sizes_and_starts() {
    let dir = tempfile::tempdir().expect("dir");
    let mut next = 1;
    for round in 0..6 {
        let mut rig = observing(dir.path());
        must_be(&rig.store, 1..next);
        for n in 0..20 {
            rig.load(&format!("r{round}-{n}-"), [1, 1, 3, 700, 2][n % 5]);
        }
        next = rig.store.committed();
        must_be(&rig.store, 1..next);
        if round % 2 == 0 {
            rig.writer.close().expect("close");
        }
    }
    let report = inspect::report(dir.path()).expect("report");
    assert_eq!((report.damage, report.observations), (vec![], next - 1));
    assert_eq!(report.observations_from_us, (1..20).map(|n| one(n).0.time_us).min());
}

#[test]
fn lone_events_make_few_chunks() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = observing(dir.path());
    (0..500).for_each(|n| rig.load(&format!("e{n}-"), 1));
    must_be(&rig.store, 1..501);
    let stats = rig.store.stats();
    assert!(stats.observation_chunks < 13, "{}", stats.observation_chunks);
    let of = |rig: &Rig| (rig.store.stats().observation_bytes, rig.store.stats().live_bytes);
    let before = of(&rig);
    rig.writer.close().expect("close");
    drop((rig.store, rig.index));
    let rig = Rig::open(&options(dir.path()));
    assert_eq!(of(&rig), before, "what a start counts is what the commits did");
}

#[test]
fn what_the_horizon_has_passed_goes_and_nothing_else() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = observing(dir.path());
    for n in 0..40 {
        rig.load(&format!("r{n}-"), 100);
    }
    (0..50).for_each(|_| rig.writer.maintain().expect("maintain"));
    must_be(&rig.store, 1..4001);
    pass(&mut rig, time_us(2000));
    let first = all(&rig.store, 0)[0].0.sequence;
    assert!((1600..=2001).contains(&first), "{first}: to a chunk");
    must_be(&rig.store, first..4001);
    drop((rig.writer, rig.store));
    // Until the engine tells the horizon nothing goes.
    let mut rig = observing(dir.path());
    (0..50).for_each(|_| rig.writer.maintain().expect("maintain"));
    must_be(&rig.store, first..4001);
    assert_eq!(rig.recovery.salvaged_to, None);
    pass(&mut rig, i64::MAX);
    must_be(&rig.store, 0..0);
    assert_eq!(rig.store.stats().observation_bytes, 0);
    rig.load("again", 3);
    must_be(&rig.store, 4001..4004);
    drop((rig.writer, rig.store));
    must_be(&observing(dir.path()).store, 4001..4004);
}

#[test]
fn an_observation_is_found_by_its_sequence_and_by_identity_and_time() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = observing(dir.path());
    (0..50).for_each(|n| rig.load(&format!("r{n}-"), 40));
    for sequence in [1, 2, 777, 2000, 3, 1999] {
        let (row, cells) = one(sequence);
        let by_sequence = rig.store.observation(sequence).expect("read").expect("there");
        let by_time = rig.store.observation_of(row.identity, row.time_us).expect("read").expect("there");
        for (chunk, place) in [by_sequence, by_time] {
            assert_eq!(chunk.row(place), Some((&row, &cells[..])));
        }
        assert!(rig.store.observation_of(row.identity + 1, row.time_us).expect("read").is_none());
        assert!(rig.store.observation_of(row.identity, row.time_us + 1).expect("read").is_none());
    }
    assert!(rig.store.observation(2001).expect("read").is_none());
    // The open chunk was read before: what came since is found all the same.
    rig.load("more", 1);
    assert!(rig.store.observation(2001).expect("read").is_some());
    assert_eq!(all(&rig.store, 1990).last().map(|(row, _)| row.sequence), Some(2001));
    pass(&mut rig, time_us(1000));
    assert!(rig.store.observation(1).expect("read").is_none());
    assert!(rig.store.observation_of(one(1).0.identity, one(1).0.time_us).expect("read").is_none());
}

#[test]
fn a_change_of_what_windows_need_starts_a_chunk_and_both_are_read() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = observing(dir.path());
    rig.load("a", 10);
    rig.add("b");
    let chunks = rig.builder.seal();
    let other = Arc::new(Schema { columns: vec![(CellKind::Number, "number /X".to_owned())] });
    let rows = vec![one(11).0];
    let observed = Observed { schema: Arc::clone(&other), rows, cells: vec![7], newest_us: 5 };
    rig.writer.commit(&Commit { chunks, observed: Some(Arc::new(observed)), ..Commit::default() }).expect("commit");
    rig.load("c", 10);
    drop((rig.writer, rig.store));
    let rig = observing(dir.path());
    let mut schemas = Vec::new();
    rig.store
        .observations(0, &mut |chunk| {
            schemas.push((chunk.first, chunk.schema.columns.len(), chunk.newest_us));
            ControlFlow::Continue(())
        })
        .expect("read");
    assert_eq!(schemas, [(1, 3, time_us(10)), (11, 1, 5), (12, 3, time_us(21))]);
}

#[test]
fn observations_that_are_not_those_of_the_commit_are_refused_whole() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = observing(dir.path());
    rig.load("a", 10);
    rig.add("b");
    let chunks = rig.builder.seal();
    let good = observed(11..12);
    let rows = |sequence| vec![one(sequence).0];
    let wide = Schema { columns: vec![(CellKind::Hash, "x".repeat(NAMES_BYTES_MAX + 1))] };
    for bad in [
        observed(10..12),
        observed(11..13),
        Observed { rows: rows(12), ..good.clone() },
        Observed { cells: vec![1, 2], ..good.clone() },
        Observed { schema: Arc::new(wide), cells: vec![1], ..good.clone() },
    ] {
        let commit = Commit { chunks: chunks.clone(), observed: Some(Arc::new(bad)), ..Commit::default() };
        let error = rig.writer.commit(&commit).expect_err("refused");
        assert!(!error.is_medium(), "{error}");
    }
    let commit = Commit { chunks, observed: Some(Arc::new(good)), ..Commit::default() };
    rig.writer.commit(&commit).expect("nothing was written of the others");
    must_be(&rig.store, 1..12);
}

#[test]
fn a_chunk_that_is_damaged_or_missing_is_counted_and_the_rest_is_there() {
    for what in ["damaged", "missing"] {
        let dir = tempfile::tempdir().expect("dir");
        let mut rig = observing(dir.path());
        (0..10).for_each(|n| rig.load(&format!("r{n}-"), 400));
        let mut firsts = Vec::new();
        let each = &mut |chunk: &ObservationChunk| {
            firsts.push((chunk.first, chunk.rows.len() as u64));
            ControlFlow::Continue(())
        };
        rig.store.observations(0, each).expect("read");
        let (first, count) = firsts[4];
        // As the engine loses it: of its file's blocks nothing stands there any more that says so.
        let mut batch = medium::Batch::default();
        match what {
            "damaged" => batch.insert(&keys::observation(first), b"not a chunk"),
            _ => batch.remove(&keys::observation(first)),
        }
        rig.store.medium.write(batch).expect("write");
        drop((rig.writer, rig.store));
        assert!(!inspect::report(dir.path()).expect("report").damage.is_empty(), "{what}: verify sees it");
        let rig = observing(dir.path());
        assert!(rig.recovery.salvaged_to.is_some(), "{what}");
        // The file still has the value that was overwritten, or it does not: what is not found is counted.
        let found = all(&rig.store, 0);
        let lost = rig.recovery.observations_lost_now;
        assert!(lost == 0 || lost == count, "{what}: {lost}");
        assert_eq!(found.len() as u64, 4000 - lost, "{what}");
        assert!(found.iter().all(|(row, cells)| one(row.sequence) == (*row, cells[..].try_into().expect("three"))));
        assert_eq!(rig.log(1).len(), 4000, "{what}");
        drop((rig.writer, rig.store));
        let again = observing(dir.path());
        assert_eq!((again.recovery.salvaged_to, again.recovery.observations_lost_now), (None, 0), "{what}: said once");
        assert_eq!(inspect::report(dir.path()).expect("report").damage, Vec::<String>::new(), "{what}");
    }
}

fn watch(event_us: Option<i64>, sequence: Option<u64>, log_ms: u64) -> Label {
    Label { sequence, event_us, ..label("x", log_ms) }
}

#[test]
fn a_label_is_kept_for_as_long_as_a_window_may_hold_its_event() {
    let dir = tempfile::tempdir().expect("dir");
    let with = Options { window: std::time::Duration::from_hours(1), ..options(dir.path()) };
    let mut rig = Rig { observing: true, ..Rig::open(&with) };
    rig.load("a", 100);
    let long_ago = rig.writer.clock().now_ms() - 3 * 3_600_000;
    let labels = vec![
        watch(Some(time_us(10)), Some(10), long_ago),
        // Of an event of the future, as a broken clock says: it does not hold its chunk for ever.
        watch(Some(i64::MAX), None, long_ago),
    ];
    rig.writer.commit(&Commit { labels: labels.clone(), ..Commit::default() }).expect("commit");
    drop((rig.writer, rig.store));
    let mut rig = Rig { observing: true, ..Rig::open(&with) };
    rig.writer.maintain().expect("maintain");
    assert_eq!(super::labels(&rig.store), labels, "no horizon is told");
    pass(&mut rig, time_us(9));
    assert_eq!(super::labels(&rig.store), labels);
    pass(&mut rig, time_us(99));
    assert_eq!(super::labels(&rig.store), labels);
    pass(&mut rig, time_us(100));
    assert_eq!(super::labels(&rig.store), []);
    assert_eq!((rig.store.stats().labels, rig.store.stats().labels_pending), (0, 0));
    let young = vec![watch(Some(time_us(1)), Some(1), rig.writer.clock().now_ms())];
    rig.writer.commit(&Commit { labels: young.clone(), ..Commit::default() }).expect("commit");
    pass(&mut rig, time_us(50));
    assert_eq!(super::labels(&rig.store), young, "the dedup window is not over");
}

#[test]
fn labels_of_events_that_do_not_come_are_bounded_and_others_stay() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = observing(dir.path());
    let now = rig.writer.clock().now_ms();
    let mut sent = 0;
    let mut known = Vec::new();
    while sent < PENDING_MAX + 5_000 {
        // Of each hundred one has its event.
        let labels: Vec<_> = (0..1000u64).map(|n| watch(None, (n % 100 == 0).then_some(sent + n), now)).collect();
        known.extend(labels.iter().filter_map(|label| label.sequence));
        sent += 1000;
        rig.writer.commit(&Commit { labels, ..Commit::default() }).expect("commit");
    }
    let found = super::labels(&rig.store);
    let stats = rig.store.stats();
    let pending = found.iter().filter(|label| label.sequence.is_none()).count() as u64;
    assert_eq!(found.iter().filter_map(|label| label.sequence).collect::<Vec<_>>(), known);
    assert!(pending <= PENDING_MAX && pending > PENDING_MAX - 1000, "{pending}");
    assert_eq!(pending + stats.labels_shed, sent - known.len() as u64);
    assert_eq!((stats.labels, stats.labels_pending), (found.len() as u64, pending));
    let live = stats.live_bytes;
    drop((rig.writer, rig.store));
    let rig = observing(dir.path());
    assert_eq!((rig.store.stats().labels_pending, rig.store.stats().live_bytes), (pending, live));
    assert_eq!(super::labels(&rig.store), found);
}

#[test]
fn observations_that_fill_the_disk_budget_give_way_and_never_to_verdicts_that_wait() {
    let dir = tempfile::tempdir().expect("dir");
    let small = Options { disk_bytes: 28 << 20, window: std::time::Duration::from_millis(1), ..options(dir.path()) };
    let mut rig = Rig { observing: true, ..Rig::open(&small) };
    let mut rounds = 0;
    while rig.store.stats().observations_cut == 0 {
        rounds += 1;
        assert!(rounds < 400 && rig.store.room() == Room::Yes, "round {rounds}: {:?}", rig.store.stats());
        rig.load(&format!("r{rounds}-"), 1000);
        rig.store.set_cursor("file", rig.store.committed()).expect("cursor");
    }
    let (next, first) = (rig.store.committed(), all(&rig.store, 0)[0].0.sequence);
    assert!(first > 1 && next - first > 100_000, "{first} {next}");
    must_be(&rig.store, first..next);
    // Now a sink hangs: what it has to go fills the rest, and no observation goes for it.
    let cut = rig.store.stats().observations_cut;
    for round in 0..400 {
        if rig.store.room() != Room::Yes {
            break;
        }
        rig.load(&format!("s{round}-"), 1000);
    }
    assert_eq!(rig.store.room(), Room::BudgetReached);
    let stats = rig.store.stats();
    assert!(stats.observations_cut - cut < 30_000, "{} {cut}", stats.observations_cut);
    drop((rig.writer, rig.store));
    assert_eq!(Rig::open(&small).recovery.observations_lost_now, 0);
}

#[test]
fn labels_of_a_store_of_format_2_are_read_with_their_identity() {
    use super::super::codec::{put_bytes, put_signed, put_varint};
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = Rig::open(&options(dir.path()));
    let log_ms = rig.writer.clock().now_ms();
    let mut body = vec![0, 1];
    put_bytes(&mut body, b"pos");
    put_bytes(&mut body, b"a7");
    body.push(0);
    put_bytes(&mut body, b"");
    put_signed(&mut body, 5);
    body.extend_from_slice(&1.0f64.to_le_bytes());
    put_varint(&mut body, log_ms);
    let mut batch = medium::Batch::default();
    batch.insert(&keys::label(0), frame::wrap(frame::Kind::OldLabel, 1, &body));
    rig.store.medium.write(batch).expect("write");
    rig.writer.state.format = 2;
    rig.writer.state_age = u32::MAX / 2;
    rig.writer.maintain().expect("the state as an earlier release writes it");
    drop((rig.writer, rig.store));
    let mut rig = Rig::open(&options(dir.path()));
    let identity = crate::event::identity_fingerprint(rig.store.seed(), "pos", "a7");
    let old = Label { identity, time_us: 5, ..label("a7", log_ms) };
    assert_eq!(super::labels(&rig.store), std::slice::from_ref(&old));
    let new = label("b", log_ms);
    rig.writer.commit(&Commit { labels: vec![new.clone()], ..Commit::default() }).expect("commit");
    assert_eq!(super::labels(&rig.store), [old, new]);
    let report = inspect::report(dir.path()).expect("report");
    assert_eq!((report.damage, report.labels, report.labels_pending), (vec![], 2, 1));
}
