//! Window features through the engine: each event counts once, in its own place, also after a restart, a swap, a label
//! that came early or an event that came late. The model is a weighted sum, so that a score tells the features.

#![allow(clippy::float_cmp)] // whole numbers, bit for bit

use super::*;
use crate::engine::windows::Windowed;
use crate::event::Item;
use crate::features::Limits;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

const LIMITS: Limits = Limits { bytes: 8 << 20, lateness_us: None };
/// 2026-01-01T00:00:00Z.
const START_S: i64 = 1_767_225_600;

/// A bundle whose score is the sum of its features, each times its weight.
fn bundle(dir: &Path, version: &str, features: &[(&str, f32)], more: &str) -> Arc<Lineup> {
    let folder = dir.join(version);
    std::fs::create_dir_all(&folder).unwrap();
    let n = features.len();
    let header = format!(
        r#"{{"out.weight":{{"dtype":"F32","shape":[1,{n}],"data_offsets":[0,{}]}},"out.bias":{{"dtype":"F32","shape":[1],"data_offsets":[{},{}]}}}}"#,
        4 * n,
        4 * n,
        4 * n + 4
    );
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    for (_, weight) in features {
        file.extend_from_slice(&weight.to_le_bytes());
    }
    file.extend_from_slice(&0_f32.to_le_bytes());
    std::fs::write(folder.join("model.safetensors"), &file).unwrap();
    let hash = model::hex_text(&Sha256::digest(&file).into());
    let mut text = format!(
        "name = \"sum\"\nversion = \"{version}\"\nformat = \"safetensors\"\nfile = \"model.safetensors\"\nsha256 = \"{hash}\"\n\
         [decision]\notherwise = \"allow\"\nfallback = \"review\"\n[network]\noutput = \"raw\"\nlayers = [{{ linear = \"out\" }}]\n"
    );
    for (n, (feature, _)) in features.iter().enumerate() {
        writeln!(text, "[[feature]]\nname = \"f{n}\"\n{feature}").unwrap();
    }
    std::fs::write(folder.join("model.toml"), text + more).unwrap();
    Lineup::alone(Arc::new(model::load(&folder, &LoadOptions::default()).unwrap()))
}

const COUNT: &str = "window = { count = true, key = \"/card\", over = \"1 d\" }";
const SUM: &str = "window = { sum = \"/amount\", key = \"/card\", over = \"7 d\" }";
const RISK: &str = "window = { label-sum = true, key = \"/shop\", over = \"7 d\", delay = \"1 d\" }";

fn usual(dir: &Path) -> Arc<Lineup> {
    bundle(dir, "usual", &[(COUNT, 1.0), (SUM, 100.0), (RISK, 1_000_000.0)], "")
}

fn open(dir: &Path, lineup: Arc<Lineup>) -> Rig {
    open_with(&store::Options::new(dir.join("state")), lineup)
}

fn open_with(options: &store::Options, lineup: Arc<Lineup>) -> Rig {
    let opened = store::open(options).unwrap();
    let refolded = lineup.plan().map(|plan| refold(&opened.store, plan, LIMITS).unwrap());
    let pointer = |text: &str| Pointer::parse(text).unwrap();
    let rules = IdentityRules {
        id: pointer("/id"),
        time: pointer("/time"),
        time_form: TimeForm::Any,
        source: SourceRule::Fixed("pos".to_owned()),
        key: KeyRule { pointers: vec![pointer("/card")], hmac_key: None, ..KeyRule::default() },
    };
    let decoder = Decoder::new(rules, Arc::clone(lineup.pointers()), 1 << 18, opened.store.seed());
    let store = Arc::clone(&opened.store);
    let parts = Parts {
        store: opened.store,
        index: opened.index,
        writer: opened.writer,
        lineup,
        courier: None,
        keep_payload: true,
        keep_events: false,
        refolded,
    };
    Rig { engine: Engine::start(parts).unwrap(), store, decoder, origin: Arc::default() }
}

fn swap(rig: &mut Rig, from: &Lineup, to: &Arc<Lineup>) {
    to.refold(&rig.store, from.plan(), LIMITS).unwrap();
    rig.engine.swap(Arc::clone(to), Shares { index: 1 << 20, windows: 8 << 20 });
    rig.decoder = rig.decoder.for_fields(to.pointers());
}

/// At so many hours after the start.
fn at(id: u32, hours: f64, card: u32, amount: u32) -> String {
    #[allow(clippy::cast_possible_truncation)]
    let time = START_S + (hours * 3600.0) as i64;
    format!("{{\"id\":\"{id}\",\"time\":{time},\"card\":{card},\"shop\":\"s{}\",\"amount\":{amount}}}\n", card % 2)
}

fn label(id: u32, value: u32) -> String {
    format!("{{\"type\":\"verdictd.label.v1\",\"id\":\"{id}\",\"label\":{value}}}\n")
}

/// Score and reasons of each verdict of an answer.
fn told(answer: &Answer) -> Vec<(f64, Vec<String>)> {
    let mut found = Vec::new();
    answer.for_each(|_, _, record| {
        if let Some(record) = record {
            let reasons = record.verdict.reasons.iter().map(ToString::to_string).collect();
            found.push((record.verdict.score.unwrap_or(f64::NAN), reasons));
        }
    });
    found
}

fn scores(answer: &Answer) -> Vec<f64> {
    told(answer).into_iter().map(|(score, _)| score).collect()
}

#[test]
fn a_repeat_is_counted_once_and_a_restart_finds_the_windows_as_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let rig = open(dir.path(), usual(dir.path()));
    assert_eq!(
        scores(&rig.ask(&(at(1, 0.0, 7, 5) + &at(2, 1.0, 7, 6) + &at(2, 1.0, 7, 6)))),
        [501.0, 1_102.0, 1_102.0]
    );
    assert_eq!(scores(&rig.ask(&at(1, 0.0, 7, 5))), [501.0], "a repeat gets its first answer");
    rig.engine.close().unwrap();
    drop(rig);
    let rig = open(dir.path(), usual(dir.path()));
    assert_eq!(scores(&rig.ask(&at(2, 1.0, 7, 6))), [1_102.0]);
    assert_eq!(scores(&rig.ask(&at(3, 2.0, 7, 1))), [1_203.0]);
    assert_eq!(scores(&rig.ask(&at(4, 25.5, 7, 1))), [1_302.0], "the first two are more than a day ago");
    rig.engine.close().unwrap();
}

#[test]
fn a_late_event_takes_its_own_place_and_one_beyond_the_longest_window_is_told_and_not_counted() {
    let dir = tempfile::tempdir().unwrap();
    let rig = open(dir.path(), usual(dir.path()));
    rig.ask(&(at(1, 0.0, 7, 1) + &at(2, 40.0, 7, 2)));
    let late = told(&rig.ask(&at(3, 10.0, 7, 4)));
    assert_eq!(late, [(502.0, vec![])], "what came after its time is not in its windows");
    assert_eq!(scores(&rig.ask(&at(4, 41.0, 7, 0))), [702.0], "it is in those of later ones");
    rig.ask(&at(5, 24.0 * 9.0, 8, 1));
    let (score, reasons) = told(&rig.ask(&at(6, 20.0, 9, 9))).remove(0);
    assert_eq!((score, reasons), (0.0, vec!["too late: not counted in windows".to_owned()]));
    let figures = rig.engine.counters().windows().unwrap();
    assert_eq!(figures.too_late, 1);
    // Its label is no label of an event of the same card and second that is counted.
    rig.ask(&(at(7, 24.0 * 3.0, 9, 0) + &at(8, 24.0 * 13.0, 9, 0) + &at(9, 24.0 * 3.0, 9, 0) + &label(9, 1)));
    assert_eq!(scores(&rig.ask(&at(10, 24.0 * 6.0, 9, 0))), [1.0]);
    rig.engine.close().unwrap();
    drop(rig);
    let rig = open(dir.path(), usual(dir.path()));
    assert_eq!(scores(&rig.ask(&at(11, 24.0 * 6.0, 9, 0))), [2.0]);
    rig.engine.close().unwrap();
}

#[test]
fn a_label_counts_once_whether_it_comes_before_its_event_or_after_is_said_again_or_corrected() {
    let dir = tempfile::tempdir().unwrap();
    let rig = open(dir.path(), usual(dir.path()));
    let known = |answer: &Answer| match answer.outcome(0) {
        Outcome::Label { known } => known,
        other => panic!("{other:?}"),
    };
    rig.ask(&at(1, 0.0, 1, 0));
    assert!(known(&rig.ask(&label(1, 1))));
    assert!(known(&rig.ask(&label(1, 1))));
    assert!(!known(&rig.ask(&label(2, 1))), "its event is not known yet");
    rig.engine.close().unwrap();
    drop(rig);
    // What waits is kept.
    let rig = open(dir.path(), usual(dir.path()));
    assert_eq!(rig.engine.counters().windows().map_or(1, |figures| figures.labels_waiting), 1);
    rig.ask(&at(2, 1.0, 1, 0));
    let risk = |answer: &Answer| (scores(answer)[0] / 1_000_000.0).floor();
    assert_eq!(risk(&rig.ask(&at(3, 30.0, 1, 0))), 2.0);
    rig.ask(&label(2, 0));
    assert_eq!(risk(&rig.ask(&at(4, 30.0, 1, 0))), 1.0, "the later word counts");
    rig.engine.close().unwrap();
    drop(rig);
    let rig = open(dir.path(), usual(dir.path()));
    assert_eq!(risk(&rig.ask(&at(5, 30.0, 1, 0))), 1.0);
    assert_eq!(rig.engine.counters().windows().unwrap().labels_waiting, 0);
    rig.engine.close().unwrap();
}

#[test]
fn a_label_that_says_when_its_event_was_finds_it_beyond_the_dedup_window() {
    let dir = tempfile::tempdir().unwrap();
    // A window of an instant: what is committed is out of it.
    let options = store::Options { window: std::time::Duration::ZERO, ..store::Options::new(dir.path().join("state")) };
    let rig = open_with(&options, usual(dir.path()));
    rig.ask(&at(1, 0.0, 1, 0));
    while !matches!(rig.ask(&label(1, 0)).outcome(0), Outcome::Label { known: false }) {
        rig.ask(&at(2, 0.0, 1, 0));
    }
    let timed = format!("{{\"type\":\"verdictd.label.v1\",\"id\":\"1\",\"label\":1,\"time\":{START_S}}}\n");
    assert_eq!(rig.ask(&timed).outcome(0), Outcome::Label { known: true });
    assert!(scores(&rig.ask(&at(3, 30.0, 1, 0)))[0] >= 1_000_000.0);
    rig.engine.close().unwrap();
}

#[test]
fn a_model_that_brings_other_windows_finds_what_the_log_holds_for_them() {
    let dir = tempfile::tempdir().unwrap();
    let first = usual(dir.path());
    let mut rig = open(dir.path(), Arc::clone(&first));
    rig.ask(&(at(1, 0.0, 7, 5) + &at(2, 1.0, 7, 6) + &label(1, 1)));
    // The same stream with a longer window, a window by another key, and one of a field that was never kept.
    let longer = "window = { sum = \"/amount\", key = \"/card\", over = \"30 d\" }";
    let by_shop = "window = { count = true, key = \"/shop\", over = \"7 d\" }";
    let other = "window = { distinct = \"/country\", key = \"/card\", over = \"7 d\" }";
    let next = bundle(dir.path(), "next", &[(longer, 100.0), (by_shop, 1.0), (other, 0.0)], "");
    let decoded = rig.decoder.decode(&Form::Ndjson, Bytes::from(at(3, 2.0, 7, 1)), 0);
    swap(&mut rig, &first, &next);
    assert_eq!(scores(&rig.ask(&at(4, 3.0, 7, 0))), [1_103.0]);
    // What was decoded for the model before is scored by it, over its own windows, in its place of the log.
    assert_eq!(scores(&rig.hand_in(decoded)), [1_203.0]);
    assert_eq!(scores(&rig.ask(&at(5, 4.0, 7, 0))), [1_205.0]);
    let whole = rig.engine.counters().windows().unwrap().whole_since_us;
    assert_eq!(whole, Some((START_S + 3 * 3600) * 1_000_000), "not before the new field is kept");
    // And back.
    let again = usual(dir.path());
    swap(&mut rig, &next, &again);
    assert_eq!(scores(&rig.ask(&at(6, 5.0, 7, 0))), [1_206.0]);
    assert_eq!((scores(&rig.ask(&at(7, 30.0, 7, 0)))[0] / 1e6).floor(), 1.0, "labels are found again as well");
    rig.engine.close().unwrap();
    drop(rig);
    let rig = open(dir.path(), usual(dir.path()));
    assert_eq!(scores(&rig.ask(&at(8, 30.5, 7, 0))), [1_001_202.0]);
    rig.engine.close().unwrap();
}

#[test]
fn rules_compare_what_the_windows_held_at_the_events_own_place() {
    let dir = tempfile::tempdir().unwrap();
    let rules = "[[rule]]\nwhen = \"f0 > 2 and f1 >= 6\"\ndecision = \"block\"\nreason = \"velocity\"\n\
                 [[rule]]\nwhen = \"shop == 's1' and score < 3000\"\ndecision = \"look\"\nreason = \"shop\"\n";
    let lineup = bundle(dir.path(), "ruled", &[(COUNT, 1.0), (SUM, 1_000.0)], rules);
    let rig = open(dir.path(), lineup);
    // All in one call: a rule must not see what comes after its event.
    let answer = rig.ask(&(1..=4).map(|n| at(n, 0.1 * f64::from(n), 7, 2)).collect::<String>());
    let mut found = Vec::new();
    answer.for_each(|_, _, record| {
        let verdict = &record.unwrap().verdict;
        found.push((verdict.decision.to_owned(), verdict.reasons.join(",")));
    });
    let of = |decision: &str, reason: &str| (decision.to_owned(), reason.to_owned());
    assert_eq!(found, [of("look", "shop"), of("allow", ""), of("block", "velocity"), of("block", "velocity")]);
    rig.engine.close().unwrap();
}

/// The round that is being committed has the columns of the windows before: read by those of now, a label would go to
/// whatever key stands in that place.
#[test]
fn a_label_finds_its_event_while_that_is_committed_and_the_windows_are_others_already() {
    let dir = tempfile::tempdir().unwrap();
    let first = usual(dir.path());
    let rig = open(dir.path(), Arc::clone(&first));
    let batch = rig.decoder.decode(&Form::Ndjson, Bytes::from(at(1, 0.0, 1, 0)), 0);
    let Item::Event(event) = batch.items[0] else { panic!("{:?}", batch.items) };
    let fields = batch.fields_of(&event, first.pointers().len());
    let plan = first.plan().unwrap();
    let mut windowed = Windowed::new(refold(&rig.store, plan, LIMITS).unwrap(), 7);
    windowed.observe((1, event.time_us), &event, (fields, &batch.text), &plan.reading(first.pointers()));
    windowed.seal();
    // The shop comes first here, and the card not at all.
    let next = bundle(dir.path(), "next", &[(RISK, 1.0)], "");
    let mut windowed = windowed.arranged(next.plan().unwrap(), Vec::new(), &rig.store).unwrap();
    let seen = windowed.find(&rig.store, Some(1), (event.identity, None)).unwrap();
    let mut label = crate::store::Label {
        source: "pos".to_owned(),
        id: "1".to_owned(),
        key: None,
        identity: event.identity,
        sequence: Some(1),
        event_us: None,
        time_us: 0,
        value: 1.0,
        log_ms: 0,
        next: 0,
        schema: None,
        cells: Vec::new(),
    };
    windowed.label(seen.as_ref(), &mut label);
    assert_eq!(windowed.figures().stats.labels, 1, "the shop's windows have it");
    // What could not be taken in stands in the log all the same, and counts nowhere.
    windowed.pass_over(2, &event);
    let (observed, _) = windowed.seal();
    let observed = observed.unwrap();
    assert_eq!((observed.rows.len(), observed.rows[0].counted, observed.cells.len()), (1, false, 1));
    rig.engine.close().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// However the stream is cut into requests, restarts and repeats, each verdict is that of an uninterrupted run.
    #[test]
    fn a_run_with_restarts_is_the_run_without_bit_for_bit(
        steps in prop::collection::vec((0..3u32, -40..60i32, 0..500u32, 0..6u8), 1..60),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let mut hours = 200.0;
        let mut lines = Vec::new();
        for (n, (card, step, amount, what)) in (1u32..).zip(&steps) {
            hours += f64::from(*step).max(0.0) / 10.0;
            let back = f64::from(*step).min(0.0);
            lines.push(at(n, hours + back, *card, *amount));
            match what {
                0 => lines.push(label(n, 1)),
                1 => lines.push(label(n.saturating_sub(5).max(1), n % 3)),
                2 => lines.push(lines[lines.len() / 2].clone()),
                3 => lines.push(label(n + 2, 1)),
                _ => {}
            }
        }
        let dir = tempfile::tempdir().unwrap();
        let whole = open(&dir.path().join("whole"), usual(dir.path()));
        let expected: Vec<_> = lines.iter().flat_map(|line| told(&whole.ask(line))).collect();
        whole.engine.close().unwrap();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(lines.len())).collect();
        cuts.push(lines.len());
        cuts.sort_unstable();
        let (mut found, mut from) = (Vec::new(), 0);
        for cut in cuts {
            let rig = open(&dir.path().join("cut"), usual(dir.path()));
            found.extend(told(&rig.ask(&lines[from..cut].concat())));
            from = cut;
            rig.engine.close().unwrap();
        }
        prop_assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            prop_assert_eq!((found.0.to_bits(), &found.1), (expected.0.to_bits(), &expected.1));
        }
    }
}
