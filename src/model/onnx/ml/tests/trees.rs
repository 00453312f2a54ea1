//! Tree ensembles of all versions.

use super::super::super::op::{Attribute, Node};
use super::super::super::tensor::{Data, Kind, Tensor};
use super::{assert_close, floats, ints, node, refused, run, tensor, text, texts};
use std::sync::Arc;

/// One split at 1 in column 0, with a leaf on each side; `kind` is `class` or `target`.
fn stump(op: &str, kind: &str, mode: &str, ids: &[i64], weights: &[f32]) -> Node {
    let each = ids.len();
    let twice = |n: i64| std::iter::repeat_n(n, each);
    let mut stump = node(
        op,
        if kind == "class" { 2 } else { 1 },
        &[
            ("nodes_treeids", ints(&[0, 0, 0])),
            ("nodes_nodeids", ints(&[0, 1, 2])),
            ("nodes_featureids", ints(&[0, 0, 0])),
            ("nodes_modes", texts(&[mode, "LEAF", "LEAF"])),
            ("nodes_values", floats(&[1.0, 0.0, 0.0])),
            ("nodes_truenodeids", ints(&[1, 0, 0])),
            ("nodes_falsenodeids", ints(&[2, 0, 0])),
        ],
    );
    let mut set = |name: &str, value| stump.attributes.insert(format!("{kind}_{name}"), value);
    set("treeids", ints(&vec![0; 2 * each]));
    set("nodeids", Attribute::Ints(twice(1).chain(twice(2)).collect()));
    set("ids", ints(&[ids, ids].concat()));
    set("weights", floats(weights));
    stump
}

fn with(mut node: Node, name: &str, value: Attribute) -> Node {
    node.attributes.insert(name.to_owned(), value);
    node
}

fn regressor(mode: &str, weights: &[f32]) -> Node {
    with(stump("TreeEnsembleRegressor", "target", mode, &[0], weights), "n_targets", Attribute::Int(1))
}

fn classifier(ids: &[i64], weights: &[f32]) -> Node {
    let made = stump("TreeEnsembleClassifier", "class", "BRANCH_LEQ", ids, weights);
    with(made, "classlabels_int64s", ints(&[5, 9]))
}

fn column(cells: &[f32]) -> Tensor {
    tensor(&[cells.len(), 1], Data::F32(cells.to_vec()))
}

#[test]
fn each_mode_means_its_comparison_and_no_number_goes_where_it_is_false() {
    let x = [column(&[0.5, 1.0, 2.0, f32::NAN])];
    let modes: [(&str, [f64; 4]); 6] = [
        ("BRANCH_LEQ", [1.0, 1.0, 0.0, 0.0]),
        ("BRANCH_LT", [1.0, 0.0, 0.0, 0.0]),
        ("BRANCH_GTE", [0.0, 1.0, 1.0, 0.0]),
        ("BRANCH_GT", [0.0, 0.0, 1.0, 0.0]),
        ("BRANCH_EQ", [0.0, 1.0, 0.0, 0.0]),
        // The only comparison with no number that is true.
        ("BRANCH_NEQ", [1.0, 0.0, 1.0, 1.0]),
    ];
    for (mode, expected) in modes {
        let plain = regressor(mode, &[1.0, 0.0]);
        assert_close(&run(&plain, &x)[0], &expected);
        let tracking = with(plain, "nodes_missing_value_tracks_true", ints(&[1, 0, 0]));
        assert_close(&run(&tracking, &x)[0], &[expected[0], expected[1], expected[2], 1.0]);
    }
}

#[test]
fn one_column_of_margins_scores_the_second_class_whichever_it_stands_on() {
    for id in [0, 1] {
        let plain = classifier(&[id], &[-2.0, 0.5]);
        let made = run(&plain, &[column(&[0.0, 2.0])]);
        assert_eq!(made[0], Data::I64(vec![5, 9]));
        assert_close(&made[1], &[2.0, -2.0, -0.5, 0.5]);
        let made = run(&with(plain, "post_transform", text("LOGISTIC")), &[column(&[0.0, 2.0])]);
        assert_eq!(made[0], Data::I64(vec![5, 9]));
        assert_close(&made[1], &[0.880_797, 0.119_202_9, 0.377_540_7, 0.622_459_3]);
    }
}

#[test]
fn one_column_of_probabilities_decides_at_a_half() {
    let plain = classifier(&[0], &[0.4, 0.6]);
    let made = run(&plain, &[column(&[0.0, 2.0])]);
    assert_eq!(made[0], Data::I64(vec![5, 9]));
    assert_close(&made[1], &[0.6, 0.4, 0.4, 0.6]);
    // A sigmoid is one also of margins that are all above 0.
    let made = run(&with(plain, "post_transform", text("LOGISTIC")), &[column(&[0.0, 2.0])]);
    assert_eq!(made[0], Data::I64(vec![9, 9]));
    assert_close(&made[1], &[0.401_312_3, 0.598_687_7, 0.354_343_7, 0.645_656_3]);
}

#[test]
fn a_base_value_counts_for_the_label_too() {
    let made = run(&with(classifier(&[0], &[-2.0, 0.5]), "base_values", floats(&[-1.0])), &[column(&[0.0, 2.0])]);
    assert_eq!(made[0], Data::I64(vec![5, 5]));
    assert_close(&made[1], &[3.0, -3.0, 0.5, -0.5]);
}

#[test]
fn two_columns_are_a_sum_a_class_and_the_greatest_has_the_label() {
    let made = run(&classifier(&[0, 1], &[0.7, 0.3, 0.2, 0.8]), &[column(&[0.0, 2.0])]);
    assert_eq!(made[0], Data::I64(vec![5, 9]));
    assert_close(&made[1], &[0.7, 0.3, 0.2, 0.8]);
}

#[test]
fn only_the_label_may_be_wanted() {
    let mut only = classifier(&[0], &[-2.0, 0.5]);
    only.outputs.truncate(1);
    assert_eq!(run(&only, &[column(&[0.0, 2.0])]), [Data::I64(vec![5, 9])]);
}

#[test]
fn leaves_are_put_together_as_the_file_says() {
    let two = |aggregate: &str| {
        let made = node(
            "TreeEnsembleRegressor",
            1,
            &[
                ("nodes_treeids", ints(&[0, 1])),
                ("nodes_nodeids", ints(&[0, 0])),
                ("nodes_featureids", ints(&[0, 0])),
                ("nodes_modes", texts(&["LEAF", "LEAF"])),
                ("nodes_values", floats(&[0.0, 0.0])),
                ("nodes_truenodeids", ints(&[0, 0])),
                ("nodes_falsenodeids", ints(&[0, 0])),
                ("target_treeids", ints(&[0, 1, 1])),
                ("target_nodeids", ints(&[0, 0, 0])),
                ("target_ids", ints(&[0, 0, 1])),
                ("target_weights", floats(&[1.0, 4.0, -3.0])),
                ("base_values", floats(&[0.5, 0.25])),
                ("n_targets", Attribute::Int(2)),
                ("aggregate_function", text(aggregate)),
            ],
        );
        run(&made, &[column(&[0.0])]).remove(0)
    };
    assert_close(&two("SUM"), &[5.5, -2.75]);
    assert_close(&two("AVERAGE"), &[3.0, -1.25]);
    assert_close(&two("MIN"), &[1.5, -2.75]);
    assert_close(&two("MAX"), &[4.5, -2.75]);
}

#[test]
fn doubles_are_compared_and_summed_as_doubles() {
    let doubles = |values: &[f64]| Attribute::Tensor(Arc::new(tensor(&[values.len()], Data::F64(values.to_vec()))));
    let mut made = regressor("BRANCH_LEQ", &[]);
    for (name, values) in [("nodes_values", [16_777_217.0, 0.0, 0.0]), ("target_weights", [1.0, 2.0, 0.0])] {
        made.attributes.remove(name);
        let values = if name == "target_weights" { &values[..2] } else { &values[..] };
        made.attributes.insert(format!("{name}_as_tensor"), doubles(values));
    }
    let x = tensor(&[2, 1], Data::F64(vec![16_777_217.0, 16_777_218.0]));
    assert_close(&run(&made, &[x])[0], &[1.0, 2.0]);
    let x = column(&[16_777_216.0, 16_777_218.0]);
    assert_close(&run(&made, &[x])[0], &[1.0, 2.0]);
}

fn five(changed: &[(&str, Attribute)]) -> Node {
    let numbers = |values: &[f32]| Attribute::Tensor(Arc::new(tensor(&[values.len()], Data::F32(values.to_vec()))));
    let mut made = node(
        "TreeEnsemble",
        1,
        &[
            ("n_targets", Attribute::Int(1)),
            ("tree_roots", ints(&[0])),
            ("nodes_featureids", ints(&[0, 0])),
            ("nodes_modes", Attribute::Tensor(Arc::new(tensor(&[2], Data::I32(vec![0, 6]))))),
            ("nodes_splits", numbers(&[10.0, 0.0])),
            ("nodes_trueleafs", ints(&[0, 1])),
            ("nodes_truenodeids", ints(&[1, 0])),
            ("nodes_falseleafs", ints(&[1, 1])),
            ("nodes_falsenodeids", ints(&[2, 1])),
            ("leaf_targetids", ints(&[0, 0, 0])),
            ("leaf_weights", numbers(&[1.0, 2.0, 3.0])),
            ("membership_values", numbers(&[4.0, -2.5, 1.0, f32::NAN])),
        ],
    );
    for (name, value) in changed {
        made = with(made, name, value.clone());
    }
    made
}

#[test]
fn a_member_of_a_set_is_equal_to_one_of_its_values() {
    let x = [column(&[4.0, -2.5, 1.0, 1.5, 0.0, 11.0, f32::NAN])];
    assert_close(&run(&five(&[]), &x)[0], &[1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0]);
    // 1 is SOFTMAX and 2 LOGISTIC, as the specification numbers them.
    let logistic = five(&[("post_transform", Attribute::Int(2))]);
    assert_close(&run(&logistic, &[column(&[11.0])])[0], &[0.952_574_1]);
}

#[test]
fn a_chain_of_equalities_with_one_true_side_is_a_set() {
    let chain = |second: &str| {
        node(
            "TreeEnsembleRegressor",
            1,
            &[
                ("nodes_treeids", ints(&[0, 0, 0, 0])),
                ("nodes_nodeids", ints(&[0, 1, 2, 3])),
                ("nodes_featureids", ints(&[0, 0, 0, 0])),
                ("nodes_modes", texts(&["BRANCH_EQ", second, "LEAF", "LEAF"])),
                ("nodes_values", floats(&[4.0, 2.0, 0.0, 0.0])),
                ("nodes_truenodeids", ints(&[2, 2, 0, 0])),
                ("nodes_falsenodeids", ints(&[1, 3, 0, 0])),
                ("nodes_missing_value_tracks_true", ints(&[0, 1, 0, 0])),
                ("target_treeids", ints(&[0, 0])),
                ("target_nodeids", ints(&[2, 3])),
                ("target_ids", ints(&[0, 0])),
                ("target_weights", floats(&[1.0, -1.0])),
                ("n_targets", Attribute::Int(1)),
            ],
        )
    };
    let x = [column(&[4.0, 2.0, 3.0, 2.5, f32::NAN])];
    assert_close(&run(&chain("BRANCH_EQ"), &x)[0], &[1.0, 1.0, -1.0, -1.0, 1.0]);
    // Another comparison is no part of such a chain.
    assert_eq!(refused(&chain("BRANCH_LEQ"), &x), "node 2 of tree 0: two ways lead to it, or a circle");
}

#[test]
fn circles_and_nodes_with_two_ways_to_them_are_refused_by_name() {
    let x = [column(&[0.0])];
    let circle = with(regressor("BRANCH_LEQ", &[1.0, 0.0]), "nodes_truenodeids", ints(&[0, 0, 0]));
    assert_eq!(refused(&circle, &x), "node 0 of tree 0: two ways lead to it, or a circle");
    let twice = with(regressor("BRANCH_LEQ", &[1.0, 0.0]), "nodes_truenodeids", ints(&[2, 0, 0]));
    assert_eq!(refused(&twice, &x), "node 2 of tree 0: two ways lead to it, or a circle");
    let circle = five(&[("nodes_trueleafs", ints(&[0, 0]))]);
    assert_eq!(refused(&circle, &x), "tree 0: two ways lead to node 0, or a circle");
}

#[test]
fn places_outside_the_lists_are_refused_by_name() {
    let x = [column(&[0.0])];
    let plain = || regressor("BRANCH_LEQ", &[1.0, 0.0]);
    let cases = [
        (with(plain(), "nodes_falsenodeids", ints(&[7, 0, 0])), "expected a node 7 of its tree below it, found none"),
        (with(plain(), "nodes_featureids", ints(&[1, 0, 0])), "tree 0: node 0: column 1 of 1"),
        (with(plain(), "nodes_featureids", ints(&[-1, 0, 0])), "node 0 of tree 0: expected a column, found -1"),
        (with(plain(), "nodes_nodeids", ints(&[0, 1, 1])), "node 1 of tree 0 is there twice"),
        (with(plain(), "nodes_values", floats(&[1.0])), "nodes_values: expected 3 entries, one a node, found 1"),
        (with(plain(), "target_ids", ints(&[0, 1])), "node 2 of tree 0: expected a target below 1, found 1"),
        (with(plain(), "target_nodeids", ints(&[1, 9])), "weight 1: node 9 of tree 0 does not exist"),
        (with(plain(), "n_targets", Attribute::Int(1_000_000_000)), "n_targets: expected 1 to 65536, found 1000000000"),
        (with(plain(), "nodes_modes", texts(&["BRANCH", "LEAF", "LEAF"])), "found \"BRANCH\""),
        (five(&[("nodes_falsenodeids", ints(&[3, 1]))]), "tree 0: expected a leaf below 3, found 3"),
        (five(&[("tree_roots", ints(&[-1]))]), "tree 0: expected a node below 2, found -1"),
        (five(&[("leaf_targetids", ints(&[0, 1, 0]))]), "leaf 1: expected a target below 1, found 1"),
    ];
    for (node, expected) in cases {
        let error = refused(&node, &x);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn hit_rates_are_covers_only_where_they_add_up() {
    use super::super::super::super::trees::Node as Grown;
    use super::super::super::op::Built;
    use super::super::super::sums::{Body, Sums};
    let covers = |hits: &[f32]| {
        let made = with(regressor("BRANCH_LEQ", &[1.0, 0.0]), "nodes_hitrates", floats(hits));
        let Ok(Built::Op(op)) = super::build(&made, &[column(&[0.0])], &mut super::context()) else { panic!() };
        let Some(Sums { body: Body::Trees(forest), .. }) = op.sums() else { panic!() };
        let cover = |node: &Grown| match node {
            Grown::Split(split) => split.cover,
            Grown::Leaf(leaf) => leaf.cover,
        };
        forest.trees[0].nodes.iter().map(cover).collect::<Vec<_>>()
    };
    assert_eq!(covers(&[8.0, 3.0, 5.0]), [8.0, 3.0, 5.0]);
    assert_eq!(covers(&[1.0, 1.0, 1.0]), [0.0, 0.0, 0.0]);
}

#[test]
fn rows_do_not_know_each_other() {
    let cells: Vec<f32> = (0..100u8).map(|n| f32::from(n) / 30.0).collect();
    let made = regressor("BRANCH_LEQ", &[0.3, 0.7]);
    let Data::F32(together) = run(&made, &[column(&cells)]).remove(0) else { panic!() };
    for (cell, together) in cells.iter().zip(together) {
        assert_eq!(run(&made, &[column(&[*cell])])[0], Data::F32(vec![together]));
    }
    assert_eq!(Kind::F32, run(&made, &[column(&[0.0])])[0].kind());
}
