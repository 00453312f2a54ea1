//! Small files that claim, or make, more than there is room for.

use super::super::survey;
use super::*;
use std::io::Cursor;

/// What the survey and the load of these bytes say.
fn refused(bytes: &Bytes) -> String {
    match survey(Cursor::new(bytes), bytes.len() as u64) {
        Err(error) => error.0,
        Ok(_) => load(bytes.clone(), External::Nowhere, &options()).unwrap_err().0,
    }
}

#[test]
fn a_constant_that_grows_is_refused_before_it_is_made() {
    let huge = longs("shape", &[2], &[1 << 20, 1 << 20]);
    let room = "bytes, and ";
    let filled = Model::floats(1)
        .constant(huge.clone())
        .node("ConstantOfShape", &["shape"], &["c"])
        .node("Add", &["x", "c"], &["y"])
        .output("y");
    assert!(filled.refusal().contains(room));
    let expanded = Model::floats(1)
        .constant(huge)
        .constant(floats("one", &[1], &[1.0]))
        .node("Expand", &["one", "shape"], &["c"])
        .node("Add", &["x", "c"], &["y"])
        .output("y");
    assert!(expanded.refusal().contains(room));
    let tiled = Model::floats(1)
        .constant(longs("repeats", &[1], &[1 << 40]))
        .constant(floats("one", &[1], &[1.0]))
        .node("Tile", &["one", "repeats"], &["c"])
        .node("Add", &["x", "c"], &["y"])
        .output("y");
    assert!(tiled.refusal().contains(room));
    let range = Model::floats(1)
        .constant(longs("from", &[], &[0]))
        .constant(longs("to", &[], &[1 << 38]))
        .constant(longs("step", &[], &[1]))
        .node("Range", &["from", "to", "step"], &["c"])
        .node_with("Cast", &["c"], &["f"], &[int("to", 1)])
        .node("Add", &["x", "f"], &["y"])
        .output("y");
    assert!(range.refusal().contains(room));
    let uncountable = Model::floats(1)
        .constant(longs("shape", &[2], &[1 << 62, 1 << 62]))
        .node("ConstantOfShape", &["shape"], &["c"])
        .node("Add", &["x", "c"], &["y"])
        .output("y");
    assert!(uncountable.refusal().contains("too many elements"));
}

#[test]
fn rows_that_grow_are_refused_before_their_buffers_are_made() {
    let expanded = Model::floats(1)
        .constant(longs("shape", &[2], &[1, 1 << 30]))
        .node("Expand", &["x", "shape"], &["y"])
        .output("y");
    assert!(expanded.refusal().contains("left for the model"));
    // Doubled forty times, each no larger than twice the last.
    let mut model = Model::floats(1);
    for n in 0..40 {
        let (from, to) = (if n == 0 { "x".to_owned() } else { format!("v{n}") }, format!("v{}", n + 1));
        model = model.node_with("Concat", &[&from, &from], &[&to], &[int("axis", 1)]);
    }
    assert!(model.output("v40").refusal().contains("left for the model"));
}

#[test]
fn work_that_grows_is_refused() {
    // Little memory, 10^12 multiplications.
    let one = vec![1.0; 1 << 20];
    let model = Model::floats(1)
        .constant(floats("a", &[1024, 1024], &one))
        .node("MatMul", &["a", "a"], &["b"])
        .node("MatMul", &["b", "b"], &["c"])
        .node("Add", &["x", "c"], &["y"])
        .output("y");
    let roomy = Options { bytes: 1 << 30, ..options() };
    let refusal = load(model.bytes(), External::Nowhere, &roomy).unwrap_err().0;
    assert!(refusal.contains("too much work"), "{refusal}");
}

#[test]
fn a_tensor_that_claims_more_than_it_holds_is_refused() {
    let claims = |dims: &[i64]| {
        let model = Model::floats(1).constant(floats("c", dims, &[1.0])).node("Add", &["x", "c"], &["y"]).output("y");
        let bytes = model.bytes();
        let claimed = survey(Cursor::new(&bytes), bytes.len() as u64).unwrap().claimed;
        (claimed, load(bytes, External::Nowhere, &options()).unwrap_err().0)
    };
    let (claimed, refusal) = claims(&[1_000_000, 1_000_000]);
    assert_eq!(claimed, 4_000_000_000_000);
    assert_eq!(refusal, "tensor 'c': shape [1000000, 1000000] of float needs 4000000000000 bytes, found 4");
    let (claimed, refusal) = claims(&[1 << 40, 1 << 40]);
    assert!(claimed > 1 << 60, "saturated, not wrapped: {claimed}");
    assert!(refusal.contains("too many elements"));
    assert!(claims(&[-1]).1.contains("dimension -1 is no size"));
    let many = vec![1; 13];
    let model = Model::floats(1).constant(floats("c", &many, &[1.0])).node("Add", &["x", "c"], &["y"]).output("y");
    assert!(refused(&model.bytes()).contains("at most 12 dimensions"));
}

#[test]
fn a_file_of_more_nodes_than_a_model_has_is_refused_by_the_survey() {
    let mut bytes = vec![0x3a];
    prost::encoding::encode_varint(2 * 150_000, &mut bytes);
    bytes.extend([0x0a, 0x00].repeat(150_000));
    assert_eq!(refused(&bytes.into()), "expected at most 100000 nodes in a model");
}

#[test]
fn deep_nesting_costs_nothing() {
    // A subgraph in an If in a subgraph …, 3,000 deep: stepped over by length, then refused by the name of the first.
    let mut graph = Vec::new();
    for _ in 0..3_000 {
        let wrap = |tag: u8, inner: &[u8]| {
            let mut outer = vec![tag];
            prost::encoding::encode_varint(inner.len() as u64, &mut outer);
            outer.extend(inner);
            outer
        };
        let attribute = [&wrap(0x32, &graph)[..], &[0xa0, 0x01, 5]].concat();
        let node = [&[0x22, 2][..], b"If", &[0x12, 1], b"y", &wrap(0x2a, &attribute)].concat();
        graph = wrap(0x0a, &node);
    }
    let model = Model::floats(1).node("Neg", &["x"], &["z"]).output("y");
    let mut bytes = model.bytes().to_vec();
    // Protobuf joins two messages of one field: the nodes come behind those of the graph.
    let mut behind = vec![0x3a];
    prost::encoding::encode_varint(graph.len() as u64, &mut behind);
    bytes.extend(behind);
    bytes.extend(graph);
    let refusal = refused(&bytes.into());
    assert!(refusal.contains("(If): subgraphs are not supported"), "{refusal}");
}
