//! ONNX graphs that go in circles, name things twice, or blow up small constants.

use super::onnx::{load_in, refused_model};
use super::wire::{Bytes, Of, attribute, bytes, graph, longs, model, node, number, tensor, value};

fn between(nodes: &[Bytes], constants: &[Bytes]) -> Bytes {
    model(&graph(nodes, constants, &[value("x", 1)], &[value("y", 1)]))
}

#[test]
fn circles_are_refused() {
    let one = node("", "Add", &["x", "b"], &["a"], &[]);
    let two = node("", "Add", &["a", "x"], &["b"], &[]);
    let out = node("", "Relu", &["b"], &["y"], &[]);
    let error = refused_model(&between(&[one, two, out], &[]));
    assert!(error.contains("the_Add") || error.contains("'a'") || error.contains("'b'"), "{error}");
    let own = node("", "Add", &["x", "y"], &["y"], &[]);
    refused_model(&between(&[own], &[]));
}

#[test]
fn a_value_has_one_maker_and_every_input_a_value() {
    let relu = node("", "Relu", &["x"], &["y"], &[]);
    let error = refused_model(&between(&[relu.clone(), relu.clone()], &[]));
    assert!(error.contains("'y'"), "{error}");
    let over_input = node("", "Relu", &["x"], &["x"], &[]);
    refused_model(&between(&[over_input, relu.clone()], &[]));
    let w = tensor("w", 1, &[1], &[0; 4]);
    let add = node("", "Add", &["x", "w"], &["y"], &[]);
    let error = refused_model(&between(std::slice::from_ref(&add), &[w.clone(), w]));
    assert!(error.contains("'w'"), "{error}");
    let error = refused_model(&between(&[add], &[]));
    assert!(error.contains("'w'") && error.contains("the_Add"), "{error}");
    let twice = [attribute("axis", Of::Int(0)), attribute("axis", Of::Int(1))];
    let error = refused_model(&between(&[node("", "Softmax", &["x"], &["y"], &twice)], &[]));
    assert!(error.contains("axis"), "{error}");
    let error = refused_model(&model(&graph(&[relu], &[], &[value("x", 1)], &[value("z", 1)])));
    assert!(error.contains("'z'"), "{error}");
}

#[test]
fn small_constants_that_blow_up_are_refused_before_they_do() {
    let trillion = tensor("n", 7, &[1], &longs(&[1_000_000_000_000]));
    let square = tensor("n", 7, &[2], &longs(&[1 << 20, 1 << 20]));
    let scalar = |name: &str, value: i64| tensor(name, 7, &[], &longs(&[value]));
    let one = tensor("one", 1, &[1], &1.0f32.to_le_bytes());
    let sum = node("", "ReduceSum", &["big"], &["s"], &[attribute("keepdims", Of::Int(0))]);
    let add = node("", "Add", &["x", "s"], &["y"], &[]);
    let blown =
        |bomb: Bytes, constants: &[Bytes]| refused_model(&between(&[bomb, sum.clone(), add.clone()], constants));
    let filled = node("", "ConstantOfShape", &["n"], &["big"], &[]);
    let error = blown(filled.clone(), std::slice::from_ref(&trillion));
    assert!(error.contains("the_ConstantOfShape"), "{error}");
    blown(filled, std::slice::from_ref(&square));
    let error = blown(node("", "Expand", &["one", "n"], &["big"], &[]), &[one.clone(), trillion.clone()]);
    assert!(error.contains("the_Expand"), "{error}");
    let error = blown(node("", "Tile", &["one", "n"], &["big"], &[]), &[one.clone(), trillion]);
    assert!(error.contains("the_Tile"), "{error}");
    let range = node("", "Range", &["from", "to", "step"], &["big"], &[]);
    let limits = [scalar("from", 0), scalar("to", i64::MAX), scalar("step", 1)];
    let error = blown(range.clone(), &limits);
    assert!(error.contains("the_Range"), "{error}");
    let error = blown(range, &[scalar("from", 0), scalar("to", 5), scalar("step", 0)]);
    assert!(error.contains("the_Range"), "{error}");
    let eye = node("", "EyeLike", &["n"], &["big"], &[]);
    blown(eye, &[square]);
    let pads = tensor("n", 7, &[2], &longs(&[i64::MAX, i64::MAX]));
    let error = blown(node("", "Pad", &["one", "n"], &["big"], &[]), &[one, pads]);
    assert!(error.contains("the_Pad"), "{error}");
}

#[test]
fn a_hundred_doublings_are_refused() {
    let mut nodes = vec![node("", "Concat", &["x", "x"], &["v0"], &[attribute("axis", Of::Int(1))])];
    for n in 0..100 {
        let (from, to) = (format!("v{n}"), format!("v{}", n + 1));
        nodes.push(node("", "Concat", &[&from, &from], &[&to], &[attribute("axis", Of::Int(1))]));
    }
    nodes.push(node("", "ReduceSum", &["v100"], &["y"], &[]));
    let error = refused_model(&between(&nodes, &[]));
    assert!(error.contains("Concat") || error.contains("bytes"), "{error}");
    // The same with constants.
    let mut nodes = vec![node("", "Concat", &["w", "w"], &["v0"], &[attribute("axis", Of::Int(0))])];
    for n in 0..100 {
        let (from, to) = (format!("v{n}"), format!("v{}", n + 1));
        nodes.push(node("", "Concat", &[&from, &from], &[&to], &[attribute("axis", Of::Int(0))]));
    }
    nodes.push(node("", "ReduceSum", &["v100"], &["s"], &[]));
    nodes.push(node("", "Add", &["x", "s"], &["y"], &[]));
    refused_model(&between(&nodes, &[tensor("w", 1, &[1], &[0; 4])]));
}

#[test]
fn work_that_never_ends_is_refused() {
    // A product of 1,024 x 1,024, squared again and again: little memory, and more work than a model may take.
    let n = 1024i64;
    let shape = tensor("n", 7, &[2], &longs(&[n, n]));
    let mut nodes = vec![node("", "ConstantOfShape", &["n"], &["v0"], &[])];
    for step in 0..2000 {
        let (from, to) = (format!("v{step}"), format!("v{}", step + 1));
        nodes.push(node("", "MatMul", &[&from, &from], &[&to], &[]));
    }
    nodes.push(node("", "ReduceSum", &["v2000"], &["s"], &[attribute("keepdims", Of::Int(0))]));
    nodes.push(node("", "Add", &["x", "s"], &["y"], &[]));
    let error = refused_model(&between(&nodes, &[shape]));
    assert!(error.contains("work") || error.contains("bytes"), "{error}");
}

#[test]
fn an_input_of_a_trillion_columns_is_refused() {
    for width in [1_000_000_000_000, i64::MAX] {
        let error = refused_model(&model(&graph(
            &[node("", "Relu", &["x"], &["y"], &[])],
            &[],
            &[value("x", width)],
            &[value("y", 1)],
        )));
        assert!(error.contains("'x'"), "{error}");
    }
}

/// A function `f` of domain `d` whose nodes are these.
fn function(name: &str, nodes: &[Bytes]) -> Bytes {
    let nodes: Bytes = nodes.iter().flat_map(|node| bytes(7, node)).collect();
    let opset = bytes(9, &[bytes(1, b"d"), number(2, 1)].concat());
    bytes(25, &[bytes(1, name.as_bytes()), bytes(4, b"a"), bytes(5, b"b"), nodes, opset, bytes(10, b"d")].concat())
}

#[test]
fn functions_that_call_themselves_or_double_are_refused() {
    let call = |name: &str, from: &str, to: &str| node("d", name, &[from], &[to], &[]);
    let main = between(&[call("f0", "x", "y")], &[]);
    let own = [main.clone(), function("f0", &[call("f0", "a", "b")])].concat();
    let error = refused_model(&own);
    assert!(error.contains("f0"), "{error}");
    // Each calls the next one twice: 2^40 nodes if they were put in place.
    let mut many = main;
    for n in 0..40 {
        let next = format!("f{}", n + 1);
        many.extend(function(&format!("f{n}"), &[call(&next, "a", "c"), call(&next, "c", "b")]));
    }
    refused_model(&many);
}

/// An input `x` that is a map from texts to values of this kind.
fn map(kind: u64) -> Bytes {
    let values = bytes(1, &number(1, kind));
    [bytes(1, b"x"), bytes(2, &bytes(5, &[number(1, 8), bytes(2, &values)].concat()))].concat()
}

#[test]
fn a_map_comes_as_columns_or_is_refused_by_name() {
    let of = |input: Bytes, nodes: &[Bytes]| model(&graph(nodes, &[], &[input], &[value("y", 2)]));
    let words = attribute("string_vocabulary", Of::Texts(vec!["age", "sum"]));
    let reader = node("ai.onnx.ml", "DictVectorizer", &["x"], &["y"], &[words]);
    let plan = load_in(&of(map(1), std::slice::from_ref(&reader)), None).unwrap();
    assert_eq!(plan.columns().iter().map(|column| column.name.as_str()).collect::<Vec<_>>(), ["age", "sum"]);
    let error = refused_model(&of(map(8), &[reader]));
    assert!(error.contains("input 'x': expected a map of numbers"), "{error}");
    let other = node("ai.onnx.ml", "CastMap", &["x"], &["y"], &[]);
    let error = refused_model(&of(map(1), &[other]));
    assert!(error.contains("input 'x': expected a map to be read by one DictVectorizer alone"), "{error}");
    let error = refused_model(&of(map(1), &[node("ai.onnx.ml", "DictVectorizer", &["x"], &["y"], &[])]));
    assert!(error.contains("input 'x': expected a vocabulary"), "{error}");
}
