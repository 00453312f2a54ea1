//! What an event is, and what two events being the same means.

mod labels;

use super::*;
use bytes::Bytes;
use proptest::prelude::*;
use std::sync::Arc;

const ARRIVAL: i64 = 1_600_000_000_000_000;

fn pointer(text: &str) -> Pointer {
    Pointer::parse(text).unwrap()
}

fn rules() -> IdentityRules {
    IdentityRules {
        id: pointer("/id"),
        time: pointer("/time"),
        time_form: TimeForm::Any,
        source: SourceRule::Fixed("pos".to_owned()),
        key: KeyRule { pointers: vec![pointer("/key")], hmac_key: None, ..KeyRule::default() },
    }
}

fn decoder(rules: IdentityRules) -> Decoder {
    Decoder::new(rules, [pointer("/amount"), pointer("/merchant/name")], 4096, 7)
}

fn read(form: &Form, body: &[u8]) -> EventBatch {
    decoder(rules()).decode(form, Bytes::copy_from_slice(body), ARRIVAL)
}

fn one(body: &str) -> Result<(EventBatch, Event), String> {
    only(read(&Form::Json, body.as_bytes()))
}

fn only(batch: EventBatch) -> Result<(EventBatch, Event), String> {
    assert_eq!(batch.items.len(), 1, "{:?}", batch.items);
    match batch.items[0].clone() {
        Item::Event(event) => Ok((batch, event)),
        Item::Bad(bad) => Err(bad.reason),
        Item::Label(label) => panic!("{label:?}"),
    }
}

fn payload(json: &str) -> u64 {
    one(&format!("{{\"id\":1,\"v\":{json}}}")).unwrap_or_else(|error| panic!("{json}: {error}")).1.payload
}

#[test]
fn an_event_has_its_identity_key_time_and_fields() {
    let (batch, event) =
        one(r#"{"id":288063,"key":"3961","time":"2018-05-01T00:20:11Z","amount":12.5,"merchant":{"name":"a\u0062c"}}"#)
            .unwrap();
    assert_eq!(batch.str(event.id), "288063");
    assert_eq!(batch.str(event.source), "pos");
    assert_eq!(event.key.map(|key| batch.str(key)), Some("3961"));
    assert_eq!(event.time_us, 1_525_134_011_000_000);
    let [Field::Number(amount), Field::Text(name)] = batch.fields_of(&event, 2) else { panic!("{:?}", batch.fields) };
    assert!((amount - 12.5).abs() < f64::EPSILON);
    assert_eq!(batch.str(*name), "abc");
}

#[test]
fn without_time_the_arrival_counts_and_a_key_may_be_missing() {
    let (_, event) = one(r#"{"id":"a"}"#).unwrap();
    assert_eq!((event.time_us, event.key), (ARRIVAL, None));
}

#[test]
fn the_same_json_value_is_the_same_payload() {
    for (a, b) in [
        ("1", "1.0"),
        ("1", "10e-1"),
        ("100", "1E2"),
        ("0", "-0.0"),
        ("0.1", "0.10"),
        (r#""é""#, r#""\u00e9""#),
        (r#"{"a":1,"b":[true,null]}"#, r#"{ "b" : [ true , null ], "a":1e0 }"#),
    ] {
        assert_eq!(payload(a), payload(b), "{a} and {b}");
    }
}

#[test]
fn another_json_value_is_another_payload() {
    let values = [
        "0",
        "1",
        "-1",
        "10",
        "\"1\"",
        "null",
        "true",
        "false",
        "[]",
        "[1]",
        "[[1]]",
        "[1,2]",
        "[2,1]",
        "{}",
        "\"\"",
        r#"{"a":1}"#,
        r#"{"a":{"b":1}}"#,
        r#"{"b":{"a":1}}"#,
        "12345678901234567890123",
        "12345678901234567890124",
        "9007199254740993",
        "9007199254740992",
        "1e-300",
        "1e-301",
    ];
    for (n, a) in values.iter().enumerate() {
        for b in &values[n + 1..] {
            assert_ne!(payload(a), payload(b), "{a} and {b}");
        }
    }
}

#[test]
fn a_bad_event_is_told_what_was_expected() {
    for (body, expected) in [
        ("", "not JSON"),
        ("nonsense", "not JSON"),
        ("{\"id\":1}x", "not JSON"),
        ("\u{feff}{\"id\":1}", "byte order mark"),
        ("[1]", "expected an event, which is a JSON object"),
        ("{}", "id: expected a string of 1 to 512 bytes or an integer at /id, found nothing"),
        ("{\"id\":\"\"}", "found an empty string"),
        ("{\"id\":1.5}", "found a number that is no integer"),
        ("{\"id\":1.0}", "found a number that is no integer"),
        ("{\"id\":null}", "found null"),
        ("{\"id\":true}", "found a boolean"),
        ("{\"id\":[1]}", "found an array"),
        ("{\"id\":1,\"id\":1}", "found \"id\" twice"),
        ("{\"id\":1,\"v\":{\"a\":1,\"a\":2}}", "found \"a\" twice"),
        ("{\"id\":1,\"v\":1e999}", "within the range of a 64-bit float, found 1e999"),
        ("{\"id\":1,\"time\":\"yesterday\"}", "expected a time as in"),
        ("{\"id\":1,\"time\":{}}", "time at /time"),
        ("{\"id\":1,\"key\":{}}", "key: expected"),
    ] {
        let reason = one(body).map(|_| body).unwrap_err();
        assert!(reason.contains(expected), "{body}: {reason}");
    }
    assert!(one(&format!("{{\"id\":\"{}\"}}", "x".repeat(513))).unwrap_err().contains("a string of 513 bytes"));
    assert!(one(&format!("{{\"id\":\"{}\"}}", "x".repeat(512))).is_ok());
    let invalid = only(read(&Form::Json, b"{\"id\":\"\xff\"}"));
    assert!(invalid.unwrap_err().contains("expected UTF-8, found other bytes at byte 7"));
}

#[test]
fn nesting_is_limited_without_recursing_into_it() {
    let deep = |n: usize| format!("{{\"id\":1,\"v\":{}{}}}", "[".repeat(n), "]".repeat(n));
    assert!(one(&deep(DEPTH_MAX - 1)).is_ok());
    assert!(one(&deep(DEPTH_MAX)).unwrap_err().contains("nested at most 64 deep"));
    assert!(only(decoder(rules()).decode(&Form::Json, Bytes::from("[".repeat(4000)), 0)).is_err());
}

#[test]
fn an_event_over_the_limit_is_oversized() {
    let body = format!("{{\"id\":1,\"v\":\"{}\"}}", "x".repeat(5000));
    let batch = read(&Form::Json, body.as_bytes());
    let Item::Bad(bad) = &batch.items[0] else { panic!() };
    assert_eq!(bad.kind, BadKind::Oversized);
}

#[test]
fn a_repeated_name_is_found_in_large_objects_too() {
    let members = |n: usize, last: &str| {
        let list: Vec<_> = (0..n).map(|n| format!("\"m{n}\":{n}")).chain([format!("\"{last}\":0")]).collect();
        format!("{{\"id\":1,\"v\":{{{}}}}}", list.join(","))
    };
    assert!(one(&members(200, "other")).is_ok());
    assert!(one(&members(200, "m0")).unwrap_err().contains("twice"));
}

#[test]
fn lines_stand_for_themselves() {
    let body =
        b"{\"id\":1}\r\n\nbroken\n{\"specversion\":\"1.0\",\"id\":\"2\",\"source\":\"s\",\"type\":\"t\"}\n{\"id\":3}";
    let batch = read(&Form::Ndjson, body);
    let ids: Vec<_> = batch
        .items
        .iter()
        .map(|item| match item {
            Item::Event(event) => format!("{}/{}", batch.str(event.source), batch.str(event.id)),
            Item::Bad(bad) => String::from_utf8_lossy(bad.raw.of(body)).into_owned(),
            Item::Label(label) => panic!("{label:?}"),
        })
        .collect();
    assert_eq!(ids, ["pos/1", "broken", "s/2", "pos/3"]);
}

fn cloud_event(extra: &str, data: &str) -> String {
    format!(r#"{{"specversion":"1.0","id":"7","source":"till","type":"sale",{extra}"data":{data}}}"#)
}

#[test]
fn a_cloud_event_is_the_same_in_every_form() {
    let data = r#"{"amount":3,"key":"k"}"#;
    let structured = only(read(&Form::CloudEvent, cloud_event("", data).as_bytes())).unwrap();
    let traced = only(read(&Form::CloudEvent, cloud_event(r#""traceparent":"00-1","#, data).as_bytes())).unwrap();
    let base64 = cloud_event("", "0").replace(r#""data":0"#, r#""data_base64":"eyJhbW91bnQiOjMsImtleSI6ImsifQ==""#);
    let base64 = only(read(&Form::CloudEvent, base64.as_bytes())).unwrap();
    let attributes = [("specversion", "1.0"), ("id", "7"), ("source", "till"), ("type", "sale"), ("traceparent", "00")];
    let attributes = Attributes(attributes.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec());
    let binary = only(read(&Form::Binary(Box::new(attributes)), data.as_bytes())).unwrap();
    let batch = read(&Form::CloudEventBatch, format!("[{}]", cloud_event("", data)).as_bytes());
    let batch = only(batch).unwrap();
    for (batch, event) in [&structured, &traced, &base64, &binary, &batch] {
        assert_eq!((event.identity, event.payload), (structured.1.identity, structured.1.payload));
        assert_eq!(batch.str(event.source), "till");
        assert_eq!(event.key.map(|key| batch.str(key)), Some("k"));
        assert_eq!(batch.fields_of(event, 2)[0], Field::Number(3.0));
    }
    let other = only(read(&Form::CloudEvent, cloud_event(r#""subject":"s","#, data).as_bytes())).unwrap();
    assert_ne!(other.1.payload, structured.1.payload);
}

#[test]
fn a_cloud_event_says_what_it_lacks() {
    for (body, expected) in [
        (r#"{"id":"1","source":"s","type":"t"}"#, "specversion: expected \"1.0\""),
        (r#"{"specversion":"1.0","id":"1","type":"t"}"#, "source: expected"),
        (r#"{"specversion":"1.0","id":"1","source":"s","type":""}"#, "type: expected"),
        (r#"{"specversion":"1.0","source":"s","type":"t"}"#, "id: expected"),
        (r#"{"specversion":"1.0","id":1,"source":"s","type":"t"}"#, "id: expected a string"),
        (r#"{"specversion":"1.0","id":"1","id":"1","source":"s","type":"t"}"#, "twice"),
        (r#"{"specversion":"1.0","id":"1","source":"s","type":"t","data_base64":"%"}"#, "base64"),
        ("[]", "a JSON object"),
    ] {
        let reason = only(read(&Form::CloudEvent, body.as_bytes())).map(|_| body).unwrap_err();
        assert!(reason.contains(expected), "{body}: {reason}");
    }
}

#[test]
fn a_cloud_event_has_data_once() {
    let body = cloud_event(r#""data_base64":"e30=","#, "{}");
    assert!(only(read(&Form::CloudEvent, body.as_bytes())).unwrap_err().contains("found both"));
}

/// The problem line and the quarantine entry name the event by what was found of it.
#[test]
fn a_bad_cloud_event_is_named_by_its_attributes() {
    let attributes = [("id", "7"), ("source", "till")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let binary = Form::Binary(Box::new(Attributes(attributes.to_vec())));
    let large = "x".repeat(5000);
    for (form, body) in [
        (&Form::CloudEvent, r#"{"specversion":"0.3","id":"7","source":"till","type":"t"}"#),
        (&Form::CloudEvent, r#"{"specversion":"1.0","id":"7","source":"till","type":"t","data":"#),
        (&Form::Ndjson, r#"{"specversion":"1.0","id":"7","source":"till"}"#),
        (&binary, r#"{"id":"another"}"#),
        (&binary, &large),
    ] {
        let batch = read(form, body.as_bytes());
        let Item::Bad(bad) = &batch.items[0] else { panic!("{body}") };
        assert_eq!((bad.id.map(|id| batch.str(id)), batch.str(bad.source)), (Some("7"), "till"), "{body}");
    }
}

/// `[1,1,…]` of 1 MiB once made half a million records out of what was paid for as a thousand.
#[test]
fn a_batch_has_a_limited_number_of_events() {
    let batch = |count: usize| format!("[{}]", vec!["1"; count].join(","));
    let (most, over) = (batch(BATCH_EVENTS_MAX), batch(BATCH_EVENTS_MAX * 4));
    assert_eq!((batch_events(most.as_bytes()), batch_events(b"[]"), batch_events(b"{}")), (BATCH_EVENTS_MAX, 0, 0));
    assert_eq!(batch_events(over.as_bytes()), BATCH_EVENTS_MAX + 1);
    assert_eq!(read(&Form::CloudEventBatch, most.as_bytes()).items.len(), BATCH_EVENTS_MAX);
    let refused = read(&Form::CloudEventBatch, over.as_bytes());
    assert!(only(refused).unwrap_err().contains("expected at most 8192 events in a batch"));
}

#[test]
fn broken_base64_data_does_not_spoil_the_object_around_it() {
    // `{"a":1,` leaves an object open; the member "a" behind it must not count as named twice.
    let body = cloud_event(r#""data_base64":"eyJhIjoxLA==","a":1,"#, "1").replace(r#""data":1"#, r#""b":1"#);
    assert!(only(read(&Form::CloudEvent, body.as_bytes())).is_ok());
}

#[test]
fn the_key_can_be_joined_and_hidden() {
    let mut joined = rules();
    joined.key.pointers = vec![pointer("/a"), pointer("/b")];
    let body = Bytes::from_static(br#"{"id":1,"a":"x|y","b":2}"#);
    let (batch, event) = only(decoder(joined).decode(&Form::Json, body, 0)).unwrap();
    assert_eq!(batch.str(event.key.unwrap()), r"x\|y|2");

    let mut hidden = rules();
    hidden.key.hmac_key = Some(b"key".to_vec());
    let body = Bytes::from_static(br#"{"id":1,"key":"The quick brown fox jumps over the lazy dog"}"#);
    let (batch, event) = only(decoder(hidden).decode(&Form::Json, body, 0)).unwrap();
    // The well-known example of HMAC-SHA-256.
    let expected = "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8";
    assert_eq!(batch.str(event.key.unwrap()), expected);
}

#[test]
fn times_are_read_as_senders_write_them() {
    for (text, micros) in [
        ("2018-05-01T00:20:11Z", 1_525_134_011_000_000),
        ("2018-05-01 00:20:11", 1_525_134_011_000_000),
        ("2018-05-01T02:20:11.25+02:00", 1_525_134_011_250_000),
    ] {
        assert_eq!(Timestamp::parse(text), Ok(Timestamp(micros)), "{text}");
    }
    for (number, micros) in [(1_525_134_011.0, 1_525_134_011_000_000), (1_525_134_011_250.0, 1_525_134_011_250_000)] {
        assert_eq!(Timestamp::from_number(number), Ok(Timestamp(micros)));
    }
    assert!(Timestamp::parse("2018-05-01").is_err());
    assert!(Timestamp::from_number(1e30).is_err());
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(Into::into),
        ".{0,8}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            prop::collection::btree_map("[a-e]{0,2}", inner, 0..5)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn fingerprints_agree_with_json_equality(a in json(), b in json()) {
        let pretty = serde_json::to_string_pretty(&a).unwrap();
        prop_assert_eq!(payload(&a.to_string()), payload(&pretty));
        prop_assert_eq!(a == b, payload(&a.to_string()) == payload(&b.to_string()));
    }

    #[test]
    fn arbitrary_bytes_never_panic_and_never_make_more_items_than_bytes(body in prop::collection::vec(any::<u8>(), 0..300)) {
        for form in [Form::Json, Form::Ndjson, Form::CloudEvent, Form::CloudEventBatch, Form::Binary(Box::default())] {
            let batch = read(&form, &body);
            prop_assert!(batch.items.len() <= body.len() + 1);
        }
    }

    #[test]
    fn json_is_what_another_reader_takes_for_json(text in r#"[\[\]{}",:0-9eE.+\-a-c\\u truefalsn\x00\n]{0,24}"#) {
        let body = format!("{{\"id\":1,\"v\":{text}}}");
        let ours = one(&body);
        // The other reader knows nothing of repeated names.
        if !matches!(&ours, Err(reason) if reason.contains("twice")) {
            let theirs = serde_json::from_str::<serde_json::Value>(&body);
            let has_id = theirs.as_ref().is_ok_and(|value| value["id"] == 1);
            prop_assert_eq!(ours.is_ok(), has_id, "{}: {:?}", body, theirs);
        }
    }

    #[test]
    fn pointers_read_back_as_written(text in "(/[a-z~01]{0,3}){0,4}") {
        if let Ok(pointer) = Pointer::parse(&text) {
            prop_assert_eq!(Pointer::parse(&pointer.to_string()), Ok(pointer));
        }
    }
}

#[test]
fn records_that_come_one_by_one_make_one_batch_in_order() {
    let decoder = decoder(rules());
    let mut assembly = Arc::new(decoder).assemble(ARRIVAL);
    let beside = Beside { id: Some("t/0/7"), source: None, key: Some("k7") };
    assembly.push(&Form::Record, br#"{"amount":1}"#, beside);
    assembly.push(&Form::Record, br#"{"id":"own","key":"mine","amount":2}"#, beside);
    assembly.push(
        &Form::Record,
        br#"{"specversion":"1.0","type":"t","source":"s","id":"ce","data":{"amount":3}}"#,
        beside,
    );
    assembly.push(&Form::Record, b"broken", beside);
    assembly.push_bad(BadKind::Malformed, "no frame".to_owned(), b"\x01\x02", None);
    let attributes = ["specversion:1.0", "type:t", "source:s", "id:bin"].map(|pair| {
        let (name, value) = pair.split_once(':').unwrap();
        (name.to_owned(), value.to_owned())
    });
    assembly.push(&Form::Binary(Box::new(Attributes(attributes.to_vec()))), br#"{"amount":4}"#, beside);
    assert_eq!(assembly.len(), 6);
    let batch = assembly.finish();
    let shown: Vec<_> = batch
        .items
        .iter()
        .map(|item| match item {
            Item::Event(event) => {
                let Field::Number(amount) = batch.fields_of(event, 2)[0] else { panic!("{event:?}") };
                let key = event.key.map_or("-", |key| batch.str(key));
                format!("{} {} {key} {amount}", batch.str(event.source), batch.str(event.id))
            }
            Item::Label(label) => panic!("{label:?}"),
            Item::Bad(bad) => {
                let id = bad.id.map_or("-", |id| batch.str(id));
                format!("bad {id} {}", String::from_utf8_lossy(bad.raw.of(&batch.body)).escape_default())
            }
        })
        .collect();
    assert_eq!(
        shown,
        ["pos t/0/7 k7 1", "pos own mine 2", "s ce k7 3", "bad t/0/7 broken", "bad - \\u{1}\\u{2}", "s bin k7 4"]
    );
}

#[test]
fn a_line_without_an_id_has_its_place_where_that_is_asked_for() {
    let body = Bytes::from_static(b"{\"amount\":1}\n\n  {\"id\":null}\n{\"id\":5}\n");
    let ids = Some(LineIds { prefix: "f:", base: 1000 });
    let batch = decoder(rules()).decode_lines(body.clone(), ARRIVAL, ids);
    let found: Vec<_> = batch
        .items
        .iter()
        .map(|item| match item {
            Item::Event(event) => batch.str(event.id),
            Item::Bad(bad) => &bad.reason,
            Item::Label(label) => panic!("{label:?}"),
        })
        .collect();
    assert_eq!(found, ["f:1000", "f:1016", "5"]);
    let without = decoder(rules()).decode_lines(body, ARRIVAL, None);
    assert!(matches!(without.items[..], [Item::Bad(_), Item::Bad(_), Item::Event(_)]));
}

#[test]
fn a_fixed_key_is_every_events_key_and_hidden_like_any_other() {
    let mut rules = rules();
    rules.key = KeyRule { fixed: Some("line-4".to_owned()), ..KeyRule::default() };
    let (batch, event) =
        only(decoder(rules.clone()).decode(&Form::Json, Bytes::from_static(b"{\"id\":1}"), 0)).unwrap();
    assert_eq!(event.key.map(|key| batch.str(key)), Some("line-4"));
    rules.key.hmac_key = Some(b"secret".to_vec());
    let batch = decoder(rules).decode(&Form::Json, Bytes::from_static(b"{\"id\":1}"), 0);
    assert!(batch.private && !batch.text.contains("line-4"));
}
