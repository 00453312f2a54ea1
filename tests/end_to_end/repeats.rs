//! One event, one verdict: repeats get the first answer word for word, conflicts are never merged.

use crate::events::{event, quarantine, sink_lines, verdict};
use crate::support::bundle;
use crate::support::daemon::Daemon;
use crate::support::http::{Client, JSON};
use crate::support::site::{Site, member};
use std::collections::BTreeSet;
use std::sync::Barrier;

#[test]
fn a_repeat_gets_the_same_bytes_also_after_a_kill_and_a_model_change() {
    let site = Site::new();
    let daemon = Daemon::start(&site);
    let first = verdict(&mut daemon.client(), "r", 700.0);
    let again = verdict(&mut daemon.client(), "r", 700.0);
    assert!(again.is_replayed() && !first.is_replayed());
    assert_eq!(again.body, first.body);
    daemon.kill();
    bundle::write(&site.bundle(), "test", "2");
    let daemon = Daemon::start(&site);
    let again = verdict(&mut daemon.client(), "r", 700.0);
    assert!(again.is_replayed());
    assert_eq!(again.body, first.body);
    let new = verdict(&mut daemon.client(), "new", 700.0);
    assert_eq!((new.json()["model"].as_str(), new.json()["sequence"].as_u64()), (Some("test@2"), Some(2)));
    assert!(daemon.stop().success());
    assert_eq!(sink_lines(&site, 2), [first.text().trim_end(), new.text().trim_end()]);
}

#[test]
fn the_same_json_value_is_the_same_payload_however_it_is_written() {
    let site = Site::new();
    let daemon = Daemon::start(&site);
    let mut client = daemon.client();
    let first = client.post(JSON, r#"{"id":"j","amount":1,"list":[1,"é",null],"o":{"a":true,"b":{}}}"#).unwrap();
    assert_eq!(first.status, 200);
    let same = [
        "{\"o\":{\"b\":{},\"a\":true},\n \"list\": [1.0, \"\\u00e9\", null],\t\"amount\": 1e0, \"id\": \"j\"}",
        r#"{"amount":1.0,"id":"\u006a","list":[1,"é",null],"o":{"a":true,"b":{}}}"#,
    ];
    for body in same {
        let reply = client.post(JSON, body).unwrap();
        assert!(reply.is_replayed(), "{body}: {}", reply.text());
        assert_eq!(reply.body, first.body);
    }
    let other = [
        r#"{"id":"j","amount":2,"list":[1,"é",null],"o":{"a":true,"b":{}}}"#,
        r#"{"id":"j","amount":1,"list":["é",1,null],"o":{"a":true,"b":{}}}"#,
        r#"{"id":"j","amount":"1","list":[1,"é",null],"o":{"a":true,"b":{}}}"#,
        r#"{"id":"j","amount":1,"list":[1,"é",null],"o":{"a":true,"b":[]}}"#,
        r#"{"id":"j","amount":1,"list":[1,"é",null],"o":{"a":true}}"#,
    ];
    for body in other {
        let reply = client.post(JSON, body).unwrap();
        assert_eq!(reply.status, 409, "{body}: {}", reply.text());
    }
    assert_eq!(client.post(JSON, same[0]).unwrap().body, first.body, "a conflict changes nothing");
}

#[test]
fn a_conflict_is_refused_and_kept() {
    let site = Site::new();
    let daemon = Daemon::start(&site);
    let mut client = daemon.client();
    verdict(&mut client, "c", 100.0);
    let reply = client.post(JSON, event("c", 200.0)).unwrap();
    assert_eq!((reply.status, reply.header("content-type")), (409, Some("application/problem+json")));
    assert_eq!((reply.json()["status"].as_u64(), reply.json()["id"].as_str()), (Some(409), Some("c")));
    assert!(daemon.stop().success());
    let kept = quarantine(&site);
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(
        (&kept[0]["kind"], &kept[0]["source"], &kept[0]["id"]),
        (&"conflict".into(), &"pos".into(), &"c".into())
    );
    assert_eq!(sink_lines(&site, 1).len(), 1);
}

#[test]
fn a_verdict_is_found_by_source_and_id() {
    let site = Site::new();
    let daemon = Daemon::start(&site);
    let mut client = daemon.client();
    let first = client.post(JSON, r#"{"id":"a b/ü&","amount":1}"#).unwrap();
    let found = client.get("/v1/verdicts?source=pos&id=a%20b%2F%C3%BC%26").unwrap();
    assert_eq!((found.status, &found.body), (200, &first.body));
    assert_eq!(client.get("/v1/verdicts?source=pos&id=unknown").unwrap().status, 404);
    assert_eq!(client.get("/v1/verdicts?source=other&id=a%20b%2F%C3%BC%26").unwrap().status, 404);
    assert_eq!(client.get("/v1/verdicts?id=a").unwrap().status, 400);
    daemon.kill();
    let daemon = Daemon::start(&site);
    let found = daemon.client().get("/v1/verdicts?source=pos&id=a%20b%2F%C3%BC%26").unwrap();
    assert_eq!((found.status, &found.body), (200, &first.body));
}

#[test]
fn the_same_event_on_many_connections_at_once_gets_one_verdict() {
    const CONNECTIONS: usize = 8;
    const ROUNDS: usize = 40;
    let site = Site::new();
    let daemon = Daemon::start(&site);
    let together = Barrier::new(CONNECTIONS);
    let answers: Vec<Vec<_>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..CONNECTIONS)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = Client::connect(&daemon.events_socket()).unwrap();
                    let post = |n| {
                        together.wait();
                        client.post(JSON, event(&format!("same-{n}"), 100.0)).unwrap()
                    };
                    (0..ROUNDS).map(post).collect()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for n in 0..ROUNDS {
        let bodies: BTreeSet<_> = answers.iter().map(|of| of[n].text()).collect();
        assert_eq!(bodies.len(), 1, "{bodies:?}");
        let firsts = answers.iter().filter(|of| of[n].status == 200 && !of[n].is_replayed()).count();
        assert_eq!(firsts, 1, "one was scored, the others were told its verdict");
    }
    let ids: BTreeSet<_> = sink_lines(&site, ROUNDS).iter().map(|line| member(line, "id").to_string()).collect();
    assert_eq!((ids.len(), site.sink_lines().len()), (ROUNDS, ROUNDS));
}
