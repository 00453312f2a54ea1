//! Looking in changes nothing, whatever state the store is in.

use super::*;
use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;

fn contents(dir: &Path) -> BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).expect("list") {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).expect("read"));
        }
    }
    found
}

fn events(inspector: &inspect::Inspector, from: u64) -> Vec<(u64, String)> {
    let mut found = Vec::new();
    inspector
        .events(from, |record| {
            found.push((record.verdict.sequence, record.verdict.id.to_owned()));
            ControlFlow::Continue(())
        })
        .expect("read");
    found
}

#[test]
fn a_running_a_stopped_and_a_damaged_store_are_read_without_a_change() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = Rig::open(&options(dir.path()));
    for round in 0..10 {
        rig.load(&format!("a{round}-"), 300);
    }
    rig.store.set_cursor("file", 17).expect("cursor");
    let entry = QuarantineEntry {
        kind: "malformed".into(),
        source: "pos".into(),
        id: None,
        reason: "no object".into(),
        bytes: b"[".to_vec(),
        length: 0,
        at_ms: 1,
    };
    let offsets = vec![(String::from("feed"), vec![1, 2, 3])];
    rig.writer.commit(&Commit { offsets, quarantine: vec![entry], ..Commit::default() }).expect("commit");
    let log = rig.log(1);

    let before = contents(dir.path());
    let running = inspect::Inspector::open(dir.path()).expect("look");
    assert_eq!(running.report().damage, Vec::<String>::new());
    assert!(running.report().held_by.as_deref().is_some_and(|holder| holder.contains("process")));
    assert_eq!(events(&running, 1), log);
    assert_eq!(events(&running, 2990), log[2989..]);
    assert_eq!(contents(dir.path()), before);

    drop((rig.writer, rig.store));
    let before = contents(dir.path());
    let stopped = inspect::Inspector::open(dir.path()).expect("look");
    let report = stopped.report();
    assert_eq!(report.damage, Vec::<String>::new());
    assert_eq!(report.held_by, None);
    assert_eq!((report.first_sequence, report.next_sequence, report.records), (1, 3001, 3000));
    assert_eq!(report.cursors, vec![(String::from("file"), 17)]);
    assert_eq!(report.offsets, vec![(String::from("feed"), 3)]);
    assert_eq!(report.quarantine.len(), 1);
    assert_eq!(stopped.quarantine().expect("list")[0].reason, "no object");
    assert_eq!(stopped.quarantine_get(1).expect("get").expect("there").1.bytes, b"[");
    assert_eq!(events(&stopped, 1), log);
    assert_eq!(contents(dir.path()), before);

    let file = fs::File::options().write(true).open(dir.path().join("store/db")).expect("db");
    file.write_all_at(&[0; 20], 0).expect("damage");
    let before = contents(dir.path());
    let damaged = inspect::Inspector::open(dir.path()).expect("look");
    assert!(!damaged.report().damage.is_empty());
    let found = events(&damaged, 1);
    assert!(found.iter().all(|event| log.contains(event)));
    assert_eq!(contents(dir.path()), before);
}

#[test]
fn where_there_is_no_store_it_says_so() {
    let dir = tempfile::tempdir().expect("dir");
    let error = inspect::report(dir.path()).expect_err("nothing there");
    assert!(error.to_string().contains("store/db"), "{error}");
    assert_eq!(contents(dir.path()).len(), 0);
}
