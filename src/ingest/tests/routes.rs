//! What is asked how, and what is answered.

use super::{
    super::{Form, Limits},
    fake::server,
    peer::{event, post},
};
use std::sync::atomic::Ordering;

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n")
}

#[tokio::test]
async fn a_single_event_is_answered_with_its_verdict_and_a_repeat_says_so() {
    let server = server(Limits::default());
    let mut peer = server.connect();
    let first = peer.ask(&event("7")).await;
    assert_eq!((first.status, first.header("content-type")), (200, Some("application/json")));
    assert_eq!(first.header("idempotent-replayed"), None);
    assert_eq!(first.json()["decision"], "allow");
    let again = peer.ask(&event("7")).await;
    assert_eq!((again.status, again.header("idempotent-replayed")), (200, Some("true")));
    assert_eq!(again.body, first.body);
}

#[tokio::test]
async fn a_refused_event_is_answered_with_a_problem_and_the_next_is_served() {
    let server = server(Limits::default());
    let mut peer = server.connect();
    peer.ask(&event("7")).await;
    let conflict = peer.ask(&post("application/json", "{\"id\":\"7\",\"x\":1}")).await;
    assert_eq!((conflict.status, conflict.header("content-type")), (409, Some("application/problem+json")));
    let problem = conflict.json();
    assert_eq!((&problem["status"], &problem["id"]), (&409.into(), &"7".into()));
    assert_eq!(problem["type"], "urn:verdictd:problem:conflict");
    assert!(problem["title"].is_string() && problem["detail"].is_string());
    assert_eq!(peer.ask(&post("application/json", "not JSON")).await.status, 400);
    // A verdict whose record cannot be found is no empty 200.
    assert_eq!(peer.ask(&event("lost")).await.status, 500);
    assert_eq!(peer.ask(&event("8")).await.status, 200);
}

#[tokio::test]
async fn forms_are_told_apart_by_content_type_and_headers() {
    let server = server(Limits::default());
    let mut peer = server.connect();
    for content_type in [
        "application/json",
        "Application/JSON; charset=UTF-8",
        "application/cloudevents+json",
        "application/x-ndjson; charset=\"utf-8\"",
    ] {
        assert_eq!(peer.ask(&post(content_type, "{\"id\":\"1\"}")).await.status, 200, "{content_type}");
    }
    assert_eq!(peer.ask(&post("application/cloudevents-batch+json", "[{\"id\":\"1\"}]")).await.status, 200);
    let binary = post("application/json\r\nce-id: a%20b\r\nce-specversion: 1.0", "{}");
    assert_eq!(peer.ask(&binary).await.json()["id"], "a b");
    let forms = server.fake.forms.lock().unwrap();
    assert_eq!(forms[..5], [Form::Json, Form::Json, Form::CloudEvent, Form::Ndjson, Form::CloudEventBatch]);
    assert!(matches!(&forms[5], Form::Binary(attributes) if attributes.get("specversion") == Some("1.0")));
}

#[tokio::test]
async fn what_is_not_understood_is_told_what_was_expected() {
    let server = server(Limits::default());
    let mut peer = server.connect();
    for content_type in ["text/plain", "application/json; charset=latin1", "", "application/xml+json"] {
        let answer = peer.ask(&post(content_type, "{}")).await;
        assert_eq!(answer.status, 415, "{content_type}");
        assert!(answer.json()["detail"].as_str().unwrap().starts_with("expected "));
    }
    let bad = peer.ask(&post("application/json\r\nce-source: %FF", "{}")).await;
    assert_eq!((bad.status, bad.body.contains("ce-source")), (400, true));
    let answer = peer.ask(&get("/v1/events")).await;
    assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")));
    let answer = peer.ask("DELETE /v1/verdicts HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert_eq!((answer.status, answer.header("allow")), (405, Some("GET")));
    assert_eq!(peer.ask(&get("/")).await.status, 404);
    assert_eq!(peer.ask(&get("/healthz")).await.status, 404);
    assert_eq!(peer.ask("POST /v1/labels HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n").await.status, 415);
}

#[tokio::test]
async fn verdicts_are_found_by_percent_decoded_source_and_id() {
    let server = server(Limits::default());
    let mut peer = server.connect();
    for id in ["a b", "1+1", "ü&="] {
        peer.ask(&event(id)).await;
    }
    for id in ["a%20b", "a+b", "1+1", "1%2B1", "%C3%BC%26%3D"] {
        let found = peer.ask(&get(&format!("/v1/verdicts?source=pos&id={id}"))).await;
        assert_eq!(found.status, 200, "{id}");
    }
    assert_eq!(peer.ask(&get("/v1/verdicts?id=2&source=pos")).await.status, 404);
    for query in ["", "?", "?source=pos", "?id=1", "?source&id", "?source=pos&id=%FF"] {
        assert_eq!(peer.ask(&get(&format!("/v1/verdicts{query}"))).await.status, 400, "{query}");
    }
}

#[tokio::test]
async fn lines_are_answered_each_in_order() {
    let server = server(Limits::default());
    let mut peer = server.connect();
    let body = "{\"id\":\"1\"}\n\nbad\r\n{\"id\":\"1\"}\n{\"id\":\"1\",\"x\":0}";
    let answer = peer.ask(&post("application/x-ndjson", body)).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/x-ndjson")));
    let lines = answer.lines();
    assert_eq!(lines.len(), 4);
    assert_eq!((&lines[0]["id"], &lines[2]["id"]), (&"1".into(), &"1".into()));
    assert_eq!((&lines[1]["status"], &lines[3]["status"]), (&400.into(), &409.into()));
    let empty = peer.ask(&post("application/x-ndjson", "")).await;
    assert_eq!((empty.status, empty.body.as_str()), (200, ""));
    let broken = peer.ask(&post("application/cloudevents-batch+json", "{}")).await;
    assert_eq!(broken.status, 400);
}

#[tokio::test]
async fn many_lines_are_submitted_in_slices_and_all_answered() {
    let server = server(Limits::default());
    let mut peer = server.connect();
    let count = 5000;
    let body: String = (0..count).map(|n| format!("{{\"id\":\"{n}\"}}\n")).collect();
    let answer = peer.ask(&post("application/x-ndjson", &body)).await;
    let ids: Vec<_> = answer.lines().iter().map(|line| line["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids, (0..count).map(|n| n.to_string()).collect::<Vec<_>>());
    assert!(server.fake.forms.lock().unwrap().len() > 2);
    assert_eq!(peer.ask(&event("next")).await.status, 200);
    assert_eq!(server.budget.used(), 0);
}

#[tokio::test]
async fn when_nothing_can_be_taken_the_whole_is_503_and_later_slices_are_lines() {
    let server = server(Limits::default());
    server.fake.full.store(true, Ordering::Relaxed);
    let body: String = (0..3000).map(|n| format!("{{\"id\":\"{n}\"}}\n")).collect();
    let mut peer = server.connect();
    for request in [event("1"), post("application/x-ndjson", &body)] {
        let answer = peer.ask(&request).await;
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("7")));
    }
    // Taken again for one slice only: the second waits at the gate until it is full.
    server.fake.full.store(false, Ordering::Relaxed);
    server.fake.gate.forget_permits(tokio::sync::Semaphore::MAX_PERMITS);
    server.fake.gate.add_permits(1);
    peer.send(&post("application/x-ndjson", &body)).await;
    while server.fake.forms.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    server.fake.full.store(true, Ordering::Relaxed);
    server.fake.gate.add_permits(100);
    let answer = peer.answer().await;
    let lines = answer.lines();
    assert_eq!((answer.status, lines.len()), (200, 3000));
    assert!(lines[0]["decision"].is_string());
    assert_eq!(lines[2999]["status"], 503);
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let server = server(Limits::default());
    let mut peer = server.connect();
    peer.send(&(0..20).map(|n| event(&n.to_string())).collect::<String>()).await;
    for n in 0..20 {
        assert_eq!(peer.answer().await.json()["id"], n.to_string());
    }
}

#[tokio::test]
async fn an_answer_does_not_wait_for_the_rest_of_the_next_request() {
    let server = server(Limits::default());
    let mut peer = server.connect();
    let next = event("2");
    let (half, rest) = next.split_at(10);
    assert_eq!(peer.ask(&(event("1") + half)).await.json()["id"], "1");
    assert_eq!(peer.ask(rest).await.json()["id"], "2");
}

#[tokio::test]
async fn chunked_bodies_and_bodies_in_pieces_are_whole() {
    let server = server(Limits::default());
    let mut peer = server.connect();
    peer.send("POST /v1/events HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n").await;
    peer.send("transfer-encoding: chunked\r\n\r\n4\r\n{\"id\r\n").await;
    tokio::task::yield_now().await;
    assert_eq!(peer.ask("6\r\n\":\"9\"}\r\n0\r\n\r\n").await.json()["id"], "9");
    let request = event("10");
    for piece in request.as_bytes().chunks(7) {
        peer.send(std::str::from_utf8(piece).unwrap()).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(peer.answer().await.json()["id"], "10");
}

#[tokio::test]
async fn a_client_that_waits_for_leave_to_send_gets_it_or_the_refusal() {
    let server = server(Limits { body_bytes_max: 100, ..Limits::default() });
    let mut peer = server.connect();
    let head = |length: usize| {
        format!(
            "POST /v1/events HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nexpect: 100-continue\r\n\
             content-length: {length}\r\n\r\n"
        )
    };
    assert_eq!(peer.ask(&head(10)).await.status, 100);
    assert_eq!(peer.ask("{\"id\":\"1\"}").await.status, 200);
    assert_eq!(peer.ask(&head(101)).await.status, 413);
    assert!(peer.ended().await);
}

#[tokio::test]
async fn a_half_closed_client_gets_its_answer() {
    use tokio::io::AsyncWriteExt;
    let server = server(Limits::default());
    server.fake.gate.forget_permits(tokio::sync::Semaphore::MAX_PERMITS);
    let mut peer = server.connect();
    peer.send(&event("1")).await;
    peer.stream.shutdown().await.unwrap();
    tokio::task::yield_now().await;
    server.fake.gate.add_permits(1);
    assert_eq!(peer.answer().await.status, 200);
    assert!(peer.ended().await);
}
