//! Chunks: what is appended is read back; arbitrary bytes give an error at worst.

use super::*;
use frame::Kind;
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Owned {
    source: String,
    id: String,
    key: Option<String>,
    time_us: i64,
    payload: u64,
    decision: String,
    score: Option<f64>,
    reasons: Vec<String>,
    model: String,
    sha: u8,
    decided_ms: i64,
    later_ms: u64,
    shadow: Option<(String, u8, Option<f64>)>,
}

fn record() -> impl Strategy<Value = Owned> {
    let identity = ("[a-c]{1,3}|.{1,120}", ".{1,120}", prop::option::of(".{0,250}"));
    let times = (any::<i64>(), any::<u64>(), any::<i64>(), 0u64..1 << 40);
    let score =
        prop_oneof![Just(None), any::<f32>().prop_map(|score| Some(f64::from(score))), any::<f64>().prop_map(Some),];
    let reasons = prop::collection::vec("[a-d]|.{0,60}", 0..5);
    let shadow = prop::option::of(("allow|block|.{0,30}", 0u8..5, prop::option::of(any::<f64>())));
    (identity, times, "allow|block|.{0,30}", score, reasons, "m@[1-3]", (0u8..3, shadow)).prop_map(
        |(
            (source, id, key),
            (time_us, payload, decided_ms, later_ms),
            decision,
            score,
            reasons,
            model,
            (sha, shadow),
        )| Owned {
            source,
            id,
            key,
            time_us,
            payload,
            decision,
            score,
            reasons,
            model,
            sha,
            decided_ms,
            later_ms,
            shadow,
        },
    )
}

fn same(record: &Record<'_>, expected: &Owned, sequence: u64, log_ms: u64) -> bool {
    let verdict = &record.verdict;
    verdict.sequence == sequence
        && verdict.source == expected.source
        && verdict.id == expected.id
        && verdict.key == expected.key.as_deref()
        && verdict.time_us == expected.time_us
        && verdict.decision == expected.decision
        && verdict.score.map(f64::to_bits) == expected.score.map(f64::to_bits)
        && verdict.reasons == expected.reasons
        && verdict.model == expected.model
        && *verdict.model_sha256 == [expected.sha; 32]
        && verdict.decided_ms == expected.decided_ms
        && record.payload == expected.payload
        && record.log_ms == log_ms
        && record
            .shadow
            .map(|shadow| (shadow.model, shadow.decision, *shadow.model_sha256, shadow.score.map(f64::to_bits)))
            == expected.shadow.as_ref().map(|(decision, sha, score)| {
                (expected.model.as_str(), decision.as_str(), [*sha; 32], score.map(f64::to_bits))
            })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn what_is_appended_is_read_back(records in prop::collection::vec(record(), 1..120), first in 1u64..1 << 60) {
        let shas: Vec<[u8; 32]> = (0..5).map(|sha| [sha; 32]).collect();
        let mut builder = BatchBuilder::new(first);
        let mut log_ms = 0;
        let mut expected = Vec::new();
        for (sequence, owned) in (first..).zip(&records) {
            log_ms += owned.later_ms;
            let reasons: Vec<&str> = owned.reasons.iter().map(String::as_str).collect();
            let given = builder.append(&NewRecord {
                source: &owned.source,
                id: &owned.id,
                key: owned.key.as_deref(),
                time_us: owned.time_us,
                payload: owned.payload,
                decision: &owned.decision,
                score: owned.score,
                reasons: &reasons,
                model: &owned.model,
                model_sha256: &[owned.sha; 32],
                decided_ms: owned.decided_ms,
                log_ms,
                shadow: owned.shadow.as_ref().map(|(decision, sha, score)| Shadowed {
                    model: &owned.model,
                    model_sha256: &shas[usize::from(*sha)],
                    decision,
                    score: *score,
                }),
            });
            prop_assert_eq!(given.expect("append"), sequence);
            expected.push((sequence, log_ms, owned));
        }
        for (sequence, log_ms, owned) in &expected {
            let open = builder.get(*sequence).expect("in the open batch");
            prop_assert!(same(&open, owned, *sequence, *log_ms), "{open:?}");
        }
        prop_assert_eq!(builder.len(), records.len());
        let chunks = builder.seal();
        prop_assert!(builder.is_empty());
        let mut read = Vec::new();
        for chunk in &chunks {
            let value = frame::wrap(Kind::Log, 5, chunk.raw());
            prop_assert!(value.len() <= frame::STORED_BYTES_MAX);
            let back = Chunk::decode(frame::unwrap(Kind::Log, &value).expect("whole").body).expect("decodes");
            prop_assert_eq!((back.first(), back.next()), (chunk.first(), chunk.next()));
            for record in back.records() {
                let (sequence, log_ms, owned) = expected[read.len()];
                prop_assert!(same(&record, owned, sequence, log_ms), "{record:?}");
                prop_assert_eq!(&back.get(sequence), &Some(record).filter(|record| record.verdict.score.is_none_or(|score| !score.is_nan())).or(back.get(sequence)));
                read.push(sequence);
            }
        }
        prop_assert_eq!(read.len(), records.len());
    }

    #[test]
    fn arbitrary_bytes_are_an_error_at_worst(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        if let Ok(chunk) = Chunk::decode(bytes.clone().into()) {
            prop_assert_eq!(chunk.records().count() as u64, chunk.count());
        }
        let _ = frame::unwrap_prefix(&bytes);
        let _ = quarantine::decode_part(&bytes).map(|part| quarantine::decode_head(&part));
        let _ = state::State::decode(&bytes);
        let _ = state::decode_gaps(&bytes);
        let _ = state::decode_cursor(&bytes);
        let _ = state::decode_offset(&bytes);
        scan::values_in(&bytes, drop);
    }

    #[test]
    fn a_changed_byte_is_found_by_the_checksum_and_a_changed_body_is_no_panic(
        records in 1usize..80, at in any::<prop::sample::Index>(), flip in 1u8..=255,
    ) {
        let mut builder = BatchBuilder::new(7);
        for n in 0..records {
            let id = noisy_id(n as u64);
            builder.append(&NewRecord {
                source: "pos", id: &id, key: Some("k"), time_us: 5, payload: 6, decision: "allow", score: Some(0.5),
                reasons: &["r"], model: "m@1", model_sha256: &SHA, decided_ms: 7, log_ms: 8, shadow: None,
            }).expect("append");
        }
        let chunks = builder.seal();
        let mut value = frame::wrap(Kind::Log, 1, chunks[0].raw());
        let at_value = at.index(value.len());
        value[at_value] ^= flip;
        prop_assert!(frame::unwrap(Kind::Log, &value).is_err());
        let mut raw = chunks[0].raw().to_vec();
        let at_raw = at.index(raw.len());
        raw[at_raw] ^= flip;
        if let Ok(chunk) = Chunk::decode(raw.into()) {
            prop_assert_eq!(chunk.records().count() as u64, chunk.count());
        }
    }
}
