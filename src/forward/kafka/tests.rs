//! Reports and records, without a broker.

use super::producer::News;
use super::record::Rendered;
use crate::forward::Encoding;
use crate::verdict::Verdict;
use rdkafka::error::RDKafkaErrorCode as Code;
use rdkafka::message::Headers;

fn verdict<'a>(id: &'a str, key: Option<&'a str>) -> Verdict<'a> {
    Verdict {
        sequence: 41,
        source: "pos",
        id,
        key,
        time_us: 0,
        decision: "allow",
        score: Some(0.5),
        reasons: vec![],
        model: "m@1",
        model_sha256: &[7; 32],
        decided_ms: 1_795_968_000_120,
    }
}

#[test]
fn of_many_failures_the_cause_is_told_and_not_its_echo() {
    let mut news = News::default();
    news.fail(Code::PurgeQueue, 3);
    assert_eq!((news.failed, news.failed_handle), (Some(Code::PurgeQueue), 3));
    news.fail(Code::MessageSizeTooLarge, 9);
    news.fail(Code::Fatal, 1);
    news.fail(Code::MessageSizeTooLarge, 8);
    news.fail(Code::MessageSizeTooLarge, 10);
    assert_eq!((news.failed, news.failed_handle), (Some(Code::MessageSizeTooLarge), 8));
}

#[test]
fn headers_hold_the_identity_as_it_is() {
    let mut rendered = Rendered::default();
    let id = "ä b\"%";
    for _ in 0..2 {
        let headers = rendered.headers(Encoding::Json, &verdict(id, Some("k")));
        let of = |name: &str| headers.iter().find(|header| header.key == name).and_then(|header| header.value);
        assert_eq!(of("ce_id"), Some(id.as_bytes()));
        assert_eq!(of("ce_time"), Some(b"2026-11-29T16:00:00.120Z".as_slice()));
        assert_eq!((of("ce_subject"), headers.count()), (Some(b"k".as_slice()), 7));
    }
    assert_eq!(rendered.headers(Encoding::Json, &verdict(id, None)).count(), 6);
}

#[test]
fn a_record_counts_with_all_its_parts() {
    let mut rendered = Rendered::default();
    let verdict = verdict("id", Some("key"));
    rendered.value(Encoding::Json, &verdict);
    let plain = rendered.cost(&verdict);
    assert!(plain > rendered.value.len() + super::RECORD_COST_BYTES);
    rendered.value(Encoding::CloudEvents, &verdict);
    assert!(rendered.cost(&verdict) > plain);
}
