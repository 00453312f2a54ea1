//! A damaged file: the store opens, keeps whatever still stands, says what is missing, once.

use super::*;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

const SEGMENT: u64 = 512 * 1024;

/// A store of several segments as a crash leaves it, to be damaged in copies.
struct Original {
    dir: tempfile::TempDir,
    log: Vec<(u64, String)>,
    seed: u64,
    length: u64,
}

fn original() -> Original {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = Rig::open(&keeping::options_for(dir.path()));
    for round in 0u64..24 {
        for n in 0..1000 {
            rig.add(&noisy_id(round * 1000 + n));
        }
        let chunks = rig.builder.seal();
        let offsets = vec![(String::from("feed"), round.to_le_bytes().to_vec())];
        rig.store.set_cursor("file", round * 500 + 1).expect("cursor");
        let labels = vec![label(&round.to_string(), rig.writer.clock().now_ms())];
        let sequences = chunks[0].first()..chunks[0].first() + 1000;
        let observed = Some(std::sync::Arc::new(observations::observed(sequences.clone())));
        let kept = Some(keeping::kept(sequences));
        rig.writer.commit(&Commit { chunks, offsets, labels, observed, kept, ..Commit::default() }).expect("commit");
        // One that stays open, and one that is settled: its case may stand in the file long after.
        let (open, settled) = (round * 1000 + 1, round * 1000 + 2);
        let put = |sequence| CaseChange::Put(cases::case(&rig, sequence, CaseState::Again, 1));
        let commit = Commit { cases: vec![put(open), put(settled)], ..Commit::default() };
        rig.writer.commit(&commit).expect("commit");
        let settled = CaseChange::Drop("file".into(), settled);
        rig.writer.commit(&Commit { cases: vec![settled], ..Commit::default() }).expect("commit");
    }
    let (log, seed) = (rig.log(1), rig.store.seed());
    assert_eq!(log.len(), 24_000);
    // Not closed, but let go of: the files stand as they were.
    std::mem::forget(rig.writer);
    let length = fs::metadata(dir.path().join("store/db")).expect("db").len();
    assert!(length > 4 * SEGMENT, "{length} bytes");
    Original { dir, log, seed, length }
}

impl Original {
    fn copy(&self, damage: impl FnOnce(&fs::File, &dyn Fn(u64) -> u8)) -> tempfile::TempDir {
        let copy = tempfile::tempdir().expect("dir");
        let from = |name: &str| self.dir.path().join(name);
        let to = |name: &str| copy.path().join(name);
        fs::create_dir_all(to("store/blobs")).expect("dir");
        for name in ["tip", "store/conf", "store/db"] {
            fs::copy(from(name), to(name)).expect("copy");
        }
        let file = fs::File::options().read(true).write(true).open(to("store/db")).expect("db");
        damage(&file, &|at| {
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).expect("read");
            byte[0]
        });
        copy
    }

    /// Opens a damaged copy and checks everything that must hold. Gives the number of lost records.
    fn check(&self, copy: &tempfile::TempDir, what: &str) -> u64 {
        let options = keeping::options_for(copy.path());
        let mut rig = Rig::open(&options);
        let log = rig.log(1);
        let expected: std::collections::HashMap<_, _> = self.log.iter().map(|(seq, id)| (*seq, id)).collect();
        for (sequence, id) in &log {
            assert_eq!(expected.get(sequence), Some(&id), "{what}");
        }
        let lost = self.log.len() as u64 - log.len() as u64;
        assert_eq!(rig.recovery.lost_now, lost, "{what}");
        // Each observation there is is the one of its sequence, once; what is missing between two others is counted.
        let observed = observations::all(&rig.store, 0);
        assert!(observed.is_sorted_by(|a, b| a.0.sequence < b.0.sequence), "{what}");
        for (row, cells) in &observed {
            let (expected, expected_cells) = observations::one(row.sequence);
            assert_eq!((*row, &cells[..]), (expected, &expected_cells[..]), "{what}");
        }
        // Each event kept is the one of its sequence, once.
        let kept = keeping::all(&rig.store);
        assert!(kept.is_sorted_by(|a, b| a.0 < b.0), "{what}");
        for (sequence, line) in &kept {
            assert_eq!(*line, keeping::line(*sequence), "{what}");
        }
        // Of a store that was rebuilt nothing is called for again unasked.
        let open = rig.store.cases(None, 1000).expect("read");
        for case in &open {
            let is_safe = case.state == CaseState::Uncertain || rig.recovery.salvaged_to.is_none();
            assert!(is_safe, "{what}: a call of {} would be made again", case.sequence);
            let record = case.record();
            let id = record.as_ref().map(|record| record.verdict.id.to_owned());
            assert!(id.is_none() || id.as_ref() == expected.get(&case.sequence).copied(), "{what}");
        }
        assert_eq!(rig.store.stats().cases, open.len() as u64, "{what}");
        let ends = observed.first().zip(observed.last()).map(|(first, last)| (first.0.sequence, last.0.sequence));
        let between = ends.map_or(0, |(first, last)| last - first + 1) - observed.len() as u64;
        assert_eq!(rig.recovery.observations_lost_now, between, "{what}");
        assert_eq!(rig.store.stats().lost, lost, "{what}");
        assert_eq!(rig.recovery.salvaged_to.is_some(), rig.store.stats().set_aside > 0, "{what}");
        assert!(lost == 0 || rig.recovery.salvaged_to.is_some(), "{what}");
        assert_eq!(rig.store.seed(), self.seed, "{what}");
        assert!(rig.store.committed() >= 24_001, "{what}: sequences are never given again");
        assert!(rig.store.cursor("file").expect("cursor") > 0, "{what}");
        let sequence = rig.add("after");
        rig.commit();
        assert_eq!(rig.log(sequence), vec![(sequence, String::from("after"))], "{what}");
        drop((rig.writer, rig.store));
        // The next start has nothing new to report.
        let again = Rig::open(&options);
        assert_eq!(again.recovery.salvaged_to, None, "{what}");
        assert_eq!((again.recovery.lost_now, again.recovery.observations_lost_now), (0, 0), "{what}");
        assert_eq!(observations::all(&again.store, 0), observed, "{what}");
        assert_eq!(keeping::all(&again.store), kept, "{what}");
        assert_eq!(again.store.stats().lost, lost, "{what}");
        assert_eq!(again.log(1).len(), log.len() + 1, "{what}");
        lost
    }
}

#[test]
fn a_flipped_bit_costs_at_most_the_values_it_stands_in() {
    let original = original();
    for n in 0..24 {
        let at = original.length / 24 * n + 977 * n;
        let copy = original.copy(|file, byte| file.write_all_at(&[byte(at) ^ 0x10], at).expect("write"));
        let lost = original.check(&copy, &format!("a bit at {at}"));
        // Values stand in the file more than once; in the worst case one chunk is gone.
        assert!(lost <= 512, "{lost} lost by a bit at {at}");
    }
}

#[test]
fn zeroed_sectors_and_headers_cost_what_stood_in_them() {
    let original = original();
    for n in 0..original.length / SEGMENT {
        let head = n * SEGMENT;
        let copy = original.copy(|file, _| file.write_all_at(&[0; 20], head).expect("write"));
        assert_eq!(original.check(&copy, &format!("the header at {head}")), 0);
        let sector = head + SEGMENT / 3 / 4096 * 4096;
        let copy = original.copy(|file, _| file.write_all_at(&[0; 4096], sector).expect("write"));
        assert!(original.check(&copy, &format!("a page at {sector}")) <= 1024);
    }
}

#[test]
fn a_file_cut_off_is_a_counted_loss() {
    let original = original();
    for n in 0..6 {
        let length = original.length / 6 * n;
        let copy = original.copy(|file, _| file.set_len(length).expect("cut"));
        let lost = original.check(&copy, &format!("cut at {length}"));
        assert!(lost > 0);
    }
}

#[test]
fn a_salvage_that_is_cut_off_is_done_again() {
    let original = original();
    // A place where a bit is not passed over: not all of the file is live.
    let at = (1..original.length / 9_000)
        .map(|n| original.length - n * 9_000)
        .find(|&at| {
            let copy = original.copy(|file, byte| file.write_all_at(&[byte(at) ^ 0x10], at).expect("write"));
            Rig::open(&options(copy.path())).recovery.salvaged_to.is_some()
        })
        .expect("a live place");
    let damaged = |copy: &tempfile::TempDir| copy.path().join("damaged-1");
    let steps: [fn(PathBuf); 3] = [
        |dir| fs::remove_file(dir.join("damaged-1/done")).expect("done"),
        |dir| {
            // Moved away, the new one not yet in its place.
            fs::remove_file(dir.join("damaged-1/done")).expect("done");
            fs::rename(dir.join("store"), dir.join("store.new")).expect("rename");
        },
        |dir| {
            // Half a new store, the old one still in its place.
            fs::remove_file(dir.join("damaged-1/done")).expect("done");
            fs::rename(dir.join("store"), dir.join("store.new")).expect("rename");
            fs::write(dir.join("store.new/db"), [0; 999]).expect("cut");
            fs::rename(dir.join("damaged-1/store"), dir.join("store")).expect("rename");
        },
    ];
    for (n, step) in steps.into_iter().enumerate() {
        let copy = original.copy(|file, byte| file.write_all_at(&[byte(at) ^ 0x10], at).expect("write"));
        let rig = Rig::open(&options(copy.path()));
        let (log, labels) = (rig.log(1), labels(&rig.store));
        assert!(labels.len() >= 23, "{} of 24 labels", labels.len());
        drop((rig.writer, rig.store));
        assert!(damaged(&copy).exists(), "no salvage by a bit at {at}");
        step(copy.path().to_owned());
        let rig = Rig::open(&options(copy.path()));
        assert_eq!(rig.log(1), log, "step {n}");
        assert_eq!(super::labels(&rig.store), labels, "step {n}");
        assert!(damaged(&copy).join("done").exists());
    }
}

#[test]
fn a_sequence_that_a_sink_has_confirmed_is_not_given_again_when_it_is_lost() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = Rig::open(&options(dir.path()));
    rig.load("a", 99);
    // As if there had been more, and neither the log's end nor the tip knew of it.
    let cursor = state::encode_cursor("file", 150);
    let mut batch = medium::Batch::default();
    batch.insert(keys::named(keys::CURSOR, "file"), frame::wrap(frame::Kind::Cursor, 1 << 50, &cursor));
    rig.store.medium.write(batch).expect("write");
    drop((rig.writer, rig.store));
    assert_eq!(inspect::report(dir.path()).expect("report").damage.len(), 1);
    let mut rig = Rig::open(&options(dir.path()));
    assert_eq!((rig.recovery.lost_now, rig.store.stats().lost), (50, 50));
    assert_eq!(rig.log(1).len(), 99);
    assert_eq!(rig.add("new"), 150);
    rig.commit();
    assert_eq!(rig.log(rig.store.cursor("file").expect("cursor")), vec![(150, String::from("new"))]);
    drop((rig.writer, rig.store));
    let rig = Rig::open(&options(dir.path()));
    assert_eq!((rig.recovery.lost_now, rig.store.stats().lost), (0, 50));
    // Nor can a cursor get there.
    rig.store.set_cursor("file", 1000).expect("cursor");
    assert_eq!(rig.store.cursor("file").expect("cursor"), 151);
}
