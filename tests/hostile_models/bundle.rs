//! Hostile files by the way that the daemon takes: what cannot fit is refused before it is read.

use super::onnx::sound;
use super::refused;
use super::wire::{bytes, graph, model, node, number, value};
use super::xgboost::{TREE, file};
use std::fs::File;
use std::path::Path;
use verdictd::model::{LoadOptions, load};

/// 16 MiB, three times that while loading, and the readers' tables: what the daemon says it takes at most.
const MOST: usize = (4 * 16 + 20) << 20;

#[track_caller]
fn refused_path(path: &Path) -> String {
    let options = LoadOptions::default();
    let error = refused(MOST, || load(path, &options).map_err(|error| error.to_string()));
    assert!(error.contains(path.file_name().unwrap().to_str().unwrap()), "{error}");
    error
}

#[test]
fn sound_files_load() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("m.json"), file(&[TREE])).unwrap();
    load(&dir.path().join("m.json"), &LoadOptions::default()).unwrap();
    std::fs::write(dir.path().join("m.onnx"), sound()).unwrap();
    load(&dir.path().join("m.onnx"), &LoadOptions::default()).unwrap();
}

#[test]
fn files_of_a_terabyte_are_refused_unread() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["m.onnx", "m.txt", "m.json", "m.ubj"] {
        let path = dir.path().join(name);
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        refused_path(&path);
    }
}

#[test]
fn weights_that_are_not_in_the_file_are_counted_all_the_same() {
    // Two constants that claim 64 MiB each, in a file of holes.
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.onnx");
    let add = node("", "Add", &["x", "w"], &["y"], &[]);
    let claim = [number(1, 1 << 24), number(2, 1), bytes(8, b"w")].concat();
    let made = model(&graph(&[add], &[claim], &[value("x", 1)], &[value("y", 1)]));
    std::fs::write(&path, made).unwrap();
    let error = refused_path(&path);
    assert!(error.contains("bytes") || error.contains("'w'"), "{error}");
}

#[test]
fn what_is_no_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["m.onnx", "m.txt", "m.json", "m.ubj"] {
        let path = dir.path().join(name);
        std::fs::create_dir(&path).unwrap();
        load(&path, &LoadOptions::default()).unwrap_err();
        let link = dir.path().join(format!("link.{name}"));
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        let error = load(&link, &LoadOptions::default()).unwrap_err().to_string();
        assert!(error.contains("regular file"), "{error}");
    }
}
