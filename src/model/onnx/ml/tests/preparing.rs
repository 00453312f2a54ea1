//! What stands before a model.

use super::super::super::op::{Attribute, Context, Dictionary};
use super::super::super::tensor::{Data, Kind};
use super::{assert_close, build, context, floats, ints, node, refused, run, run_in, tensor, text, texts};

const NAN: f32 = f32::NAN;

#[test]
fn scaling_takes_the_offset_off_first() {
    let scaler = node("Scaler", 1, &[("offset", floats(&[1.0, -2.0])), ("scale", floats(&[2.0, 0.5]))]);
    assert_close(&run(&scaler, &[tensor(&[2, 2], Data::F32(vec![3.0, 0.0, 1.0, NAN]))])[0], &[4.0, 1.0, 0.0, f64::NAN]);
    // Doubles stay doubles up to the answer: 2^24 + 1 is no f32.
    let scaler = node("Scaler", 1, &[("offset", floats(&[16_777_216.0])), ("scale", floats(&[1.0]))]);
    assert_close(&run(&scaler, &[tensor(&[1, 1], Data::F64(vec![16_777_217.0]))])[0], &[1.0]);
}

#[test]
fn a_table_that_fits_no_column_is_refused() {
    let x = tensor(&[1, 3], Data::zeros(Kind::F32, 3));
    let scaler = node("Scaler", 1, &[("offset", floats(&[0.0; 2])), ("scale", floats(&[1.0; 2]))]);
    assert_eq!(refused(&scaler, std::slice::from_ref(&x)), "expected 1 scale or one a column of float[1,3], found 2");
    let imputer = node("Imputer", 1, &[("imputed_value_int64s", ints(&[1]))]);
    assert_eq!(refused(&imputer, &[x]), "expected imputed_value_floats for float[1,3], found none");
}

#[test]
fn a_row_of_norm_zero_stays_and_max_is_no_magnitude() {
    let x = tensor(&[3, 2], Data::F32(vec![0.0, 0.0, -4.0, -2.0, 3.0, -4.0]));
    let by = |norm| run(&node("Normalizer", 1, &[("norm", text(norm))]), std::slice::from_ref(&x)).remove(0);
    assert_close(&by("MAX"), &[0.0, 0.0, 2.0, 1.0, 1.0, -4.0 / 3.0]);
    assert_close(&by("L1"), &[0.0, 0.0, -2.0 / 3.0, -1.0 / 3.0, 3.0 / 7.0, -4.0 / 7.0]);
    assert_close(&by("L2"), &[0.0, 0.0, -0.894_427_19, -0.447_213_6, 0.6, -0.8]);
}

#[test]
fn nan_or_a_value_is_imputed_by_column() {
    let x = tensor(&[2, 2], Data::F32(vec![NAN, 1.0, -1.0, NAN]));
    let values = ("imputed_value_floats", floats(&[7.0, 8.0]));
    let imputer = node("Imputer", 1, &[values.clone(), ("replaced_value_float", Attribute::Float(NAN))]);
    assert_close(&run(&imputer, std::slice::from_ref(&x))[0], &[7.0, 1.0, -1.0, 8.0]);
    let imputer = node("Imputer", 1, &[values, ("replaced_value_float", Attribute::Float(-1.0))]);
    assert_close(&run(&imputer, &[x])[0], &[f64::NAN, 1.0, 7.0, f64::NAN]);
}

#[test]
fn an_unseen_category_is_zeros_or_no_number() {
    let x = [tensor(&[4, 1], Data::F32(vec![0.9, 5.0, NAN, 3.0]))];
    let cats = ("cats_int64s", ints(&[5, 0]));
    let encoder = node("OneHotEncoder", 1, std::slice::from_ref(&cats));
    assert_close(&run(&encoder, &x)[0], &[0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let strict = node("OneHotEncoder", 1, &[cats, ("zeros", Attribute::Int(0))]);
    let nan = f64::NAN;
    assert_close(&run(&strict, &x)[0], &[0.0, 1.0, 1.0, 0.0, nan, nan, nan, nan]);
}

#[test]
fn texts_are_found_by_code_and_unseen_ones_are_nothing() {
    let mut context = context();
    let encoder = node("OneHotEncoder", 1, &[("cats_strings", texts(&["b", "", "a"]))]);
    let x = tensor(&[4, 1], Data::Text(vec![0; 4]));
    build(&encoder, &[x], &mut context).unwrap();
    let codes = ["a", "", "never seen", "b"].map(|text| context.dictionary.code(text));
    assert_eq!(codes[2], Dictionary::UNSEEN);
    let made = run_in(&mut context, &encoder, &[tensor(&[4, 1], Data::Text(codes.to_vec()))]);
    assert_close(&made[0], &[0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
}

#[test]
fn labels_have_a_value_a_default_and_the_first_of_equal_keys() {
    let keys = ("keys_floats", floats(&[1.0, NAN, 0.0, 1.0]));
    let encoder = node("LabelEncoder", 1, &[keys, ("values_int64s", ints(&[10, 20, 30, 40]))]);
    let x = [tensor(&[5], Data::F32(vec![1.0, NAN, -0.0, 2.0, f32::INFINITY]))];
    assert_close(&run(&encoder, &x)[0], &[10.0, 20.0, 30.0, -1.0, -1.0]);
    // Keys far apart are halved, not laid out.
    let keys = ("keys_int64s", ints(&[i64::MAX, i64::MIN, 0]));
    let values = ("values_floats", floats(&[1.0, 2.0, 3.0]));
    let encoder = node("LabelEncoder", 1, &[keys, values, ("default_float", Attribute::Float(9.0))]);
    let x = [tensor(&[4], Data::I64(vec![0, i64::MIN, i64::MAX, 1]))];
    assert_close(&run(&encoder, &x)[0], &[3.0, 2.0, 1.0, 9.0]);
}

#[test]
fn version_one_numbers_its_classes() {
    let mut encoder = node("LabelEncoder", 1, &[("classes_strings", texts(&["x", "y"]))]);
    encoder.version = 1;
    let mut context = context();
    let made = run_in(&mut context, &encoder, &[tensor(&[3], Data::I64(vec![1, 0, 7]))]);
    let Data::Text(codes) = &made[0] else { panic!("{made:?}") };
    let found: Vec<_> = codes.iter().map(|code| context.dictionary.text(*code).unwrap()).collect();
    assert_eq!(found, ["y", "x", "_Unused"]);
}

#[test]
fn keys_of_another_kind_than_the_input_are_refused() {
    let encoder = node("LabelEncoder", 1, &[("keys_strings", texts(&["a"])), ("values_int64s", ints(&[1]))]);
    let error = refused(&encoder, &[tensor(&[1], Data::I64(vec![1]))]);
    assert_eq!(error, "expected keys of the input's kind, int64, found keys_strings");
}

#[test]
fn a_mapper_goes_both_ways() {
    let lists = [("cats_strings", texts(&["a", "b"])), ("cats_int64s", ints(&[5, -1]))];
    let mapper = node("CategoryMapper", 1, &lists);
    let mut context = context();
    run_in(&mut context, &mapper, &[tensor(&[1], Data::Text(vec![0]))]);
    let codes = vec![context.dictionary.code("b"), context.dictionary.code("a"), Dictionary::UNSEEN];
    assert_close(&run_in(&mut context, &mapper, &[tensor(&[3], Data::Text(codes))])[0], &[-1.0, 5.0, -1.0]);
}

#[test]
fn cells_above_the_threshold_are_one_and_no_number_stays_none() {
    let binarizer = node("Binarizer", 1, &[("threshold", Attribute::Float(0.5))]);
    let x = [tensor(&[4], Data::F32(vec![0.5, 0.6, -1.0, NAN]))];
    assert_close(&run(&binarizer, &x)[0], &[0.0, 1.0, 0.0, f64::NAN]);
}

#[test]
fn columns_are_taken_by_place_known_or_not() {
    let extractor = node("ArrayFeatureExtractor", 1, &[]);
    let x = tensor(&[2, 3], Data::F32(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    assert_close(&run(&extractor, &[x, tensor(&[2], Data::I64(vec![2, 0]))])[0], &[3.0, 1.0, 6.0, 4.0]);
    // Places that the rows give may be out of range: no number then.
    let x = tensor(&[2], Data::F32(vec![1.0, 2.0]));
    let made = run(&extractor, &[x, tensor(&[3], Data::I64(vec![1, 2, -1]))]);
    assert_close(&made[0], &[2.0, f64::NAN, f64::NAN]);
}

#[test]
fn features_stand_side_by_side_cut_or_filled_up() {
    let vectorizer = node("FeatureVectorizer", 1, &[("inputdimensions", ints(&[1, 3]))]);
    let x = tensor(&[2, 2], Data::I64(vec![1, 2, 3, 4]));
    let y = tensor(&[2, 2], Data::F64(vec![5.0, 6.0, 7.0, 8.0]));
    assert_close(&run(&vectorizer, &[x, y])[0], &[1.0, 5.0, 6.0, 0.0, 3.0, 7.0, 8.0, 0.0]);
}

#[test]
fn a_map_is_columns_by_its_vocabulary() {
    let vectorizer = node("DictVectorizer", 1, &[("string_vocabulary", texts(&["age", "sum"]))]);
    assert_eq!(super::super::dictionary_columns(&vectorizer).unwrap(), ["age", "sum"]);
    assert_close(&run(&vectorizer, &[tensor(&[1, 2], Data::F32(vec![NAN, 2.0]))])[0], &[0.0, 2.0]);
    let error = refused(&vectorizer, &[tensor(&[1, 3], Data::zeros(Kind::F32, 3))]);
    assert!(error.contains("in 2 columns, found float[1,3]"), "{error}");
}

#[test]
fn tables_are_taken_off_the_budget_before_they_are_made() {
    let encoder = node("LabelEncoder", 1, &[("keys_int64s", ints(&[1; 100])), ("values_int64s", ints(&[1; 100]))]);
    let error = build(&encoder, &[tensor(&[1], Data::I64(vec![1]))], &mut Context::new(1000)).unwrap_err();
    assert_eq!(error.0, "the table of keys takes 6400 bytes, and 200 are left for the model");
}
