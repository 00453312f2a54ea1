//! A shadow scores the same events, is kept and compared, and costs the model nothing when it fails.

use super::*;
use crate::engine::shadow::WINDOW_ROWS;
use crate::store::{ModelId, ModelUse, Stamp, Why};
use std::fs;
use std::time::Duration;

const MINUTE: Duration = Duration::from_mins(1);

/// The shipped bundle under another version, with some lines of its manifest otherwise.
fn bundle(dir: &Path, version: &str, changes: &[(&str, &str)]) -> Arc<model::Bundle> {
    let folder = dir.join(version);
    shipped::unpack(&folder).unwrap();
    let file = folder.join("model.toml");
    let mut text = fs::read_to_string(&file).unwrap();
    for (from, to) in [&[("version = \"2026.1\"", &*format!("version = \"{version}\""))], changes].concat() {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    fs::write(&file, text).unwrap();
    // The vectors are of the fields as they were.
    fs::remove_file(folder.join("parity.ndjson")).unwrap();
    Arc::new(model::load(&folder, &LoadOptions::default()).unwrap())
}

/// A rig with a shadow that reads the amount from another member and blocks at another threshold.
fn beside(dir: &Path, limit: Duration) -> (Rig, Arc<Lineup>) {
    let mut rig = Rig::open(dir);
    let first = bundle(dir, "first", &[]);
    let second = bundle(dir, "second", &[("from = \"/TX_AMOUNT\"", "from = \"/AMOUNT\"")]);
    let lineup = Lineup::with_shadow(first, second, limit);
    lineup.warm();
    rig.engine.swap(Arc::clone(&lineup), Shares { index: 1 << 20, windows: 1 << 20 });
    rig.decoder = rig.decoder.for_fields(lineup.pointers());
    (rig, lineup)
}

fn event(id: impl std::fmt::Display, first: u32, second: &str) -> String {
    format!(
        "{{\"id\":\"{id}\",\"key\":\"k\",\"TX_DATETIME\":\"2018-05-01T12:00:00Z\",\"TX_AMOUNT\":{first},\"AMOUNT\":{second}}}\n"
    )
}

/// Sequence, score and what the shadow said, as the store has it.
#[allow(clippy::option_option)] // whether it was asked, and whether it had a score
fn kept(rig: &Rig) -> Vec<(u64, Option<f64>, Option<Option<f64>>)> {
    let mut kept = Vec::new();
    let mut next = 1;
    while let Some(chunk) = rig.store.next_chunk(next).unwrap() {
        kept.extend(
            chunk.records().map(|r| (r.verdict.sequence, r.verdict.score, r.shadow.map(|shadow| shadow.score))),
        );
        next = chunk.next();
    }
    kept
}

#[test]
fn a_shadow_is_kept_with_the_verdict_and_in_no_answer() {
    let dir = tempfile::tempdir().unwrap();
    let (rig, lineup) = beside(dir.path(), MINUTE);
    let answer = rig.ask(&[event("same", 12, "12"), event("other", 12, "9000"), event("none", 12, "\"x\"")].concat());
    let found = kept(&rig);
    assert_eq!(found[0].2, Some(found[0].1), "the same amount has the same score");
    let (one, two) = (found[1].1.unwrap(), found[1].2.unwrap().unwrap());
    assert!((one - two).abs() > 0.01, "{one} and {two}");
    assert_eq!(found[2].2, Some(None), "what it cannot score it says nothing of");
    for line in lines(&answer) {
        assert!(line.contains("card-fraud@first") && !line.contains("second"), "{line}");
    }
    let seen = lineup.shadow().unwrap().comparison();
    assert_eq!((seen.events, seen.unscored, seen.rows), (2, 1, 3));
    let mean = seen.mean_difference().unwrap();
    assert!((mean - (one - two).abs() / 2.0).abs() < 1e-12, "{mean}");
    // A repeat is not scored again, and reads as it did.
    let again = rig.ask(&event("other", 12, "9000"));
    assert_eq!((replayed(&again), lines(&again)[0].clone()), (vec![true], lines(&answer)[1].clone()));
    assert_eq!(lineup.shadow().unwrap().comparison(), seen);
    rig.engine.close().unwrap();
}

/// Sends so many events and tells how many of them have a shadow's word.
fn send(rig: &Rig, from: u64, count: u64, second: &str) -> usize {
    let body: String = (from..from + count).map(|n| event(n, 12, second)).collect();
    let answer = rig.ask(&body);
    assert!(lines(&answer).iter().all(|line| line.contains("\"score\":0.") && line.contains("card-fraud@first")));
    kept(rig).iter().filter(|(sequence, _, said)| *sequence > from && said.is_some()).count()
}

#[test]
fn a_shadow_that_is_too_slow_is_dropped_and_the_model_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    // No time at all: whatever it takes is too much.
    let (rig, lineup) = beside(dir.path(), Duration::ZERO);
    assert_eq!(send(&rig, 0, WINDOW_ROWS + 44, "12"), 0);
    let shadow = lineup.shadow().unwrap();
    assert!(shadow.dropped().unwrap().contains("µs a row"), "{:?}", shadow.dropped());
    let rows = shadow.comparison().rows;
    assert_eq!(rows, 1, "the first row told");
    assert_eq!(send(&rig, WINDOW_ROWS + 44, 10, "12"), 0);
    assert_eq!(shadow.comparison().rows, rows, "it is not asked any more");
    // A reload begins anew.
    let anew = Lineup::with_shadow(Arc::clone(lineup.bundle()), Arc::clone(shadow.bundle()), MINUTE);
    rig.engine.swap(anew, Shares { index: 1 << 20, windows: 1 << 20 });
    assert_eq!(send(&rig, WINDOW_ROWS + 54, 10, "12"), 10);
    rig.engine.close().unwrap();
}

#[test]
fn a_shadow_without_scores_is_dropped_and_a_few_events_that_it_cannot_score_do_not_drop_it() {
    let dir = tempfile::tempdir().unwrap();
    let (rig, lineup) = beside(dir.path(), MINUTE);
    let shadow = lineup.shadow().unwrap();
    let third = usize::try_from(WINDOW_ROWS / 3).unwrap();
    assert_eq!(send(&rig, 0, WINDOW_ROWS / 3, "null"), third);
    send(&rig, WINDOW_ROWS / 3, WINDOW_ROWS, "12");
    assert_eq!(shadow.dropped(), None);
    send(&rig, 1_000, WINDOW_ROWS * 2, "null");
    assert!(shadow.dropped().unwrap().contains("no score for"), "{:?}", shadow.dropped());
    rig.engine.close().unwrap();
}

#[test]
fn an_entry_of_the_history_has_the_first_sequence_that_the_model_can_have_scored() {
    let dir = tempfile::tempdir().unwrap();
    let (rig, _) = beside(dir.path(), MINUTE);
    send(&rig, 0, 7, "12");
    let last = Lineup::alone(bundle(dir.path(), "last", &[]));
    rig.engine.swap(Arc::clone(&last), Shares { index: 1 << 20, windows: 1 << 20 });
    let to = ModelId { label: "card-fraud@last".to_owned(), ..ModelId::default() };
    let to = ModelId { stamp: Stamp::default(), ..to };
    let used = ModelUse { number: 0, at_ms: 5, why: Why::Reload, first_sequence: 0, from: None, to };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(rig.engine.carry(Along { models: vec![used.clone()], ..Along::default() })).unwrap();
    assert_eq!(rig.store.models().unwrap(), [ModelUse { number: 1, first_sequence: 8, ..used }]);
    rig.engine.close().unwrap();
}
