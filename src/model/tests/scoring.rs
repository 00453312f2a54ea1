//! Scores, decisions and reasons of a loaded bundle.

use super::*;

#[test]
fn a_row_gets_its_score_and_decision() {
    let bundle = Made::new().load().unwrap();
    let mut out = [0.0; 3];
    bundle.scorer(8).score(&[1.0, 2.0, 0.0, 0.0, 0.5, 0.25], &mut out);
    for (score, expected) in out.iter().zip([sigmoid(4.0), sigmoid(-1.0), 0.5]) {
        assert!((score - expected).abs() < 1e-7, "{score} {expected}");
    }
    assert_eq!(out.map(|score| bundle.decide(score)), ["block", "allow", "review"]);
    assert_eq!(bundle.label(), "test@1");
    assert_eq!((bundle.fallback(), bundle.otherwise()), ("review", "allow"));
    assert!(bundle.wants_reasons("block") && !bundle.wants_reasons("allow"));
}

#[test]
fn a_score_that_prints_as_the_threshold_has_reached_it() {
    let bundle = Made::new().load().unwrap();
    assert_eq!(bundle.decide(f64::from(0.9f32)), "block");
    assert_eq!(bundle.decide(f64::from(0.899_999_9f32)), "review");
    assert_eq!(bundle.decide(f64::NAN), "review", "what has no score gets the fallback");
}

#[test]
fn nan_in_a_row_is_no_score_on_any_kernel() {
    let layers = "{ linear = \"net.0\" }, { activation = \"relu\" }, { linear = \"net.1\" }";
    let made = Made::new()
        .edit("{ linear = \"net.0\" }", layers)
        .with("net.0.weight", tensor(&[0.5; 18], &[9, 2]))
        .with("net.0.bias", tensor(&[0.0; 9], &[9]))
        .with("net.1.weight", tensor(&[0.5; 9], &[1, 9]))
        .with("net.1.bias", tensor(&[0.0], &[1]));
    made.write();
    for kernel in Kernel::available() {
        let options = LoadOptions { kernel: Some(kernel), ..LoadOptions::default() };
        let bundle = load(made.dir.path(), &options).unwrap();
        let mut out = [0.0; 4];
        bundle.scorer(4).score(&[1.0, f64::NAN, 1.0, 1.0, f64::INFINITY, 1.0, 3e38, 3e38], &mut out);
        assert!(out[0].is_nan(), "{kernel:?}: relu must not hide a NaN");
        assert!((out[1] - sigmoid(4.5)).abs() < 1e-6);
        assert!(out[2].is_nan() && out[3].is_nan(), "{kernel:?}: a logit out of range is no certainty");
    }
}

#[test]
fn reasons_are_what_raised_the_score_the_strongest_first() {
    let bundle = Made::new().load().unwrap();
    let mut scorer = bundle.scorer(1);
    let names = |scorer: &mut Scorer, row: &[f64]| -> Vec<String> {
        let reasons = scorer.reasons(row);
        reasons.names(bundle.features()).map(str::to_owned).collect()
    };
    assert_eq!(names(&mut scorer, &[1.0, 2.0]), ["B", "A"]);
    assert_eq!(names(&mut scorer, &[9.0, 2.0]), ["A", "B"]);
    assert_eq!(names(&mut scorer, &[-1.0, 2.0]), ["B"], "A lowered it");
    assert_eq!(names(&mut scorer, &[0.0, 0.0]), [""; 0], "at the baseline nothing raised it");
    // At a score of 1 the probability no longer moves, but the logit does.
    assert_eq!(names(&mut scorer, &[500.0, 400.0]), ["B", "A"]);
}

#[test]
fn reasons_keep_to_the_number_asked_for_and_to_baselines() {
    let one = Made::new().edit("fallback = \"review\"", "fallback = \"review\"\nreasons = 1").load().unwrap();
    let reasons = one.scorer(1).reasons(&[1.0, 2.0]);
    assert_eq!(reasons.names(one.features()).collect::<Vec<_>>(), ["B"]);
    let none = Made::new().edit("fallback = \"review\"", "fallback = \"review\"\nreasons = 0").load().unwrap();
    assert!(none.scorer(1).reasons(&[1.0, 2.0]).is_empty());
    assert!(!none.wants_reasons("block"));
    let moved = Made::new().edit("missing = \"nan\"", "baseline = 2.0").load().unwrap();
    let reasons = moved.scorer(1).reasons(&[1.0, 2.0]);
    assert_eq!(reasons.names(moved.features()).collect::<Vec<_>>(), ["A"], "B is at its baseline");
}

#[test]
fn rows_and_places_that_do_not_match_are_cut_not_a_panic() {
    let bundle = Made::new().load().unwrap();
    let mut scorer = bundle.scorer(2);
    let mut out = [0.0; 3];
    scorer.score(&[1.0, 2.0, 3.0], &mut out);
    assert!(!out[0].is_nan() && out[1].is_nan() && out[2].is_nan());
    scorer.score(&[0.0; 100], &mut out);
    assert!(out.iter().all(|score| (score - sigmoid(-1.0)).abs() < 1e-7));
    scorer.score(&[], &mut []);
    assert!(scorer.reasons(&[1.0]).is_empty());
}

#[test]
fn two_outputs_are_two_classes() {
    let two = |output: &str| {
        Made::new()
            .edit("output = \"logit\"", &format!("output = {output:?}"))
            .with("net.0.weight", tensor(&[1.0, 0.0, 0.0, 1.0], &[2, 2]))
            .with("net.0.bias", tensor(&[0.0, 0.0], &[2]))
    };
    let mut out = [0.0];
    two("logit").load().unwrap().scorer(1).score(&[1.0, 3.0], &mut out);
    assert!((out[0] - sigmoid(2.0)).abs() < 1e-7);
    let softmax =
        two("probability").edit("{ linear = \"net.0\" }", "{ linear = \"net.0\" }, { activation = \"softmax\" }");
    softmax.load().unwrap().scorer(1).score(&[1.0, 3.0], &mut out);
    assert!((out[0] - sigmoid(2.0)).abs() < 1e-6);
    two("raw").load().unwrap().scorer(1).score(&[1.0, 3.0], &mut out);
    assert!((out[0] - 3.0).abs() < 1e-7);
}

#[test]
fn what_a_bundle_takes_is_known_before_it_is_read() {
    let made = Made::new();
    let bundle = made.load().unwrap();
    let need = (bundle.weights_bytes() + bundle.scratch_bytes(1024)) as u64;
    let fits = |memory_bytes_max| load(made.dir.path(), &LoadOptions { memory_bytes_max, ..LoadOptions::default() });
    assert!(fits(need).is_ok());
    let error = fits(need - 1).unwrap_err().to_string();
    assert!(error.contains(&format!("needs {need} bytes of memory")), "{error}");
}

#[test]
fn other_dtypes_are_cut_to_f32() {
    use candle_core::DType;
    for dtype in [DType::F64, DType::F16, DType::BF16] {
        let made = Made::new().with("net.0.weight", tensor(&[1.0, 2.0], &[1, 2]).to_dtype(dtype).unwrap());
        let mut out = [0.0];
        made.load().unwrap().scorer(1).score(&[1.0, 2.0], &mut out);
        assert!((out[0] - sigmoid(4.0)).abs() < 1e-7, "{dtype:?}");
    }
}

#[test]
fn parity_vectors_must_hold() {
    let made = Made::new();
    made.write();
    let file = made.path(PARITY_FILE);
    std::fs::write(&file, "{\"row\":[1,2],\"score\":0.98201376}\n\n{\"row\":[0,null],\"score\":null}\n").unwrap();
    assert_eq!(load(made.dir.path(), &LoadOptions::default()).unwrap().parity().unwrap().rows, 2);
    for (line, expected) in [
        ("{\"row\":[1,2],\"score\":0.98202}", "line 1: expected the score 0.98202 within 0.000001, got 0.98201"),
        ("{\"row\":[1],\"score\":0.5}", "line 1: expected a row of 2 numbers, found 1"),
        ("{\"row\":[1,2]", "line 1: expected {\"row\""),
        ("{\"row\":[1,2],\"score\":0.98201376,\"more\":1}", "line 1: expected {\"row\""),
        ("{\"row\":[1,null],\"score\":0.5}", "line 1: expected the score 0.5"),
        ("{\"row\":[1,2],\"score\":null}", "line 1: expected the score no score"),
    ] {
        std::fs::write(&file, line).unwrap();
        assert!(made.refused().contains(expected), "{}", made.refused());
    }
}
