//! kill -9 of the daemon at random, under load.

use super::hook::{await_drained, await_sink, guarded, listed, resolve, send, sink, site};
use super::receiver::{Receiver, Reply, Request};
use super::support::child::{WATCHDOG, poll};
use super::support::daemon::Daemon;
use super::support::{from_env, random};
use rand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

fn kills() -> u32 {
    u32::try_from(from_env("VERDICTD_TEST_WEBHOOK_KILLS", 12)).unwrap()
}

/// What the receiver has done, by key, and how often it was asked to.
type Done = Arc<Mutex<BTreeMap<String, (u32, u32)>>>;

#[test]
fn a_receiver_that_honours_the_key_has_one_effect_an_event_however_often_the_daemon_is_killed() {
    let (seed, mut random) = random(81);
    let (_, mut weather) = super::support::random(82);
    let done = Done::default();
    let doing = Arc::clone(&done);
    let receiver = Receiver::start(move |request: &Request| {
        let mut done = doing.lock().unwrap();
        let (effects, asked) = done.entry(request.header("idempotency-key").unwrap().to_owned()).or_default();
        *asked += 1;
        // Some is lost on the way there, some on the way back.
        match weather.random_range(0..60) {
            0 => return Reply::Close,
            1 => return Reply::Status(503),
            _ => {}
        }
        *effects = 1;
        if weather.random_range(0..60) == 0 { Reply::Close } else { Reply::Status(200) }
    });
    let site = site(&receiver);
    let mut daemon = Daemon::start(&site);
    let mut sent = 0;
    for _ in 0..kills() {
        let until = receiver.requests().len() + random.random_range(1..150);
        send(&daemon, sent..sent + 200);
        sent += 200;
        poll(WATCHDOG, || (receiver.requests().len() >= until).then_some(())).expect("requests");
        daemon.kill();
        daemon = Daemon::start(&site);
    }
    await_drained(&daemon);
    let done = done.lock().unwrap();
    assert_eq!(done.len(), sent as usize, "seed {seed}");
    assert!(done.values().all(|(effects, _)| *effects == 1), "seed {seed}: an event had no effect");
    let repeats: u32 = done.values().map(|(_, asked)| asked - 1).sum();
    println!("{} kills, {sent} events, {repeats} repeats absorbed by the receiver", kills());
}

/// No call is made twice without a word of someone, and none is lost: each is delivered, uncertain, or waits. And when
/// someone who knows has settled what was uncertain, each was done exactly once.
#[test]
fn guarded_no_call_is_made_twice_and_none_is_lost_however_often_the_daemon_is_killed() {
    let (seed, mut random) = random(83);
    let (_, mut weather) = super::support::random(84);
    // By id: how often it was done, and how often it was asked for.
    let done = Done::default();
    let doing = Arc::clone(&done);
    let receiver = Receiver::start(move |request: &Request| {
        let mut done = doing.lock().unwrap();
        let (effects, asked) = done.entry(request.id()).or_default();
        *asked += 1;
        match weather.random_range(0..40) {
            0 => return Reply::Close,
            1 => return Reply::Status(500),
            _ => {}
        }
        *effects += 1;
        if weather.random_range(0..40) == 0 { Reply::Close } else { Reply::Status(200) }
    });
    let site = guarded(&receiver);
    let mut daemon = Daemon::start(&site);
    let mut sent = 0;
    for _ in 0..kills() {
        let until = receiver.requests().len() + random.random_range(1..30);
        send(&daemon, sent..sent + 25);
        sent += 25;
        poll(WATCHDOG, || {
            (receiver.requests().len() >= until).then_some(()).or((sink(&daemon)["lag-events"] == 0).then_some(()))
        })
        .expect("requests");
        daemon.kill();
        daemon = Daemon::start(&site);
    }
    await_drained(&daemon);
    let calls = listed(&site);
    let uncertain: BTreeSet<String> = calls.iter().map(|call| call["id"].as_str().unwrap().to_owned()).collect();
    {
        let done = done.lock().unwrap();
        for (id, (effects, asked)) in done.iter() {
            assert!(*asked == 1 && *effects <= 1, "seed {seed}: event {id} was called for {asked} times");
            assert!(*effects == 1 || uncertain.contains(id), "seed {seed}: event {id} is lost");
        }
        for id in 0..sent {
            let id = id.to_string();
            assert!(done.contains_key(&id) || uncertain.contains(&id), "seed {seed}: event {id} is lost");
        }
    }
    println!("{} kills, {sent} events, {} uncertain", kills(), uncertain.len());
    receiver.set({
        let doing = Arc::clone(&done);
        move |request: &Request| {
            let mut done = doing.lock().unwrap();
            let (effects, asked) = done.entry(request.id()).or_default();
            (*effects, *asked) = (*effects + 1, *asked + 1);
            Reply::Status(200)
        }
    });
    for call in &calls {
        let was_done = done.lock().unwrap().get(call["id"].as_str().unwrap()).is_some_and(|(effects, _)| *effects > 0);
        let finished = resolve(&site, call, if was_done { "--delivered" } else { "--resend" });
        assert!(finished.status.success(), "seed {seed}: {finished:?}");
    }
    await_sink(&daemon, "settled", |sink| sink["guarded"]["to-resend"] == 0 && sink["guarded"]["uncertain"] == 0);
    let all = || (done.lock().unwrap().len() == sent as usize).then_some(());
    poll(WATCHDOG, all).expect("all of them");
    await_drained(&daemon);
    assert!(done.lock().unwrap().values().all(|(effects, _)| *effects == 1), "seed {seed}: {:?}", done.lock().unwrap());
}
