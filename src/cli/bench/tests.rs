//! The load generator against the floor, in this process.

use super::{
    events::Requests,
    floor,
    load::{self, Plan},
};
use std::{os::unix::net::UnixStream, time::Duration};

#[test]
fn the_floor_serves_closed_and_open_loads_and_keeps_what_it_acks() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_owned();
    std::thread::spawn(move || floor::run(&path));
    let socket = dir.path().join(floor::SOCKET);
    while UnixStream::connect(&socket).is_err() {
        std::thread::yield_now();
    }
    let plan = |per_request, rate| Plan {
        socket: socket.clone(),
        per_request,
        connections: 3,
        depth: 2,
        rate,
        warm_up: Duration::from_millis(10),
        measured: Duration::from_millis(100),
        verdicts: false,
    };
    for (per_request, rate) in [(100, None), (1, None), (1, Some(500.0))] {
        let mut started = false;
        let load = load::run(&plan(per_request, rate), &mut Requests::new(per_request, 0), || started = true).unwrap();
        assert!(started && load.events > 0 && load.busy == 0);
        assert_eq!(load.events, load.latencies_ns.len() as u64 * per_request as u64);
        let kept = std::fs::metadata(dir.path().join("floor.log")).unwrap().len();
        assert!(kept >= load.events * 300);
    }
}
