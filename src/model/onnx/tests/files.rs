//! Files that are cut, changed, or lie elsewhere.

use super::super::survey;
use super::*;
use std::io::Cursor;
use std::path::Path;

/// Two dense layers, a function of the model aside: every kind of message.
fn example() -> Model {
    Model::floats(4)
        .constant(floats("w", &[4, 3], &(0u8..12).map(f32::from).collect::<Vec<_>>()))
        .constant(floats("b", &[3], &[1.0, -2.0, 3.0]))
        .constant(longs("axes", &[1], &[1]))
        .node_with("Gemm", &["x", "w", "b"], &["g"], &[int("transA", 0)])
        .node("Relu", &["g"], &["r"])
        .node_with("ReduceSum", &["r", "axes"], &["y"], &[int("keepdims", 1)])
        .output("y")
}

#[test]
fn a_file_cut_anywhere_is_refused_or_whole() {
    let bytes = example().bytes();
    for len in 0..bytes.len() {
        let cut = bytes.slice(..len);
        let first = survey(Cursor::new(&cut), len as u64);
        // A cut between two fields leaves a model that is short of something.
        let loaded = load(cut, External::Nowhere, &options());
        assert!(first.is_ok() || loaded.is_err(), "{len}");
        if let Ok(plan) = loaded {
            assert_eq!(plan.outputs().len(), 1);
        }
    }
    // The survey believes no length that it is told.
    assert!(survey(Cursor::new(&bytes), bytes.len() as u64 + 9).is_err());
}

#[test]
fn a_file_with_changed_bits_does_no_harm() {
    let bytes = example().bytes();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.to_vec();
            changed[at] ^= 1 << bit;
            if let Ok(plan) = load(changed.into(), External::Nowhere, &options()) {
                let rows = vec![1.0; plan.columns().len() * 9];
                assert_eq!(run(&plan, &rows).len(), 9 * plan.out_width());
            }
        }
    }
}

/// x + c, where c lies beside the model.
fn beside(entries: &[(&str, &str)]) -> Model {
    let entry =
        |(key, value): &(&str, &str)| proto::Entry { key: Some((*key).to_owned()), value: Some((*value).to_owned()) };
    let tensor = proto::Tensor {
        name: Some("c".to_owned()),
        dims: vec![2],
        data_type: Some(1),
        data_location: Some(1),
        external_data: entries.iter().map(entry).collect(),
        ..proto::Tensor::default()
    };
    Model::floats(2).constant(tensor).node("Add", &["x", "c"], &["y"]).output("y")
}

fn refusal_in(dir: &Path, entries: &[(&str, &str)]) -> String {
    load(beside(entries).bytes(), External::Folder(dir), &options()).unwrap_err().0
}

#[test]
fn external_data_is_read_from_the_bundle_alone() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("bundle");
    std::fs::create_dir_all(dir.join("data")).unwrap();
    let numbers: Vec<u8> = [9.0f32, 1.5, -2.5].iter().flat_map(|x| x.to_le_bytes()).collect();
    std::fs::write(dir.join("data/weights"), &numbers).unwrap();
    std::fs::write(root.path().join("outside"), &numbers).unwrap();
    std::os::unix::fs::symlink("../outside", dir.join("link")).unwrap();
    std::os::unix::fs::symlink("data/weights", dir.join("inner")).unwrap();

    for location in ["data/weights", "./data/weights", "inner"] {
        let model = beside(&[("location", location), ("offset", "4"), ("length", "8")]);
        let plan = load(model.bytes(), External::Folder(&dir), &options()).unwrap();
        assert_eq!(run(&plan, &[1.0, 1.0]), [2.5, -1.5], "{location}");
    }
    let inside = "expected a path inside the bundle, without .. and not absolute";
    let outside = root.path().join("outside");
    for location in ["../outside", "data/../../outside", outside.to_str().unwrap(), ""] {
        let refusal = refusal_in(&dir, &[("location", location)]);
        assert!(refusal.starts_with("tensor 'c': external data"), "{refusal}");
        assert!(refusal.ends_with(inside), "{refusal}");
    }
    assert!(refusal_in(&dir, &[("location", "link")]).ends_with("it leads out of the bundle"));
    assert!(refusal_in(&dir, &[("location", "data")]).ends_with("expected a regular file"));
    let weights = ("location", "data/weights");
    assert!(refusal_in(&dir, &[weights, ("offset", "5")]).ends_with("8 bytes at 5 are beyond its end at 12"));
    assert!(refusal_in(&dir, &[weights, ("offset", "18446744073709551615")]).contains("beyond its end"));
    assert!(refusal_in(&dir, &[weights, ("offset", "-1")]).ends_with("offset is no number"));
    assert!(refusal_in(&dir, &[weights, ("length", "12")]).ends_with("expected 8 bytes, it says 12"));
    assert!(refusal_in(&dir, &[]).ends_with("external data without a location"));
    let refusal = load(beside(&[weights]).bytes(), External::Nowhere, &options()).unwrap_err().0;
    assert!(refusal.contains("directory is not known"), "{refusal}");
}

#[test]
fn the_survey_s_estimate_is_more_than_a_load_takes() {
    // What does not fit a budget of the estimate would be refused by the load.
    let bytes = example().bytes();
    let estimate = survey(Cursor::new(&bytes), bytes.len() as u64).unwrap().estimate();
    let working = load(bytes.clone(), External::Nowhere, &options()).unwrap().scratch_bytes(1 << 20);
    let tight = Options { bytes: usize::try_from(estimate).unwrap() + 2 * working, ..options() };
    load(bytes, External::Nowhere, &tight).unwrap();
}
