//! The bundle that the project ships, on days of the simulator that it was not trained on.

use super::*;
use crate::event::{Field, Span};
use crate::simulate::{Options, Simulator, Transaction};

fn shipped() -> Bundle {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/card-fraud");
    load(&dir, &LoadOptions::default()).unwrap()
}

/// The fields of an event as the decoder finds them.
fn fields(bundle: &Bundle, event: &serde_json::Value, text: &mut String) -> Vec<Field> {
    text.clear();
    let pointers = bundle.features().pointers().iter();
    pointers
        .map(|pointer| match event.pointer(&pointer.to_string()) {
            None => Field::Missing,
            Some(serde_json::Value::Number(number)) => Field::Number(number.as_f64().unwrap()),
            Some(serde_json::Value::Bool(value)) => Field::Bool(*value),
            Some(serde_json::Value::String(value)) => {
                let start = u32::try_from(text.len()).unwrap();
                text.push_str(value);
                Field::Text(Span { start, end: u32::try_from(text.len()).unwrap() })
            }
            other => panic!("{other:?}"),
        })
        .collect()
}

fn score(bundle: &Bundle, event: &serde_json::Value) -> f64 {
    let mut text = String::new();
    let fields = fields(bundle, event, &mut text);
    let mut row = vec![0.0; bundle.features().width()];
    bundle.features().fill(&fields, &text, None, &mut row).unwrap();
    let mut out = [0.0];
    bundle.scorer(1).score(&row, &mut out);
    out[0]
}

fn json(transaction: &Transaction) -> serde_json::Value {
    let mut out = Vec::new();
    transaction.write_json(&mut out);
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn it_finds_most_fraud_on_days_it_has_not_seen() {
    let bundle = shipped();
    assert!(bundle.parity().is_some_and(|parity| parity.rows >= 32));
    // Another seed: other customers, other days.
    let (mut blocked, mut blocked_fraud, mut caught, mut fraud) = (0u32, 0u32, 0u32, 0u32);
    for transaction in Simulator::new(777, &Options::default()).take(30_000) {
        let decision = bundle.decide(score(&bundle, &json(&transaction))).to_owned();
        let is_fraud = u32::from(transaction.label());
        fraud += is_fraud;
        caught += is_fraud * u32::from(decision != "allow");
        blocked += u32::from(decision == "block");
        blocked_fraud += is_fraud * u32::from(decision == "block");
    }
    assert!(f64::from(caught) / f64::from(fraud) > 0.7, "{caught} of {fraud} caught");
    assert!(f64::from(blocked_fraud) / f64::from(blocked) > 0.85, "{blocked_fraud} of {blocked} blocked rightly");
}

#[test]
fn amount_and_time_alone_can_be_scored() {
    let bundle = shipped();
    let event = |amount: f64, time: &str| serde_json::json!({"TX_AMOUNT": amount, "TX_DATETIME": time});
    let usual = score(&bundle, &event(57.16, "2018-04-01T13:00:00Z"));
    assert_eq!(bundle.decide(usual), "allow");
    let tiny = score(&bundle, &event(1.2, "2018-04-01 03:00:00"));
    assert!(tiny > usual, "{tiny} {usual}");
    let mut row = vec![0.0; bundle.features().width()];
    let error = bundle.features().fill(&[Field::Missing; 20], "", None, &mut row).unwrap_err();
    assert_eq!(error.to_string(), "TX_AMOUNT: missing");
}

#[test]
fn verify_compares_it_with_candle() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/card-fraud");
    let verification = verify(&dir, &LoadOptions::default()).unwrap();
    assert!(verification.plan_worst.unwrap() <= 1e-6);
    assert!(verification.inspection.to_string().contains("card-fraud@"));
}
