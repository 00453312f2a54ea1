//! What the simulator promises.

use super::*;
use crate::event::Timestamp;

fn events(seed: u64, count: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for transaction in Simulator::new(seed, &Options::default()).take(count) {
        transaction.write_json(&mut out);
        out.push(b'\n');
    }
    out
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let bytes = events(7, 30_000);
    assert_eq!(bytes, events(7, 30_000));
    assert_ne!(bytes, events(8, 30_000));
    // Pinned: models are trained on these bytes, and a change here must be meant.
    assert_eq!(xxhash_rust::xxh3::xxh3_64(&bytes), PINNED, "the simulator's output has changed");
}

const PINNED: u64 = 7_164_698_581_494_377_990;

#[test]
fn time_never_goes_backward_and_numbers_count_up() {
    let mut last = (i64::MIN, None);
    for transaction in Simulator::new(1, &Options::default()).take(40_000) {
        assert!(transaction.time >= last.0);
        assert_eq!(transaction.number, last.1.map_or(0, |n: u64| n + 1));
        last = (transaction.time, Some(transaction.number));
    }
    assert!(last.0 >= START + 3 * DAY, "40,000 transactions reach into the fourth day");
}

#[test]
fn an_event_is_json_of_some_300_bytes_without_its_label() {
    for transaction in Simulator::new(2, &Options::default()).take(20_000) {
        let mut out = Vec::new();
        transaction.write_json(&mut out);
        assert!((250..400).contains(&out.len()), "{} bytes", out.len());
        let event: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let time = Timestamp::parse(event["TX_DATETIME"].as_str().unwrap()).unwrap();
        assert_eq!(time.0, transaction.time * 1_000_000);
        let amount = event["TX_AMOUNT"].as_f64().unwrap();
        assert!((amount * 100.0 - f64::from(transaction.amount)).abs() < 1e-6);
        assert!(event.get("TX_FRAUD").is_none());
        out.clear();
        transaction.write_json_labelled(&mut out);
        let labelled: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(labelled["TX_FRAUD"], u64::from(transaction.label()));
        assert_eq!(labelled["TX_FRAUD_SCENARIO"], u64::from(transaction.scenario.number()));
    }
}

#[test]
fn all_three_frauds_happen_and_stay_rare() {
    let mut counts = [0u32; 4];
    for transaction in Simulator::new(3, &Options::default()).take(100_000) {
        counts[usize::from(transaction.scenario.number())] += 1;
    }
    let fraud: u32 = counts[1..].iter().sum();
    assert!((500..1_500).contains(&fraud), "{counts:?}");
    assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
}

#[test]
fn days_are_whole_and_skipping_changes_nothing_in_them() {
    let run = |days, skip_days| {
        let mut out = Vec::new();
        let options = Options { customers: 50, ..Options::default() };
        let asked = SimulateOptions { seed: 5, days, skip_days, labels: true, options };
        let count = simulate(&asked, &mut out).unwrap();
        assert_eq!(count, out.split(|byte| *byte == b'\n').count() as u64 - 1);
        out
    };
    let (both, first, second) = (run(2, 0), run(1, 0), run(1, 1));
    assert_eq!(both, [first, second].concat());
}

#[test]
fn no_days_are_refused() {
    let asked = SimulateOptions { seed: 1, days: 0, skip_days: 0, labels: false, options: Options::default() };
    assert!(simulate(&asked, &mut Vec::new()).is_err());
}
