//! What an XGBoost file means, and what is refused.
// Sums of few numbers are meant to be equal bit for bit.
#![allow(clippy::float_cmp)]

use super::super::trees::{Body, Forest, Kind, Native, TreePlan};
use super::{Iterations, load, survey, ubj};

/// Two trees over two columns: numbers, then a category split whose set {1, 3} goes right.
fn file() -> String {
    r#"{"learner":{"attributes":{"best_iteration":"0"},"feature_names":["amount","kind"],"feature_types":["float","c"],
    "gradient_booster":{"model":{"gbtree_model_param":{"num_parallel_tree":"1","num_trees":"2"},
    "iteration_indptr":[0,1,2],"tree_info":[0,0],"trees":[
    {"left_children":[1,-1,-1],"right_children":[2,-1,-1],"split_indices":[0,0,0],"split_conditions":[1.5,1,2],
    "default_left":[1,0,0],"split_type":[0,0,0],"sum_hessian":[3,1,2],"tree_param":{"size_leaf_vector":"1"}},
    {"left_children":[1,-1,-1],"right_children":[2,-1,-1],"split_indices":[1,0,0],"split_conditions":[NaN,4,8],
    "default_left":[0,0,0],"split_type":[1,0,0],"sum_hessian":[3,1,2],"tree_param":{"size_leaf_vector":"1"},
    "categories":[1,3],"categories_nodes":[0],"categories_segments":[0],"categories_sizes":[2]}]},"name":"gbtree"},
    "learner_model_param":{"base_score":"[5E-1]","num_class":"0","num_feature":"2","num_target":"1"},
    "objective":{"name":"binary:logistic"}},"version":[3,2,0]}"#
        .to_owned()
}

fn forest(native: &Native) -> &Forest {
    match &native.body {
        Body::Forest(forest) => forest,
        Body::Linear(_) => panic!("trees were expected"),
    }
}

fn raw(text: &str, row: [f64; 2]) -> f64 {
    let native = load(text.as_bytes(), Iterations::All).unwrap();
    let plan = TreePlan::new(forest(&native)).unwrap();
    let mut out = [0.0];
    plan.run(&row, &mut out, &mut plan.scratch(1));
    out[0]
}

#[test]
fn numbers_and_categories_go_where_the_library_sends_them() {
    for (cell, leaf) in [(1.4, 1.0), (1.5, 2.0), (f64::NAN, 1.0), (1.499_999_999_9, 2.0)] {
        assert_eq!(raw(&file(), [cell, 0.0]), leaf + 4.0, "{cell}");
    }
    for (cell, leaf) in [(1.0, 8.0), (3.7, 8.0), (2.0, 4.0), (-1.0, 4.0), (1e9, 4.0), (f64::NAN, 8.0)] {
        assert_eq!(raw(&file(), [0.0, cell]), 1.0 + leaf, "{cell}");
    }
}

#[test]
fn trees_behind_the_best_iteration_count_only_where_all_are_asked_for() {
    let best = load(file().as_bytes(), Iterations::Best).unwrap();
    assert_eq!(forest(&best).trees.len(), 1);
    assert_eq!(best.notes, ["best_iteration: 1 of the 2 trees count"]);
    assert_eq!(forest(&load(file().as_bytes(), Iterations::All).unwrap()).trees.len(), 2);
}

#[test]
fn the_base_score_is_turned_as_its_objective_stores_it() {
    for (objective, margin) in
        [("binary:logistic", 0.0), ("count:poisson", 0.5_f32.ln()), ("reg:squarederror", 0.5), ("binary:logitraw", 0.5)]
    {
        let text = file().replace("binary:logistic", objective);
        let native = load(text.as_bytes(), Iterations::All).unwrap();
        assert_eq!(forest(&native).base, [f64::from(margin)], "{objective}");
    }
    let bare = file().replace("\"[5E-1]\"", "0.5");
    assert_eq!(forest(&load(bare.as_bytes(), Iterations::All).unwrap()).base, [0.0]);
}

#[test]
fn categories_of_a_data_frame_are_told_with_their_columns() {
    let cats =
        r#""trees":[],"cats":{"enc":[{"offsets":[],"values":[]},{"offsets":[0,1,3],"values":[97,98,99]}]},"trees""#;
    let text = file().replacen("\"trees\"", &cats.replacen("\"trees\":[],", "", 1), 1);
    let native = load(text.as_bytes(), Iterations::All).unwrap();
    assert_eq!(native.columns, [Kind::Number, Kind::Texts(vec!["a".into(), "bc".into()])]);
}

#[test]
fn what_is_broken_or_not_known_is_refused_with_the_place() {
    for (from, to, expected) in [
        ("binary:logistic", "my:own", "\"my:own\" is not known"),
        ("\"name\":\"gbtree\"", "\"name\":\"gbforest\"", "\"gbforest\" is not known"),
        ("\"left_children\":[1,", "\"left_children\":[0,", "tree 0: node 0 is reached twice"),
        ("\"left_children\":[1,", "\"left_children\":[9,", "tree 0: node 9 of 3"),
        ("\"default_left\":[1,0,0]", "\"default_left\":[1]", "default_left has 1 entries"),
        ("\"categories\":[1,3]", "\"categories\":[1,99999999]", "category 99999999"),
        ("\"categories_sizes\":[2]", "\"categories_sizes\":[18446744073709551615]", "categories are not there"),
        ("\"tree_info\":[0,0]", "\"tree_info\":[0,7]", "names target 7 of 1"),
        ("\"num_feature\":\"2\"", "\"num_feature\":\"999999999\"", "at most"),
        ("\"num_class\":\"0\"", "\"num_class\":\"999999999\"", "at most"),
        ("[5E-1]", "[5E-1,1]", "2 numbers for 1 targets"),
        ("[5E-1]", "[2]", "base_score"),
    ] {
        assert!(file().contains(from), "{from}");
        let error = load(file().replacen(from, to, 1).as_bytes(), Iterations::All).unwrap_err();
        assert!(error.contains(expected), "{to}: {error}");
    }
    for length in 0..file().len() {
        assert!(load(&file().as_bytes()[..length], Iterations::All).is_err(), "cut off at {length}");
    }
}

#[test]
fn ubj_that_tells_of_more_than_it_has_is_refused_before_anything_is_made_of_it() {
    let huge = [0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    for head in [&b"[$Z#L"[..], b"[$d#L", b"[#L", b"[$[#L", b"SL", b"{#L"] {
        let bytes: Vec<u8> = head.iter().chain(&huge).copied().collect();
        let found: Result<Vec<f32>, _> = ubj::from_bytes(&bytes);
        assert!(found.unwrap_err().to_string().contains("bytes are left"), "{head:?}");
    }
    let deep: Vec<u8> = b"{U\x07learner".iter().copied().chain(std::iter::repeat_n(b'[', 100_000)).collect();
    assert!(load(&deep, Iterations::All).is_err());
    let nested: Result<serde::de::IgnoredAny, _> = ubj::from_bytes(&vec![b'['; 100_000]);
    assert!(nested.unwrap_err().to_string().contains("deeper than 64"));
}

#[test]
fn ubj_reads_every_kind_of_number_and_container() {
    let bytes = b"[i\xff U\x05I\x01\x00l\x00\x01\x00\x00d\x3f\x80\x00\x00D\x3f\xf0\x00\x00\x00\x00\x00\x00N]";
    let bytes: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != b' ').collect();
    assert_eq!(ubj::from_bytes::<Vec<f64>>(&bytes).unwrap(), [-1.0, 5.0, 256.0, 65_536.0, 1.0, 1.0]);
    assert_eq!(ubj::from_bytes::<Vec<u8>>(b"[$U#i\x02\x07\x08").unwrap(), [7, 8]);
    let map: std::collections::BTreeMap<String, Option<u8>> = ubj::from_bytes(b"{i\x01aZi\x01bU\x03}").unwrap();
    assert_eq!(map, [("a".to_owned(), None), ("b".to_owned(), Some(3))].into());
}

#[test]
fn a_survey_counts_nodes_in_both_forms() {
    let found = survey(file().as_bytes()).unwrap();
    assert_eq!((found.trees, found.nodes), (2, 6));
    let list = b"L\x00\x00\x00\x00\x00\x00\x00\x0dleft_children[$l#L\x00\x00\x00\x00\x00\x00\x00\x03............";
    assert_eq!(survey(&list[..]).unwrap().nodes, 3);
}
