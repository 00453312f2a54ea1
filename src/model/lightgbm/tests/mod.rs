//! What a LightGBM file means, and what is refused.
// Sums of few numbers are meant to be equal bit for bit.
#![allow(clippy::float_cmp)]

use super::super::trees::{Body, Forest, Kind, Native, Objective, TreePlan};
use super::{load, survey};

const HEADER: &str = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx=1\n";

/// Two trees: numbers with a missing type, then categories {1, 34} of column 1.
fn file(objective: &str, missing: &str) -> String {
    format!(
        "{HEADER}objective={objective}\nfeature_names=amount kind\nfeature_infos=[0:9] 1:34\ntree_sizes=1 1\n\n\
         Tree=0\nnum_leaves=3\nnum_cat=0\nsplit_feature=0 0\nthreshold=1.5 0.5\ndecision_type={missing} {missing}\n\
         left_child=1 -1\nright_child=-3 -2\nleaf_value=1 2 4\nleaf_count=5 6 7\ninternal_count=18 11\nis_linear=0\n\
         shrinkage=0.1\n\n\
         Tree=1\nnum_leaves=2\nnum_cat=1\nsplit_feature=1\nthreshold=0\ndecision_type=1\nleft_child=-1\n\
         right_child=-2\nleaf_value=8 16\ncat_boundaries=0 2\ncat_threshold=2 4\nis_linear=0\nshrinkage=1\n\n\n\
         end of trees\n\nparameters:\n[objective: binary]\nend of parameters\n\npandas_categorical:null\n"
    )
}

fn forest(native: &Native) -> &Forest {
    match &native.body {
        Body::Forest(forest) => forest,
        Body::Linear(_) => panic!("trees were expected"),
    }
}

fn raw(text: &str, row: [f64; 2]) -> f64 {
    let native = load(text.as_bytes()).unwrap();
    let plan = TreePlan::new(forest(&native)).unwrap();
    let mut out = [0.0];
    plan.run(&row, &mut out, &mut plan.scratch(1));
    out[0]
}

#[test]
fn numbers_and_categories_go_where_the_library_sends_them() {
    // Missing is NaN (type 2), right by default.
    let text = file("binary sigmoid:1", "8");
    for (cell, leaf) in [(0.5, 1.0), (0.6, 2.0), (1.5, 2.0), (1.6, 4.0), (f64::NAN, 4.0), (f64::NEG_INFINITY, 1.0)] {
        assert_eq!(raw(&text, [cell, 0.0]), leaf + 16.0, "{cell}");
    }
    for (cell, leaf) in [(1.0, 8.0), (34.0, 8.0), (34.9, 8.0), (35.0, 16.0), (2.0, 16.0), (-1.0, 16.0)] {
        assert_eq!(raw(&text, [0.0, cell]), 1.0 + leaf, "{cell}");
    }
    for cell in [f64::NAN, f64::INFINITY, 1e300, -0.5] {
        assert_eq!(raw(&text, [0.0, cell]), 1.0 + 16.0, "{cell}");
    }
}

#[test]
fn each_missing_type_has_its_own_meaning() {
    // None: NaN is 0. Zero, default left or right: NaN and zeros take that side. NaN, default left.
    for (missing, nan, zero) in [("0", 1.0, 1.0), ("6", 1.0, 1.0), ("4", 4.0, 4.0), ("10", 1.0, 1.0), ("8", 4.0, 1.0)] {
        let text = file("binary sigmoid:1", missing);
        assert_eq!(raw(&text, [f64::NAN, 0.0]), nan + 16.0, "{missing}");
        for cell in [0.0, -0.0, 1e-36, -f64::from(1e-35_f32)] {
            assert_eq!(raw(&text, [cell, 0.0]), zero + 16.0, "{missing} {cell}");
        }
    }
}

#[test]
fn the_objective_line_decides_the_output() {
    let sigmoid = |slope| Objective::Sigmoid { slope };
    for (line, objective) in [
        ("binary sigmoid:2.5", sigmoid(2.5)),
        ("cross_entropy", sigmoid(1.0)),
        ("cross_entropy_lambda", Objective::Softplus),
        ("multiclassova num_class:1 sigmoid:1.5", sigmoid(1.5)),
        ("multiclass num_class:1", Objective::Softmax),
        ("regression sqrt", Objective::SignedSquare),
        ("quantile", Objective::Identity),
        ("tweedie", Objective::Exp),
        ("lambdarank", Objective::Identity),
    ] {
        assert_eq!(load(file(line, "8").as_bytes()).unwrap().objective, objective, "{line}");
    }
    assert!(load(file("my_own", "8").as_bytes()).unwrap_err().contains("\"my_own\" is not known"));
}

#[test]
fn what_is_not_whole_or_not_supported_is_refused_with_the_place() {
    let text = file("binary", "8");
    for (from, to, expected) in [
        ("is_linear=0", "is_linear=1", "line 12: Tree=0: linear trees"),
        ("version=v4", "version=v9", "version \"v9\""),
        ("left_child=1 -1", "left_child=0 -1", "reached twice"),
        ("left_child=1 -1", "left_child=7 -1", "child 7 of 2 splits"),
        ("leaf_value=1 2 4", "leaf_value=1 2", "leaf_value has 2 entries, expected 3"),
        ("split_feature=0 0", "split_feature=0 9", "column 9 of 2"),
        ("cat_boundaries=0 2", "cat_boundaries=0 3", "cat_boundaries 0..3 of 2 words"),
        ("threshold=0\n", "threshold=1\n", "category set 1 of 1"),
        ("tree_sizes=1 1", "tree_sizes=1 1 1", "tells of 3 trees"),
        ("num_leaves=3", "num_leaves=99999999999", "expected 1 to"),
        ("max_feature_idx=1", "max_feature_idx=1000000000", "at most"),
        ("pandas_categorical:null", "pandas_categorical:[[1],[2],[3]]", "values of 3 columns"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = load(text.replacen(from, to, 1).as_bytes()).unwrap_err();
        assert!(error.contains(expected), "{to}: {error}");
    }
    let end = text.find("end of trees").unwrap();
    for length in 0..end {
        assert!(load(&text.as_bytes()[..length]).is_err(), "cut off at {length}");
    }
}

#[test]
fn categories_of_a_data_frame_are_told_with_their_columns() {
    let text = file("binary", "8").replace("pandas_categorical:null", "pandas_categorical:[[\"a\", \"b\"]]");
    assert_eq!(load(text.as_bytes()).unwrap().columns, [Kind::Number, Kind::Texts(vec!["a".into(), "b".into()])]);
    let text = text.replace("[\"a\", \"b\"]", "[10, 2.5]");
    assert_eq!(load(text.as_bytes()).unwrap().columns[1], Kind::Numbers(vec![10.0, 2.5]));
}

#[test]
fn a_survey_counts_what_loading_finds() {
    let text = file("binary", "8");
    let found = survey(text.as_bytes()).unwrap();
    let native = load(text.as_bytes()).unwrap();
    assert_eq!((found.trees, found.leaves, found.splits, found.columns), (2, 5, 3, 2));
    let plan = TreePlan::new(forest(&native)).unwrap();
    assert!(found.memory() >= text.len() + forest(&native).bytes() + plan.bytes());
}
