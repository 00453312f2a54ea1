//! The link of the tests does what it says, so that what is tested over it is tested.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // helpers stop at the first surprise, as tests do

mod support;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};
use support::child::{WATCHDOG, poll};
use support::link::Link;

/// A target that sends back what it gets.
fn echo() -> Link {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                let mut reading = stream.try_clone().unwrap();
                let _ = std::io::copy(&mut reading, &mut stream);
            });
        }
    });
    Link::to(address)
}

fn ask(stream: &mut TcpStream, text: &[u8]) -> std::io::Result<Vec<u8>> {
    stream.write_all(text)?;
    let mut answer = vec![0; text.len()];
    stream.read_exact(&mut answer)?;
    Ok(answer)
}

#[test]
fn what_goes_in_comes_out_and_a_delay_costs_no_throughput() {
    let link = echo();
    let mut stream = TcpStream::connect(link.address()).unwrap();
    assert_eq!(ask(&mut stream, b"there and back").unwrap(), b"there and back");
    link.set_round_trip(Duration::from_millis(100));
    let begun = Instant::now();
    let mut reading = stream.try_clone().unwrap();
    let answers = thread::spawn(move || {
        let mut answer = vec![0; 4000];
        reading.read_exact(&mut answer).unwrap();
    });
    for _ in 0..400 {
        stream.write_all(b"0123456789").unwrap();
    }
    answers.join().unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(100));
    // One by one they would take 40 s.
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_cut_is_told_to_both_and_a_refusing_link_lets_nobody_in() {
    let link = echo();
    let mut stream = TcpStream::connect(link.address()).unwrap();
    ask(&mut stream, b"x").unwrap();
    link.refuse(true);
    assert_eq!((link.open(), link.cut(), link.open()), (1, 1, 0));
    assert!(ask(&mut stream, b"x").is_err());
    let mut turned_away = TcpStream::connect(link.address()).unwrap();
    assert!(ask(&mut turned_away, b"x").is_err());
    link.refuse(false);
    ask(&mut TcpStream::connect(link.address()).unwrap(), b"x").unwrap();
    let counts = link.counts();
    assert_eq!((counts.accepted, counts.refused, counts.cut), (2, 1, 1));
}

#[test]
fn a_stalled_link_takes_bytes_and_holds_them_until_it_flows_again() {
    let link = echo();
    let mut stream = TcpStream::connect(link.address()).unwrap();
    ask(&mut stream, b"x").unwrap();
    let before = link.counts();
    link.stall(true);
    stream.write_all(b"held").unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    assert!(stream.read(&mut [0; 4]).is_err());
    assert_eq!(link.counts(), before);
    link.stall(false);
    stream.set_read_timeout(None).unwrap();
    let mut answer = [0; 4];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"held");
}

#[test]
fn a_half_open_connection_is_dead_on_one_side_alone() {
    let link = echo();
    let mut stream = TcpStream::connect(link.address()).unwrap();
    ask(&mut stream, b"x").unwrap();
    assert_eq!(link.cut_target_side(), 1);
    stream.write_all(b"into the void").unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    assert_eq!(stream.read(&mut [0; 4]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    link.bury();
    let ended = poll(WATCHDOG, || (stream.read(&mut [0; 4]).is_ok_and(|n| n == 0)).then_some(()));
    assert!(ended.is_some());

    let mut stream = TcpStream::connect(link.address()).unwrap();
    ask(&mut stream, b"x").unwrap();
    assert_eq!(link.cut_client_side(), 1);
    assert!(ask(&mut stream, b"x").is_err());
    ask(&mut TcpStream::connect(link.address()).unwrap(), b"x").unwrap();
}
