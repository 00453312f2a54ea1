//! Each form in which events come: plain JSON, CloudEvents (structured, binary, batch), NDJSON.

use crate::events::{event, ndjson, sink_lines, verdict};
use crate::support::daemon::Daemon;
use crate::support::http::{CLOUDEVENT, CLOUDEVENT_BATCH, JSON, NDJSON};
use crate::support::site::{Site, member};
use serde_json::{Value, json};

#[test]
fn a_plain_event_gets_its_verdict_and_the_sink_the_same_line() {
    let site = Site::new();
    let daemon = Daemon::start(&site);
    let reply = verdict(&mut daemon.client(), "a-1", 1200.0);
    let value = reply.json();
    assert_eq!(value["source"], "pos");
    assert_eq!(value["key"], "card-1");
    assert_eq!(value["time"], "2018-05-01T00:20:11Z");
    assert_eq!(value["decision"], "block");
    assert!((value["score"].as_f64().unwrap() - 0.999_089).abs() < 1e-4, "{value}");
    assert_eq!(value["reasons"], json!(["amount"]));
    assert_eq!(value["model"], "test@1");
    assert_eq!(value["model-sha256"].as_str().unwrap().len(), 64);
    assert_eq!(value["sequence"], 1);
    assert!(!reply.is_replayed());
    assert_eq!(sink_lines(&site, 1), [reply.text().trim_end()]);
    for (amount, decision) in [(100.0, "allow"), (700.0, "review")] {
        let reply = verdict(&mut daemon.client(), decision, amount);
        assert_eq!(reply.json()["decision"], decision);
    }
}

#[test]
fn an_integer_is_an_id_as_its_digits_and_a_number_a_key_as_its_text() {
    let site = Site::new();
    let daemon = Daemon::start(&site);
    let reply = daemon.client().post(JSON, r#"{"id":288063,"key":3961,"amount":1}"#).unwrap();
    assert_eq!((reply.status, &reply.json()["id"], &reply.json()["key"]), (200, &json!("288063"), &json!("3961")));
    let reply = daemon.client().post(JSON, r#"{"id":"288063","key":"3961","amount":1.0}"#).unwrap();
    assert!(reply.status == 409 || reply.is_replayed(), "the same identity: {reply:?}");
}

#[test]
fn cloudevents_in_each_mode_are_one_event() {
    let site = Site::new();
    let daemon = Daemon::start(&site);
    let mut client = daemon.client();
    let envelope = json!({"specversion": "1.0", "id": "A", "source": "till-7", "type": "payment", "subject": "card-9",
        "time": "2018-05-01T00:20:11.5Z", "data": {"amount": 700, "id": "not this"}});
    let structured = client.post(CLOUDEVENT, envelope.to_string()).unwrap();
    assert_eq!(structured.status, 200, "{}", structured.text());
    let value = structured.json();
    assert_eq!((&value["source"], &value["id"], &value["key"]), (&json!("till-7"), &json!("A"), &json!("card-9")));
    assert_eq!((&value["time"], &value["decision"]), (&json!("2018-05-01T00:20:11.5Z"), &json!("review")));

    let headers = [
        ("ce-specversion", "1.0"),
        ("ce-id", "A"),
        ("ce-source", "till-7"),
        ("ce-type", "payment"),
        ("ce-subject", "card-9"),
        ("ce-time", "2018-05-01T00:20:11.5Z"),
        ("ce-traceparent", "extensions-do-not-count"),
    ];
    let binary = client.post_with(JSON, &headers, br#"{ "id": "not this", "amount": 7e2 }"#).unwrap();
    assert!(binary.is_replayed(), "{binary:?}");
    assert_eq!(binary.body, structured.body);

    let mut other = envelope.clone();
    other["id"] = json!("B");
    let batch = client.post(CLOUDEVENT_BATCH, json!([envelope, other]).to_string()).unwrap();
    assert_eq!((batch.status, batch.header("content-type")), (200, Some(NDJSON)), "{}", batch.text());
    let lines = batch.lines();
    assert_eq!(lines[0], structured.text().trim_end());
    assert_eq!((lines.len(), member(&lines[1], "id")), (2, json!("B")));
    let empty = client.post(CLOUDEVENT_BATCH, "[]").unwrap();
    assert_eq!((empty.status, empty.lines().len()), (200, 0), "an empty batch is a batch");
}

#[test]
fn ndjson_is_answered_line_by_line_in_order() {
    let site = Site::new();
    let daemon = Daemon::start(&site);
    let mut client = daemon.client();
    let first = verdict(&mut client, "known", 100.0);
    let body = [
        event("n-1", 100.0),
        "{not json".to_owned(),
        event("known", 100.0),
        event("known", 101.0),
        event("n-2", 1200.0),
        event("n-1", 100.0),
        r#"{"key":"no id"}"#.to_owned(),
    ]
    .join("\n");
    let reply = client.post(NDJSON, body).unwrap();
    assert_eq!((reply.status, reply.header("content-type")), (200, Some(NDJSON)), "{}", reply.text());
    let lines = reply.lines();
    assert_eq!(lines.len(), 7, "{lines:#?}");
    assert_eq!(member(&lines[0], "id"), "n-1");
    assert_eq!(member(&lines[1], "status"), 400);
    assert_eq!(lines[2], first.text().trim_end());
    assert_eq!((member(&lines[3], "status"), member(&lines[3], "id")), (json!(409), json!("known")));
    assert_eq!((member(&lines[4], "id"), member(&lines[4], "decision")), (json!("n-2"), json!("block")));
    assert_eq!(lines[5], lines[0], "a repeat within the request");
    assert_eq!(member(&lines[6], "status"), 400);
    assert_eq!(sink_lines(&site, 3).len(), 3);
}

#[test]
fn a_large_request_is_answered_whole() {
    let site = Site::new();
    let daemon = Daemon::start(&site);
    let reply = daemon.client().post(NDJSON, ndjson((0..5000).map(|n| format!("large-{n}")))).unwrap();
    let ids: Vec<Value> = reply.lines().iter().map(|line| member(line, "id")).collect();
    let expected: Vec<Value> = (0..5000).map(|n| json!(format!("large-{n}"))).collect();
    assert_eq!(ids, expected);
    assert_eq!(sink_lines(&site, 5000).len(), 5000);
}

#[test]
fn requests_on_one_connection_are_answered_in_order() {
    let site = Site::new();
    let daemon = Daemon::start(&site);
    let mut client = daemon.client();
    for n in 0..50 {
        client.send_post(JSON, &[], event(&format!("p-{n}"), 1.0).as_bytes()).unwrap();
    }
    for n in 0..50 {
        assert_eq!(client.receive().unwrap().json()["id"], format!("p-{n}"));
    }
}

#[test]
fn other_media_types_and_paths_are_refused_by_name() {
    let site = Site::new();
    let daemon = Daemon::start(&site);
    let mut client = daemon.client();
    let reply = client.post("text/plain", event("x", 1.0)).unwrap();
    assert_eq!((reply.status, reply.header("content-type")), (415, Some("application/problem+json")));
    assert!(reply.json()["detail"].as_str().unwrap().contains("application/json"), "{}", reply.text());
    assert_eq!(client.get("/v1/nothing").unwrap().status, 404);
    assert_eq!(client.get("/v1/events").unwrap().status, 405);
    verdict(&mut client, "x", 1.0);
}
