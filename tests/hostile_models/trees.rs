//! Trees in ONNX files: circles, chains without end, columns and targets that are not there.

use super::onnx::{MOST, load_in, refused_model};
use super::refused;
use super::wire::{Bytes, Of, attribute, node, single};

struct Lists {
    nodes: Vec<i64>,
    features: Vec<i64>,
    modes: Vec<&'static str>,
    yes: Vec<i64>,
    no: Vec<i64>,
    leaves: Vec<i64>,
    targets: i64,
}

impl Lists {
    fn model(self) -> Bytes {
        let count = self.nodes.len();
        let leaves = self.leaves.len();
        let node = node(
            "ai.onnx.ml",
            "TreeEnsembleRegressor",
            &["x"],
            &["y"],
            &[
                attribute("nodes_treeids", Of::Ints(vec![0; count])),
                attribute("nodes_nodeids", Of::Ints(self.nodes)),
                attribute("nodes_featureids", Of::Ints(self.features)),
                attribute("nodes_modes", Of::Texts(self.modes)),
                attribute("nodes_values", Of::Floats(vec![0.0; count])),
                attribute("nodes_truenodeids", Of::Ints(self.yes)),
                attribute("nodes_falsenodeids", Of::Ints(self.no)),
                attribute("target_treeids", Of::Ints(vec![0; leaves])),
                attribute("target_nodeids", Of::Ints(self.leaves)),
                attribute("target_ids", Of::Ints(vec![0; leaves])),
                attribute("target_weights", Of::Floats(vec![1.0; leaves])),
                attribute("n_targets", Of::Int(self.targets)),
            ],
        );
        single(node, 1)
    }
}

/// A split with a leaf on each side.
fn stump() -> Lists {
    Lists {
        nodes: vec![0, 1, 2],
        features: vec![0, 0, 0],
        modes: vec!["BRANCH_LT", "LEAF", "LEAF"],
        yes: vec![1, 0, 0],
        no: vec![2, 0, 0],
        leaves: vec![1, 2],
        targets: 1,
    }
}

#[test]
fn the_sound_tree_loads() {
    load_in(&stump().model(), None).unwrap();
}

#[test]
fn a_billion_targets_cost_nothing() {
    for targets in [1_000_000_000, i64::MAX, 0, -1] {
        let error = refused_model(&Lists { targets, ..stump() }.model());
        assert!(error.contains("the_TreeEnsembleRegressor") && error.contains("n_targets"), "{error}");
    }
}

#[test]
fn circles_and_places_that_are_not_there_are_named() {
    let cases = [
        (Lists { yes: vec![0, 0, 0], ..stump() }, "node 0 of tree 0"),
        (Lists { no: vec![1, 0, 0], ..stump() }, "node 1 of tree 0"),
        (Lists { yes: vec![3, 0, 0], ..stump() }, "node 3"),
        (Lists { yes: vec![-1, 0, 0], ..stump() }, "node -1"),
        (Lists { nodes: vec![0, 1, 1], ..stump() }, "node 1 of tree 0"),
        (Lists { features: vec![1, 0, 0], ..stump() }, "column 1 of 1"),
        (Lists { features: vec![1 << 40, 0, 0], ..stump() }, "1099511627776"),
        (Lists { leaves: vec![1, 7], ..stump() }, "node 7 of tree 0"),
        (Lists { modes: vec!["BRANCH_LT", "LEAF"], ..stump() }, "nodes_modes: expected 3 entries"),
    ];
    for (lists, expected) in cases {
        let error = refused_model(&lists.model());
        assert!(error.contains("the_TreeEnsembleRegressor") && error.contains(expected), "{error}");
    }
}

#[test]
fn a_chain_without_end_is_refused() {
    const DEPTH: i64 = 100_000;
    // Splits 0 to DEPTH - 1, each with a leaf of its own and the next split, then one leaf more.
    let splits = 0..DEPTH;
    let leaf = |n: i64| DEPTH + n;
    let lists = Lists {
        nodes: (0..=2 * DEPTH).collect(),
        features: vec![0; 2 * 100_000 + 1],
        modes: splits.clone().map(|_| "BRANCH_LT").chain((0..=DEPTH).map(|_| "LEAF")).collect(),
        yes: splits.clone().map(leaf).chain((0..=DEPTH).map(|_| 0)).collect(),
        no: splits.map(|n| if n + 1 == DEPTH { leaf(DEPTH) } else { n + 1 }).chain((0..=DEPTH).map(|_| 0)).collect(),
        leaves: (0..=DEPTH).map(leaf).collect(),
        targets: 1,
    };
    let model = lists.model();
    let error = refused(64 * MOST, || load_in(&model, None));
    assert!(error.contains("the_TreeEnsembleRegressor") || error.contains("bytes"), "{error}");
    // With a budget that holds the lists it is the depth that is refused.
    let options = verdictd::model::onnx::Options { bytes: 1 << 30, width: None, outputs: Vec::new() };
    let file = bytes::Bytes::from(model);
    let error = refused(1 << 30, || {
        verdictd::model::onnx::load(file, verdictd::model::onnx::External::Nowhere, &options).map_err(|e| e.to_string())
    });
    assert!(error.contains("deeper than 4096"), "{error}");
}
