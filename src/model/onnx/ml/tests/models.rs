//! Linear models, support vector machines, and names of classes.

use super::super::super::op::{Attribute, Built};
use super::super::super::tensor::{Data, Kind};
use super::{assert_close, build, context, floats, ints, node, refused, run, run_in, tensor, text, texts};

#[test]
fn one_row_of_weights_scores_the_second_of_two_classes() {
    let mut attributes = vec![
        ("coefficients", floats(&[1.0, -1.0])),
        ("intercepts", floats(&[0.25])),
        ("classlabels_ints", ints(&[5, 9])),
    ];
    let x = [tensor(&[2, 2], Data::F32(vec![1.0, 0.5, 0.0, 0.5]))];
    let plain = run(&node("LinearClassifier", 2, &attributes), &x);
    assert_eq!(plain[0], Data::I64(vec![9, 5]));
    assert_close(&plain[1], &[0.25, 0.75, 1.25, -0.25]);
    attributes.push(("post_transform", text("LOGISTIC")));
    let logistic = run(&node("LinearClassifier", 2, &attributes), &x);
    assert_close(&logistic[1], &[0.320_821_3, 0.679_178_7, 0.562_176_5, 0.437_823_5]);
}

#[test]
fn several_rows_of_weights_score_a_class_each() {
    let attributes = [
        ("coefficients", floats(&[1.0, 0.0, 0.0, 1.0, 1.0, 1.0])),
        ("intercepts", floats(&[0.0, 0.0, -10.0])),
        ("classlabels_strings", texts(&["a", "b", "c"])),
        ("post_transform", text("SOFTMAX")),
    ];
    let mut context = context();
    let made = run_in(
        &mut context,
        &node("LinearClassifier", 2, &attributes),
        &[tensor(&[2, 2], Data::I64(vec![2, 1, 0, 100]))],
    );
    let Data::Text(labels) = &made[0] else { panic!("{made:?}") };
    assert_eq!(labels.iter().map(|code| context.dictionary.text(*code).unwrap()).collect::<Vec<_>>(), ["a", "b"]);
    assert_close(&made[1], &[0.730_992_7, 0.268_917_2, 0.000_090_2, 0.0, 0.999_954_6, 0.000_045_4]);
}

#[test]
fn a_long_row_is_summed_to_the_nearest_f32() {
    // Sums in f32 would lose every 1 behind the first.
    let mut weights = vec![1.0f32; 1001];
    weights[0] = 16_777_216.0;
    let attributes = [("coefficients", floats(&weights)), ("targets", Attribute::Int(1))];
    let made = run(&node("LinearRegressor", 1, &attributes), &[tensor(&[1, 1001], Data::F32(vec![1.0; 1001]))]);
    assert_eq!(made[0], Data::F32(vec![16_778_216.0]));
}

#[test]
fn a_regressor_of_one_target_takes_its_transform() {
    let attributes =
        [("coefficients", floats(&[1.0])), ("targets", Attribute::Int(1)), ("post_transform", text("LOGISTIC"))];
    let made = run(&node("LinearRegressor", 1, &attributes), &[tensor(&[2, 1], Data::F32(vec![0.0, -20.0]))]);
    assert_close(&made[0], &[0.5, 2.061_153_6e-9]);
    let Data::F32(made) = &made[0] else { panic!("{made:?}") };
    // Small probabilities are not rounded to 0 by way of 1 - p.
    assert!(made[1] > 2.0e-9, "{made:?}");
}

#[test]
fn weights_that_fit_no_row_are_refused() {
    let attributes = [("coefficients", floats(&[1.0; 5])), ("targets", Attribute::Int(2))];
    let error = refused(&node("LinearRegressor", 1, &attributes), &[tensor(&[1, 2], Data::zeros(Kind::F32, 2))]);
    assert_eq!(error, "expected 2 times 2 coefficients, found 5");
    let attributes = [("coefficients", floats(&[1.0; 4])), ("targets", Attribute::Int(1 << 62))];
    let error = refused(&node("LinearRegressor", 1, &attributes), &[tensor(&[1, 2], Data::zeros(Kind::F32, 2))]);
    assert_eq!(error, "expected 4611686018427387904 times 2 coefficients, found 4");
}

/// Three classes, five support vectors of two columns.
fn machine(with_probabilities: bool) -> Vec<(&'static str, Attribute)> {
    let mut attributes = vec![
        ("kernel_type", text("RBF")),
        ("kernel_params", floats(&[0.5, 0.0, 3.0])),
        ("vectors_per_class", ints(&[2, 1, 2])),
        ("support_vectors", floats(&[0.0, 0.0, 1.0, 0.0, 0.0, 2.0, 3.0, 3.0, 2.0, 3.0])),
        ("coefficients", floats(&[1.0, 0.5, -1.5, -0.75, -0.75, 0.25, 1.0, 1.0, -1.0, -0.5])),
        ("rho", floats(&[0.1, -0.2, 0.3])),
        ("classlabels_ints", ints(&[10, 20, 30])),
    ];
    if with_probabilities {
        attributes.push(("prob_a", floats(&[-1.5, -2.0, -1.0])));
        attributes.push(("prob_b", floats(&[0.1, 0.0, -0.1])));
    }
    attributes
}

#[test]
fn machines_vote_and_margins_are_those_of_pairs() {
    let x = [tensor(&[2, 2], Data::F64(vec![0.1, 0.2, 2.5, 2.5]))];
    let made = run(&node("SVMClassifier", 2, &machine(false)), &x);
    assert_eq!(made[0], Data::I64(vec![10, 30]));
    assert_close(&made[1], &MARGINS);
}

#[test]
fn probabilities_of_pairs_are_coupled_to_those_of_classes() {
    let x = [tensor(&[2, 2], Data::F32(vec![0.1, 0.2, 2.5, 2.5]))];
    let made = run(&node("SVMClassifier", 2, &machine(true)), &x);
    assert_eq!(made[0], Data::I64(vec![10, 30]));
    assert_close(&made[1], &PROBABILITIES);
    let Data::F32(p) = &made[1] else { panic!("{made:?}") };
    assert!((p[..3].iter().sum::<f32>() - 1.0).abs() < 1e-6, "{p:?}");
}

#[test]
fn one_class_is_inside_or_outside() {
    let attributes = [
        ("kernel_type", text("RBF")),
        ("kernel_params", floats(&[1.0, 0.0, 0.0])),
        ("n_supports", Attribute::Int(1)),
        ("support_vectors", floats(&[0.0, 0.0])),
        ("coefficients", floats(&[1.0])),
        ("rho", floats(&[-0.5])),
        ("one_class", Attribute::Int(1)),
    ];
    let x = [tensor(&[2, 2], Data::F32(vec![0.1, 0.1, 2.0, 2.0]))];
    assert_close(&run(&node("SVMRegressor", 1, &attributes), &x)[0], &[1.0, -1.0]);
}

#[test]
fn support_vectors_that_are_not_there_are_refused() {
    let mut attributes = machine(false);
    attributes[3] = ("support_vectors", floats(&[0.0; 9]));
    let error = refused(&node("SVMClassifier", 2, &attributes), &[tensor(&[1, 2], Data::zeros(Kind::F32, 2))]);
    assert_eq!(error, "attribute support_vectors: expected 5 times 2 numbers, found 9");
    attributes[2] = ("vectors_per_class", ints(&[i64::MAX, i64::MAX, 3]));
    let error = refused(&node("SVMClassifier", 2, &attributes), &[tensor(&[1, 2], Data::zeros(Kind::F32, 2))]);
    assert!(error.starts_with("expected None coefficients") || error.contains("vectors_per_class"), "{error}");
}

#[test]
fn a_zip_map_names_columns_and_leaves_the_numbers_alone() {
    let zip = node("ZipMap", 1, &[("classlabels_strings", texts(&["no", "yes"]))]);
    let mut context = context();
    let built = build(&zip, &[tensor(&[3, 2], Data::zeros(Kind::F32, 6))], &mut context).unwrap();
    assert!(matches!(built, Built::Alias(0, of) if of.shape == [3, 2]));
    assert_eq!(context.take_labels(), [(0, vec!["no".to_owned(), "yes".to_owned()])]);
    let error = refused(&zip, &[tensor(&[3, 3], Data::zeros(Kind::F32, 9))]);
    assert_eq!(error, "expected 2 scores a row, one a class, found float[3,3]");
}

#[test]
fn scores_end_as_the_file_says() {
    use super::super::transform::Transform;
    let by = |transform: Transform, scores: &[f32]| {
        let mut scores = scores.to_vec();
        transform.apply(&mut scores);
        Data::F32(scores)
    };
    assert_close(&by(Transform::Softmax, &[1.0, 0.0, -1.0]), &[0.665_241, 0.244_728_5, 0.090_030_57]);
    assert_close(&by(Transform::SoftmaxZero, &[1.0, 0.0, -1.0]), &[0.880_797, 0.0, 0.119_202_9]);
    assert_close(&by(Transform::Logistic, &[1.0, -1.0]), &[0.731_058_6, 0.268_941_4]);
    assert_close(&by(Transform::Probit, &[0.7, 0.2]), &[0.524_445_9, -0.841_756_1]);
    assert_close(&by(Transform::Softmax, &[3.0]), &[3.0]);
}

/// What ONNX Runtime 1.32 answers for [`machine`].
const MARGINS: [f64; 6] = [1.106_827_3, 0.694_927_7, 0.494_984, 0.050_901_26, -1.353_454_4, -0.829_426_9];
const PROBABILITIES: [f64; 6] = [0.691_208_6, 0.166_372, 0.142_419_3, 0.098_433_8, 0.252_791_7, 0.648_774_6];
