//! Attributes of ONNX operators that claim sizes.

use super::onnx::refused_model;
use super::wire::{Of, attribute, graph, longs, model, node, single, tensor, value};

#[test]
fn sizes_of_operators_are_checked_against_their_lists() {
    let cases = [
        ("LinearRegressor", vec![("targets", Of::Int(i64::MAX)), ("coefficients", Of::Floats(vec![1.0]))]),
        ("LinearRegressor", vec![("targets", Of::Int(-1)), ("coefficients", Of::Floats(vec![1.0]))]),
        ("FeatureVectorizer", vec![("inputdimensions", Of::Ints(vec![i64::MAX]))]),
        ("FeatureVectorizer", vec![("inputdimensions", Of::Ints(vec![-1]))]),
        (
            "SVMRegressor",
            vec![
                ("n_supports", Of::Int(i64::MAX)),
                ("coefficients", Of::Floats(vec![1.0])),
                ("rho", Of::Floats(vec![0.0])),
            ],
        ),
        (
            "SVMClassifier",
            vec![
                ("vectors_per_class", Of::Ints(vec![i64::MAX, i64::MAX])),
                ("coefficients", Of::Floats(vec![1.0])),
                ("rho", Of::Floats(vec![0.0])),
                ("classlabels_ints", Of::Ints(vec![0, 1])),
            ],
        ),
        ("SVMClassifier", vec![("classlabels_ints", Of::Ints(vec![0; 100_000]))]),
        ("Scaler", vec![("scale", Of::Floats(vec![1.0; 9])), ("offset", Of::Floats(vec![1.0; 9]))]),
        ("OneHotEncoder", vec![]),
        ("LabelEncoder", vec![("keys_floats", Of::Floats(vec![1.0])), ("values_floats", Of::Floats(vec![]))]),
    ];
    for (op, attributes) in cases {
        let attributes: Vec<_> = attributes.into_iter().map(|(name, value)| attribute(name, value)).collect();
        let outputs: &[&str] = if op == "SVMClassifier" { &["label", "y"] } else { &["y"] };
        let error = refused_model(&single(node("ai.onnx.ml", op, &["x"], outputs, &attributes), 1));
        assert!(error.contains(&format!("the_{op}")), "{error}");
    }
}

#[test]
fn a_wide_encoder_on_a_wide_row_takes_more_than_there_is() {
    let cats = attribute("cats_int64s", Of::Ints((0..10_000).collect()));
    let error = refused_model(&single(node("ai.onnx.ml", "OneHotEncoder", &["x"], &["y"], &[cats]), 100_000));
    assert!(error.contains("bytes"), "{error}");
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    for shape in [&[7][..], &[-1, -1], &[0, 0, 0, 0], &[i64::MAX, i64::MAX], &[-2], &[1 << 31, 1 << 33]] {
        let count = i64::try_from(shape.len()).unwrap();
        let constant = tensor("s", 7, &[count], &longs(shape));
        let reshape = node("", "Reshape", &["x", "s"], &["y"], &[]);
        let error = refused_model(&model(&graph(&[reshape], &[constant], &[value("x", 2)], &[value("y", 1)])));
        assert!(error.contains("the_Reshape"), "{error}");
    }
    let cases = [
        ("Transpose", attribute("perm", Of::Ints(vec![0, 5]))),
        ("Concat", attribute("axis", Of::Int(i64::MIN))),
        ("Softmax", attribute("axis", Of::Int(i64::MAX))),
        ("Flatten", attribute("axis", Of::Int(99))),
        ("ReduceMean", attribute("axes", Of::Ints(vec![i64::MIN]))),
        ("ArgMax", attribute("axis", Of::Int(9))),
        ("Cast", attribute("to", Of::Int(i64::MAX))),
    ];
    for (op, attribute) in cases {
        let error = refused_model(&single(node("", op, &["x"], &["y"], &[attribute]), 2));
        assert!(error.contains(&format!("the_{op}")), "{op}: {error}");
    }
}

#[test]
fn tensors_in_attributes_hold_what_their_shape_says() {
    for dims in [&[1_000_000, 1_000_000][..], &[i64::MAX, 2], &[-1], &[3]] {
        let value = attribute("value", Of::Tensor(tensor("v", 1, dims, &[0; 8])));
        let error = refused_model(&single(node("", "Constant", &[], &["y"], &[value]), 1));
        assert!(error.contains("the_Constant"), "{error}");
        let keys = attribute("keys_tensor", Of::Tensor(tensor("v", 1, dims, &[0; 8])));
        let error = refused_model(&single(node("ai.onnx.ml", "LabelEncoder", &["x"], &["y"], &[keys]), 1));
        assert!(error.contains("the_LabelEncoder"), "{error}");
    }
}
