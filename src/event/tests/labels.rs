//! What a label is, and that it names its event as the event does itself.

use super::*;

fn label(decoder: &Decoder, form: &Form, body: &str) -> Result<String, String> {
    let batch = decoder.decode(form, Bytes::copy_from_slice(body.as_bytes()), ARRIVAL);
    match batch.items.as_slice() {
        [Item::Label(label)] => {
            assert_eq!(label.identity, identity_fingerprint(7, batch.str(label.source), batch.str(label.id)));
            let key = label.key.map_or("-", |key| batch.str(key));
            let (source, id) = (batch.str(label.source), batch.str(label.id));
            let event = label.event_us.map_or(String::new(), |event_us| format!(" {}", event_us - ARRIVAL));
            Ok(format!("{source} {id} {key} {} {}{event}", label.value, label.time_us - ARRIVAL))
        }
        [Item::Bad(bad)] => Err(bad.reason.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_label_names_its_event_plain_or_as_a_cloud_event() {
    let labels = decoder(rules()).for_labels();
    let read = |body: &str| label(&labels, &Form::Ndjson, body);
    assert_eq!(read(r#"{"type":"verdictd.label.v1","source":"till","id":"7","label":1}"#).unwrap(), "till 7 - 1 0");
    assert_eq!(
        read(r#"{"id":7,"label":false,"key":"k","time":"2020-09-13T12:26:41Z"}"#).unwrap(),
        "pos 7 k 0 0 1000000"
    );
    let event = r#"{"specversion":"1.0","type":"verdictd.label.v1","source":"desk","id":"l1",
        "data":{"source":"till","id":7,"label":0.5,"key":"k"}}"#
        .replace('\n', "");
    // Also among events: its type says what it is.
    for decoder in [&labels, &decoder(rules())] {
        for form in [Form::Ndjson, Form::CloudEvent, Form::Record] {
            assert_eq!(label(decoder, &form, &event).unwrap(), "till 7 k 0.5 0");
        }
    }
    for (bad, says) in [
        (r#"{"label":1}"#, "id: expected"),
        (r#"{"id":7}"#, "label: expected"),
        (r#"{"id":7,"label":"1"}"#, "label: expected"),
        (r#"{"id":7,"label":1,"source":5}"#, "source: expected"),
        (r#"{"id":7,"label":1,"type":"other"}"#, "type: expected"),
        (r#"{"id":7,"label":1,"label":0}"#, "twice"),
        ("[1]", "expected an event"),
        (r#"{"specversion":"1.0","type":"verdictd.label.v1","source":"s","id":"l"}"#, "data: expected"),
        (
            r#"{"specversion":"1.0","type":"t","source":"s","id":"l","data":{"id":7,"label":1,"type":"t"}}"#,
            "type: expected",
        ),
    ] {
        let reason = read(bad).unwrap_err();
        assert!(reason.contains(says), "{bad}: {reason}");
    }
}

#[test]
fn a_plain_record_of_that_type_is_a_label_also_among_events_and_may_say_when_its_event_was() {
    let mut rules = rules();
    rules.id = Pointer::parse("/TRANSACTION_ID").unwrap();
    let events = decoder(rules);
    let plain = r#"{"type":"verdictd.label.v1","id":"7","label":1,"time":"2020-09-13T12:26:41Z"}"#;
    assert_eq!(label(&events, &Form::Ndjson, plain).unwrap(), "pos 7 - 1 0 1000000");
    let typed = r#"{"TRANSACTION_ID":"7","type":"verdictd.label.v2"}"#;
    assert!(only(events.decode(&Form::Json, Bytes::from(typed), 0)).is_ok(), "another type is an event");
    let inside = r#"{"TRANSACTION_ID":"7","note":"verdictd.label.v1"}"#;
    assert!(only(events.decode(&Form::Json, Bytes::from(inside), 0)).is_ok(), "a type elsewhere says nothing");
    let late = r#"{"type":"verdictd.label.v1","id":"7","label":1,"time":"yesterday"}"#;
    assert!(label(&events, &Form::Ndjson, late).unwrap_err().contains("time, the event's"));
}

#[test]
fn a_labels_key_is_hidden_as_the_events_is() {
    let mut rules = rules();
    rules.key.hmac_key = Some(b"secret".to_vec());
    let events = decoder(rules.clone());
    let labels = decoder(rules).for_labels();
    let (batch, event) = only(events.decode(&Form::Json, Bytes::from_static(b"{\"id\":1,\"key\":\"k\"}"), 0)).unwrap();
    let hidden = event.key.map(|key| batch.str(key).to_owned()).unwrap();
    let plain = label(&labels, &Form::Ndjson, r#"{"id":1,"label":1,"key":"k"}"#).unwrap();
    let wrapped =
        r#"{"specversion":"1.0","type":"verdictd.label.v1","source":"s","id":"l","data":{"id":1,"label":1,"key":"k"}}"#;
    for shown in [plain, label(&labels, &Form::Ndjson, wrapped).unwrap()] {
        assert!(shown.contains(&hidden), "{shown}");
    }
}
