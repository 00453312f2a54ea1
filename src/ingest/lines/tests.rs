//! Real sockets under a real engine: pipelines, half-closed and slow peers, limits, tokens.

use super::*;
use crate::ingest::tests::rig::{EVENT_BYTES_MAX, Rig, event, events, poll};
use crate::ingest::{Limits, ListenOptions};
use crate::listen::Listen;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

struct Served {
    rig: Rig,
    listen: Listen,
    connections: Arc<Connections>,
    _dir: tempfile::TempDir,
}

fn start(change: impl FnOnce(&mut ListenOptions, &Path)) -> Served {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = Rig::open(dir.path());
    let mut options = ListenOptions::new(Listen::Unix(dir.path().join("s")));
    change(&mut options, dir.path());
    let inside = rig.runtime.enter();
    let listener = Listener::bind(&options).unwrap();
    drop(inside);
    let (listen, connections) = (listener.address().clone(), listener.connections());
    rig.run(|intake, budget, _, stop| serve(listener, intake, budget, EVENT_BYTES_MAX, stop));
    Served { rig, listen, connections, _dir: dir }
}

impl Served {
    fn unix(&self) -> UnixStream {
        let Listen::Unix(path) = &self.listen else { panic!("{}", self.listen) };
        UnixStream::connect(path).unwrap()
    }

    fn tcp(&self) -> TcpStream {
        let Listen::Tcp(address) = &self.listen else { panic!("{}", self.listen) };
        TcpStream::connect(address).unwrap()
    }
}

fn json(line: &str) -> serde_json::Value {
    serde_json::from_str(line).unwrap_or_else(|_| panic!("{line:?}"))
}

/// Sends, half-closes, reads all.
fn exchange(stream: &UnixStream, text: &[u8]) -> Vec<serde_json::Value> {
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // What is refused may close before all is sent.
            let _ = (&*stream).write_all(text);
            let _ = stream.shutdown(Shutdown::Write);
        });
        BufReader::new(stream).lines().map_while(Result::ok).map(|line| json(&line)).collect()
    })
}

#[test]
fn every_line_has_its_answer_in_order_also_after_a_half_close() {
    let served = start(|_, _| ());
    let text = events(0..5000) + "\n  \n" + &event(0) + "broken\n" + event("last").trim_end();
    let answers = exchange(&served.unix(), text.as_bytes());
    assert_eq!(answers.len(), 5003);
    for (n, answer) in answers[..5000].iter().enumerate() {
        assert_eq!(answer["id"], n.to_string());
        assert!(answer["sequence"].is_u64());
    }
    // A repeat is answered by the same bytes.
    assert_eq!(answers[5000], answers[0]);
    assert_eq!((&answers[5001]["status"], &answers[5002]["id"]), (&400.into(), &"last".into()));
    assert_eq!(served.rig.aside().len(), 1);
    poll("the end", || (served.connections.open.load(Relaxed) == 0).then_some(()));
    assert_eq!(served.rig.budget.used(), 0);
    served.rig.close();
}

#[test]
fn a_client_may_ask_and_wait_line_by_line() {
    let served = start(|options, _| options.listen = "127.0.0.1:0".parse().unwrap());
    let mut stream = served.tcp();
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    for n in 0..20 {
        let line = event(n);
        let (head, tail) = line.split_at(7);
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(tail.as_bytes()).unwrap();
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        assert_eq!(json(&answer)["id"], n.to_string());
    }
    served.rig.close();
    // Stopping closes it.
    assert_eq!(answers.read(&mut [0; 8]).unwrap(), 0);
}

#[test]
fn a_line_over_the_limit_is_answered_413_and_set_aside_and_the_rest_flows_on() {
    let served = start(|_, _| ());
    // Just over it, and far longer than any buffer.
    let (over, far) = ("x".repeat(EVENT_BYTES_MAX + 1), "y".repeat(2 << 20));
    let answers = exchange(&served.unix(), format!("{}{over}\n{far}\n{}", event(0), event(1)).as_bytes());
    let found: Vec<_> = answers.iter().map(|a| (a["id"].as_str(), a["status"].as_u64())).collect();
    assert_eq!(found, [(Some("0"), None), (None, Some(413)), (None, Some(413)), (Some("1"), None)]);
    assert!(served.rig.aside().iter().all(|(kind, _)| kind == "oversized"));
    served.rig.close();
}

#[test]
fn a_client_that_does_not_read_stops_being_read_and_is_cut_off() {
    let served = start(|options, _| {
        options.limits = Limits { write_timeout: Duration::from_millis(200), ..Limits::default() };
    });
    let stream = served.unix();
    let text = events(0..20_000);
    // Sent until it is no longer read: writing ends by the cut, not by the last byte.
    let sent = (&stream).write_all(text.as_bytes());
    assert!(sent.is_err(), "all was read though no answer was taken");
    poll("the cut", || (served.connections.timed_out.load(Relaxed) == 1).then_some(()));
    assert!(served.rig.ids().len() < 20_000);
    poll("its memory", || (served.rig.budget.used() == 0).then_some(()));
    // Others are served meanwhile and after it.
    assert_eq!(exchange(&served.unix(), event("other").as_bytes()).len(), 1);
    served.rig.close();
}

#[test]
fn a_line_that_is_begun_must_end_in_time_but_silence_is_no_fault() {
    let served = start(|options, _| {
        options.limits = Limits { body_timeout: Duration::from_millis(100), ..Limits::default() };
    });
    let mut silent = served.unix();
    let mut slow = served.unix();
    slow.write_all(b"{\"id\":").unwrap();
    let mut answer = String::new();
    BufReader::new(&slow).read_line(&mut answer).unwrap();
    assert_eq!(json(&answer)["status"], 408);
    // Silent for as long.
    silent.write_all(event(1).as_bytes()).unwrap();
    answer.clear();
    BufReader::new(&silent).read_line(&mut answer).unwrap();
    assert_eq!(json(&answer)["id"], "1");
    served.rig.close();
}

#[test]
fn with_a_token_the_first_line_shows_it_and_has_no_answer() {
    const TOKEN: &str = "a token of some length";
    let served = start(|options, dir| {
        let file = dir.join("token");
        std::fs::write(&file, TOKEN.replace(' ', "-")).unwrap();
        options.token_file = Some(file);
        options.limits = Limits { head_timeout: Duration::from_millis(500), ..Limits::default() };
    });
    let token = TOKEN.replace(' ', "-");
    let known = exchange(&served.unix(), format!("AUTH {token}\r\n{}", event(0)).as_bytes());
    assert_eq!(known.iter().map(|a| a["id"].as_str().unwrap()).collect::<Vec<_>>(), ["0"]);
    for unknown in [event(1), format!("AUTH {}x\n{}", &token[1..], event(1)), "x".repeat(20_000)] {
        let answers = exchange(&served.unix(), unknown.as_bytes());
        assert_eq!((answers.len(), &answers[0]["status"]), (1, &401.into()));
    }
    // Says nothing.
    let mut answer = String::new();
    BufReader::new(served.unix()).read_line(&mut answer).unwrap();
    assert_eq!(json(&answer)["status"], 408);
    assert_eq!(served.rig.ids(), ["0"]);
    served.rig.close();
}

#[test]
fn lines_come_over_tls_and_the_token_in_it() {
    let mut files = None;
    let served = start(|options, dir| {
        options.listen = "127.0.0.1:0".parse().unwrap();
        options.tls = Some(files.insert(crate::ingest::tests::tls::files(dir)).clone());
        options.token_file = Some(dir.join("token"));
        std::fs::write(dir.join("token"), "a-token-of-some-length\n").unwrap();
    });
    let mut builder = openssl::ssl::SslConnector::builder(openssl::ssl::SslMethod::tls_client()).unwrap();
    builder.set_ca_file(files.unwrap().cert.with_file_name("ca.pem")).unwrap();
    let mut stream = builder.build().connect("localhost", served.tcp()).unwrap();
    stream.write_all(format!("AUTH a-token-of-some-length\n{}", event(1)).as_bytes()).unwrap();
    let mut answer = String::new();
    BufReader::new(&mut stream).read_line(&mut answer).unwrap();
    assert_eq!(json(&answer)["id"], "1");
    // Beside it nothing is heard.
    let mut plain = served.tcp();
    plain.write_all(event(2).as_bytes()).unwrap();
    let _ = plain.read_to_end(&mut Vec::new());
    assert_eq!(served.rig.ids(), ["1"]);
    drop(stream);
    served.rig.close();
}

#[test]
fn one_connection_too_many_is_told_so() {
    let served = start(|options, _| options.limits.connections_max = 1);
    let first = served.unix();
    poll("the first", || (served.connections.open.load(Relaxed) == 1).then_some(()));
    let answers = exchange(&served.unix(), event(0).as_bytes());
    assert!(answers.is_empty() || answers[0]["status"] == 503);
    poll("the refusal", || (served.connections.refused.load(Relaxed) == 1).then_some(()));
    drop(first);
    served.rig.close();
}

#[test]
fn without_memory_lines_are_answered_503_and_may_come_again() {
    let served = start(|options, _| options.limits.budget_wait = Duration::from_millis(1));
    let all = served.rig.budget.try_take(served.rig.budget.bytes()).unwrap();
    let stream = served.unix();
    let answers = exchange(&stream, events(0..3).as_bytes());
    assert!(answers.len() == 3 && answers.iter().all(|a| a["status"] == 503));
    drop(all);
    assert_eq!(exchange(&served.unix(), events(0..3).as_bytes())[2]["id"], "2");
    served.rig.close();
}
