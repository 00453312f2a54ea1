//! Lists at work: what their files may hold, and what a change of one does.

use super::super::Reloaded;
use super::{Case, rules_in};
use crate::features::{List, Looked, Value};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

const LIST: &str = "[[list]]\nname = \"stolen\"\nfile = \"stolen.txt\"\n";

fn has(list: &List, key: &str) -> bool {
    list.holds(Value::Text(key)) == Some(true)
}

/// Put in place as it should be: whole, by a rename.
fn replace(file: &Path, text: &str) {
    let beside = file.with_extension("new");
    fs::write(&beside, text).unwrap();
    fs::rename(beside, file).unwrap();
}

#[test]
fn a_condition_asks_a_list_for_any_value() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("stolen.txt"), "3961\nk 1\ntrue\n0.5\n").unwrap();
    for (condition, event, expected) in [
        ("CUSTOMER in stolen", r#"{"CUSTOMER": 3961}"#, true),
        ("CUSTOMER in stolen", r#"{"CUSTOMER": "3961"}"#, true),
        ("CUSTOMER in stolen", r#"{"CUSTOMER": 3961.0}"#, true),
        ("CUSTOMER in stolen", r#"{"CUSTOMER": true}"#, true),
        ("CUSTOMER in stolen", r#"{"CUSTOMER": 0.5}"#, false),
        ("CUSTOMER in stolen", "{}", false),
        ("CUSTOMER not in stolen", r#"{"CUSTOMER": "k 2"}"#, true),
        ("CUSTOMER not in stolen", r#"{"CUSTOMER": null}"#, false),
        ("CUSTOMER not in stolen", r#"{"CUSTOMER": []}"#, false),
        ("key in stolen", "{}", true),
        ("MCC in stolen", r#"{"merchant": {"category": 3961}}"#, true),
        ("TX_AMOUNT + 1 in stolen", r#"{"TX_AMOUNT": 3960}"#, true),
        ("'k 1' in stolen", "{}", true),
        ("1 / 0 not in stolen", "{}", false),
    ] {
        let (set, problems) = rules_in(dir.path(), LIST, &[condition]);
        assert!(problems.is_empty(), "{problems:?}");
        let mut case = Case::new(event, &set);
        case.key = Some("k 1".to_owned());
        assert_eq!(set.judge(&case).is_some(), expected, "{condition} of {event}");
    }
}

#[test]
fn a_file_holds_a_key_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("list");
    fs::write(&file, "\u{feff}first\r\n# a comment\n\n  with blanks  \nno # comment\n\tlast").unwrap();
    let list = List::open("l", &file).unwrap();
    assert_eq!((list.len(), list.name(), list.fault()), (4, "l", None));
    assert!(["first", "with blanks", "no # comment", "last"].iter().all(|key| has(&list, key)));
    assert!(!has(&list, "# a comment") && !has(&list, ""));
    fs::write(&file, "").unwrap();
    assert!(List::open("l", &file).unwrap().is_empty());
    fs::write(&file, b"a\n\xff\n").unwrap();
    assert_eq!(List::open("l", &file).unwrap_err(), "line 2: expected UTF-8");
    let long = format!("{}\n{}\n", "x".repeat(1_024), "y".repeat(1_025));
    fs::write(&file, long).unwrap();
    assert_eq!(List::open("l", &file).unwrap_err(), "line 2: expected a key of at most 1024 bytes");
    // As far as the system is concerned it is there; nothing of it is read.
    File::create(&file).unwrap().set_len((64 << 20) + 1).unwrap();
    assert_eq!(List::open("l", &file).unwrap_err(), "expected at most 67108864 bytes, found 67108865");
}

#[test]
fn many_keys_take_ten_bytes_each() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("list");
    let numbers: Vec<String> = (0..100_000).map(|n| n.to_string()).collect();
    fs::write(&file, numbers.join("\n")).unwrap();
    let list = List::open("l", &file).unwrap();
    assert_eq!(list.len(), 100_000);
    assert!(list.bytes() < 1_001_000, "{}", list.bytes());
    assert!(
        (0..100_000).all(|n| has(&list, &n.to_string())) && (100_000..300_000).all(|n| !has(&list, &n.to_string()))
    );
    fs::write(&file, "1\n".repeat((4 << 20) + 1)).unwrap();
    assert_eq!(List::open("l", &file).unwrap_err(), "expected at most 4194304 keys");
}

#[test]
fn a_changed_file_is_taken_when_it_stands_still() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("stolen.txt");
    fs::write(&file, "a\n").unwrap();
    let (set, _) = rules_in(dir.path(), LIST, &["key in stolen"]);
    let judged = |key: &str| {
        let mut case = Case::new("{}", &set);
        case.key = Some(key.to_owned());
        set.judge(&case).is_some()
    };
    assert!(judged("a") && set.reload_lists().is_empty() && set.reload_lists().is_empty());
    replace(&file, "b\nc\n");
    assert!(set.reload_lists().is_empty() && judged("a"), "the first look only sees that it moved");
    let looked = Looked::Changed { before: 1, now: 2 };
    assert_eq!(set.reload_lists(), [Reloaded { list: "stolen".into(), looked }]);
    assert!(!judged("a") && judged("b") && judged("c"));
    assert!(set.reload_lists().is_empty());
}

#[test]
fn lists_never_grow_beyond_the_memory_there_is() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("stolen.txt");
    fs::write(&file, "a\n").unwrap();
    let (set, _) = rules_in(dir.path(), LIST, &["key in stolen"]);
    set.keep_within(set.bytes() + 80);
    replace(&file, "a\nb\nc\nd\n");
    assert_eq!((set.reload_lists().len(), set.reload_lists().len(), set.lists()[0].len()), (0, 1, 4));
    let many: Vec<String> = (0..100).map(|n| n.to_string()).collect();
    replace(&file, &many.join("\n"));
    assert!(set.reload_lists().is_empty());
    let told = set.reload_lists();
    let Looked::Refused(what) = &told[0].looked else { panic!("{told:?}") };
    assert!(what.starts_with("its 100 keys need 1008 bytes of memory, expected at most "), "{what}");
    assert_eq!(set.lists()[0].len(), 4);
}

/// A writer that does not rename: what is half there stays out of force as long as it grows.
#[test]
fn a_half_written_file_is_not_taken() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("stolen.txt");
    fs::write(&file, "a\nb\n").unwrap();
    let list = List::open("l", &file).unwrap();
    let mut writer = File::create(&file).unwrap();
    assert_eq!(list.look(), Looked::Same);
    for n in 0..20 {
        write!(writer, "key {n}\nhalf of a k").unwrap();
        assert_eq!(list.look(), Looked::Same, "it grows from look to look");
        assert!(has(&list, "a") && has(&list, "b"));
    }
    writeln!(writer, "ey").unwrap();
    assert_eq!((list.look(), list.look()), (Looked::Same, Looked::Changed { before: 2, now: 21 }));
    assert!(!has(&list, "a") && has(&list, "half of a key"));
}

#[test]
fn a_file_that_fails_leaves_the_old_keys_and_is_told_once() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("stolen.txt");
    fs::write(&file, "a\n").unwrap();
    let list = List::open("l", &file).unwrap();
    let refused = |what: &str| (Looked::Same, Looked::Refused(what.to_owned()), Looked::Same);
    replace(&file, "b\nc\0\0\0\n");
    let zeros = "line 2: expected a key, found a control character";
    assert_eq!((list.look(), list.look(), list.look()), refused(zeros));
    assert!(has(&list, "a") && !has(&list, "b"));
    assert_eq!(list.fault().as_deref(), Some(zeros));
    fs::remove_file(&file).unwrap();
    let gone = "No such file or directory (os error 2)";
    assert_eq!((list.look(), list.look(), list.look()), refused(gone));
    assert!(has(&list, "a"));
    replace(&file, "d\n");
    assert_eq!((list.look(), list.look()), (Looked::Same, Looked::Changed { before: 1, now: 1 }));
    assert_eq!((list.fault(), has(&list, "d")), (None, true));
    // A pipe would be waited for for ever.
    fs::remove_file(&file).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &file, rustix::fs::Mode::RUSR).unwrap();
    assert_eq!((list.look(), list.look(), list.look()), refused("expected a regular file"));
}
