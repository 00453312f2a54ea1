//! LightGBM's text models: cut off, changed, with trees that are none.

use super::{measured, places, refused};
use std::fmt::Write;
use verdictd::model::lightgbm::{self, survey};
use verdictd::model::trees::{Body, Native, TreePlan};

/// What a refusal may take beside the file.
const MOST: usize = 4 << 20;

const HEAD: &str = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx=1\n\
                    objective=binary sigmoid:1\nfeature_names=a b\nfeature_infos=[0:1] [0:1]\n\n";

/// One block; `changed` lines take the place of those with their keys.
fn tree(changed: &[&str]) -> String {
    let lines = [
        "num_leaves=3",
        "num_cat=1",
        "split_feature=0 1",
        "split_gain=1 1",
        "threshold=0.5 0",
        "decision_type=2 1",
        "left_child=1 -1",
        "right_child=-2 -3",
        "leaf_value=0.5 -0.25 1",
        "leaf_weight=1 1 1",
        "leaf_count=10 10 10",
        "internal_value=0 0",
        "internal_weight=0 0",
        "internal_count=30 20",
        "cat_boundaries=0 1",
        "cat_threshold=5",
        "is_linear=0",
        "shrinkage=1",
    ];
    let mut block = "Tree=0\n".to_owned();
    for line in lines {
        let key = line.split_once('=').unwrap().0;
        let now = changed.iter().find(|new| new.split_once('=').unwrap().0 == key).unwrap_or(&line);
        writeln!(block, "{now}").unwrap();
    }
    block + "\n"
}

fn file(trees: &str) -> String {
    format!(
        "{HEAD}{trees}end of trees\n\nparameters:\n[boosting: gbdt]\nend of parameters\n\npandas_categorical:null\n"
    )
}

/// Loads and compiles it: some faults show only in the check before the plan.
fn load(bytes: &[u8]) -> Result<Native, String> {
    let native = lightgbm::load(bytes)?;
    if let Body::Forest(forest) = &native.body {
        TreePlan::new(forest)?;
    }
    Ok(native)
}

#[track_caller]
fn refused_text(text: &str) -> String {
    refused(MOST + 40 * text.len(), || load(text.as_bytes()))
}

#[test]
fn the_sound_model_loads() {
    load(file(&tree(&[])).as_bytes()).unwrap();
}

#[test]
fn a_file_cut_before_its_trees_end_is_refused() {
    let whole = file(&tree(&[]));
    let end = whole.find("end of trees").unwrap() + "end of trees".len();
    for length in 0..end {
        refused_text(&whole[..length]);
    }
}

#[test]
fn a_flipped_bit_is_refused_or_harmless() {
    let whole = file(&tree(&[])).into_bytes();
    for at in places(whole.len()) {
        for bit in 0..8 {
            let mut changed = whole.clone();
            changed[at] ^= 1 << bit;
            // A count may have grown: what may be taken then is known before.
            let found = survey(changed.as_slice()).unwrap();
            let (_, most) = measured(|| load(&changed));
            let bound = MOST + found.memory().max(40 * whole.len());
            assert!(most <= bound + (12 << 20), "byte {at} bit {bit}: {most} bytes, expected {bound}");
        }
    }
}

#[test]
fn trees_that_are_none_are_refused_by_number() {
    let cases: [&[&str]; 18] = [
        &["left_child=0 -1"],
        &["left_child=1 0"],
        &["left_child=1 1"],
        &["right_child=-1 -3"],
        &["left_child=2 -1"],
        &["left_child=-9 -1"],
        &["left_child=-2147483648 -1"],
        &["left_child=1"],
        &["split_feature=2 1"],
        &["split_feature=-1 1"],
        &["split_feature=4294967296 1"],
        &["threshold=0.5 1"],
        &["threshold=0.5 -1"],
        &["cat_boundaries=0 4294967295"],
        &["cat_boundaries=1 0"],
        &["num_leaves=1000000000"],
        &["num_leaves=-1"],
        &["leaf_value=0.5"],
    ];
    for changed in cases {
        let error = refused_text(&file(&tree(changed)));
        assert!(error.contains("Tree=0") || error.contains("tree 0"), "{changed:?}: {error}");
    }
}

#[test]
fn a_key_that_comes_twice_is_refused() {
    let twice = tree(&[]).replace("num_cat=1\n", "num_cat=1\nnum_cat=1\n");
    let error = refused_text(&file(&twice));
    assert!(error.contains("num_cat"), "{error}");
    let error = refused_text(&file(&tree(&[])).replacen("num_class=1\n", "num_class=1\nnum_class=2\n", 1));
    assert!(error.contains("num_class"), "{error}");
}

#[test]
fn numbers_that_lie_cost_nothing() {
    let plain = file(&tree(&[]));
    for (old, new) in [
        ("max_feature_idx=1", "max_feature_idx=1000000000"),
        ("max_feature_idx=1", "max_feature_idx=-5"),
        ("num_class=1", "num_class=1000000000"),
        ("num_tree_per_iteration=1", "num_tree_per_iteration=1000000000"),
        ("Tree=0", "Tree=1000000000"),
        ("pandas_categorical:null", &format!("pandas_categorical:{}", "[".repeat(100_000))),
    ] {
        refused_text(&plain.replacen(old, new, 1));
    }
}

#[test]
fn a_chain_of_a_million_splits_is_refused() {
    const SPLITS: i64 = 1_000_000;
    let list = |of: &dyn Fn(i64) -> i64| (0..SPLITS).map(|n| of(n).to_string()).collect::<Vec<_>>().join(" ");
    let zeros = list(&|_| 0);
    // Each split has leaf n on the left and the next split on the right.
    let left = format!("left_child={}", list(&|n| -1 - n));
    let right = format!("right_child={}", list(&|n| if n + 1 == SPLITS { -1 - SPLITS } else { n + 1 }));
    let changed = [
        format!("num_leaves={}", SPLITS + 1),
        "num_cat=0".to_owned(),
        format!("split_feature={zeros}"),
        format!("threshold={zeros}"),
        format!("decision_type={zeros}"),
        left,
        right,
        format!("leaf_value={zeros} 0"),
        "leaf_count=".to_owned(),
        "internal_count=".to_owned(),
        "cat_boundaries=".to_owned(),
        "cat_threshold=".to_owned(),
    ];
    let changed: Vec<&str> = changed.iter().map(String::as_str).collect();
    let text = file(&tree(&changed));
    let error = refused(400 << 20, || load(text.as_bytes()));
    assert!(error.contains("deeper than 4096"), "{error}");
}
