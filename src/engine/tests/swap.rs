//! A model takes over between two submissions, and nothing that waits is lost or scored by another's fields.

use super::*;

/// The shipped bundle under another version, its amount read from another member.
fn successor(dir: &Path, version: &str, amount: &str) -> Arc<Lineup> {
    let folder = dir.join(version);
    shipped::unpack(&folder).unwrap();
    let file = folder.join("model.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replace("version = \"2026.1\"", &format!("version = \"{version}\""));
    std::fs::write(&file, text.replace("from = \"/TX_AMOUNT\"", &format!("from = \"{amount}\""))).unwrap();
    Lineup::alone(Arc::new(model::load(&folder, &LoadOptions::default()).unwrap()))
}

fn amount(id: &str, member: &str) -> String {
    format!("{{\"id\":\"{id}\",\"key\":\"k\",\"TX_DATETIME\":\"2018-05-01T12:00:00Z\",\"{member}\":12.5}}\n")
}

/// Model and whether there is a score.
fn scored_by(answer: &Answer) -> (String, bool) {
    let mut found = Vec::new();
    answer.for_each(|_, _, record| {
        let verdict = &record.expect("a verdict").verdict;
        found.push((verdict.model.to_owned(), verdict.score.is_some()));
    });
    found.remove(0)
}

#[test]
fn a_swapped_model_scores_what_comes_next_and_what_was_decoded_before_is_scored_by_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = Rig::open(dir.path());
    let old = |answer: &Answer| assert_eq!(scored_by(answer), ("card-fraud@2026.1".to_owned(), true));
    let new = |answer: &Answer| assert_eq!(scored_by(answer), ("card-fraud@next".to_owned(), true));
    old(&rig.ask(&amount("a", "TX_AMOUNT")));
    let before = rig.decoder.decode(&Form::Ndjson, Bytes::from(amount("b", "TX_AMOUNT")), 0);
    let next = successor(dir.path(), "next", "/AMOUNT");
    rig.engine.swap(Arc::clone(&next), Shares { index: 1 << 20, windows: 1 << 20 });
    rig.decoder = rig.decoder.for_fields(next.pointers());
    new(&rig.ask(&amount("c", "AMOUNT")));
    old(&rig.hand_in(before));
    new(&rig.ask(&amount("d", "AMOUNT")));
    // A repeat keeps its first verdict, word for word.
    old(&rig.ask(&amount("a", "TX_AMOUNT")));
    let decided = rig.engine.counters().decided();
    let by = |model: &str| decided.iter().filter(|((_, of), _)| of == model).map(|(_, count)| count).sum::<u64>();
    assert_eq!((by("card-fraud@2026.1"), by("card-fraud@next")), (2, 2));
    rig.engine.close().unwrap();
}

#[test]
fn a_model_that_wants_the_same_fields_scores_at_once_whatever_was_decoded_before() {
    let dir = tempfile::tempdir().unwrap();
    let rig = Rig::open(dir.path());
    rig.ask(&amount("a", "TX_AMOUNT"));
    let before = rig.decoder.decode(&Form::Ndjson, Bytes::from(amount("b", "TX_AMOUNT")), 0);
    rig.engine.swap(successor(dir.path(), "thresholds", "/TX_AMOUNT"), Shares { index: 1 << 20, windows: 1 << 20 });
    assert_eq!(scored_by(&rig.hand_in(before)).0, "card-fraud@thresholds");
    rig.engine.close().unwrap();
}

#[test]
fn an_idle_engine_lets_go_of_a_model_that_nobody_needs() {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = Rig::open(dir.path());
    rig.ask(&amount("a", "TX_AMOUNT"));
    let first = successor(dir.path(), "first", "/AMOUNT");
    rig.engine.swap(Arc::clone(&first), Shares { index: 1 << 20, windows: 1 << 20 });
    rig.decoder = rig.decoder.for_fields(first.pointers());
    rig.ask(&amount("b", "AMOUNT"));
    let second = successor(dir.path(), "second", "/OTHER");
    rig.engine.swap(Arc::clone(&second), Shares { index: 1 << 20, windows: 1 << 20 });
    rig.decoder = rig.decoder.for_fields(second.pointers());
    // No event comes: the engine's own looks let go of it, all but this handle.
    while Arc::strong_count(&first) > 2 {
        std::thread::yield_now();
    }
    rig.ask(&amount("c", "OTHER"));
    while Arc::strong_count(&first) > 1 {
        std::thread::yield_now();
    }
    rig.engine.close().unwrap();
}

#[test]
fn what_was_decoded_for_a_model_that_was_replaced_at_once_is_scored_by_it_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = Rig::open(dir.path());
    let middle = successor(dir.path(), "middle", "/AMOUNT");
    let last = successor(dir.path(), "last", "/OTHER");
    // Whether the engine looks in between or not.
    rig.engine.swap(Arc::clone(&middle), Shares { index: 1 << 20, windows: 1 << 20 });
    rig.decoder = rig.decoder.for_fields(middle.pointers());
    let batch = rig.decoder.decode(&Form::Ndjson, Bytes::from(amount("m", "AMOUNT")), 0);
    rig.engine.swap(Arc::clone(&last), Shares { index: 1 << 20, windows: 1 << 20 });
    rig.decoder = rig.decoder.for_fields(last.pointers());
    assert_eq!(scored_by(&rig.hand_in(batch)), ("card-fraud@middle".to_owned(), true));
    assert_eq!(scored_by(&rig.ask(&amount("n", "OTHER"))), ("card-fraud@last".to_owned(), true));
    rig.engine.close().unwrap();
}
