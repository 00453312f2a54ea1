//! What a graph may say, and what is refused by name.

use super::*;

#[test]
fn nodes_run_in_the_order_of_their_needs_not_of_the_file() {
    let plan = Model::floats(2).node("Neg", &["a"], &["y"]).node("Abs", &["x"], &["a"]).output("y").load();
    assert_eq!(run(&plan, &[-3.0, 4.0]), [-3.0, -4.0]);
}

#[test]
fn a_node_that_no_output_needs_is_dropped_even_if_it_could_not_run() {
    let plan = Model::floats(1).node("Neg", &["x"], &["y"]).node("Conv", &["x"], &["nobody"]).output("y").load();
    assert_eq!(plan.explain().len(), 1);
}

#[test]
fn only_the_wanted_outputs_are_computed() {
    let model = Model::floats(1).node("Neg", &["x"], &["y"]).node("Exp", &["x"], &["z"]).output("y").output("z");
    let wanted = Options { outputs: vec!["z".to_owned()], ..options() };
    let plan = load(model.clone().bytes(), External::Nowhere, &wanted).unwrap();
    assert_eq!((plan.outputs().len(), plan.explain().len()), (1, 1));
    let wanted = Options { outputs: vec!["w".to_owned()], ..options() };
    let refusal = load(model.bytes(), External::Nowhere, &wanted).unwrap_err().0;
    assert_eq!(refusal, "no output 'w'; there are 'y', 'z'");
}

#[test]
fn what_is_not_supported_is_refused_with_the_node_s_name() {
    let named = |op: &str, domain: &str| {
        let mut model = Model::floats(1).node(op, &["x"], &["y"]).output("y");
        model.nodes[0].name = Some("the node".to_owned());
        model.nodes[0].domain = Some(domain.to_owned());
        model.refusal()
    };
    assert_eq!(named("Conv", ""), "node 'the node' (Conv): the operator is not supported");
    assert_eq!(named("If", "ai.onnx"), "node 'the node' (If): subgraphs are not supported");
    assert!(named("Tree", "ai.onnx.ml").starts_with("node 'the node' (ai.onnx.ml.Tree): the operator"));
    let other = "node 'the node' (com.other.Gelu): operators of domain 'com.other' are not supported";
    assert_eq!(named("Gelu", "com.other"), other);
}

#[test]
fn a_name_has_one_origin() {
    let twice = Model::floats(1).node("Neg", &["x"], &["y"]).node("Abs", &["x"], &["y"]).output("y");
    assert_eq!(twice.refusal(), "node 'Abs y' (Abs): its output 'y' has another origin too");
    let input = Model::floats(1).node("Neg", &["x"], &["x"]).output("x");
    assert_eq!(input.refusal(), "node 'Neg x' (Neg): its output 'x' has another origin too");
    let none = Model::floats(1).node("Add", &["x", "w"], &["y"]).output("y");
    assert_eq!(none.refusal(), "node 'Add y' (Add): it reads 'w', which nothing gives");
    let constants = Model::floats(1)
        .constant(floats("c", &[1], &[1.0]))
        .constant(floats("c", &[1], &[2.0]))
        .node("Add", &["x", "c"], &["y"])
        .output("y");
    assert_eq!(constants.refusal(), "two constants are named 'c'");
    assert_eq!(Model::floats(1).output("y").refusal(), "nothing gives the output 'y'");
}

#[test]
fn a_circle_is_refused() {
    let circle = Model::floats(1).node("Add", &["x", "b"], &["a"]).node("Neg", &["a"], &["b"]).output("b");
    assert!(circle.refusal().ends_with("it needs its own output"));
    let own = Model::floats(1).node("Add", &["x", "a"], &["a"]).output("a");
    assert!(own.refusal().ends_with("it needs its own output"));
}

#[test]
fn a_long_chain_takes_no_stack() {
    let mut model = Model::floats(1);
    for n in 0..20_000 {
        let (from, to) = (if n == 0 { "x".to_owned() } else { format!("v{n}") }, format!("v{}", n + 1));
        model = model.node("Neg", &[&from], &[&to]);
    }
    model.nodes.reverse();
    let plan = model.output("v20000").load();
    assert_eq!(run(&plan, &[5.0]), [5.0]);
}

#[test]
fn an_opset_before_7_is_refused() {
    let model = Model::floats(1).node("Neg", &["x"], &["y"]).output("y");
    let refusal = load(model.bytes_of(6), External::Nowhere, &options()).unwrap_err().0;
    assert_eq!(refusal, "opset 6 of ai.onnx, expected 9 to 21");
}

/// own.Twice(x; by) = x · by + x, and a call of it.
fn with_function() -> Model {
    let by = proto::Attribute { name: Some("value_float".into()), r#type: Some(1), ..proto::Attribute::default() };
    let by = proto::Attribute { ref_attr_name: Some("by".into()), ..by };
    let function = proto::Function {
        name: Some("Scaled".to_owned()),
        domain: Some("own".to_owned()),
        input: strings(&["a"]),
        output: strings(&["b"]),
        attribute: strings(&["by"]),
        node: vec![
            node("Constant", &[], &["k"], &[by]),
            node("Mul", &["a", "k"], &["t"], &[]),
            node("Add", &["t", "a"], &["b"], &[]),
        ],
        opset_import: vec![proto::OperatorSet { domain: None, version: Some(17) }],
        ..proto::Function::default()
    };
    let by = |value: f32| proto::Attribute {
        name: Some("by".to_owned()),
        r#type: Some(1),
        f: Some(value),
        ..proto::Attribute::default()
    };
    let mut model = Model::floats(1)
        .node_with("Scaled", &["x"], &["t"], &[by(2.0)])
        .node_with("Scaled", &["t"], &["y"], &[by(10.0)])
        .output("y");
    for node in &mut model.nodes {
        node.domain = Some("own".to_owned());
    }
    model.functions.push(function);
    model
}

#[test]
fn a_function_of_the_model_stands_where_it_is_called() {
    assert_eq!(run(&with_function().load(), &[1.5]), [1.5 * 3.0 * 11.0]);
}

#[test]
fn functions_that_call_themselves_or_multiply_are_refused() {
    let mut model = with_function();
    model.functions[0].node[1] = node("Scaled", &["a"], &["t"], &[]);
    model.functions[0].node[1].domain = Some("own".to_owned());
    assert!(model.refusal().contains("at most 16 functions that call each other"));
    // Each calls the next thirty times: 30^10 calls of an empty one.
    let mut model = Model::floats(1).node("f0", &["x"], &["y"]).output("y");
    model.nodes[0].domain = Some("own".to_owned());
    for n in 0..10 {
        let mut calls = Vec::new();
        for k in 0..30 {
            let mut call = node(&format!("f{}", n + 1), &["a"], &[&format!("o{k}")], &[]);
            call.domain = Some("own".to_owned());
            calls.push(call);
        }
        model.functions.push(proto::Function {
            name: Some(format!("f{n}")),
            domain: Some("own".to_owned()),
            input: strings(&["a"]),
            output: strings(&["o0"]),
            node: if n == 9 { Vec::new() } else { calls },
            ..proto::Function::default()
        });
    }
    let roomy = Options { bytes: 4 << 30, ..options() };
    let refusal = load(model.clone().bytes(), External::Nowhere, &roomy).unwrap_err().0;
    assert!(refusal.contains("at most 100000 calls of functions"), "{refusal}");
    // In a small budget their bodies do not fit.
    assert!(model.refusal().contains("a function's body takes"));
}

#[test]
fn texts_of_a_row_are_compared_by_code_and_an_unseen_one_equals_none() {
    let known = proto::Tensor {
        name: Some("known".to_owned()),
        data_type: Some(8),
        dims: vec![1],
        string_data: vec![Bytes::from_static(b"ecommerce")],
        ..proto::Tensor::default()
    };
    let model = || Model::default().input("channel", 8, &[None, Some(1)]).constant(known.clone());
    let plan = model().node("Equal", &["channel", "known"], &["y"]).output("y").load();
    let code = |text: &str| f64::from(plan.dictionary().code(text));
    assert_eq!(run(&plan, &[code("ecommerce"), code("pos"), code("")]), [1.0, 0.0, 0.0]);
    let read = model().node_with("Cast", &["channel"], &["y"], &[int("to", 1)]).output("y");
    assert_eq!(read.refusal(), "node 'Cast y' (Cast): texts of a row cannot be read as numbers");
}

#[test]
fn columns_are_those_of_all_inputs_in_order() {
    let plan = Model::default()
        .input("amount", 11, &[None, Some(1)])
        .input("counts", 7, &[None, Some(2)])
        .node_with("Cast", &["counts"], &["c"], &[int("to", 11)])
        .node("Mul", &["c", "amount"], &["y"])
        .output("y")
        .load();
    let names: Vec<&str> = plan.columns().iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["amount", "counts[0]", "counts[1]"]);
    assert_eq!(run(&plan, &[0.5, 3.0, 7.0]), [1.5, 3.5]);
}

#[test]
fn a_double_stays_double() {
    // Seconds since 1970 differ by less than a float can tell.
    let mut second = floats("epoch", &[1], &[]);
    second.data_type = Some(11);
    second.raw_data = Some(1_767_225_600.0f64.to_le_bytes().to_vec().into());
    let plan = Model::default()
        .input("time", 11, &[None, Some(1)])
        .constant(second)
        .node("Sub", &["time", "epoch"], &["y"])
        .output("y")
        .load();
    assert_eq!(run(&plan, &[1_767_225_601.25]), [1.25]);
}
