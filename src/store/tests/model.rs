//! The store against a simple model: any sequence of commits, cursor moves, clean stops and crashes.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
enum Step {
    /// Commits of so many events each.
    Load(Vec<usize>),
    /// The sink confirms this share (percent) of what it has not confirmed.
    Confirm(u64),
    /// No window reaches back to this share (percent) of the events any more.
    Horizon(u64),
    Offset(u8),
    Quarantine(usize),
    DropQuarantine,
    Maintain,
    Stop,
    Crash,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => prop::collection::vec(prop_oneof![1usize..4, 50usize..400], 1..60).prop_map(Step::Load),
        3 => (0u64..=100).prop_map(Step::Confirm),
        2 => (0u64..=100).prop_map(Step::Horizon),
        1 => any::<u8>().prop_map(Step::Offset),
        1 => (0usize..40_000).prop_map(Step::Quarantine),
        1 => Just(Step::DropQuarantine),
        1 => Just(Step::Maintain),
        2 => Just(Step::Stop),
        3 => Just(Step::Crash),
    ];
    prop::collection::vec(step, 1..25)
}

#[derive(Default)]
struct Model {
    events: BTreeMap<u64, String>,
    cursor: u64,
    /// The observations of these and earlier ones may go.
    horizon: u64,
    offset: Option<Vec<u8>>,
    quarantine: BTreeMap<u64, Vec<u8>>,
}

fn check(rig: &Rig, model: &Model) {
    let next = model.events.keys().next_back().map_or(1, |last| last + 1);
    assert_eq!(rig.store.committed(), next);
    let log = rig.log(1);
    let first = log.first().map_or(next, |(sequence, _)| *sequence);
    // Undelivered events and those in the window (here the index's capacity) are all there.
    assert!(first <= model.cursor.min(next).min(rig.index.floor().max(1)), "{first} {}", model.cursor);
    let expected: Vec<_> = model.events.range(first..).map(|(sequence, id)| (*sequence, id.clone())).collect();
    assert_eq!(log, expected);
    for (sequence, id) in model.events.range(rig.index.floor()..) {
        assert_eq!(rig.find(id), Some(*sequence));
    }
    assert_eq!(rig.store.cursor("file").expect("cursor"), model.cursor);
    // Observations go oldest first, and none that a window may need.
    let observed = observations::all(&rig.store, 0).first().map_or(next, |(row, _)| row.sequence);
    assert!(observed <= model.horizon + 1, "{observed} {}", model.horizon);
    observations::must_be(&rig.store, observed..next);
    assert_eq!(rig.store.offset("feed").expect("offset"), model.offset);
    let listed = rig.store.quarantine_list(0, 1000).expect("list");
    assert_eq!(
        listed.iter().map(|info| info.sequence).collect::<Vec<_>>(),
        model.quarantine.keys().copied().collect::<Vec<_>>()
    );
    for (sequence, bytes) in &model.quarantine {
        let (_, entry) = rig.store.quarantine_get(*sequence).expect("get").expect("there");
        assert_eq!(&entry.bytes, bytes);
    }
    assert_eq!(rig.recovery.salvaged_to, None);
    assert_eq!(rig.store.stats().lost, 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn nothing_committed_is_lost_or_made_up(steps in steps()) {
        let mut dirs = vec![tempfile::tempdir().expect("dir")];
        // The smallest index: 1024 events are the window.
        let with = |dir: &Path| Options { index_bytes: 0, ..options(dir) };
        let mut rig = Rig { observing: true, ..Rig::open(&with(dirs[0].path())) };
        let mut model = Model { cursor: 1, ..Model::default() };
        let mut count = 0u64;
        for step in steps {
            match step {
                Step::Load(sizes) => {
                    for size in sizes {
                        for _ in 0..size {
                            count += 1;
                            let id = format!("{:x}-{count}", noise(count));
                            model.events.insert(rig.add(&id), id);
                        }
                        rig.commit();
                    }
                }
                Step::Confirm(share) => {
                    model.cursor += (rig.store.committed() - model.cursor) * share / 100;
                    rig.store.set_cursor("file", model.cursor).expect("cursor");
                    rig.writer.maintain().expect("maintain");
                }
                Step::Horizon(share) => {
                    let horizon = (rig.store.committed() - 1) * share / 100;
                    model.horizon = model.horizon.max(horizon);
                    let horizon_us = Some(observations::time_us(horizon));
                    rig.writer.commit(&Commit { horizon_us, ..Commit::default() }).expect("commit");
                }
                Step::Offset(n) => {
                    model.offset = Some(vec![n; usize::from(n)]);
                    let offsets = vec![(String::from("feed"), vec![n; usize::from(n)])];
                    rig.writer.commit(&Commit { offsets, ..Commit::default() }).expect("commit");
                }
                Step::Quarantine(length) => {
                    let bytes: Vec<u8> = (0..length).map(|n| noise(n as u64).to_le_bytes()[0]).collect();
                    let entry = QuarantineEntry {
                        kind: "malformed".into(),
                        source: "pos".into(),
                        id: None,
                        reason: "expected an object".into(),
                        bytes: bytes.clone(),
                        length: 0,
                        at_ms: 5,
                    };
                    let done = rig.writer.commit(&Commit { quarantine: vec![entry], ..Commit::default() }).expect("commit");
                    model.quarantine.insert(done.quarantine[0], bytes);
                }
                Step::DropQuarantine => {
                    if let Some((sequence, _)) = model.quarantine.pop_first() {
                        let commit = Commit { quarantine_drop: vec![sequence], ..Commit::default() };
                        rig.writer.commit(&commit).expect("commit");
                    }
                }
                Step::Maintain => rig.writer.maintain().expect("maintain"),
                Step::Stop => {
                    let dir = dirs.last().expect("dir").path().to_owned();
                    rig.writer.close().expect("close");
                    drop(rig.store);
                    rig = Rig { observing: true, ..Rig::open(&with(&dir)) };
                }
                Step::Crash => {
                    let copy = tempfile::tempdir().expect("dir");
                    copy_dir(dirs.last().expect("dir").path(), copy.path());
                    drop((rig.writer, rig.store));
                    rig = Rig { observing: true, ..Rig::open(&with(copy.path())) };
                    dirs.push(copy);
                }
            }
            check(&rig, &model);
        }
    }
}

#[test]
fn many_starts_in_a_row_lose_nothing() {
    let dir = tempfile::tempdir().expect("dir");
    let with = Options { index_bytes: 0, ..options(dir.path()) };
    let mut next = 1;
    for round in 0..40 {
        let mut rig = Rig::open(&with);
        assert_eq!(rig.store.committed(), next, "start {round}");
        assert_eq!(rig.recovery.salvaged_to, None, "start {round}");
        // One large batch spans several segments, of which most are soon without anything live.
        if round % 4 == 0 {
            let entry = QuarantineEntry {
                kind: "oversized".into(),
                source: "pos".into(),
                id: None,
                reason: "too long".into(),
                bytes: vec![round; 1 << 20],
                length: 0,
                at_ms: 5,
            };
            let done = rig.writer.commit(&Commit { quarantine: vec![entry; 2], ..Commit::default() }).expect("commit");
            rig.writer.commit(&Commit { quarantine_drop: done.quarantine, ..Commit::default() }).expect("commit");
        }
        rig.load(&format!("r{round}-"), 20);
        next = rig.store.committed();
        rig.store.set_cursor("file", next).expect("cursor");
        rig.writer.maintain().expect("maintain");
    }
}

fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("dir");
    for entry in std::fs::read_dir(from).expect("list") {
        let entry = entry.expect("entry");
        if entry.path().is_dir() {
            copy_dir(&entry.path(), &to.join(entry.file_name()));
        } else {
            std::fs::copy(entry.path(), to.join(entry.file_name())).expect("copy");
        }
    }
}
