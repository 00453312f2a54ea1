//! Every limit, in virtual time: a client over it harms only himself.

use super::{
    super::{Budget, Limits, server::Connections},
    fake::{server, with_budget},
    peer::{event, post},
};
use std::{sync::atomic::Ordering, time::Duration};
use tokio::{sync::Semaphore, time::Instant};

fn timed_out(connections: &Connections) -> u64 {
    connections.timed_out.load(Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn a_silent_client_is_cut_off_after_the_idle_timeout() {
    let server = server(Limits::default());
    let start = Instant::now();
    let mut fresh = server.connect();
    let mut kept = server.connect();
    assert_eq!(kept.ask(&event("1")).await.status, 200);
    assert!(fresh.ended().await && kept.ended().await);
    assert!(start.elapsed() >= Limits::default().idle_timeout);
    assert_eq!(timed_out(&server.shared.connections), 2);
}

#[tokio::test(start_paused = true)]
async fn a_slow_head_is_cut_off_however_steadily_it_drips() {
    let server = server(Limits::default());
    let mut peer = server.connect();
    let start = Instant::now();
    let drip = async {
        loop {
            use tokio::io::AsyncWriteExt;
            if peer.stream.write_all(b"G").await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    drip.await;
    let elapsed = start.elapsed();
    assert!(elapsed >= Limits::default().head_timeout && elapsed <= Limits::default().head_timeout * 2, "{elapsed:?}");
    assert_eq!(timed_out(&server.shared.connections), 1);
}

#[tokio::test(start_paused = true)]
async fn a_slow_body_is_answered_408_and_its_memory_given_back() {
    let server = server(Limits::default());
    let mut peer = server.connect();
    let request = event("1");
    let (most, _) = request.split_at(request.len() - 1);
    peer.send(most).await;
    assert_eq!(peer.answer().await.status, 408);
    assert!(peer.ended().await);
    assert_eq!(server.budget.used(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_cut_off() {
    let server = server(Limits::default());
    let mut peer = server.connect();
    let body: String = (0..20_000).map(|n| format!("{{\"id\":\"{n}\"}}\n")).collect();
    peer.send(&post("application/x-ndjson", &body)).await;
    let cut_off = async {
        while timed_out(&server.shared.connections) == 0 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::time::timeout(Limits::default().write_timeout * 2, cut_off).await.unwrap();
    assert_eq!(server.budget.used(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_commit_may_take_its_time() {
    let server = server(Limits::default());
    server.fake.gate.forget_permits(Semaphore::MAX_PERMITS);
    let mut peer = server.connect();
    peer.send(&event("1")).await;
    tokio::time::sleep(Duration::from_mins(10)).await;
    server.fake.gate.add_permits(1);
    assert_eq!(peer.answer().await.status, 200);
}

#[tokio::test]
async fn a_body_over_the_limit_is_413_announced_or_not() {
    let server = server(Limits { body_bytes_max: 1000, ..Limits::default() });
    let mut peer = server.connect();
    let announced = post("application/json", &"x".repeat(1001));
    assert_eq!(peer.ask(&announced).await.status, 413);
    // The rest was read away: the connection goes on.
    assert_eq!(peer.ask(&event("1")).await.status, 200);
    let chunk = "x".repeat(600);
    let head = "POST /v1/events HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
    let chunked = format!("{head}transfer-encoding: chunked\r\n\r\n258\r\n{chunk}\r\n258\r\n{chunk}\r\n0\r\n\r\n");
    assert_eq!(peer.ask(&chunked).await.status, 413);
    assert_eq!(server.connect().ask(&event("2")).await.status, 200);
    assert_eq!(server.budget.used(), 0);
}

#[tokio::test]
async fn a_batch_has_a_limit_of_its_own() {
    let server = server(Limits { batch_bytes_max: 10, ..Limits::default() });
    let mut peer = server.connect();
    assert_eq!(peer.ask(&post("application/cloudevents-batch+json", "[{\"id\":\"1\"}]")).await.status, 413);
    assert_eq!(peer.ask(&post("application/x-ndjson", "{\"id\":\"123456\"}")).await.status, 200);
}

#[tokio::test]
async fn a_head_over_the_limits_is_431() {
    let server = server(Limits::default());
    let big = format!("GET / HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n", "y".repeat(17 << 10));
    assert_eq!(server.connect().ask(&big).await.status, 431);
    let many: String = (0..101).map(|n| format!("x{n}: y\r\n")).collect();
    assert_eq!(server.connect().ask(&format!("GET / HTTP/1.1\r\n{many}\r\n")).await.status, 431);
    assert_eq!(server.connect().ask(&event("1")).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_budget_is_503_and_recovers() {
    let limits = Limits::default();
    let server = with_budget(limits, Budget::new(4096));
    let mut peer = server.connect();
    let held = server.budget.try_take(4096).unwrap();
    let answer = peer.ask(&event("1")).await;
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")));
    drop(held);
    assert_eq!(peer.ask(&event("1")).await.status, 200);
    assert_eq!(server.budget.used(), 0);
}

#[tokio::test(start_paused = true)]
async fn half_read_bodies_that_wait_for_each_other_are_let_go() {
    let server = with_budget(Limits::default(), Budget::new(10_000));
    let body = format!("{{\"id\":\"1\",\"x\":\"{}\"}}", "x".repeat(7000));
    let request = post("application/json", &body);
    let (half, rest) = request.split_at(request.len() / 2);
    let (mut a, mut b) = (server.connect(), server.connect());
    a.send(half).await;
    b.send(half).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(server.budget.used() > 6000);
    a.send(rest).await;
    b.send(rest).await;
    let mut statuses = [a.answer().await.status, b.answer().await.status];
    statuses.sort_unstable();
    // Both may be refused, but none may hang, and nothing may be kept.
    assert!(statuses[1] == 503, "{statuses:?}");
    assert_eq!(server.budget.used(), 0);
    assert_eq!(server.connect().ask(&request).await.status, 200);
}

#[tokio::test]
async fn memory_is_taken_as_the_body_arrives_and_held_until_the_answer() {
    let server = server(Limits::default());
    server.fake.gate.forget_permits(Semaphore::MAX_PERMITS);
    let mut peer = server.connect();
    peer.send(
        "POST /v1/events HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 5000000\r\n\r\n",
    )
    .await;
    let mut other = server.connect();
    other.send(&event("1")).await;
    while server.budget.used() < 2048 {
        tokio::task::yield_now().await;
    }
    // Announced bytes cost nothing; the event that waits for its commit holds its own.
    assert!(server.budget.used() < 4096, "{}", server.budget.used());
    server.fake.gate.add_permits(1);
    assert_eq!(other.answer().await.status, 200);
    drop((peer, other));
    while server.budget.used() > 0 {
        tokio::task::yield_now().await;
    }
}
