//! One event, one verdict: dedup, conflicts and rounds, over a real store and the shipped model.

mod beside;
mod swap;
mod windows;

use super::*;
use crate::event::{Decoder, EventBatch, Form, IdentityRules, KeyRule, Pointer, SourceRule, TimeForm};
use crate::model::{self, LoadOptions, shipped};
use crate::store::{self, Store};
use bytes::Bytes;
use proptest::prelude::*;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;

struct Rig {
    engine: Engine,
    store: Arc<Store>,
    decoder: Decoder,
    origin: Arc<Origin>,
}

impl Rig {
    fn open(dir: &Path) -> Self {
        Self::with(dir, &store::Options::new(dir.join("state")))
    }

    fn with(dir: &Path, options: &store::Options) -> Self {
        Self::keeping(dir, options, true)
    }

    fn keeping(dir: &Path, options: &store::Options, keep_payload: bool) -> Self {
        let bundle = dir.join("bundle");
        if !bundle.exists() {
            shipped::unpack(&bundle).unwrap();
        }
        let lineup = Lineup::alone(Arc::new(model::load(&bundle, &LoadOptions::default()).unwrap()));
        let opened = store::open(options).unwrap();
        let pointer = |text: &str| Pointer::parse(text).unwrap();
        let rules = IdentityRules {
            id: pointer("/id"),
            time: pointer("/time"),
            time_form: TimeForm::Any,
            source: SourceRule::Fixed("pos".to_owned()),
            key: KeyRule { pointers: vec![pointer("/key")], hmac_key: None, ..KeyRule::default() },
        };
        let decoder = Decoder::new(rules, Arc::clone(lineup.pointers()), 1 << 18, opened.store.seed());
        let store = Arc::clone(&opened.store);
        let parts = Parts {
            store: opened.store,
            index: opened.index,
            writer: opened.writer,
            lineup,
            courier: None,
            keep_payload,
            keep_events: options.keeping.time.is_some(),
            refolded: None,
        };
        Self { engine: Engine::start(parts).unwrap(), store, decoder, origin: Arc::default() }
    }

    fn send(&self, body: &str) -> oneshot::Receiver<Answer> {
        self.submit(self.decoder.decode(&Form::Ndjson, Bytes::copy_from_slice(body.as_bytes()), 0))
    }

    fn submit(&self, batch: EventBatch) -> oneshot::Receiver<Answer> {
        let (reply, answer) = oneshot::channel();
        let origin = Arc::clone(&self.origin);
        self.engine
            .submit(Submission { batch, origin, arrived: Instant::now(), held: None, along: Along::default(), reply })
            .unwrap();
        answer
    }

    fn hand_in(&self, batch: EventBatch) -> Answer {
        self.submit(batch).blocking_recv().unwrap()
    }

    fn ask(&self, body: &str) -> Answer {
        self.send(body).blocking_recv().unwrap()
    }
}

/// The lines of an answer, a verdict's own or what else became of the event.
fn lines(answer: &Answer) -> Vec<String> {
    let mut lines = Vec::new();
    answer.for_each(|n, outcome, record| {
        let mut text = Vec::new();
        if let Some(record) = record {
            crate::verdict::write_json(&record.verdict, &mut text);
            let mut single = Vec::new();
            answer.write_verdict(n, &mut single);
            assert_eq!(text, single);
        }
        lines.push(if text.is_empty() { format!("{outcome:?}") } else { String::from_utf8(text).unwrap() });
    });
    lines
}

fn event(id: impl std::fmt::Display, amount: u32) -> String {
    format!(
        "{{\"id\":\"{id}\",\"key\":\"k\",\"time\":\"2026-01-01T12:00:00Z\",\"TX_AMOUNT\":{amount},\"TX_DATETIME\":\"2026-01-01T12:00:00Z\"}}\n"
    )
}

fn replayed(answer: &Answer) -> Vec<bool> {
    answer.outcomes.iter().map(|o| matches!(o, Outcome::Verdict { replayed: true, .. })).collect()
}

#[test]
fn a_repeat_gets_the_first_verdict_in_the_same_request_in_flight_later_and_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let rig = Rig::open(dir.path());
    let twice = rig.ask(&(event("a", 1) + &event("a", 1)));
    assert_eq!(replayed(&twice), [false, true]);
    let first = lines(&twice).remove(0);
    assert_eq!(lines(&twice), [first.clone(), first.clone()]);

    let flying: Vec<_> = (0..200).map(|_| rig.send(&event("b", 2))).collect();
    let flying: Vec<_> = flying.into_iter().map(|answer| lines(&answer.blocking_recv().unwrap()).remove(0)).collect();
    assert!(flying.iter().all(|line| *line == flying[0]));

    assert_eq!(lines(&rig.ask(&event("a", 1)))[0], first);
    // Many at once: each holds its own record, not the chunk around it.
    let many: String = (0..50).map(|n| event(format!("m{n}"), 1)).collect();
    let whole = lines(&rig.ask(&many));
    assert_eq!(lines(&rig.ask(&many)), whole);
    rig.engine.close().unwrap();
    drop(rig);
    let rig = Rig::open(dir.path());
    let again = rig.ask(&event("a", 1));
    assert_eq!((replayed(&again), lines(&again)), (vec![true], vec![first]));
}

#[test]
fn the_same_id_with_another_payload_is_a_conflict_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let rig = Rig::open(dir.path());
    let answer = rig.ask(&(event("a", 1) + &event("a", 2)));
    assert_eq!(answer.outcome(1), Outcome::Conflict);
    assert_eq!(rig.ask(&event("a", 3)).outcome(0), Outcome::Conflict);
    assert!(matches!(rig.ask(&event("a", 1)).outcome(0), Outcome::Verdict { replayed: true, .. }));
    let kept = rig.store.quarantine_list(0, 10).unwrap();
    assert_eq!(kept.iter().map(|entry| entry.kind.as_str()).collect::<Vec<_>>(), ["conflict", "conflict"]);
    let (_, entry) = rig.store.quarantine_get(kept[0].sequence).unwrap().unwrap();
    assert_eq!(entry.bytes, event("a", 2).trim_end().as_bytes());
    rig.engine.close().unwrap();
}

#[test]
fn what_is_no_event_is_kept_and_the_rest_flows_on() {
    let dir = tempfile::tempdir().unwrap();
    let rig = Rig::open(dir.path());
    let answer = rig.ask(&(event("a", 1) + "broken\n" + &event("b", 1)));
    assert_eq!(answer.outcome(1), Outcome::Bad);
    assert!(matches!(answer.outcome(2), Outcome::Verdict { replayed: false, .. }));
    assert_eq!(rig.store.quarantine_list(0, 10).unwrap().len(), 1);
    rig.engine.close().unwrap();
}

#[test]
fn without_payload_the_quarantine_tells_why_and_how_long_but_holds_no_byte() {
    let dir = tempfile::tempdir().unwrap();
    let rig = Rig::keeping(dir.path(), &store::Options::new(dir.path().join("state")), false);
    rig.ask("a card number\n");
    let kept = rig.store.quarantine_list(0, 10).unwrap();
    assert_eq!((kept[0].bytes, kept[0].kind.as_str()), (13, "malformed"));
    let (_, entry) = rig.store.quarantine_get(kept[0].sequence).unwrap().unwrap();
    assert!(entry.bytes.is_empty());
    rig.engine.close().unwrap();
}

#[test]
fn what_cannot_be_scored_gets_the_fallback_with_a_reason_and_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let rig = Rig::open(dir.path());
    let answer = rig.ask("{\"id\":1,\"TX_AMOUNT\":\"much\",\"TX_DATETIME\":\"2026-01-01T12:00:00Z\"}\n");
    let record = answer.record(0).unwrap();
    assert_eq!((record.verdict.decision, record.verdict.score), ("review", None));
    assert!(record.verdict.reasons[0].starts_with("TX_AMOUNT: expected a number"), "{:?}", record.verdict.reasons);
    assert_eq!(rig.store.quarantine_list(0, 10).unwrap()[0].kind, "unscorable");
    rig.engine.close().unwrap();
}

#[test]
fn a_submission_longer_than_a_round_is_answered_whole_and_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let rig = Rig::open(dir.path());
    let count = ROUND_EVENTS_MAX * 2 + 10;
    let body: String = (0..count).map(|n| event(n, 5)).collect();
    let other = rig.send(&event("other", 1));
    let answer = rig.ask(&body);
    let mut next = 0;
    answer.for_each(|n, _, record| {
        let verdict = &record.unwrap().verdict;
        assert_eq!(verdict.id, n.to_string());
        assert!(verdict.sequence > next);
        next = verdict.sequence;
    });
    assert_eq!(answer.len(), count);
    drop(other);
    rig.engine.close().unwrap();
}

#[test]
fn the_longest_texts_an_event_may_have_are_stored() {
    let dir = tempfile::tempdir().unwrap();
    let rig = Rig::open(dir.path());
    let (id, key) = ("i".repeat(512), "k".repeat(1024));
    let body = format!(
        "{{\"specversion\":\"1.0\",\"type\":\"t\",\"id\":\"{id}\",\"source\":\"{}\",\"partitionkey\":\"{key}\"}}\n",
        "s".repeat(512)
    );
    let answer = rig.ask(&body);
    assert_eq!(answer.record(0).unwrap().verdict.id, id);
    rig.engine.close().unwrap();
}

#[test]
fn only_durable_verdicts_are_found_by_identity() {
    let dir = tempfile::tempdir().unwrap();
    let rig = Rig::open(dir.path());
    let line = lines(&rig.ask(&event("a", 1))).remove(0);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (chunk, sequence) = runtime.block_on(rig.engine.find("pos", "a")).unwrap().unwrap();
    let mut text = Vec::new();
    crate::verdict::write_json(&chunk.get(sequence).unwrap().verdict, &mut text);
    assert_eq!(text, line.as_bytes());
    assert!(runtime.block_on(rig.engine.find("pos", "b")).unwrap().is_none());
    assert!(runtime.block_on(rig.engine.find("other", "a")).unwrap().is_none());
    rig.engine.close().unwrap();
    assert_eq!(runtime.block_on(rig.engine.find("pos", "a")).unwrap_err(), Closed);
}

#[test]
fn without_room_new_events_are_refused_and_repeats_still_answered() {
    let dir = tempfile::tempdir().unwrap();
    let options = store::Options {
        sinks: vec![store::SinkDecl { name: "dead".to_owned(), start: store::SinkStart::Oldest }],
        ..store::Options::new(dir.path().join("state"))
    };
    let rig = Rig::with(dir.path(), &options);
    let first = lines(&rig.ask(&event("a", 1)));
    rig.engine.close().unwrap();
    drop(rig);
    // A budget under what is there already, and a sink that takes nothing: there is no room to be made.
    let rig = Rig::with(dir.path(), &store::Options { disk_bytes: 1, ..options });
    assert_eq!(rig.ask(&event("b", 1)).outcome(0), Outcome::Refused);
    let answer = rig.ask(&(event("a", 1) + "broken\n" + &event("a", 2)));
    assert_eq!(lines(&answer)[0], first[0]);
    assert_eq!(answer.outcomes[1..], [Outcome::Refused, Outcome::Refused]);
    assert!(answer.refusal.is_some());
    rig.engine.close().unwrap();
}

#[test]
fn a_label_is_durable_and_says_whether_its_event_is_known() {
    let dir = tempfile::tempdir().unwrap();
    let rig = Rig::open(dir.path());
    let label = |id: &str| {
        format!(
            "{{\"specversion\":\"1.0\",\"type\":\"verdictd.label.v1\",\"source\":\"s\",\"id\":\"l\",\
             \"data\":{{\"source\":\"pos\",\"id\":\"{id}\",\"label\":1}}}}\n"
        )
    };
    rig.ask(&event("old", 1));
    let answer = rig.ask(&(event("a", 1) + &label("a") + &label("old") + &label("none")));
    let known: Vec<_> = answer.outcomes[1..].to_vec();
    assert_eq!(known, [true, true, false].map(|known| Outcome::Label { known }));
    let mut text = Vec::new();
    answer.write_label(3, &mut text);
    let expected = r#"{"type":"verdictd.label.v1","source":"pos","id":"none","label":1,"known":false}"#;
    assert_eq!(String::from_utf8(text).unwrap(), expected);
    // No verdict of its own.
    assert_eq!(rig.store.committed(), 3);
    rig.engine.close().unwrap();
    drop(rig);
    let rig = Rig::open(dir.path());
    let mut kept = Vec::new();
    rig.store.each_label(&mut |label| kept.push(label.id)).unwrap();
    assert_eq!(kept, ["a", "old", "none"]);
    assert_eq!(rig.store.stats().labels, 3);
    rig.engine.close().unwrap();
}

fn carry(rig: &Rig, body: &str, along: Along) -> Answer {
    let (reply, answer) = oneshot::channel();
    let batch = rig.decoder.decode(&Form::Ndjson, Bytes::copy_from_slice(body.as_bytes()), 0);
    let origin = Arc::clone(&rig.origin);
    rig.engine.submit(Submission { batch, origin, arrived: Instant::now(), held: None, along, reply }).unwrap();
    answer.blocking_recv().unwrap()
}

fn offset(value: &[u8]) -> Along {
    Along { offsets: vec![(Arc::from("lines"), value.to_vec())], ..Along::default() }
}

#[test]
fn an_offset_is_durable_with_the_last_event_before_it_and_never_passes_a_refused_one() {
    let dir = tempfile::tempdir().unwrap();
    let options = store::Options {
        sinks: vec![store::SinkDecl { name: "dead".to_owned(), start: store::SinkStart::Oldest }],
        ..store::Options::new(dir.path().join("state"))
    };
    let rig = Rig::with(dir.path(), &options);
    // Longer than a round: the offset waits for the last event.
    let long: String = (0..ROUND_EVENTS_MAX + 10).map(|n| event(n, 5)).collect();
    carry(&rig, &long, offset(b"1"));
    assert_eq!(rig.store.offset("lines").unwrap().as_deref(), Some(&b"1"[..]));
    // Repeats alone, and nothing at all, move it too.
    carry(&rig, &event(1, 5), offset(b"2"));
    assert_eq!(rig.store.offset("lines").unwrap().as_deref(), Some(&b"2"[..]));
    carry(&rig, "", offset(b"3"));
    rig.engine.close().unwrap();
    drop(rig);
    let rig = Rig::with(dir.path(), &store::Options { disk_bytes: 1, ..options });
    assert_eq!(rig.store.offset("lines").unwrap().as_deref(), Some(&b"3"[..]));
    let answer = carry(&rig, &(event(1, 5) + &event("new", 1)), offset(b"4"));
    assert_eq!(answer.outcome(1), Outcome::Refused);
    assert_eq!(rig.store.offset("lines").unwrap().as_deref(), Some(&b"3"[..]));
    rig.engine.close().unwrap();
}

#[test]
fn what_a_sink_sets_aside_and_its_cursor_are_one_commit() {
    let dir = tempfile::tempdir().unwrap();
    let options = store::Options {
        sinks: vec![store::SinkDecl { name: "bank".to_owned(), start: store::SinkStart::Oldest }],
        ..store::Options::new(dir.path().join("state"))
    };
    let rig = Rig::with(dir.path(), &options);
    let sequence = rig.ask(&(event("a", 1) + &event("b", 1))).record(0).unwrap().verdict.sequence;
    let entry = store::QuarantineEntry {
        kind: "poison".to_owned(),
        source: "pos".to_owned(),
        id: Some("a".to_owned()),
        reason: "too large".to_owned(),
        bytes: b"{}".to_vec(),
        length: 2,
        at_ms: 0,
    };
    let cursors = vec![(Arc::from("bank"), sequence + 1)];
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let along = Along { quarantine: vec![entry], cursors, ..Along::default() };
    runtime.block_on(rig.engine.carry(along)).unwrap();
    assert_eq!(rig.store.stored_cursor("bank").unwrap(), sequence + 1);
    assert_eq!(rig.store.quarantine_list(0, 10).unwrap()[0].kind, "poison");
    // A cursor never goes back.
    let back = Along { cursors: vec![(Arc::from("bank"), sequence)], ..Along::default() };
    runtime.block_on(rig.engine.carry(back)).unwrap();
    assert_eq!(rig.store.cursor("bank").unwrap(), sequence + 1);
    rig.engine.close().unwrap();
}

#[test]
fn where_keys_are_secrets_the_quarantine_holds_no_byte_of_an_event() {
    let dir = tempfile::tempdir().unwrap();
    let rig = Rig::open(dir.path());
    let rules = IdentityRules {
        id: Pointer::parse("/id").unwrap(),
        time: Pointer::parse("/time").unwrap(),
        time_form: TimeForm::Any,
        source: SourceRule::Fixed("pos".to_owned()),
        key: KeyRule {
            pointers: vec![Pointer::parse("/key").unwrap()],
            hmac_key: Some(b"secret".to_vec()),
            ..KeyRule::default()
        },
    };
    let decoder = Decoder::new(rules, [], 1 << 18, rig.store.seed());
    let mut assembly = Arc::new(decoder).assemble(0);
    assembly.push(&Form::Record, b"{\"id\":1,\"key\":\"4111111111111111\",\"x\":", crate::event::Beside::default());
    let (reply, answer) = oneshot::channel();
    let submission = Submission {
        batch: assembly.finish(),
        origin: Arc::default(),
        arrived: Instant::now(),
        held: None,
        along: Along::default(),
        reply,
    };
    rig.engine.submit(submission).unwrap();
    assert_eq!(answer.blocking_recv().unwrap().outcome(0), Outcome::Bad);
    let kept = rig.store.quarantine_list(0, 10).unwrap();
    let (_, entry) = rig.store.quarantine_get(kept[0].sequence).unwrap().unwrap();
    assert!(entry.bytes.is_empty() && entry.length == 37, "{entry:?}");
    assert!(!entry.reason.contains("4111"));
    rig.engine.close().unwrap();
}

/// A commit failed while the next round was decided already, and held nothing but repeats of the failed one:
/// it wrote nothing, so nothing told it, and the repeats were answered with verdicts that were not durable.
#[test]
fn after_a_failure_not_even_a_repeat_is_answered() {
    let dir = tempfile::tempdir().unwrap();
    let rig = Rig::open(dir.path());
    rig.ask(&event("a", 1));
    rig.engine.fail(Failure::Bug("as if a write had failed".to_owned()));
    let (reply, answer) = oneshot::channel();
    let batch = rig.decoder.decode(&Form::Ndjson, Bytes::from(event("a", 1)), 0);
    let late = Submission {
        batch,
        origin: Arc::default(),
        arrived: Instant::now(),
        held: None,
        along: Along::default(),
        reply,
    };
    if rig.engine.submit(late).is_ok() {
        assert!(answer.blocking_recv().is_err());
    }
    assert!(matches!(rig.engine.close(), Err(Failure::Bug(_))));
}

#[test]
fn a_stopping_engine_answers_what_it_took_and_takes_nothing_more() {
    let dir = tempfile::tempdir().unwrap();
    let rig = Rig::open(dir.path());
    let answers: Vec<_> = (0..50).map(|n| rig.send(&event(n, 1))).collect();
    rig.engine.drain();
    assert!(answers.into_iter().all(|answer| answer.blocking_recv().is_ok()));
    let (reply, _answer) = oneshot::channel();
    let (batch, origin) = (rig.decoder.decode(&Form::Ndjson, Bytes::new(), 0), Arc::default());
    let late = Submission { batch, origin, arrived: Instant::now(), held: None, along: Along::default(), reply };
    assert_eq!(rig.engine.submit(late), Err(Closed));
    rig.engine.close().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Any mix of requests: the first payload of an id has one verdict for ever, others are conflicts.
    #[test]
    fn one_event_has_one_verdict(requests in prop::collection::vec(prop::collection::vec((0..12u32, 0..2u32), 1..8), 1..12)) {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = Rig::open(dir.path());
        let mut known: HashMap<u32, (u32, String)> = HashMap::new();
        let half = requests.len() / 2;
        for (n, request) in requests.iter().enumerate() {
            if n == half {
                rig.engine.close().unwrap();
                drop(rig);
                rig = Rig::open(dir.path());
            }
            let body: String = request.iter().map(|(id, amount)| event(id, *amount)).collect();
            let answer = rig.ask(&body);
            for ((id, amount), line) in request.iter().zip(lines(&answer)) {
                match known.get(id) {
                    None => { known.insert(*id, (*amount, line)); }
                    Some((first, verdict)) if first == amount => prop_assert_eq!(&line, verdict),
                    Some(_) => prop_assert_eq!(line, "Conflict"),
                }
            }
        }
        rig.engine.close().unwrap();
    }
}
