//! Every limit, in virtual time: a client over it harms only himself.

use super::{
    super::{Budget, Connections, Limits},
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
    // Announced: answered at once, though most of the body is still to come.
    let mut peer = server.connect();
    let announced = post("application/json", &"x".repeat(1001));
    let answer = peer.ask(&announced[..200]).await;
    assert_eq!((answer.status, answer.header("connection")), (413, Some("close")));
    // The rest is read away, or the answer could be lost with the connection.
    peer.send(&announced[200..]).await;
    assert!(peer.ended().await);
    let chunk = "x".repeat(600);
    let head = "POST /v1/events HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
    let chunked = format!("{head}transfer-encoding: chunked\r\n\r\n258\r\n{chunk}\r\n258\r\n{chunk}\r\n0\r\n\r\n");
    let answer = server.connect().ask(&chunked).await;
    assert_eq!((answer.status, answer.header("connection")), (413, Some("close")));
    assert_eq!(server.connect().ask(&event("2")).await.status, 200);
    assert_eq!(server.budget.used(), 0);
}

#[tokio::test]
async fn a_batch_is_paid_for_by_the_number_of_its_events() {
    let budget = Budget::new(100 << 10);
    let server = with_budget(Limits::default(), budget);
    let batch = |count: usize| {
        let events: Vec<_> = (0..count).map(|n| format!("{{\"id\":\"{n}\"}}")).collect();
        post("application/cloudevents-batch+json", &format!("[{}]", events.join(",")))
    };
    let mut peer = server.connect();
    let answer = peer.ask(&batch(100)).await;
    assert_eq!((answer.status, answer.lines().len()), (200, 100));
    let answer = peer.ask(&batch(1000)).await;
    assert_eq!((answer.status, answer.body.contains("1000 events")), (413, true));
    assert_eq!(peer.ask(&event("x")).await.status, 200);
}

#[tokio::test]
async fn lines_that_the_client_has_not_read_stay_paid_for() {
    let server = server(Limits::default());
    let mut peer = server.connect();
    let id = "i".repeat(150);
    let body: String = (0..1000).map(|n| format!("{{\"id\":\"{n}{id}\"}}\n")).collect();
    peer.send(&post("application/x-ndjson", &body)).await;
    // The first bytes of the answer have come: all of it is made, most of it is neither sent nor read.
    peer.begin().await;
    assert!(server.budget.used() >= 500 << 10, "{}", server.budget.used());
    assert_eq!(peer.answer().await.lines().len(), 1000);
    while server.budget.used() > 0 {
        tokio::task::yield_now().await;
    }
}

/// The client reads all along; once, the first flush between two slices began the idle time-out.
#[tokio::test(start_paused = true)]
async fn a_streamed_answer_may_take_its_time() {
    let server = server(Limits::default());
    server.fake.gate.forget_permits(Semaphore::MAX_PERMITS);
    let mut peer = server.connect();
    let body: String = (0..5 * 1024).map(|n| format!("{{\"id\":\"{n}\"}}\n")).collect();
    peer.send(&post("application/x-ndjson", &body)).await;
    let commits = async {
        for _ in 0..5 {
            tokio::time::sleep(Duration::from_secs(50)).await;
            server.fake.gate.add_permits(1);
        }
    };
    let (answer, ()) = tokio::join!(peer.answer(), commits);
    assert_eq!(answer.lines().len(), 5 * 1024);
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
    assert_eq!(server.fake.refused.load(Ordering::Relaxed), 1);
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
