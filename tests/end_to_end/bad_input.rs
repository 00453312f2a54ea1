//! Bad events harm only themselves: the answer says what was expected, the next event is served.

use crate::events::{event as plain, quarantine, verdict};
use crate::support::daemon::Daemon;
use crate::support::http::{JSON, NDJSON, Reply};
use crate::support::site::Site;
use serde_json::Value;

/// What is posted, and words of which one must stand in the answer.
fn malformed() -> Vec<(&'static str, Vec<u8>, &'static [&'static str])> {
    let deep = |depth: usize| format!(r#"{{"id":"deep","x":{}1{}}}"#, "[".repeat(depth), "]".repeat(depth));
    let long = format!(r#"{{"id":"{}","amount":1}}"#, "x".repeat(513));
    vec![
        ("not JSON", b"amount=12".to_vec(), &["JSON"]),
        ("cut off", br#"{"id":"x","amount":"#.to_vec(), &["JSON"]),
        ("something behind it", br#"{"id":"x","amount":1}{}"#.to_vec(), &["JSON", "one"]),
        ("an empty body", Vec::new(), &["JSON", "empty"]),
        ("no object", b"[1]".to_vec(), &["object"]),
        ("invalid UTF-8", b"{\"id\":\"\xff\xfe\",\"amount\":1}".to_vec(), &["UTF-8"]),
        ("a lone surrogate", br#"{"id":"\ud800","amount":1}"#.to_vec(), &["JSON", "UTF-8", "surrogate"]),
        ("a byte order mark", b"\xef\xbb\xbf{\"id\":\"bom\",\"amount\":1}".to_vec(), &["byte order mark", "BOM"]),
        ("no id", br#"{"amount":1}"#.to_vec(), &["id"]),
        ("an empty id", br#"{"id":"","amount":1}"#.to_vec(), &["512"]),
        ("an id that is too long", long.into_bytes(), &["512"]),
        ("an id that is null", br#"{"id":null,"amount":1}"#.to_vec(), &["string"]),
        ("an id that is a truth value", br#"{"id":true,"amount":1}"#.to_vec(), &["string"]),
        ("an id that is a fraction", br#"{"id":1.5,"amount":1}"#.to_vec(), &["string", "integer"]),
        ("an id that is an object", br#"{"id":{"a":1},"amount":1}"#.to_vec(), &["string"]),
        ("an id that is a list", br#"{"id":["a"],"amount":1}"#.to_vec(), &["string"]),
        ("a member twice", br#"{"id":"x","amount":1,"amount":2}"#.to_vec(), &["twice", "duplicate", "once"]),
        ("a member twice below", br#"{"id":"x","o":{"a":1,"\u0061":2}}"#.to_vec(), &["twice", "duplicate", "once"]),
        ("a number out of range", br#"{"id":"x","amount":1e999}"#.to_vec(), &["number", "range"]),
        ("not a number", br#"{"id":"x","amount":NaN}"#.to_vec(), &["JSON"]),
        ("nesting over 64", deep(64).into_bytes(), &["64"]),
        ("nesting of 100,000", deep(100_000).into_bytes(), &["64"]),
        ("a time that is none", br#"{"id":"x","time":"yesterday","amount":1}"#.to_vec(), &["RFC 3339"]),
    ]
}

fn must_name(what: &str, reply: &Reply, words: &[&str]) {
    assert_eq!(reply.header("content-type"), Some("application/problem+json"), "{what}");
    let problem = reply.json();
    assert_eq!(problem["status"].as_u64(), Some(u64::from(reply.status)), "{what}: {problem}");
    assert!(problem["title"].is_string(), "{what}: {problem}");
    let detail = problem["detail"].as_str().unwrap_or_default();
    assert!(words.iter().any(|word| detail.contains(word)), "{what}: expected one of {words:?} in {detail:?}");
}

#[test]
fn each_malformed_event_is_told_why_and_set_aside_and_the_next_is_served() {
    let site = Site::new();
    let daemon = Daemon::start(&site);
    let mut client = daemon.client();
    for (n, (what, body, words)) in malformed().into_iter().enumerate() {
        let reply = client.post(JSON, body).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(reply.status, 400, "{what}: {}", reply.text());
        must_name(what, &reply, words);
        if reply.header("connection") == Some("close") {
            client = daemon.client();
        }
        verdict(&mut client, &format!("good-{n}"), 1.0);
    }
    daemon.kill();
    let kept = quarantine(&site);
    assert_eq!(kept.len(), malformed().len(), "each is kept once: {kept:#?}");
    for (entry, (what, body, _)) in kept.iter().zip(malformed()) {
        assert_eq!((&entry["kind"], entry["bytes"].as_u64()), (&"malformed".into(), Some(body.len() as u64)), "{what}");
        assert!(entry["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{what}: {entry}");
    }
}

#[test]
fn the_limits_themselves_are_taken() {
    let site = Site::new();
    let daemon = Daemon::start(&site);
    let mut client = daemon.client();
    let deepest = format!(r#"{{"id":"deep","x":{}1{}}}"#, "[".repeat(63), "]".repeat(63));
    let bodies = [
        deepest,
        format!(r#"{{"id":"{}","amount":1}}"#, "x".repeat(512)),
        r#"{"id":18446744073709551615,"amount":1}"#.to_owned(),
        r#"{"id":"numbers","amount":1e308,"x":123456789012345678901234567890}"#.to_owned(),
        r#"{"id":"text","key":"\u0000\ud83d\ude00","amount":1}"#.to_owned(),
        format!(r#"{{"id":"large","amount":1,"pad":"{}"}}"#, "x".repeat(256 * 1024 - 40)),
    ];
    for body in bodies {
        let reply = client.post(JSON, &body).unwrap();
        assert_eq!(reply.status, 200, "{}: {}", &body[..body.len().min(80)], reply.text());
    }
}

#[test]
fn what_is_too_large_is_refused_by_its_limit() {
    let site = Site::new();
    let daemon = Daemon::start(&site);
    let mut client = daemon.client();
    let event = format!(r#"{{"id":"big","amount":1,"pad":"{}"}}"#, "x".repeat(256 * 1024));
    let reply = client.post(JSON, &event).unwrap();
    assert_eq!(reply.status, 413, "{}", reply.text());
    must_name("an event over 256 KiB", &reply, &["256 KiB", "262144"]);

    let lines = [plain("before", 1.0), event, plain("behind", 1.0)];
    let reply = daemon.client().post(NDJSON, lines.join("\n")).unwrap();
    let answers: Vec<Value> = reply.lines().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), 3, "{answers:?}");
    assert_eq!((&answers[0]["id"], &answers[2]["id"]), (&"before".into(), &"behind".into()));
    assert_eq!(answers[1]["status"], 413);

    let body = vec![b' '; (8 << 20) + 1];
    let reply = daemon.client().post(NDJSON, &body).unwrap();
    assert_eq!(reply.status, 413, "{}", reply.text());
    must_name("a body over 8 MiB", &reply, &["8 MiB", "8388608"]);

    // In chunks a body says no length beforehand.
    let mut client = daemon.client();
    let head = "POST /v1/events HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-ndjson\r\n\
                transfer-encoding: chunked\r\n\r\n";
    client.send(head.as_bytes()).unwrap();
    for piece in body.chunks(0x10000) {
        client.send(&[format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat()).unwrap();
    }
    client.send(b"0\r\n\r\n").unwrap();
    assert_eq!(client.receive().unwrap().status, 413);
    verdict(&mut daemon.client(), "served", 1.0);
}

#[test]
fn an_unscorable_event_gets_the_fallback_and_its_reason() {
    let site = Site::new();
    let daemon = Daemon::start(&site);
    let mut client = daemon.client();
    for (id, body) in [
        ("none", r#"{"id":"none"}"#),
        ("null", r#"{"id":"null","amount":null}"#),
        ("text", r#"{"id":"text","amount":"twelve"}"#),
        ("list", r#"{"id":"list","amount":[1]}"#),
    ] {
        let reply = client.post(JSON, body).unwrap();
        assert_eq!(reply.status, 200, "{id}: {}", reply.text());
        let value = reply.json();
        assert_eq!((&value["id"], &value["decision"], &value["score"]), (&id.into(), &"review".into(), &Value::Null));
        let reasons = value["reasons"].to_string();
        assert!(reasons.contains("amount"), "{id}: expected the feature in {reasons}");
    }
}

#[test]
fn what_is_no_http_ends_its_connection_only() {
    let site = Site::new();
    let daemon = Daemon::start(&site);
    let mut silent = daemon.client();
    let mut half = daemon.client();
    half.send(b"POST /v1/events HTTP/1.1\r\ncontent-length: 100\r\n").unwrap();
    for bytes in [b"\x16\x03\x01\x02\x00".as_slice(), b"nonsense\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", &[0; 4096]] {
        let mut client = daemon.client();
        let _ = client.send(bytes);
        let reply = client.receive();
        assert!(reply.as_ref().map_or(true, |reply| (400..=505).contains(&reply.status)), "{reply:?}");
        verdict(&mut daemon.client(), &format!("after-{}-{}", bytes.len(), bytes[0]), 1.0);
    }
    // Those that said nothing, or half of it, hold nobody up and are still served.
    verdict(&mut silent, "silent", 1.0);
}
