//! ONNX files: cut off, bits flipped, nested deep, claiming more than there is, reaching out of the bundle.

use super::wire::{
    Bytes, Of, attribute, bytes, external, graph, longs, model, node, number, single, tensor, value, varint,
};
use super::{measured, places, refused};
use std::path::Path;
use verdictd::model::onnx::{self, Options, Plan};

/// What a model may take.
pub(crate) const BUDGET: usize = 32 << 20;
/// Keys and values of where a tensor lies.
type Entries<'a> = &'a [(&'a str, &'a str)];

/// What a refusal may take beside the file: the budget and the reader's own.
pub(crate) const MOST: usize = BUDGET + (1 << 20);

pub(crate) fn load_in(model: &[u8], dir: Option<&Path>) -> Result<Plan, String> {
    let options = Options { bytes: BUDGET, width: None, outputs: Vec::new() };
    let beside = dir.map_or(onnx::External::Nowhere, onnx::External::Folder);
    onnx::load(bytes::Bytes::copy_from_slice(model), beside, &options).map_err(|error| error.to_string())
}

/// Refused in at most the budget.
#[track_caller]
pub(crate) fn refused_model(model: &[u8]) -> String {
    refused(MOST + model.len(), || load_in(model, None))
}

/// Runs a row, whatever the model is.
fn run(plan: &Plan) {
    let row = vec![0.5; plan.columns().len()];
    let mut out = vec![0.0; plan.out_width()];
    plan.run(&row, &mut out, &mut plan.scratch(1));
}

/// A model of all that files are made of: a scaler, trees with text classes, a dense layer, a named map.
pub(crate) fn sound() -> Bytes {
    let scaler = node(
        "ai.onnx.ml",
        "Scaler",
        &["x"],
        &["scaled"],
        &[attribute("offset", Of::Floats(vec![0.5, 1.0])), attribute("scale", Of::Floats(vec![2.0, 0.25]))],
    );
    let trees = node(
        "ai.onnx.ml",
        "TreeEnsembleClassifier",
        &["scaled"],
        &["label", "scores"],
        &[
            attribute("nodes_treeids", Of::Ints(vec![0, 0, 0])),
            attribute("nodes_nodeids", Of::Ints(vec![0, 1, 2])),
            attribute("nodes_featureids", Of::Ints(vec![1, 0, 0])),
            attribute("nodes_modes", Of::Texts(vec!["BRANCH_LEQ", "LEAF", "LEAF"])),
            attribute("nodes_values", Of::Floats(vec![0.5, 0.0, 0.0])),
            attribute("nodes_truenodeids", Of::Ints(vec![1, 0, 0])),
            attribute("nodes_falsenodeids", Of::Ints(vec![2, 0, 0])),
            attribute("class_treeids", Of::Ints(vec![0, 0])),
            attribute("class_nodeids", Of::Ints(vec![1, 2])),
            attribute("class_ids", Of::Ints(vec![0, 0])),
            attribute("class_weights", Of::Floats(vec![-1.0, 2.0])),
            attribute("classlabels_strings", Of::Texts(vec!["fine", "fraud"])),
            attribute("post_transform", Of::Text("LOGISTIC")),
        ],
    );
    let map = node(
        "ai.onnx.ml",
        "ZipMap",
        &["scores"],
        &["map"],
        &[attribute("classlabels_strings", Of::Texts(vec!["fine", "fraud"]))],
    );
    let weights: Bytes = [1.0f32, -1.0, 0.5, 2.0].into_iter().flat_map(f32::to_le_bytes).collect();
    let dense = node("", "MatMul", &["scaled", "w"], &["product"], &[]);
    let relu = node("", "Relu", &["product"], &["y"], &[]);
    let outputs = [value("label", 1), value("map", 2), value("y", 2)];
    model(&graph(&[scaler, trees, map, dense, relu], &[tensor("w", 1, &[2, 2], &weights)], &[value("x", 2)], &outputs))
}

#[test]
fn the_sound_model_loads() {
    run(&load_in(&sound(), None).unwrap());
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let whole = sound();
    for length in 0..whole.len() {
        let error = refused_model(&whole[..length]);
        assert!(!error.is_empty(), "{length}");
    }
}

#[test]
fn a_flipped_bit_is_refused_or_harmless() {
    let whole = sound();
    for at in places(whole.len()) {
        for bit in 0..8 {
            let mut changed = whole.clone();
            changed[at] ^= 1 << bit;
            let (made, most) = measured(|| load_in(&changed, None));
            assert!(most <= MOST + whole.len(), "byte {at} bit {bit}: {most} bytes");
            if let Ok(plan) = made {
                run(&plan);
            }
        }
    }
}

#[test]
fn what_is_no_model_is_refused() {
    for junk in [&b""[..], b"\0", b"hello, I am a pickle", &[0xff; 64], &[0x0a; 64]] {
        refused_model(junk);
    }
}

#[test]
fn nesting_costs_nothing_however_deep() {
    // Graphs in attributes of nodes of graphs …
    let mut inner = graph(&[], &[], &[], &[]);
    for _ in 0..3000 {
        let node = node("", "If", &["x"], &["y"], &[attribute("then_branch", Of::Graph(inner))]);
        inner = graph(&[node], &[], &[], &[]);
    }
    let error = refused_model(&model(&[inner, bytes(11, &value("x", 1)), bytes(12, &value("y", 1))].concat()));
    assert!(error.contains("the_If") && error.contains("not supported"), "{error}");
    // … sequences of sequences as an input's type …
    let mut of = bytes(1, &number(1, 1));
    for _ in 0..3000 {
        of = bytes(4, &bytes(1, &of));
    }
    let input = [bytes(1, b"x"), bytes(2, &of)].concat();
    let error = refused_model(&model(&graph(&[], &[], &[input], &[value("y", 1)])));
    assert!(error.contains("input 'x': expected a tensor"), "{error}");
    // … and groups, which protobuf gave up long ago.
    let groups: Bytes = [varint(99 << 3 | 3).repeat(3000), varint(99 << 3 | 4).repeat(3000)].concat();
    let open = varint(99 << 3 | 3).repeat(100_000);
    for groups in [groups, open] {
        refused_model(&groups);
        refused_model(&model(&groups));
    }
}

#[test]
fn a_length_beyond_the_file_is_refused() {
    for length in [100, u64::from(u32::MAX), 1 << 40, u64::MAX] {
        for field in [1, 7, 8] {
            let cut = [varint(field << 3 | 2), varint(length), b"abc".to_vec()].concat();
            refused_model(&cut);
            refused_model(&model(&cut));
        }
    }
}

#[test]
fn tensors_hold_what_their_shape_says() {
    let with = |tensor: Bytes| {
        let add = node("", "Add", &["x", "w"], &["y"], &[]);
        refused_model(&model(&graph(&[add], &[tensor], &[value("x", 1)], &[value("y", 1)])))
    };
    let four = [0; 4];
    for dims in [&[1_000_000, 1_000_000][..], &[i64::MAX, i64::MAX], &[-1], &[2], &[1 << 32, 1 << 32]] {
        let error = with(tensor("w", 1, dims, &four));
        assert!(error.contains("'w'"), "{error}");
    }
    let error = with(tensor("w", 1, &[1; 500], &four));
    assert!(error.contains("dimensions"), "{error}");
    let error = with(tensor("w", 14, &[1], &[0; 8]));
    assert!(error.contains("'w'"), "{error}");
}

#[test]
fn weights_lie_inside_the_bundle() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("weights"), [0; 64]).unwrap();
    let bundle = tempfile::tempdir().unwrap();
    std::fs::create_dir(bundle.path().join("sub")).unwrap();
    std::fs::write(bundle.path().join("short"), [0; 4]).unwrap();
    std::os::unix::fs::symlink(outside.path().join("weights"), bundle.path().join("link")).unwrap();
    std::os::unix::fs::symlink(outside.path(), bundle.path().join("folder")).unwrap();
    let absolute = outside.path().join("weights").to_str().unwrap().to_owned();
    let up = format!("../{}/weights", outside.path().file_name().unwrap().to_str().unwrap());
    let through = format!("sub/../{up}");
    let places =
        [absolute.as_str(), &up, &through, "link", "folder/weights", "..", ".", "sub", "", "no/such", "/dev/zero"];
    let load = |entries: Entries<'_>, dims: &[i64], dir| {
        let add = node("", "Add", &["x", "w"], &["y"], &[]);
        let made = model(&graph(&[add], &[external("w", dims, entries)], &[value("x", 1)], &[value("y", 1)]));
        refused(MOST, || load_in(&made, dir))
    };
    for place in places {
        let error = load(&[("location", place)], &[1], Some(bundle.path()));
        assert!(error.contains("'w'"), "{place}: {error}");
    }
    let cases: [(Entries<'_>, &[i64]); 6] = [
        (&[("location", "short")], &[2]),
        (&[("location", "short"), ("offset", "4")], &[1]),
        (&[("location", "short"), ("offset", "18446744073709551615")], &[1]),
        (&[("location", "short"), ("offset", "-4")], &[1]),
        (&[("location", "short"), ("length", "8")], &[2]),
        (&[("location", "short")], &[1_000_000, 1_000_000]),
    ];
    for (entries, dims) in cases {
        let error = load(entries, dims, Some(bundle.path()));
        assert!(error.contains("'w'"), "{entries:?}: {error}");
    }
    // A bare model has no bundle to lie in.
    let error = load(&[("location", "short")], &[1], None);
    assert!(error.contains("'w'"), "{error}");
}

#[test]
fn indices_in_a_constant_lie_in_what_they_choose_from() {
    let gather = node("", "Gather", &["x", "w"], &["y"], &[attribute("axis", Of::Int(1))]);
    for index in [1, -2, i64::MAX, i64::MIN] {
        let constant = tensor("w", 7, &[1], &longs(&[index]));
        let error = refused_model(&model(&graph(
            std::slice::from_ref(&gather),
            &[constant],
            &[value("x", 1)],
            &[value("y", 1)],
        )));
        assert!(error.contains("the_Gather"), "{error}");
    }
}

#[test]
fn unknown_operators_and_domains_are_refused_by_name() {
    let error = refused_model(&single(node("", "Frobnicate", &["x"], &["y"], &[]), 1));
    assert!(error.contains("Frobnicate") && error.contains("the_Frobnicate"), "{error}");
    let error = refused_model(&single(node("ai.onnx.ml", "Frobnicate", &["x"], &["y"], &[]), 1));
    assert!(error.contains("Frobnicate") && error.contains("the_Frobnicate"), "{error}");
    let error = refused_model(&single(node("com.example", "Scaler", &["x"], &["y"], &[]), 1));
    assert!(error.contains("com.example") && error.contains("the_Scaler"), "{error}");
}
