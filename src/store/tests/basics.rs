//! What goes in comes out, also after a reopening.

use super::*;

#[test]
fn a_commit_is_read_back_and_found_after_a_reopening() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = Rig::open(&options(dir.path()));
    assert!(rig.recovery.created);
    rig.load("a", 1000);
    rig.load("b", 1);
    let before = rig.log(1);
    assert_eq!(before.len(), 1001);
    assert_eq!(rig.find("a999"), Some(1000));
    let seed = rig.store.seed();
    rig.writer.close().expect("close");
    drop((rig.store, rig.index));

    let mut rig = Rig::open(&options(dir.path()));
    assert!(!rig.recovery.created);
    assert_eq!(rig.recovery.records, 1001);
    assert_eq!(rig.store.seed(), seed);
    assert_eq!(rig.log(1), before);
    assert_eq!(rig.find("a0"), Some(1));
    assert_eq!(rig.find("b0"), Some(1001));
    assert_eq!(rig.find("c0"), None);
    assert_eq!(rig.add("c"), 1002);
}

#[test]
fn single_commits_are_merged_into_full_chunks() {
    let dir = tempfile::tempdir().expect("dir");
    let mut rig = Rig::open(&options(dir.path()));
    for n in 0..500 {
        rig.load(&format!("e{n}-"), 1);
    }
    let before = rig.log(1);
    assert_eq!(before.len(), 500);
    drop((rig.writer, rig.store));
    let rig = Rig::open(&options(dir.path()));
    assert_eq!(rig.log(1), before);
    assert!(rig.recovery.chunks < 80, "{} chunks", rig.recovery.chunks);
    assert!((0..500).all(|n| rig.find(&format!("e{n}-0")) == Some(n + 1)));
}

#[test]
fn a_second_daemon_is_told_who_holds_the_directory() {
    let dir = tempfile::tempdir().expect("dir");
    let rig = Rig::open(&options(dir.path()));
    match open(&options(dir.path())) {
        Err(StoreError::Held { holder, .. }) => {
            assert!(holder.contains(&std::process::id().to_string()), "{holder}");
        }
        other => panic!("{:?}", other.err()),
    }
    drop((rig.writer, rig.store));
    Rig::open(&options(dir.path()));
}
