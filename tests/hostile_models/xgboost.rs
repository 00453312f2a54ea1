//! XGBoost's JSON models: cut off, changed, nested, with trees that are none.

use super::{measured, places, refused};
use std::cmp::Ordering;
use verdictd::model::trees::{Body, Native, TreePlan};
use verdictd::model::xgboost::{self, Iterations, survey};

/// What a refusal may take beside the file.
pub(crate) const MOST: usize = 4 << 20;

/// A tree of one split, by its lists.
pub(crate) const TREE: &str = r#"{"base_weights":[0,0,0],"categories":[],"categories_nodes":[],"categories_segments":[],"categories_sizes":[],"default_left":[1,0,0],"id":0,"left_children":[1,-1,-1],"loss_changes":[1,0,0],"parents":[2147483647,0,0],"right_children":[2,-1,-1],"split_conditions":[0.5,-0.25,0.75],"split_indices":[1,0,0],"split_type":[0,0,0],"sum_hessian":[30,10,20],"tree_param":{"num_deleted":"0","num_feature":"2","num_nodes":"3","size_leaf_vector":"1"}}"#;

pub(crate) fn file(trees: &[&str]) -> String {
    let count = trees.len();
    let info = vec!["0"; count].join(",");
    format!(
        r#"{{"learner":{{"attributes":{{}},"feature_names":[],"feature_types":[],"gradient_booster":{{"model":{{"gbtree_model_param":{{"num_parallel_tree":"1","num_trees":"{count}"}},"iteration_indptr":[0,{count}],"tree_info":[{info}],"trees":[{}]}},"name":"gbtree"}},"learner_model_param":{{"base_score":"5E-1","boost_from_average":"1","num_class":"0","num_feature":"2","num_target":"1"}},"objective":{{"name":"binary:logistic","reg_loss_param":{{"scale_pos_weight":"1"}}}}}},"version":[2,1,0]}}"#,
        trees.join(",")
    )
}

/// Loads and compiles it.
pub(crate) fn load(bytes: &[u8]) -> Result<Native, String> {
    let native = xgboost::load(bytes, Iterations::Best)?;
    if let Body::Forest(forest) = &native.body {
        TreePlan::new(forest)?;
    }
    Ok(native)
}

#[track_caller]
pub(crate) fn refused_file(bytes: &[u8]) -> String {
    refused(MOST + 80 * bytes.len(), || load(bytes))
}

#[test]
fn the_sound_model_loads() {
    load(file(&[TREE]).as_bytes()).unwrap();
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let whole = file(&[TREE]);
    for length in 0..whole.len() {
        refused_file(&whole.as_bytes()[..length]);
    }
}

#[test]
fn a_flipped_bit_is_refused_or_harmless() {
    let whole = file(&[TREE]).into_bytes();
    for at in places(whole.len()) {
        for bit in 0..8 {
            let mut changed = whole.clone();
            changed[at] ^= 1 << bit;
            let found = survey(changed.as_slice()).unwrap();
            let (_, most) = measured(|| load(&changed));
            let bound = MOST + found.memory().max(80 * whole.len());
            assert!(most <= bound + (12 << 20), "byte {at} bit {bit}: {most} bytes, expected {bound}");
        }
    }
}

#[test]
fn trees_that_are_none_are_refused_by_number() {
    let cases = [
        (r#""left_children":[1,-1,-1]"#, r#""left_children":[0,-1,-1]"#),
        (r#""left_children":[1,-1,-1]"#, r#""left_children":[2,-1,-1]"#),
        (r#""left_children":[1,-1,-1]"#, r#""left_children":[3,-1,-1]"#),
        (r#""left_children":[1,-1,-1]"#, r#""left_children":[2147483647,-1,-1]"#),
        (r#""left_children":[1,-1,-1]"#, r#""left_children":[-2,-1,-1]"#),
        (r#""left_children":[1,-1,-1]"#, r#""left_children":[1,0,-1]"#),
        (r#""left_children":[1,-1,-1]"#, r#""left_children":[1,-1]"#),
        (r#""right_children":[2,-1,-1]"#, r#""right_children":[1,-1,-1]"#),
        (r#""split_indices":[1,0,0]"#, r#""split_indices":[2,0,0]"#),
        (r#""split_indices":[1,0,0]"#, r#""split_indices":[4294967295,0,0]"#),
        (r#""split_conditions":[0.5,-0.25,0.75]"#, r#""split_conditions":[]"#),
        (r#""split_type":[0,0,0]"#, r#""split_type":[1,0,0]"#),
    ];
    for (old, new) in cases {
        assert!(TREE.contains(old), "{old}");
        let error = refused_file(file(&[TREE, &TREE.replace(old, new)]).as_bytes());
        assert!(error.contains("tree 1"), "{new}: {error}");
    }
}

#[test]
fn numbers_that_lie_cost_nothing() {
    let plain = file(&[TREE]);
    let cases = [
        (r#""num_feature":"2","num_target""#, r#""num_feature":"1000000000","num_target""#),
        (r#""num_class":"0""#, r#""num_class":"1000000000""#),
        (r#""num_target":"1""#, r#""num_target":"1000000000""#),
        (r#""num_trees":"1""#, r#""num_trees":"1000000000""#),
        (r#""num_parallel_tree":"1""#, r#""num_parallel_tree":"-1""#),
        (r#""tree_info":[0]"#, r#""tree_info":[1000000000]"#),
        (r#""tree_info":[0]"#, r#""tree_info":[]"#),
        (r#""version":[2,1,0]"#, r#""version":[9,0,0]"#),
        (r#""name":"gbtree""#, r#""name":"gbforest""#),
    ];
    for (old, new) in cases {
        assert!(plain.contains(old), "{old}");
        let changed = plain.replacen(old, new, 1);
        assert!(load(changed.as_bytes()).is_err(), "{new}");
        refused_file(changed.as_bytes());
    }
}

#[test]
fn a_key_that_comes_twice_is_refused() {
    for key in ["left_children", "trees", "learner_model_param", "base_score", "learner"] {
        let plain = file(&[TREE]);
        // The value again: up to the comma or brace behind it at its own depth.
        let at = plain.find(&format!("\"{key}\":")).unwrap();
        let mut depth = 0;
        let mut quoted = false;
        let end = plain[at..]
            .char_indices()
            .find(|(n, c)| {
                quoted ^= *c == '"';
                depth += i32::from(!quoted && "[{".contains(*c)) - i32::from(!quoted && "]}".contains(*c));
                *n > 0 && !quoted && (depth < 0 || (depth == 0 && *c == ','))
            })
            .map(|(n, _)| at + n)
            .unwrap();
        let twice = format!("{},{}{}", &plain[..end], &plain[at..end], &plain[end..]);
        let error = refused_file(twice.as_bytes());
        assert!(error.contains("duplicate") && error.contains(key), "{key}: {error}");
    }
}

#[test]
fn nesting_is_refused_before_the_stack_ends() {
    for open in ["[", "{\"a\":", "{\"learner\":", "{\"learner\":{\"x\":[["] {
        let deep = format!("{{\"learner\":{}", open.repeat(100_000));
        refused_file(deep.as_bytes());
    }
}

#[test]
fn a_chain_of_a_million_splits_is_refused() {
    const SPLITS: i64 = 1_000_000;
    let list = |of: &dyn Fn(i64) -> i64| (0..=2 * SPLITS).map(|n| of(n).to_string()).collect::<Vec<_>>().join(",");
    let zeros = list(&|_| 0);
    let left = list(&|n| if n < SPLITS { SPLITS + n } else { -1 });
    let right = list(&|n| match (n + 1).cmp(&SPLITS) {
        Ordering::Less => n + 1,
        Ordering::Equal => 2 * SPLITS,
        Ordering::Greater => -1,
    });
    let tree = format!(
        r#"{{"default_left":[{zeros}],"left_children":[{left}],"right_children":[{right}],"split_conditions":[{zeros}],"split_indices":[{zeros}],"tree_param":{{"num_nodes":"{}","size_leaf_vector":"1"}}}}"#,
        2 * SPLITS + 1
    );
    let text = file(&[&tree]);
    let error = refused(600 << 20, || load(text.as_bytes()));
    assert!(error.contains("deeper than 4096"), "{error}");
}
