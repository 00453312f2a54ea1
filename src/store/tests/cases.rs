//! Calls that are not settled: kept with their verdicts, through restarts, damage and a salvage.

use super::*;
use crate::store::case;
use crate::store::frame::{self, Kind};
use crate::store::keys;
use crate::store::medium::{Batch, Medium};

pub fn case(rig: &Rig, sequence: u64, state: CaseState, calls: u64) -> Case {
    let chunk = rig.store.chunk_of(sequence).expect("read").expect("it is committed");
    let verdict = verdict_of(&chunk.get(sequence).expect("it is in it"));
    Case { sink: "file".into(), sequence, state, calls, at_ms: 1_800_000_000_000, reason: "lost".into(), verdict }
}

fn put(rig: &mut Rig, cases: Vec<Case>) {
    let cases = cases.into_iter().map(CaseChange::Put).collect();
    rig.writer.commit(&Commit { cases, ..Commit::default() }).expect("commit");
}

fn states(store: &Store) -> Vec<(u64, CaseState)> {
    store.cases(None, 100).expect("read").iter().map(|case| (case.sequence, case.state)).collect()
}

#[test]
fn a_case_keeps_its_verdict_after_the_log_has_gone_and_holds_nothing_back() {
    let dir = tempfile::tempdir().expect("dir");
    let options = Options { window: std::time::Duration::from_millis(1), ..options(dir.path()) };
    let mut rig = Rig::open(&options);
    rig.load("a", 10);
    let cases = vec![case(&rig, 3, CaseState::Uncertain, 1), case(&rig, 4, CaseState::UnderWay, 1)];
    put(&mut rig, cases);
    for n in 0..40 {
        std::thread::sleep(std::time::Duration::from_millis(2));
        rig.load(&format!("b{n}-"), 700);
        rig.store.set_cursor("file", rig.store.committed()).expect("cursor");
    }
    assert!(rig.store.chunk_of(3).expect("read").is_none(), "the log still holds it");
    let calls = Calls { day: 20_000, made: 7, last_ms: -3 };
    let gone = CaseChange::Drop("file".into(), 4);
    let commit = Commit { cases: vec![gone], calls: vec![("file".into(), calls)], ..Commit::default() };
    rig.writer.commit(&commit).expect("commit");
    drop((rig.writer, rig.store));
    let rig = Rig::open(&options);
    let found = rig.store.cases(Some("file"), 100).expect("read");
    assert_eq!((found.len(), rig.store.stats().cases), (1, 1));
    let found = &found[0];
    let record = found.record().expect("its verdict");
    assert_eq!((record.verdict.id, record.verdict.sequence, found.reason.as_str()), ("a2", 3, "lost"));
    assert_eq!(rig.store.calls("file").expect("read"), calls);
    assert_eq!(rig.store.calls("other").expect("read"), Calls::default());
    assert!(rig.store.cases(Some("fil"), 100).expect("read").is_empty());
    drop((rig.writer, rig.store));
    let report = inspect::report(dir.path()).expect("report");
    assert_eq!((report.cases, report.damage), (1, vec![]));
}

#[test]
fn what_is_damaged_is_uncertain_and_never_forgotten() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = Rig::open(&options(dir.path()));
    rig.load("a", 3);
    let again = case(&rig, 2, CaseState::Again, 1);
    put(&mut rig, vec![again]);
    drop((rig.writer, rig.store));
    let medium = Medium::open(&dir.path().join("store"), 1 << 20, |_| {}).expect("open");
    let mut batch = Batch::default();
    batch.insert(keys::case("file", 2), b"rubbish".to_vec());
    medium.write(batch).expect("write");
    drop(medium);
    let rig = Rig::open(&options(dir.path()));
    assert_eq!(states(&rig.store), [(2, CaseState::Uncertain)]);
    drop((rig.writer, rig.store));
    assert_eq!(inspect::report(dir.path()).expect("report").damage.len(), 1);
}

/// What stood in the file may be long settled: nothing is made again for it, and nothing open is lost.
#[test]
fn after_a_salvage_nothing_is_made_again_unasked_and_nothing_open_is_lost() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = Rig::open(&options(dir.path()));
    rig.load("a", 9);
    let body = |case: &Case| {
        let (_, value) = case.stored(1);
        frame::unwrap(Kind::Case, &value).expect("a case").body
    };
    let state = |case: &Case, cursor: u64| {
        let body = case::salvaged(&body(case), cursor)?;
        let key = keys::case("file", case.sequence);
        case::whole(&key, &frame::wrap(Kind::Case, 2, &body)).map(|case| case.state)
    };
    let first = case(&rig, 4, CaseState::UnderWay, 1);
    assert_eq!(state(&first, 4), Some(CaseState::Uncertain));
    // Its outcome moved the cursor: it is settled, or there is a newer value of it.
    assert_eq!(state(&first, 5), None);
    assert_eq!(state(&case(&rig, 4, CaseState::UnderWay, 2), 5), Some(CaseState::Uncertain));
    assert_eq!(state(&case(&rig, 4, CaseState::Again, 1), 5), Some(CaseState::Uncertain));
    assert_eq!(state(&case(&rig, 4, CaseState::Uncertain, 1), 5), Some(CaseState::Uncertain));
}

#[test]
fn a_stopped_stores_case_is_settled_once_and_its_cursor_moves_behind_it() {
    for again in [false, true] {
        let dir = tempfile::tempdir().expect("dir");
        let mut rig = Rig::open(&options(dir.path()));
        rig.load("a", 9);
        rig.store.set_cursor("file", 4).expect("cursor");
        let open = case(&rig, 4, CaseState::UnderWay, 1);
        put(&mut rig, vec![open]);
        assert!(matches!(settle_case(dir.path(), "file", 4, again, 0), Err(StoreError::Held { .. })));
        rig.writer.close().expect("close");
        drop(rig.store);
        let missing = settle_case(dir.path(), "other", 4, again, 0);
        assert!(matches!(missing, Err(StoreError::NoSuchCase { sequence: 4, .. })), "{missing:?}");
        assert_eq!(settle_case(dir.path(), "file", 4, again, 0).expect("settled").sequence, 4);
        let twice = settle_case(dir.path(), "file", 4, again, 0);
        assert!(matches!(twice, Err(StoreError::NoSuchCase { .. })), "{twice:?}");
        let rig = Rig::open(&options(dir.path()));
        assert_eq!(rig.store.cursor("file").expect("cursor"), 5);
        assert_eq!(states(&rig.store), if again { vec![(4, CaseState::Again)] } else { vec![] });
    }
}

/// A person settled a call of a sink that was out of the config; when the sink came back the call was made again.
#[test]
fn what_is_settled_while_its_sink_is_out_of_the_config_stays_so_when_it_is_back() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = Rig::open(&options(dir.path()));
    rig.load("a", 10);
    rig.store.set_cursor("file", 3).expect("cursor");
    let begun = case(&rig, 3, CaseState::UnderWay, 1);
    put(&mut rig, vec![begun]);
    rig.writer.close().expect("close");
    drop((rig.store, rig.index));
    let mut rig = Rig::open(&Options { sinks: Vec::new(), ..options(dir.path()) });
    let cases = vec![CaseChange::Drop("file".into(), 3)];
    rig.writer.commit(&Commit { cases, cursors: vec![("file".into(), 4)], ..Commit::default() }).expect("commit");
    drop((rig.writer, rig.store, rig.index));
    let rig = Rig::open(&options(dir.path()));
    assert_eq!((rig.store.cursor("file").expect("cursor"), states(&rig.store)), (4, vec![]));
}
