//! Which model was in use when is durable, bounded, and outlives a salvage; a store of format 1 opens.

use super::*;
use std::fs;

/// The same store, closed cleanly and opened again.
fn reopen(rig: Rig, dir: &Path) -> Rig {
    rig.writer.close().expect("close");
    drop((rig.store, rig.index));
    Rig::open(&options(dir))
}

fn model(version: u32, signed_serial: Option<u64>) -> ModelId {
    let stamp = Stamp { signed: signed_serial.is_some(), serial: signed_serial, signed_at: None };
    let tag = version.to_le_bytes()[0];
    let folder = format!("/models/{version}").into();
    ModelId { label: format!("m@{version}"), sha256: SHA, manifest_sha256: [tag; 32], folder, stamp }
}

fn used(why: Why, from: Option<u32>, to: u32, first_sequence: u64) -> ModelUse {
    let (from, to) = (from.map(|from| model(from, None)), model(to, Some(u64::from(to))));
    ModelUse { number: 0, at_ms: 1_800_000_000_000, why, first_sequence, from, to }
}

fn note(rig: &mut Rig, uses: Vec<ModelUse>) {
    rig.writer.commit(&Commit { models: uses, ..Commit::default() }).expect("commit");
}

#[test]
fn what_was_in_use_is_read_back_after_a_restart_in_order_and_numbered() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = Rig::open(&options(dir.path()));
    note(&mut rig, vec![used(Why::Start, None, 1, 1)]);
    rig.load("a", 3);
    note(&mut rig, vec![used(Why::Reload, Some(1), 2, 4), used(Why::Rollback, Some(2), 1, 4)]);
    let known = rig.store.models().expect("read");
    assert_eq!(known.iter().map(|used| used.number).collect::<Vec<_>>(), [1, 2, 3]);
    let rig = reopen(rig, dir.path());
    assert_eq!(rig.store.models().expect("read"), known);
    assert_eq!(known[1], ModelUse { number: 2, ..used(Why::Reload, Some(1), 2, 4) });
    // A look-in without a daemon sees the same.
    let inspector = inspect::Inspector::open(dir.path()).expect("open");
    assert_eq!(inspector.models().expect("read"), known);
    assert_eq!(inspector.report().damage, Vec::<String>::new());
}

#[test]
fn the_newest_thousand_are_kept_and_the_highest_serial_for_ever() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = Rig::open(&options(dir.path()));
    note(&mut rig, vec![used(Why::Start, None, 200, 1)]);
    for n in 0..1_200 {
        note(&mut rig, vec![used(Why::Reload, Some(1), n % 100, 1)]);
    }
    let uses = rig.store.models().expect("read");
    assert_eq!((uses.len(), uses[0].number, uses[999].number), (1_000, 202, 1_201));
    let known = KnownModels::of(&rig.store).expect("read");
    let highest = known.highest("m").expect("a stamp");
    assert_eq!(highest.serial, Some(200), "although its entry is no longer kept");
    assert_eq!(known.highest("other"), None);
    assert_eq!(KnownModels::look(dir.path()).expect("read"), known, "beside the daemon that holds it");
}

#[test]
fn a_permission_holds_until_a_model_is_taken_into_use() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = Rig::open(&options(dir.path()));
    rig.load("a", 1);
    assert!(matches!(permit_model(dir.path(), &[1; 32]), Err(StoreError::Held { .. })));
    rig.writer.close().expect("close");
    drop((rig.store, rig.index));
    permit_model(dir.path(), &[1; 32]).expect("a store that nobody holds");
    assert_eq!(KnownModels::look(dir.path()).expect("read").permit, Some([1; 32]));
    let mut rig = Rig::open(&options(dir.path()));
    assert_eq!(rig.store.permitted_model().expect("read"), Some([1; 32]));
    assert_eq!(rig.log(1).len(), 1);
    note(&mut rig, vec![used(Why::Rollback, Some(2), 1, 2)]);
    assert_eq!(rig.store.permitted_model().expect("read"), None);
    let known = KnownModels::look(dir.path()).expect("read");
    assert_eq!((known.permit, known), (None, KnownModels::of(&rig.store).expect("read")));
    let missing = tempfile::tempdir().expect("dir");
    assert_eq!(KnownModels::look(missing.path()).expect("no store"), KnownModels::default());
    assert!(permit_model(missing.path(), &[1; 32]).is_err());
    assert_eq!(fs::read_dir(missing.path()).expect("list").count(), 0, "nothing is made");
}

#[test]
fn a_rollback_goes_back_through_the_models_one_by_one() {
    let label = |uses: &[(Why, u32)]| {
        let uses: Vec<_> = uses.iter().map(|(why, to)| used(*why, None, *to, 1)).collect();
        model_before(&uses).map(|model| model.label.clone())
    };
    let m = |version: u32| Some(format!("m@{version}"));
    assert_eq!(label(&[]), None);
    assert_eq!(label(&[(Why::Start, 1)]), None);
    assert_eq!(label(&[(Why::Start, 1), (Why::Reload, 2)]), m(1));
    assert_eq!(label(&[(Why::Start, 1), (Why::Reload, 2), (Why::Start, 2)]), m(1), "a restart changes nothing");
    let three = [(Why::Start, 1), (Why::Reload, 2), (Why::Reload, 3)];
    assert_eq!(label(&three), m(2));
    let back = [&three[..], &[(Why::Rollback, 2)]].concat();
    assert_eq!(label(&back), m(1), "not to the one that it came from");
    let further = [&back[..], &[(Why::Rollback, 1)]].concat();
    assert_eq!(label(&further), None);
    assert_eq!(label(&[&further[..], &[(Why::Reload, 4)]].concat()), m(1));
    // One that is taken up again by hand lies on top.
    assert_eq!(label(&[(Why::Start, 1), (Why::Reload, 2), (Why::Reload, 1)]), m(2));
}

#[test]
fn what_a_shadow_said_survives_a_restart_and_a_merge_of_chunks() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = Rig::open(&options(dir.path()));
    let shadow = |n: u64| {
        let score = (n != 3).then(|| f64::from(u32::try_from(n).unwrap_or(0)) / 7.0);
        Shadowed { model: "next@1", model_sha256: &[9; 32], decision: "block", score }
    };
    // Enough small chunks that they are merged.
    for n in 1..=80u64 {
        let log_ms = rig.writer.clock().now_ms();
        let id = format!("s{n}");
        let beside = (n % 2 == 1).then(|| shadow(n));
        let record = NewRecord { id: &id, log_ms, shadow: beside, ..super::traps::small("an-event") };
        rig.builder.append(&record).expect("append");
        rig.commit();
    }
    let rig = reopen(rig, dir.path());
    let mut seen = 0;
    let mut next = 1;
    while let Some(chunk) = rig.store.next_chunk(next).expect("read") {
        for record in chunk.records() {
            let n = record.verdict.sequence;
            assert_eq!(record.shadow, (n % 2 == 1).then(|| shadow(n)), "{n}");
            seen += 1;
        }
        next = chunk.next();
    }
    assert_eq!(seen, 80);
}

#[test]
fn a_store_of_format_1_opens_and_is_of_this_format_from_then_on() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = Rig::open(&options(dir.path()));
    rig.load("a", 5);
    rig.writer.state.format = 1;
    rig.writer.state_age = u32::MAX / 2;
    rig.writer.maintain().expect("the state as an earlier release writes it");
    rig.writer.close().expect("close");
    drop((rig.store, rig.index));
    assert_eq!(inspect::report(dir.path()).expect("report").format, 1);
    let rig = Rig::open(&options(dir.path()));
    assert_eq!(rig.log(1).len(), 5);
    drop((rig.writer, rig.store, rig.index));
    assert_eq!(inspect::report(dir.path()).expect("report").format, state::FORMAT);
}
