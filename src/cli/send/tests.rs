//! `send` against a daemon of a few lines that fails in every way a daemon can.

// Inputs of a few lines: clearer so than with a buffer.
#![allow(clippy::format_collect)]

use super::{
    super::client::{Address, ClientOptions},
    Format, InputError, SendError, SendOptions, Summary, send,
};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    io::Cursor,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::net::UnixListener;

/// What the daemon does with one request.
#[derive(Clone)]
enum Act {
    /// Answers each line: `{"bad":true}` is malformed, the rest are taken.
    Serve,
    Status(u16, &'static str),
    /// The last line is put off.
    PutOff,
    /// The connection breaks instead.
    Drop,
    FewLines,
}

struct Daemon {
    options: SendOptions,
    bodies: Arc<Mutex<Vec<String>>>,
    _dir: tempfile::TempDir,
}

fn line(event: &str, put_off: bool) -> String {
    let event: Value = serde_json::from_str(event).unwrap_or_default();
    let answer = match () {
        () if event.get("label").is_some() => json!({"id":event["id"], "label":event["label"], "known":false}),
        () if put_off => json!({"title":"Not taken", "status":503}),
        () if event.get("bad").is_some() => json!({"title":"Not understood", "status":400}),
        () => json!({"id":event["id"], "decision":"allow"}),
    };
    answer.to_string() + "\n"
}

async fn answer(
    request: Request<Incoming>,
    act: Act,
    bodies: &Mutex<Vec<String>>,
) -> Result<Response<Full<Bytes>>, String> {
    let body = request.into_body().collect().await.map_err(|e| e.to_string())?.to_bytes();
    let body = String::from_utf8(body.to_vec()).unwrap();
    let count = body.lines().count();
    bodies.lock().unwrap().push(body.clone());
    let put_off = |n| matches!(act, Act::PutOff) && n + 1 == count;
    let lines: String = body.lines().enumerate().map(|(n, event)| line(event, put_off(n))).collect();
    match act {
        Act::Drop => Err("broken".into()),
        Act::Status(status, body) => {
            Ok(Response::builder().status(status).header("retry-after", "1").body(body.into()).unwrap())
        }
        Act::FewLines => Ok(Response::new("".into())),
        Act::Serve | Act::PutOff => Ok(Response::new(lines.into())),
    }
}

/// Does `acts` in turn, then serves.
fn daemon(acts: &[Act]) -> Daemon {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sock");
    let listener = UnixListener::bind(&path).unwrap();
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let acts = Arc::new(Mutex::new(acts.iter().cloned().collect::<VecDeque<_>>()));
    let seen = Arc::clone(&bodies);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (acts, seen) = (Arc::clone(&acts), Arc::clone(&seen));
            tokio::spawn(async move {
                let service = service_fn(|request| {
                    let act = acts.lock().unwrap().pop_front().unwrap_or(Act::Serve);
                    answer(request, act, &seen)
                });
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    let mut to = ClientOptions::new(Address::Unix(path));
    to.connect_timeout = Duration::from_mins(10);
    to.answer_timeout = Duration::from_mins(10);
    Daemon { options: SendOptions { batch: 2, ..SendOptions::new(to) }, bodies, _dir: dir }
}

impl Daemon {
    async fn send(&self, text: &str, format: Format) -> (Result<Summary, SendError>, Vec<Value>) {
        let mut out = Vec::new();
        let input = Box::new(Cursor::new(text.to_owned()));
        let result = send(self.options.clone(), input, format, &mut out).await;
        let lines = String::from_utf8(out).unwrap();
        (result, lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    }

    async fn ndjson(&self, text: &str) -> (Result<Summary, SendError>, Vec<Value>) {
        self.send(text, Format::Ndjson).await
    }
}

fn events(count: usize) -> String {
    (0..count).map(|n| format!("{{\"id\":\"{n}\"}}\n")).collect()
}

fn ids(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["id"].as_str().unwrap_or("-")).collect()
}

#[tokio::test]
async fn answers_are_printed_in_input_order_over_several_connections() {
    let mut daemon = daemon(&[]);
    daemon.options.connections = 4;
    let (summary, lines) = daemon.ndjson(&events(101)).await;
    assert_eq!(summary.unwrap(), Summary { acked: 101, refused: 0, retries: 0 });
    assert_eq!(ids(&lines), (0..101).map(|n| n.to_string()).collect::<Vec<_>>());
}

/// Its answer is no verdict and no problem: once taken for a put off one, and sent for ever.
#[tokio::test]
async fn a_label_is_acked_as_an_event_is() {
    let daemon = daemon(&[]);
    let (summary, lines) = daemon.ndjson("{\"id\":\"1\"}\n{\"id\":\"1\",\"label\":1}\n").await;
    assert_eq!((summary.unwrap(), lines.len()), (Summary { acked: 2, refused: 0, retries: 0 }, 2));
}

#[tokio::test]
async fn refused_events_have_their_problem_line_and_are_counted() {
    let daemon = daemon(&[]);
    let (summary, lines) = daemon.ndjson("{\"id\":\"0\"}\n\n  \n{\"bad\":true}\n{\"id\":\"2\"}").await;
    assert_eq!(summary.unwrap(), Summary { acked: 2, refused: 1, retries: 0 });
    assert_eq!(ids(&lines), ["0", "-", "2"]);
    assert_eq!(lines[1]["status"], 400);
}

#[tokio::test]
async fn what_was_not_acked_is_sent_again_until_it_is() {
    let daemon =
        daemon(&[Act::Status(503, "{}"), Act::Drop, Act::Status(500, "{}"), Act::Serve, Act::PutOff, Act::Drop]);
    let (summary, lines) = daemon.ndjson(&events(4)).await;
    assert_eq!(summary.unwrap(), Summary { acked: 4, refused: 0, retries: 5 });
    assert_eq!(ids(&lines), ["0", "1", "2", "3"]);
    let bodies = daemon.bodies.lock().unwrap();
    assert_eq!(bodies.len(), 7);
    // Only the event that was put off is sent again.
    assert_eq!((bodies[4].lines().count(), bodies[6].as_str()), (2, "{\"id\":\"3\"}\n"));
}

#[tokio::test]
async fn a_body_too_large_is_halved_down_to_the_event_that_is() {
    let mut daemon = daemon(&[Act::Status(413, "{}"), Act::Serve, Act::Status(413, "{\"status\":413}")]);
    daemon.options.batch = 2;
    let (summary, lines) = daemon.ndjson(&events(2)).await;
    assert_eq!(summary.unwrap(), Summary { acked: 1, refused: 1, retries: 0 });
    assert_eq!(lines[1]["status"], 413);
}

#[tokio::test]
async fn what_no_repeat_can_cure_ends_the_sending() {
    let (result, _) = daemon(&[Act::Status(401, "who?")]).ndjson(&events(2)).await;
    assert!(matches!(result, Err(SendError::Refused { status: 401, .. })));
    let (result, _) = daemon(&[Act::FewLines]).ndjson(&events(2)).await;
    assert!(matches!(result, Err(SendError::Protocol { expected: 2, got: 0 })));
}

#[tokio::test]
async fn with_a_timeout_it_gives_up_on_a_daemon_that_is_away() {
    let mut daemon = daemon(&[]);
    daemon.options.to.address = Address::Unix("/nonexistent/verdictd.sock".into());
    daemon.options.timeout = Some(Duration::from_millis(200));
    let (result, _) = daemon.ndjson(&events(1)).await;
    assert!(matches!(result, Err(SendError::TimedOut(..))), "{result:?}");
}

#[tokio::test]
async fn csv_becomes_json_numbers_where_they_are_and_empty_cells_are_left_out() {
    let daemon = daemon(&[]);
    let text = "id,amount,note,flag\n0012,-1.5e3,\"a \"\"b\"\", c\",true\n7,01,,\n8,1.,NaN,-\n";
    let (summary, _) = daemon.send(text, Format::Csv).await;
    assert_eq!(summary.unwrap().acked, 3);
    let sent = daemon.bodies.lock().unwrap().concat();
    let sent: Vec<&str> = sent.lines().collect();
    assert_eq!(sent[0], r#"{"id":"0012","amount":-1.5e3,"note":"a \"b\", c","flag":"true"}"#);
    assert_eq!(sent[1], r#"{"id":7,"amount":"01"}"#);
    assert_eq!(sent[2], r#"{"id":8,"amount":"1.","note":"NaN","flag":"-"}"#);
}

#[tokio::test]
async fn what_came_before_a_fault_of_the_input_is_sent() {
    let daemon = daemon(&[]);
    let (result, lines) = daemon.send("id,x\n1,2\n3,4\n5,6\n7\n", Format::Csv).await;
    assert!(matches!(result, Err(SendError::Input(InputError::Csv(_)))), "{result:?}");
    assert_eq!(ids(&lines), ["-", "-", "-"]);
    assert_eq!(daemon.bodies.lock().unwrap().concat().lines().count(), 3);
}
